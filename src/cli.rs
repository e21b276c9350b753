//! The command line: its arguments, and which file handles them.
//!
//! This file only parses; each verb has its own file.

mod act;
#[cfg(feature = "serve")]
mod api;
mod audit;
mod backtest;
mod check;
mod completions;
mod dashboard;
mod demo;
mod doctor;
mod draft;
mod event_stream;
mod help;
mod init;
mod list;
mod man;
mod output;
mod pid;
mod profile_help;
mod profiles;
mod pseudonym_key;
mod record;
mod recorded;
mod recovery;
mod report;
#[cfg(feature = "serve")]
mod serve;
mod session;
mod setup;
mod sweep;
mod terminate;
mod undo;

use clap::{Args, FromArgMatches, Parser, Subcommand};
use std::path::PathBuf;

use crate::app::query::Query;
use crate::domain::filter::{Condition, Filter, Pattern, Test};
use crate::domain::recovery::Action;
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::{Reason, Set};
use crate::domain::visible::visible;
use crate::exit::Exit;
use crate::job_control;
use crate::store::Source;
use setup::Setup;

/// Shows which claims on tasks, jobs and locks are stale, expiring or orphaned, and why.
#[derive(Debug, Parser)]
#[command(name = "claimtop", version, about, max_term_width = 100, disable_help_subcommand = true)]
#[command(subcommand_precedence_over_arg = true)]
pub struct Cli {
    /// What to watch: SQLite files, postgres:// addresses, or names from the config [default: all sources in the config]
    #[arg(value_name = "SOURCE")]
    sources: Vec<String>,
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
struct Common {
    /// The config file [default: ~/.config/claimtop/config.toml]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Use this profile and do not detect any (repeatable)
    #[arg(long, global = true, value_name = "NAME|FILE")]
    profile: Vec<String>,
    /// Make a session that cannot write
    #[arg(long, global = true)]
    read_only: bool,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    /// Ask the kernel whether the holders' processes are alive, and judge by its answer
    #[arg(long, global = true)]
    check_pid: bool,
    /// Judge as if it were this instant
    #[arg(long, global = true, hide = true, value_name = "TIME", value_parser = moment)]
    now: Option<Moment>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Look once at each source: counts, reasons, and an exit code for monitoring
    Check(check::CheckArgs),
    /// List the claims, worst first
    List {
        /// SQLite files, postgres:// addresses, or names from the config [default: all sources in the config]
        #[arg(value_name = "SOURCE")]
        sources: Vec<String>,
        /// Print CSV
        #[arg(long, conflicts_with = "json")]
        csv: bool,
        /// Print dead jobs instead: what `requeue` can queue again
        #[arg(long, conflicts_with_all = ["set", "history"])]
        dead: bool,
        /// Print the traces of earlier recoveries that the system itself keeps
        #[arg(long, conflicts_with_all = ["set", "board", "id", "holder", "kind", "reason", "older_than", "filter"])]
        history: bool,
        /// The claims of a recording at this instant: 2026-11-15T03:12:00Z, or 03:12 [default: its end]
        #[arg(long, value_name = "TIME", conflicts_with_all = ["dead", "history"])]
        at: Option<String>,
        /// With --history: what each holder did, the most active first
        #[arg(long, value_name = "holder", requires = "history", value_enum)]
        by: Option<list::HistoryBy>,
        #[command(flatten)]
        only: Only,
    },
    /// List the holders, and whether their processes are alive, dead or unknown
    Pid {
        /// A SQLite file, a postgres:// address, or a name from the config
        source: String,
        /// Only this session
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
    /// Take a claim from a holder that is gone, as the system's own recovery would
    Reclaim(act::ActArgs),
    /// Hand a claim back as its holder would; no attempt is counted
    Release(act::ReleaseArgs),
    /// Give a slow holder more time
    Extend(act::ActArgs),
    /// Queue a dead job again
    Requeue(act::ActArgs),
    /// End the server session that holds a claim; for claims that are advisory locks, and not undoable
    Terminate(terminate::TerminateArgs),
    /// Undo an act, if nothing has changed since
    Undo(undo::UndoArgs),
    /// Clean up automatically: take what is certainly stale or orphaned, with brakes
    Sweep(sweep::SweepArgs),
    /// Record what every poll sees, to replay it later: `claimtop FILE`
    Record(record::RecordArgs),
    /// Serve metrics for Prometheus on this host; --sweep also cleans up
    #[cfg(feature = "serve")]
    Serve(serve::ServeArgs),
    /// Serve the task queue over HTTP, for workers in any language
    #[cfg(feature = "serve")]
    Api(api::ApiArgs),
    /// Write one page about a recording: what happened, causes, affected claims, better thresholds
    Report(report::ReportArgs),
    /// Show, verify and export the trail of all acts
    #[command(subcommand)]
    Audit(audit::AuditVerb),
    /// Make the reference tables of a system, or bring those of an earlier version up to date; tables that differ in
    /// any other way are never altered
    Init {
        /// A SQLite file, a postgres:// address, or a name from the config
        source: String,
        /// The system whose tables to make: coordination, executor-jobs, merge-queue, finalization, task-queue, or all
        #[arg(long, value_name = "NAME|all", required = true, value_delimiter = ',', value_parser = init::wanted)]
        system: Vec<init::SystemArg>,
        /// On a server, for executor-jobs: also make fetch_executor_job(), which reclaims before it claims
        #[arg(long, conflicts_with = "rollback")]
        wrapper: bool,
        /// On a server, for executor-jobs: drop the functions and views for reclaiming and heartbeats; jobs stay
        #[arg(long)]
        rollback: bool,
    },
    /// Run a live fleet of workers on a temporary database, with the dashboard on it
    Demo(demo::DemoArgs),
    /// A process of a demo
    #[command(subcommand, hide = true)]
    DemoChild(demo::Child),
    /// List, show and check profiles: where a system keeps its claims
    #[command(subcommand, disable_help_subcommand = true)]
    Profile(ProfileVerb),
    /// Check whether a source can be read, judged and acted on, and what is missing; of a recording, its thresholds
    Doctor {
        /// SQLite files, postgres:// addresses, names from the config, or recordings
        #[arg(value_name = "SOURCE", required = true)]
        sources: Vec<String>,
    },
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: completions::Shell,
    },
    /// Print the manual page as roff
    Man,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Which claims")]
struct Only {
    /// Only claims in these sets: orphaned, stale, unknown, expiring, healthy
    #[arg(long, value_name = "SET", value_delimiter = ',', value_parser = set)]
    set: Vec<Set>,
    /// Only claims on this board
    #[arg(long, value_name = "NAME")]
    board: Option<String>,
    /// Only the claim with this id or address; several may be named
    #[arg(long, value_name = "ID")]
    id: Vec<String>,
    /// Only claims of this holder; a * stands for any text, and several may be named
    #[arg(long, value_name = "NAME")]
    holder: Vec<String>,
    /// Only claims of this kind, in the same way
    #[arg(long, value_name = "NAME")]
    kind: Vec<String>,
    /// Only claims with one of these reasons, such as lease_expired or session_stale
    #[arg(long, value_name = "REASON", value_delimiter = ',', value_parser = crate::app::query::reason)]
    reason: Vec<Reason>,
    /// Only claims that have been held for longer than this
    #[arg(long, value_name = "DURATION", value_parser = Span::parse)]
    older_than: Option<Span>,
    /// Only claims that pass a filter of the dashboard: 'kind=mail age>10m !holder:cli'
    #[arg(long, value_name = "TEXT", value_parser = Query::parse)]
    filter: Option<Query>,
    /// At most this many; 0 for all [default: 1000 in a table, all in JSON and CSV]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

impl Only {
    /// The filter, and the limit.
    fn filter(&self, limit: Option<usize>) -> Filter {
        let patterns = |names: &[String]| names.iter().map(|name| Pattern::typed(name)).collect();
        let mut filter = self.filter.as_ref().map(Query::filter).unwrap_or_default();
        let mut conditions: Vec<Condition> = Vec::new();
        if !self.id.is_empty() {
            conditions.push(Test::Id(self.id.clone()).into());
        }
        if !self.holder.is_empty() {
            conditions.push(Test::Holder(patterns(&self.holder)).into());
        }
        if !self.kind.is_empty() {
            conditions.push(Test::Kind(patterns(&self.kind)).into());
        }
        conditions.extend(self.older_than.map(|span| Test::OlderThan(span).into()));
        match (self.set.is_empty(), filter.sets.is_empty()) {
            (true, _) => {}
            (false, true) => filter.sets.clone_from(&self.set),
            (false, false) => conditions.push(Test::In(self.set.clone()).into()),
        }
        match (self.reason.is_empty(), filter.reasons.is_empty()) {
            (true, _) => {}
            (false, true) => filter.reasons = self.reason.iter().copied().collect(),
            (false, false) => conditions.push(Test::For(self.reason.iter().copied().collect()).into()),
        }
        filter.conditions.extend(conditions);
        Filter { board: self.board.clone(), limit, ..filter }
    }

    /// Whether the filter admits a source.
    fn takes_source(&self, label: &str) -> bool {
        self.filter.as_ref().is_none_or(|query| query.takes_source(label))
    }
}

#[derive(Debug, Subcommand)]
enum ProfileVerb {
    /// List every profile that can be used by name
    List,
    /// Print a profile: the best start for one of your own
    Show {
        /// The name of a profile, or a file
        name: String,
    },
    /// Check whether a profile is well-formed and, with SOURCE, whether it fits, column by column
    Check {
        /// The name of a profile, or a file
        name: String,
        /// The database that it should fit
        source: Option<String>,
    },
    /// List the profiles that fit a database
    Detect {
        /// A SQLite file, a postgres:// address, or a name from the config
        source: String,
    },
    /// Write a profile for a database that none fits: guesses with their evidence, to check and fill in
    Draft(draft::DraftArgs),
    /// Explain the keys of a profile: type, default and example
    Help {
        /// Only keys with this name [default: all]
        key: Option<String>,
    },
}

fn moment(text: &str) -> Result<Moment, String> {
    let by_number = |text: &str| text.parse::<i64>().ok()?.checked_mul(1_000).and_then(Moment::from_micros);
    Moment::parse(text)
        .or_else(|| by_number(text))
        .ok_or_else(|| "write 2026-11-15T23:40:00Z, or milliseconds since 1970".into())
}

fn set(text: &str) -> Result<Set, String> {
    let known = Set::ALL.into_iter().find(|set| set.as_str() == text);
    known.ok_or_else(|| "the sets are orphaned, stale, unknown, expiring and healthy".into())
}

fn reason(text: &str) -> Result<Reason, String> {
    let is_bad = |reason: &Reason| matches!(reason.set(), Set::Stale | Set::Orphaned);
    let known: Vec<Reason> = Reason::ALL.into_iter().filter(is_bad).collect();
    let names: Vec<&str> = known.iter().map(|reason| reason.as_str()).collect();
    let found = known.iter().copied().find(|reason| reason.as_str() == text);
    found.ok_or_else(|| format!("the reasons for trouble are {}", names.join(", ")))
}

fn holds_password(argument: &std::ffi::OsString) -> bool {
    Source::has_secret(&argument.to_string_lossy())
}

/// Runs the command of `arguments`.
pub fn run(arguments: impl Iterator<Item = std::ffi::OsString>) -> Exit {
    let arguments: Vec<std::ffi::OsString> = arguments.collect();
    let parsed = help::command().try_get_matches_from(&arguments);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        // The parser quotes arguments that it does not understand.
        Err(error) if error.use_stderr() && arguments.iter().any(holds_password) => {
            return output::complain(
                "an argument is out of place, and one of them may hold a password, so none is repeated; leave it out",
            );
        }
        Err(error) => {
            // Help and version are answers, not errors. If this fails, there is nobody to tell.
            let _ = error.print();
            return if error.use_stderr() { Exit::Error } else { Exit::Fine };
        }
    };
    // Processes of a demo do not read the user's config.
    match cli.verb {
        Some(Verb::DemoChild(child)) => return demo::child(child),
        Some(Verb::Completions { shell }) => return completions::run(shell),
        Some(Verb::Man) => return man::run(),
        _ => {}
    }
    let setup = match Setup::load(&cli.common) {
        Ok(setup) => setup,
        Err(sentence) => return output::complain(&sentence),
    };
    let Some(verb) = cli.verb else { return dashboard::run(&setup, &cli.sources) };
    if let Some(source) = cli.sources.first() {
        let sentence =
            format!("{} stands before the verb; sources come after it", visible(&setup.label(source)));
        return output::complain(&sentence);
    }
    // The dashboard, also that of a demo, handles Ctrl-Z itself. Headless, Ctrl-Z stops as usual.
    if !matches!(verb, Verb::Demo(_)) {
        let _ = job_control::stop_between_transactions();
    }
    match verb {
        Verb::Check(arguments) => check::run(&setup, &arguments),
        Verb::Doctor { sources } => doctor::run(&setup, &sources),
        Verb::List { sources, only, csv, dead, history, by, at } => {
            let setup = if dead { setup.of_the_dead() } else { setup };
            let format = match (csv, setup.json) {
                (true, _) => list::ListFormat::Csv,
                (false, true) => list::ListFormat::Json,
                (false, false) => list::ListFormat::Table,
            };
            let sources = match setup.sources_or_all(&sources) {
                Ok(sources) => sources,
                Err(sentence) => return output::complain(&sentence),
            };
            if recorded::is_asked_for(&sources, at.as_deref()) {
                recorded::list(&sources, at.as_deref(), &only, format)
            } else if history {
                list::history(&setup, &sources, only.limit, by, format)
            } else {
                list::run(&setup, &sources, &only, format)
            }
        }
        Verb::Pid { source, session } => pid::run(&setup, &source, session.as_deref()),
        Verb::Reclaim(arguments) => act::run(&setup, Action::Reclaim, &arguments),
        Verb::Release(arguments) => act::release(&setup, &arguments),
        Verb::Requeue(arguments) => act::run(&setup.of_the_dead(), Action::Requeue, &arguments),
        Verb::Extend(arguments) => act::run(&setup, Action::Extend, &arguments),
        Verb::Terminate(arguments) => terminate::run(&setup, &arguments),
        Verb::Undo(arguments) => undo::run(&setup, &arguments),
        Verb::Sweep(arguments) => sweep::run(&cli.common, setup, &arguments),
        Verb::Record(arguments) => record::run(&setup, &arguments),
        #[cfg(feature = "serve")]
        Verb::Serve(arguments) => serve::run(&cli.common, setup, &arguments),
        #[cfg(feature = "serve")]
        Verb::Api(arguments) => api::run(&setup, &arguments),
        Verb::Report(arguments) => report::run(&arguments),
        Verb::Audit(verb) => audit::run(&setup, verb),
        Verb::Init { source, system, wrapper, rollback } => {
            init::run(&setup, &source, &system, init::InitMode::of(wrapper, rollback))
        }
        Verb::Demo(arguments) => demo::run(&setup, &arguments),
        Verb::DemoChild(child) => demo::child(child),
        Verb::Profile(verb) => profiles::run(&setup, verb),
        Verb::Completions { shell } => completions::run(shell),
        Verb::Man => man::run(),
    }
}
