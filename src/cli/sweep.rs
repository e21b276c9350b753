//! `claimtop sweep`: automatic cleanup, once or for good.

mod arguments;
mod printer;

use std::path::PathBuf;
use std::time::Instant;

use super::Common;
use super::output::complain;
use super::recovery::{Purpose, Refusal, audited_actor};
use super::setup::Setup;
use super::source_events::SourceEvents;
use crate::config::SweepLimits;
use crate::domain::seen_boards::SeenBoards;
use crate::domain::time::Span;
use crate::exit::Exit;
use crate::recovery::AuditedActor;
use crate::recovery::trail::Trail;
use crate::sweep::{
    Brakes, Call, Calls, ClockContinuity, Clocks, DatabaseClock, Manner, Memory, Orders, Pass,
    SavedSightings, Sightings, SightingsFile, Summary, SweepError, Wanted,
};
pub use arguments::{SweepArgs, SweepTerms};
use printer::SweepPrinter;

pub fn run(common: &Common, setup: Setup, arguments: &SweepArgs) -> Exit {
    let calls = match Calls::listen() {
        Ok(calls) => calls,
        Err(error) => return complain(&format!("cannot listen for signals: {error}")),
    };
    let SweepArgs { sources, every, terms, .. } = arguments;
    let mut sweeper = match Sweeper::new(common, setup, sources, *every, terms, calls) {
        Ok(sweeper) => sweeper,
        Err(sentence) => return complain(&sentence),
    };
    if arguments.dry_run {
        sweeper.manner = Manner::Rehearse;
    }
    let in_the_config = |word: &String| sweeper.limits(word).every.is_some();
    if arguments.once || arguments.sighted || !sources.iter().any(in_the_config) {
        return sweeper.once(arguments.sighted);
    }
    sweeper.keep_on()
}

/// Everything that a run needs, whichever the source.
pub struct Sweeper<'a> {
    common: &'a Common,
    setup: Setup,
    sources: &'a [String],
    every: Option<Span>,
    terms: &'a SweepTerms,
    manner: Manner,
    calls: Calls,
    printer: SweepPrinter,
    /// Somebody who hears what every run came to.
    witness: Option<&'a (dyn Fn(&Summary) + Sync)>,
}

/// A source that is swept again and again, and what was seen of it.
struct SweptSource {
    word: String,
    due: Instant,
    every: Span,
    fingerprint: String,
    sightings: Sightings,
    database_clock: DatabaseClock,
    clocks: Option<Clocks>,
    witness: SourceEvents,
    roll: SeenBoards,
}

/// Where the sightings of a run come from.
enum Watching<'a> {
    /// There are none: the workers' clocks are trusted.
    Trusting,
    /// From the last run, by way of the state folder.
    Shelved,
    /// From the last look of this process.
    SavedSightings(&'a mut SweptSource),
}

/// How often a source is swept in a continuous run when nobody says.
const USUAL: Span = Span::minutes(5);

impl<'a> Sweeper<'a> {
    pub fn new(
        common: &'a Common,
        setup: Setup,
        sources: &'a [String],
        every: Option<Span>,
        terms: &'a SweepTerms,
        calls: Calls,
    ) -> Result<Sweeper<'a>, String> {
        let printer = SweepPrinter::open(setup.json, terms.events.as_deref())?;
        Ok(Sweeper {
            common,
            setup,
            sources,
            every,
            terms,
            manner: Manner::Act,
            calls,
            printer,
            witness: None,
        })
    }

    /// The same with somebody who hears what every run came to.
    pub fn before(self, witness: &'a (dyn Fn(&Summary) + Sync)) -> Sweeper<'a> {
        Sweeper { witness: Some(witness), ..self }
    }

    /// The sources to keep sweeping.
    fn swept(&self) -> Vec<SweptSource> {
        let source = |word: &String| SweptSource {
            word: word.clone(),
            due: Instant::now(),
            every: self.limits(word).every.unwrap_or(USUAL),
            fingerprint: String::new(),
            sightings: Sightings::default(),
            database_clock: DatabaseClock::default(),
            clocks: None,
            witness: SourceEvents::new(&self.setup, word),
            roll: SeenBoards::default(),
        };
        self.sources.iter().map(source).collect()
    }

    fn once(&mut self, sighted: bool) -> Exit {
        if !sighted {
            self.printer.remark(
                "one look trusts the workers' clocks; --sighted takes only what stood still since the last run",
            );
        }
        let mut exit = Exit::Fine;
        for word in self.sources {
            if self.calls.is_stop() {
                break;
            }
            let watching = if sighted { Watching::Shelved } else { Watching::Trusting };
            exit = exit.and(self.sweep(word, watching).0);
        }
        exit
    }

    /// Sweeps whatever is due until somebody says stop.
    pub fn keep_on(&mut self) -> Exit {
        let mut swept = self.swept();
        loop {
            for source in &mut swept {
                if source.due <= Instant::now() && !self.calls.is_stop() {
                    source.due = Instant::now() + source.every.duration();
                    self.visit(source);
                }
            }
            let next = swept.iter().map(|source| source.due).min().unwrap_or_else(Instant::now);
            match self.calls.wait(next.saturating_duration_since(Instant::now())) {
                Call::None => {}
                Call::Stop => return Exit::Fine,
                Call::Reload => self.reload(&mut swept),
            }
        }
    }

    /// Tells what happened since the last visit, and sweeps.
    fn visit(&mut self, source: &mut SweptSource) {
        if self.printer.has_listeners() {
            let events = source.witness.look(&self.setup);
            self.printer.tell(events);
        }
        let word = source.word.clone();
        // A source that fails is reported, and the others go on; it is tried again when due.
        let (_, taken) = self.sweep(&word, Watching::SavedSightings(source));
        source.witness.took(&taken);
    }

    /// Reads the config again; one that is wrong leaves everything as it was.
    fn reload(&mut self, swept: &mut [SweptSource]) {
        match self.setup.reload(self.common) {
            Ok(setup) => self.setup = setup,
            Err(sentence) => {
                complain(&format!("the config stays as it was: {sentence}"));
                return;
            }
        }
        for source in swept {
            source.witness.reopen();
            // Under other thresholds other claims are late.
            source.database_clock.forget_last();
            source.every = self.limits(&source.word).every.unwrap_or(USUAL);
            source.due = source.due.min(Instant::now() + source.every.duration());
        }
        self.printer.remark("the config was read again");
    }

    /// From strong to weak: the command line, the source's config, the config, what is usual.
    fn limits(&self, word: &str) -> SweepLimits {
        let said = SweepLimits {
            every: self.every,
            max: self.terms.max,
            max_share: self.terms.max_share,
            ..SweepLimits::default()
        };
        said.or(self.setup.config.sweep(self.setup.settings_for(word).as_deref())).or(SweepLimits::USUAL)
    }

    fn orders(&self, word: &str, trail: PathBuf) -> Orders {
        let limits = self.limits(word);
        Orders {
            manner: self.manner,
            wanted: Wanted::of(&self.terms.set),
            board: self.terms.board.clone(),
            brakes: Brakes {
                max: limits.max.unwrap_or_default(),
                max_share: limits.max_share.map_or(0, |share| share.0),
                share_above: limits.share_above.unwrap_or_default(),
                per_day: limits.per_day.unwrap_or_default(),
            },
            vouched: self.setup.named_profiles(word),
            sighted_for: limits.sighted_for,
            trail,
        }
    }

    /// One run on one source, and what is said of it; the claims that were taken.
    fn sweep(&mut self, word: &str, watching: Watching<'_>) -> (Exit, Vec<String>) {
        let (summary, exit) = match self.try_sweep(word, watching) {
            Ok(summary) => {
                let exit = exit_of(&summary);
                (summary, exit)
            }
            Err(refusal) => {
                let (exit, sentence) = match refusal {
                    Refusal::Moved(why) => (Exit::Moved, why),
                    Refusal::Refused(why) => (Exit::Refused, why),
                    Refusal::Error(why) => (Exit::Error, why),
                };
                let source = self.setup.label(word);
                let dry_run = self.manner == Manner::Rehearse;
                (Summary { source, error: Some(sentence), dry_run, ..Summary::default() }, exit)
            }
        };
        let taken = self.printer.conclude(&summary);
        if let Some(witness) = self.witness {
            witness(&summary);
        }
        (exit, taken)
    }

    fn try_sweep(&mut self, word: &str, watching: Watching<'_>) -> Result<Summary, Refusal> {
        let purpose = match self.manner {
            Manner::Act => Purpose::Act,
            Manner::Rehearse => Purpose::Rehearse,
        };
        let mut actor = audited_actor(&self.setup, word, purpose)?.as_sweeper();
        let orders = self.orders(word, Trail::default_folder().unwrap_or_default());
        match watching {
            Watching::Trusting => self.pass(&mut actor, &orders, None, &mut SeenBoards::default()),
            Watching::Shelved => self.shelved(&mut actor, &orders, word),
            Watching::SavedSightings(source) => self.kept(&mut actor, &orders, source),
        }
        .map_err(refusal)
    }

    fn pass(
        &mut self,
        actor: &mut AuditedActor,
        orders: &Orders,
        memory: Option<Memory<'_>>,
        roll: &mut SeenBoards,
    ) -> Result<Summary, SweepError> {
        let Sweeper { calls, printer, .. } = self;
        let go_on = || !calls.is_stop();
        Pass::new(actor, orders).run(memory, roll, &mut |event| printer.say(event), &go_on)
    }

    /// By what the last run saw, kept for the next.
    fn shelved(
        &mut self,
        actor: &mut AuditedActor,
        orders: &Orders,
        word: &str,
    ) -> Result<Summary, SweepError> {
        let now = Clocks::read().ok_or(SweepError::NoClock)?;
        let shelf = SightingsFile::beside(&orders.trail, &actor.actor().fingerprint());
        let failed = |error: std::io::Error| SweepError::SightingsFile {
            path: shelf.path().to_owned(),
            why: error.to_string(),
        };
        let (mut sightings, mut clock, apart_us) = match shelf.load().map_err(failed)? {
            Some(mut kept) => {
                let every = self.limits(word).every.unwrap_or_else(|| kept.usual());
                let (passage, apart) = (now.since(&kept.clocks, every), kept.apart_with(&now));
                if passage == ClockContinuity::Restarted {
                    kept.database_clock.forget_last();
                }
                (self.believed(kept.sightings, passage), kept.database_clock, apart)
            }
            None => (Sightings::default(), DatabaseClock::default(), Vec::new()),
        };
        let memory = Memory { sightings: &mut sightings, clock: &mut clock, at: now.since_boot() };
        let summary = self.pass(actor, orders, Some(memory), &mut SeenBoards::default())?;
        if orders.manner == Manner::Act {
            let source = actor.source().to_owned();
            let kept = SavedSightings { source, clocks: now, sightings, database_clock: clock, apart_us };
            shelf.keep(&kept).map_err(failed)?;
        }
        Ok(summary)
    }

    /// By what this process saw before.
    fn kept(
        &mut self,
        actor: &mut AuditedActor,
        orders: &Orders,
        source: &mut SweptSource,
    ) -> Result<Summary, SweepError> {
        let now = Clocks::read().ok_or(SweepError::NoClock)?;
        let fingerprint = actor.actor().fingerprint();
        let mut sightings = std::mem::take(&mut source.sightings);
        let mut passage = ClockContinuity::Steady;
        if fingerprint != source.fingerprint {
            sightings.restart();
            source.database_clock = DatabaseClock::default();
            source.roll = SeenBoards::default();
            source.fingerprint = fingerprint;
        } else if let Some(before) = &source.clocks {
            passage = now.since(before, source.every);
            sightings = self.believed(sightings, passage);
            if matches!(passage, ClockContinuity::Gap(_) | ClockContinuity::Restarted) {
                // The workers may have slept as long as we did.
                source.database_clock.doubt();
            }
        }
        let at = now.since_boot();
        source.clocks = Some(now);
        let memory = Memory { sightings: &mut sightings, clock: &mut source.database_clock, at };
        let summary = self.pass(actor, orders, Some(memory), &mut source.roll);
        source.sightings = sightings;
        summary.map(|summary| Summary {
            paused: summary.paused || passage != ClockContinuity::Steady,
            ..summary
        })
    }

    /// Sightings, unless the clocks say that they cannot be.
    fn believed(&mut self, mut sightings: Sightings, passage: ClockContinuity) -> Sightings {
        if let Some(sentence) = passage.sentence() {
            self.printer.remark(&sentence);
            sightings.restart();
        }
        sightings
    }
}

fn refusal(error: SweepError) -> Refusal {
    match error {
        SweepError::Recovery(error) => error.into(),
        SweepError::SightingsFile { .. } | SweepError::NoClock => Refusal::Error(error.to_string()),
    }
}

/// Moved is no failure here: somebody else has done it, or it lives.
fn exit_of(summary: &Summary) -> Exit {
    if summary.error.is_some() {
        Exit::Error
    } else if summary.unknown > 0 {
        Exit::Unknown
    } else if summary.refused > 0 || !summary.held.is_empty() {
        Exit::Refused
    } else {
        Exit::Fine
    }
}
