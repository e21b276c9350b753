//! A recording on the screen: where it stands, how it runs, and what its scrubber shows.

use super::source::{Poll, PollFailure};
use crate::domain::backtest::TestedSeries;
use crate::domain::snapshot::Counts;
use crate::domain::time::{Moment, Span};
use crate::events::Event;

/// The recording that is shown.
#[derive(Debug, Clone)]
pub struct Replay {
    /// The name of the file.
    pub name: String,
    pub begins: Moment,
    pub ends: Moment,
    /// The instant that is shown, by the clock of the host that recorded.
    pub at: Moment,
    pub pace: ReplayPace,
    /// So many times as fast as it was.
    pub speed: u32,
    /// The counts of all sources together, whenever they changed.
    pub plot: Vec<PlotPoint>,
    /// Events and causes, in the order of time.
    pub marks: Vec<ReplayMark>,
    /// The times that nothing is known of.
    pub gaps: Vec<ReplayGap>,
    /// What thresholds would have done, or why that is not known; nothing before anybody asked.
    pub backtest: Option<Result<Vec<TestedSeries>, String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayPace {
    Playing,
    Paused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlotPoint {
    pub at: Moment,
    pub counts: Counts,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayMark {
    pub at: Moment,
    pub kind: ReplayMarkKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayMarkKind {
    /// A cause began; its name.
    Cause(String),
    Event,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayGap {
    pub from: Moment,
    pub to: Moment,
    /// Why polls failed; nothing if nobody recorded.
    pub why: Option<String>,
}

/// Where to go in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayMove {
    To(Moment),
    /// So many frames ahead, or back.
    Frames(isize),
}

/// Everything that the screen shows of one source at an instant.
#[derive(Debug)]
pub struct ReplayedSource {
    /// Nothing, if it had not been read yet.
    pub poll: Option<Poll>,
    /// Since when it could not be read, and why.
    pub lost: Option<(Moment, PollFailure)>,
    /// The counts of earlier polls, oldest first.
    pub past: Vec<Counts>,
    pub events: ReplayedEvents,
}

#[derive(Debug)]
pub enum ReplayedEvents {
    /// All that were told so far, oldest first: they take the place of the log.
    All(Vec<Event>),
    /// Those since the frame that was shown before.
    New(Vec<Event>),
}

/// The speeds that the keys go through.
const SPEEDS: [u32; 9] = [1, 2, 4, 8, 16, 30, 60, 300, 900];

impl Replay {
    pub fn is_playing(&self) -> bool {
        self.pace == ReplayPace::Playing
    }

    pub fn toggle(&mut self) {
        self.pace = match self.pace {
            ReplayPace::Playing => ReplayPace::Paused,
            ReplayPace::Paused => ReplayPace::Playing,
        };
    }

    pub fn faster(&mut self) {
        self.speed = SPEEDS.into_iter().find(|speed| *speed > self.speed).unwrap_or(self.speed);
    }

    pub fn slower(&mut self) {
        self.speed = SPEEDS.into_iter().rev().find(|speed| *speed < self.speed).unwrap_or(self.speed);
    }

    /// The instant of the next event or cause.
    pub fn next_mark(&self) -> Option<Moment> {
        self.marks.iter().map(|mark| mark.at).find(|at| *at > self.at)
    }

    pub fn previous_mark(&self) -> Option<Moment> {
        self.marks.iter().rev().map(|mark| mark.at).find(|at| *at < self.at)
    }

    /// How long ago the last cause began, and its name.
    pub fn since_cause(&self) -> Option<(Span, &str)> {
        let causes = self.marks.iter().rev().filter(|mark| mark.at <= self.at);
        causes.into_iter().find_map(|mark| match &mark.kind {
            ReplayMarkKind::Cause(name) => Some((self.at.since(mark.at), name.as_str())),
            ReplayMarkKind::Event => None,
        })
    }

    /// The gap that is shown, if there is one here.
    pub fn gap(&self) -> Option<&ReplayGap> {
        self.gaps.iter().find(|gap| gap.from < self.at && self.at < gap.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Moment {
        Moment::from_micros(second * 1_000_000).unwrap()
    }

    fn replay() -> Replay {
        let cause = ReplayMarkKind::Cause("web-3".into());
        Replay {
            name: "x.rec".into(),
            begins: at(0),
            ends: at(100),
            at: at(50),
            pace: ReplayPace::Paused,
            speed: 1,
            plot: Vec::new(),
            marks: vec![
                ReplayMark { at: at(10), kind: cause },
                ReplayMark { at: at(50), kind: ReplayMarkKind::Event },
                ReplayMark { at: at(70), kind: ReplayMarkKind::Event },
            ],
            gaps: vec![ReplayGap { from: at(40), to: at(60), why: None }],
            backtest: None,
        }
    }

    #[test]
    fn marks_are_found_on_both_sides() {
        let replay = replay();
        assert_eq!((replay.previous_mark(), replay.next_mark()), (Some(at(10)), Some(at(70))));
        assert_eq!(replay.since_cause(), Some((Span::seconds(40), "web-3")));
        assert!(replay.gap().is_some());
        let start = Replay { at: at(5), ..replay };
        assert_eq!((start.previous_mark(), start.since_cause(), start.gap()), (None, None, None));
    }

    #[test]
    fn speeds_have_ends() {
        let mut replay = replay();
        (0..20).for_each(|_| replay.faster());
        assert_eq!(replay.speed, 900);
        (0..20).for_each(|_| replay.slower());
        assert_eq!(replay.speed, 1);
    }
}
