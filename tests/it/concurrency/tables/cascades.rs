//! What an act sets off in other tables: an undo takes back what foreign keys did, and what it cannot take
//! back is said.

use super::*;
use crate::support::options::writable;
use claimtop::recovery::{ActReport, PerformedAct};
use claimtop::report::act::{ActMode, json, text};
use claimtop::store::Side;

const DELETED: &str = "reclaim = { delete = true }";

impl Table {
    /// Every row of every table.
    fn everything(&self) -> Vec<String> {
        let tables =
            "SELECT format('SELECT %L, t::text FROM %s AS t', oid::regclass, oid::regclass) FROM pg_class
             WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace";
        let tables = self.database.query(tables).into_iter().filter_map(|mut row| row.remove(0));
        let all = tables.collect::<Vec<_>>().join(" UNION ALL ") + " ORDER BY 1, 2";
        self.database.query(&all).into_iter().map(|row| format!("{row:?}")).collect()
    }

    fn report(&mut self, id: &str) -> ActReport {
        let seen = self.audited.actor().find(id, None).expect("a look").pop().expect("a claim");
        self.audited.perform(&seen, Action::Reclaim, &Authorization::default()).expect("an act")
    }

    /// Acts on one and takes it back, and then on all; everything is as it was each time.
    #[track_caller]
    fn all_comes_back(&mut self, id: &str, changes: usize) {
        let before = self.everything();
        let report = self.report(id);
        assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
        assert_eq!(report.changes.len(), changes, "{:#?}", report.changes);
        assert!(report.changes[0].table == self.table && !json(&report).contains("not_undone"));
        assert_ne!(self.everything(), before);
        let undone = self.audited.undo(&report.action_id, None).expect("an undo");
        assert_eq!(undone.outcome, Outcome::Applied);
        assert_eq!(self.everything(), before);
        let again = self.audited.undo(&report.action_id, None).expect("an undo").outcome;
        assert!(matches!(again, Outcome::Moved(_)), "{again:?}");
        // An undo can be undone too.
        assert_eq!(self.audited.undo(&undone.action_id, None).expect("an undo").outcome, Outcome::Applied);
        assert_ne!(self.everything(), before);
    }
}

const FAMILY: &str = "CREATE TABLE runs (id int PRIMARY KEY, held_by text, $TIMES);
    INSERT INTO runs SELECT n, 'w' FROM generate_series(1, 60) n; INSERT INTO runs VALUES (0, NULL);
    CREATE TABLE parts (id int PRIMARY KEY, run int REFERENCES runs ON DELETE CASCADE, n int);
    INSERT INTO parts SELECT n, n % 60 + 1, n FROM generate_series(1, 120) n;
    CREATE TABLE leaves (id int PRIMARY KEY, part int REFERENCES parts ON DELETE CASCADE);
    INSERT INTO leaves SELECT n, n FROM generate_series(1, 120) n;
    CREATE TABLE loose (id int PRIMARY KEY, run int REFERENCES runs ON DELETE SET NULL);
    CREATE TABLE handed (id int PRIMARY KEY, run int DEFAULT 0 REFERENCES runs ON DELETE SET DEFAULT);
    CREATE TABLE plain (id int, run int REFERENCES runs ON DELETE CASCADE);
    INSERT INTO loose SELECT n, n FROM generate_series(1, 60) n; INSERT INTO handed SELECT * FROM loose;
    INSERT INTO plain SELECT * FROM loose;";

#[test]
fn rows_that_go_with_the_claim_come_back_with_it() {
    // The claim, two parts with a leaf each, one that lets go, one that is handed on, one without a key.
    Table::new(FAMILY, DELETED).all_comes_back("7", 8);
}

#[test]
fn of_many_each_with_its_own() {
    let mut table = Table::new(FAMILY, DELETED);
    let before = table.everything();
    let actions = table.reclaim_all();
    assert_eq!(table.database.value("SELECT count(*) FROM leaves").as_deref(), Some("0"));
    for action in actions.iter().rev() {
        assert_eq!(table.audited.undo(action, None).expect("an undo").outcome, Outcome::Applied);
    }
    assert_eq!(table.everything(), before);
}

#[test]
fn what_somebody_has_done_to_such_a_row_since_is_not_undone() {
    for change in ["UPDATE loose SET run = 8 WHERE id = 7", "INSERT INTO parts VALUES (6, 8, 0)"] {
        let mut table = Table::new(FAMILY, DELETED);
        let action = table.report("7").action_id;
        table.database.run(change);
        let before = table.everything();
        let outcome = table.audited.undo(&action, None).expect("an undo").outcome;
        assert!(matches!(outcome, Outcome::Moved(_)), "{outcome:?}");
        assert_eq!(table.everything(), before, "{change}");
    }
}

#[test]
fn rows_that_refer_to_each_other_in_a_circle() {
    let schema = "CREATE TABLE runs (id int PRIMARY KEY, held_by text, after int REFERENCES runs ON DELETE CASCADE, $TIMES);
        INSERT INTO runs SELECT n, CASE WHEN n < 3 THEN 'w' END FROM generate_series(1, 6) n;
        UPDATE runs SET after = CASE id WHEN 1 THEN 5 WHEN 4 THEN 1 WHEN 5 THEN 4 END";
    // A foreign key that is checked at once lets nobody put a circle back row by row.
    let deferred = schema.replace("ON DELETE CASCADE", "ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED");
    Table::new(&deferred, DELETED).all_comes_back("1", 3);
}

#[test]
fn a_key_that_changes_takes_those_that_refer_to_it_along_both_ways() {
    let schema = "CREATE TABLE runs (id int PRIMARY KEY, held_by text, $TIMES);
        INSERT INTO runs SELECT n, 'w' FROM generate_series(1, 6) n;
        CREATE TABLE parts (run int REFERENCES runs ON UPDATE CASCADE, n int, PRIMARY KEY (run, n));
        CREATE TABLE leaves (id int PRIMARY KEY, run int, n int, FOREIGN KEY (run, n) REFERENCES parts ON UPDATE CASCADE);
        CREATE TABLE loose (id int PRIMARY KEY, run int REFERENCES runs ON UPDATE SET NULL);
        INSERT INTO parts SELECT a, b FROM generate_series(1, 6) a, generate_series(1, 2) b;
        INSERT INTO leaves SELECT n, n, 1 FROM generate_series(1, 6) n; INSERT INTO loose SELECT n, n FROM generate_series(1, 6) n";
    let act = "reclaim = { set = { held_by = \"NULL\", id = \"c.id + 100\" } }";
    Table::new(schema, act).all_comes_back("3", 5);
}

#[test]
fn rows_that_a_foreign_key_leaves_alone_are_not_read() {
    let schema = FAMILY.replace("ON DELETE CASCADE", "ON UPDATE CASCADE");
    let schema =
        schema.replace("ON DELETE SET NULL", "ON UPDATE SET NULL").replace("ON DELETE SET DEFAULT", "");
    Table::new(&schema, "").all_comes_back("7", 1);
}

const COUNTED: &str = "CREATE TABLE runs (id int PRIMARY KEY, held_by text, stamp text DEFAULT '', $TIMES);
    INSERT INTO runs SELECT n, 'w' FROM generate_series(1, 6) n;
    CREATE TABLE counters (name text PRIMARY KEY, n int); INSERT INTO counters VALUES ('changes', 0);
    CREATE TABLE diary (id serial PRIMARY KEY, what text);
    CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
      UPDATE counters SET n = n + 1; INSERT INTO diary (what) VALUES (''changed '' || old.id); RETURN NULL; END';
    CREATE TRIGGER noted AFTER UPDATE OF held_by ON runs FOR EACH ROW EXECUTE FUNCTION noted();";

const DONE: ActMode<'_> = ActMode::Done { undo: "claimtop undo tasks.db" };

#[test]
fn what_triggers_did_elsewhere_is_said_with_the_act_and_with_its_undo() {
    let mut table = Table::new(COUNTED, "");
    let report = table.report("3");
    assert_eq!(report.outcome, Outcome::Applied);
    assert!(json(&report).contains("\"not_undone\":[\"counters\",\"diary\"]"), "{}", json(&report));
    assert!(
        text(&report, DONE)
            .contains("does not take back what triggers or foreign keys do in counters, diary"),
        "{report:#?}"
    );
    let undone = table.audited.undo(&report.action_id, None).expect("an undo");
    assert_eq!(undone.outcome, Outcome::Applied);
    assert!(
        text(&undone, DONE)
            .contains("does not take back what triggers or foreign keys do in counters, diary"),
        "{undone:#?}"
    );
    let held = "SELECT held_by FROM runs WHERE id = 3";
    assert_eq!(table.database.value(held).as_deref(), Some("w"));
    // Both the act and its undo are in the diary.
    assert_eq!(table.database.value("SELECT count(*) FROM diary").as_deref(), Some("2"));
    // A rehearsal says it before anything is done.
    let seen = table.audited.actor().find("4", None).expect("a look").remove(0);
    let rehearsed =
        table.audited.rehearse(&seen, Action::Reclaim, &Authorization::default()).expect("a rehearsal");
    let said = text(&rehearsed, ActMode::Rehearsed);
    assert!(said.contains("an undo does not take back") && !said.contains("diary: null"), "{said}");
    // And the same of many.
    let filter = Filter { sets: vec![Set::Stale], ..Filter::default() };
    let all = table.audited.actor().select(&filter).expect("a look");
    let mut heard = 0;
    let mut hear = |told: PerformedAct<'_>| {
        heard += 1;
        let report = told.report();
        json(&report).contains("\"not_undone\":[\"counters\",\"diary\"]") || panic!("{report:#?}")
    };
    table
        .audited
        .perform_all(all.iter().collect(), Action::Reclaim, &Authorization::default(), &mut hear)
        .expect("acts");
    assert_eq!(heard, 6);
}

#[test]
fn a_trigger_that_only_the_undo_sets_off_is_said_as_well() {
    let schema = COUNTED.replace("AFTER UPDATE OF held_by", "AFTER INSERT").replace("old.id", "new.id");
    let mut table = Table::new(&schema, DELETED);
    let report = table.report("3");
    assert!(!json(&report).contains("not_undone"), "{}", json(&report));
    let undone = table.audited.undo(&report.action_id, None).expect("an undo");
    assert_eq!(undone.outcome, Outcome::Applied);
    assert!(json(&undone).contains("\"not_undone\":[\"counters\",\"diary\"]"), "{}", json(&undone));
}

#[test]
fn a_row_that_somebody_is_changing_keeps_only_the_claim_that_it_would_follow() {
    let mut table = Table::new(FAMILY, DELETED);
    let worker = table.database.connect();
    worker.run("BEGIN; UPDATE leaves SET part = part WHERE id = 9");
    let filter = Filter { sets: vec![Set::Stale], ..Filter::default() };
    let all = table.audited.actor().select(&filter).expect("a look");
    let mut moved = Vec::new();
    let mut hear = |told: PerformedAct<'_>| {
        match &told.acted.outcome {
            Outcome::Applied => {}
            Outcome::Moved(_) => moved.push(told.report().id),
            other => panic!("{other:?}"),
        }
        true
    };
    table
        .audited
        .perform_all(all.iter().collect(), Action::Reclaim, &Authorization::default(), &mut hear)
        .expect("acts");
    worker.run("COMMIT");
    assert_eq!(moved, ["10"]);
    assert_eq!(
        table.database.value("SELECT string_agg(id::text, ' ' ORDER BY id) FROM runs").as_deref(),
        Some("0 10")
    );
}

#[test]
fn a_trigger_that_only_stamps_its_own_row_reaches_no_further() {
    for (when, does) in [
        ("BEFORE UPDATE", "new.stamp := new.stamp || ''+''; RETURN new;"),
        ("AFTER UPDATE OF held_by", "UPDATE runs SET stamp = stamp || ''+'' WHERE id = new.id; RETURN NULL;"),
    ] {
        let mut table = Table::new(
            &format!(
                "CREATE TABLE runs (id int PRIMARY KEY, held_by text, stamp text DEFAULT '', $TIMES);
                 INSERT INTO runs SELECT n, 'w' FROM generate_series(1, 6) n;
                 CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN {does} END';
                 CREATE TRIGGER stamp {when} ON runs FOR EACH ROW EXECUTE FUNCTION stamp()"
            ),
            "",
        );
        let report = table.report("3");
        assert!(!json(&report).contains("not_undone"), "{when}: {}", json(&report));
        assert_eq!(report.images(Side::After)[0]["row"]["stamp"], "+", "{when}");
        let undone = table.audited.undo(&report.action_id, None).expect("an undo");
        assert_eq!(undone.outcome, Outcome::Applied, "{when}");
        assert_eq!(table.database.value("SELECT held_by FROM runs WHERE id = 3").as_deref(), Some("w"));
        // It was stamped once more, and that is what the trail has.
        let undone = table.audited.undo(&undone.action_id, None).expect("an undo");
        assert_eq!(undone.outcome, Outcome::Applied, "{when}");
        assert_eq!(table.reclaim_all().len(), 5);
    }
}

#[test]
fn rows_that_our_role_may_not_read_are_said_to_be_lost() {
    let login = format!("claimtop_test_{}", uuid::Uuid::now_v7().simple());
    let database = PgDatabase::new(&FAMILY.replace("$TIMES", TIMES));
    database.run(&format!(
        "CREATE ROLE {login} LOGIN; GRANT SELECT, UPDATE, DELETE, INSERT ON runs, loose TO {login}"
    ));
    let trail = tempfile::tempdir().expect("a folder");
    let options = options(&database.url_as(&login), Some(&profile(DELETED)));
    let audited = AuditedActor::open(writable(options), "here", trail.path()).expect("an audited actor");
    let mut table = Table { database, table: "runs", audited, _trail: trail };
    let report = table.report("7");
    assert_eq!(report.outcome, Outcome::Applied);
    let said = json(&report);
    assert!(said.contains("\"not_undone\":[\"handed\",\"parts\",\"plain\"]"), "{said}");
    assert_eq!(table.audited.undo(&report.action_id, None).expect("an undo").outcome, Outcome::Applied);
    assert_eq!(table.database.value("SELECT run FROM loose WHERE id = 7").as_deref(), Some("7"));
    assert_eq!(table.database.value("SELECT count(*) FROM parts WHERE run = 7").as_deref(), Some("0"));
    table.database.run(&format!("DROP OWNED BY {login}; DROP ROLE {login}"));
}

#[test]
fn the_end_of_a_session_takes_back_what_went_with_it() {
    let database = PgDatabase::new(
        &(crate::support::COORDINATION.replace("INTEGER", "BIGINT")
            + "CREATE TABLE notes (id int PRIMARY KEY, session text REFERENCES sessions (id) ON DELETE CASCADE);
               INSERT INTO sessions VALUES ('w1', '/p', 'cli', 1, 1, '{}', NULL), ('w2', '/p', 'cli', 1, 1, '{}', NULL);
               INSERT INTO notes VALUES (1, 'w1'), (2, 'w2')"),
    );
    let operator = Operator::of(database.url());
    let run = operator.run(&["release", "DB", "--session", "w1", "--yes", "--json"]);
    assert_eq!(run.code, 0, "{run:#?}");
    assert_eq!(database.query("SELECT id FROM notes"), [[Some("2".to_owned())]]);
    let end = run.lines().into_iter().find(|one| one["action"] == "end_session").expect("an end");
    let action = end["action_id"].as_str().expect("an id").to_owned();
    operator.run(&["undo", "DB", &action, "--json"]).came_to(0, "applied");
    assert_eq!(
        database.value("SELECT count(*) FROM notes JOIN sessions ON session = sessions.id").as_deref(),
        Some("2")
    );
}
