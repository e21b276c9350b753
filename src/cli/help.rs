//! Additions to the help: examples of every verb, and exit codes.
//!
//! An option without a meaning for a verb is accepted there and not shown.

use clap::{Command, CommandFactory};

use super::Cli;

/// The exit codes and what they mean.
pub(super) const EXIT_CODES: [(u8, &str); 7] = [
    (0, "fine, or done"),
    (1, "warning: expiring or unknown claims"),
    (2, "critical: stale or orphaned claims"),
    (3, "an error: could not tell, or wrong usage"),
    (4, "moved: the claim changed since it was seen; nothing was written"),
    (5, "refused: read-only, no permission, needs --force, or a brake stopped the sweep"),
    (6, "the outcome of an act is unknown"),
];

/// The command line with its help.
pub(super) fn command() -> Command {
    let mut command = Cli::command();
    // Verbs have the common options only after this.
    command.build();
    let command = VERBS.iter().fold(command, |command, verb| verb.explain(command));
    command.after_help(format!("{}\n\nExit codes:\n{}", examples(EXAMPLES), exit_codes()))
}

fn exit_codes() -> String {
    let lines: Vec<String> =
        EXIT_CODES.iter().map(|(code, meaning)| format!("  {code}  {meaning}")).collect();
    lines.join("\n")
}

fn examples(lines: &[&str]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
    format!("Examples:\n{}", lines.join("\n"))
}

/// The additions to one verb or nested verb.
pub(super) struct VerbHelp {
    path: &'static [&'static str],
    /// Options without a meaning here.
    pub hides: &'static [&'static str],
    pub examples: &'static [&'static str],
}

/// The additions to the verb with this path.
pub(super) fn of(path: &[&str]) -> Option<&'static VerbHelp> {
    VERBS.iter().find(|verb| verb.path == path)
}

impl VerbHelp {
    fn explain(&self, command: Command) -> Command {
        self.explain_below(command, self.path)
    }

    fn explain_below(&self, command: Command, path: &[&'static str]) -> Command {
        match path {
            [verb, rest @ ..] => command.mut_subcommand(*verb, |below| self.explain_below(below, rest)),
            [] => command
                .mut_args(|argument| {
                    let is_hidden =
                        argument.is_hide_set() || self.hides.contains(&argument.get_id().as_str());
                    argument.hide(is_hidden)
                })
                .after_help(examples(self.examples)),
        }
    }
}

const fn verb(
    path: &'static [&'static str],
    hides: &'static [&'static str],
    examples: &'static [&'static str],
) -> VerbHelp {
    VerbHelp { path, hides, examples }
}

const NOTHING_COMMON: &[&str] = &["config", "profile", "read_only", "json", "check_pid"];
const NO_SOURCE: &[&str] = &["profile", "read_only", "check_pid"];
const NO_SOURCE_NO_JSON: &[&str] = &["profile", "read_only", "json", "check_pid"];

/// Examples of the command without a verb.
pub(super) const EXAMPLES: &[&str] = &[
    "claimtop demo                            # try it: real workers, some of which crash",
    "claimtop tasks.db                        # the dashboard on a SQLite file",
    "claimtop postgres://ann@db.example/app   # the dashboard on a PostgreSQL database",
    "claimtop check tasks.db                  # counts, reasons and an exit code",
];

const VERBS: &[VerbHelp] = &[
    verb(
        &["check"],
        &["read_only"],
        &[
            "claimtop check tasks.db",
            "claimtop check --json tasks.db other.db",
            "claimtop check --plugin --warn expiring=5 --crit stale=10,orphaned=1 tasks.db",
            "claimtop check --watch 5s --events events.jsonl tasks.db",
            "claimtop check incident.rec --at 03:12",
        ],
    ),
    verb(
        &["list"],
        &["read_only"],
        &[
            "claimtop list tasks.db",
            "claimtop list --set stale,orphaned --json tasks.db",
            "claimtop list --filter 'age>10m !holder:cli' tasks.db",
            "claimtop list --dead tasks.db",
            "claimtop list --history --by holder tasks.db",
            "claimtop list incident.rec --at 03:12 --set orphaned",
        ],
    ),
    verb(
        &["record"],
        &["read_only", "json", "check_pid"],
        &[
            "claimtop record tasks.db --out incident.rec",
            "claimtop record tasks.db --out today.rec --every 5s --keep 24h",
            "claimtop record tasks.db --out share.rec --for 2s --hash-ids",
            "claimtop incident.rec",
        ],
    ),
    verb(
        &["pid"],
        &["read_only", "check_pid"],
        &["claimtop pid tasks.db", "claimtop pid tasks.db --session cli-91c0"],
    ),
    verb(
        &["reclaim"],
        &["by"],
        &[
            "claimtop reclaim tasks.db rebuild-index --dry-run",
            "claimtop reclaim tasks.db rebuild-index --reason INC-204",
            "claimtop reclaim tasks.db --set stale,orphaned --limit 50 --yes",
        ],
    ),
    verb(
        &["release"],
        &["by"],
        &[
            "claimtop release tasks.db rebuild-index",
            "claimtop release tasks.db --session cli-91c0 --reason \"web-3 is gone\" --yes",
        ],
    ),
    verb(
        &["extend"],
        &[],
        &[
            "claimtop extend tasks.db send-mail --by 30m --force --holder cli-91c0 --reason \"slow, not dead\"",
        ],
    ),
    verb(
        &["requeue"],
        &["by", "check_pid"],
        &["claimtop requeue tasks.db job-77 --reason \"the API is back\""],
    ),
    verb(
        &["terminate"],
        &["check_pid"],
        &["claimtop terminate postgres://ann@db.example/app 4711 --holder 29312 --force --reason INC-204"],
    ),
    verb(
        &["undo"],
        &["check_pid"],
        &[
            "claimtop reclaim tasks.db rebuild-index",
            "claimtop audit list --limit 2",
            "claimtop undo tasks.db ACTION --dry-run",
            "claimtop undo tasks.db ACTION",
        ],
    ),
    verb(
        &["sweep"],
        &["read_only"],
        &[
            "claimtop sweep tasks.db --dry-run",
            "claimtop sweep tasks.db --once --sighted",
            "claimtop sweep tasks.db --every 5m",
            "claimtop sweep night.rec --backtest --ttl 1m..60m --orphan-after 5m,10m",
        ],
    ),
    verb(
        &["serve"],
        &["json", "read_only"],
        &[
            "claimtop serve tasks.db other.db",
            "claimtop serve tasks.db --page",
            "claimtop serve tasks.db --sweep --sweep-every 5m",
        ],
    ),
    verb(
        &["api"],
        &["check_pid"],
        &[
            "claimtop init tasks.db --system task-queue",
            "claimtop api key new --keys api-keys",
            "claimtop api tasks.db --keys api-keys",
        ],
    ),
    verb(&["api", "key"], NO_SOURCE, &["claimtop api key new --keys api-keys"]),
    verb(&["api", "key", "new"], NO_SOURCE, &["claimtop api key new --keys api-keys --name php-workers"]),
    verb(&["audit"], NO_SOURCE, &["claimtop audit list --limit 50", "claimtop audit verify"]),
    verb(&["audit", "init"], &["check_pid"], &["claimtop audit init tasks.db"]),
    verb(
        &["audit", "list"],
        NO_SOURCE,
        &[
            "claimtop audit list --limit 50",
            "claimtop audit list --open",
            "claimtop audit list --by ann --since 2h --outcome moved",
            "claimtop audit list --source tasks.db --since 2026-11-18T03:00:00Z --md",
            "claimtop audit list --action undo --json",
        ],
    ),
    verb(
        &["audit", "show"],
        NO_SOURCE,
        &["claimtop reclaim tasks.db rebuild-index", "claimtop audit show ACTION"],
    ),
    verb(&["audit", "verify"], NO_SOURCE, &["claimtop audit verify"]),
    verb(&["audit", "export"], NO_SOURCE_NO_JSON, &["claimtop audit export > trail.jsonl"]),
    verb(
        &["audit", "report"],
        NO_SOURCE_NO_JSON,
        &[
            "claimtop audit report --since 2h --out incident.md",
            "claimtop audit report --since 03:00 --until 04:30",
        ],
    ),
    verb(
        &["init"],
        &["profile", "check_pid"],
        &["claimtop init new.db --system task-queue", "claimtop init all.db --system all"],
    ),
    verb(&["demo"], NO_SOURCE_NO_JSON, &["claimtop demo", "claimtop demo --headless --for 1s --keep try"]),
    verb(
        &["profile"],
        NO_SOURCE_NO_JSON,
        &["claimtop profile list", "claimtop profile show executor-jobs > mine.toml"],
    ),
    verb(&["profile", "list"], NO_SOURCE_NO_JSON, &["claimtop profile list"]),
    verb(&["profile", "show"], NO_SOURCE_NO_JSON, &["claimtop profile show executor-jobs > mine.toml"]),
    verb(
        &["profile", "check"],
        NO_SOURCE_NO_JSON,
        &[
            "claimtop profile show executor-jobs > mine.toml",
            "claimtop profile check mine.toml",
            "claimtop profile check mine.toml tasks.db",
        ],
    ),
    verb(&["profile", "draft"], NO_SOURCE_NO_JSON, &["claimtop profile draft tasks.db"]),
    verb(
        &["profile", "help"],
        NO_SOURCE_NO_JSON,
        &["claimtop profile help", "claimtop profile help deadline"],
    ),
    verb(&["profile", "detect"], NO_SOURCE_NO_JSON, &["claimtop profile detect tasks.db"]),
    verb(
        &["report"],
        NOTHING_COMMON,
        &[
            "claimtop report night.rec",
            "claimtop report night.rec --from 03:00 --to 04:30 --html --out incident.html",
        ],
    ),
    verb(
        &["doctor"],
        &["read_only", "check_pid"],
        &["claimtop doctor tasks.db", "claimtop doctor prod --json", "claimtop doctor night.rec"],
    ),
    verb(
        &["completions"],
        NOTHING_COMMON,
        &["claimtop completions bash > claimtop.bash", "claimtop completions zsh > _claimtop"],
    ),
    verb(&["man"], NOTHING_COMMON, &["claimtop man > claimtop.1"]),
];
