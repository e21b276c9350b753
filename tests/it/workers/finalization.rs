//! Finalization: claiming a task for finalization, with every outcome it names.

mod metrics;
mod owners;
mod races;

use claimtop::domain::time::{Moment, Span};
use claimtop::reference::System;
use claimtop::worker::finalization::{Completion, FinalizationClaim, StepEnd};
use claimtop::worker::{Clock, Event, WorkerError};

use super::both_engines::{Cell, Engine, Ground, Heard, Named, Place, engines, standing, uuid_of};
use crate::support::NOW;

const TIMEOUT: Span = Span::seconds(30);

/// A task `t` whose only step has completed, the clock standing at [`NOW`], and an detector.
struct World {
    ground: Ground,
    clock: Clock,
    heard: Heard,
    finalization: Named,
}

/// The same on both engines.
#[track_caller]
fn on_both(test: impl Fn(World)) {
    for &engine in engines() {
        println!("on {engine:?}");
        test(World::on(engine));
    }
}

impl World {
    fn on(engine: Engine) -> World {
        let ground = Ground::new(engine, System::Finalization);
        let (clock, heard) = (standing(), Heard::default());
        let finalization = ground.place().finalization(&clock, &heard);
        let mut world = World { ground, clock, heard, finalization };
        world.ready_task("t");
        world
    }

    fn ready_task(&mut self, task: &str) {
        let step = format!("{task}-step");
        assert!(self.finalization.add_task(task, 0).unwrap());
        assert!(self.finalization.add_step(task, &step).unwrap());
        assert!(self.finalization.end_step(&step, StepEnd::Completed).unwrap());
    }

    fn claim(&mut self, processor: &str) -> FinalizationClaim {
        self.finalization.claim_task_for_finalization("t", processor, TIMEOUT).unwrap()
    }

    fn later(&self, span: Span) {
        self.clock.advance(span);
    }

    fn one<T: Cell>(&self, sql: &str) -> T {
        self.ground.one(sql)
    }

    fn holder(&self) -> Option<String> {
        self.one(&format!("SELECT claimed_by FROM tasker_tasks WHERE task_uuid = '{}'", uuid_of("t")))
    }

    /// The newest attempt: claimed, already claimed by, state, message.
    fn attempt(&self) -> (bool, Option<String>, Option<String>, String) {
        let sql = "SELECT claimed, already_claimed_by, task_state, message FROM tasker_finalization_attempts
                   ORDER BY id DESC LIMIT 1";
        let mut cells = self.ground.rows(sql).remove(0).into_iter();
        let mut next = || cells.next().expect("a cell");
        (Cell::of(next()), Cell::of(next()), Cell::of(next()), Cell::of(next()))
    }

    fn events(&self) -> Vec<Event> {
        std::mem::take(&mut self.heard.lock().unwrap())
    }
}

/// The instant this many milliseconds after [`NOW`].
fn at(offset: i64) -> Moment {
    Moment::from_micros((NOW + offset) * 1_000).unwrap()
}

fn some(text: &str) -> Option<String> {
    Some(text.into())
}

#[test]
fn the_first_processor_gets_the_claim() {
    on_both(|mut world| {
        let outcome = world.claim("p-1");
        assert_eq!(outcome, FinalizationClaim::Claimed { until: at(30_000) });
        assert_eq!(outcome.message(), "Successfully claimed for finalization");
        assert_eq!(world.attempt(), (true, some("p-1"), some("pending"), outcome.message().into()));
        assert_eq!(world.holder(), some("p-1"));
        assert_eq!(world.ground.time("SELECT claimed_at FROM tasker_tasks"), at(0));
        assert_eq!(world.one::<i64>("SELECT claim_timeout_seconds FROM tasker_tasks"), 30);
    });
}

#[test]
fn the_same_processor_extends_and_another_is_told_who_has_it() {
    on_both(|mut world| {
        world.claim("p-1");
        world.later(Span::seconds(10));
        let outcome = world.claim("p-1");
        assert_eq!(
            (&outcome, outcome.message()),
            (&FinalizationClaim::Extended { until: at(40_000) }, "Claim extended")
        );
        assert_eq!(world.attempt(), (true, some("p-1"), some("pending"), "Claim extended".into()));
        let outcome = world.claim("p-2");
        assert_eq!(outcome, FinalizationClaim::AlreadyClaimed { by: "p-1".into(), until: Some(at(40_000)) });
        let message = "Task already claimed for finalization";
        assert_eq!(world.attempt(), (false, some("p-1"), some("pending"), message.into()));
        assert!(!outcome.is_claimed());
    });
}

#[test]
fn a_task_that_is_complete_or_unknown_or_without_an_ended_step_is_not_claimed() {
    on_both(|mut world| {
        let unknown = world.finalization.claim_task_for_finalization("nowhere", "p-1", TIMEOUT).unwrap();
        assert_eq!(unknown, FinalizationClaim::NotFound);
        assert_eq!(world.attempt(), (false, None, some("not_found"), "Task not found".into()));
        world.finalization.add_task("young", 0).unwrap();
        for steps in 0..2 {
            let young = world.finalization.claim_task_for_finalization("young", "p-1", TIMEOUT).unwrap();
            assert_eq!(young, FinalizationClaim::NotReady, "{steps} pending steps");
            let message = "Task has no completed or failed steps";
            assert_eq!(world.attempt(), (false, None, some("pending"), message.into()));
            world.finalization.add_step("young", "s").unwrap();
        }
        world.finalization.end_step("s", StepEnd::Failed).unwrap();
        assert!(!world.finalization.end_step("s", StepEnd::Completed).unwrap(), "a step ends once");
        assert!(
            world.finalization.claim_task_for_finalization("young", "p-1", TIMEOUT).unwrap().is_claimed()
        );
        world.claim("p-1");
        assert_eq!(world.finalization.complete("t", "p-1").unwrap(), Completion::Completed);
        assert_eq!(world.claim("p-1"), FinalizationClaim::AlreadyComplete);
        assert_eq!(world.attempt(), (false, None, some("complete"), "Task already complete".into()));
        assert_eq!(world.one::<i64>("SELECT count(*) FROM tasker_finalization_attempts"), 6);
    });
}

#[test]
fn a_claim_holds_until_exactly_its_end() {
    on_both(|mut world| {
        world.claim("p-1");
        world.later(TIMEOUT);
        assert!(matches!(world.claim("p-2"), FinalizationClaim::AlreadyClaimed { .. }));
        world.later(Span::micros(1));
        world.events();
        assert!(matches!(world.claim("p-2"), FinalizationClaim::Claimed { .. }));
        let expired = Event::ClaimExpired {
            task_id: uuid_of("t"),
            session_id: "p-1".into(),
            expired_at: NOW + 30_000,
            age_ms: 30_000,
        };
        let acquired = Event::ClaimAcquired {
            task_id: uuid_of("t"),
            session_id: "p-2".into(),
            expires_at: Some(NOW + 60_000),
        };
        assert_eq!(world.events(), [expired, acquired]);
        assert!(matches!(world.claim("p-1"), FinalizationClaim::AlreadyClaimed { .. }));
    });
}

#[test]
fn the_rows_timeout_alone_says_whether_a_claim_is_over() {
    on_both(|mut world| {
        world.claim("p-1");
        let ask = |world: &mut World, seconds: i64| {
            world.finalization.claim_task_for_finalization("t", "p-2", Span::seconds(seconds)).unwrap()
        };
        world.later(Span::seconds(5));
        // The original says "race condition" here, ...
        assert!(matches!(ask(&mut world, 1), FinalizationClaim::AlreadyClaimed { .. }));
        world.later(Span::seconds(35));
        // ... and "already claimed" here.
        assert_eq!(ask(&mut world, 300), FinalizationClaim::Claimed { until: at(340_000) });
        assert_eq!(world.one::<i64>("SELECT claim_timeout_seconds FROM tasker_tasks"), 300);
    });
}

#[test]
fn an_own_claim_that_is_over_is_claimed_anew_with_the_new_timeout() {
    on_both(|mut world| {
        world.claim("p-1");
        world.later(Span::seconds(31));
        let again = world.finalization.claim_task_for_finalization("t", "p-1", Span::seconds(60)).unwrap();
        assert_eq!(again, FinalizationClaim::Claimed { until: at(91_000) });
        world.later(Span::seconds(1));
        let extended = world.finalization.claim_task_for_finalization("t", "p-1", Span::seconds(5)).unwrap();
        assert_eq!(
            extended,
            FinalizationClaim::Extended { until: at(92_000) },
            "an extension keeps the row's timeout"
        );
    });
}

#[test]
fn a_timeout_that_the_row_cannot_hold_and_a_nameless_processor_are_refused() {
    on_both(|mut world| {
        for timeout in
            [Span::ZERO, Span::seconds(-1), Span::millis(1_500), Span::micros(1), Span::seconds(i64::MAX)]
        {
            let refused = world.finalization.claim_task_for_finalization("t", "p", timeout).unwrap_err();
            assert!(matches!(refused, WorkerError::Invalid(_)), "{refused}");
        }
        assert!(world.finalization.claim_task_for_finalization("t", "", TIMEOUT).is_err());
        assert!(world.finalization.extend("t", "").is_err());
        assert_eq!(world.one::<i64>("SELECT count(*) FROM tasker_finalization_attempts"), 0);
    });
}

#[test]
fn its_tables_fit_the_profile_that_watches_them() {
    on_both(|mut world| {
        world.ready_task("waiting");
        world.claim("p-1");
        let (found, exit) = world.ground.check();
        assert_eq!((&found["profile"], exit), (&"finalization".into(), 0), "{found:#}");
        assert_eq!(found["backlog"]["queued"], 1);
        let claim = world.ground.claim(&uuid_of("t"));
        assert_eq!((&claim["holder"], &claim["remaining_ms"]), (&"p-1".into(), &30_000.into()));
    });
}
