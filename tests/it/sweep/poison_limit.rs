//! Tasks that come back too often are counted wherever a record of them is; locks are not counted.

use super::*;
use crate::support::engine::{Engine, engine};

fn swept_three_times(scene: &Scene) {
    assert_eq!(scene.run(&["audit", "init", "DB"]).code, 0);
    scene.session("well", SECOND);
    for _ in 0..3 {
        scene.task("bad", "well", -MINUTE, SECOND);
        assert_eq!(scene.sweep(&[]).tasks("claim:expired"), ["bad"]);
    }
    scene.task("bad", "well", -MINUTE, SECOND);
}

#[track_caller]
fn expect_poison(run: &Run) {
    let summary = run.summary(5);
    assert_eq!((&summary["poison"], &summary["applied"]), (&1.into(), &0.into()), "{run:#?}");
}

#[test]
fn another_state_directory_does_not_forget_what_the_database_knows() {
    on_both(|| {
        let scene = Scene::new();
        swept_three_times(&scene);
        std::fs::remove_dir_all(scene.state()).expect("the state directory");
        expect_poison(&scene.sweep(&[]));
    });
}

#[test]
fn a_file_that_was_replaced_by_its_copy_keeps_its_count() {
    let scene = Scene::new();
    assert_eq!(engine(), Engine::Sqlite);
    swept_three_times(&scene);
    let copy = scene.database.beside("copy.db");
    scene.database.connection.execute("VACUUM INTO ?1", [copy.to_str()]).expect("a copy");
    std::fs::rename(&copy, scene.database.path()).expect("moved over it");
    for log in ["tasks.db-wal", "tasks.db-shm"] {
        let _ = std::fs::remove_file(scene.database.beside(log));
    }
    expect_poison(&scene.sweep(&[]));
}

#[test]
fn what_both_records_tell_of_is_counted_once() {
    on_both(|| {
        let scene = Scene::new();
        assert_eq!(scene.run(&["audit", "init", "DB"]).code, 0);
        scene.session("well", SECOND);
        for round in 0..3 {
            scene.task("t", "well", -MINUTE, SECOND);
            assert_eq!(scene.sweep(&[]).tasks("claim:expired"), ["t"], "round {round}");
        }
    });
}

#[test]
fn an_operators_reclaim_in_the_audit_table_is_not_a_sweep() {
    on_both(|| {
        let scene = Scene::new();
        assert_eq!(scene.run(&["audit", "init", "DB"]).code, 0);
        scene.session("well", SECOND);
        for _ in 0..3 {
            scene.task("t", "well", -MINUTE, SECOND);
            assert_eq!(scene.run(&["reclaim", "DB", "t"]).code, 0);
        }
        std::fs::remove_dir_all(scene.state()).expect("the state directory");
        scene.task("t", "well", -MINUTE, SECOND);
        assert_eq!(scene.sweep(&[]).summary(0)["applied"], 1);
    });
}

#[test]
fn the_merge_queues_lock_may_expire_as_often_as_it_likes() {
    on_both(|| {
        let scene = Scene::of(System::MergeQueue);
        for round in 0..6 {
            let seconds = now() / SECOND;
            scene.database.run(
                "INSERT INTO queue_processing_lock VALUES (1, 'agent-a', ?1, ?2)",
                [seconds - 3_600, seconds - 3_300],
            );
            let run = scene.sweep(&[]);
            assert_eq!(run.summary(0)["applied"], 1, "round {round}: {run:#?}");
        }
    });
}
