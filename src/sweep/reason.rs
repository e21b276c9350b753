//! Whether a sweep may take a claim, and for which reason.
//!
//! A single weak signal is never enough. It takes an expired lease or TTL, or a holder that is unregistered or proven
//! dead. A silent session counts only if the claim itself shows no sign of life either.

use std::fmt;

use crate::domain::claim::{Claim, Lease, Process, Registry, Timeout};
use crate::domain::rules::{DeadlineRule, Rules, Thresholds};
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::{Reason, Set, Verdict};

/// Why a claim may be taken. Expired claims are handled first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SweepReason {
    Expired(Reason),
    Orphaned(Reason),
}

impl SweepReason {
    pub fn reason(self) -> Reason {
        match self {
            SweepReason::Expired(reason) | SweepReason::Orphaned(reason) => reason,
        }
    }
}

/// Why a claim is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// Its process was found alive.
    Alive,
    /// A time in its row lies in the future, so none of its times can be trusted.
    ClockSkew,
    /// Its session is silent, but the claim itself shows life.
    ClaimLives,
    /// No reason that a sweep may act on, or none in the requested sets.
    NoGround,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SkipReason::Alive => "its process is alive",
            SkipReason::ClockSkew => "its times cannot be trusted",
            SkipReason::ClaimLives => "its session is silent, but the claim shows signs of life",
            SkipReason::NoGround => "there is no sufficient reason to take it",
        })
    }
}

/// Which sets were requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepSets {
    Both,
    Expired,
    Orphaned,
}

impl SweepSets {
    /// The choice for these sets; none of them means both.
    pub fn of(sets: &[Set]) -> SweepSets {
        match (sets.contains(&Set::Stale), sets.contains(&Set::Orphaned)) {
            (true, false) => SweepSets::Expired,
            (false, true) => SweepSets::Orphaned,
            (true, true) | (false, false) => SweepSets::Both,
        }
    }
}

/// The reason for which a sweep may take the claim at `now`, or why it must not.
pub fn ground(
    claim: &Claim,
    verdict: &Verdict,
    rules: &Rules,
    now: Moment,
    wanted: SweepSets,
) -> Result<SweepReason, SkipReason> {
    if claim.worker.process == Process::Alive {
        return Err(SkipReason::Alive);
    }
    if verdict.reasons.contains(Reason::ClockSkew) {
        return Err(SkipReason::ClockSkew);
    }
    let first = |reasons: &[Reason]| reasons.iter().copied().find(|reason| verdict.reasons.contains(*reason));
    if wanted != SweepSets::Orphaned
        && let Some(reason) = first(&[Reason::LeaseExpired, Reason::TtlExceeded])
    {
        return Ok(SweepReason::Expired(reason));
    }
    if wanted == SweepSets::Expired {
        return Err(SkipReason::NoGround);
    }
    if let Some(reason) = first(&[Reason::ProcessDead, Reason::SessionMissing]) {
        return Ok(SweepReason::Orphaned(reason));
    }
    match first(&[Reason::SessionStale]) {
        Some(_) if shows_life(claim, rules, now) => Err(SkipReason::ClaimLives),
        Some(reason) => Ok(SweepReason::Orphaned(reason)),
        None => Err(SkipReason::NoGround),
    }
}

/// Whether the claim itself contradicts a silent session: it sent a heartbeat, or was made, within the time after
/// which a session counts as lost. A heartbeat that cannot be read may be a fresh one.
pub(super) fn shows_life(claim: &Claim, rules: &Rules, now: Moment) -> bool {
    let limits = rules.for_kind(claim.kind.as_deref());
    let cut = rules.claim_now(now).minus(limits.orphan_after);
    claim.beat_at.is_bad() || claim.sign_of_life().is_some_and(|sign| sign >= cut)
}

/// How long the row must stay unchanged while we watch, before the times in it are trusted: a living holder would have
/// renewed it within that time, however wrong its clock is.
pub fn unchanged_for(claim: &Claim, rules: &Rules, ground: SweepReason) -> Span {
    let limits = rules.for_kind(claim.kind.as_deref());
    let time = match ground.reason() {
        // The holder is proven dead: no clock matters.
        Reason::ProcessDead => Span::ZERO,
        Reason::SessionMissing => limits.orphan_after,
        Reason::SessionStale => session_length(claim, limits),
        _ => lease_length(claim, rules, limits),
    };
    // Clocks also differ in their speed.
    Span::micros(time.as_micros().max(0) / 100 * 101)
}

fn lease_length(claim: &Claim, rules: &Rules, limits: &Thresholds) -> Span {
    match (rules.deadline, &claim.lease) {
        (DeadlineRule::Timeout, Lease::Timeout(Timeout::After(length))) => *length,
        // The session's timeout, if the holder need not register and has not.
        (DeadlineRule::Ttl | DeadlineRule::Holder, _) => limits.ttl.unwrap_or(limits.lease),
        // The same clock wrote both ends, so their distance is right even if the clock is wrong.
        (_, Lease::Until(until)) => match (until.at(), claim.sign_of_life()) {
            (Some(until), Some(renewed)) => limits.lease.max(until.since(renewed)),
            _ => limits.lease,
        },
        _ => limits.lease,
    }
}

fn session_length(claim: &Claim, limits: &Thresholds) -> Span {
    match &claim.registry {
        Registry::Listed(session) => match (session.stale_at.as_ref(), session.beat_at.at()) {
            (Some(stale), Some(beat)) => {
                stale.at().map_or(limits.orphan_after, |at| at.since(beat)).max(limits.orphan_after)
            }
            _ => limits.orphan_after,
        },
        Registry::None | Registry::Unregistered | Registry::Missing => limits.orphan_after,
    }
}
