//! Why a claim is judged as it is, in words, and what follows for its holder.
//!
//! No single signal decides. Everything that is known counts: the lease, the claim's own
//! heartbeat, the holder's heartbeat, the process. `dead` is said only on proof.

use super::claim::{Claim, Lease, Process, Registry, Session};
use super::rules::Rules;
use super::time::{Moment, Reading, Span};
use super::verdict::{Reason, Set, Verdict, gives_up};
use super::visible::visible;

/// What all the evidence together says of the holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    Dead,
    ProbablyDead,
    Slow,
    Alive,
    Unknown,
}

impl Conclusion {
    pub fn as_str(self) -> &'static str {
        match self {
            Conclusion::Dead => "dead",
            Conclusion::ProbablyDead => "probably dead",
            Conclusion::Slow => "slow",
            Conclusion::Alive => "alive",
            Conclusion::Unknown => "unknown",
        }
    }
}

/// Draws the conclusion about the holder of `claim`.
pub fn conclude(claim: &Claim, verdict: &Verdict, rules: &Rules, now: Moment) -> Conclusion {
    let limits = rules.for_kind(claim.kind.as_deref());
    let session = match &claim.registry {
        Registry::Listed(session) => Some(session),
        Registry::None | Registry::Unregistered | Registry::Missing => None,
    };
    let overdue = verdict.deadline.is_some_and(|at| at < rules.claim_now(now));
    let living = if overdue || verdict.reasons.contains(Reason::HeartbeatSilent) {
        Conclusion::Slow
    } else {
        Conclusion::Alive
    };
    match claim.worker.process {
        Process::Dead => return Conclusion::Dead,
        Process::Alive => return living,
        Process::Unknown => {}
    }
    if claim.alive {
        return living;
    }
    if verdict.reasons.contains(Reason::ClockSkew) {
        return Conclusion::Unknown;
    }
    // A claim that beats is worked on, whatever its session's row says: sessions whose workers
    // refresh only their claims go stale while they work.
    let fresh = |at: Moment| now.since(at) <= limits.silent_after;
    if claim.beat_at.at().is_some_and(fresh) {
        return living;
    }
    if claim.disowned || claim.registry == Registry::Missing {
        return Conclusion::ProbablyDead;
    }
    if let Some(until) = session.and_then(|session| gives_up(session, limits.orphan_after)) {
        let silent = until < rules.session_now(now);
        return if silent { Conclusion::ProbablyDead } else { living };
    }
    match claim.beat_at.at() {
        // It used to beat and has stopped for as long as an orphan's session would.
        Some(beat) if now.since(beat) > limits.orphan_after => Conclusion::ProbablyDead,
        Some(_) => Conclusion::Slow,
        // Nothing ever told whether this holder lives; a running lease says only that it did.
        None => Conclusion::Unknown,
    }
}

/// One sentence that says why the claim stands where it stands.
pub fn why(claim: &Claim, verdict: &Verdict, rules: &Rules, now: Moment) -> String {
    let mut parts: Vec<String> =
        verdict.reasons.iter().map(|reason| explain(reason, claim, verdict, rules, now)).collect();
    if parts.is_empty() {
        parts.push(match verdict.deadline {
            Some(deadline) => format!("{} left", deadline.since(now)),
            None => "nothing is wrong with it".into(),
        });
    }
    if claim.registry == Registry::Unregistered
        && verdict.reasons.iter().any(|one| one.set() != Set::Expiring)
    {
        parts.push("its holder is not registered, which alone proves nothing".into());
    }
    if verdict.exhausted {
        parts.push("no attempt left".into());
    }
    parts.join("; ")
}

fn explain(reason: Reason, claim: &Claim, verdict: &Verdict, rules: &Rules, now: Moment) -> String {
    let limits = rules.for_kind(claim.kind.as_deref());
    let age = |at: Option<Moment>| at.map_or(Span::ZERO, |at| now.since(at).max(Span::ZERO));
    let left = verdict.deadline.map_or(Span::ZERO, |at| at.since(now));
    match reason {
        Reason::ProcessDead => match claim.worker.evidence.as_deref() {
            Some(evidence) => format!("its process is dead: {evidence}"),
            None => "its process is dead".into(),
        },
        Reason::SessionMissing if claim.disowned => "nobody can be working on it".into(),
        Reason::SessionMissing => match &claim.holder {
            Some(holder) => format!("its session {} is not registered", visible(holder)),
            None => "it has no holder".into(),
        },
        Reason::SessionStale => match session_of(claim).map(|session| session.beat_at.at()) {
            Some(beat @ Some(_)) => format!("its session has been silent for {}", age(beat)),
            _ => "its session has been given up".into(),
        },
        Reason::LeaseExpired => format!("its lease ran out {} ago", left.abs()),
        Reason::TtlExceeded => format!(
            "no sign of life for {}, {} may take {}",
            age(claim.sign_of_life()),
            claim.kind.as_deref().map_or_else(|| "it".into(), visible),
            limits.ttl.unwrap_or_default(),
        ),
        Reason::HeartbeatSilent if claim.worker.process == Process::Alive => format!(
            "heartbeat {} old, but pid {} is alive: slow or stuck",
            age(claim.beat_at.at().max(session_of(claim).and_then(|session| session.beat_at.at()))),
            claim.worker.pid.visible()
        ),
        Reason::HeartbeatSilent => {
            format!(
                "its heartbeat has been silent for {}, {left} of its lease are left",
                age(claim.beat_at.at())
            )
        }
        Reason::Unreadable => unreadable(claim),
        Reason::ClockSkew => match &verdict.doubt {
            Some(doubt) => doubt.to_string(),
            None => skewed(claim, rules, now),
        },
        Reason::NoDeadline => match &claim.kind {
            Some(kind) => format!("no time to live is known for {}", visible(kind)),
            None => "nothing says how long it may take".into(),
        },
        // Judged at the poll, and said a moment later.
        Reason::DeadlineNear if left < Span::ZERO => "its time has just run out".into(),
        Reason::DeadlineNear => format!("{left} left"),
    }
}

fn session_of(claim: &Claim) -> Option<&Session> {
    match &claim.registry {
        Registry::Listed(session) => Some(session),
        Registry::None | Registry::Unregistered | Registry::Missing => None,
    }
}

/// The times of a claim, by name.
fn times(claim: &Claim) -> Vec<(&'static str, &Reading)> {
    let mut times = vec![("claimed_at", &claim.claimed_at), ("beat_at", &claim.beat_at)];
    if let Lease::Until(deadline) = &claim.lease {
        times.push(("the deadline", deadline));
    }
    if let Some(session) = session_of(claim) {
        times.push(("its session's beat", &session.beat_at));
        times.extend(session.stale_at.as_ref().map(|at| ("its session's end", at)));
    }
    times
}

fn unreadable(claim: &Claim) -> String {
    let mut wrong: Vec<String> = Vec::new();
    for (name, reading) in times(claim) {
        match reading {
            Reading::Bad(what) => wrong.push(format!("{name} is {what}")),
            Reading::Null if name != "beat_at" => wrong.push(format!("{name} is NULL")),
            Reading::Null | Reading::Absent | Reading::At(_) => {}
        }
    }
    if let Lease::Timeout(timeout) = &claim.lease
        && timeout.span().is_none()
    {
        wrong.push("its timeout is no number of seconds".into());
    }
    format!("unreadable: {}", wrong.join(", "))
}

fn skewed(claim: &Claim, rules: &Rules, now: Moment) -> String {
    times(claim)
        .into_iter()
        .filter(|(name, _)| !name.contains("deadline") && !name.contains("end"))
        .filter_map(|(name, reading)| Some((name, reading.at()?.since(now))))
        .filter(|(_, ahead)| *ahead > rules.clock_noise)
        .map(|(name, ahead)| format!("{name} lies {ahead} in the future"))
        .collect::<Vec<_>>()
        .join(", ")
}
