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
use claimtop::store::{Acted, Actor, Change, Effort, Order, Profiles, Seen, Side};
use claimtop::store::{Options, Prober, postgres, sqlite};
use rusqlite::types::Value;
use std::path::Path;
use std::time::Duration;

use crate::support::{Database, NOW, dump};

/// A database on which writes do not wait for the disk.
fn fast(schema: &str) -> Database {
    let database = Database::new("");
    if database.server().is_none() {
        database.connection.pragma_update(None, "synchronous", "OFF").expect("no waiting");
    }
    database.batch(schema);
    database
}

/// A file, at [`NOW`].
fn in_file(path: &Path, profiles: Profiles) -> sqlite::Options {
    sqlite::Options {
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

/// A database on either engine, at [`NOW`].
fn options(database: &Database, profiles: Profiles) -> Options {
    probing(database, profiles, None)
}

/// The same, with somebody who asks the kernel.
fn probing(database: &Database, profiles: Profiles, prober: Option<Prober>) -> Options {
    if database.server().is_none() {
        return sqlite::Options { prober, ..in_file(&database.path(), profiles) }.into();
    }
    let alike = in_file(Path::new(""), profiles);
    postgres::Options {
        target: postgres::Target::parse(&database.source(), None).expect("a target"),
        profiles: alike.profiles,
        operator: alike.operator,
        effort: alike.effort,
        busy_timeout: alike.busy_timeout,
        poll_timeout: alike.poll_timeout,
        frozen_at: alike.frozen_at,
        prober,
        zone: "UTC".into(),
    }
    .into()
}

/// By the built-in profiles, at [`NOW`].
fn actor(database: &Database) -> Actor {
    Actor::open(options(database, Profiles::Detect(Library::built_in()))).expect("an actor")
}

/// By a profile of the test's own, at [`NOW`].
fn actor_by(database: &Database, profile: &str) -> Actor {
    let profile = Profile::parse("own", profile).expect(profile);
    Actor::open(options(database, Profiles::Named(vec![profile]))).expect("an actor")
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

/// The first row that a query answers. What a server writes like a number is one.
fn row(database: &Database, sql: &str) -> Vec<Value> {
    if database.server().is_some() {
        let number_or_text = |text: String| text.parse().map_or(Value::Text(text), Value::Integer);
        let cells = database.rows(sql).remove(0).into_iter();
        return cells.map(|cell| cell.map_or(Value::Null, number_or_text)).collect();
    }
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
