//! Random schedules of look, change and act: nothing that changed is taken, and nothing that did
//! not change is left.

use claimtop::domain::recovery::{Authorization, Outcome};
use claimtop::store::Actor;

use super::systems::{ALL, Claim, RunsOn, Step, System, Touches};
use super::{Way, actor, dump, fast, look, reclaim_by};
use crate::support::engine::{Engine, engine, on, on_both_engines};
use crate::support::{Database, NOW, figures};

/// What the statements call by these names, and a server does not know.
const TAUGHT: &str = "
    CREATE FUNCTION datetime(bigint, text) RETURNS timestamp LANGUAGE sql
      AS 'SELECT to_timestamp($1) AT TIME ZONE ''UTC''';
    CREATE FUNCTION strftime(text, bigint, text) RETURNS timestamp LANGUAGE sql
      AS 'SELECT datetime($2, $3)';";

/// A time that is none and a document that is none, which only a file would keep.
const RUBBISH: (&str, &str) = ("'rubbish', x'00ff'", "'infinity', '[]'");

/// Schedules over all systems; `./tests/run --soak` asks for more. A server takes longer for each.
fn schedules() -> u64 {
    let asked = std::env::var("CLAIMTOP_SCHEDULES").ok().and_then(|number| number.parse::<u64>().ok());
    asked.unwrap_or(match engine() {
        Engine::Sqlite => 5_000,
        Engine::Postgres => 400,
    })
}

/// Those that this engine can have.
fn systems() -> Vec<&'static System> {
    let fits = |system: &&System| system.runs_on == RunsOn::Both || engine() == Engine::Postgres;
    ALL.into_iter().filter(fits).collect()
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// A system with a database and somebody who may act there.
struct Stage {
    system: &'static System,
    database: Database,
    actor: Actor,
}

impl Stage {
    fn of(system: &'static System) -> Stage {
        let database = match system.runs_on {
            RunsOn::Both => fast(system.schema),
            RunsOn::PostgresAlone => Database::with("", system.schema),
        };
        if let Some(server) = database.server() {
            server.run(TAUGHT);
        }
        let actor = actor(&database);
        Stage { system, database, actor }
    }

    /// Runs statements in one transaction, with their placeholders filled in.
    fn run(&self, sql: &str, late: usize, step: usize) {
        let sql = sql
            .replace("$MS", &NOW.to_string())
            .replace("$S", &(NOW / 1_000).to_string())
            .replace("$D", &late.to_string())
            .replace("$K", &step.to_string());
        match self.database.server() {
            Some(server) => server.run(&sql.replace(RUBBISH.0, RUBBISH.1)),
            None => {
                let done = self.database.connection.execute_batch(&format!("BEGIN; {sql}; COMMIT"));
                done.expect(&sql);
            }
        }
    }

    /// Every row as an act can tell it from another.
    ///
    /// Here the engines differ: a file has nothing but the cells, so there and back again is no change; on a
    /// server every row has a version, so there it is one.
    fn rows(&self) -> Vec<String> {
        if self.database.server().is_none() {
            return dump(&self.database.connection);
        }
        let rows = |table| format!("SELECT '{table}: ' || t.xmin || ' ' || t::text FROM {table} AS t");
        let rows: Vec<String> = self.system.tables.iter().map(rows).collect();
        self.database.texts(&format!("{} ORDER BY 1", rows.join(" UNION ALL ")))
    }
}

/// How often what should not have happened did.
#[derive(Default)]
struct Tally {
    wrongly_taken: Vec<String>,
    wrongly_refused: Vec<String>,
    applied: u64,
    moved: u64,
}

fn schedule(stage: &mut Stage, seed: u64, way: &Way, tally: &mut Tally) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(11));
    let system = stage.system;
    let empty: String = system.tables.iter().map(|table| format!("DELETE FROM {table};")).collect();
    let claim: &Claim = &system.claims[random.below(system.claims.len())];
    let late = random.below(20_000);
    stage.run(&format!("{empty} {}; {}", system.bystanders, claim.sql), late, 0);
    let seen = look(&mut stage.actor, system.id);
    let looked_at = stage.rows();

    let steps: Vec<&Step> =
        (0..=random.below(2)).map(|_| &system.steps[random.below(system.steps.len())]).collect();
    let mut before = looked_at.clone();
    let mut matters = false;
    for (number, step) in steps.iter().enumerate() {
        stage.run(step.sql, late, number + 3);
        let rows = stage.rows();
        matters |= rows != before
            && match step.touches {
                Touches::Claim => true,
                Touches::Session => claim.rests_on_session,
                Touches::Others => false,
            };
        before = rows;
    }
    // Nor does what the next step took back.
    matters &= before != looked_at;
    let steps: Vec<&str> = steps.iter().map(|step| step.what).collect();
    let story = format!("seed {seed}: {}, {}, then {}", system.name, claim.why, steps.join(", "));

    let word = Authorization { holder: claim.named.then(|| "holder".into()), ..Authorization::default() };
    let outcome = reclaim_by(way, &mut stage.actor, &seen, &word).expect(&story);
    let after = stage.rows();
    match (&outcome, matters) {
        (Outcome::Applied, false) => {
            tally.applied += 1;
            assert_eq!(stage.database.number(system.held), 0, "{story}: applied, and still held");
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
fn run_over_every_board_of_every_reference_system() {
    let library = claimtop::profile::Library::built_in();
    let profiles: Vec<_> =
        library.entries().iter().map(|entry| entry.profile().expect("a profile")).collect();
    // The systems whose workers this repository has; `./tests/systems` runs the workers of the others.
    let is_reference = |profile: &&claimtop::profile::format::Profile| {
        claimtop::reference::System::ALL.iter().any(|system| system.as_str() == profile.name)
    };
    let boards = profiles
        .iter()
        .filter(is_reference)
        .flat_map(|profile| profile.boards.iter().map(|board| format!("{} {}", profile.name, board.name)));
    let named = |board: &String| {
        let is_it =
            |system: &&System| system.name.replace("executor job", "executor-jobs job").starts_with(board);
        ALL.iter().any(is_it)
    };
    let missing: Vec<String> = boards.filter(|board| !named(board)).collect();
    assert!(missing.is_empty(), "no schedules for {missing:?}");
}

on_both_engines!(take_nothing_that_changed_and_leave_nothing_that_did_not);

fn take_nothing_that_changed_and_leave_nothing_that_did_not(on_engine: Engine) {
    on(on_engine, || {
        let mut tally = Tally::default();
        let systems = systems();
        let many = systems.len() as u64;
        for (first, system) in (0..).zip(systems) {
            let mut stage = Stage::of(system);
            let mut seed = first;
            while seed < schedules() {
                let way = if (seed / many).is_multiple_of(2) { Way::Alone } else { Way::AmongMany };
                schedule(&mut stage, seed, &way, &mut tally);
                seed += many;
            }
        }
        let Tally { wrongly_taken, wrongly_refused, applied, moved } = tally;
        assert!(wrongly_taken.is_empty(), "{} wrongly taken: {wrongly_taken:#?}", wrongly_taken.len());
        assert!(
            wrongly_refused.is_empty(),
            "{} wrongly refused: {wrongly_refused:#?}",
            wrongly_refused.len()
        );
        figures::promise(
            "A claim that changed since it was seen is not taken; one that did not is.",
            applied + moved,
            0,
        );
        figures::tell(&format!("schedules on {on_engine:?}: {applied} taken, {moved} moved"));
        assert_eq!(applied + moved, schedules());
        // Both happen often enough to mean something.
        assert!(applied * 10 > schedules() && moved * 10 > schedules(), "{applied} applied, {moved} moved");
    });
}
