//! What may be done to a claim, and when it takes more than one word to do it.

use std::fmt;
use std::ops::Deref;

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

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Applied,
    /// The claim is not what it was when it was seen; nothing was written.
    Moved(String),
    /// It may not be done, and what would allow it; nothing was written.
    Refused(Refused),
    /// Whether it was done cannot be told.
    Unknown(String),
}

/// Why an act was refused. It reads as its whole sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The rule of ours that forbids it; none if the profile, the database or the journal does.
    pub rule: Option<Rule>,
    /// Why, without what would allow it.
    pub why: String,
    /// Whom else it would hit.
    pub reach: Reach,
    sentence: String,
}

/// Whom a refusal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    OneClaim,
    /// A full disk, a lost connection: every other act would be refused as well.
    EveryClaim,
}

/// A rule by which an act is not allowed as it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    ProcessAlive,
    /// Neither stale nor orphaned.
    NotInTrouble,
    HolderMayLive,
    SessionMayLive,
    WrongHolder,
    ReasonMissing,
    /// The rows contradict the zone of their times.
    TimesInDoubt,
}

impl Rule {
    /// The same for many claims.
    pub fn why(self) -> &'static str {
        match self {
            Rule::ProcessAlive => "the holder's process is alive",
            Rule::NotInTrouble => "neither stale nor orphaned",
            Rule::HolderMayLive => "the holder may still be running",
            Rule::SessionMayLive => "nothing shows that the session is gone",
            Rule::WrongHolder => "held by somebody else than the holder that was named",
            Rule::ReasonMissing => "--force needs a --reason",
            Rule::TimesInDoubt => "the zone of its times is in doubt",
        }
    }
}

impl Refused {
    fn by(rule: Rule, why: impl Into<String>, sentence: String) -> Refused {
        Refused { rule: Some(rule), why: why.into(), reach: Reach::OneClaim, sentence }
    }

    /// A refusal that every other act would meet as well.
    pub fn of_all(sentence: String) -> Refused {
        Refused { reach: Reach::EveryClaim, ..sentence.into() }
    }

    /// The same, said of one of several claims.
    pub fn of(self, claim: &str) -> Refused {
        Refused { sentence: format!("{claim}: {}", self.sentence), ..self }
    }
}

impl From<String> for Refused {
    fn from(sentence: String) -> Refused {
        Refused { rule: None, why: sentence.clone(), reach: Reach::OneClaim, sentence }
    }
}

impl From<&str> for Refused {
    fn from(sentence: &str) -> Refused {
        sentence.to_owned().into()
    }
}

impl Deref for Refused {
    type Target = str;

    fn deref(&self) -> &str {
        &self.sentence
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.sentence)
    }
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
            Outcome::Moved(why) | Outcome::Unknown(why) => Some(why),
            Outcome::Refused(why) => Some(why),
        }
    }
}

impl Outcome {
    /// Why the next act of a bulk need not be tried: it would meet the same. An answer that was lost means that
    /// the connection was.
    pub fn stops_a_bulk(&self) -> Option<&str> {
        match self {
            Outcome::Refused(refused) if refused.reach == Reach::EveryClaim => Some(refused),
            Outcome::Unknown(why) => Some(why),
            Outcome::Applied | Outcome::Refused(_) | Outcome::Moved(_) => None,
        }
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
/// A claim whose time is up, or whose holder is proven or registered as gone, takes one word. One
/// whose holder may well be alive takes its name; one that is not stale or orphaned, or whose
/// holder is known to live, takes `--force` and a reason as well.
pub fn permit(
    action: Action,
    claim: &Claim,
    verdict: &Verdict,
    conclusion: Conclusion,
    word: &Authorization,
) -> Result<(), Refused> {
    if let Some(doubt) = &verdict.doubt {
        let sentence = format!("{doubt}; `claimtop doctor` names the setting that fits");
        return Err(Refused::by(Rule::TimesInDoubt, doubt.to_string(), sentence));
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
        let (rule, why) = if lives {
            (Rule::ProcessAlive, format!("its process (pid {}) is alive", claim.worker.pid.visible()))
        } else {
            (Rule::NotInTrouble, format!("it is {}, neither stale nor orphaned", verdict.headline()))
        };
        return forced(word, claim.holder.as_deref(), rule, &why);
    }
    if over || gone || (has(Reason::SessionStale) && conclusion == Conclusion::ProbablyDead) {
        return Ok(());
    }
    named(word, claim.holder.as_deref(), Rule::HolderMayLive, "its holder may well be alive")
}

/// Whether a session may be ended, or why not and what would allow it: one that is given up, or whose
/// process is dead, takes one word; any other takes `--force`, a reason, and its name.
pub fn permit_end(id: &str, given_up: bool, worker: &Worker, word: &Authorization) -> Result<(), Refused> {
    let (rule, why) = match worker.process {
        Process::Dead => return Ok(()),
        Process::Alive => {
            (Rule::ProcessAlive, format!("its process (pid {}) is alive", worker.pid.visible()))
        }
        Process::Unknown if given_up => return Ok(()),
        Process::Unknown => {
            let why = format!("session {} still beats, or nothing shows that it is gone", visible(id));
            (Rule::SessionMayLive, why)
        }
    };
    forced(word, Some(id), rule, &why)
}

fn forced(word: &Authorization, holder: Option<&str>, rule: Rule, why: &str) -> Result<(), Refused> {
    if !word.force {
        let holder = holder.map_or_else(|| "nobody".into(), visible);
        let sentence = format!("{why}; --force --holder {holder} --reason TEXT would do it all the same");
        return Err(Refused::by(rule, why, sentence));
    }
    if word.reason.as_deref().is_none_or(|reason| reason.trim().is_empty()) {
        return Err(Refused::by(Rule::ReasonMissing, why, format!("{why}; --force needs a --reason")));
    }
    named(word, holder, rule, why)
}

fn named(word: &Authorization, is: Option<&str>, rule: Rule, why: &str) -> Result<(), Refused> {
    let holder = is.map_or_else(|| "nobody".into(), visible);
    match (word.holder.as_deref(), is) {
        (Some(named), Some(holder)) if named == holder => Ok(()),
        (Some(named), _) => {
            let sentence = format!("{} is not its holder; that is {holder}", visible(named));
            Err(Refused::by(Rule::WrongHolder, why, sentence))
        }
        (None, _) => Err(Refused::by(rule, why, format!("{why}; name the holder: --holder {holder}"))),
    }
}
