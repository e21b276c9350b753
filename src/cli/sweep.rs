//! `claimtop sweep`: automatic cleanup, once or for good.

mod arguments;
mod voice;

use std::path::PathBuf;
use std::time::Instant;

use super::Common;
use super::output::complain;
use super::recovery::{Purpose, Refusal, desk};
use super::setup::Setup;
use super::witness::Witness;
use crate::config::SweepLimits;
use crate::domain::roll::Roll;
use crate::domain::time::Span;
use crate::exit::Exit;
use crate::recovery::Desk;
use crate::recovery::trail::Trail;
use crate::sweep::{
    Brakes, Call, Calls, Clocks, DatabaseClock, Kept, Manner, Memory, Orders, Pass, Passage, Shelf,
    Sightings, Summary, SweepError, Wanted,
};
pub use arguments::{SweepArgs, SweepTerms};
use voice::Voice;

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
    voice: Voice,
    /// Somebody who hears what every run came to.
    witness: Option<&'a (dyn Fn(&Summary) + Sync)>,
}

/// A source that is swept again and again, and what was seen of it.
struct Post {
    word: String,
    due: Instant,
    every: Span,
    fingerprint: String,
    sightings: Sightings,
    database_clock: DatabaseClock,
    clocks: Option<Clocks>,
    witness: Witness,
    roll: Roll,
}

/// Where the sightings of a run come from.
enum Watching<'a> {
    /// There are none: the workers' clocks are trusted.
    Trusting,
    /// From the last run, by way of the state folder.
    Shelved,
    /// From the last look of this process.
    Kept(&'a mut Post),
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
        let voice = Voice::open(setup.json, terms.events.as_deref())?;
        Ok(Sweeper { common, setup, sources, every, terms, manner: Manner::Act, calls, voice, witness: None })
    }

    /// The same with somebody who hears what every run came to.
    pub fn before(self, witness: &'a (dyn Fn(&Summary) + Sync)) -> Sweeper<'a> {
        Sweeper { witness: Some(witness), ..self }
    }

    /// The sources to keep sweeping.
    fn posts(&self) -> Vec<Post> {
        let post = |word: &String| Post {
            word: word.clone(),
            due: Instant::now(),
            every: self.limits(word).every.unwrap_or(USUAL),
            fingerprint: String::new(),
            sightings: Sightings::default(),
            database_clock: DatabaseClock::default(),
            clocks: None,
            witness: Witness::new(&self.setup, word),
            roll: Roll::default(),
        };
        self.sources.iter().map(post).collect()
    }

    fn once(&mut self, sighted: bool) -> Exit {
        if !sighted {
            self.voice.remark(
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
        let mut posts = self.posts();
        loop {
            for post in &mut posts {
                if post.due <= Instant::now() && !self.calls.is_stop() {
                    post.due = Instant::now() + post.every.duration();
                    self.visit(post);
                }
            }
            let next = posts.iter().map(|post| post.due).min().unwrap_or_else(Instant::now);
            match self.calls.wait(next.saturating_duration_since(Instant::now())) {
                Call::None => {}
                Call::Stop => return Exit::Fine,
                Call::Reload => self.reload(&mut posts),
            }
        }
    }

    /// Tells what happened since the last visit, and sweeps.
    fn visit(&mut self, post: &mut Post) {
        if self.voice.has_listeners() {
            let events = post.witness.look(&self.setup);
            self.voice.tell(events);
        }
        let word = post.word.clone();
        // A source that fails is reported, and the others go on; it is tried again when due.
        let (_, taken) = self.sweep(&word, Watching::Kept(post));
        post.witness.took(&taken);
    }

    /// Reads the config again; one that is wrong leaves everything as it was.
    fn reload(&mut self, posts: &mut [Post]) {
        match self.setup.reload(self.common) {
            Ok(setup) => self.setup = setup,
            Err(sentence) => {
                complain(&format!("the config stays as it was: {sentence}"));
                return;
            }
        }
        for post in posts {
            post.witness.reopen();
            // Under other thresholds other claims are late.
            post.database_clock.forget_last();
            post.every = self.limits(&post.word).every.unwrap_or(USUAL);
            post.due = post.due.min(Instant::now() + post.every.duration());
        }
        self.voice.remark("the config was read again");
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
        let taken = self.voice.conclude(&summary);
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
        let mut desk = desk(&self.setup, word, purpose)?.as_sweeper();
        let orders = self.orders(word, Trail::default_folder().unwrap_or_default());
        match watching {
            Watching::Trusting => self.pass(&mut desk, &orders, None, &mut Roll::default()),
            Watching::Shelved => self.shelved(&mut desk, &orders, word),
            Watching::Kept(post) => self.kept(&mut desk, &orders, post),
        }
        .map_err(refusal)
    }

    fn pass(
        &mut self,
        desk: &mut Desk,
        orders: &Orders,
        memory: Option<Memory<'_>>,
        roll: &mut Roll,
    ) -> Result<Summary, SweepError> {
        let Sweeper { calls, voice, .. } = self;
        let go_on = || !calls.is_stop();
        Pass::new(desk, orders).run(memory, roll, &mut |event| voice.say(event), &go_on)
    }

    /// By what the last run saw, kept for the next.
    fn shelved(&mut self, desk: &mut Desk, orders: &Orders, word: &str) -> Result<Summary, SweepError> {
        let now = Clocks::read().ok_or(SweepError::NoClock)?;
        let shelf = Shelf::beside(&orders.trail, &desk.actor().fingerprint());
        let failed = |error: std::io::Error| SweepError::Shelf {
            path: shelf.path().to_owned(),
            why: error.to_string(),
        };
        let (mut sightings, mut clock, apart_us) = match shelf.load().map_err(failed)? {
            Some(mut kept) => {
                let every = self.limits(word).every.unwrap_or_else(|| kept.usual());
                let (passage, apart) = (now.since(&kept.clocks, every), kept.apart_with(&now));
                if passage == Passage::Restarted {
                    kept.database_clock.forget_last();
                }
                (self.believed(kept.sightings, passage), kept.database_clock, apart)
            }
            None => (Sightings::default(), DatabaseClock::default(), Vec::new()),
        };
        let memory = Memory { sightings: &mut sightings, clock: &mut clock, at: now.since_boot() };
        let summary = self.pass(desk, orders, Some(memory), &mut Roll::default())?;
        if orders.manner == Manner::Act {
            let source = desk.source().to_owned();
            let kept = Kept { source, clocks: now, sightings, database_clock: clock, apart_us };
            shelf.keep(&kept).map_err(failed)?;
        }
        Ok(summary)
    }

    /// By what this process saw before.
    fn kept(&mut self, desk: &mut Desk, orders: &Orders, post: &mut Post) -> Result<Summary, SweepError> {
        let now = Clocks::read().ok_or(SweepError::NoClock)?;
        let fingerprint = desk.actor().fingerprint();
        let mut sightings = std::mem::take(&mut post.sightings);
        let mut passage = Passage::Steady;
        if fingerprint != post.fingerprint {
            sightings.restart();
            post.database_clock = DatabaseClock::default();
            post.roll = Roll::default();
            post.fingerprint = fingerprint;
        } else if let Some(before) = &post.clocks {
            passage = now.since(before, post.every);
            sightings = self.believed(sightings, passage);
            if matches!(passage, Passage::Gap(_) | Passage::Restarted) {
                // The workers may have slept as long as we did.
                post.database_clock.doubt();
            }
        }
        let at = now.since_boot();
        post.clocks = Some(now);
        let memory = Memory { sightings: &mut sightings, clock: &mut post.database_clock, at };
        let summary = self.pass(desk, orders, Some(memory), &mut post.roll);
        post.sightings = sightings;
        summary.map(|summary| Summary { paused: summary.paused || passage != Passage::Steady, ..summary })
    }

    /// Sightings, unless the clocks say that they cannot be.
    fn believed(&mut self, mut sightings: Sightings, passage: Passage) -> Sightings {
        if let Some(sentence) = passage.sentence() {
            self.voice.remark(&sentence);
            sightings.restart();
        }
        sightings
    }
}

fn refusal(error: SweepError) -> Refusal {
    match error {
        SweepError::Recovery(error) => error.into(),
        SweepError::Shelf { .. } | SweepError::NoClock => Refusal::Error(error.to_string()),
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
