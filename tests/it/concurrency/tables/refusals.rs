//! What the database refuses for one row costs only that row: the others of its batch are done.

use super::*;
use crate::support::options::writable;

impl Table {
    /// Reclaims everything; what came of each, by its id.
    fn outcomes(&mut self) -> Vec<(i64, Outcome)> {
        let filter = Filter { sets: vec![Set::Stale], ..Filter::default() };
        let all = self.audited.actor().select(&filter).expect("a look");
        let mut outcomes = Vec::new();
        let mut heard = |told: PerformedAct<'_>| {
            let report = told.report();
            outcomes.push((report.id.parse().expect("a number"), report.outcome));
            true
        };
        self.audited
            .perform_all(all.iter().collect(), Action::Reclaim, &Authorization::default(), &mut heard)
            .expect("acts");
        outcomes.sort_by_key(|(id, _)| *id);
        outcomes
    }

    /// Of so many claims exactly these are refused, each with this sentence, and the rest is done.
    #[track_caller]
    fn refuses_only(&mut self, all: i64, refused: &[i64], sentence: &str) {
        let outcomes = self.outcomes();
        assert_eq!(outcomes.iter().map(|(id, _)| *id).collect::<Vec<_>>(), (1..=all).collect::<Vec<_>>());
        for (id, outcome) in outcomes {
            match outcome {
                Outcome::Refused(why) => {
                    assert!(refused.contains(&id) && why.to_string().contains(sentence), "{id}: {why}");
                }
                other => assert_eq!((refused.contains(&id), other), (false, Outcome::Applied), "{id}"),
            }
        }
        let held = format!("SELECT id FROM {} WHERE held_by IS NOT NULL ORDER BY id", self.table);
        let held: Vec<i64> =
            self.database.query(&held).iter().map(|row| row[0].as_ref().unwrap().parse().unwrap()).collect();
        assert_eq!(held, refused);
    }
}

const RUNS: &str = "CREATE TABLE runs (id int PRIMARY KEY, held_by text, n int DEFAULT 1, $TIMES);
    INSERT INTO runs SELECT n, 'w' FROM generate_series(1, 40) n;";
const RELEASED: &str = "reclaim = { set = { held_by = \"NULL\", n = \"n + 1\" } }";
const DELETED: &str = "reclaim = { delete = true }";
/// More than one statement: each claim is acted on by itself.
const AND_MORE: &str = "[claim.reclaim]\nset = { held_by = \"NULL\", n = \"n + 1\" }
also = [\"INSERT INTO diary VALUES (:id)\"]";
const DIARY: &str = "CREATE TABLE diary (run int PRIMARY KEY);";

fn closed(how: &str) -> String {
    format!(
        "{RUNS} {DIARY} CREATE FUNCTION closed() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN IF old.id IN (7, 8, 31) THEN RAISE EXCEPTION ''% is closed'', old.id; END IF; RETURN new; END';
         CREATE {how} ON runs FOR EACH ROW EXECUTE FUNCTION closed();"
    )
}

#[test]
fn by_a_trigger() {
    for how in [
        "TRIGGER closed BEFORE UPDATE",
        "TRIGGER closed AFTER UPDATE",
        "CONSTRAINT TRIGGER closed AFTER UPDATE",
    ] {
        for act in [RELEASED, AND_MORE] {
            Table::new(&closed(how), act).refuses_only(40, &[7, 8, 31], "is closed");
        }
    }
}

#[test]
fn at_the_commit() {
    for act in [RELEASED, AND_MORE] {
        let schema = closed("CONSTRAINT TRIGGER closed AFTER UPDATE")
            .replace("FOR EACH ROW EXECUTE", "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE");
        Table::new(&schema, act).refuses_only(40, &[7, 8, 31], "is closed");
    }
    let schema = format!(
        "{RUNS} CREATE TABLE parts (run int REFERENCES runs DEFERRABLE INITIALLY DEFERRED);
         INSERT INTO parts VALUES (40), (1)"
    );
    Table::new(&schema, DELETED).refuses_only(40, &[1, 40], "parts");
}

#[test]
fn by_a_constraint() {
    let schema = format!("{RUNS} {DIARY} ALTER TABLE runs ADD CHECK (id <> 3 OR n < 2)");
    for act in [RELEASED, AND_MORE] {
        Table::new(&schema, act).refuses_only(40, &[3], "runs_check");
    }
    let schema = format!("{RUNS} {DIARY} INSERT INTO diary VALUES (5)");
    Table::new(&schema, AND_MORE).refuses_only(40, &[5], "diary_pkey");
    let schema = format!("{RUNS} CREATE TABLE parts (run int REFERENCES runs); INSERT INTO parts VALUES (2)");
    Table::new(&schema, DELETED).refuses_only(40, &[2], "parts");
}

#[test]
fn by_a_value_that_does_not_fit() {
    let schema = format!("{RUNS} {DIARY} UPDATE runs SET n = 2147483647 WHERE id = 9");
    for act in [RELEASED, AND_MORE] {
        Table::new(&schema, act).refuses_only(40, &[9], "out of range");
    }
}

#[test]
fn by_a_trigger_all_of_them() {
    let schema = closed("TRIGGER closed BEFORE UPDATE").replace("old.id IN (7, 8, 31)", "true");
    Table::new(&schema, RELEASED).refuses_only(40, &(1..=40).collect::<Vec<_>>(), "is closed");
}

#[test]
fn by_a_policy_and_without_the_privilege_nothing_is_tried_row_by_row() {
    let login = format!("claimtop_test_{}", uuid::Uuid::now_v7().simple());
    let database = PgDatabase::new(&RUNS.replace("$TIMES", TIMES));
    database.run(&format!(
        "CREATE ROLE {login} LOGIN; GRANT SELECT, UPDATE ON runs TO {login};
         ALTER TABLE runs ENABLE ROW LEVEL SECURITY;
         CREATE POLICY seen ON runs FOR SELECT USING (true);
         CREATE POLICY changed ON runs FOR UPDATE USING (true) WITH CHECK (id <> 11)"
    ));
    let trail = tempfile::tempdir().expect("a folder");
    let options = options(&database.url_as(&login), Some(&profile(RELEASED)));
    let audited = AuditedActor::open(writable(options), "here", trail.path()).expect("an audited actor");
    let mut table = Table { database, table: "runs", audited, _trail: trail };
    table.refuses_only(40, &[11], "row-level security");
    table.database.run(&format!("UPDATE runs SET held_by = 'w'; REVOKE UPDATE ON runs FROM {login}"));
    let filter = Filter { sets: vec![Set::Stale], ..Filter::default() };
    let all = table.audited.actor().select(&filter).expect("a look");
    let mut heard = |told: PerformedAct<'_>| panic!("{told:?}");
    let refused = table.audited.perform_all(
        all.iter().collect(),
        Action::Reclaim,
        &Authorization::default(),
        &mut heard,
    );
    assert!(refused.expect_err("no privilege").to_string().contains("permission denied"));
    table.database.run(&format!("DROP OWNED BY {login}; DROP ROLE {login}"));
}
