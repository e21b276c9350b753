//! The same random schedules on a server: nothing that changed is taken, and nothing that did not is left.

use claimtop::domain::recovery::{Action, Outcome, Word};
use claimtop::profile::Library;
use claimtop::store::{Actor, Order, Profiles};
use std::time::Duration;

use super::look;
use super::schedules::Random;
use super::systems::{COORDINATION_LOCK, COORDINATION_TASK, Claim, Step, System, Touches, claim, step};
use crate::support::postgres::PgDatabase;
use crate::support::{NOW, Noted};

/// Schedules over all systems; a share of what `./tests/run --soak` asks for.
fn schedules() -> u64 {
    let asked = std::env::var("CLAIMTOP_SCHEDULES").ok().and_then(|number| number.parse::<u64>().ok());
    asked.map_or(300, |asked| asked / 20)
}

/// A system with the statements by which its claim and its session are told from what they were.
struct OnServer {
    system: &'static System,
    claim: &'static str,
    session: &'static str,
}

const ALL: [OnServer; 3] = [
    OnServer {
        system: &COORDINATION_TASK,
        claim: "SELECT xmin, c::text FROM task_claims c WHERE task_id = 'task-1'",
        session: "SELECT s::text FROM sessions s WHERE id = 'holder'",
    },
    OnServer {
        system: &COORDINATION_LOCK,
        claim: "SELECT xmin, c::text FROM locks c WHERE resource = 'src/main.rs'",
        session: "SELECT s::text FROM sessions s WHERE id = 'holder'",
    },
    OnServer {
        system: &EXECUTOR_JOB,
        claim: "SELECT xmin, c::text FROM executor_jobs c WHERE id = '00000000-0000-0000-0000-000000000001'",
        session: "SELECT 'none'",
    },
];

const AT: &str = "to_timestamp($S)";
const EXECUTOR_JOB: System = System {
    name: "executor job",
    schema: include_str!("../../../assets/schema/postgres/executor-jobs.sql"),
    id: "00000000-0000-0000-0000-000000000001",
    tables: &["executor_jobs"],
    bystanders: "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by)
        VALUES ('00000000-0000-0000-0000-000000000002', 'run_tsa', 'running', $AT - interval '2 hours', 'other')",
    held: "SELECT count(*) FROM executor_jobs WHERE status = 'running' AND id = '00000000-0000-0000-0000-000000000001'",
    claims: &[
        claim(
            "ttl over",
            false,
            "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, attempts)
             VALUES ('00000000-0000-0000-0000-000000000001', 'run_tsa', 'running', $AT - interval '31 minutes' - interval '$D s', 'holder', 1)",
        ),
        claim(
            "ttl over since a beat",
            false,
            "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, attempts, heartbeat_at)
             VALUES ('00000000-0000-0000-0000-000000000001', 'build_artifact', 'processing', $AT - interval '9 hours', 'holder', 10,
               $AT - interval '16 minutes')",
        ),
    ],
    steps: &[
        step("nothing", Touches::Others, ""),
        step("beats", Touches::Claim, "UPDATE executor_jobs SET heartbeat_at = $AT - interval '$K s' WHERE id = '00000000-0000-0000-0000-000000000001'"),
        step("finished", Touches::Claim, "UPDATE executor_jobs SET status = 'succeeded' WHERE id = '00000000-0000-0000-0000-000000000001'"),
        step("taken by another", Touches::Claim, "UPDATE executor_jobs SET locked_by = 'other', locked_at = $AT WHERE id = '00000000-0000-0000-0000-000000000001'"),
        step("payload", Touches::Claim, "UPDATE executor_jobs SET payload = '{\"k\": $K}' WHERE id = '00000000-0000-0000-0000-000000000001'"),
        step("another's", Touches::Others, "UPDATE executor_jobs SET heartbeat_at = $AT WHERE id = '00000000-0000-0000-0000-000000000002'"),
        step("deleted", Touches::Claim, "DELETE FROM executor_jobs WHERE id = '00000000-0000-0000-0000-000000000001'"),
    ],
};

/// The statements of SQLite's tests in PostgreSQL's words, with their placeholders filled in.
fn run(database: &PgDatabase, sql: &str, late: usize, step: usize) {
    let sql = sql
        .replace(
            "INSERT OR REPLACE INTO sessions",
            "DELETE FROM sessions WHERE id = 'holder'; INSERT INTO sessions",
        )
        .replace(
            "INSERT OR REPLACE INTO locks",
            "DELETE FROM locks WHERE resource = 'src/main.rs'; INSERT INTO locks",
        )
        .replace("x'ff00'", "'ff'")
        .replace("$AT", AT)
        .replace("$MS", &NOW.to_string())
        .replace("$S", &(NOW / 1_000).to_string())
        .replace("$D", &late.to_string())
        .replace("$K", &step.to_string());
    database.run(&sql);
}

fn schedule(on: &OnServer, database: &PgDatabase, actor: &mut Actor, seed: u64) -> (bool, Outcome, String) {
    let system = on.system;
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(11));
    let claim: &Claim = &system.claims[random.below(system.claims.len())];
    let late = random.below(20_000);
    let empty: String = system.tables.iter().map(|table| format!("DELETE FROM {table};")).collect();
    run(database, &format!("{empty} {}; {}", system.bystanders, claim.sql), late, 0);
    let seen = look(actor, system.id);
    let state = || (database.query(on.claim), database.query(on.session));
    let looked_at = state();
    let steps: Vec<&Step> =
        (0..=random.below(2)).map(|_| &system.steps[random.below(system.steps.len())]).collect();
    for (number, step) in steps.iter().enumerate() {
        run(database, step.sql, late, number + 3);
    }
    let before = state();
    let matters = before.0 != looked_at.0 || (claim.rests_on_session && before.1 != looked_at.1);
    let steps: Vec<&str> = steps.iter().map(|step| step.what).collect();
    let story = format!("seed {seed}: {}, {}, then {}", system.name, claim.why, steps.join(", "));
    let word = Word { holder: claim.named.then(|| "holder".into()), ..Word::default() };
    let order = Order { action: Action::Reclaim, word: &word, action_id: "a", dry_run: false };
    let outcome = if (seed / ALL.len() as u64).is_multiple_of(2) {
        actor.act(&seen, &order, &mut |_| Ok(())).expect(&story).outcome
    } else {
        let batch = actor.act_batch(&mut [&seen], &order, Duration::ZERO, &mut Noted::new());
        batch.expect(&story).tried.remove(0).outcome
    };
    if outcome == Outcome::Applied {
        assert_eq!(database.value(system.held).as_deref(), Some("0"), "{story}: applied, and still held");
    } else {
        assert_eq!(state(), before, "{story}: {outcome:?}, and yet written");
    }
    (matters, outcome, story)
}

#[test]
fn on_a_server_too_nothing_that_changed_is_taken_and_nothing_that_did_not_is_left() {
    let (mut taken, mut refused, mut applied, mut moved) = (Vec::new(), Vec::new(), 0, 0);
    for (number, on) in ALL.iter().enumerate() {
        let schema = on.system.schema;
        let is_ours = schema.contains("task_claims");
        let database =
            PgDatabase::new(&if is_ours { schema.replace("INTEGER", "BIGINT") } else { schema.into() });
        let options = database.options(Profiles::Detect(Library::built_in()));
        let mut actor = Actor::open(options).expect("an actor");
        let mut seed = number as u64;
        while seed < schedules() {
            match schedule(on, &database, &mut actor, seed) {
                (false, Outcome::Applied, _) => applied += 1,
                (true, Outcome::Moved(_), _) => moved += 1,
                (true, Outcome::Applied, story) => taken.push(story),
                (_, other, story) => refused.push(format!("{story}: {other:?}")),
            }
            seed += ALL.len() as u64;
        }
    }
    assert!(taken.is_empty(), "{} wrongly taken: {taken:#?}", taken.len());
    assert!(refused.is_empty(), "{} wrongly refused: {refused:#?}", refused.len());
    assert!(applied * 10 > schedules() && moved * 10 > schedules(), "{applied} applied, {moved} moved");
}
