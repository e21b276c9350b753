//! One frame as a poll, as the dashboard got it. Verdicts are computed again by the same judge.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rusqlite::{Row, params};

use super::RecordingError;
use super::board_text::{Notes, read_details, read_reasons};
use super::cause_text::read_causes;
use super::encoding::{Field, Moving, Numbers, changes, read_keyframe};
use super::file::{Frame, RecordedBoard, Recording};
use super::row_text::{ClaimParts, claim_of, session_of};
use crate::domain::cause::{Cause, ClaimsOf, Facts, Gathering};
use crate::domain::claim::{Claim, Session};
use crate::domain::detail::{Horizon, Whole};
use crate::domain::snapshot::{BoardSnapshot, Counts, Judged, Nature, Snapshot};
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::judge;
use crate::domain::visible::safe;
use crate::events::Coverage;

/// What a poll read.
#[derive(Debug, Clone)]
pub struct RecordedPoll {
    pub frame: Frame,
    pub snapshots: Vec<Snapshot>,
    /// The boards that were read whole.
    pub whole: Vec<Whole>,
    pub horizon: Horizon,
    pub warnings: Vec<String>,
    pub causes: Vec<Cause>,
}

impl RecordedPoll {
    /// Every board, with all its claims that were recorded: of a board that was read whole all, else those in trouble.
    pub fn boards(&self) -> impl Iterator<Item = (&Snapshot, &BoardSnapshot, &[Judged])> {
        self.snapshots.iter().flat_map(move |snapshot| {
            snapshot.boards.iter().map(move |board| {
                let whole = self.whole.iter();
                let mut whole =
                    whole.filter(|one| one.profile == snapshot.profile && one.board == board.board);
                (snapshot, board, whole.next().map_or(&board.worst[..], |whole| &whole.claims))
            })
        })
    }

    /// The facts that the recorded claims tell, for groups and causes.
    pub fn facts(&self, source: &str) -> Facts {
        let mut gathering = Gathering::of(source);
        for (snapshot, board, claims) in self.boards() {
            let of = ClaimsOf::new(&snapshot.profile, &board.board, &board.nature, snapshot.now);
            claims.iter().for_each(|judged| gathering.add_claim(&of, judged, 1));
        }
        gathering.facts()
    }
}

/// A claim of a frame.
struct ClaimRow {
    board: i64,
    parts: ClaimParts,
    session: Option<i64>,
    worst: bool,
    moving: Moving,
}

/// All claims of a frame and its sessions.
#[derive(Default)]
struct FrameRows {
    claims: BTreeMap<i64, ClaimRow>,
    sessions: HashMap<i64, Session>,
}

impl Recording {
    /// What a good frame showed, or the last good frame of its source before one that failed; nothing, if there is none.
    pub fn poll(&self, frame: &Frame) -> Result<Option<RecordedPoll>, RecordingError> {
        let source = self.source_id(frame);
        let good: Option<i64> = self.one(
            "SELECT id FROM frame WHERE source = ?1 AND id <= ?2 AND failure IS NULL ORDER BY id DESC LIMIT 1",
            params![source, frame.id],
            |row| row.get(0),
        )?;
        let Some(good) = good else { return Ok(None) };
        let Some(frame) = self.frame(good)? else { return Ok(None) };
        let mut rows = self.rows_at(source, good)?;
        let boards = self.boards()?;
        let (mut snapshots, warnings) = self.snapshots_at(good)?;
        let mut whole = Vec::new();
        for snapshot in &mut snapshots {
            let mine = boards
                .iter()
                .filter(|board| board.source == frame.source && board.board.profile() == snapshot.profile);
            for board in mine {
                let Some((mut shown, coverage)) = self.board_at(board, good)? else { continue };
                let claims = rows.take(board, &mut |why| self.damaged(why))?;
                let judged = |claim: Claim| judged(claim, &shown.nature, snapshot.now);
                let mut all: Vec<(bool, Judged)> =
                    claims.into_iter().map(|(worst, claim)| (worst, judged(claim))).collect();
                all.sort_by_cached_key(|(_, judged)| rank(judged));
                shown.worst =
                    all.iter().filter(|(worst, _)| *worst).map(|(_, judged)| judged.clone()).collect();
                if coverage == Some(Coverage::Whole) {
                    whole.push(Whole {
                        profile: snapshot.profile.clone(),
                        board: shown.board.clone(),
                        claims: all.into_iter().map(|(_, judged)| judged).collect(),
                    });
                }
                snapshot.boards.push(shown);
            }
        }
        let (horizon, causes) = (self.horizon_at(source, good)?, self.causes_at(source, good)?);
        Ok(Some(RecordedPoll { frame, snapshots, whole, horizon, warnings, causes }))
    }

    fn source_id(&self, frame: &Frame) -> i64 {
        self.sources().get(frame.source).map_or(0, |source| source.id)
    }

    fn snapshots_at(&self, frame: i64) -> Result<(Vec<Snapshot>, Vec<String>), RecordingError> {
        let rows = self.read(
            "SELECT profile, now, clock_offset, cost, notes FROM snapshot WHERE frame = ?1 ORDER BY profile",
            [frame],
            |row| {
                let numbers: [i64; 4] = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
                Ok((numbers, row.get::<_, Option<i64>>(4)?))
            },
        )?;
        let (mut snapshots, mut warnings) = (Vec::new(), Vec::new());
        for ([profile, now, offset, cost], notes) in rows {
            let text = |id: i64| self.string(id).ok_or_else(|| self.damaged("a text is missing"));
            let notes: Notes = match notes {
                Some(id) => serde_json::from_str(&text(id)?)
                    .map_err(|_| self.damaged("the notes of a poll cannot be read"))?,
                None => Notes::default(),
            };
            warnings = notes.warnings.iter().map(|warning| safe(warning)).collect();
            snapshots.push(Snapshot {
                profile: text(profile)?.to_string(),
                generic: notes.generic,
                now: self.moment(now)?,
                clock_offset: Span::micros(offset),
                poll_cost: Span::micros(cost),
                boards: Vec::new(),
                notices: notes.notices.iter().map(|notice| safe(notice)).collect(),
                replica: notes.replica.map(Span::micros),
                veiled: notes.veiled.as_deref().map(safe),
            });
        }
        Ok((snapshots, warnings))
    }

    /// A board without its claims, and which of them were read; nothing if its table was gone.
    fn board_at(
        &self,
        board: &RecordedBoard,
        frame: i64,
    ) -> Result<Option<(BoardSnapshot, Option<Coverage>)>, RecordingError> {
        let found = self.one(
            "SELECT coverage, total, healthy, expiring, stale, orphaned, unknown, runaway, reasons, details \
             FROM board_poll WHERE board = ?1 AND frame <= ?2 ORDER BY frame DESC LIMIT 1",
            params![board.id, frame],
            |row| {
                let count = |at: usize| row.get::<_, i64>(at).map(i64::cast_unsigned);
                let counts = Counts {
                    total: count(1)?,
                    healthy: count(2)?,
                    expiring: count(3)?,
                    stale: count(4)?,
                    orphaned: count(5)?,
                    unknown: count(6)?,
                    runaway: count(7)?,
                };
                let texts: (String, Option<String>) = (row.get(8)?, row.get(9)?);
                Ok((row.get::<_, String>(0)?, counts, texts))
            },
        )?;
        let Some((coverage, counts, (reasons, details))) = found else { return Ok(None) };
        let coverage = match coverage.as_str() {
            "gone" => return Ok(None),
            "whole" => Some(Coverage::Whole),
            "troubled" => Some(Coverage::Troubled),
            _ => Some(Coverage::Worst),
        };
        let Some(nature) = self.nature(board, frame)? else {
            return Err(self.damaged("a board has no rules"));
        };
        let unreadable = || self.damaged("the counts of a board cannot be read");
        let mut shown = BoardSnapshot {
            board: board.board.board().into(),
            nature,
            counts,
            reasons: read_reasons(&reasons).ok_or_else(unreadable)?,
            sessions: None,
            backlog: BTreeMap::new(),
            oldest_queued: None,
            worst: Default::default(),
            gaps: Default::default(),
        };
        read_details(details.as_deref().unwrap_or("{}"), &mut shown).ok_or_else(unreadable)?;
        Ok(Some((shown, coverage)))
    }

    /// The claims and sessions of a frame: those of the keyframe before it, those that came since, moved by the
    /// changes in between.
    fn rows_at(&self, source: i64, frame: i64) -> Result<FrameRows, RecordingError> {
        let keyframe = self.one(
            "SELECT frame, claims, sessions, last_claim, last_session FROM keyframe \
             WHERE source = ?1 AND frame <= ?2 ORDER BY frame DESC LIMIT 1",
            params![source, frame],
            |row| {
                let blobs: (Vec<u8>, Vec<u8>) = (row.get(1)?, row.get(2)?);
                Ok((row.get::<_, i64>(0)?, blobs, row.get::<_, i64>(3)?, row.get::<_, i64>(4)?))
            },
        )?;
        let Some((from, (claims, sessions), last_claim, last_session)) = keyframe else {
            return Ok(FrameRows::default());
        };
        let unreadable = || self.damaged("a keyframe cannot be read");
        let mut claims = read_keyframe(&claims).ok_or_else(unreadable)?;
        let mut sessions = read_keyframe(&sessions).ok_or_else(unreadable)?;
        self.add_new("claim", "beat_at, until_at, worst", source, last_claim, frame, &mut claims)?;
        self.add_new("session", "beat_at, stale_at, 0", source, last_session, frame, &mut sessions)?;
        self.apply_changes(source, from, frame, &mut claims, &mut sessions)?;
        self.load(frame, claims, sessions)
    }

    /// Adds the rows that came after a keyframe, with their values as of their first frame. Numbers rise with frames.
    fn add_new(
        &self,
        table: &str,
        columns: &str,
        source: i64,
        after: i64,
        until: i64,
        all: &mut BTreeMap<i64, Moving>,
    ) -> Result<(), RecordingError> {
        let sql = format!(
            "SELECT id, {columns} FROM {table} WHERE id > ?1 AND id <= coalesce((SELECT last_{table} FROM keyframe \
             WHERE frame >= ?2 AND source = ?3 ORDER BY frame LIMIT 1), 9223372036854775807) AND first <= ?2 \
             AND board IN (SELECT id FROM board WHERE source = ?3)"
        );
        let new = self.read(&sql, params![after, until, source], |row| {
            Ok((row.get(0)?, Moving { beat: row.get(1)?, end: row.get(2)?, worst: row.get(3)? }))
        })?;
        all.extend(new);
        Ok(())
    }

    fn apply_changes(
        &self,
        source: i64,
        from: i64,
        until: i64,
        claims: &mut BTreeMap<i64, Moving>,
        sessions: &mut BTreeMap<i64, Moving>,
    ) -> Result<(), RecordingError> {
        let blobs = self.read(
            "SELECT changes FROM frame WHERE id > ?2 AND id <= ?3 AND source = ?1 AND changes IS NOT NULL ORDER BY id",
            params![source, from, until],
            |row| row.get::<_, Vec<u8>>(0),
        )?;
        for blob in blobs {
            let all = changes(&blob).ok_or_else(|| self.damaged("the changes of a frame cannot be read"))?;
            for moved in all {
                let of_session = matches!(moved.field, Field::SessionBeat | Field::SessionStale);
                let rows = if of_session { &mut *sessions } else { &mut *claims };
                let Some(moving) = rows.get_mut(&moved.id) else { continue };
                let value = match moved.field {
                    Field::ClaimBeat | Field::SessionBeat => &mut moving.beat,
                    Field::ClaimUntil | Field::SessionStale => &mut moving.end,
                    Field::ClaimWorst => {
                        moving.worst = moved.by > 0;
                        continue;
                    }
                };
                *value = value.and_then(|value| value.checked_add(moved.by));
            }
        }
        Ok(())
    }

    /// The rows themselves, of those that were still there at the frame.
    fn load(
        &self,
        frame: i64,
        claims: BTreeMap<i64, Moving>,
        sessions: BTreeMap<i64, Moving>,
    ) -> Result<FrameRows, RecordingError> {
        let mut rows = FrameRows::default();
        for (id, moving) in sessions {
            let body = self.one(
                "SELECT body FROM session WHERE id = ?1 AND (last IS NULL OR last >= ?2)",
                params![id, frame],
                |row| row.get::<_, i64>(0),
            )?;
            let Some(body) = body.and_then(|body| self.string(body)) else { continue };
            let session =
                session_of(&body, moving).ok_or_else(|| self.damaged("a session cannot be read"))?;
            rows.sessions.insert(id, session);
        }
        for (id, moving) in claims {
            let found = self.one(
                "SELECT board, key, holder, kind, claimed_at, session, body FROM claim \
                 WHERE id = ?1 AND (last IS NULL OR last >= ?2)",
                params![id, frame],
                |row| self.claim_row(row, moving),
            )?;
            if let Some(row) = found {
                rows.claims.insert(id, row);
            }
        }
        Ok(rows)
    }

    fn claim_row(&self, row: &Row<'_>, moving: Moving) -> rusqlite::Result<ClaimRow> {
        let text = |at: usize| -> rusqlite::Result<Option<String>> {
            let id: Option<i64> = row.get(at)?;
            Ok(id.and_then(|id| self.string(id)).map(|text| text.to_string()))
        };
        Ok(ClaimRow {
            board: row.get(0)?,
            parts: ClaimParts {
                key: row.get(1)?,
                holder: text(2)?,
                kind: text(3)?,
                claimed_at: row.get(4)?,
                body: text(6)?.unwrap_or_default(),
            },
            session: row.get(5)?,
            worst: moving.worst,
            moving,
        })
    }

    fn horizon_at(&self, source: i64, frame: i64) -> Result<Horizon, RecordingError> {
        let blob: Option<Vec<u8>> = self.one(
            "SELECT horizon FROM frame WHERE source = ?1 AND id <= ?2 AND horizon IS NOT NULL ORDER BY id DESC LIMIT 1",
            params![source, frame],
            |row| row.get(0),
        )?;
        let Some(blob) = blob else { return Ok(Horizon::default()) };
        read_horizon(&blob).ok_or_else(|| self.damaged("the deadlines of a frame cannot be read"))
    }

    /// The causes at a frame, worst first.
    fn causes_at(&self, source: i64, frame: i64) -> Result<Vec<Cause>, RecordingError> {
        let text: Option<String> = self.one(
            "SELECT body FROM cause WHERE source = ?1 AND frame <= ?2 ORDER BY frame DESC LIMIT 1",
            params![source, frame],
            |row| row.get(0),
        )?;
        let Some(text) = text else { return Ok(Vec::new()) };
        read_causes(&text).ok_or_else(|| self.damaged("the causes of a frame cannot be read"))
    }
}

impl FrameRows {
    /// The claims of a board, and whether each is among the worst.
    fn take(
        &mut self,
        board: &RecordedBoard,
        damaged: &mut dyn FnMut(&str) -> RecordingError,
    ) -> Result<Vec<(bool, Claim)>, RecordingError> {
        let mut claims = Vec::new();
        let mine: Vec<i64> =
            self.claims.iter().filter(|(_, row)| row.board == board.id).map(|(id, _)| *id).collect();
        for id in mine {
            let Some(row) = self.claims.remove(&id) else { continue };
            let session = row.session.and_then(|id| self.sessions.get(&id)).cloned();
            let claim = claim_of(row.parts, row.moving, session);
            claims.push((row.worst, claim.ok_or_else(|| damaged("a claim cannot be read"))?));
        }
        Ok(claims)
    }
}

fn judged(claim: Claim, nature: &Arc<Nature>, now: Moment) -> Judged {
    let verdict = judge(&claim, &nature.rules, now);
    Judged { claim, verdict, seen: None, mark: None }
}

/// Worst first, then whose deadline passed longest ago, then by key.
fn rank(judged: &Judged) -> (crate::domain::verdict::Set, i64, String) {
    let deadline = judged.verdict.deadline.map_or(i64::MAX, Moment::micros);
    (judged.verdict.headline(), deadline, judged.claim.key.address())
}

fn read_horizon(blob: &[u8]) -> Option<Horizon> {
    let mut numbers = Numbers(blob);
    let (minutes, moments, at_least) = (numbers.unsigned()?, numbers.unsigned()?, numbers.unsigned()?);
    // Every count takes a byte at least.
    let fits = |count: u64| usize::try_from(count).ok().filter(|count| *count <= blob.len());
    let (minutes, moments) = (fits(minutes)?, fits(moments)?);
    let mut take = |count: usize| (0..count).map(|_| numbers.unsigned()).collect::<Option<Vec<_>>>();
    Some(Horizon { minutes: take(minutes)?, moments: take(moments)?, at_least: at_least != 0 })
}
