//! The guarded acts: what is done is exactly what was ordered, to exactly what was seen.

mod addresses;
mod bulk;
mod documents;
mod files;
mod hostile;
mod permits;
mod race;
mod records;
mod requeue;
mod schedules;
mod schedules_postgres;
mod sessions;
mod systems;
mod systems_more;
mod systems_tasks;
mod undo;
mod undo_traps;

use claimtop::config::Config;
use claimtop::domain::recovery::{Action, Outcome, Word};
use claimtop::domain::time::Moment;
use claimtop::profile::Library;
use claimtop::profile::format::Profile;
use claimtop::store::sqlite::Options;
use claimtop::store::{Acted, Actor, Change, Effort, Order, Profiles, Seen, Side};
use rusqlite::Connection;
use rusqlite::types::Value;
use std::path::Path;
use std::time::Duration;

use crate::support::{Database, NOW};

/// A database on which writes do not wait for the disk.
fn fast(schema: &str) -> Database {
    let database = Database::new("");
    database.connection.pragma_update(None, "synchronous", "OFF").expect("no waiting");
    database.connection.execute_batch(schema).expect(schema);
    database
}

fn options(path: &Path, profiles: Profiles) -> Options {
    Options {
        path: path.into(),
        profiles,
        operator: Config::default().operator(None),
        effort: Effort { rows: 5, slice: 1_000, whole: 1_000 },
        busy_timeout: Duration::from_secs(20),
        poll_timeout: Duration::from_secs(60),
        frozen_at: Moment::from_micros(NOW * 1_000),
        prober: None,
    }
}

/// By the built-in profiles, at [`NOW`].
fn actor(database: &Database) -> Actor {
    Actor::open(options(&database.path(), Profiles::Detect(Library::built_in()))).expect("an actor")
}

/// By a profile of the test's own, at [`NOW`].
fn actor_by(database: &Database, profile: &str) -> Actor {
    let profile = Profile::parse("own", profile).expect(profile);
    Actor::open(options(&database.path(), Profiles::Named(vec![profile]))).expect("an actor")
}

/// The one claim with this id.
fn look(actor: &mut Actor, id: &str) -> Seen {
    let mut found = actor.find(id, None).expect("a look");
    assert_eq!(found.len(), 1, "claims named {id}");
    found.remove(0)
}

fn act(actor: &mut Actor, seen: &Seen, action: Action, word: &Word) -> Acted {
    let order = Order { action, word, action_id: "test", dry_run: false };
    actor.act(seen, &order, &mut |_| Ok(())).expect("an act")
}

fn reclaim(actor: &mut Actor, seen: &Seen) -> Acted {
    act(actor, seen, Action::Reclaim, &Word::default())
}

/// Looks and does it, which must succeed.
fn applied(actor: &mut Actor, id: &str, action: Action) -> Acted {
    let seen = look(actor, id);
    let acted = act(actor, &seen, action, &Word::default());
    assert_eq!(acted.outcome, Outcome::Applied, "{action} of {id}");
    acted
}

/// The same after a journey through the trail's JSON, as text.
fn through_json(acted: &Acted) -> Vec<Change> {
    let again = |side| serde_json::from_str(&acted.images(side).to_string()).expect("JSON");
    let changes = Change::from_json(&again(Side::Before), &again(Side::After)).expect("the changes");
    assert_eq!(changes, acted.changes);
    changes
}

/// Takes an act back, by way of the trail's JSON.
fn undo(actor: &mut Actor, acted: &Acted) -> Outcome {
    actor.undo(&through_json(acted), false, &mut |_| Ok(())).expect("an undo").outcome
}

fn is_moved(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Moved(_))
}

fn is_refused(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Refused(_))
}

/// Every cell of every table: type and bytes. Only numbers that SQLite hands out stay handed out.
fn dump(connection: &Connection) -> Vec<String> {
    let mut names = connection
        .prepare_cached(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name",
        )
        .expect("the tables");
    let names: Vec<String> =
        names.query_map([], |row| row.get(0)).expect("names").map(|name| name.expect("a name")).collect();
    let mut all = Vec::new();
    for name in names {
        let sql = format!("SELECT rowid, * FROM \"{name}\" ORDER BY rowid");
        let mut statement = connection.prepare_cached(&sql).expect(&sql);
        let width = statement.column_count();
        let mut rows = statement.query([]).expect(&sql);
        while let Some(row) = rows.next().expect(&sql) {
            let cells: Vec<String> =
                (0..width).map(|at| format!("{:?}", row.get_ref(at).expect("a cell"))).collect();
            all.push(format!("{name}: {}", cells.join(", ")));
        }
    }
    all
}

/// The first row that a query answers.
fn row(database: &Database, sql: &str) -> Vec<Value> {
    let mut statement = database.connection.prepare(sql).expect(sql);
    let width = statement.column_count();
    statement.query_row([], |row| (0..width).map(|at| row.get(at)).collect()).expect(sql)
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn number(number: i64) -> Value {
    Value::Integer(number)
}
