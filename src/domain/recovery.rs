//! What may be done to a claim, and when that needs more than the act itself.

mod moved;
mod outcome;
mod refusal;

use serde::Deserialize;
use std::fmt;
use std::sync::Arc;

pub use self::moved::Moved;
pub use self::outcome::{Clue, Outcome, Unknown};
pub use self::refusal::{Needs, PermissionCause, Refusal, RefusalReach, TableUnsafe, UntoldRows};
use super::claim::{Claim, Process, Worker};
use super::evidence::Conclusion;
use super::filter::Pattern;
use super::time::Span;
use super::verdict::{Reason, Verdict};

/// The name that the end of a server session has on the command line and in the trail.
pub const TERMINATE: &str = "terminate";

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

/// How much the operator of a source wants to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confirmation {
    /// Only where the holder may be alive.
    #[default]
    ByRisk,
    /// Before every act; the source's name has to be typed.
    Always,
}

/// What the operator says beyond the act itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Authorization {
    /// Do it although the claim is not stale or orphaned, or its holder lives.
    pub force: bool,
    pub reason: Option<String>,
    /// The holder, named.
    pub holder: Option<String>,
    /// The holders of a bulk act, each named or all of them by a pattern.
    pub holders: Vec<Pattern>,
    /// How much more time, for an extension.
    pub by: Option<Span>,
    /// Nobody watches: a sweep does it.
    pub unattended: bool,
}

impl Authorization {
    /// Whether a holder is among those that were named. A pattern is enough where the holder may be alive, and
    /// not where more is known of it.
    fn names(&self, holder: &str, cause: &PermissionCause) -> bool {
        let is_enough = |pattern: &&Pattern| match pattern {
            Pattern::Is(_) => true,
            Pattern::Like(glob) => is_a_name(glob) && *cause == PermissionCause::HolderMayLive,
            Pattern::Has(_) => false,
        };
        self.holders.iter().filter(is_enough).any(|pattern| pattern.matches(holder))
    }

    fn has_reason(&self) -> bool {
        self.reason.as_deref().is_some_and(|reason| !reason.trim().is_empty())
    }
}

/// Whether a pattern says enough of a name: stars alone name nobody.
fn is_a_name(glob: &str) -> bool {
    glob.chars().filter(|letter| *letter != '*').count() >= 3
}

/// Whether the act may go ahead, or why not and what would allow it.
///
/// A claim whose time is up, or whose holder is proven or registered as gone, needs nothing more. One
/// whose holder may be alive needs the holder's name; one that is neither stale nor orphaned, or whose
/// holder is known to be alive, needs force and a reason as well. A claim without a holder needs force and a reason
/// where another one needs a name.
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
        return forced(
            authorization,
            holder,
            PermissionCause::ProcessAlive { pid: claim.worker.pid.clone() },
        );
    }
    if claim.alive {
        return forced(authorization, holder, PermissionCause::HolderAtWork);
    }
    if !(over || gone || silent) {
        return forced(authorization, holder, PermissionCause::NotInTrouble(verdict.headline()));
    }
    if over || gone || (has(Reason::SessionStale) && conclusion == Conclusion::ProbablyDead) {
        return Ok(());
    }
    named(authorization, holder, PermissionCause::HolderMayLive)
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
        Process::Alive => PermissionCause::ProcessAlive { pid: worker.pid.clone() },
        Process::Unknown if given_up => return Ok(()),
        Process::Unknown => PermissionCause::SessionMayLive { session: id.into() },
    };
    forced(authorization, Some(id), cause)
}

/// Whether the server session behind a claim may be ended: that always needs force, a reason, and the holder's name.
pub fn permit_terminate(holder: &str, authorization: &Authorization) -> Result<(), Refusal> {
    forced(authorization, Some(holder), PermissionCause::EndsSession)
}

fn forced(
    authorization: &Authorization,
    holder: Option<&str>,
    cause: PermissionCause,
) -> Result<(), Refusal> {
    if !authorization.force {
        let needs = Needs::Force { holder: holder.map(str::to_owned) };
        return Err(Refusal::NotPermitted { cause, needs });
    }
    if !authorization.has_reason() {
        return Err(Refusal::NotPermitted { cause, needs: Needs::Reason });
    }
    named(authorization, holder, cause)
}

fn named(authorization: &Authorization, is: Option<&str>, cause: PermissionCause) -> Result<(), Refusal> {
    let holder = is.map(str::to_owned);
    let needs = match (authorization.holder.as_deref(), is) {
        (Some(named), Some(holder)) if named == holder => return Ok(()),
        (_, Some(holder)) if authorization.names(holder, &cause) => return Ok(()),
        // Nobody can be named.
        (None, None) if authorization.force && authorization.has_reason() => return Ok(()),
        (None, None) => Needs::Force { holder },
        (Some(named), _) => Needs::OtherHolder { named: named.into(), holder },
        (None, Some(holder)) => Needs::Holder { holder: holder.into() },
    };
    Err(Refusal::NotPermitted { cause, needs })
}
