//! One poll as a frame: its snapshots, boards, claims, causes and events, in one transaction.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::super::Pseudonyms;
use super::super::board_text::{Notes, backlog_text, details_text, nature_text, reasons_text};
use super::super::cause_text::causes_text;
use super::super::encoding::{Moved, changes_blob, horizon_blob};
use super::super::event_text::EventParts;
use super::super::row_text::text;
use super::super::silence::Ending;
use super::super::tracked::{FrameOf, TrackedBoard};
use super::rows::RowWriter;
use super::tracked_source::TrackedSource;
use super::{KEYFRAME, PollSeen, RecordingWriter};
use crate::domain::board_id::BoardId;
use crate::domain::claim::Claim;
use crate::domain::detail::{Horizon, Whole};
use crate::domain::snapshot::{BoardSnapshot, Snapshot};
use crate::domain::time::Moment;
use crate::domain::value::percent;
use crate::events::{Batching, Coverage, Event, EventKind, batched};

impl RecordingWriter {
    pub(super) fn try_poll(
        &mut self,
        source: usize,
        at: Moment,
        poll: &PollSeen<'_>,
    ) -> rusqlite::Result<()> {
        let RecordingWriter { connection, sources, next_frame, options, strings, .. } = self;
        let Some(tracked) = sources.get_mut(source) else { return Ok(()) };
        let frame = *next_frame;
        let transaction = connection.transaction()?;
        let mut rows = RowWriter { connection: &transaction, strings, floor: options.silence_floor };
        let pseudonyms = options.pseudonyms.as_ref();
        let events = masked(pseudonyms, poll.events);
        update_fingerprint(&transaction, tracked, poll.fingerprint)?;
        let mut writing = FrameWriting { frame, pseudonyms, told: told_endings(&events), moved: Vec::new() };
        for snapshot in poll.snapshots {
            insert_snapshot(&mut rows, frame, snapshot, poll.warnings)?;
            for board in &snapshot.boards {
                writing.write_board(tracked, &mut rows, snapshot, board, poll.whole)?;
            }
        }
        tracked.close_missing_boards(frame, poll.snapshots, &mut rows)?;
        insert_causes(&transaction, tracked, &writing, poll)?;
        insert_frame(&transaction, tracked, &mut writing, at, poll.horizon)?;
        insert_events(&mut rows, frame, tracked, at, &events)?;
        let is_key = tracked.since_keyframe.is_none_or(|since| since + 1 >= KEYFRAME);
        if is_key {
            tracked.insert_keyframe(&transaction, frame)?;
        }
        transaction.commit()?;
        tracked.since_keyframe = Some(if is_key { 0 } else { tracked.since_keyframe.unwrap_or(0) + 1 });
        tracked.last_good = frame;
        *next_frame += 1;
        Ok(())
    }
}

/// A frame that is being written.
struct FrameWriting<'a> {
    frame: i64,
    pseudonyms: Option<&'a Pseudonyms>,
    /// What the events tell about claims that are no longer shown.
    told: HashMap<&'a str, Ending>,
    moved: Vec<Moved>,
}

impl FrameWriting<'_> {
    fn write_board(
        &mut self,
        tracked: &mut TrackedSource,
        rows: &mut RowWriter<'_>,
        snapshot: &Snapshot,
        board: &BoardSnapshot,
        whole: &[Whole],
    ) -> rusqlite::Result<()> {
        let id = BoardId::new(&snapshot.profile, &board.board);
        let at = FrameOf { frame: self.frame, before: tracked.last_good, now: snapshot.now };
        let known = tracked.board(rows, &id)?;
        let whole = whole.iter().find(|one| one.profile == snapshot.profile && one.board == board.board);
        let coverage = Coverage::of(board, whole);
        insert_board(rows, known, self.frame, board, coverage)?;
        // A claim may be among both; the first time counts.
        let worst = board.worst.iter().map(|judged| (&judged.claim, true));
        let others = whole.into_iter().flat_map(|whole| &whole.claims).map(|judged| (&judged.claim, false));
        for (claim, is_worst) in worst.chain(others) {
            let masked = self.pseudonyms.map(|pseudonyms| pseudonyms.claim(claim));
            let shown = masked.as_ref().unwrap_or(claim);
            known.observe(shown, is_worst, at, rows, &mut self.moved)?;
        }
        let place = format!("{}/{}/", percent(&snapshot.profile), percent(&board.board));
        known.close_unseen(at, rows, &mut |claim: &Claim| {
            let address = format!("{place}{}", claim.key.address());
            match self.told.get(address.as_str()) {
                Some(ending) => *ending,
                None if coverage == Coverage::Whole => Ending::Gone,
                None => Ending::Left,
            }
        })
    }
}

fn update_fingerprint(
    connection: &Connection,
    tracked: &mut TrackedSource,
    fingerprint: &str,
) -> rusqlite::Result<()> {
    if tracked.fingerprint.as_deref() != Some(fingerprint) {
        connection
            .execute("UPDATE source SET fingerprint = ?2 WHERE id = ?1", params![tracked.id, fingerprint])?;
        tracked.fingerprint = Some(fingerprint.into());
    }
    Ok(())
}

fn insert_causes(
    connection: &Connection,
    tracked: &mut TrackedSource,
    writing: &FrameWriting<'_>,
    poll: &PollSeen<'_>,
) -> rusqlite::Result<()> {
    let causes = match writing.pseudonyms {
        Some(pseudonyms) => causes_text(&pseudonyms.causes(poll.causes)),
        None => causes_text(poll.causes),
    };
    if causes != tracked.causes {
        let values = params![tracked.id, writing.frame, causes];
        connection.execute("INSERT INTO cause VALUES (?1, ?2, ?3)", values)?;
        tracked.causes = causes;
    }
    Ok(())
}

fn insert_frame(
    connection: &Connection,
    tracked: &mut TrackedSource,
    writing: &mut FrameWriting<'_>,
    at: Moment,
    horizon: Option<&Horizon>,
) -> rusqlite::Result<()> {
    let changes = changes_blob(&mut writing.moved);
    let horizon = horizon.map(horizon_blob).filter(|blob| *blob != tracked.horizon);
    let changes = (!changes.is_empty()).then_some(changes);
    connection
        .prepare_cached("INSERT INTO frame (id, source, at, horizon, changes) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![writing.frame, tracked.id, at.micros(), horizon, changes])?;
    if let Some(horizon) = horizon {
        tracked.horizon = horizon;
    }
    Ok(())
}

/// What the events of a poll tell about claims that it no longer shows.
fn told_endings(events: &[Event]) -> HashMap<&str, Ending> {
    let ending = |event: &Event| match event.kind() {
        EventKind::Renewed | EventKind::Retried => Some(Ending::Renewed),
        EventKind::Finished | EventKind::Recovered => Some(Ending::Gone),
        EventKind::ChangedHands => Some(Ending::ChangedHands),
        EventKind::Left => Some(Ending::Left),
        _ => None,
    };
    let about = |event: &'_ Event| !event.address().is_empty();
    events
        .iter()
        .filter(|event| about(event))
        .filter_map(|event| ending(event).map(|ending| (event.address(), ending)))
        .collect()
}

fn insert_snapshot(
    rows: &mut RowWriter<'_>,
    frame: i64,
    snapshot: &Snapshot,
    warnings: &[String],
) -> rusqlite::Result<()> {
    let notes = Notes::of(snapshot, warnings);
    let notes = match notes == Notes::default() {
        true => None,
        false => Some(rows.string(&text(&notes))?),
    };
    let profile = rows.string(&snapshot.profile)?;
    rows.connection.prepare_cached("INSERT INTO snapshot VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(
        params![
            frame,
            profile,
            snapshot.now.micros(),
            snapshot.clock_offset.as_micros(),
            snapshot.poll_cost.as_micros(),
            notes
        ],
    )?;
    Ok(())
}

fn insert_board(
    rows: &mut RowWriter<'_>,
    known: &mut TrackedBoard,
    frame: i64,
    board: &BoardSnapshot,
    coverage: Coverage,
) -> rusqlite::Result<()> {
    let is_known = known
        .nature
        .as_ref()
        .is_some_and(|nature| Arc::ptr_eq(nature, &board.nature) || **nature == *board.nature);
    if !is_known {
        rows.connection.execute(
            "INSERT INTO nature VALUES (?1, ?2, ?3)",
            params![known.id, frame, nature_text(&board.nature)],
        )?;
    }
    known.nature = Some(Arc::clone(&board.nature));
    let (all, details, backlog) = (board.counts, details_text(board), backlog_text(&board.backlog));
    let (reasons, oldest) = (reasons_text(&board.reasons), board.oldest_queued.map(Moment::micros));
    let written = format!("{} {all:?} {reasons} {backlog:?} {oldest:?} {details}", coverage.as_str());
    if known.poll.as_ref() == Some(&written) {
        return Ok(());
    }
    let reasons = rows.string(&reasons)?;
    let mut insert = rows.connection.prepare_cached(
        "INSERT INTO board_poll VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?;
    insert.execute(params![
        known.id,
        frame,
        coverage.as_str(),
        number(all.total),
        number(all.healthy),
        number(all.expiring),
        number(all.stale),
        number(all.orphaned),
        number(all.unknown),
        number(all.runaway),
        reasons,
        backlog,
        oldest,
        (details != "{}").then_some(details)
    ])?;
    known.poll = Some(written);
    Ok(())
}

/// The events as they are written.
pub(super) fn masked<'a>(pseudonyms: Option<&Pseudonyms>, events: &'a [Event]) -> Cow<'a, [Event]> {
    match pseudonyms {
        Some(pseudonyms) => events.iter().map(|event| pseudonyms.event(event)).collect(),
        None => Cow::Borrowed(events),
    }
}

/// So many events a frame has room for; `batched` leaves far fewer.
const EVENTS: i64 = 1 << 16;

pub(super) fn insert_events(
    rows: &mut RowWriter<'_>,
    frame: i64,
    source: &TrackedSource,
    at: Moment,
    events: &[Event],
) -> rusqlite::Result<()> {
    // Of a thousand claims that a dead host leaves, the claims themselves are recorded; one event is enough.
    for (id, event) in
        (frame * EVENTS..(frame + 1) * EVENTS).zip(batched(events.to_vec(), &Batching::default()))
    {
        let EventParts { board, told, name, task, holder, body, shown } =
            EventParts::of(&event, &source.label, at);
        let board = board.and_then(|board| source.boards.get(&board)).map(|board| board.id);
        let (name, holder) = (rows.string(&name)?, rows.optional(holder.as_deref())?);
        rows.connection
            .prepare_cached(
                "INSERT INTO event (id, source, board, told, name, task, holder, body, shown) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute(params![id, source.id, board, told, name, task, holder, body, shown])?;
    }
    Ok(())
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
