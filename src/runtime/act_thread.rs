//! One thread per source that acts: the actor with its guard and its trail, one job after the other.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use tokio::sync::mpsc;

use super::{WriteOpener, WriteOpeners};
use crate::app::message::{BulkOf, Done, Many, Msg, Ready, Summary, Target};
use crate::domain::change::ClaimChange;
use crate::domain::recovery::{Action, Authorization, Moved, Outcome, Refusal};
use crate::domain::tally::BulkTally;
use crate::domain::visible::visible;
use crate::poller::ProberMaker;
use crate::recovery::trail::Trail;
use crate::recovery::{AuditedActor, BulkPlan, BulkResult, ListedClaim, Report};
use crate::report::changes;
use crate::store::Filter;
use crate::store::{Ends, Holding, Seen, Selection, Side};

/// How many acts of a bulk are shown before it is taken back.
const SHOWN_OF_AN_UNDO: usize = 50;

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
        label: String,
        writing: WriteOpeners,
        probers: ProberMaker,
        answers: mpsc::Sender<Msg>,
    ) -> std::io::Result<ActThread> {
        let (jobs, inbox) = channel();
        let work = Work { source, label, writing, probers, answers, prepared: None, question: 0 };
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
    label: String,
    writing: WriteOpeners,
    probers: ProberMaker,
    answers: mpsc::Sender<Msg>,
    prepared: Option<Prepared>,
    /// The question that `prepared` answers.
    question: u64,
}

/// What was seen, and the actor it was seen from.
struct Prepared {
    actor: AuditedActor,
    seen: Prospect,
}

/// What an act in bulk is about to be done to.
enum Prospect {
    Claims(BulkPlan),
    Session(Box<Holding>, BulkTally),
}

/// So many of the claims that a bulk was done to are remembered by name.
const REMEMBERED: usize = 10_000;

impl Work {
    fn run(mut self, inbox: &Receiver<Job>) {
        while let Ok(job) = inbox.recv() {
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

    /// A fresh look at the source, with a fresh look at its processes.
    fn audited_actor(&self) -> Result<AuditedActor, String> {
        self.audited_actor_of(&self.writing.claims)
    }

    fn audited_actor_of(&self, open: &WriteOpener) -> Result<AuditedActor, String> {
        let folder = Trail::default_folder()
            .ok_or("no act without its record, and no folder for it is known; set XDG_STATE_HOME")?;
        let access = open()?.probing_with((self.probers)());
        let mut actor =
            AuditedActor::open(access, &self.label, &folder).map_err(|error| error.to_string())?;
        // What an earlier act left open is found out before anything else is done.
        actor.settle_open_actions().map_err(|error| error.to_string())?;
        Ok(actor)
    }

    fn act(&self, target: &Target, action: Action, word: &Authorization) -> Done {
        let done = |outcome: Outcome| Done {
            source: self.source,
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
        &self,
        target: &Target,
        action: Action,
        word: &Authorization,
    ) -> Result<Result<Report, Moved>, String> {
        let dead = action == Action::Requeue;
        let mut actor =
            self.audited_actor_of(if dead { &self.writing.dead } else { &self.writing.claims })?;
        let seen = match still_there(&mut actor, target)? {
            Ok(seen) => seen,
            Err(moved) => return Ok(Err(moved)),
        };
        actor.perform(&seen, action, word).map(Ok).map_err(|error| error.to_string())
    }

    /// Every row and column that an undo would write; of a bulk, those of its last acts.
    fn prepare_undo(&self, action_id: &str) -> Result<Vec<String>, String> {
        let (mut lines, mut count, mut problem) = (Vec::new(), 0, None);
        let of = self.audited_actor()?.rehearse_undo(action_id, &mut |report| {
            count += 1;
            match report.outcome.cause() {
                Some(why) if problem.is_none() => problem = Some(format!("{}: {why}", visible(&report.id))),
                Some(_) => {}
                None => {
                    let (before, after) = (report.images(Side::Before), report.images(Side::After));
                    lines.extend(changes::lines(&before, &after));
                }
            }
            count < SHOWN_OF_AN_UNDO
        });
        let of = of.map_err(|error| error.to_string())?;
        if of > count {
            lines.push(format!("... and the rows of {} more acts", of - count));
        }
        match problem {
            Some(why) if lines.is_empty() => Err(why),
            Some(why) => {
                lines.insert(0, why);
                Ok(lines)
            }
            None => Ok(lines),
        }
    }

    /// Takes back one act, or all of a bulk.
    fn undo(&self, action_id: &str) -> Msg {
        let mut last = None;
        let undone = self.audited_actor().and_then(|mut actor| {
            let mut each = |report| {
                last = Some(report);
                true
            };
            actor.undo_all(action_id, None, &mut each).map_err(|error| error.to_string())
        });
        let (source, action) = (self.source, "undo".to_owned());
        match (undone, last) {
            (Ok(BulkResult { batch: Some(batch), tally, .. }), _) => {
                let (of, addresses) = (BulkOf::Undo(action_id.into()), Vec::new());
                Msg::BulkDone(Summary { source, of, tally, batch: Some(batch), addresses })
            }
            (Ok(_), Some(report)) => {
                let (shown, action_id) = (shown(&report, visible(&report.id)), action_id.to_owned());
                let Report { address, holder, outcome, .. } = report;
                Msg::Acted(Done { source, address, action_id, action, outcome, shown, holder })
            }
            (undone, _) => {
                let why = undone.err().unwrap_or_else(|| "there is nothing to undo".into());
                let (outcome, shown) = (Outcome::Refused(Refusal::NotTried(why)), action_id.to_owned());
                let (address, holder, action_id) = (String::new(), None, action_id.to_owned());
                Msg::Acted(Done { source, address, action_id, action, outcome, shown, holder })
            }
        }
    }

    fn prepare(&mut self, action: Action, what: Many) -> Result<Ready, String> {
        self.prepared = None;
        let mut actor = self.audited_actor()?;
        let mut moved = Vec::new();
        let claims = match what {
            Many::Session(session) => return self.prepare_session(actor, &session),
            Many::Marked(targets) => {
                let mut all = Vec::new();
                for target in &targets {
                    match still_there(&mut actor, target)? {
                        Ok(seen) => all.push(seen),
                        Err(what) => moved.push((target.claim.key.visible(), what)),
                    }
                }
                Selection::from(all)
            }
            Many::Set(set) => {
                let filter = Filter { sets: vec![set], ..Filter::default() };
                actor.actor().selection(&filter).map_err(|error| error.to_string())?
            }
        };
        let planned = actor.plan(claims, action, &Authorization::default(), &mut |_| ());
        let mut plan = planned.map_err(|error| error.to_string())?;
        plan.preview.wanted += moved.len();
        for (id, what) in moved {
            plan.preview.add(&Outcome::Moved(what), || id);
        }
        let line = |claim: &ListedClaim| format!("{}  {}", claim.address, claim.why);
        let ready = Ready {
            tally: plan.preview.clone(),
            lines: plan.listed.iter().map(line).collect(),
            notes: Vec::new(),
            holder: None,
            profiles: profiles(&mut actor, plan.samples()),
        };
        self.prepared = Some(Prepared { actor, seen: Prospect::Claims(plan) });
        Ok(ready)
    }

    /// Everything a session holds; its name is asked for unless it is provably gone.
    fn prepare_session(&mut self, mut actor: AuditedActor, session: &str) -> Result<Ready, String> {
        let holding = actor.actor().held_by(session).map_err(|error| error.to_string())?;
        let mut all = lines(&mut actor, &holding.claims);
        let mut profiles = profiles(&mut actor, &holding.claims);
        profiles.extend(holding.registered.iter().map(|registered| registered.profile.clone()));
        let mut notes = Vec::new();
        for registered in &holding.registered {
            match registered.ends {
                Ends::Described => all.push(format!("the session {} itself ends", visible(session))),
                Ends::Undescribed => {
                    notes.push("The session itself stays: its profile does not say how one ends.".into());
                }
            }
        }
        let needs_name = actor.actor().permit_session(&holding, &Authorization::default()).is_err();
        // What will be done if it is named.
        let word = Authorization {
            force: needs_name,
            holder: needs_name.then(|| session.to_owned()),
            reason: needs_name.then(|| "asked for".to_owned()),
            ..Authorization::default()
        };
        let tally = actor.plan_session(&holding, &word).map_err(|error| error.to_string())?;
        let holder = needs_name.then(|| session.to_owned());
        let ready = Ready { tally: tally.clone(), lines: all, notes, holder, profiles };
        let seen = Prospect::Session(Box::new(holding), tally);
        self.prepared = Some(Prepared { actor, seen });
        Ok(ready)
    }

    fn run_prepared(&mut self, question: u64, word: &Authorization) -> Summary {
        let source = self.source;
        let summary = |action, tally| Summary {
            source,
            of: BulkOf::Act(action),
            tally,
            batch: None,
            addresses: Vec::new(),
        };
        let Some(Prepared { mut actor, seen }) = self.prepared.take().filter(|_| self.question == question)
        else {
            let stopped = Some("it was not looked at first".into());
            return summary(Action::Reclaim, BulkTally { stopped, ..BulkTally::of(1) });
        };
        let (mut done, mut addresses) = (0, Vec::new());
        let answers = &self.answers;
        let mut each = |report: Report| {
            done += 1;
            if report.outcome == Outcome::Applied && addresses.len() < REMEMBERED {
                addresses.push(report.address);
            }
            if done % 100 == 0 {
                let _ = answers.blocking_send(Msg::BulkProgress { done });
            }
            true
        };
        let (action, preview, result) = match seen {
            Prospect::Claims(plan) => {
                let (action, preview) = (plan.action, plan.preview.clone());
                (action, preview, actor.run_plan(plan, word, &mut |told| each(told.report())))
            }
            Prospect::Session(holding, preview) => {
                (Action::Release, preview, actor.release_session(&holding, word, &mut each))
            }
        };
        match result {
            Ok(BulkResult { batch, tally, .. }) => Summary { batch, addresses, ..summary(action, tally) },
            Err(error) => {
                let stopped = Some(error.to_string());
                summary(action, BulkTally { stopped, ..preview.without_applied() })
            }
        }
    }
}

/// The first of the claims, one line each.
fn lines(actor: &mut AuditedActor, claims: &[Seen]) -> Vec<String> {
    claims.iter().take(40).map(|seen| format!("{}  {}", actor.actor().address(seen), seen.why)).collect()
}

/// The profiles of the claims, each once.
fn profiles(actor: &mut AuditedActor, claims: &[Seen]) -> Vec<String> {
    let names: BTreeSet<String> = claims.iter().map(|seen| actor.actor().names(seen).0).collect();
    names.into_iter().collect()
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
    let is = seen.judged.seen.as_deref().unwrap_or_default();
    // A verdict that has come to rest on the session since adds that session to the token.
    let same = target.seen.as_deref().is_some_and(|was| is == was || is.starts_with(&format!("{was}-s")));
    if same {
        return Ok(Ok(seen));
    }
    Ok(Err(match ClaimChange::between(&target.claim, &seen.judged.claim, seen.now) {
        ClaimChange::Other => Moved::NotAsListed,
        change => Moved::Claim(change),
    }))
}
