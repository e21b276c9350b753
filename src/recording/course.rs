//! A recording over time: the counts, the gaps and the events.

use std::collections::HashMap;

use rusqlite::params;

use super::RecordingError;
use super::event_text::EventParts;
use super::file::{Frame, Recording};
use crate::domain::snapshot::Counts;
use crate::domain::time::{Moment, Span};
use crate::domain::visible::safe;
use crate::events::Event;

/// The numbers of frames are below this one: those of their events have room.
const MOST_FRAMES: i64 = 1 << 46;

/// A time in which a source could not be read, or in which nobody recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    pub source: usize,
    /// The last good frame before it and the first one after it, by our clock.
    pub from: Moment,
    pub to: Moment,
    /// Why the polls failed; nothing if nobody recorded.
    pub why: Option<String>,
}

/// The counts of a source at a frame, all boards together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedCounts {
    pub source: usize,
    pub frame: i64,
    pub at: Moment,
    pub counts: Counts,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RecordedEvent {
    pub frame: i64,
    pub source: usize,
    pub at: Moment,
    pub event: Event,
}

impl Recording {
    /// The counts of every source over time: one entry whenever they changed.
    pub fn counts(&self) -> Result<Vec<RecordedCounts>, RecordingError> {
        let boards = self.boards()?;
        let mut now: HashMap<i64, Counts> = HashMap::new();
        let mut all: Vec<RecordedCounts> = Vec::new();
        let rows = self.read(
            "SELECT b.board, b.frame, f.at, b.total, b.healthy, b.expiring, b.stale, b.orphaned, b.unknown, b.runaway \
             FROM board_poll b JOIN frame f ON f.id = b.frame ORDER BY b.frame",
            [],
            |row| {
                let count = |at: usize| row.get::<_, i64>(at).map(i64::cast_unsigned);
                let counts = Counts {
                    total: count(3)?,
                    healthy: count(4)?,
                    expiring: count(5)?,
                    stale: count(6)?,
                    orphaned: count(7)?,
                    unknown: count(8)?,
                    runaway: count(9)?,
                };
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, counts))
            },
        )?;
        for (board, frame, at, counts) in rows {
            now.insert(board, counts);
            let Some(source) = boards.iter().find(|known| known.id == board).map(|known| known.source) else {
                continue;
            };
            let mut sum = Counts::default();
            for known in boards.iter().filter(|known| known.source == source) {
                sum += now.get(&known.id).copied().unwrap_or_default();
            }
            let entry = RecordedCounts { source, frame, at: self.moment(at)?, counts: sum };
            match all.last_mut() {
                Some(last) if last.frame == frame => *last = entry,
                _ => all.push(entry),
            }
        }
        Ok(all)
    }

    /// The times that nothing is known of: polls failed, or nobody recorded.
    pub fn gaps(&self) -> Result<Vec<Gap>, RecordingError> {
        let frames = self.frames()?;
        let mut gaps = Vec::new();
        for source in 0..self.sources().len() {
            let mine: Vec<&Frame> = frames.iter().filter(|frame| frame.source == source).collect();
            let usual = usual_step(&mine);
            let mut before: Option<&Frame> = None;
            let mut why: Option<&str> = None;
            for frame in mine {
                if let Some(failure) = &frame.failure {
                    why = Some(failure);
                    continue;
                }
                if let Some(last) = before
                    && (why.is_some() || frame.at.since(last.at) > usual.times(5).max(Span::seconds(5)))
                {
                    gaps.push(Gap { source, from: last.at, to: frame.at, why: why.map(str::to_owned) });
                }
                (before, why) = (Some(frame), None);
            }
            if let (Some(last), Some(why), Some(end)) = (before, why, frames.last()) {
                gaps.push(Gap { source, from: last.at, to: end.at, why: Some(why.into()) });
            }
        }
        gaps.sort_by_key(|gap| gap.from);
        Ok(gaps)
    }

    /// The events of some frames, in order. Events that this version does not know are left out.
    pub fn events(
        &self,
        frames: std::ops::RangeInclusive<i64>,
    ) -> Result<Vec<RecordedEvent>, RecordingError> {
        let boards = self.boards()?;
        let rows = self.read(
            "SELECT e.frame, e.source, f.at, e.board, e.told, e.name, e.task, e.holder, e.body, e.shown FROM event e \
             JOIN frame f ON f.id = e.frame WHERE e.id >= ?1 << 16 AND e.id < (?2 + 1) << 16 ORDER BY e.id",
            params![frames.start(), (*frames.end()).min(MOST_FRAMES)],
            |row| {
                let (board, name): (Option<i64>, i64) = (row.get(3)?, row.get(5)?);
                let board = boards.iter().find(|known| Some(known.id) == board);
                let text = |id: i64| self.string(id).map(|text| text.to_string());
                let parts = EventParts {
                    board: board.map(|known| known.board.clone()),
                    told: row.get(4)?,
                    name: text(name).unwrap_or_default(),
                    task: row.get(6)?,
                    holder: row.get::<_, Option<i64>>(7)?.and_then(text),
                    body: row.get(8)?,
                    shown: row.get(9)?,
                };
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, parts))
            },
        )?;
        let mut events = Vec::new();
        for (frame, source, at, parts) in rows {
            let (source, at) = (self.number(source), self.moment(at)?);
            let label = self.sources().get(source).map_or("", |source| source.label.as_str());
            if let Some(event) = parts.event(label, at) {
                events.push(RecordedEvent { frame, source, at, event });
            }
        }
        Ok(events)
    }

    /// The last events up to a frame, oldest first.
    pub fn last_events(&self, frame: i64, most: usize) -> Result<Vec<RecordedEvent>, RecordingError> {
        let first: Option<i64> = self.one(
            "SELECT frame FROM event WHERE id < (?1 + 1) << 16 ORDER BY id DESC LIMIT 1 OFFSET ?2",
            params![frame, i64::try_from(most).unwrap_or(i64::MAX)],
            |row| row.get(0),
        )?;
        self.events(first.unwrap_or(0)..=frame)
    }

    /// When something happened, and the name of the cause if one began; in the order of time.
    pub fn event_marks(&self) -> Result<Vec<(Moment, Option<String>)>, RecordingError> {
        let rows = self.read(
            "SELECT f.at, CASE t.text WHEN 'cause:began' THEN json_extract(e.body, '$.name') END FROM event e \
             JOIN frame f ON f.id = e.frame JOIN string t ON t.id = e.name ORDER BY f.at, e.id",
            [],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?)),
        )?;
        rows.into_iter().map(|(at, cause)| Ok((self.moment(at)?, cause.map(|name| safe(&name))))).collect()
    }
}

/// The usual time between two frames: their median.
fn usual_step(frames: &[&Frame]) -> Span {
    let mut steps: Vec<Span> = frames.windows(2).map(|two| two[1].at.since(two[0].at)).collect();
    steps.sort_unstable();
    steps.get(steps.len() / 2).copied().unwrap_or(Span::ZERO)
}
