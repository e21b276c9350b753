//! Finalization: every answer of the claim function, the extension and the release.

use super::{FINALIZATION, all, database, texts};
use crate::support::postgres::PgDatabase;
use std::sync::Barrier;
use std::thread;

const TASK: &str = "00000000-0000-7000-8000-000000000001";

/// A task of which one step has ended, in the state `steps_in_process`.
fn ready() -> PgDatabase {
    let database = database(&[FINALIZATION]);
    database.run(&format!(
        "INSERT INTO tasker_tasks (task_uuid) VALUES ('{TASK}');
         INSERT INTO tasker_workflow_steps (task_uuid, state) VALUES ('{TASK}', 'completed'), ('{TASK}', 'pending');
         INSERT INTO tasker_task_transitions (task_uuid, to_state) VALUES ('{TASK}', 'steps_in_process');"
    ));
    database
}

fn claim(database: &PgDatabase, processor: &str, seconds: i32) -> String {
    let sql = format!("SELECT * FROM claim_task_for_finalization('{TASK}', '{processor}', {seconds})");
    all(database, &sql).remove(0)
}

/// Makes the claim this many seconds older.
fn age(database: &PgDatabase, seconds: i32) {
    database.run(&format!("UPDATE tasker_tasks SET claimed_at = claimed_at - interval '{seconds} seconds'"));
}

#[test]
fn the_first_gets_the_claim_and_extends_it_and_the_second_is_told_who_has_it() {
    let database = ready();
    assert_eq!(claim(&database, "p1", 30), "t|p1|steps_in_process|Successfully claimed for finalization");
    assert_eq!(claim(&database, "p2", 30), "f|p1|steps_in_process|Task already claimed for finalization");
    age(&database, 20);
    assert_eq!(claim(&database, "p1", 99), "t|p1|steps_in_process|Claim extended");
    let row = "SELECT claimed_by, claim_timeout_seconds, claimed_at = updated_at,
                 claimed_at > (now() AT TIME ZONE 'utc') - interval '15 seconds' FROM tasker_tasks";
    assert_eq!(all(&database, row), ["p1|30|t|t"], "an extension keeps the row's timeout");
}

#[test]
fn a_task_that_is_unknown_complete_or_without_an_ended_step_is_not_given_out() {
    let database = ready();
    let unknown = "SELECT * FROM claim_task_for_finalization(gen_random_uuid(), 'p1')";
    assert_eq!(all(&database, unknown), ["f|-|not_found|Task not found"]);
    database.run("UPDATE tasker_workflow_steps SET state = 'in_progress'");
    assert_eq!(claim(&database, "p1", 30), "f|-|steps_in_process|Task has no completed or failed steps");
    database.run("UPDATE tasker_workflow_steps SET state = 'failed'");
    database.run("UPDATE tasker_tasks SET complete = true");
    assert_eq!(claim(&database, "p1", 30), "f|-|complete|Task already complete");
    database.run("UPDATE tasker_tasks SET complete = false");
    assert_eq!(claim(&database, "p1", 30), "t|p1|steps_in_process|Successfully claimed for finalization");
}

#[test]
fn the_rows_timeout_alone_decides_when_a_claim_is_over() {
    let database = ready();
    claim(&database, "p1", 30);
    age(&database, 5);
    let taken = "f|p1|steps_in_process|Task already claimed for finalization";
    assert_eq!(claim(&database, "p2", 1), taken, "the specification calls this a race");
    age(&database, 35);
    assert_eq!(
        claim(&database, "p2", 300),
        "t|p2|steps_in_process|Successfully claimed for finalization",
        "the specification asks the caller's timeout and refuses"
    );
    assert_eq!(all(&database, "SELECT claim_timeout_seconds FROM tasker_tasks"), ["300"]);
    age(&database, 400);
    let anew = "t|p2|steps_in_process|Successfully claimed for finalization";
    assert_eq!(claim(&database, "p2", 30), anew, "its own claim, but too late");

    database.run("UPDATE tasker_tasks SET claimed_at = NULL");
    assert_eq!(claim(&database, "p3", 30), "f|p2|steps_in_process|Task already claimed for finalization");
    database.run("UPDATE tasker_tasks SET claimed_at = 'infinity'");
    assert_eq!(claim(&database, "p3", 30), "f|p2|steps_in_process|Task already claimed for finalization");
}

#[test]
fn an_extension_is_for_the_owner_in_time_and_never_takes_a_claim() {
    let database = ready();
    let extend = |processor: &str| {
        let sql = format!("SELECT extend_finalization_claim('{TASK}', '{processor}')");
        database.value(&sql).unwrap()
    };
    assert_eq!(extend("p1"), "f", "there is no claim");
    claim(&database, "p1", 30);
    assert_eq!((extend("p2").as_str(), extend("p1").as_str()), ("f", "t"));
    age(&database, 31);
    let before = all(&database, "SELECT * FROM tasker_tasks");
    assert_eq!(extend("p1"), "f", "it is over");
    assert_eq!(all(&database, "SELECT * FROM tasker_tasks"), before);
}

#[test]
fn a_release_is_for_the_owner_and_works_once() {
    let database = ready();
    let release = |processor: &str| {
        let sql = format!("SELECT release_finalization_claim('{TASK}', '{processor}')");
        database.value(&sql).unwrap()
    };
    claim(&database, "p1", 77);
    age(&database, 100);
    assert_eq!(release("p2"), "f");
    assert_eq!(release("p1"), "t", "also when it is over");
    assert_eq!(release("p1"), "f");
    assert_eq!(
        all(&database, "SELECT claimed_by, claimed_at, claim_timeout_seconds FROM tasker_tasks"),
        ["-|-|77"]
    );
    assert!(claim(&database, "p2", 30).starts_with("t|p2|"));
}

#[test]
fn every_call_is_an_attempt_on_record() {
    let database = ready();
    claim(&database, "p1", 30);
    claim(&database, "p2", 30);
    claim(&database, "p1", 30);
    database.run(&format!("SELECT extend_finalization_claim('{TASK}', 'p2')"));
    let attempts = "SELECT processor_id, claimed, already_claimed_by, message
                    FROM tasker_finalization_attempts ORDER BY id";
    assert_eq!(
        all(&database, attempts),
        [
            "p1|t|p1|Successfully claimed for finalization",
            "p2|f|p1|Task already claimed for finalization",
            "p1|t|p1|Claim extended",
            "p2|f|p1|Failed to extend claim",
        ]
    );
}

#[test]
fn times_are_in_the_time_zone_of_the_database() {
    let database = ready();
    database.run(&format!("ALTER DATABASE {} SET timezone = 'Asia/Tokyo'", database.name()));
    let tokyo = database.connect();
    tokyo.run(&format!("SELECT claim_task_for_finalization('{TASK}', 'p1', 30)"));
    let late = format!("SELECT * FROM claim_task_for_finalization('{TASK}', 'p2', 30)");
    assert!(texts(&tokyo.query(&late))[0].starts_with("f|p1|"));
    let near = "SELECT abs(extract(epoch FROM claimed_at AT TIME ZONE 'Asia/Tokyo' - now())) < 600 FROM tasker_tasks";
    assert_eq!(database.value(near).as_deref(), Some("t"));
    // The workers of this crate write the same, and the profile reads it.
    let output = database.claimtop(&["check", "--json"]);
    assert_eq!(crate::support::json(&output)["sources"][0]["claims"]["unknown"], 0, "{output:?}");
}

#[test]
fn nameless_processors_and_timeouts_below_a_second_are_refused() {
    let database = ready();
    for arguments in ["'', 30", "NULL, 30", "'p', 0", "'p', -1", "'p', NULL"] {
        let sql = format!("SELECT claim_task_for_finalization('{TASK}', {arguments})");
        let refusal = database.connect().attempt(&sql).expect_err(arguments);
        assert_eq!(refusal.code.as_deref(), Some("22023"), "{refusal:?}");
    }
    assert_eq!(all(&database, "SELECT count(*) FROM tasker_finalization_attempts"), ["0"]);
}

#[test]
fn of_32_processors_that_ask_at_once_one_gets_the_task() {
    let database = ready();
    let ready = Barrier::new(32);
    let answers: Vec<String> = thread::scope(|scope| {
        let processors: Vec<_> = (0..32)
            .map(|who| {
                let (database, ready) = (&database, &ready);
                scope.spawn(move || {
                    let session = database.connect();
                    ready.wait();
                    let sql = format!("SELECT * FROM claim_task_for_finalization('{TASK}', 'p{who}', 3600)");
                    texts(&session.query(&sql)).remove(0)
                })
            })
            .collect();
        processors.into_iter().map(|processor| processor.join().unwrap()).collect()
    });
    let won: Vec<&String> = answers.iter().filter(|answer| answer.starts_with("t|")).collect();
    assert_eq!(won.len(), 1, "{answers:#?}");
    let winner = won[0].split('|').nth(1).unwrap();
    let lost = format!("f|{winner}|steps_in_process|Task already claimed for finalization");
    assert_eq!(answers.iter().filter(|answer| **answer == lost).count(), 31, "{answers:#?}");
    assert_eq!(all(&database, "SELECT count(*) FROM tasker_finalization_attempts"), ["32"]);
}
