//! Random schedules of look, change and act: nothing that changed is taken, and nothing that did
//! not change is left.

use claimtop::domain::recovery::{Action, Outcome, Word};
use claimtop::store::{Actor, Order};
use rusqlite::Connection;
use std::time::Duration;

use super::systems::{ALL, Claim, Step, System, Touches};
use super::{actor, dump, fast, look};
use crate::support::{Database, NOW, Noted};

/// Schedules over all systems; `./tests/run --soak` asks for more.
fn schedules() -> u64 {
    std::env::var("CLAIMTOP_SCHEDULES").ok().and_then(|number| number.parse().ok()).unwrap_or(5_000)
}

pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// Runs statements with their placeholders filled in; how many rows they changed.
fn run(connection: &Connection, sql: &str, late: usize, step: usize) -> u64 {
    let sql = sql
        .replace("$MS", &NOW.to_string())
        .replace("$S", &(NOW / 1_000).to_string())
        .replace("$D", &late.to_string())
        .replace("$K", &step.to_string());
    let before = connection.total_changes();
    connection.execute_batch(&format!("BEGIN; {sql}; COMMIT")).expect(&sql);
    connection.total_changes() - before
}

/// How often what should not have happened did.
#[derive(Default)]
struct Tally {
    wrongly_taken: Vec<String>,
    wrongly_refused: Vec<String>,
    applied: u64,
    moved: u64,
}

fn schedule(system: &System, database: &Database, actor: &mut Actor, seed: u64, tally: &mut Tally) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(11));
    let others = &database.connection;
    let empty: String = system.tables.iter().map(|table| format!("DELETE FROM {table};")).collect();
    let claim: &Claim = &system.claims[random.below(system.claims.len())];
    let late = random.below(20_000);
    run(others, &format!("{empty} {}; {}", system.bystanders, claim.sql), late, 0);
    let seen = look(actor, system.id);
    let looked_at = dump(others);

    let steps: Vec<&Step> =
        (0..=random.below(2)).map(|_| &system.steps[random.below(system.steps.len())]).collect();
    let mut matters = false;
    for (number, step) in steps.iter().enumerate() {
        let changed = run(others, step.sql, late, number + 3) > 0;
        matters |= changed
            && match step.touches {
                Touches::Claim => true,
                Touches::Session => claim.rests_on_session,
                Touches::Others => false,
            };
    }
    let steps: Vec<&str> = steps.iter().map(|step| step.what).collect();
    let story = format!("seed {seed}: {}, {}, then {}", system.name, claim.why, steps.join(", "));

    let before = dump(others);
    // There and back again is no change.
    matters &= before != looked_at;
    let word = Word { holder: claim.named.then(|| "holder".into()), ..Word::default() };
    let order = Order { action: Action::Reclaim, word: &word, action_id: "a", dry_run: false };
    // One by one, or among many: there a statement may decide without a second look.
    let outcome = if (seed / ALL.len() as u64).is_multiple_of(2) {
        actor.act(&seen, &order, &mut |_| Ok(())).expect(&story).outcome
    } else {
        let batch = actor.act_batch(&mut [&seen], &order, Duration::ZERO, &mut Noted::new());
        batch.expect(&story).tried.remove(0).outcome
    };
    let after = dump(others);
    let held: i64 =
        others.prepare_cached(system.held).unwrap().query_row([], |row| row.get(0)).expect(&story);
    match (&outcome, matters) {
        (Outcome::Applied, false) => {
            tally.applied += 1;
            assert_eq!(held, 0, "{story}: applied, and still held");
            let lost = before.iter().filter(|row| !after.contains(row)).count();
            assert_eq!(lost, 1, "{story}: {before:#?} became {after:#?}");
        }
        (Outcome::Moved(_), true) => tally.moved += 1,
        (Outcome::Applied, true) => tally.wrongly_taken.push(story.clone()),
        (other, _) => tally.wrongly_refused.push(format!("{story}: {other:?}")),
    }
    if outcome != Outcome::Applied {
        assert_eq!(before, after, "{story}: {outcome:?}, and yet written");
    }
}

#[test]
fn take_nothing_that_changed_and_leave_nothing_that_did_not() {
    let mut tally = Tally::default();
    for (number, system) in ALL.iter().enumerate() {
        let database = fast(system.schema);
        let mut actor = actor(&database);
        let mut seed = number as u64;
        while seed < schedules() {
            schedule(system, &database, &mut actor, seed, &mut tally);
            seed += ALL.len() as u64;
        }
    }
    let Tally { wrongly_taken, wrongly_refused, applied, moved } = tally;
    assert!(wrongly_taken.is_empty(), "{} wrongly taken: {wrongly_taken:#?}", wrongly_taken.len());
    assert!(wrongly_refused.is_empty(), "{} wrongly refused: {wrongly_refused:#?}", wrongly_refused.len());
    assert_eq!(applied + moved, schedules());
    // Both happen often enough to mean something.
    assert!(applied * 10 > schedules() && moved * 10 > schedules(), "{applied} applied, {moved} moved");
}
