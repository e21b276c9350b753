//! What may be done to a claim, and when it takes more than one word to do it.

use std::fmt;

use super::claim::{Claim, Process, Worker};
use super::evidence::Conclusion;
use super::time::Span;
use super::verdict::{Reason, Verdict};
use super::visible::visible;

/// What an operator can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Take the claim from a holder that is gone, as the system's own recovery would.
    Reclaim,
    /// Hand it back as the holder would: no attempt counted.
    Release,
    /// Give a slow holder more time.
    Extend,
    /// Queue a dead job again.
    Requeue,
}

impl Action {
    pub fn as_str(self) -> &'static str {
        match self {
            Action::Reclaim => "reclaim",
            Action::Release => "release",
            Action::Extend => "extend",
            Action::Requeue => "requeue",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Applied,
    /// The claim is not what it was when it was seen; nothing was written.
    Moved(String),
    /// It may not be done, and what would allow it; nothing was written.
    Refused(String),
    /// Whether it was done cannot be told.
    Unknown(String),
}

impl Outcome {
    pub fn as_str(&self) -> &'static str {
        match self {
            Outcome::Applied => "applied",
            Outcome::Moved(_) => "moved",
            Outcome::Refused(_) => "refused",
            Outcome::Unknown(_) => "unknown",
        }
    }

    pub fn why(&self) -> Option<&str> {
        match self {
            Outcome::Applied => None,
            Outcome::Moved(why) | Outcome::Refused(why) | Outcome::Unknown(why) => Some(why),
        }
    }
}

/// What the operator says beyond the act itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    /// Do it although the claim is not stale or orphaned, or its holder lives.
    pub force: bool,
    pub reason: Option<String>,
    /// The holder, named.
    pub holder: Option<String>,
    /// How much more time, for an extension.
    pub by: Option<Span>,
}

/// Whether the act may go ahead, or why not and what would allow it.
///
/// A claim whose time is up, or whose holder is proven or registered as gone, takes one word. One
/// whose holder may well be alive takes its name; one that is not stale or orphaned, or whose
/// holder is known to live, takes `--force` and a reason as well.
pub fn permit(
    action: Action,
    claim: &Claim,
    verdict: &Verdict,
    conclusion: Conclusion,
    word: &Word,
) -> Result<(), String> {
    if let Some(doubt) = &verdict.doubt {
        return Err(format!("{doubt}; `claimtop doctor` names the setting that fits"));
    }
    // More time takes nothing away, and a dead job has nobody left to take it from.
    if matches!(action, Action::Extend | Action::Requeue) {
        return Ok(());
    }
    let has = |reason: Reason| verdict.reasons.contains(reason);
    let over = has(Reason::LeaseExpired) || has(Reason::TtlExceeded);
    let gone = has(Reason::SessionMissing) || has(Reason::ProcessDead);
    let silent = has(Reason::SessionStale) || has(Reason::HeartbeatSilent);
    let lives = claim.worker.process == Process::Alive;

    if lives || !(over || gone || silent) {
        let why = if lives {
            format!("its process (pid {}) is alive", claim.worker.pid.visible())
        } else {
            format!("it is {}, neither stale nor orphaned", verdict.headline())
        };
        return forced(word, claim.holder.as_deref(), &why);
    }
    if over || gone || (has(Reason::SessionStale) && conclusion == Conclusion::ProbablyDead) {
        return Ok(());
    }
    named(word, claim.holder.as_deref(), "its holder may well be alive")
}

/// Whether a session may be ended, or why not and what would allow it: one that is given up, or whose
/// process is dead, takes one word; any other takes `--force`, a reason, and its name.
pub fn permit_end(id: &str, given_up: bool, worker: &Worker, word: &Word) -> Result<(), String> {
    let why = match worker.process {
        Process::Dead => return Ok(()),
        Process::Alive => format!("its process (pid {}) is alive", worker.pid.visible()),
        Process::Unknown if given_up => return Ok(()),
        Process::Unknown => format!("session {} still beats, or nothing shows that it is gone", visible(id)),
    };
    forced(word, Some(id), &why)
}

fn forced(word: &Word, holder: Option<&str>, why: &str) -> Result<(), String> {
    if !word.force {
        let holder = holder.map_or_else(|| "nobody".into(), visible);
        return Err(format!("{why}; --force --holder {holder} --reason TEXT would do it all the same"));
    }
    if word.reason.as_deref().is_none_or(|reason| reason.trim().is_empty()) {
        return Err(format!("{why}; --force needs a --reason"));
    }
    named(word, holder, why)
}

fn named(word: &Word, is: Option<&str>, why: &str) -> Result<(), String> {
    let holder = is.map_or_else(|| "nobody".into(), visible);
    match (word.holder.as_deref(), is) {
        (Some(named), Some(holder)) if named == holder => Ok(()),
        (Some(named), _) => Err(format!("{} is not its holder; that is {holder}", visible(named))),
        (None, _) => Err(format!("{why}; name the holder: --holder {holder}")),
    }
}
