//! Every brake holds, says so, and can be lifted.

use super::*;
use crate::support::postgres::PgDatabase;

#[test]
fn two_thousand_at_once_are_held_and_nothing_is_touched() {
    on_both(|| {
        let scene = Scene::new();
        scene.expired(2_000);
        let run = scene.sweep(&[]);
        let summary = run.summary(5);
        let held = summary["held"].as_str().expect("a sentence");
        assert!(held.contains("100 % went stale at once") && run.err.contains(held), "{run:#?}");
        assert_eq!((&summary["applied"], &summary["left"]), (&Json::from(0), &Json::from(2_000)));
        assert_eq!(scene.held().len(), 2_000);
        assert_eq!(scene.outcomes().len(), 0);

        let lifted = scene.sweep(&["--max-share", "100%", "--max", "5000"]).summary(0);
        assert_eq!((&lifted["applied"], &lifted["held"]), (&Json::from(2_000), &Json::Null));
        assert_eq!(scene.held().len(), 0);
    });
}

#[test]
fn the_share_counts_only_above_ten_a_run() {
    on_both(|| {
        let scene = Scene::new();
        scene.expired(11);
        assert_eq!(scene.sweep(&[]).summary(5)["applied"], 0);
        scene.healthy(30);
        assert_eq!(scene.sweep(&[]).summary(0)["applied"], 11);
        let few = Scene::new();
        few.expired(10);
        assert_eq!(few.sweep(&[]).summary(0)["applied"], 10);
    });
}

#[test]
fn the_cap_takes_some_and_says_how_many_are_left() {
    on_both(|| {
        let scene = Scene::new();
        scene.expired(8);
        let run = scene.sweep(&["--max", "5"]);
        let summary = run.summary(5);
        assert_eq!((&summary["applied"], &summary["left"]), (&Json::from(5), &Json::from(3)));
        assert!(run.err.contains("the cap of 5 a run leaves 3"), "{run:#?}");
        assert_eq!(scene.sweep(&["--max", "5"]).summary(0)["applied"], 3);
    });
}

#[test]
fn brakes_can_be_set_in_the_config_and_for_one_source() {
    on_both(|| {
        let scene = Scene::new();
        scene.expired(12);
        let source = scene.database.source();
        scene.config(&format!(
        "[sweep]\nmax = 3\nmax_share = \"100%\"\n[source.here]\nat = {source:?}\n[source.here.sweep]\nmax = 4\n"
    ));
        assert_eq!(scene.sweep(&[]).summary(5)["applied"], 4);
        assert_eq!(scene.sweep(&["--max", "5"]).summary(5)["applied"], 5);
        scene.config("[sweep]\nmax_share = 30\n");
        assert_eq!(scene.sweep(&[]).code, 3);
    });
}

#[test]
fn a_task_that_came_back_three_times_in_a_day_is_poison() {
    on_both(|| {
        let scene = Scene::new();
        scene.session("well", SECOND);
        for _ in 0..3 {
            scene.task("bad", "well", -MINUTE, SECOND);
            assert_eq!(scene.sweep(&[]).tasks("claim:expired"), ["bad"]);
        }
        scene.task("bad", "well", -MINUTE, SECOND);
        scene.task("good", "well", -MINUTE, SECOND);
        let run = scene.sweep(&[]);
        let summary = run.summary(5);
        assert_eq!(
            (&summary["poison"], &summary["applied"], &summary["left"]),
            (&1.into(), &1.into(), &1.into())
        );
        assert_eq!(run.tasks("claim:poison"), ["bad"]);
        assert!(run.err.contains("poison, left for a person"), "{run:#?}");
        assert_eq!(scene.held(), ["bad"]);
        scene.config("[sweep]\nper_day = 9\n");
        assert_eq!(scene.sweep(&[]).summary(0)["applied"], 1);
    });
}

#[test]
fn what_an_operator_reclaimed_does_not_count_as_swept() {
    on_both(|| {
        let scene = Scene::new();
        scene.session("well", SECOND);
        for _ in 0..3 {
            scene.task("t", "well", -MINUTE, SECOND);
            assert_eq!(scene.run(&["reclaim", "DB", "t"]).code, 0);
        }
        scene.task("t", "well", -MINUTE, SECOND);
        assert_eq!(scene.sweep(&[]).summary(0)["applied"], 1);
    });
}

#[test]
fn a_dry_run_says_what_it_would_do_and_leaves_no_byte() {
    on_both(|| {
        let scene = Scene::new();
        scene.expired(5);
        scene.task("orphan", "nobody", 20 * MINUTE, SECOND);
        let bytes = || {
            let sum = "find . -type f ! -name '*-shm' -exec sha256sum {} + | sort; find . | sort";
            let folder = scene.database.folder();
            let sums = Command::new("sh").args(["-c", sum]).current_dir(folder).output().expect("sh runs");
            (stdout(&sums), scene.database.server().map(PgDatabase::versions))
        };
        let before = bytes();
        let dry = scene.sweep(&["--dry-run"]);
        assert_eq!(bytes(), before);
        let sighted = scene.sweep(&["--dry-run", "--sighted"]);
        assert_eq!(sighted.summary(0)["watching"], 6, "{sighted:#?}");
        assert_eq!(bytes(), before);
        assert!(!scene.state().exists());
        assert!(dry.lines().iter().all(|line| line["dryRun"] == true), "{dry:#?}");
        let real = scene.sweep(&[]);
        for event in ["claim:expired", "claim:orphaned"] {
            assert_eq!(dry.tasks(event), real.tasks(event));
        }
        assert_eq!(dry.summary(0)["applied"], real.summary(0)["applied"]);
    });
}

#[test]
fn a_read_only_session_sweeps_nothing() {
    on_both(|| {
        let scene = Scene::new();
        scene.expired(2);
        let run = scene.sweep(&["--read-only"]);
        assert!(run.code == 5 && run.err.contains("read-only"), "{run:#?}");
        assert_eq!(scene.held().len(), 2);
    });
}
