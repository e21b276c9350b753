//! Feeds the dashboard from a recording instead of databases: an instant in, everything that was on the screen out.
//!
//! It has no connection to a source, no acting thread and no trail, so a replay can write nowhere.

use std::sync::Arc;

use crate::app::message::{Effect, Msg, ShownClaim};
use crate::app::replay::{
    PlotPoint, Replay, ReplayGap, ReplayMark, ReplayMarkKind, ReplayMove, ReplayPace, ReplayedEvents,
    ReplayedSource,
};
use crate::app::source::{Access, Poll, PollFailure, SourceView};
use crate::domain::board_id::BoardId;
use crate::domain::claim::{Claim, Registry};
use crate::domain::claim_list::{ListPart, ListRequest, Matching, OnBoard, Others, Tested, Troubled, Worst};
use crate::domain::detail::{Examined, Holder, KindTally, Kinds};
use crate::domain::snapshot::{BoardSnapshot, Counts, Judged, Snapshot};
use crate::domain::source_label::{LabelColour, SourceLabel};
use crate::domain::time::{Moment, Reading, Span};
use crate::domain::value::Value;
use crate::domain::verdict::{Set, gives_up};
use crate::events::Event;
use crate::recording::{Frame, RecordedCounts, RecordedPoll, Recording, RecordingError};

/// So many earlier polls a sparkline shows.
const PAST: usize = 300;
/// So many events the log keeps.
const LOG: usize = 2_000;
/// So many frames ahead the log goes on; further away it is read again.
const NEAR: i64 = 1_000;
/// Why the audit pane is empty.
const NO_TRAIL: &str = "a recording does not contain the trail; `claimtop audit list` shows it";

/// A recording that is open, and where it stands.
#[derive(Debug)]
pub struct ReplayFeed {
    recording: Recording,
    /// Of all sources, in the order of time.
    frames: Vec<Frame>,
    counts: Vec<RecordedCounts>,
    /// What is shown of each source: the number of its frame, and what it read.
    shown: Vec<Option<(i64, Arc<RecordedPoll>)>>,
    /// Up to this frame events were told.
    told: i64,
}

impl ReplayFeed {
    pub fn new(recording: Recording) -> Result<ReplayFeed, RecordingError> {
        let mut frames = recording.frames()?;
        frames.sort_by_key(|frame| (frame.at, frame.id));
        let counts = recording.counts()?;
        let shown = recording.sources().iter().map(|_| None).collect();
        Ok(ReplayFeed { recording, frames, counts, shown, told: 0 })
    }

    /// The sources as the screen shows them.
    pub fn views(&self) -> Vec<SourceView> {
        let view = |source: &crate::recording::RecordedSource| {
            let engine = match source.engine.as_str() {
                "sqlite" => "sqlite",
                "postgres" => "postgres",
                _ => "recorded",
            };
            let why = "this is a replay: acts do not exist in it";
            let mut view = SourceView::new(source.shown.clone(), engine, Access::ReadOnly(why.into()));
            view.badge =
                source.badge.clone().map(|text| SourceLabel { text, colour: LabelColour::default() });
            view
        };
        self.recording.sources().iter().map(view).collect()
    }

    /// The recording for the scrubber; it stands at its beginning.
    pub fn replay(&self) -> Result<Option<Replay>, RecordingError> {
        let (Some(first), Some(last)) = (self.frames.first(), self.frames.last()) else { return Ok(None) };
        let name = self.recording.path().file_name().map(|name| name.to_string_lossy().into_owned());
        let gaps = self.recording.gaps()?.into_iter();
        Ok(Some(Replay {
            name: name.unwrap_or_default(),
            begins: first.at,
            ends: last.at,
            at: first.at,
            pace: ReplayPace::Paused,
            speed: 1,
            plot: self.plot(),
            marks: self.marks()?,
            gaps: gaps.map(|gap| ReplayGap { from: gap.from, to: gap.to, why: gap.why }).collect(),
        }))
    }

    /// The counts of all sources together, whenever one of them changed.
    fn plot(&self) -> Vec<PlotPoint> {
        let mut now = vec![Counts::default(); self.shown.len()];
        let point = |one: &RecordedCounts| {
            if let Some(counts) = now.get_mut(one.source) {
                *counts = one.counts;
            }
            let mut sum = Counts::default();
            now.iter().for_each(|counts| sum += *counts);
            PlotPoint { at: one.at, counts: sum }
        };
        self.counts.iter().map(point).collect()
    }

    /// One mark for every frame with events; a cause has its name.
    fn marks(&self) -> Result<Vec<ReplayMark>, RecordingError> {
        let mut marks: Vec<ReplayMark> = Vec::new();
        for (at, cause) in self.recording.event_marks()? {
            let kind = cause.map_or(ReplayMarkKind::Event, ReplayMarkKind::Cause);
            match marks.last_mut() {
                Some(last) if last.at == at && kind == ReplayMarkKind::Event => {}
                Some(last) if last.at == at && last.kind == ReplayMarkKind::Event => last.kind = kind,
                _ => marks.push(ReplayMark { at, kind }),
            }
        }
        Ok(marks)
    }

    /// Goes elsewhere, and returns what is shown there.
    pub fn go(&mut self, from: Moment, to: ReplayMove) -> Result<Msg, RecordingError> {
        let at = match to {
            ReplayMove::To(at) => at,
            ReplayMove::Frames(frames) => self.frames_away(from, frames),
        };
        let (Some(first), Some(last)) = (self.frames.first(), self.frames.last()) else {
            return Ok(Msg::Tick);
        };
        self.show(at.clamp(first.at, last.at))
    }

    /// The instant of the frame that is so many after, or before, the one that is shown.
    fn frames_away(&self, from: Moment, frames: isize) -> Moment {
        let here = self.frames.partition_point(|frame| frame.at <= from).saturating_sub(1);
        let is_between = self.frames.get(here).is_some_and(|frame| frame.at < from);
        // Between two frames, one back is the frame that is shown.
        let back = if is_between && frames < 0 { frames + 1 } else { frames };
        let there = here.saturating_add_signed(back).min(self.frames.len().saturating_sub(1));
        self.frames.get(there).map_or(from, |frame| frame.at)
    }

    fn show(&mut self, at: Moment) -> Result<Msg, RecordingError> {
        let frames: Vec<Option<Frame>> =
            (0..self.shown.len()).map(|source| self.frame_at(source, at)).collect();
        let newest = frames.iter().flatten().map(|frame| frame.id).max().unwrap_or(0);
        let is_ahead = self.told > 0 && (self.told..=self.told + NEAR).contains(&newest);
        let events = match is_ahead {
            true => self.recording.events(self.told + 1..=newest)?,
            false => self.recording.last_events(newest, LOG)?,
        };
        self.told = newest.max(1);
        let mut sources = Vec::new();
        for (source, frame) in frames.into_iter().enumerate() {
            let mine = events.iter().filter(|event| event.source == source);
            let mine: Vec<Event> = mine.map(|event| event.event.clone()).collect();
            let events = if is_ahead { ReplayedEvents::New(mine) } else { ReplayedEvents::All(mine) };
            sources.push(self.show_source(source, frame.as_ref(), events)?);
        }
        Ok(Msg::Replayed { at, sources })
    }

    fn show_source(
        &mut self,
        source: usize,
        frame: Option<&Frame>,
        events: ReplayedEvents,
    ) -> Result<ReplayedSource, RecordingError> {
        let Some(frame) = frame else {
            return Ok(ReplayedSource { poll: None, lost: None, past: Vec::new(), events });
        };
        let poll = match &self.shown[source] {
            Some((shown, poll)) if *shown == frame.id => Some(Arc::clone(poll)),
            _ => self.recording.poll(frame)?.map(Arc::new),
        };
        self.shown[source] = poll.clone().map(|poll| (frame.id, poll));
        let lost = frame.failure.as_ref().map(|why| {
            let trouble = match frame.is_unreachable {
                true => PollFailure::NoLink(why.clone()),
                false => PollFailure::Unreadable(why.clone()),
            };
            (self.lost_since(source, frame), trouble)
        });
        let past = poll.as_ref().map(|poll| self.past(source, poll.frame.id)).unwrap_or_default();
        let label = self.recording.sources()[source].label.clone();
        let poll = poll.map(|poll| Poll {
            snapshots: poll.snapshots.clone(),
            horizon: Some(poll.horizon.clone()),
            whole: Some(poll.whole.clone()),
            warnings: poll.warnings.clone(),
            facts: Some(Arc::new(poll.facts(&label))),
            causes: Some(poll.causes.clone()),
        });
        Ok(ReplayedSource { poll, lost, past, events })
    }

    fn frame_at(&self, source: usize, at: Moment) -> Option<Frame> {
        let until = self.frames.partition_point(|frame| frame.at <= at);
        self.frames[..until].iter().rev().find(|frame| frame.source == source).cloned()
    }

    /// When the polls of a source began to fail, up to a frame that failed.
    fn lost_since(&self, source: usize, frame: &Frame) -> Moment {
        let mine = self.frames.iter().rev().filter(|other| other.source == source && other.id <= frame.id);
        mine.take_while(|other| other.failure.is_some()).last().map_or(frame.at, |first| first.at)
    }

    /// The counts of the polls before a frame, oldest first.
    fn past(&self, source: usize, frame: i64) -> Vec<Counts> {
        let good = self.frames.iter().rev();
        let good = good.filter(|other| other.source == source && other.id < frame && other.failure.is_none());
        let mut past: Vec<Counts> = Vec::new();
        let mut until = self.counts.partition_point(|one| one.frame < frame);
        for other in good.take(PAST - 1) {
            while until > 0
                && (self.counts[until - 1].frame > other.id || self.counts[until - 1].source != source)
            {
                until -= 1;
            }
            past.push(until.checked_sub(1).map(|at| self.counts[at].counts).unwrap_or_default());
        }
        past.reverse();
        past
    }

    /// What an effect is answered with. Nothing here reaches a database or writes.
    pub fn answer(&self, effect: Effect) -> Option<Msg> {
        Some(match effect {
            Effect::LoadList { source, request } => {
                let part = self.list(source, &request);
                Msg::Listed { source, request, part: Ok(part) }
            }
            Effect::LoadHolders { source } => Msg::Holders { source, holders: Ok(self.holders(source)) },
            Effect::LoadKinds { source } => {
                Msg::Kinds { source, kinds: Ok(self.kinds(source)), activity: Vec::new() }
            }
            Effect::Examine { target } => {
                let found = self.examine(&target).map(Box::new);
                Msg::Examined { id: target.id, found: Ok(found) }
            }
            Effect::LoadTrail(_) => Msg::Trail(Err(NO_TRAIL.into())),
            Effect::LoadHistory(claim) => Msg::History { claim, lines: Vec::new() },
            Effect::LoadDead(query) => {
                Msg::Dead { query, found: Err(PollFailure::Unreadable("dead jobs are not recorded".into())) }
            }
            Effect::Act { .. }
            | Effect::PrepareBulk { .. }
            | Effect::RunBulk { .. }
            | Effect::CancelBulk { .. }
            | Effect::GatherFacts { .. }
            | Effect::PrepareUndo { .. }
            | Effect::Undo { .. }
            | Effect::Probe(_)
            | Effect::LoadBulk { .. }
            | Effect::SetPace { .. }
            | Effect::Record(_)
            | Effect::StopRecording
            | Effect::Remember(_) => return None,
            // The runtime does these itself.
            Effect::SetTheme(_)
            | Effect::Copy(_)
            | Effect::Save(_)
            | Effect::Replay(_)
            | Effect::Bell
            | Effect::Suspend
            | Effect::Quit => return None,
        })
    }

    fn poll(&self, source: usize) -> Option<&RecordedPoll> {
        self.shown.get(source)?.as_ref().map(|(_, poll)| &**poll)
    }

    fn list(&self, source: usize, request: &ListRequest) -> ListPart {
        let poll = self.poll(source);
        let (mut worst, mut others): (Vec<OnBoard>, Vec<OnBoard>) = (Vec::new(), Vec::new());
        let boards = poll.into_iter().flat_map(RecordedPoll::boards);
        for (snapshot, board, claims) in boards {
            let id = BoardId::new(&snapshot.profile, &board.board);
            if !request.filter.takes_board(&id) {
                continue;
            }
            for judged in claims.iter().filter(|one| request.filter.takes(&id, one, snapshot.now)) {
                let is_healthy = judged.verdict.headline() == Set::Healthy;
                let list = if is_healthy { &mut others } else { &mut worst };
                list.push(OnBoard { board: id.clone(), judged: judged.clone() });
            }
        }
        let rank = |one: &OnBoard| {
            let verdict = &one.judged.verdict;
            (
                verdict.headline(),
                verdict.deadline.map_or(i64::MAX, Moment::micros),
                one.judged.claim.key.address(),
            )
        };
        worst.sort_by_cached_key(rank);
        let troubled = worst.len() as u64;
        let matching = (!request.filter.is_open()).then_some(Matching {
            troubled,
            total: Some(troubled + others.len() as u64),
            tested: Tested::InDatabase,
        });
        // All at once: there are no more than were recorded.
        let others = request.others.as_ref().map(|stretch| Others {
            looked_at: others.len(),
            claims: if stretch.troubled == Troubled::Elsewhere { others } else { Vec::new() },
            before: None,
            after: None,
        });
        ListPart {
            now: poll.and_then(|poll| poll.snapshots.first()).map_or(Moment::EARLIEST, |one| one.now),
            worst: request.worst.map(|_| Worst { claims: worst, is_all: true }),
            others,
            matching,
            cost: Span::ZERO,
        }
    }

    /// The holders of the claims that were recorded.
    fn holders(&self, source: usize) -> Vec<Holder> {
        let mut all: Vec<Holder> = Vec::new();
        for (snapshot, board, claims) in self.poll(source).into_iter().flat_map(RecordedPoll::boards) {
            for judged in claims {
                let Some(name) = &judged.claim.holder else { continue };
                let id = Value::Text(name.clone());
                match all.iter_mut().find(|known| known.profile == snapshot.profile && known.id == id) {
                    Some(known) => known.add(&judged.claim),
                    None => all.push(holder(snapshot, board, &judged.claim, id)),
                }
            }
        }
        all
    }

    /// The claims by kind. How many jobs of a kind are queued or dead is not recorded.
    fn kinds(&self, source: usize) -> Vec<Kinds> {
        let mut all = Vec::new();
        for (snapshot, board, claims) in self.poll(source).into_iter().flat_map(RecordedPoll::boards) {
            let mut kinds: Vec<KindTally> = Vec::new();
            for judged in claims {
                let kind = &judged.claim.kind;
                let at = kinds.iter().position(|known| known.kind == *kind).unwrap_or_else(|| {
                    let ttl = board.nature.rules.for_kind(kind.as_deref()).ttl;
                    kinds.push(KindTally { kind: kind.clone(), ttl, ..KindTally::default() });
                    kinds.len() - 1
                });
                let tally = &mut kinds[at];
                tally.running += 1;
                tally.stale += u64::from(judged.verdict.is_in(Set::Stale));
                tally.orphaned += u64::from(judged.verdict.is_in(Set::Orphaned));
                tally.exhausted += u64::from(judged.verdict.exhausted);
                tally.overrun = match (tally.overrun, judged.verdict.overrun) {
                    (Some(one), Some(other)) => Some(one.max(other)),
                    (one, other) => one.or(other),
                };
            }
            let at_least = (claims.len() as u64) < board.counts.total;
            let (profile, board) = (snapshot.profile.clone(), board.board.clone());
            all.push(Kinds { profile, board, kinds, at_least });
        }
        all
    }

    /// What was recorded of a claim.
    fn examine(&self, target: &ShownClaim) -> Option<Examined> {
        let boards = self.poll(target.id.source)?.boards();
        let mut boards = boards
            .filter(|(snapshot, board, _)| snapshot.profile == target.profile && board.board == target.board);
        let (snapshot, _, claims) = boards.next()?;
        let judged: &Judged = claims.iter().find(|judged| judged.claim.key == target.claim.key)?;
        let session = match &judged.claim.registry {
            Registry::Listed(session) => vec![
                ("beat_at".to_owned(), time(&session.beat_at)),
                ("started_at".to_owned(), time(&session.started_at)),
            ],
            Registry::None | Registry::Unregistered | Registry::Missing => Vec::new(),
        };
        Some(Examined { judged: judged.clone(), columns: columns(&judged.claim), session, now: snapshot.now })
    }
}

/// The values of a claim by the names that profiles have for them.
fn columns(claim: &Claim) -> Vec<(String, Value)> {
    let text = |text: &Option<String>| text.clone().map_or(Value::Null, Value::Text);
    let number = |number: Option<i64>| number.map_or(Value::Null, Value::Int);
    let ids = claim.key.0.iter().map(|value| ("id".to_owned(), value.clone()));
    let others = [
        ("kind", text(&claim.kind)),
        ("holder", text(&claim.holder)),
        ("claimed_at", time(&claim.claimed_at)),
        ("beat_at", time(&claim.beat_at)),
        ("attempts", number(claim.attempts)),
        ("max_attempts", number(claim.max_attempts)),
        ("error", text(&claim.error)),
    ];
    ids.chain(others.into_iter().map(|(name, value)| (name.to_owned(), value))).collect()
}

fn time(reading: &Reading) -> Value {
    match reading {
        Reading::At(at) => Value::Text(at.rfc3339()),
        Reading::Bad(what) => Value::Text(what.clone()),
        Reading::Absent | Reading::Null => Value::Null,
    }
}

fn holder(snapshot: &Snapshot, board: &BoardSnapshot, claim: &Claim, id: Value) -> Holder {
    let session = match &claim.registry {
        Registry::Listed(session) => Some(session),
        Registry::None | Registry::Unregistered | Registry::Missing => None,
    };
    let orphan_after = board.nature.rules.for_kind(claim.kind.as_deref()).orphan_after;
    let gone = session.and_then(|session| gives_up(session, orphan_after));
    let registry = board.sessions.as_ref().map(|sessions| sessions.registry.clone());
    Holder {
        profile: snapshot.profile.clone(),
        listed_in: registry.unwrap_or_else(|| board.board.clone()),
        id,
        beat_at: match session {
            Some(session) => session.beat_at.clone(),
            None => claim.sign_of_life().map_or(Reading::Absent, Reading::At),
        },
        started_at: session.map_or(Reading::Absent, |session| session.started_at.clone()),
        is_stale: claim.registry == Registry::Missing
            || gone.is_some_and(|at| at < board.nature.rules.session_now(snapshot.now)),
        worker: claim.worker.clone(),
        claims: 1,
        now: snapshot.now,
    }
}
