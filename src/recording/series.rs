//! The silences of a recording, sorted by the threshold that decides about them.
//!
//! A TTL and `silent_after` count from the claim's own sign of life. `orphan_after` counts from the later of that and
//! the heartbeat of its session: a claim is an orphan only while both are silent.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::beats::{RecordedBeats, SessionSilence};
use super::file::RecordedBoard;
use super::silence::{Ending, Silence as Recorded};
use super::{Recording, RecordingError};
use crate::domain::backtest::{Measure, Series, Silence, SilenceEnd, Subject};
use crate::domain::beat_intervals::late_after;
use crate::domain::board_id::BoardId;
use crate::domain::rules::{DeadlineRule, Rules, Thresholds};
use crate::domain::snapshot::Nature;
use crate::domain::time::{Moment, Span};

impl Recording {
    /// What thresholds can be tested on. Kinds that have thresholds of their own, and those in `kinds`, are apart.
    pub fn series(&self, kinds: &BTreeSet<String>) -> Result<Vec<Series>, RecordingError> {
        let frames = self.clocks()?;
        let Some(last) = self.last_frame()? else { return Ok(Vec::new()) };
        let beats = self.beats()?;
        let floor = self.silence_floor()?;
        let (whole, partial) = (self.whole_boards()?, self.partial_boards()?);
        let mut boards = Vec::new();
        for board in self.boards()? {
            let nature = self.nature(&board, last.id)?;
            let of_source = self.sources().get(board.source).map_or("", |source| source.label.as_str());
            let (is_whole, is_partial) = (whole.contains(&board.id), partial.contains(&board.id));
            boards.push(nature.map(|nature| {
                let frames = frames.get(&board.source).map_or(&[][..], Vec::as_slice);
                let ticked = frames.iter().map(|now| nature.rules.claim_now(*now)).collect();
                BoardSeries::new(
                    &board,
                    of_source,
                    nature,
                    ticked,
                    Floor { recorded: floor, is_whole, is_partial },
                    kinds,
                )
            }));
        }
        self.each_silence(|silence| {
            if let Some(Some(board)) = boards.get_mut(silence.board_number) {
                board.add(&silence, &beats);
            }
        })?;
        let all = boards.into_iter().flatten().flat_map(|board| board.finish(&beats));
        Ok(all.filter(|series| !series.silences.is_empty() || series.current.is_some()).collect())
    }
}

/// What of a board the recording has.
#[derive(Debug, Clone, Copy)]
struct Floor {
    /// Shorter silences are not kept.
    recorded: Span,
    /// All of its claims were read at every poll; else only those in a set.
    is_whole: bool,
    /// At some polls not even all of those in a set were.
    is_partial: bool,
}

/// The series of one board.
struct BoardSeries {
    number: i64,
    source: String,
    board: BoardId,
    nature: Arc<Nature>,
    frames: Arc<[Moment]>,
    floor: Floor,
    /// Kinds with a series of their own.
    kinds: BTreeSet<String>,
    by: BTreeMap<(Option<String>, Measure), Vec<Silence>>,
    claims: HashMap<(String, Option<String>, Option<Moment>), u32>,
    /// In the order of their numbers.
    addresses: Vec<String>,
    has_heartbeats: bool,
}

impl BoardSeries {
    fn new(
        board: &RecordedBoard,
        source: &str,
        nature: Arc<Nature>,
        frames: Arc<[Moment]>,
        floor: Floor,
        kinds: &BTreeSet<String>,
    ) -> BoardSeries {
        let kinds = nature.rules.kinds.keys().chain(kinds).cloned().collect();
        BoardSeries {
            number: board.id,
            source: source.to_owned(),
            board: board.board.clone(),
            nature,
            frames,
            floor,
            kinds,
            by: BTreeMap::new(),
            claims: HashMap::new(),
            addresses: Vec::new(),
            has_heartbeats: false,
        }
    }

    fn add(&mut self, recorded: &Recorded, beats: &RecordedBeats) {
        let number = u32::try_from(self.addresses.len()).unwrap_or(u32::MAX);
        let address = recorded.key.address();
        let claim = (address.clone(), recorded.holder.clone(), recorded.claimed_at);
        let claim = *self.claims.entry(claim).or_insert(number);
        if claim == number {
            self.addresses.push(address);
        }
        let kind = recorded.kind.clone().filter(|kind| self.kinds.contains(kind));
        self.has_heartbeats |= recorded.claimed_at.is_none_or(|at| at < recorded.sign);
        let rules = &self.nature.rules;
        let silence = Silence {
            claim,
            sign: recorded.sign,
            first: rules.claim_now(recorded.from),
            last: rules.claim_now(recorded.to),
            end: end_of(recorded, self.was_silent(recorded, beats)),
            ended_at: recorded.next.unwrap_or(recorded.to),
        };
        let of_sessions = beats.of(self.number, recorded.holder.as_deref());
        let orphaned = of_sessions.iter().filter_map(|session| both_silent(&silence, session, rules));
        self.by.entry((kind.clone(), Measure::OrphanAfter)).or_default().extend(orphaned);
        let measure = match rules.deadline {
            DeadlineRule::Ttl => Measure::Ttl,
            DeadlineRule::Lease | DeadlineRule::Timeout => Measure::SilentAfter,
            // Only the holder decides.
            DeadlineRule::Holder | DeadlineRule::Never | DeadlineRule::Endless => return,
        };
        self.by.entry((kind, measure)).or_default().push(silence);
    }

    /// Whether the holder of a claim was silent when the claim was gone; nothing, if no registry tells. A session that
    /// beats again later was alive. One that does not was alive until its last heartbeat was late: what it finished
    /// just before it died, it finished itself.
    fn was_silent(&self, recorded: &Recorded, beats: &RecordedBeats) -> Option<bool> {
        let sessions = beats.of(self.number, recorded.holder.as_deref());
        let is_then = |session: &SessionSilence| session.first <= recorded.to && recorded.to <= session.last;
        if sessions.iter().any(|session| is_then(session) && session.beats_again_at.is_some()) {
            return Some(false);
        }
        let late_after = beats.session_late_after(self.number);
        let at = recorded.next.unwrap_or(recorded.to);
        recorded.session_beat.map(|beat| at.since(beat) > late_after).or(recorded.session_silent)
    }

    fn finish(mut self, beats: &RecordedBeats) -> Vec<Series> {
        let by = std::mem::take(&mut self.by);
        let claims: Arc<[String]> = std::mem::take(&mut self.addresses).into();
        let applies = |measure: Measure| match measure {
            Measure::Ttl => true,
            Measure::SilentAfter => self.has_heartbeats,
            // Where the system itself says when it gives a session up, no threshold of ours decides.
            Measure::OrphanAfter => beats.has_sessions(self.number),
        };
        let by = by.into_iter().filter(|((_, measure), _)| applies(*measure));
        by.map(|(subject, silences)| self.series(subject, &claims, silences, beats)).collect()
    }

    fn series(
        &self,
        (kind, measure): (Option<String>, Measure),
        claims: &Arc<[String]>,
        mut silences: Vec<Silence>,
        beats: &RecordedBeats,
    ) -> Series {
        silences.sort_by_key(|silence| (silence.claim, silence.first));
        let limits = self.nature.rules.for_kind(kind.as_deref());
        let floor = self.floor.of(measure, &self.nature.rules, limits);
        let usual = match measure {
            Measure::OrphanAfter => beats.session_interval(self.number),
            Measure::Ttl | Measure::SilentAfter => beats.claim_interval(self.number, kind.as_deref()),
        };
        Series {
            current: current(measure, limits),
            frames: Arc::clone(&self.frames),
            claims: Arc::clone(claims),
            silences,
            floor,
            late_after: usual.map_or(floor, late_after),
            self_heals_after: self.nature.self_heals_after,
            is_partial: self.floor.is_partial,
            subject: Subject {
                source: self.source.clone(),
                profile: self.board.profile().to_owned(),
                board: self.board.board().to_owned(),
                kind,
                measure,
            },
        }
    }
}

impl Floor {
    /// Where only claims in a set were read, shorter silences than those that lead into one are unknown.
    fn of(self, measure: Measure, rules: &Rules, limits: &Thresholds) -> Span {
        let entered = match (measure, rules.deadline) {
            _ if self.is_whole => Span::ZERO,
            (Measure::Ttl, _) => limits.ttl.map_or(Span::ZERO, |ttl| ttl.minus(limits.warn_of(ttl))),
            (Measure::SilentAfter, _) => limits.silent_after,
            (Measure::OrphanAfter, DeadlineRule::Holder) => {
                limits.orphan_after.minus(limits.warn_of(limits.orphan_after))
            }
            (Measure::OrphanAfter, _) => limits.orphan_after,
        };
        self.recorded.max(entered)
    }
}

fn current(measure: Measure, limits: &Thresholds) -> Option<Span> {
    match measure {
        Measure::Ttl => limits.ttl,
        Measure::OrphanAfter => Some(limits.orphan_after),
        Measure::SilentAfter => Some(limits.silent_after),
    }
}

/// How a silence ended. A claim that is gone was finished by a living holder.
fn end_of(recorded: &Recorded, was_silent: Option<bool>) -> SilenceEnd {
    match recorded.ending {
        None => SilenceEnd::Open,
        Some(Ending::Renewed | Ending::Changed) => SilenceEnd::Renewed,
        Some(Ending::ChangedHands) => SilenceEnd::ChangedHands,
        // No longer read, for an unknown reason.
        Some(Ending::Left) => SilenceEnd::Vanished,
        Some(Ending::Gone) => match was_silent {
            Some(true) => SilenceEnd::Abandoned,
            Some(false) => SilenceEnd::Finished,
            None => SilenceEnd::Vanished,
        },
    }
}

/// The time in which neither a claim nor its session gave a sign of life.
fn both_silent(claim: &Silence, session: &SessionSilence, rules: &Rules) -> Option<Silence> {
    let (first, last) = (rules.session_now(session.first), rules.session_now(session.last));
    if first > claim.last || last < claim.first {
        return None;
    }
    let sign = claim.sign.max(session.beat);
    // A session that beats again is alive, whatever becomes of the claim.
    let (last, end, ended_at) = match session.beats_again_at {
        Some(at) if last < claim.last => (last, SilenceEnd::Renewed, at),
        _ => (claim.last, claim.end, claim.ended_at),
    };
    Some(Silence { sign, first: claim.first.max(first), last, end, ended_at, ..*claim })
}
