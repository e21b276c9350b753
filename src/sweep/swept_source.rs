//! One source that is swept, with everything that earlier runs have seen of it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use super::clock_continuity::{ClockContinuity, Clocks};
use super::database_clock::DatabaseClock;
use super::orders::{Manner, Orders, SweepError};
use super::pass::Pass;
use super::sightings::Sightings;
use super::sightings_file::{SavedSightings, SightingsFile};
use super::source_plan::{SourcePlan, SweepFailure, SweepReporter};
use super::summary::Summary;
use super::watching::Memory;
use crate::domain::seen_boards::SeenBoards;
use crate::domain::time::Span;
use crate::poller::{Next, Polled, SourceWatch};
use crate::recovery::AuditedActor;
use crate::signals::StopFlag;
use crate::store::clock;

/// How often a source is swept in a continuous run when nobody says.
const USUAL: Span = Span::minutes(5);

/// Where the sightings of a run come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SightingsFrom {
    /// There are none: the workers' clocks are trusted.
    Nowhere,
    /// The last run, by way of the state folder.
    File,
    /// The last run of this process.
    Memory,
}

/// Asks for other intervals and thresholds: the config was read again.
#[derive(Debug)]
pub struct Reload;

pub struct SweptSource {
    plan: Arc<dyn SourcePlan>,
    reporter: Box<dyn SweepReporter>,
    stop: StopFlag,
    watch: SourceWatch,
    due: Instant,
    every: Span,
    fingerprint: String,
    sightings: Sightings,
    database_clock: DatabaseClock,
    clocks: Option<Clocks>,
    boards: SeenBoards,
}

impl fmt::Debug for SweptSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SweptSource").field("source", &self.plan.label()).finish_non_exhaustive()
    }
}

impl Polled for SweptSource {
    type Request = Reload;

    /// Reports what happened since the last run, and sweeps.
    fn poll(&mut self) -> Next {
        self.due = Instant::now() + self.every.duration();
        if self.reporter.has_listeners() {
            let events = match self.watch.look(clock()) {
                Ok((_, events)) => events,
                Err(error) => self.watch.fail(&error.brief(&BTreeSet::new())),
            };
            self.reporter.changed(events);
        }
        // A failure is reported, and the source is tried again when it is due.
        let _ = self.sweep(SightingsFrom::Memory);
        Next::At(self.due)
    }

    fn answer(&mut self, Reload: Reload) -> Next {
        self.watch.source.close();
        // Under other thresholds other claims are late.
        self.database_clock.forget_last();
        self.every = self.plan.every().unwrap_or(USUAL);
        self.due = self.due.min(Instant::now() + self.every.duration());
        Next::At(self.due)
    }
}

impl SweptSource {
    pub fn new(plan: Arc<dyn SourcePlan>, reporter: Box<dyn SweepReporter>, stop: StopFlag) -> SweptSource {
        SweptSource {
            watch: SourceWatch::new(&plan.label(), plan.opener()),
            due: Instant::now(),
            every: plan.every().unwrap_or(USUAL),
            fingerprint: String::new(),
            sightings: Sightings::default(),
            database_clock: DatabaseClock::default(),
            clocks: None,
            boards: SeenBoards::default(),
            plan,
            reporter,
            stop,
        }
    }

    /// One run, reported.
    pub fn sweep(&mut self, from: SightingsFrom) -> Result<Summary, SweepFailure> {
        let swept = self.try_sweep(from);
        let failed = |error: &SweepFailure| Summary {
            source: self.plan.label(),
            error: Some(error.to_string()),
            dry_run: self.plan.manner() == Manner::Rehearse,
            ..Summary::default()
        };
        let taken = match &swept {
            Ok(summary) => self.reporter.ended(summary),
            Err(error) => {
                let summary = failed(error);
                self.reporter.ended(&summary)
            }
        };
        // That these claims are gone is no news to whoever reads the events.
        self.watch.detector.took(&taken);
        swept
    }

    fn try_sweep(&mut self, from: SightingsFrom) -> Result<Summary, SweepFailure> {
        let mut actor = self.plan.open()?.as_sweeper();
        let orders = self.plan.orders();
        let swept = match from {
            SightingsFrom::Nowhere => self.pass(&mut actor, &orders, None, &mut SeenBoards::default()),
            SightingsFrom::File => self.by_file(&mut actor, &orders),
            SightingsFrom::Memory => self.by_memory(&mut actor, &orders),
        };
        swept.map_err(|error| self.plan.explain(error))
    }

    fn pass(
        &mut self,
        actor: &mut AuditedActor,
        orders: &Orders,
        memory: Option<Memory<'_>>,
        boards: &mut SeenBoards,
    ) -> Result<Summary, SweepError> {
        let SweptSource { reporter, stop, .. } = self;
        Pass::new(actor, orders).run(memory, boards, &mut |event| reporter.acted(event), &|| !stop.is_set())
    }

    /// A run by what the last one has left in the state folder.
    fn by_file(&mut self, actor: &mut AuditedActor, orders: &Orders) -> Result<Summary, SweepError> {
        let now = Clocks::read().ok_or(SweepError::NoClock)?;
        let file = SightingsFile::beside(&orders.trail, &actor.actor().fingerprint());
        let failed = |error: std::io::Error| SweepError::SightingsFile {
            path: file.path().to_owned(),
            why: error.to_string(),
        };
        let (mut sightings, mut clock, apart_us) = match file.load().map_err(failed)? {
            Some(mut saved) => {
                let every = self.plan.every().unwrap_or_else(|| saved.usual());
                let (passage, apart) = (now.since(&saved.clocks, every), saved.apart_with(&now));
                if passage == ClockContinuity::Restarted {
                    saved.database_clock.forget_last();
                }
                (self.trusted(saved.sightings, passage), saved.database_clock, apart)
            }
            None => (Sightings::default(), DatabaseClock::default(), Vec::new()),
        };
        let memory = Memory { sightings: &mut sightings, clock: &mut clock, at: now.since_boot() };
        let summary = self.pass(actor, orders, Some(memory), &mut SeenBoards::default())?;
        if orders.manner == Manner::Act {
            let source = actor.source().to_owned();
            let saved = SavedSightings { source, clocks: now, sightings, database_clock: clock, apart_us };
            file.keep(&saved).map_err(failed)?;
        }
        Ok(summary)
    }

    /// A run by what this process saw before.
    fn by_memory(&mut self, actor: &mut AuditedActor, orders: &Orders) -> Result<Summary, SweepError> {
        let now = Clocks::read().ok_or(SweepError::NoClock)?;
        let fingerprint = actor.actor().fingerprint();
        let mut sightings = std::mem::take(&mut self.sightings);
        let mut passage = ClockContinuity::Steady;
        if fingerprint != self.fingerprint {
            sightings.restart();
            self.database_clock = DatabaseClock::default();
            self.boards = SeenBoards::default();
            self.fingerprint = fingerprint;
        } else if let Some(before) = &self.clocks {
            passage = now.since(before, self.every);
            sightings = self.trusted(sightings, passage);
            if matches!(passage, ClockContinuity::Gap(_) | ClockContinuity::Restarted) {
                // The workers may have slept as long as we did.
                self.database_clock.doubt();
            }
        }
        let at = now.since_boot();
        self.clocks = Some(now);
        let (mut clock, mut boards) =
            (std::mem::take(&mut self.database_clock), std::mem::take(&mut self.boards));
        let memory = Memory { sightings: &mut sightings, clock: &mut clock, at };
        let summary = self.pass(actor, orders, Some(memory), &mut boards);
        (self.sightings, self.database_clock, self.boards) = (sightings, clock, boards);
        summary.map(|summary| Summary {
            paused: summary.paused || passage != ClockContinuity::Steady,
            ..summary
        })
    }

    /// The sightings, unless the clocks contradict them.
    fn trusted(&mut self, mut sightings: Sightings, passage: ClockContinuity) -> Sightings {
        if let Some(sentence) = passage.sentence() {
            self.reporter.remark(&sentence);
            sightings.restart();
        }
        sightings
    }
}
