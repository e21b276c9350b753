//! What may be done to a claim, and when that needs more than the act itself.

mod moved;
mod outcome;
mod refusal;

use std::fmt;
use std::sync::Arc;

pub use self::moved::Moved;
pub use self::outcome::{Clue, Outcome, Unknown};
pub use self::refusal::{Cause, Needs, Reach, Refusal};
use super::claim::{Claim, Process, Worker};
use super::evidence::Conclusion;
use super::time::Span;
use super::verdict::{Reason, Verdict};

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
    /// Whether the holder has the claim no longer afterwards.
    pub fn frees(self) -> bool {
        matches!(self, Action::Reclaim | Action::Release)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Action::Reclaim => "reclaim",
            Action::Release => "release",
            Action::Extend => "extend",
            Action::Requeue => "requeue",
        }
    }
}

impl Action {
    /// What a claim is when it has been done.
    pub fn done(self) -> &'static str {
        match self {
            Action::Reclaim => "reclaimed",
            Action::Release => "released",
            Action::Extend => "extended",
            Action::Requeue => "requeued",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What the operator says beyond the act itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Authorization {
    /// Do it although the claim is not stale or orphaned, or its holder lives.
    pub force: bool,
    pub reason: Option<String>,
    /// The holder, named.
    pub holder: Option<String>,
    /// How much more time, for an extension.
    pub by: Option<Span>,
    /// Nobody watches: a sweep does it.
    pub unattended: bool,
}

/// Whether the act may go ahead, or why not and what would allow it.
///
/// A claim whose time is up, or whose holder is proven or registered as gone, needs nothing more. One
/// whose holder may be alive needs the holder's name; one that is neither stale nor orphaned, or whose
/// holder is known to be alive, needs force and a reason as well.
pub fn permit(
    action: Action,
    claim: &Claim,
    verdict: &Verdict,
    conclusion: Conclusion,
    authorization: &Authorization,
) -> Result<(), Refusal> {
    if let Some(doubt) = &verdict.doubt {
        return Err(Refusal::TimesInDoubt(Arc::clone(doubt)));
    }
    // More time takes nothing away, and a dead job has nobody left to take it from.
    if matches!(action, Action::Extend | Action::Requeue) {
        return Ok(());
    }
    let has = |reason: Reason| verdict.reasons.contains(reason);
    let over = has(Reason::LeaseExpired) || has(Reason::TtlExceeded);
    let gone = has(Reason::SessionMissing) || has(Reason::ProcessDead);
    let silent = has(Reason::SessionStale) || has(Reason::HeartbeatSilent);
    let holder = claim.holder.as_deref();

    if claim.worker.process == Process::Alive {
        return forced(authorization, holder, Cause::ProcessAlive { pid: claim.worker.pid.clone() });
    }
    if !(over || gone || silent) {
        return forced(authorization, holder, Cause::NotInTrouble(verdict.headline()));
    }
    if over || gone || (has(Reason::SessionStale) && conclusion == Conclusion::ProbablyDead) {
        return Ok(());
    }
    named(authorization, holder, Cause::HolderMayLive)
}

/// Whether a session may be ended, or why not and what would allow it: one that is given up, or whose
/// process is dead, needs nothing more; any other needs force, a reason, and its name.
pub fn permit_end(
    id: &str,
    given_up: bool,
    worker: &Worker,
    authorization: &Authorization,
) -> Result<(), Refusal> {
    let cause = match worker.process {
        Process::Dead => return Ok(()),
        Process::Alive => Cause::ProcessAlive { pid: worker.pid.clone() },
        Process::Unknown if given_up => return Ok(()),
        Process::Unknown => Cause::SessionMayLive { session: id.into() },
    };
    forced(authorization, Some(id), cause)
}

fn forced(authorization: &Authorization, holder: Option<&str>, cause: Cause) -> Result<(), Refusal> {
    if !authorization.force {
        let needs = Needs::Force { holder: holder.map(str::to_owned) };
        return Err(Refusal::NotPermitted { cause, needs });
    }
    if authorization.reason.as_deref().is_none_or(|reason| reason.trim().is_empty()) {
        return Err(Refusal::NotPermitted { cause, needs: Needs::Reason });
    }
    named(authorization, holder, cause)
}

fn named(authorization: &Authorization, is: Option<&str>, cause: Cause) -> Result<(), Refusal> {
    let holder = is.map(str::to_owned);
    let needs = match (authorization.holder.as_deref(), is) {
        (Some(named), Some(holder)) if named == holder => return Ok(()),
        (Some(named), _) => Needs::OtherHolder { named: named.into(), holder },
        (None, _) => Needs::Holder { holder },
    };
    Err(Refusal::NotPermitted { cause, needs })
}
