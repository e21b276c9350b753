//! Arguments, config files and profiles that are wrong: which, where, and no secret with it.

use super::{Scratch, code, healthy, run, run_on, sentence};
use crate::support::engine::on_both;
use crate::support::{command, stderr, stdout};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

const SECRET: &str = "hunter2";

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// What is said of a config file with this content.
fn config_error(content: &str) -> String {
    let scratch = Scratch::new();
    let config = scratch.file("config.toml", content);
    let output = run_on(&["check", "--config", text(&config)], &healthy());
    assert_eq!((code(&output), stdout(&output)), (3, String::new()));
    let said = sentence(&output);
    said.strip_prefix(text(&config)).unwrap_or_else(|| panic!("names the file: {said}")).to_owned()
}

#[test]
fn an_unknown_key_is_named_with_its_line_and_without_its_value() {
    on_both(|| {
        let said = config_error("row_limit = 5\n\n[source.prod]\nat = 'x.db'\npasword = 'hunter2'\n");
        assert!(said.starts_with(":5: ") && said.contains("pasword"), "{said}");
        assert!(!said.contains(SECRET), "{said}");
    });
}

#[test]
fn broken_toml_is_named_with_its_line_and_without_its_value() {
    on_both(|| {
        for (line, content) in [
            (2, "row_limit = 5\nbusy_timeout = \"hunter2\n"),
            (1, "busy_timeout = hunter2\n"),
            (3, "\n\n[source.prod\nat = 'hunter2'\n"),
            (2, "[source.prod]\nat = = 'hunter2'\n"),
            (3, "[source.prod]\nat = 'hunter2'\nat = 'hunter2'\n"),
        ] {
            let said = config_error(content);
            assert!(said.starts_with(&format!(":{line}: ")), "line {line}: {said}");
            assert!(!said.contains(SECRET), "{said}");
        }
    });
}

#[test]
fn a_value_of_the_wrong_kind_is_named_by_its_line_and_not_printed() {
    on_both(|| {
        let mut printed = Vec::new();
        for (line, content) in [
            (1, "row_limit = \"hunter2\"\n"),
            (1, "row_limit = [\"hunter2\"]\n"),
            (1, "row_limit = 'one \"hunter2\" in quotes'\n"),
            (2, "row_limit = 5\nbusy_timeout = \"hunter2\"\n"),
            (2, "[defaults]\norphan_after = 'hunter2'\n"),
            (2, "[defaults]\norphan_after = 'one \"hunter2\" in quotes'\n"),
            (3, "[source.prod]\nat = 'x.db'\nholders_on = 'hunter2'\n"),
            (3, "[source.prod]\nat = 'x.db'\nread_only = 'hunter2'\n"),
            (1, "source = 'hunter2'\n"),
        ] {
            let said = config_error(content);
            assert!(said.starts_with(&format!(":{line}: ")), "line {line}: {said}");
            printed.extend(said.contains(SECRET).then_some(said));
        }
        assert!(printed.is_empty(), "{printed:#?}");
    });
}

#[test]
fn a_secret_that_is_a_number_is_not_printed_either() {
    on_both(|| {
        let said = config_error("[source.prod]\nat = 48151623\n");
        assert!(said.starts_with(":2: ") && !said.contains("48151623"), "{said}");
    });
}

#[test]
fn a_config_file_that_is_named_and_missing_is_an_error() {
    on_both(|| {
        let scratch = Scratch::new();
        let config = scratch.at("nowhere.toml");
        let output = run_on(&["check", "--config", text(&config)], &healthy());
        assert_eq!((code(&output), stdout(&output)), (3, String::new()));
        assert!(sentence(&output).contains(text(&config)), "{}", sentence(&output));
    });
}

#[test]
fn an_unknown_profile_is_answered_with_those_there_are() {
    on_both(|| {
        let output = run_on(&["check", "--profile", "coordinaton"], &healthy());
        assert_eq!((code(&output), stdout(&output)), (3, String::new()));
        let said = sentence(&output);
        let known = ["coordination", "executor-jobs", "merge-queue", "finalization", "task-queue"];
        for name in ["coordinaton"].iter().chain(&known) {
            assert!(said.contains(name), "{name} is not in: {said}");
        }
    });
}

#[test]
fn a_broken_profile_points_at_its_line() {
    on_both(|| {
        let scratch = Scratch::new();
        let broken = [
            (4, "title = 'Mine'\n\n[[claim]]\nname = = 'task'\n"),
            (5, "title = 'Mine'\n\n[[claim]]\nname = 'task'\ntabel = 'task_claims'\n"),
            (
                7,
                "title = 'Mine'\n[[claim]]\nname = 'task'\ntable = 'task_claims'\nid = 'task_id'\n[claim.deadline]\ncolum = 'x'\n",
            ),
        ];
        for (line, content) in broken {
            let profile = scratch.file("mine.toml", content);
            for verb in ["check", "list"] {
                let output = run_on(&[verb, "--profile", text(&profile)], &healthy());
                assert_eq!((code(&output), stdout(&output)), (3, String::new()));
                let said = stderr(&output);
                assert!(
                    said.contains("mine") && said.contains(&format!("line {line}")),
                    "line {line}: {said}"
                );
                // The excerpt is the file's own text: plain as it is, nothing in it needs an escape.
                assert!(!said.contains('\\'), "{said}");
            }
            let output = command(&["profile", "check", text(&profile)]).output().expect("claimtop runs");
            assert_eq!(code(&output), 3);
            assert!(stderr(&output).contains(&format!("line {line}")), "{}", stderr(&output));
        }
    });
}

#[test]
fn a_named_profile_that_does_not_fit_says_what_is_missing() {
    on_both(|| {
        let output = run_on(&["check", "--profile", "executor-jobs"], &healthy());
        assert_eq!((code(&output), stdout(&output)), (3, String::new()));
        let said = sentence(&output);
        assert!(said.contains("executor-jobs does not fit") && said.contains("executor_jobs"), "{said}");
    });
}

fn usage(arguments: &[&str]) -> String {
    let output = command(arguments).output().expect("claimtop runs");
    assert_eq!((code(&output), stdout(&output)), (3, String::new()), "{arguments:?}");
    let said = stderr(&output);
    assert!(said.contains("Usage:") || said.contains("--help"), "{said}");
    said
}

#[test]
fn bad_usage_is_an_error_that_shows_the_way() {
    let said = usage(&["list", "--set", "rotten", "tasks.db"]);
    for set in ["--set", "orphaned", "stale", "unknown", "expiring", "healthy"] {
        assert!(said.contains(set), "{set} is not in: {said}");
    }
    let said = usage(&["check", "--now", "yesterday", "tasks.db"]);
    assert!(said.contains("--now") && said.contains("1970"), "{said}");
    for verb in ["check", "list"] {
        let said = usage(&[verb]);
        assert!(said.contains("no source was named") && said.contains("[source.NAME]"), "{said}");
    }
    assert!(usage(&["chekc", "tasks.db"]).contains("chekc"));
    assert!(usage(&["check", "--jsn", "tasks.db"]).contains("--jsn"));
    usage(&["list", "--csv", "--json", "tasks.db"]);
    usage(&[]);
}

#[test]
fn help_and_the_version_are_answers() {
    for arguments in [&["--help"][..], &["check", "--help"], &["list", "--help"], &["--version"], &["-V"]] {
        let output = command(arguments).output().expect("claimtop runs");
        assert_eq!((code(&output), stderr(&output)), (0, String::new()), "{arguments:?}");
        assert!(stdout(&output).contains("claimtop"), "{}", stdout(&output));
    }
    let help = stdout(&command(&["--help"]).output().expect("claimtop runs"));
    assert!(help.contains("Exit codes"), "{help}");
}

#[test]
fn an_unknown_board_is_answered_with_those_there_are() {
    on_both(|| {
        let output = run_on(&["list", "--board", "nope"], &healthy());
        assert_eq!((code(&output), stdout(&output)), (3, String::new()));
        let said = sentence(&output);
        assert!(said.contains("nope") && said.contains("task") && said.contains("lock"), "{said}");
    });
}

fn keeps_the_secret(output: &Output) {
    assert_eq!(code(output), 3);
    let all = format!("{}{}", stdout(output), stderr(output));
    assert!(!all.contains(SECRET), "the password is printed: {all}");
    assert!(all.contains("postgres"), "{all}");
}

#[test]
fn the_password_of_a_url_is_never_printed() {
    for url in [
        "postgres://ann:hunter2@db.example/app",
        "postgresql://ann:hunter2@db.example/app",
        "postgres://ann:a@hunter2@db.example/app",
    ] {
        keeps_the_secret(&run(&["check"], &[Path::new(url)]));
        keeps_the_secret(&run(&["list"], &[Path::new(url)]));
        keeps_the_secret(&run(&["list", "--csv"], &[Path::new(url)]));
    }
}

#[test]
fn the_password_of_a_url_is_not_in_the_json_either() {
    keeps_the_secret(&run(&["check", "--json"], &[Path::new("postgres://ann:hunter2@db.example/app")]));
}

#[test]
fn a_password_in_an_unusual_place_of_a_url_is_not_printed() {
    let shown: Vec<&str> = [
        "postgres://db.example/app?user=ann&password=hunter2",
        "postgres://ann:hunter2/7@db.example/app",
        "postgres://ann:hunter2?@db.example/app",
        "POSTGRES://ann:hunter2@db.example/app",
    ]
    .into_iter()
    .filter(|url| {
        let output = run(&["check"], &[Path::new(url)]);
        assert_eq!(code(&output), 3);
        stderr(&output).contains(SECRET)
    })
    .collect();
    assert!(shown.is_empty(), "printed with their passwords: {shown:#?}");
}

#[test]
fn the_password_of_a_configured_source_is_never_printed() {
    let scratch = Scratch::new();
    let config = scratch.file("config.toml", "[source.prod]\nat = 'postgres://ann:hunter2@db.example/app'\n");
    // Else the file itself is refused.
    fs::set_permissions(&config, fs::Permissions::from_mode(0o600)).expect("permissions");
    for verb in [&["check"][..], &["check", "--json"], &["list"]] {
        let arguments: Vec<&str> = verb.iter().copied().chain(["--config", text(&config)]).collect();
        keeps_the_secret(&run(&arguments, &[Path::new("prod")]));
    }
}
