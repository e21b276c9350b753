//! The verdict on a claim: in which sets it is, and for which reasons.
//!
//! [`judge`] is the definition. The statements that a store compiles are a fast way to the same
//! answer, and a property test holds them to it.

use serde::Serialize;
use std::fmt;
use std::sync::Arc;

use super::claim::{Claim, Lease, Process, Registry, Session, Timeout};
use super::rules::{DeadlineRule, Rules, Thresholds};
use super::time::{Moment, Reading, Span};
use super::zone_doubt::ZoneDoubt;

/// The sets a claim can be in, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Set {
    Orphaned,
    Stale,
    Unknown,
    Expiring,
    Healthy,
}

impl Set {
    pub const ALL: [Set; 5] = [Set::Orphaned, Set::Stale, Set::Unknown, Set::Expiring, Set::Healthy];

    pub fn as_str(self) -> &'static str {
        match self {
            Set::Orphaned => "orphaned",
            Set::Stale => "stale",
            Set::Unknown => "unknown",
            Set::Expiring => "expiring",
            Set::Healthy => "healthy",
        }
    }

    /// A mark beside every colour.
    pub fn sign(self) -> &'static str {
        match self {
            Set::Orphaned => "✗",
            Set::Stale => "!",
            Set::Unknown => "?",
            Set::Expiring => "~",
            Set::Healthy => "✓",
        }
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why a claim is in a set, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    ProcessDead,
    SessionMissing,
    SessionStale,
    LeaseExpired,
    TtlExceeded,
    HeartbeatSilent,
    Unreadable,
    ClockSkew,
    NoDeadline,
    DeadlineNear,
}

impl Reason {
    pub const ALL: [Reason; 10] = [
        Reason::ProcessDead,
        Reason::SessionMissing,
        Reason::SessionStale,
        Reason::LeaseExpired,
        Reason::TtlExceeded,
        Reason::HeartbeatSilent,
        Reason::Unreadable,
        Reason::ClockSkew,
        Reason::NoDeadline,
        Reason::DeadlineNear,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Reason::ProcessDead => "process_dead",
            Reason::SessionMissing => "session_missing",
            Reason::SessionStale => "session_stale",
            Reason::LeaseExpired => "lease_expired",
            Reason::TtlExceeded => "ttl_exceeded",
            Reason::HeartbeatSilent => "heartbeat_silent",
            Reason::Unreadable => "unreadable",
            Reason::ClockSkew => "clock_skew",
            Reason::NoDeadline => "no_deadline",
            Reason::DeadlineNear => "deadline_near",
        }
    }

    pub fn set(self) -> Set {
        match self {
            Reason::ProcessDead | Reason::SessionMissing | Reason::SessionStale => Set::Orphaned,
            Reason::LeaseExpired | Reason::TtlExceeded | Reason::HeartbeatSilent => Set::Stale,
            Reason::Unreadable | Reason::ClockSkew | Reason::NoDeadline => Set::Unknown,
            Reason::DeadlineNear => Set::Expiring,
        }
    }

    /// One sentence for all the claims that share the reason: "7 claims: their session is gone".
    pub fn sentence(self, count: u64) -> String {
        let (claims, their) = if count == 1 { ("claim", "its") } else { ("claims", "their") };
        let what = match self {
            Reason::ProcessDead => format!("{their} process is dead"),
            Reason::SessionMissing => format!("{their} session is gone"),
            Reason::SessionStale => format!("{their} session has stopped beating"),
            Reason::LeaseExpired => format!("{their} lease has run out"),
            Reason::TtlExceeded => format!("no sign of life for longer than {their} kind may take"),
            Reason::HeartbeatSilent => format!("{their} heartbeat fell silent under a running lease"),
            Reason::Unreadable => format!("a time in {their} row cannot be read"),
            Reason::ClockSkew => {
                format!("{their} times cannot be trusted: a clock is wrong, or they are in another zone")
            }
            Reason::NoDeadline => format!("no time to live is known for {their} kind"),
            Reason::DeadlineNear => format!("{their} time is nearly up"),
        };
        format!("{count} {claims}: {what}")
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A set of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reasons(u16);

impl Reasons {
    pub fn add(&mut self, reason: Reason) {
        self.0 |= 1 << reason as u16;
    }

    /// What remains of them where no time can be trusted, and that itself.
    fn without_times(self) -> Reasons {
        let rests_on_times = |reason: &Reason| match reason {
            Reason::SessionStale
            | Reason::LeaseExpired
            | Reason::TtlExceeded
            | Reason::HeartbeatSilent
            | Reason::DeadlineNear => true,
            Reason::ProcessDead
            | Reason::SessionMissing
            | Reason::Unreadable
            | Reason::ClockSkew
            | Reason::NoDeadline => false,
        };
        self.iter().filter(|reason| !rests_on_times(reason)).chain([Reason::ClockSkew]).collect()
    }

    fn add_if(&mut self, reason: Reason, holds: bool) {
        if holds {
            self.add(reason);
        }
    }

    pub fn contains(self, reason: Reason) -> bool {
        self.0 & (1 << reason as u16) != 0
    }

    /// All reasons of a set.
    pub fn of(set: Set) -> Reasons {
        Reason::ALL.into_iter().filter(|reason| reason.set() == set).collect()
    }

    /// Whether they have one in common.
    pub fn meet(self, other: Reasons) -> bool {
        self.0 & other.0 != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Worst first.
    pub fn iter(self) -> impl Iterator<Item = Reason> {
        Reason::ALL.into_iter().filter(move |&reason| self.contains(reason))
    }

    /// The sets these reasons put a claim into, worst first; healthy only without any reason.
    pub fn sets(self) -> Vec<Set> {
        let mut sets: Vec<Set> = self.iter().map(Reason::set).collect();
        sets.sort();
        sets.dedup();
        if sets.is_empty() {
            sets.push(Set::Healthy);
        }
        sets
    }
}

impl FromIterator<Reason> for Reasons {
    fn from_iter<I: IntoIterator<Item = Reason>>(reasons: I) -> Reasons {
        let mut all = Reasons::default();
        for reason in reasons {
            all.add(reason);
        }
        all
    }
}

/// What is to be said of a claim at one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub reasons: Reasons,
    pub deadline: Option<Moment>,
    /// Age since the sign of life over the TTL; above 1 the claim is overdue.
    pub overrun: Option<f64>,
    /// Twice the time it may take, or more.
    pub runaway: bool,
    /// As many attempts as it may have.
    pub exhausted: bool,
    /// Why none of its times can be trusted: no act may rest on them.
    pub doubt: Option<Arc<ZoneDoubt>>,
}

impl Verdict {
    /// The worst set the claim is in.
    pub fn headline(&self) -> Set {
        self.reasons.iter().next().map_or(Set::Healthy, Reason::set)
    }

    pub fn is_in(&self, set: Set) -> bool {
        match set {
            Set::Healthy => self.reasons.is_empty(),
            _ => self.reasons.iter().any(|reason| reason.set() == set),
        }
    }

    /// Whether it rests on what the registry says of the holder. Where a holder that need not register is not
    /// there, that is why the claim's own age decided.
    pub fn rests_on_registry(&self, claim: &Claim) -> bool {
        let has = |reason: Reason| self.reasons.contains(reason);
        has(Reason::SessionStale)
            || has(Reason::SessionMissing)
            || (has(Reason::TtlExceeded) && claim.registry == Registry::Unregistered)
    }
}

/// Where a deadline lies, and how long before it a claim is expiring.
struct EffectiveDeadline {
    at: Moment,
    warn: Span,
    /// The length of time the deadline ends: an overrun is measured in it.
    length: Span,
}

/// The verdict on `claim` at `now`, by `rules`. Never panics, whatever the row holds.
pub fn judge(claim: &Claim, rules: &Rules, now: Moment) -> Verdict {
    let limits = rules.for_kind(claim.kind.as_deref());
    let claim_now = rules.claim_now(now);
    let session_now = rules.session_now(now);
    let rule = rule_for(claim, rules.deadline);
    let mut reasons = Reasons::default();

    let deadline = deadline(claim, rule, limits);
    let clock = match rule {
        DeadlineRule::Holder => session_now,
        DeadlineRule::Lease
        | DeadlineRule::Timeout
        | DeadlineRule::Ttl
        | DeadlineRule::Never
        | DeadlineRule::Endless => claim_now,
    };

    // The deadline.
    let passed = deadline.as_ref().is_some_and(|deadline| deadline.at < clock);
    match rule {
        DeadlineRule::Lease | DeadlineRule::Timeout => {
            reasons.add_if(Reason::LeaseExpired, passed);
        }
        DeadlineRule::Ttl => {
            reasons.add_if(Reason::TtlExceeded, passed);
            reasons.add_if(Reason::NoDeadline, limits.ttl.is_none());
        }
        DeadlineRule::Never => reasons.add(Reason::NoDeadline),
        // A silent holder is an orphan's reason, below.
        DeadlineRule::Holder | DeadlineRule::Endless => {}
    }
    reasons.add_if(
        Reason::DeadlineNear,
        deadline.as_ref().is_some_and(|deadline| !passed && deadline.at.minus(deadline.warn) <= clock),
    );

    // Its own heartbeat, under a lease that still runs.
    let runs = deadline.is_some() && !passed;
    if runs && matches!(rule, DeadlineRule::Lease | DeadlineRule::Timeout) {
        let cut = claim_now.minus(limits.silent_after);
        let silent = claim.beat_at.at().is_some_and(|beat| beat < cut);
        reasons.add_if(Reason::HeartbeatSilent, silent);
    }

    // Its holder.
    let passed_lease = passed && rule != DeadlineRule::Holder;
    reasons.add_if(Reason::SessionMissing, claim.disowned && !claim.alive);
    reasons.add_if(Reason::ProcessDead, claim.worker.process == Process::Dead);
    match &claim.registry {
        _ if claim.alive => {}
        Registry::None | Registry::Unregistered => {}
        Registry::Missing => reasons.add(Reason::SessionMissing),
        Registry::Listed(session) => {
            let silent = gives_up(session, limits.orphan_after).is_some_and(|at| at < session_now);
            // A living process is no orphan for its silence alone; it is slow, or stuck, unless
            // its claim beats by itself.
            let lives = claim.worker.process == Process::Alive;
            let beats = claim.beat_at.at().is_some_and(|beat| beat >= claim_now.minus(limits.silent_after));
            reasons.add_if(Reason::SessionStale, silent && !lives);
            reasons.add_if(Reason::HeartbeatSilent, silent && lives && !beats && !passed_lease);
        }
    }

    // What cannot be known.
    reasons.add_if(Reason::Unreadable, is_unreadable(claim, rules.deadline));
    let ahead =
        |reading: &Reading, now: Moment| reading.at().is_some_and(|at| at > now.plus(rules.clock_noise));
    let skewed = ahead(&claim.claimed_at, claim_now)
        || ahead(&claim.beat_at, claim_now)
        || matches!(&claim.registry, Registry::Listed(session) if ahead(&session.beat_at, session_now));
    reasons.add_if(Reason::ClockSkew, skewed);

    let exhausted = matches!((claim.attempts, claim.max_attempts), (Some(n), Some(max)) if n >= max);
    if let Some(doubt) = &rules.doubt {
        let reasons = reasons.without_times();
        let doubt = Some(Arc::clone(doubt));
        return Verdict { reasons, deadline: None, overrun: None, runaway: false, exhausted, doubt };
    }
    let (overrun, runaway) = match &deadline {
        Some(deadline) if deadline.length.is_positive() => {
            let over = clock.since(deadline.at);
            let ratio = 1.0 + over.as_seconds_f64() / deadline.length.as_seconds_f64();
            (Some(ratio.max(0.0)), over >= deadline.length)
        }
        _ => (None, false),
    };
    let deadline = deadline.map(|deadline| deadline.at);
    Verdict { reasons, deadline, overrun, runaway, exhausted, doubt: None }
}

/// Where the deadline of this claim comes from: of a holder that need not register, and has not, the
/// registry tells nothing, and the claim's own age decides.
fn rule_for(claim: &Claim, rule: DeadlineRule) -> DeadlineRule {
    match (rule, &claim.registry) {
        // It has until it stops.
        (DeadlineRule::Holder, _) if claim.alive => DeadlineRule::Endless,
        (DeadlineRule::Holder, Registry::Unregistered) => DeadlineRule::Ttl,
        (rule, _) => rule,
    }
}

fn deadline(claim: &Claim, rule: DeadlineRule, limits: &Thresholds) -> Option<EffectiveDeadline> {
    match rule {
        DeadlineRule::Lease => match &claim.lease {
            Lease::Until(Reading::At(at)) => {
                Some(EffectiveDeadline { at: *at, warn: limits.warn_of_lease(), length: limits.lease })
            }
            Lease::Until(_) | Lease::Unwritten | Lease::Timeout(_) => None,
        },
        DeadlineRule::Timeout => match (&claim.lease, claim.claimed_at.at()) {
            (Lease::Timeout(Timeout::After(length)), Some(since)) => Some(EffectiveDeadline {
                at: since.plus(*length),
                warn: limits.warn_of(*length),
                length: *length,
            }),
            _ => None,
        },
        DeadlineRule::Ttl => match (limits.ttl, sign_of_life_for_ttl(claim)) {
            (Some(ttl), Some(since)) => {
                Some(EffectiveDeadline { at: since.plus(ttl), warn: limits.warn_of(ttl), length: ttl })
            }
            _ => None,
        },
        DeadlineRule::Holder => holder_deadline(claim, limits.orphan_after).map(|at| EffectiveDeadline {
            at,
            warn: limits.warn_of(limits.orphan_after),
            length: limits.orphan_after,
        }),
        DeadlineRule::Never | DeadlineRule::Endless => None,
    }
}

/// The sign of life that a TTL counts from. Without a readable `claimed_at` there is none: a
/// heartbeat may be left over from an earlier attempt.
fn sign_of_life_for_ttl(claim: &Claim) -> Option<Moment> {
    match (&claim.claimed_at, &claim.beat_at) {
        (Reading::Null | Reading::Bad(_), _) | (_, Reading::Bad(_)) => None,
        _ => claim.sign_of_life(),
    }
}

/// The instant after which a session counts as stale.
pub fn gives_up(session: &Session, orphan_after: Span) -> Option<Moment> {
    match &session.stale_at {
        Some(reading) => reading.at(),
        None => session.beat_at.at().map(|beat| beat.plus(orphan_after)),
    }
}

fn holder_deadline(claim: &Claim, orphan_after: Span) -> Option<Moment> {
    match &claim.registry {
        Registry::Listed(session) => gives_up(session, orphan_after),
        Registry::None | Registry::Unregistered | Registry::Missing => None,
    }
}

/// Whether a time the verdict rests on is NULL where it must not be, or no time at all.
fn is_unreadable(claim: &Claim, rule: DeadlineRule) -> bool {
    let unusable = |reading: &Reading| matches!(reading, Reading::Null | Reading::Bad(_));
    let lease = match (&claim.lease, rule) {
        (Lease::Until(reading), DeadlineRule::Lease) => unusable(reading),
        (Lease::Timeout(timeout), DeadlineRule::Timeout) => timeout.span().is_none(),
        _ => false,
    };
    let session = match &claim.registry {
        Registry::Listed(session) => {
            unusable(&session.beat_at) || session.stale_at.as_ref().is_some_and(unusable)
        }
        Registry::None | Registry::Unregistered | Registry::Missing => false,
    };
    // A heartbeat may be NULL, for the worker has not beaten yet, unless everything rests on it.
    let alone = rule == DeadlineRule::Ttl && claim.claimed_at == Reading::Absent;
    let beat = claim.beat_at.is_bad() || alone && claim.beat_at == Reading::Null;
    lease || session || unusable(&claim.claimed_at) || beat
}
