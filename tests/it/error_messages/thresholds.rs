//! Sources by name, and thresholds by source, board and kind: what is set there decides.

use super::{Scratch, code, run};
use crate::support::engine::on_both;
use crate::support::{COORDINATION, Database, MINUTE, SECOND, json, lines, stdout};
use std::path::Path;

/// The config with `at` and more for the source `prod`, and for nothing else.
fn config(scratch: &Scratch, database: &Database, more: &str) -> String {
    let text = format!("[source.prod]\nat = '{}'\n{more}\n", database.source());
    scratch.file("config.toml", &text).display().to_string()
}

/// The verdicts by id, with this config and this word for the source.
fn verdicts(config: Option<&str>, word: &Path) -> Vec<(String, String)> {
    let mut arguments = vec!["list", "--json"];
    arguments.extend(config.map(|config| ["--config", config]).into_iter().flatten());
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let mut all: Vec<(String, String)> = lines(&run(&arguments, &[word]))
        .iter()
        .map(|claim| (text(&claim["id"]), text(&claim["verdict"])))
        .collect();
    all.sort();
    all
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(id, verdict)| ((*id).to_owned(), (*verdict).to_owned())).collect()
}

#[test]
fn a_source_is_found_by_its_name() {
    on_both(|| {
        let (scratch, database) = (Scratch::new(), super::healthy());
        let config = config(&scratch, &database, "");
        let output = run(&["check", "--config", &config], &[Path::new("prod")]);
        assert_eq!(code(&output), 0);
        assert!(
            stdout(&output).contains("prod") && stdout(&output).contains("healthy"),
            "{}",
            stdout(&output)
        );
        let output = run(&["check", "--json", "--config", &config], &[Path::new("prod")]);
        assert_eq!(json(&output)["sources"][0]["source"], "prod");
        let output = run(&["check", "--config", &config], &[Path::new("pord")]);
        assert_eq!(code(&output), 3);
    });
}

#[test]
fn a_source_uses_only_the_profiles_set_for_it() {
    on_both(|| {
        let (scratch, database) = (Scratch::new(), super::healthy());
        let other = config(&scratch, &database, "profiles = ['executor-jobs']");
        assert_eq!(code(&run(&["check", "--config", &other], &[Path::new("prod")])), 3);
        let right = config(&scratch, &database, "profiles = ['coordination']");
        assert_eq!(code(&run(&["check", "--config", &right], &[Path::new("prod")])), 0);
    });
}

#[test]
fn the_ttl_of_one_kind_changes_that_kind_alone() {
    on_both(|| {
        let database = Database::new(
            "CREATE TABLE executor_jobs (id TEXT PRIMARY KEY, type TEXT, status TEXT, locked_by TEXT,
           locked_at TEXT, heartbeat_at TEXT, attempts INTEGER, max_attempts INTEGER, last_error TEXT,
           run_at TEXT, updated_at TEXT)",
        );
        for (id, kind) in [("job-1", "run_tsa"), ("job-2", "build_artifact"), ("job-3", "of_no_known_kind")] {
            // Claimed 45 minutes before the frozen clock.
            database.run(
                "INSERT INTO executor_jobs VALUES
             (?1, ?2, 'running', 'worker-1', '2026-11-15T11:15:00Z', NULL, 1, 10, NULL, NULL, NULL)",
                [id, kind],
            );
        }
        let source = database.source();
        let path = Path::new(&source);
        let usual = [("job-1", "stale"), ("job-2", "stale"), ("job-3", "unknown")];
        assert_eq!(verdicts(None, path), pairs(&usual));

        let scratch = Scratch::new();
        let by_kind = config(&scratch, &database, "[source.prod.board.job.kind.run_tsa]\nttl = '60m'");
        let longer = [("job-1", "healthy"), ("job-2", "stale"), ("job-3", "unknown")];
        assert_eq!(verdicts(Some(&by_kind), Path::new("prod")), pairs(&longer));
        // A file that the config knows is that source, by whichever word.
        assert_eq!(verdicts(Some(&by_kind), path), pairs(&longer));

        let for_others = config(&scratch, &database, "[source.prod.board.job]\nttl = '2h'");
        let listed = [("job-1", "stale"), ("job-2", "stale"), ("job-3", "healthy")];
        assert_eq!(verdicts(Some(&for_others), Path::new("prod")), pairs(&listed));
    });
}

#[test]
fn orphan_after_of_a_source_applies_to_all_of_its_boards() {
    on_both(|| {
        let database = Database::new(COORDINATION);
        database.session("session-1", 15 * MINUTE);
        database.task("task-1", "session-1", 20 * MINUTE);
        database.run(
            "INSERT INTO locks VALUES ('lock-1', 'session-1', 1794743990000, 1794744040000, 'exclusive', 0)",
            [],
        );
        let scratch = Scratch::new();
        assert_eq!(
            verdicts(None, Path::new(&database.source())),
            pairs(&[("lock-1", "orphaned"), ("task-1", "orphaned")])
        );
        let patient = config(&scratch, &database, "[source.prod.limits]\norphan_after = '20m'");
        let fine = pairs(&[("lock-1", "healthy"), ("task-1", "healthy")]);
        assert_eq!(verdicts(Some(&patient), Path::new("prod")), fine);
        assert_eq!(code(&run(&["check", "--config", &patient], &[Path::new("prod")])), 0);
        // The board's own setting goes before the source's.
        let both =
            "[source.prod.limits]\norphan_after = '20m'\n[source.prod.board.lock]\norphan_after = '1m'";
        let both = config(&scratch, &database, both);
        let mixed = pairs(&[("lock-1", "orphaned"), ("task-1", "healthy")]);
        assert_eq!(verdicts(Some(&both), Path::new("prod")), mixed);
    });
}

#[test]
fn warn_before_of_a_board_leaves_the_other_boards_alone() {
    on_both(|| {
        let database = Database::new(COORDINATION);
        database.session("session-1", SECOND);
        database.task("task-1", "session-1", 3 * MINUTE);
        database.run(
            "INSERT INTO locks VALUES ('lock-1', 'session-1', 1794743990000, 1794744010000, 'exclusive', 0)",
            [],
        );
        let scratch = Scratch::new();
        assert_eq!(
            verdicts(None, Path::new(&database.source())),
            pairs(&[("lock-1", "expiring"), ("task-1", "expiring")])
        );
        let later = config(&scratch, &database, "[source.prod.board.task]\nwarn_before = '1m'");
        let mixed = pairs(&[("lock-1", "expiring"), ("task-1", "healthy")]);
        assert_eq!(verdicts(Some(&later), Path::new("prod")), mixed);
    });
}

#[test]
fn a_threshold_of_one_source_does_not_reach_another() {
    on_both(|| {
        let (database, other) = (Database::new(COORDINATION), Database::new(COORDINATION));
        for database in [&database, &other] {
            database.session("session-1", 15 * MINUTE);
            database.task("task-1", "session-1", 20 * MINUTE);
        }
        let scratch = Scratch::new();
        let patient = config(&scratch, &database, "[source.prod.limits]\norphan_after = '20m'");
        assert_eq!(verdicts(Some(&patient), Path::new(&database.source())), pairs(&[("task-1", "healthy")]));
        assert_eq!(verdicts(Some(&patient), Path::new(&other.source())), pairs(&[("task-1", "orphaned")]));
    });
}
