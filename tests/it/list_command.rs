//! `list` and `check` without a source, and how an overdue claim is written.

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::screen::stage::{Stage, World, claim, task_board};
use crate::support::engine::on_both;
use crate::support::{COORDINATION, Database, MINUTE, NOW, SECOND, command, json, lines, stderr, stdout};

/// A database with one claim whose lease ran out eleven minutes ago.
fn overdue() -> Database {
    let database = Database::new(COORDINATION);
    database.session("worker-1", SECOND);
    database.task("late", "worker-1", -11 * MINUTE);
    database
}

fn config(folder: &Path, sources: &[(&str, &Database)]) -> PathBuf {
    let text: String = sources
        .iter()
        .map(|(name, database)| format!("[source.{name}]\nat = {:?}\n", database.source()))
        .collect();
    let path = folder.join("config.toml");
    std::fs::write(&path, text).expect("a config");
    path
}

/// The program without a source, and with this config.
fn run(verb: &str, config: &Path) -> Output {
    let mut command = command(&[verb, "--json", "--now", &NOW.to_string(), "--config"]);
    command.arg(config).env("PGCONNECT_TIMEOUT", "60").output().expect("claimtop runs")
}

#[test]
fn without_a_source_they_look_at_every_source_of_the_config() {
    on_both(|| {
        let (one, other) = (overdue(), overdue());
        let config = config(one.folder(), &[("billing", &one), ("search", &other)]);
        let checked = run("check", &config);
        assert_eq!(checked.status.code(), Some(2), "{}", stderr(&checked));
        let checked = json(&checked);
        let names = |found: &[serde_json::Value]| -> Vec<String> {
            found.iter().map(|one| one["source"].as_str().expect("a name").to_owned()).collect()
        };
        assert_eq!(names(checked["sources"].as_array().expect("sources")), ["billing", "search"]);
        let listed = run("list", &config);
        assert_eq!(listed.status.code(), Some(0), "{}", stderr(&listed));
        assert_eq!(names(&lines(&listed)), ["billing", "search"]);
    });
}

#[test]
fn without_a_source_and_without_a_config_they_say_how_to_name_one() {
    for verb in ["check", "list"] {
        let empty = tempfile::tempdir().expect("a folder");
        let mut command = command(&[verb]);
        let output = command.env("XDG_CONFIG_HOME", empty.path()).env("HOME", empty.path()).output();
        let output = output.expect("claimtop runs");
        assert_eq!(output.status.code(), Some(3), "{verb}");
        assert!(stderr(&output).contains("source"), "{verb}: {}", stderr(&output));
    }
}

/// In text it is `over 11m`, on the command line as on the screen; in JSON the remaining time is negative.
#[test]
fn overdue_is_written_the_same_way_everywhere() {
    on_both(|| {
        let database = overdue();
        assert_eq!(database.claim("late")["remaining_ms"], -11 * MINUTE);
        let text = stdout(&database.claimtop(&["list", "--now", &NOW.to_string()]));
        assert!(text.contains("over 11m") && !text.contains("-11m"), "{text}");
        let checked = stdout(&database.claimtop(&["check", "--now", &NOW.to_string()]));
        assert!(!checked.contains("-11m"), "{checked}");
    });
    let world = [World::of([task_board([claim("late").lease_ran_out("11m")])])];
    for pane in ["1", "2"] {
        let mut stage = Stage::of(&world);
        stage.browse(&world, pane);
        let shown = stage.text();
        assert!(shown.contains("over 11m") && !shown.contains("-11m"), "{shown}");
    }
}

#[test]
fn a_history_by_holder_says_who_did_how_much() {
    on_both(|| {
        let database = Database::with(
            include_str!("../../assets/schema/sqlite/finalization.sql"),
            include_str!("../../assets/schema/postgres/finalization.sql"),
        );
        for (processor, seconds, message) in [
            ("p-1", 10, "Successfully claimed for finalization"),
            ("p-1", 20, "Claim extended"),
            ("p-1", 4_000, "Claim extended"),
            ("p-2", 5_000, "Task already complete"),
        ] {
            let insert = |uuid: &str, at: &str| {
                format!(
                    "INSERT INTO tasker_finalization_attempts (task_uuid, processor_id, claimed, message, attempted_at)
                     VALUES ({uuid}, '{processor}', true, '{message}', {at})"
                )
            };
            database.either(
                &insert("'t'", &format!("strftime('%Y-%m-%d %H:%M:%f', 'now', '-{seconds} seconds')")),
                &insert("gen_random_uuid()", &format!("now() - interval '{seconds} seconds'")),
            );
        }
        let run = |options: &[&str]| {
            let mut command = command(&["list", "--history", "--by", "holder"]);
            command.arg(database.source()).args(options).output().expect("claimtop runs")
        };
        let told = lines(&run(&["--json"]));
        let of = |at: usize, key: &str| told[at][key].clone();
        assert_eq!(told.len(), 2, "{told:?}");
        assert_eq!((of(0, "holder"), of(0, "count"), of(0, "last_5m")), ("p-1".into(), 3.into(), 2.into()));
        assert_eq!((of(1, "holder"), of(1, "count"), of(1, "last_5m")), ("p-2".into(), 1.into(), 0.into()));
        assert_eq!(of(0, "what")["Claim extended"], 2);
        assert_eq!(of(0, "per_minute"), 0.4);
        let table = stdout(&run(&[]));
        assert!(table.contains("p-1") && table.contains("2 Claim extended"), "{table}");
        assert_eq!(stdout(&run(&["--csv"])).lines().count(), 3);
    });
}
