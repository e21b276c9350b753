//! If nothing moves between a preview and its act, the preview is what happens.

use crate::support::options::writable;
use claimtop::app::bulk::filter_of_worst;
use claimtop::domain::claim::Process;
use claimtop::domain::filter::{Pattern, Test, exactly};
use claimtop::domain::recovery::{Action, Authorization, Outcome};
use claimtop::domain::tally::Foreseen;
use claimtop::domain::verdict::Set;
use claimtop::profile::Library;
use claimtop::recovery::AuditedActor;
use claimtop::store::{Filter, Prober, Profiles};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::fast;
use crate::support::engine::on_both;
use crate::support::figures::promise;
use crate::support::{COORDINATION, Database, MINUTE, NOW, SECOND};

/// A session: for how long it has been silent, whether it is registered, and its process.
type Session = (i64, bool, u8);
/// A claim: its holder, when its lease ends, and for how long it has been silent.
type Task = (usize, i64, i64);

#[derive(Debug, Clone)]
struct World {
    sessions: Vec<Session>,
    tasks: Vec<Task>,
    locks: Vec<(usize, i64)>,
    sets: Vec<Set>,
    action: Action,
    word: Authorization,
    limit: Option<usize>,
    /// Only claims of a holder like this.
    of: Option<&'static str>,
    /// Whether those whose holders may be alive are included by name.
    named: bool,
    /// Whether only claims are meant that the pane of the first set shows.
    of_pane: bool,
}

fn worlds() -> impl Strategy<Value = World> {
    let minutes = |all: &'static [i64]| proptest::sample::select(all).prop_map(|minutes| minutes * MINUTE);
    let sessions = prop::collection::vec((minutes(&[0, 6, 20]), any::<bool>(), 0..3_u8), 1..4);
    let tasks = prop::collection::vec((0..4_usize, minutes(&[-60, -1, 2, 40]), minutes(&[0, 7, 30])), 0..24);
    let locks = prop::collection::vec((0..4_usize, minutes(&[-60, 40])), 0..5);
    let sets = [Set::Orphaned, Set::Stale, Set::Unknown, Set::Expiring];
    let sets = proptest::sample::subsequence(sets.to_vec(), 1..=4);
    let actions = proptest::sample::select(vec![Action::Reclaim, Action::Release, Action::Extend]);
    let holder = proptest::option::of((0..4_usize).prop_map(|number| format!("w-{number}")));
    let reason = proptest::option::of(Just("a reason".to_owned()));
    let word = (any::<bool>(), holder, reason).prop_map(|(force, holder, reason)| Authorization {
        force,
        reason,
        holder,
        ..Authorization::default()
    });
    let limit = proptest::option::of(1..20_usize);
    let of = proptest::option::of(proptest::sample::select(vec!["w-*", "w-1", "*-2"]));
    (sessions, tasks, locks, sets, actions, word, (limit, of, any::<bool>(), any::<bool>())).prop_map(
        |(sessions, tasks, locks, sets, action, word, (limit, of, named, of_pane))| World {
            sessions,
            tasks,
            locks,
            sets,
            action,
            word,
            limit,
            of,
            named,
            of_pane,
        },
    )
}

fn build(world: &World) -> Database {
    let database = fast(COORDINATION);
    for (number, (silent_for, is_registered, process)) in world.sessions.iter().enumerate() {
        if *is_registered {
            database.run(
                "INSERT INTO sessions VALUES (?1, '/project', 'cli', ?2, ?3, '{}', ?4)",
                (format!("w-{number}"), NOW - 180 * MINUTE, NOW - silent_for, i64::from(*process) + 1),
            );
        }
    }
    for (number, (holder, expires_in, silent_for)) in world.tasks.iter().enumerate() {
        database.run(
            "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            (
                format!("task-{number}"),
                format!("w-{holder}"),
                NOW - 120 * MINUTE,
                NOW + expires_in,
                NOW - silent_for - SECOND,
            ),
        );
    }
    for (number, (holder, expires_in)) in world.locks.iter().enumerate() {
        database.run(
            "INSERT INTO locks (resource, session_id, acquired_at, expires_at) VALUES (?1, ?2, ?3, ?4)",
            (format!("lock-{number}"), format!("w-{holder}"), NOW - 120 * MINUTE, NOW + expires_in),
        );
    }
    database
}

fn rows(database: &Database) -> Vec<String> {
    let tables = ["sessions", "task_claims", "locks"];
    let all = tables.map(|table| database.rows(&format!("SELECT * FROM {table}")));
    let mut all: Vec<String> = all.into_iter().flatten().map(|row| format!("{row:?}")).collect();
    all.sort();
    all
}

/// Looks, asks the rules, acts, and takes everything back.
fn preview_and_act(world: &World) {
    let database = build(world);
    let before = rows(&database);
    let prober = Prober::new(|worker, _, _| {
        let process = match worker.pid.text().as_deref() {
            Some("1") => Process::Alive,
            Some("2") => Process::Dead,
            _ => Process::Unknown,
        };
        (process, "so it is said".into())
    });
    let options =
        database.options(Profiles::Detect(Library::built_in()), |options| options.prober = Some(prober));
    let mut audited = AuditedActor::open(writable(options), "tasks.db", &database.beside("audit"))
        .expect("an audited actor");
    let filter = match (world.of_pane, &world.sets[..]) {
        (true, [set, ..]) => filter_of_worst(*set),
        (_, sets) => Filter { sets: sets.to_vec(), ..Filter::default() },
    };
    let filter = Filter { limit: world.limit, ..filter };
    let of = world.of.map(|name| Test::Holder(vec![Pattern::typed(name)]));
    let filter = of.into_iter().fold(filter, Filter::with);
    let claims = audited.actor().selection(&filter).expect("a look");
    let wanted = claims.len();
    let selected = audited.actor().select(&filter).expect("a look");
    assert_eq!(wanted, selected.len(), "{world:#?}");
    if world.of_pane {
        let headlines = selected.iter().map(|seen| seen.judged.verdict.headline());
        assert!(headlines.into_iter().all(|set| set == world.sets[0]), "{world:#?}");
    }
    let mut skipped = 0;
    let mut word = world.word.clone();
    let mut plan = audited.plan(claims, world.action, &word, &mut |_| skipped += 1).expect("a plan");
    let listed = Foreseen::ALL.map(|foreseen| plan.listing.of(foreseen).len());
    assert_eq!(listed.iter().sum::<usize>(), wanted, "every claim has a line: {world:#?}");
    assert_eq!(listed[..2], [plan.preview.applied, plan.needs_name()], "{world:#?}");
    if world.named {
        skipped -= plan.needs_name();
        word.holders = exactly(plan.unnamed_holders());
        plan.include_named();
    }
    let of_holders = plan.holders.values().map(|one| one.done + one.needs_name + one.skipped);
    assert_eq!(of_holders.sum::<usize>(), wanted, "{world:#?}");
    assert_eq!(rows(&database), before, "a preview writes nothing");
    let preview = plan.preview.clone();
    assert_eq!((preview.wanted, preview.applied + skipped), (wanted, wanted), "{world:#?}");
    let mut heard = 0;
    let result = audited
        .run_plan(plan, &word, &mut |_| {
            heard += 1;
            true
        })
        .expect("a bulk");
    assert_eq!(result.tally, preview, "{world:#?}");
    let all = result.tally.applied + result.tally.refused + result.tally.moved + result.tally.unknown;
    assert_eq!(all, wanted, "{world:#?}");
    assert_eq!((heard, result.tally.not_tried()), (preview.applied, 0), "{world:#?}");
    if preview.applied > 0 {
        assert_ne!(rows(&database), before, "{world:#?}");
        let batch = result.batch.expect("an id");
        let mut foreseen = 0;
        let of = audited.rehearse_undo(&batch, &mut |report| {
            foreseen += usize::from(report.outcome == Outcome::Applied);
            true
        });
        let undone = audited.undo_all(&batch, None, &mut |_| true).expect("an undo").tally;
        assert_eq!((undone.applied, undone.wanted), (preview.applied, preview.applied));
        assert_eq!((foreseen, of.expect("a look")), (undone.applied, undone.wanted), "{world:#?}");
        assert_eq!(undone.refused + undone.moved + undone.unknown + undone.not_tried(), 0, "{world:#?}");
    }
    assert_eq!(rows(&database), before, "{world:#?}");
}

#[test]
fn the_preview_of_a_bulk_is_what_happens_if_nothing_moves() {
    let cases = std::env::var("CLAIMTOP_PREVIEWS").ok().and_then(|cases| cases.parse().ok()).unwrap_or(16);
    on_both(|| {
        let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
        runner
            .run(&worlds(), |world| {
                preview_and_act(&world);
                Ok(())
            })
            .expect("previews that keep their word");
        promise("The preview of a bulk is what happens if nothing moves in between.", u64::from(cases), 0);
    });
}
