//! One tally for the preview, the result, the JSON and the exit code of a bulk.

use super::*;

/// Three claims whose lease is over, twenty that are about to expire.
fn mixed() -> Scene {
    let scene = Scene::new();
    scene.session("worker-1", SECOND);
    for number in 0..3 {
        scene.task(&format!("over-{number}"), "worker-1", -60 * MINUTE);
    }
    for number in 0..20 {
        scene.task(&format!("soon-{number:02}"), "worker-1", 2 * MINUTE);
    }
    scene
}

const BULK: [&str; 5] = ["reclaim", "DB", "--set", "stale,expiring", "--yes"];

#[test]
fn what_the_rules_forbid_is_skipped_in_the_preview_and_not_done_in_the_result() {
    on_both(|| {
        let scene = mixed();
        let run = scene.run(&BULK);
        assert_eq!(run.code, 5, "{run:#?}");
        run.says("3 of 23 claims will be reclaimed; 20 skipped");
        run.says("20 refused: neither stale nor orphaned");
        run.says("3 of 23 claims reclaimed; 20 refused");
        assert!(!run.out.contains("23 of 23"), "{run:#?}");
        assert_eq!(scene.held().len(), 20);
        // What is not tried leaves no record.
        assert_eq!(scene.export().len(), 6);
    });
}

#[test]
fn the_last_object_counts_every_claim_once_and_a_rehearsal_says_the_same() {
    on_both(|| {
        let scene = mixed();
        let bytes = scene.bytes();
        let rehearsed = scene.run(&["reclaim", "DB", "--set", "stale,expiring", "--dry-run", "--json"]);
        scene.assert_untouched(&bytes, "a rehearsal");
        let run = scene.run(&[&BULK[..], &["--json"]].concat());
        for (run, applied_in_lines) in [(&rehearsed, 0), (&run, 3)] {
            assert_eq!(run.code, 5, "{run:#?}");
            let tally = run.tally();
            let counts = ["wanted", "applied", "refused", "moved", "unknown", "not_tried"];
            let counts = counts.map(|name| tally[name].as_u64().expect(name));
            assert_eq!(counts, [23, 3, 20, 0, 0, 0], "{tally}");
            let lines = run.results();
            let of = |outcome: &str| lines.iter().filter(|line| line["outcome"] == outcome).count();
            assert_eq!((of("applied"), of("refused")), (applied_in_lines, 20), "{run:#?}");
            assert_eq!(tally["reasons"][0]["why"], "neither stale nor orphaned");
        }
        assert_eq!((&rehearsed.tally()["batch"], &rehearsed.tally()["undo"]), (&Json::Null, &Json::Null));
    });
}

#[test]
fn nothing_is_asked_where_nothing_can_be_done() {
    on_both(|| {
        let scene = mixed();
        let run = scene.run(&["reclaim", "DB", "--set", "expiring"]);
        assert_eq!(run.code, 5, "{run:#?}");
        run.says("0 of 20 claims will be reclaimed; 20 skipped");
        run.says("0 of 20 claims reclaimed; 20 refused");
        assert_eq!(scene.held().len(), 23);
    });
}

#[test]
fn one_id_undoes_a_bulk_of_many_transactions_and_boards() {
    on_both(|| {
        let scene = Scene::new();
        scene.session("worker-1", SECOND);
        scene.tasks(1_200);
        scene.lock("file", "worker-1", -60 * MINUTE);
        let state = || ["task_claims", "locks"].map(|table| scene.rows(table));
        let before = state();
        let run = scene.run(&["reclaim", "DB", "--set", "stale", "--yes", "--json"]);
        let tally = run.tally();
        assert_eq!((run.code, &tally["applied"]), (0, &1_201.into()), "{}", run.err);
        let transactions: std::collections::BTreeSet<String> = run
            .results()
            .iter()
            .map(|one| {
                one["action_id"].as_str().and_then(|id| id.split_once('.')).expect("a number").0.into()
            })
            .collect();
        assert!(transactions.len() > 1, "{transactions:?}");
        let batch = tally["batch"].as_str().expect("an id");
        // Somebody has taken one of them since.
        scene.task("task-0007", "worker-9", 60 * MINUTE);
        let undone = scene.run(&["undo", "DB", batch, "--json"]);
        let counts = ["wanted", "applied", "moved", "not_tried"].map(|name| undone.tally()[name].clone());
        assert_eq!(counts, [1_201, 1_200, 1, 0].map(Json::from), "{}", undone.tally());
        assert_eq!(undone.code, 4);
        assert_eq!(scene.number("SELECT count(*) FROM task_claims WHERE session_id = 'worker-9'"), 1);
        scene.execute("UPDATE task_claims SET session_id = 'worker-1' WHERE task_id = 'task-0007'", []);
        assert_eq!(scene.held().len(), 1_200);
        assert_eq!(state()[1], before[1]);
        // And the undo as a whole can be undone.
        let again = undone.tally()["batch"].as_str().expect("an id").to_owned();
        let again = scene.run(&["undo", "DB", &again, "--json"]);
        assert_eq!(again.tally()["applied"], 1_200, "{}", again.tally());
        assert_eq!(scene.run(&["audit", "verify"]).code, 0);
    });
}

/// More claims than are kept with their rows: they are looked at again in parts.
#[test]
fn a_bulk_of_more_claims_than_are_kept_in_memory_is_done_to_all_of_them() {
    on_both(|| {
        let scene = Scene::new();
        scene.session("worker-1", SECOND);
        scene.tasks(10_250);
        scene.task("healthy", "worker-1", 60 * MINUTE);
        let run = scene.run(&["release", "DB", "--set", "stale", "--yes"]);
        assert_eq!(run.code, 0, "{run:#?}");
        run.says("10250 of 10250 claims will be released");
        run.says("... and 10230 more");
        run.says("10250 of 10250 claims released");
        assert_eq!(scene.held(), ["healthy"]);
    });
}
