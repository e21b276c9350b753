//! One thread per source that acts: the actor with its guard and its trail, one job after the other.

mod bulk;
mod open_actor;
mod undo;

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;
use tokio::sync::mpsc;

use super::{ProberMaker, WriteOpeners};
use crate::app::message::{Done, Many, Msg, Target};
use crate::domain::change::ClaimChange;
use crate::domain::recovery::{Action, Authorization, Moved, Outcome, Refusal};
use crate::domain::visible::visible;
use crate::recovery::{AuditedActor, Report};
use crate::store::Seen;
use bulk::Prepared;
use open_actor::OpenActor;

/// Connections that nobody needed for this long are closed.
const KEPT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub enum Job {
    Act {
        target: Box<Target>,
        action: Action,
        word: Authorization,
    },
    /// Looks at many; what it sees is kept until they are acted on.
    Prepare {
        question: u64,
        action: Action,
        what: Many,
    },
    Run {
        question: u64,
        word: Authorization,
    },
    /// Looks at what an undo would write.
    PrepareUndo {
        action_id: String,
    },
    Undo {
        action_id: String,
    },
}

/// A handle on the thread.
#[derive(Debug)]
pub struct ActThread(Sender<Job>);

impl ActThread {
    pub fn start(
        source: usize,
        label: &str,
        writing: WriteOpeners,
        probers: &ProberMaker,
        answers: mpsc::Sender<Msg>,
    ) -> std::io::Result<ActThread> {
        let (jobs, inbox) = channel();
        let open = |open| OpenActor::new(label, open, probers());
        let (claims, dead) = (open(writing.claims), open(writing.dead));
        let work = Work { source, claims, dead, answers, prepared: None, question: 0 };
        thread::Builder::new().name(format!("acts {source}")).spawn(move || work.run(&inbox))?;
        Ok(ActThread(jobs))
    }

    /// Whether there is still somebody to do it.
    pub fn give(&self, job: Job) -> bool {
        self.0.send(job).is_ok()
    }
}

struct Work {
    source: usize,
    claims: OpenActor,
    /// The same source, seen from its dead jobs.
    dead: OpenActor,
    answers: mpsc::Sender<Msg>,
    prepared: Option<Prepared>,
    /// The question that `prepared` answers.
    question: u64,
}

impl Work {
    fn run(mut self, inbox: &Receiver<Job>) {
        loop {
            let job = match inbox.recv_timeout(KEPT) {
                Ok(job) => job,
                Err(RecvTimeoutError::Timeout) => {
                    self.claims.close();
                    self.dead.close();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let msg = match job {
                Job::Act { target, action, word } => Msg::Acted(self.act(&target, action, &word)),
                Job::Prepare { question, action, what } => {
                    self.question = question;
                    Msg::BulkReady { question, ready: self.prepare(action, what) }
                }
                Job::Run { question, word } => Msg::BulkDone(self.run_prepared(question, &word)),
                Job::PrepareUndo { action_id } => {
                    let ready = self.prepare_undo(&action_id);
                    Msg::UndoReady { action_id, ready }
                }
                Job::Undo { action_id } => self.undo(&action_id),
            };
            if self.answers.blocking_send(msg).is_err() {
                return;
            }
        }
    }

    fn act(&mut self, target: &Target, action: Action, word: &Authorization) -> Done {
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
        match self.try_act(target, action, word) {
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
        target: &Target,
        action: Action,
        word: &Authorization,
    ) -> Result<Result<Report, Moved>, String> {
        let source = if action == Action::Requeue { &mut self.dead } else { &mut self.claims };
        let mut actor = source.take()?;
        let acted = match still_there(&mut actor, target)? {
            Ok(seen) => Ok(actor.perform(&seen, action, word).map_err(|error| error.to_string())?),
            Err(moved) => Err(moved),
        };
        source.keep(actor);
        Ok(acted)
    }
}

/// A claim, and what an act on it set off that no undo takes back.
fn shown(report: &Report, claim: String) -> String {
    let claim = match report.effects.sentence() {
        Some(said) => format!("{claim} ({said})"),
        None => claim,
    };
    match report.untold()[..] {
        [] => claim,
        ref tables => format!("{claim} (what triggers did in {} stays)", visible(&tables.join(", "))),
    }
}

/// The claim exactly as it was drawn, or what has become of it.
fn still_there(actor: &mut AuditedActor, target: &Target) -> Result<Result<Seen, Moved>, String> {
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
