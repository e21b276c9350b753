//! What the dashboard asks of a source, answered from the frame that is shown.

use super::ReplayFeed;
use crate::app::message::{Effect, Msg, ShownClaim};
use crate::app::source::PollFailure;
use crate::domain::backtest::TestedSeries;
use crate::domain::board_id::BoardId;
use crate::domain::claim::{Claim, Registry};
use crate::domain::claim_list::{ListPart, ListRequest, Matching, OnBoard, Others, Tested, Troubled, Worst};
use crate::domain::detail::{Examined, Holder, KindTally, Kinds};
use crate::domain::snapshot::{BoardSnapshot, Judged, Snapshot};
use crate::domain::time::{Moment, Reading, Span};
use crate::domain::value::Value;
use crate::domain::verdict::{Set, gives_up};
use crate::recording::{RecordedPoll, RecordingError};

/// Why the audit pane is empty.
const NO_TRAIL: &str = "a recording does not contain the trail; `claimtop audit list` shows it";

impl ReplayFeed {
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
            Effect::LoadBacktest => Msg::Backtested(self.backtest().map_err(|error| error.to_string())),
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

    /// What the thresholds in force and others would have done.
    fn backtest(&self) -> Result<Vec<TestedSeries>, RecordingError> {
        let all = self.recording.series(&Default::default())?;
        Ok(all.into_iter().filter_map(TestedSeries::around_current).collect())
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

    /// The holders of the claims that were recorded, as far as the live list has them: those in a registry, and,
    /// where there is none, those whose claims name their process.
    fn holders(&self, source: usize) -> Vec<Holder> {
        let mut all: Vec<Holder> = Vec::new();
        for (snapshot, board, claims) in self.poll(source).into_iter().flat_map(RecordedPoll::boards) {
            for judged in claims {
                let Some(name) = &judged.claim.holder else { continue };
                let is_listed = match &judged.claim.registry {
                    Registry::Listed(_) => true,
                    Registry::None => judged.claim.worker.pid != Value::Null,
                    Registry::Unregistered | Registry::Missing => false,
                };
                if !is_listed {
                    continue;
                }
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
        is_stale: gone.is_some_and(|at| at < board.nature.rules.session_now(snapshot.now)),
        worker: claim.worker.clone(),
        claims: 1,
        now: snapshot.now,
    }
}
