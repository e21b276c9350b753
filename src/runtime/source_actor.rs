//! Acts on one source, one request after the other.

mod bulk;
mod open_actor;
mod undo;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

use super::{ProberMaker, WriteOpeners};
use crate::app::bulk::Many;
use crate::app::message::{Done, Msg, ShownClaim};
use crate::domain::change::ClaimChange;
use crate::domain::recovery::{Action, Authorization, Moved, Outcome, Refusal};
use crate::domain::visible::visible;
use crate::poller::{NextPoll, Polled, Poller, PollerPool};
use crate::recovery::{ActReport, AuditedActor};
use crate::store::Seen;
use bulk::PreparedBulk;
use open_actor::OpenActor;

/// Connections that were unused for this long are closed.
const KEPT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) enum ActRequest {
    Act {
        target: Box<ShownClaim>,
        action: Action,
        authorization: Authorization,
    },
    /// Reads many claims and keeps them until they are acted on.
    Prepare {
        question: u64,
        action: Action,
        what: Many,
    },
    Run {
        question: u64,
        authorization: Authorization,
    },
    /// Rehearses an undo.
    PrepareUndo {
        action_id: String,
    },
    Undo {
        action_id: String,
    },
}

/// A handle on the actor. No thread waits for its first request.
#[derive(Debug)]
pub(super) struct ActorHandle {
    jobs: Poller<ActRequest>,
    /// When set, the running bulk ends after its current transaction.
    cancelled: Arc<AtomicBool>,
}

impl ActorHandle {
    pub(super) fn start(
        pool: &PollerPool,
        source: usize,
        label: &str,
        writing: WriteOpeners,
        probers: &ProberMaker,
        answers: mpsc::Sender<Msg>,
    ) -> ActorHandle {
        let open = |open| OpenActor::new(label, open, probers());
        let (claims, dead) = (open(writing.claims), open(writing.dead));
        let cancelled = Arc::<AtomicBool>::default();
        let actor = SourceActor {
            source,
            claims,
            dead,
            answers,
            prepared: None,
            question: 0,
            cancelled: Arc::clone(&cancelled),
        };
        ActorHandle { jobs: pool.start_when_asked(actor), cancelled }
    }

    /// Sends a request; `false` if nobody takes it.
    pub(super) fn give(&self, job: ActRequest) -> bool {
        self.jobs.ask(job)
    }

    /// Ends the running bulk after its current transaction.
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

struct SourceActor {
    source: usize,
    claims: OpenActor,
    /// The same source, for its dead jobs.
    dead: OpenActor,
    answers: mpsc::Sender<Msg>,
    prepared: Option<PreparedBulk>,
    /// The question that `prepared` answers.
    question: u64,
    cancelled: Arc<AtomicBool>,
}

impl Polled for SourceActor {
    type Request = ActRequest;

    /// Closes connections that were unused for a while.
    fn poll(&mut self) -> NextPoll {
        self.claims.close();
        self.dead.close();
        NextPoll::WhenAsked
    }

    fn answer(&mut self, job: ActRequest) -> NextPoll {
        let msg = match job {
            ActRequest::Act { target, action, authorization } => {
                Msg::Acted(self.act(&target, action, &authorization))
            }
            ActRequest::Prepare { question, action, what } => {
                self.question = question;
                Msg::BulkReady { question, ready: self.prepare(action, &what) }
            }
            ActRequest::Run { question, authorization } => {
                Msg::BulkDone(self.run_prepared(question, &authorization))
            }
            ActRequest::PrepareUndo { action_id } => {
                let ready = self.prepare_undo(&action_id);
                Msg::UndoReady { action_id, ready }
            }
            ActRequest::Undo { action_id } => self.undo(&action_id),
        };
        match self.answers.blocking_send(msg) {
            Ok(()) => NextPoll::At(Instant::now() + KEPT),
            Err(_) => NextPoll::Never,
        }
    }

    /// Everything that was asked for is done.
    fn replaces(_: &ActRequest, _: &ActRequest) -> bool {
        false
    }
}

impl SourceActor {
    fn act(&mut self, target: &ShownClaim, action: Action, authorization: &Authorization) -> Done {
        let source = self.source;
        let done = |outcome: Outcome| Done {
            source,
            address: target.id.address.clone(),
            action_id: String::new(),
            action: action.to_string(),
            outcome,
            shown: target.claim.key.visible(),
            holder: target.claim.holder.clone(),
        };
        match self.try_act(target, action, authorization) {
            Ok(Ok(report)) => Done {
                action_id: report.action_id.clone(),
                shown: shown(&report, target.claim.key.visible()),
                ..done(report.outcome)
            },
            Ok(Err(moved)) => done(Outcome::Moved(moved)),
            Err(why) => done(Outcome::Refused(Refusal::NotTried(why))),
        }
    }

    fn try_act(
        &mut self,
        target: &ShownClaim,
        action: Action,
        authorization: &Authorization,
    ) -> Result<Result<ActReport, Moved>, String> {
        let source = if action == Action::Requeue { &mut self.dead } else { &mut self.claims };
        let mut actor = source.take()?;
        let acted = match still_there(&mut actor, target)? {
            Ok(seen) => Ok(actor.perform(&seen, action, authorization).map_err(|error| error.to_string())?),
            Err(moved) => Err(moved),
        };
        source.keep(actor);
        Ok(acted)
    }
}

/// A claim, and side effects of the act on it that an undo cannot revert.
fn shown(report: &ActReport, claim: String) -> String {
    let claim = match report.effects.sentence() {
        Some(said) => format!("{claim} ({said})"),
        None => claim,
    };
    match report.untold()[..] {
        [] => claim,
        ref tables => format!("{claim} (what triggers did in {} stays)", visible(&tables.join(", "))),
    }
}

/// The claim exactly as it was shown, or how it has changed.
fn still_there(actor: &mut AuditedActor, target: &ShownClaim) -> Result<Result<Seen, Moved>, String> {
    let found =
        actor.actor().find(&target.id.address, Some(&target.board)).map_err(|error| error.to_string())?;
    let Some(seen) = found.into_iter().next() else {
        return Ok(Err(Moved::NoLongerClaimed));
    };
    if seen.judged.seen.zip(target.seen).is_some_and(|(is, was)| is.continues(&was)) {
        return Ok(Ok(seen));
    }
    Ok(Err(match ClaimChange::between(&target.claim, &seen.judged.claim, seen.now) {
        ClaimChange::Other => Moved::NotAsListed,
        change => Moved::Claim(change),
    }))
}
