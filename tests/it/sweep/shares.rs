//! The share is measured for every board and for the whole source.

use super::*;

/// So many locks of a session that beats.
fn locks(scene: &Scene, name: &str, count: usize, expires_in: i64) {
    scene.database.run(
        &format!(
            "INSERT INTO locks (resource, session_id, acquired_at, expires_at)
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
             SELECT '{name}-' || i, 'worker-1', ?1, ?2 FROM n"
        ),
        [now() - 120 * MINUTE, now() + expires_in],
    );
}

#[test]
fn healthy_locks_do_not_hide_that_every_task_went_stale() {
    on_both(|| {
        let scene = Scene::new();
        scene.expired(400);
        locks(&scene, "well", 1_000, 20 * MINUTE);
        let run = scene.sweep(&[]);
        let summary = run.summary(5);
        assert_eq!((&summary["applied"], &summary["left"]), (&0.into(), &400.into()), "{run:#?}");
        let held = summary["held"].as_str().expect("a sentence");
        assert!(held.contains("task") && held.contains("100 %") && held.contains("400 of 400"), "{held}");
        assert_eq!(scene.held().len(), 400);
        assert_eq!(scene.sweep(&["--max-share", "100%"]).summary(0)["applied"], 400);
    });
}

#[test]
fn a_board_that_is_held_does_not_hold_the_others() {
    on_both(|| {
        let scene = Scene::new();
        scene.expired(40);
        locks(&scene, "well", 200, 20 * MINUTE);
        locks(&scene, "old", 5, -20 * MINUTE);
        let run = scene.sweep(&[]);
        let summary = run.summary(5);
        assert_eq!((&summary["applied"], &summary["left"]), (&5.into(), &40.into()), "{run:#?}");
        assert_eq!(scene.number("SELECT count(*) FROM locks"), 200);
        assert_eq!(scene.held().len(), 40);
    });
}

#[test]
fn boards_below_the_limit_can_be_above_it_together() {
    on_both(|| {
        let scene = Scene::new();
        // Eight of each are few on their own; sixteen of sixteen are not.
        scene.expired(8);
        locks(&scene, "old", 8, -20 * MINUTE);
        let run = scene.sweep(&[]);
        let held = run.summary(5)["held"].as_str().expect("a sentence").to_owned();
        assert!(held.contains("16 of 16"), "{held}");
        assert_eq!(scene.held().len(), 8);
    });
}

#[test]
fn of_a_crowd_only_as_many_rows_are_loaded_as_one_run_takes() {
    on_both(|| {
        let scene = Scene::new();
        scene.crowd("task", 30_000, -60 * MINUTE);
        scene.crowd("well", 90_000, 20 * MINUTE);
        let run = scene.sweep(&["--max", "50"]);
        let summary = run.summary(5);
        assert_eq!((&summary["applied"], &summary["left"]), (&50.into(), &29_950.into()), "{run:#?}");
        assert!(run.err.contains("the cap of 50 a run leaves 29950"), "{run:#?}");
    });
}
