//! One source that is swept, with everything that earlier runs have seen.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use super::clock_continuity::{ClockContinuity, Clocks};
use super::database_clock::DatabaseClock;
use super::options::{SweepError, SweepMode, SweepOptions};
use super::pass::Pass;
use super::sightings::Sightings;
use super::sightings_file::{SavedSightings, SightingsFile};
use super::source_plan::{SourcePlan, SweepFailure, SweepReporter};
use super::summary::SweepSummary;
use super::watching::SweepMemory;
use crate::domain::cause::Cause;
use crate::domain::seen_boards::SeenBoards;
use crate::domain::time::Span;
use crate::poller::{NextPoll, Polled, SourceWatch};
use crate::recovery::AuditedActor;
use crate::signals::StopFlag;
use crate::store::clock;

/// The interval of a continuous sweep unless one is configured.
const USUAL: Span = Span::minutes(5);

/// Where the sightings of a run come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SightingsFrom {
    /// There are none: the workers' clocks are trusted.
    Nowhere,
    /// From the last run, by way of the state folder.
    File,
    /// From the last run of this process.
    Memory,
}

/// Asks for new intervals and thresholds, because the config was reloaded.
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

    /// Reports the events since the last run, and sweeps.
    fn poll(&mut self) -> NextPoll {
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
        NextPoll::At(self.due)
    }

    fn answer(&mut self, Reload: Reload) -> NextPoll {
        self.watch.source.close();
        // Other thresholds make other claims stale.
        self.database_clock.forget_last();
        self.every = self.plan.every().unwrap_or(USUAL);
        self.due = self.due.min(Instant::now() + self.every.duration());
        NextPoll::At(self.due)
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

    /// One run, with its report.
    pub fn sweep(&mut self, from: SightingsFrom) -> Result<SweepSummary, SweepFailure> {
        let swept = self.try_sweep(from);
        let failed = |error: &SweepFailure| SweepSummary {
            source: self.plan.label(),
            error: Some(error.to_string()),
            dry_run: self.plan.mode() == SweepMode::Rehearse,
            ..SweepSummary::default()
        };
        let taken = match &swept {
            Ok(summary) => self.reporter.ended(summary),
            Err(error) => {
                let summary = failed(error);
                self.reporter.ended(&summary)
            }
        };
        // Whoever reads the events knows already that these claims are gone.
        self.watch.detector.took(&taken);
        swept
    }

    fn try_sweep(&mut self, from: SightingsFrom) -> Result<SweepSummary, SweepFailure> {
        let mut actor = self.plan.open()?.for_sweeps();
        let options = self.plan.options();
        let causes = self.causes();
        let swept = match from {
            SightingsFrom::Nowhere => self.pass(&mut actor, &options, None, &mut SeenBoards::default()),
            SightingsFrom::File => self.by_file(&mut actor, &options),
            SightingsFrom::Memory => self.by_memory(&mut actor, &options),
        };
        let swept = swept.map_err(|error| self.plan.explain(error))?;
        Ok(SweepSummary { causes, ..swept })
    }

    /// What the claims in trouble have in common. If the source cannot be read, the sweep reports that.
    fn causes(&mut self) -> Vec<Cause> {
        match self.watch.poll() {
            Ok(_) => self.watch.facts.causes().to_vec(),
            Err(_) => {
                self.watch.source.close();
                Vec::new()
            }
        }
    }

    fn pass(
        &mut self,
        actor: &mut AuditedActor,
        options: &SweepOptions,
        memory: Option<SweepMemory<'_>>,
        boards: &mut SeenBoards,
    ) -> Result<SweepSummary, SweepError> {
        let SweptSource { reporter, stop, .. } = self;
        Pass::new(actor, options).run(memory, boards, &mut |event| reporter.acted(event), &|| !stop.is_set())
    }

    /// A run with the sightings that the last one saved in the state folder.
    fn by_file(
        &mut self,
        actor: &mut AuditedActor,
        options: &SweepOptions,
    ) -> Result<SweepSummary, SweepError> {
        let now = Clocks::read().ok_or(SweepError::NoClock)?;
        let file = SightingsFile::beside(&options.trail, &actor.actor().fingerprint());
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
        let memory = SweepMemory { sightings: &mut sightings, clock: &mut clock, at: now.since_boot() };
        let summary = self.pass(actor, options, Some(memory), &mut SeenBoards::default())?;
        if options.mode == SweepMode::Act {
            let source = actor.source().to_owned();
            let saved = SavedSightings { source, clocks: now, sightings, database_clock: clock, apart_us };
            file.keep(&saved).map_err(failed)?;
        }
        Ok(summary)
    }

    /// A run with the sightings of this process.
    fn by_memory(
        &mut self,
        actor: &mut AuditedActor,
        options: &SweepOptions,
    ) -> Result<SweepSummary, SweepError> {
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
                // The workers may have been suspended for as long as this process.
                self.database_clock.doubt();
            }
        }
        let at = now.since_boot();
        self.clocks = Some(now);
        let (mut clock, mut boards) =
            (std::mem::take(&mut self.database_clock), std::mem::take(&mut self.boards));
        let memory = SweepMemory { sightings: &mut sightings, clock: &mut clock, at };
        let summary = self.pass(actor, options, Some(memory), &mut boards);
        (self.sightings, self.database_clock, self.boards) = (sightings, clock, boards);
        summary.map(|summary| SweepSummary {
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
