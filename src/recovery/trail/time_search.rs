//! Finds a time in the journal by binary search: its lines are in the order in which they were written.
//!
//! The times come from the clocks of the writers, which may be set: callers allow for that.

use serde::Deserialize;
use std::io;
use std::ops::ControlFlow;

use super::segment::{LinePlace, Segment, Segments};
use crate::domain::time::Moment;

/// A range of this size is read rather than searched further.
const SHORT: u64 = 64 * 1024;

/// The time of a line.
#[derive(Deserialize)]
struct TimedLine {
    record: Option<TimedRecord>,
    batch: Option<TimedBatch>,
}

#[derive(Deserialize)]
struct TimedBatch {
    of: TimedRecord,
}

#[derive(Deserialize)]
struct TimedRecord {
    at: String,
}

/// When a line was written; `None` if it has no time.
pub(super) fn time_of(line: &[u8]) -> Option<Moment> {
    let timed: TimedLine = serde_json::from_slice(line).ok()?;
    Moment::parse(&timed.record.or(timed.batch.map(|batch| batch.of))?.at)
}

/// A place before which every line is earlier than `at`, as close to that time as the search gets.
pub(super) fn place_before(segments: &Segments, at: Moment) -> io::Result<LinePlace> {
    let mut found = LinePlace::default();
    for segment in &segments.0 {
        match first_after(segment, 0, segment.end)? {
            Some((_, time)) if time < at => found = LinePlace { segment: segment.number, offset: 0 },
            Some(_) => break,
            None => {}
        }
    }
    let Some(segment) = segments.get(found.segment) else { return Ok(found) };
    let (mut low, mut high) = (0, segment.end);
    while high - low > SHORT {
        let middle = low + (high - low) / 2;
        match first_after(segment, middle, high)? {
            Some((offset, time)) if time < at => low = offset,
            _ => high = middle,
        }
    }
    Ok(LinePlace { offset: low, ..found })
}

/// The first line with a time that begins after `from`, or at the beginning of the file, and before `to`.
fn first_after(segment: &Segment, from: u64, to: u64) -> io::Result<Option<(u64, Moment)>> {
    let mut found = None;
    let _ = segment.each_line(from, &mut |place, line| {
        // In the middle of a file, the first piece is the rest of a line.
        if place.offset == from && from > 0 {
            return ControlFlow::Continue(());
        }
        if place.offset >= to {
            return ControlFlow::Break(());
        }
        found = time_of(line).map(|time| (place.offset, time));
        if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(found)
}
