//! Heartbeats in a recording: the usual intervals, and the times in which a session was silent.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::encoding::{Field, changes};
use super::{Recording, RecordingError};
use crate::domain::beat_intervals::late_after;
use crate::domain::time::{Moment, Span};

/// A session without a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionSilence {
    pub beat: Moment,
    /// The database's clock at the first and the last frame that saw it so.
    pub first: Moment,
    pub last: Moment,
    /// The frame that saw the next heartbeat; nothing, if there was none.
    pub beats_again_at: Option<Moment>,
}

/// So many gaps between heartbeats are enough to know the usual one.
const ENOUGH: usize = 5_000;
const FEWEST: usize = 3;

/// What the recording says about heartbeats, by the number of a board's row.
#[derive(Debug, Default)]
pub(super) struct RecordedBeats {
    silences: HashMap<(i64, String), Vec<SessionSilence>>,
    session_gaps: BTreeMap<i64, Vec<Span>>,
    claim_gaps: BTreeMap<(i64, Option<String>), Vec<Span>>,
    /// Boards whose sessions are given up by a threshold.
    boards: BTreeSet<i64>,
    floor: Span,
}

/// A session that is followed through the frames.
struct FollowedSession {
    board: i64,
    holder: String,
    source: i64,
    beat: Moment,
    /// When this heartbeat was first seen.
    since: Moment,
    /// The last frame that showed the session.
    last: Option<i64>,
}

impl RecordedBeats {
    pub(super) fn of(&self, board: i64, holder: Option<&str>) -> &[SessionSilence] {
        let Some(holder) = holder else { return &[] };
        self.silences.get(&(board, holder.to_owned())).map_or(&[], Vec::as_slice)
    }

    pub(super) fn has_sessions(&self, board: i64) -> bool {
        self.boards.contains(&board)
    }

    pub(super) fn session_interval(&self, board: i64) -> Option<Span> {
        self.session_gaps.get(&board).and_then(|gaps| median(gaps))
    }

    pub(super) fn claim_interval(&self, board: i64, kind: Option<&str>) -> Option<Span> {
        match kind {
            Some(kind) => self.claim_gaps.get(&(board, Some(kind.to_owned()))).and_then(|gaps| median(gaps)),
            None => {
                let of_board = self.claim_gaps.iter().filter(|((number, _), _)| *number == board);
                median(&of_board.flat_map(|(_, gaps)| gaps.iter().copied()).collect::<Vec<_>>())
            }
        }
    }

    /// After this long a session of a board counts as silent.
    pub(super) fn session_late_after(&self, board: i64) -> Span {
        self.session_interval(board).map_or(self.floor, late_after)
    }

    fn close(&mut self, session: &FollowedSession, last: Moment, beats_again_at: Option<Moment>) {
        if last.since(session.beat) >= self.floor {
            let silence = SessionSilence { beat: session.beat, first: session.since, last, beats_again_at };
            self.silences.entry((session.board, session.holder.clone())).or_default().push(silence);
        }
    }
}

fn median(gaps: &[Span]) -> Option<Span> {
    let mut gaps = gaps.to_vec();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied().filter(|_| gaps.len() >= FEWEST)
}

impl Recording {
    /// The database's clock at every poll that succeeded, by the number of its source.
    pub(super) fn clocks(&self) -> Result<BTreeMap<usize, Vec<Moment>>, RecordingError> {
        let rows = self.read(
            "SELECT f.source, max(s.now) FROM snapshot s JOIN frame f ON f.id = s.frame GROUP BY s.frame ORDER BY s.frame",
            [],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)),
        )?;
        let mut all: BTreeMap<usize, Vec<Moment>> = BTreeMap::new();
        for (source, now) in rows {
            all.entry(self.number(source)).or_default().push(self.moment(now)?);
        }
        Ok(all)
    }

    /// The boards whose claims were all read at every poll.
    pub(super) fn whole_boards(&self) -> Result<BTreeSet<i64>, RecordingError> {
        let sql = "SELECT board FROM board_poll GROUP BY board \
                   HAVING sum(coverage NOT IN ('whole', 'gone')) = 0";
        Ok(self.read(sql, [], |row| row.get(0))?.into_iter().collect())
    }

    /// The boards of which, at some polls, not all claims in a set were read.
    pub(super) fn partial_boards(&self) -> Result<BTreeSet<i64>, RecordingError> {
        let sql = "SELECT DISTINCT board FROM board_poll WHERE coverage = 'worst'";
        Ok(self.read(sql, [], |row| row.get(0))?.into_iter().collect())
    }

    pub(super) fn beats(&self) -> Result<RecordedBeats, RecordingError> {
        let mut beats = RecordedBeats { floor: self.silence_floor()?, ..RecordedBeats::default() };
        let clocks: HashMap<i64, (i64, Moment)> = self.clocks_by_frame()?;
        let mut sessions = self.followed_sessions(&mut beats, &clocks)?;
        let mut before: HashMap<i64, Moment> = HashMap::new();
        let failed = |error: rusqlite::Error| RecordingError::of(&self.path, &error);
        let mut select = self
            .connection
            .prepare("SELECT id, source, changes FROM frame WHERE failure IS NULL ORDER BY id")
            .map_err(failed)?;
        let mut rows = select.query([]).map_err(failed)?;
        let mut left = ENOUGH;
        while let Some(row) = rows.next().map_err(failed)? {
            let (frame, source): (i64, i64) = (row.get(0).map_err(failed)?, row.get(1).map_err(failed)?);
            let Some((_, now)) = clocks.get(&frame).copied() else { continue };
            let blob = row
                .get_ref(2)
                .map_err(failed)?
                .as_blob_or_null()
                .map_err(|_| self.damaged("the changes of a frame are no blob"))?;
            let moved = changes(blob.unwrap_or_default())
                .ok_or_else(|| self.damaged("the changes of a frame cannot be read"))?;
            for one in moved {
                match one.field {
                    Field::SessionBeat => {
                        let Some(session) = sessions.get_mut(&one.id) else { continue };
                        let last = before.get(&source).copied().unwrap_or(now);
                        beats.close(session, last, Some(now));
                        let gap = Span::micros(one.by);
                        session.beat = session.beat.plus(gap);
                        session.since = now;
                        let gaps = beats.session_gaps.entry(session.board).or_default();
                        if gap.is_positive() && gaps.len() < ENOUGH {
                            gaps.push(gap);
                        }
                    }
                    Field::ClaimBeat if left > 0 && one.by > 0 => {
                        left -= 1;
                        if let Some(kind) = self.kind_of(one.id)? {
                            beats.claim_gaps.entry(kind).or_default().push(Span::micros(one.by));
                        }
                    }
                    Field::ClaimBeat | Field::ClaimUntil | Field::SessionStale | Field::ClaimWorst => {}
                }
            }
            before.insert(source, now);
        }
        for session in sessions.values() {
            let last = session.last.and_then(|frame| clocks.get(&frame)).map(|(_, now)| *now);
            if let Some(last) = last.or_else(|| before.get(&session.source).copied()) {
                beats.close(session, last, None);
            }
        }
        beats.silences.values_mut().for_each(|all| all.sort_by_key(|silence| silence.first));
        Ok(beats)
    }

    fn clocks_by_frame(&self) -> Result<HashMap<i64, (i64, Moment)>, RecordingError> {
        let rows = self.read(
            "SELECT s.frame, f.source, max(s.now) FROM snapshot s JOIN frame f ON f.id = s.frame GROUP BY s.frame",
            [],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)),
        )?;
        rows.into_iter().map(|(frame, source, now)| Ok((frame, (source, self.moment(now)?)))).collect()
    }

    fn followed_sessions(
        &self,
        beats: &mut RecordedBeats,
        clocks: &HashMap<i64, (i64, Moment)>,
    ) -> Result<HashMap<i64, FollowedSession>, RecordingError> {
        let rows = self.read(
            "SELECT s.id, s.board, t.text, b.source, s.beat_at, s.first, s.last, s.stale_at IS NULL FROM session s \
             JOIN board b ON b.id = s.board JOIN string t ON t.id = s.holder WHERE s.beat_at IS NOT NULL",
            [],
            |row| {
                let numbers: (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(3)?);
                let times: (i64, i64, Option<i64>) = (row.get(4)?, row.get(5)?, row.get(6)?);
                Ok((numbers, row.get::<_, String>(2)?, times, row.get::<_, bool>(7)?))
            },
        )?;
        let mut sessions = HashMap::new();
        for ((id, board, source), holder, (beat, first, last), by_threshold) in rows {
            if by_threshold {
                beats.boards.insert(board);
            }
            let (beat, since) = (self.moment(beat)?, clocks.get(&first).map(|(_, now)| *now));
            if let Some(since) = since {
                sessions.insert(id, FollowedSession { board, holder, source, beat, since, last });
            }
        }
        Ok(sessions)
    }

    /// The board and the kind of a claim's row.
    fn kind_of(&self, claim: i64) -> Result<Option<(i64, Option<String>)>, RecordingError> {
        let found: Option<(i64, Option<i64>)> =
            self.one("SELECT board, kind FROM claim WHERE id = ?1", [claim], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        let text = |id: i64| self.string(id).map(|text| text.to_string());
        Ok(found.map(|(board, kind)| (board, kind.and_then(text))))
    }
}
