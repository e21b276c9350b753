//! Tables of every kind: an act changes one row of them, and an undo brings it back as it was.

mod cascades;
mod refusals;

use super::*;
use crate::support::options::writable;
use crate::support::postgres::PgDatabase;
use claimtop::domain::recovery::{Action, Authorization, Outcome};
use claimtop::domain::verdict::Set;
use claimtop::recovery::{AuditedActor, PerformedAct};
use claimtop::store::Filter;

/// A profile for a table `runs` with columns of the usual names.
fn profile(more: &str) -> String {
    let usual = [
        ("table", r#"table = "runs""#),
        ("held", r#"held = "c.held_by IS NOT NULL""#),
        ("id", r#"id = "id""#),
        ("reclaim", r#"reclaim = { set = { held_by = "NULL" } }"#),
    ];
    let said = |name: &str| {
        more.lines().any(|line| line.trim_start().starts_with(&format!("{name} ")))
            || more.contains(&format!("[claim.{name}]"))
    };
    let usual: Vec<&str> = usual.iter().filter(|(name, _)| !said(name)).map(|(_, line)| *line).collect();
    format!(
        "title = \"Own\"\nabout = \"Runs\"\n[[claim]]\nname = \"run\"\nrole = \"job\"\nholder = \"held_by\"
claimed_at = \"at\"\ntime = \"timestamptz\"\ndeadline = {{ column = \"until\", lease = \"30m\" }}\nfenced = true\n{}\n{more}\n",
        usual.join("\n")
    )
}

const TIMES: &str =
    "at timestamptz DEFAULT now() - interval '2 hours', until timestamptz DEFAULT now() - interval '1 hour'";

struct Table {
    database: PgDatabase,
    table: &'static str,
    audited: AuditedActor,
    _trail: TempDir,
}

impl Table {
    fn new(schema: &str, more: &str) -> Table {
        Table::of("runs", schema, more)
    }

    fn of(table: &'static str, schema: &str, more: &str) -> Table {
        let database = PgDatabase::new(&schema.replace("$TIMES", TIMES));
        let trail = tempfile::tempdir().expect("a folder");
        let audited = AuditedActor::open(
            writable(options(&database.url(), Some(&profile(more)))),
            "here",
            trail.path(),
        )
        .expect("an audited actor");
        Table { database, table, audited, _trail: trail }
    }

    fn rows(&self) -> Vec<Vec<Option<String>>> {
        self.database.query(&format!("SELECT t::text FROM {} AS t ORDER BY 1", self.table))
    }

    #[track_caller]
    fn reclaim(&mut self, id: &str) -> (Outcome, String) {
        let seen =
            self.audited.actor().find(id, None).expect("a look").pop().unwrap_or_else(|| panic!("no {id}"));
        let report = self.audited.perform(&seen, Action::Reclaim, &Authorization::default()).expect("an act");
        (report.outcome, report.action_id)
    }

    /// Reclaims it, and then everything; undoes all of that; each time the rows are as they were.
    #[track_caller]
    fn there_and_back(&mut self, id: &str) {
        let before = self.rows();
        let (outcome, action) = self.reclaim(id);
        assert_eq!(outcome, Outcome::Applied);
        assert_ne!(self.rows(), before);
        assert_eq!(self.audited.undo(&action, None).expect("an undo").outcome, Outcome::Applied);
        assert_eq!(self.rows(), before);
        let again = self.audited.undo(&action, None).expect("an undo").outcome;
        assert!(matches!(again, Outcome::Moved(_)), "{again:?}");
        let actions = self.reclaim_all();
        assert_ne!(self.rows(), before);
        for action in actions.iter().rev() {
            assert_eq!(self.audited.undo(action, None).expect("an undo").outcome, Outcome::Applied);
        }
        assert_eq!(self.rows(), before);
    }

    #[track_caller]
    fn reclaim_all(&mut self) -> Vec<String> {
        let filter = Filter { sets: vec![Set::Stale], ..Filter::default() };
        let all = self.audited.actor().select(&filter).expect("a look");
        assert!(all.len() > 1, "{all:?}");
        let mut actions = Vec::new();
        let mut heard = |told: PerformedAct<'_>| {
            assert_eq!(told.acted.outcome, Outcome::Applied, "{told:?}");
            actions.push(told.action_id());
            true
        };
        self.audited
            .perform_all(all.iter().collect(), Action::Reclaim, &Authorization::default(), &mut heard)
            .expect("acts");
        assert_eq!(actions.len(), all.len());
        actions
    }
}

#[test]
fn columns_of_every_type() {
    let mut table = Table::new(
        "CREATE TYPE mood AS ENUM ('calm', 'busy');
         CREATE DOMAIN short AS varchar(12);
         CREATE TABLE runs (id uuid PRIMARY KEY, held_by text, m mood, j json, b jsonb, a text[], n numeric(9,2), f float8,
           r real, y bytea, i interval, t time, d date, p point, x xml, s short, c char(4), o boolean, g int4range,
           h inet, w varchar(5), k bit(3), z timestamp, $TIMES);
         INSERT INTO runs SELECT ('00000000-0000-0000-0000-00000000000' || q)::uuid, 'w', 'busy', '{\"a\" : 1,  \"a\":2}',
           '{\"b\": [1, null]}', ARRAY['x, y', NULL, '\"'], 1.50, 0.1 + 0.2, 'NaN', '\\x00ff', '1 day 02:03:04.5', '10:00',
           'infinity', '(1,2)', '<a/>', 'short', 'ab', true, '[1,5)', '::1', 'five5', B'101', 'infinity'
           FROM generate_series(1, 3) q",
        "reclaim = { set = { held_by = \"NULL\", m = \"'calm'\", j = \"'{}'\", b = \"'{}'\", a = \"ARRAY[]::text[]\", n = \"n * 2\",
           f = \"NULL\", r = \"1\", y = \"NULL\", i = \"i * 2\", t = \"NULL\", d = \"NULL\", p = \"NULL\", x = \"NULL\", s = \"'x'\",
           c = \"'x'\", o = \"NOT o\", g = \"NULL\", h = \"NULL\", w = \"NULL\", k = \"NULL\", z = \"NULL\" } }"
            .replace("\n           ", " ")
            .as_str(),
    );
    table.there_and_back("00000000-0000-0000-0000-000000000002");
}

#[test]
fn names_that_need_quotes_in_a_schema_of_their_own_with_a_key_of_two_parts() {
    let mut table = Table::of(
        "\"Über Gabe\".\"Runs \"\"x\"\"\"",
        "CREATE SCHEMA \"Über Gabe\";
         CREATE TABLE \"Über Gabe\".\"Runs \"\"x\"\"\" (\"the Name\" text, \"select\" int, held_by text, $TIMES,
           PRIMARY KEY (\"the Name\", \"select\"));
         INSERT INTO \"Über Gabe\".\"Runs \"\"x\"\"\" VALUES ('night', 1, 'w'), ('night', 2, 'w'), ('a,b', 1, 'w')",
        "table = 'Über Gabe.Runs \"x\"'\nid = [\"the Name\", \"select\"]",
    );
    table.there_and_back("night,2");
    assert_eq!(table.reclaim("own/run/a%2Cb,1").0, Outcome::Applied);
}

#[test]
fn partitions_also_where_the_act_moves_the_row_to_another() {
    let mut table = Table::new(
        "CREATE TABLE runs (id int, state text, held_by text, $TIMES, PRIMARY KEY (id, state)) PARTITION BY LIST (state);
         CREATE TABLE runs_busy PARTITION OF runs FOR VALUES IN ('busy');
         CREATE TABLE runs_calm PARTITION OF runs FOR VALUES IN ('calm');
         INSERT INTO runs SELECT n, 'busy', 'w' FROM generate_series(1, 4) n",
        "reclaim = { set = { held_by = \"NULL\", state = \"'calm'\" } }",
    );
    table.there_and_back("3");
}

#[test]
fn a_table_without_a_key_as_long_as_the_row_is_alone() {
    let mut table = Table::new(
        "CREATE TABLE runs (id int, held_by text, $TIMES); INSERT INTO runs SELECT n, 'w' FROM generate_series(1, 3) n",
        "",
    );
    table.there_and_back("2");
    let (_, action) = table.reclaim("1");
    table.database.run("INSERT INTO runs SELECT * FROM runs WHERE id = 1");
    let before = table.rows();
    assert!(matches!(table.audited.undo(&action, None).expect("an undo").outcome, Outcome::Moved(_)));
    assert_eq!(table.rows(), before);
}

#[test]
fn two_rows_of_one_name_are_not_taken_for_one() {
    let mut table = Table::new(
        "CREATE TABLE runs (id int, held_by text, $TIMES); INSERT INTO runs VALUES (1, 'w'), (1, 'v'), (2, 'w')",
        "",
    );
    let before = table.rows();
    let found = table.audited.actor().find("1", None).expect("a look");
    assert_eq!(found.len(), 2);
    let report =
        table.audited.perform(&found[0], Action::Reclaim, &Authorization::default()).expect("an act");
    assert_eq!(report.outcome, Outcome::Applied);
    let changed = table.rows().iter().filter(|row| !before.contains(row)).count();
    assert_eq!(changed, 1);
}

#[test]
fn stamps_identities_and_generated_columns() {
    let mut table = Table::new(
        "CREATE TABLE runs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, held_by text,
           upper text GENERATED ALWAYS AS (upper(held_by)) STORED, version int DEFAULT 1, $TIMES);
         INSERT INTO runs (held_by) SELECT 'w' FROM generate_series(1, 4)",
        "reclaim = { delete = true }",
    );
    table.there_and_back("2");
    // Names that the program's own statement could be taken to mean.
    let mut table = Table::new(
        "CREATE TABLE runs (id int PRIMARY KEY, held_by text, version int DEFAULT 1, n int DEFAULT 1, why text, holder text,
           max_attempts int DEFAULT 3, updated timestamptz DEFAULT now() - interval '1 day', $TIMES);
         CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN IF new.updated = old.updated THEN new.updated := clock_timestamp(); END IF; RETURN new; END';
         CREATE TRIGGER stamp BEFORE UPDATE ON runs FOR EACH ROW EXECUTE FUNCTION stamp();
         INSERT INTO runs SELECT n, 'w' FROM generate_series(1, 4) n",
        "reclaim = { set = { held_by = \"NULL\", version = \"version + 1\", n = \"n + id\", why = \":why\", holder = \"held_by\" } }",
    );
    table.there_and_back("3");
    let (_, action) = table.reclaim("1");
    // A stamp that cannot be kept: the undo is stamped too, and can be undone itself.
    table.database.run(
        "CREATE OR REPLACE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN new.updated := clock_timestamp(); RETURN new; END'",
    );
    let undone = table.audited.undo(&action, None).expect("an undo");
    assert_eq!(undone.outcome, Outcome::Applied);
    assert_eq!(table.audited.undo(&undone.action_id, None).expect("an undo").outcome, Outcome::Applied);
    assert_eq!(table.database.value("SELECT held_by FROM runs WHERE id = 1"), None);
}

#[test]
fn what_is_done_beside_the_act_goes_back_with_it() {
    let mut table = Table::new(
        "CREATE TABLE runs (id int PRIMARY KEY, held_by text, $TIMES);
         CREATE TABLE slots (name text PRIMARY KEY, free int); INSERT INTO slots VALUES ('all', 0), ('other', 7);
         CREATE TABLE seen (id int PRIMARY KEY, times int); INSERT INTO seen VALUES (1, 5);
         CREATE TABLE diary (what text); CREATE TABLE gone (id int PRIMARY KEY); INSERT INTO gone VALUES (1), (2), (3);
         INSERT INTO runs SELECT n, 'w' FROM generate_series(1, 3) n",
        "[claim.reclaim]\nset = { held_by = \"NULL\" }\nbefore = [\"UPDATE slots SET free = free WHERE name = 'all'\"]
also = [\"UPDATE slots SET free = free + 1 WHERE name = 'all'\",
  \"INSERT INTO seen VALUES (:id, 1) ON CONFLICT (id) DO UPDATE SET times = seen.times + 1\",
  \"INSERT INTO diary VALUES (:why)\", \"DELETE FROM gone WHERE id = :id\"]",
    );
    let beside = |table: &Table| {
        let sql = "SELECT 's', s::text FROM slots s UNION ALL SELECT 'n', n::text FROM seen n
             UNION ALL SELECT 'd', d::text FROM diary d UNION ALL SELECT 'g', g::text FROM gone g ORDER BY 1, 2";
        table.database.query(sql)
    };
    let before = beside(&table);
    table.there_and_back("1");
    assert_eq!(beside(&table), before);
    table.reclaim_all();
    assert_eq!(table.database.value("SELECT free FROM slots WHERE name = 'all'").as_deref(), Some("3"));
    assert_eq!(table.database.value("SELECT sum(times) FROM seen").as_deref(), Some("8"));
}

#[test]
fn what_the_profile_forbids_and_what_the_database_forbids() {
    let mut table = Table::new(
        "CREATE TABLE runs (id int PRIMARY KEY, held_by text, $TIMES);
         CREATE TABLE parts (run int REFERENCES runs); INSERT INTO runs VALUES (1, 'w'), (2, 'w'), (3, 'w');
         INSERT INTO parts VALUES (2)",
        "[claim.reclaim]\ndelete = true\nblocked_by = \"c.id = 1\"",
    );
    let before = table.rows();
    assert!(matches!(table.reclaim("1").0, Outcome::Refused(_)));
    let (refused, _) = table.reclaim("2");
    assert!(matches!(&refused, Outcome::Refused(why) if why.to_string().contains("parts")), "{refused:?}");
    assert_eq!(table.rows(), before);
    assert_eq!(table.reclaim("3").0, Outcome::Applied);
}

#[test]
fn an_undo_never_evicts_the_next_holder() {
    for key in ["PRIMARY KEY", ""] {
        let mut table = Table::new(
            &format!(
                "CREATE TABLE runs (id int {key}, held_by text, $TIMES); INSERT INTO runs VALUES (1, 'w'), (2, 'w')"
            ),
            "reclaim = { delete = true }",
        );
        let (_, action) = table.reclaim("1");
        table.database.run("INSERT INTO runs VALUES (1, 'next')");
        let before = table.rows();
        let outcome = table.audited.undo(&action, None).expect("an undo").outcome;
        assert!(matches!(outcome, Outcome::Moved(_)), "{outcome:?}");
        assert_eq!(table.rows(), before);
    }
}
