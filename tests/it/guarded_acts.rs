//! The guarded acts: what is done is exactly what was ordered, to exactly what was seen.

mod addresses;
mod authorization;
mod beside;
mod builtin_profiles;
mod bulk;
mod bulk_preview;
mod extending;
mod files;
mod profile_sql;
mod records;
mod renewal_race;
mod requeue;
mod schedules;
mod sessions;
mod systems;
mod systems_finalization;
mod systems_more;
mod systems_native;
mod systems_tasks;
mod undo;
mod undo_race;
mod undo_side_effects;
mod without_rowid;

use crate::support::options::writable;
use claimtop::domain::recovery::{Action, Authorization, Outcome};
use claimtop::profile::Library;
use claimtop::profile::format::Profile;
use claimtop::store::{Acted, Actor, Change, Order, Profiles, Seen, Side, StoreError, Undo};
use rusqlite::types::Value;
use std::time::Duration;

use crate::support::{Database, Noted, dump};

const UNDO: Undo<'_> = Undo::For {
    action_id: "undo",
    address: "somewhere",
    authorization: &Authorization {
        force: false,
        reason: None,
        holder: None,
        holders: Vec::new(),
        by: None,
        unattended: false,
    },
};

/// A database on which writes do not wait for the disk.
fn fast(schema: &str) -> Database {
    let database = Database::new(schema);
    if database.server().is_none() {
        database.connection.pragma_update(None, "synchronous", "OFF").expect("no waiting");
    }
    database
}

/// By the built-in profiles, at [`NOW`].
fn actor(database: &Database) -> Actor {
    Actor::open(writable(database.options(Profiles::Detect(Library::built_in()), |_| {}))).expect("an actor")
}

/// By a profile of the test's own, at [`NOW`].
fn actor_by(database: &Database, profile: &str) -> Actor {
    let profile = Profile::parse("own", profile).expect(profile);
    Actor::open(writable(database.options(Profiles::Named(vec![profile]), |_| {}))).expect("an actor")
}

/// The one claim with this id.
fn look(actor: &mut Actor, id: &str) -> Seen {
    let mut found = actor.find(id, None).expect("a look");
    assert_eq!(found.len(), 1, "claims named {id}");
    found.remove(0)
}

fn act(actor: &mut Actor, seen: &Seen, action: Action, word: &Authorization) -> Acted {
    let order = Order { action, authorization: word, action_id: "test", dry_run: false };
    actor.act(seen, &order, &mut |_| Ok(())).expect("an act")
}

fn reclaim(actor: &mut Actor, seen: &Seen) -> Acted {
    act(actor, seen, Action::Reclaim, &Authorization::default())
}

/// Whether a claim is taken by itself or as one of many: there a statement may decide without a second look.
enum Way {
    Alone,
    AmongMany,
}

fn reclaim_by(
    way: &Way,
    actor: &mut Actor,
    seen: &Seen,
    word: &Authorization,
) -> Result<Outcome, StoreError> {
    let order = Order { action: Action::Reclaim, authorization: word, action_id: "a", dry_run: false };
    match way {
        Way::Alone => Ok(actor.act(seen, &order, &mut |_| Ok(()))?.outcome),
        Way::AmongMany => {
            let mut batch = actor.act_batch(&mut [seen], &order, Duration::ZERO, &mut Noted::new())?;
            Ok(batch.tried.remove(0).outcome)
        }
    }
}

/// Looks and does it, which must succeed.
fn applied(actor: &mut Actor, id: &str, action: Action) -> Acted {
    let seen = look(actor, id);
    let acted = act(actor, &seen, action, &Authorization::default());
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
    actor.undo(&through_json(acted), UNDO, &mut |_| Ok(())).expect("an undo").outcome
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
