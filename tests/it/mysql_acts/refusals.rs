//! What is shown and never changed, each with its reason.

use claimtop::domain::recovery::{Refusal, TableUnsafe, UntoldRows};

use super::*;

fn refusal(database: &MyDatabase, profile: &str, id: &str) -> Refusal {
    let before = database.dump();
    let mut actor = actor_by(database, profile);
    let outcome = reclaim(&mut actor, id).outcome;
    assert_eq!(database.dump(), before);
    match outcome {
        Outcome::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tables_whose_changes_cannot_be_guarded_or_taken_back() {
    let engine = QUEUE.replacen(
        "ON UPDATE CURRENT_TIMESTAMP(6));",
        "ON UPDATE CURRENT_TIMESTAMP(6)) ENGINE=MyISAM;",
        1,
    );
    let Some(database) = MyDatabase::new(&engine) else { return };
    let unsafe_by = |refusal: Refusal| match refusal {
        Refusal::TableUnsafe { why, .. } => why,
        other => panic!("{other}"),
    };
    let by_engine = TableUnsafe::NotTransactional { engine: "MyISAM".into() };
    assert_eq!(unsafe_by(refusal(&database, PROFILE, "a")), by_engine);

    let database =
        MyDatabase::new(&QUEUE.replace("VARCHAR(40) PRIMARY KEY", "VARCHAR(40)")).expect("a server");
    assert_eq!(unsafe_by(refusal(&database, PROFILE, "a")), TableUnsafe::NoKey);

    let database = MyDatabase::new(QUEUE).expect("a server");
    database.run("RENAME TABLE q TO q_rows;\nCREATE VIEW q AS SELECT * FROM q_rows");
    assert_eq!(unsafe_by(refusal(&database, PROFILE, "a")), TableUnsafe::View);

    for (table, alter) in [
        ("q_log", "ALTER TABLE q_log ENGINE = MyISAM"),
        (
            "claimtop_audit",
            "CREATE TABLE claimtop_audit (action_id VARCHAR(64) PRIMARY KEY, at TEXT, record TEXT) ENGINE=Aria",
        ),
    ] {
        let database = MyDatabase::new(QUEUE).expect("a server");
        database.run(alter);
        let refused = refusal(&database, PROFILE, "a");
        assert!(matches!(&refused, Refusal::TableUnsafe { table: one, .. } if one == table), "{refused}");
    }
}

#[test]
fn rows_that_triggers_foreign_keys_or_statements_change_and_nobody_can_name() {
    let Some(database) = MyDatabase::new(QUEUE) else { return };
    database
        .run("CREATE TRIGGER t AFTER UPDATE ON q FOR EACH ROW INSERT INTO q_log (job) VALUES ('trigger')");
    let refused = refusal(&database, PROFILE, "a");
    assert_eq!(refused, Refusal::UntoldRows(UntoldRows::Trigger { table: "q".into() }));
    // One that changes the row itself is in the image.
    database
        .run("DROP TRIGGER t;\nCREATE TRIGGER t BEFORE UPDATE ON q FOR EACH ROW SET NEW.holder = 'trigger'");
    let before = database.dump();
    let mut actor = actor_by(&database, PROFILE);
    let acted = reclaim(&mut actor, "a");
    assert_eq!(acted.outcome, Outcome::Applied);
    database.run("DROP TRIGGER t");
    assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
    assert_eq!(database.dump(), before);

    let delete = PROFILE.replace("set = { state = \"'queued'\", holder = \"NULL\" }", "delete = true");
    database.run(
        "CREATE TABLE parts (n INT PRIMARY KEY, q VARCHAR(40), FOREIGN KEY (q) REFERENCES q (id) ON DELETE CASCADE);
         INSERT INTO parts VALUES (1, 'a')",
    );
    let mut actor = actor_by(&database, &delete);
    let seen = look(&mut actor, "a");
    let acted = act(&mut actor, &seen, Action::Release, "test");
    let by_key = UntoldRows::ForeignKey { table: "parts".into() };
    assert_eq!(acted.outcome, Outcome::Refused(Refusal::UntoldRows(by_key)));
    // Nobody refers to the other one.
    let before = database.dump();
    let seen = look(&mut actor, "b");
    let acted = act(&mut actor, &seen, Action::Release, "test");
    assert_eq!(acted.outcome, Outcome::Applied);
    assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
    assert_eq!(database.dump(), before);

    let beside = PROFILE.replace("INSERT INTO q_log (job, said)", "INSERT IGNORE INTO q_log (job, said)");
    let refused = refusal(&database, &beside, "a");
    assert!(matches!(refused, Refusal::UntoldRows(UntoldRows::Statement { .. })), "{refused}");
}

#[test]
fn an_undo_of_a_deleted_row_does_not_overwrite_a_new_one() {
    let Some(database) = MyDatabase::new(QUEUE) else { return };
    let delete = PROFILE.replace("set = { state = \"'queued'\", holder = \"NULL\" }", "delete = true");
    let mut actor = actor_by(&database, &delete);
    let seen = look(&mut actor, "a");
    let acted = act(&mut actor, &seen, Action::Release, "test");
    assert_eq!(acted.outcome, Outcome::Applied);
    database.run("INSERT INTO q (id, state) VALUES ('A', 'new')");
    let before = database.dump();
    assert!(matches!(undo(&mut actor, &acted), Outcome::Moved(_)));
    assert_eq!(database.dump(), before);
}

#[test]
fn there_is_no_server_session_to_end() {
    let Some(database) = MyDatabase::new(QUEUE) else { return };
    let output = database.claimtop(&["terminate", "--help"]);
    assert!(output.status.success());
    assert!(Refusal::NoBackends.to_string().contains("MySQL"));
}
