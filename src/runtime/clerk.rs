//! One thread per source that acts: the desk with its guard and its trail, one job after the other.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use tokio::sync::mpsc;

use crate::app::message::{Done, Many, Msg, Ready, Summary, Target};
use crate::domain::change::Change;
use crate::domain::recovery::{Action, Outcome, Word};
use crate::domain::visible::visible;
use crate::poller::{Opener, ProberMaker};
use crate::recovery::trail::Trail;
use crate::recovery::{Desk, Report};
use crate::store::Filter;
use crate::store::{Ends, Holding, Seen, clock};

#[derive(Debug)]
pub enum Job {
    Act {
        target: Box<Target>,
        action: Action,
        word: Word,
    },
    /// Looks at many; what it sees is kept until they are acted on.
    Prepare {
        question: u64,
        action: Action,
        what: Many,
    },
    Run {
        question: u64,
        word: Word,
    },
    Undo {
        action_id: String,
    },
}

/// A handle on the thread.
#[derive(Debug)]
pub struct Clerk(Sender<Job>);

impl Clerk {
    pub fn start(
        source: usize,
        label: String,
        (open, dead): (Opener, Opener),
        probers: ProberMaker,
        answers: mpsc::Sender<Msg>,
    ) -> std::io::Result<Clerk> {
        let (jobs, inbox) = channel();
        let work = Work { source, label, open, dead, probers, answers, prepared: None, question: 0 };
        thread::Builder::new().name(format!("clerk {source}")).spawn(move || work.run(&inbox))?;
        Ok(Clerk(jobs))
    }

    /// Whether there is still somebody to do it.
    pub fn give(&self, job: Job) -> bool {
        self.0.send(job).is_ok()
    }
}

struct Work {
    source: usize,
    label: String,
    open: Opener,
    dead: Opener,
    probers: ProberMaker,
    answers: mpsc::Sender<Msg>,
    prepared: Option<Prepared>,
    /// The question that `prepared` answers.
    question: u64,
}

/// What was seen, and the desk it was seen from.
struct Prepared {
    desk: Desk,
    action: Action,
    seen: Prospect,
}

/// What an act in bulk is about to be done to.
enum Prospect {
    Claims(Vec<Seen>),
    Session(Box<Holding>),
}

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
                Job::Undo { action_id } => Msg::Acted(self.undo(&action_id)),
            };
            if self.answers.blocking_send(msg).is_err() {
                return;
            }
        }
    }

    /// A fresh look at the source, with a fresh look at its processes.
    fn desk(&self) -> Result<Desk, String> {
        self.desk_behind(&self.open)
    }

    fn desk_behind(&self, door: &Opener) -> Result<Desk, String> {
        let folder = Trail::default_folder()
            .ok_or("no act without its record, and no folder for it is known; set XDG_STATE_HOME")?;
        let mut options = door().map_err(|error| error.to_string())?;
        options.ask_the_kernel_by((self.probers)());
        let mut desk = Desk::open(options, &self.label, &folder).map_err(|error| error.to_string())?;
        // What an earlier act left open is found out before anything else is done.
        desk.settle_open_actions().map_err(|error| error.to_string())?;
        Ok(desk)
    }

    fn act(&self, target: &Target, action: Action, word: &Word) -> Done {
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
            Err(why) => done(Outcome::Refused(why)),
        }
    }

    fn try_act(
        &self,
        target: &Target,
        action: Action,
        word: &Word,
    ) -> Result<Result<Report, String>, String> {
        let door = if action == Action::Requeue { &self.dead } else { &self.open };
        let mut desk = self.desk_behind(door)?;
        let seen = match still_there(&mut desk, target)? {
            Ok(seen) => seen,
            Err(moved) => return Ok(Err(moved)),
        };
        desk.perform(&seen, action, word).map(Ok).map_err(|error| error.to_string())
    }

    fn undo(&self, action_id: &str) -> Done {
        let undone =
            self.desk().and_then(|mut desk| desk.undo(action_id, None).map_err(|error| error.to_string()));
        let (outcome, shown, holder, address) = match undone {
            Ok(report) => {
                let shown = shown(&report, visible(&report.id));
                (report.outcome, shown, report.holder, report.address)
            }
            Err(why) => (Outcome::Refused(why), action_id.to_owned(), None, String::new()),
        };
        let (source, action_id) = (self.source, action_id.to_owned());
        Done { source, address, action_id, action: "undo".into(), outcome, shown, holder }
    }

    fn prepare(&mut self, action: Action, what: Many) -> Result<Ready, String> {
        self.prepared = None;
        let mut desk = self.desk()?;
        let mut left_out = Vec::new();
        let seen = match what {
            Many::Session(session) => return self.prepare_session(desk, &session),
            Many::Marked(targets) => {
                let mut all = Vec::new();
                for target in &targets {
                    match still_there(&mut desk, target)? {
                        Ok(seen) => all.push(seen),
                        Err(moved) => left_out.push(format!("{}: {moved}", target.claim.key.visible())),
                    }
                }
                all
            }
            Many::Set(set) => {
                let filter = Filter { sets: vec![set], ..Filter::default() };
                desk.actor().select(&filter).map_err(|error| error.to_string())?
            }
        };
        let profiles = profiles(&mut desk, &seen);
        let ready =
            Ready { count: seen.len(), lines: lines(&mut desk, &seen), left_out, holder: None, profiles };
        self.prepared = Some(Prepared { desk, action, seen: Prospect::Claims(seen) });
        Ok(ready)
    }

    /// Everything a session holds; its name is asked for unless it is provably gone.
    fn prepare_session(&mut self, mut desk: Desk, session: &str) -> Result<Ready, String> {
        let holding = desk.actor().held_by(session).map_err(|error| error.to_string())?;
        let mut all = lines(&mut desk, &holding.claims);
        let mut profiles = profiles(&mut desk, &holding.claims);
        profiles.extend(holding.registered.iter().map(|registered| registered.profile.clone()));
        let mut left_out = Vec::new();
        for registered in &holding.registered {
            match registered.ends {
                Ends::Described => all.push(format!("the session {} itself ends", visible(session))),
                Ends::Undescribed => {
                    left_out.push("the session itself: its profile does not say how one ends".into());
                }
            }
        }
        let refusal = desk.actor().permit_session(&holding, &Word::default()).err();
        let ends = holding.registered.iter().filter(|session| session.ends == Ends::Described).count();
        let ready = Ready {
            count: holding.claims.len() + ends,
            lines: all,
            left_out,
            holder: refusal.map(|_| session.to_owned()),
            profiles,
        };
        let seen = Prospect::Session(Box::new(holding));
        self.prepared = Some(Prepared { desk, action: Action::Release, seen });
        Ok(ready)
    }

    fn run_prepared(&mut self, question: u64, word: &Word) -> Summary {
        let mut summary = Summary {
            action: String::new(),
            source: self.source,
            applied: 0,
            moved: 0,
            refused: 0,
            unknown: 0,
            first_problem: None,
            action_ids: Vec::new(),
            addresses: Vec::new(),
        };
        let Some(Prepared { mut desk, action, seen }) =
            self.prepared.take().filter(|_| self.question == question)
        else {
            summary.first_problem = Some("it was not looked at first".into());
            summary.refused = 1;
            return summary;
        };
        summary.action = action.to_string();
        let mut done = 0;
        let answers = &self.answers;
        let mut each = |report: &Report| {
            done += 1;
            count(&mut summary, report);
            if done % 100 == 0 {
                let _ = answers.blocking_send(Msg::BulkProgress { done });
            }
            true
        };
        let (ended, of) = match &seen {
            Prospect::Claims(claims) => {
                let all = claims.iter().collect();
                let acted = desk.perform_all(all, action, word, &mut |told| each(&told.report()));
                (acted.map(|_| ()), claims.len())
            }
            Prospect::Session(holding) => {
                let released = desk.release_session(holding, word, &mut |report| each(&report));
                (released, holding.claims.len() + 1)
            }
        };
        if let Err(error) = ended {
            summary.refused += of.saturating_sub(done);
            summary.first_problem.get_or_insert(error.to_string());
        }
        summary
    }
}

/// The first of the claims, one line each.
fn lines(desk: &mut Desk, claims: &[Seen]) -> Vec<String> {
    claims.iter().take(40).map(|seen| format!("{}  {}", desk.actor().address(seen), seen.why)).collect()
}

/// The profiles of the claims, each once.
fn profiles(desk: &mut Desk, claims: &[Seen]) -> Vec<String> {
    let names: BTreeSet<String> = claims.iter().map(|seen| desk.actor().names(seen).0).collect();
    names.into_iter().collect()
}

fn count(summary: &mut Summary, report: &Report) {
    match &report.outcome {
        Outcome::Applied => {
            summary.applied += 1;
            summary.action_ids.push(report.action_id.clone());
            summary.addresses.push(report.address.clone());
            return;
        }
        Outcome::Moved(_) => summary.moved += 1,
        Outcome::Refused(_) => summary.refused += 1,
        Outcome::Unknown(_) => summary.unknown += 1,
    }
    let why = report.outcome.why().unwrap_or_default();
    summary.first_problem.get_or_insert_with(|| format!("{}: {why}", visible(&report.id)));
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
fn still_there(desk: &mut Desk, target: &Target) -> Result<Result<Seen, String>, String> {
    let found =
        desk.actor().find(&target.id.address, Some(&target.board)).map_err(|error| error.to_string())?;
    let Some(seen) = found.into_iter().next() else {
        return Ok(Err(Change::Finished.sentence(None, clock())));
    };
    let is = seen.judged.seen.as_deref().unwrap_or_default();
    // A verdict that has come to rest on the session since adds that session to the token.
    let same = target.seen.as_deref().is_some_and(|was| is == was || is.starts_with(&format!("{was}-s")));
    if same {
        return Ok(Ok(seen));
    }
    let change = Change::between(&target.claim, Some(&seen.judged.claim));
    Ok(Err(change.sentence(Some(&seen.judged.claim), seen.now)))
}
