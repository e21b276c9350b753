//! Tables whose rows have no rowid are acted on by their primary keys, whatever those are made of.

use claimtop::domain::recovery::{Action, Authorization, Outcome};
use claimtop::domain::verdict::Set;
use claimtop::profile::format::Profile;
use claimtop::store::{Change, Filter, Order, Profiles, Reader};
use std::time::Duration;

use super::{UNDO, act, actor_by, applied, fast, is_moved, look, reclaim, undo};
use crate::support::{Database, MINUTE, NOW, Noted};

/// Leases with a key of two columns that are compared without their case, or without blanks at the end.
const LEASES: &str = "
    CREATE TABLE workers (name TEXT COLLATE NOCASE, host TEXT, beat INTEGER, PRIMARY KEY (host, name)) WITHOUT ROWID;
    CREATE TABLE leases (shard INTEGER, name TEXT COLLATE NOCASE, part TEXT COLLATE RTRIM, holder TEXT, until INTEGER,
      n INTEGER DEFAULT 0, PRIMARY KEY (name, part DESC, shard)) WITHOUT ROWID;";

const PROFILE: &str = "title = 'Own'
    [[claim]]
    name = 'lease'
    table = 'leases'
    held = 'c.holder IS NOT NULL'
    id = ['name', 'part', 'shard']
    holder = 'holder'
    time = 'unix_ms'
    [claim.deadline]
    column = 'until'
    [claim.reclaim.set]
    holder = 'NULL'
    n = 'n + 1'
    [claim.release]
    delete = true
    [claim.session]
    table = 'workers'
    id = 'name'
    beat_at = 'beat'
    time = 'unix_ms'
    end = { delete = true }";

fn leases() -> Database {
    let database = fast(LEASES);
    for (shard, name, part, ago) in [
        (1, "Alpha", "x", 3),
        (2, "alpha", "x", 2),
        (1, "alpha", "y", 1),
        (-5, "beta,1", " ", 4),
        (0, "", "", 5),
        (9, "fresh", "x", -9),
    ] {
        database.run(
            "INSERT INTO leases (shard, name, part, holder, until) VALUES (?1, ?2, ?3, 'W', ?4)",
            (shard, name, part, NOW - ago * MINUTE),
        );
    }
    database.run("INSERT INTO workers VALUES ('w', 'h', ?1)", [NOW - MINUTE]);
    database
}

fn all_stale() -> Filter {
    Filter { sets: vec![Set::Stale], ..Filter::default() }
}

#[test]
fn every_claim_is_found_by_its_address_and_comes_back_exactly() {
    let database = leases();
    let before = database.dump();
    let mut actor = actor_by(&database, PROFILE);
    let stale = actor.select(&all_stale()).expect("claims");
    assert_eq!(stale.len(), 5);
    for seen in stale {
        let address = actor.address(&seen);
        let again = look(&mut actor, &address);
        assert_eq!(again.row, seen.row, "{address}");
        for action in [Action::Reclaim, Action::Release] {
            let acted = applied(&mut actor, &address, action);
            assert_eq!(acted.changes.len(), 1, "{:#?}", acted.changes);
            assert_eq!(database.number("SELECT count(*) FROM leases WHERE holder IS NOT NULL"), 5);
            assert_eq!(undo(&mut actor, &acted), Outcome::Applied, "{address}");
            assert_eq!(database.dump(), before, "{address}");
        }
    }
}

#[test]
fn a_row_that_changed_or_went_is_left_alone() {
    let database = leases();
    let mut actor = actor_by(&database, PROFILE);
    let stale = actor.select(&all_stale()).expect("claims");
    database.batch(
        "UPDATE leases SET name = 'ALPHA' WHERE name = 'alpha';
         UPDATE leases SET until = until + 1 WHERE name = ''; DELETE FROM leases WHERE name = 'beta,1'",
    );
    let before = database.dump();
    for seen in &stale {
        assert!(is_moved(&reclaim(&mut actor, seen).outcome), "{seen:#?}");
    }
    let word = Authorization::default();
    let order = Order { action: Action::Reclaim, authorization: &word, action_id: "a", dry_run: false };
    let mut all: Vec<_> = stale.iter().collect();
    let batch = actor.act_batch(&mut all, &order, Duration::ZERO, &mut Noted::new()).expect("a batch");
    assert!(batch.tried.iter().all(|tried| is_moved(&tried.outcome)), "{batch:?}");
    assert_eq!(database.dump(), before);
}

#[test]
fn many_at_once_are_taken_and_put_back() {
    let database = leases();
    let before = database.dump();
    let mut actor = actor_by(&database, PROFILE);
    let stale = actor.select(&all_stale()).expect("claims");
    let word = Authorization::default();
    let order = Order { action: Action::Reclaim, authorization: &word, action_id: "a", dry_run: false };
    let mut all: Vec<_> = stale.iter().collect();
    let batch =
        actor.act_batch(&mut all, &order, Duration::from_secs(60), &mut Noted::new()).expect("a batch");
    assert!(batch.tried.iter().all(|tried| tried.outcome == Outcome::Applied), "{batch:?}");
    assert_eq!(database.number("SELECT sum(n) FROM leases WHERE holder IS NULL"), 5);
    let changes: Vec<Change> = batch.tried.into_iter().flat_map(|tried| tried.changes).collect();
    let undone = actor.undo(&changes, UNDO, &mut |_| Ok(())).expect("an undo");
    assert_eq!((undone.outcome, database.dump()), (Outcome::Applied, before));
}

#[test]
fn rows_that_triggers_and_further_statements_reach_come_back_too() {
    let database = fast(&format!(
        "{LEASES}
         CREATE TABLE totals (name TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
         CREATE TABLE taken (name TEXT, n INTEGER, PRIMARY KEY (name, n)) WITHOUT ROWID;
         CREATE TABLE notes (lease TEXT, part TEXT, shard INTEGER, PRIMARY KEY (lease, part, shard),
           FOREIGN KEY (lease, part, shard) REFERENCES leases (name, part, shard) ON DELETE CASCADE) WITHOUT ROWID;
         CREATE TRIGGER freed AFTER UPDATE OF holder ON leases BEGIN
           UPDATE totals SET n = n + 1 WHERE name = 'freed'; INSERT INTO taken VALUES (OLD.name, OLD.n);
           DELETE FROM totals WHERE name = 'once'; END;
         INSERT INTO totals VALUES ('freed', 7), ('once', 1), ('other', 2);"
    ));
    database.run("INSERT INTO leases VALUES (1, 'a', 'x', 'w', ?1, 3)", [NOW - MINUTE]);
    database.run("INSERT INTO workers VALUES ('w', 'h', ?1)", [NOW - MINUTE]);
    database.batch("INSERT INTO notes VALUES ('a', 'x', 1)");
    let before = database.dump();
    let mut actor = actor_by(&database, PROFILE);
    let acted = applied(&mut actor, "a,x,1", Action::Reclaim);
    let tables: Vec<&str> = acted.changes.iter().map(|change| change.table.as_str()).collect();
    assert_eq!(tables, ["leases", "taken", "totals", "totals"]);
    assert_eq!((undo(&mut actor, &acted), database.dump()), (Outcome::Applied, before.clone()));
    // What goes with the row comes back with it.
    let acted = applied(&mut actor, "a,x,1", Action::Release);
    assert_eq!(database.number("SELECT count(*) FROM notes"), 0);
    assert_eq!((undo(&mut actor, &acted), database.dump()), (Outcome::Applied, before));
}

#[test]
fn an_act_that_changes_the_key_is_taken_back_to_the_old_one() {
    let database = leases();
    let before = database.dump();
    let renaming = PROFILE.replace("n = 'n + 1'", "shard = 'c.shard + 1000'");
    let mut actor = actor_by(&database, &renaming);
    let acted = applied(&mut actor, "alpha,y,1", Action::Reclaim);
    assert_eq!(acted.changes.len(), 2, "{:#?}", acted.changes);
    assert_eq!(database.number("SELECT shard FROM leases WHERE holder IS NULL"), 1001);
    assert_eq!((undo(&mut actor, &acted), database.dump()), (Outcome::Applied, before));
}

#[test]
fn a_session_is_released_with_all_it_holds() {
    let database = leases();
    let exact = PROFILE.replace("id = 'name'", "id = 'upper(s.name)'");
    let mut actor = actor_by(&database, &exact);
    let holding = actor.held_by("W").expect("a session");
    assert_eq!((holding.claims.len(), holding.registered.len()), (6, 1));
    let (holder, reason) = (Some("W".into()), Some("over".into()));
    let word = Authorization { holder, reason, force: true, ..Authorization::default() };
    for seen in &holding.claims {
        assert_eq!(act(&mut actor, seen, Action::Release, &word).outcome, Outcome::Applied);
    }
    let ended = actor.end_session(&holding.registered[0], &word, "e", &mut |_| Ok(())).expect("its end");
    assert_eq!(ended.outcome, Outcome::Applied);
    assert_eq!(database.number("SELECT count(*) FROM workers"), 0);
    assert_eq!(undo(&mut actor, &ended), Outcome::Applied);
    assert_eq!(database.number("SELECT count(*) FROM workers"), 1);
}

#[test]
fn a_column_called_rowid_is_no_obstacle() {
    for key in ["rowid INTEGER PRIMARY KEY, name TEXT", "rowid TEXT, name TEXT NOT NULL PRIMARY KEY"] {
        let database =
            fast(&format!("CREATE TABLE leases ({key}, holder TEXT, until INTEGER, n INTEGER DEFAULT 0)"));
        for number in 1..4 {
            let sql = "INSERT INTO leases (rowid, name, holder, until) VALUES (?1, ?2, 'w', ?3)";
            database.run(sql, (number, format!("n{number}"), NOW - MINUTE));
        }
        let before =
            database.connection.query_row(EVERYTHING, [], |row| row.get::<_, String>(0)).expect("rows");
        let profile = PROFILE.replace("id = ['name', 'part', 'shard']", "id = 'name'");
        let profile = profile.split("[claim.session]").next().expect("a profile").to_owned();
        let mut actor = actor_by(&database, &profile);
        let acted = applied(&mut actor, "n2", Action::Release);
        assert_eq!(database.texts("SELECT name FROM leases ORDER BY name"), ["n1", "n3"]);
        assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
        let after =
            database.connection.query_row(EVERYTHING, [], |row| row.get::<_, String>(0)).expect("rows");
        assert_eq!(after, before);
    }
}

const EVERYTHING: &str = "SELECT group_concat(typeof(c.rowid) || c.rowid || name || holder || until || n)
    FROM (SELECT * FROM leases ORDER BY name) AS c";

#[test]
fn a_reader_that_has_seen_many_keys_forgets_those_that_are_gone() {
    let database = fast(&format!("{LEASES} CREATE INDEX by_time ON leases (until);"));
    let profile = Profile::parse("own", PROFILE).expect("a profile");
    let options = database.options(Profiles::Named(vec![profile]), |_| {});
    let mut reader = Reader::open(options).expect("a reader");
    // More than twice what is kept in any case.
    for round in 0..6 {
        database.batch("DELETE FROM leases");
        database.run(
            "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 50000)
             INSERT INTO leases (shard, name, part, holder, until) SELECT n, ?1, '', 'w', ?2 FROM n",
            (format!("round {round}"), NOW - MINUTE),
        );
        for _ in 0..2 {
            let snapshots = reader.poll().expect("a poll");
            assert_eq!(snapshots[0].boards[0].counts.stale, 50_000, "round {round}");
            assert!(
                snapshots[0].boards[0]
                    .worst
                    .iter()
                    .all(|judged| { judged.claim.key.text().starts_with(&format!("round {round},")) })
            );
        }
    }
}
