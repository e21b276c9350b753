//! What an act is told, and what comes of it.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::borrow::Cow;
use std::thread::JoinHandle;
use std::time::Duration;

use super::image::{Change, Differences, Images, Side};
use super::seen::Seen;
use super::side_effects::SideEffects;
use crate::domain::recovery::{Action, Authorization, Moved, Outcome, Refusal};
use crate::domain::snapshot::Extension;
use crate::domain::time::Moment;
use crate::profile::format::{Act, Board, Profile};

/// How an act is to be done.
#[derive(Debug, Clone)]
pub struct Order<'a> {
    pub action: Action,
    pub authorization: &'a Authorization,
    pub action_id: &'a str,
    /// Everything but the commit.
    pub dry_run: bool,
}

/// An act that is ready to be committed, for the record.
#[derive(Debug)]
pub struct Pending<'a> {
    pub seen: &'a Seen,
    pub address: String,
    pub changes: &'a [Change],
    pub db_at: Moment,
    /// The text of the [`super::TransactionMark`]: by what the database can be asked what became of it.
    pub transaction: Option<&'a str>,
}

/// What came of an act.
#[derive(Debug)]
pub struct Acted {
    pub outcome: Outcome,
    pub changes: Vec<Change>,
    /// The statements with their values, for a dry run.
    pub preview: Vec<String>,
    /// As in [`Pending`].
    pub transaction: Option<String>,
    pub effects: SideEffects,
}

impl Acted {
    pub fn nothing(outcome: Outcome) -> Acted {
        let (changes, preview, effects) = (Vec::new(), Vec::new(), SideEffects::default());
        Acted { outcome, changes, preview, transaction: None, effects }
    }

    /// Somebody else had been quicker, so that nothing was tried.
    pub fn too_late() -> Acted {
        Acted::nothing(Outcome::Moved(Moved::SomebodyWasFaster))
    }

    /// The same, but for what would have been applied.
    pub fn unless_applied(self, outcome: Outcome) -> Acted {
        match self.outcome {
            // What was taken back has changed nothing.
            Outcome::Applied if matches!(outcome, Outcome::Refused(_)) => Acted::nothing(outcome),
            Outcome::Applied => Acted { outcome, ..self },
            Outcome::Moved(_) | Outcome::Refused(_) | Outcome::Unknown(_) => self,
        }
    }

    pub fn images(&self, side: Side) -> Json {
        Images { changes: &self.changes, side }.json()
    }
}

/// How an act is to be taken back.
#[derive(Debug, Clone, Copy)]
pub enum Undo<'a> {
    /// Everything but the commit.
    Rehearse,
    /// For good. The table of records gets a row of it, too.
    For { action_id: &'a str, address: &'a str, authorization: &'a Authorization },
}

impl Undo<'_> {
    pub fn is_rehearsal(&self) -> bool {
        matches!(self, Undo::Rehearse)
    }

    pub fn action_id(&self) -> &str {
        match self {
            Undo::Rehearse => "",
            Undo::For { action_id, .. } => action_id,
        }
    }

    /// What the table of records keeps of it.
    pub fn note<'a>(&'a self, changes: &'a [Change]) -> Option<Note<'a>> {
        match self {
            Undo::Rehearse => None,
            Undo::For { address, authorization, .. } => {
                Some(Note { action: "undo", address, authorization, changes })
            }
        }
    }
}

/// Writes the record of a pending act; an error means that the act must not be.
pub type Recorder<'a> = dyn FnMut(&Pending<'_>) -> Result<(), String> + 'a;
/// The same for rows that are changed without a claim of theirs: an undo, the end of a session.
pub type ChangeRecorder<'a> = dyn FnMut(&Acted) -> Result<(), String> + 'a;

/// The records of the acts of a batch.
pub trait Intents {
    /// An act that is ready to be committed, with its number.
    fn add(&mut self, number: usize, pending: &Pending<'_>);
    /// The last so many are not, after all.
    fn take_back(&mut self, count: usize);
    /// Writes down all of them; an error means that none of them must be.
    fn write(&mut self) -> Result<(), String>;
}

/// What came of the acts of one transaction.
#[derive(Debug)]
pub struct Batch {
    /// So many of the first, in the order that they have now, were not even begun: somebody else had been
    /// quicker with them.
    pub passed: usize,
    /// One result for each of the next; at least one, unless some were passed over.
    pub tried: Vec<Acted>,
    /// How long all other writers were kept out; nothing, if only those of the same rows were.
    pub held: Option<Duration>,
    /// Keeps the log of the database short meanwhile, so that no other writer has to; it keeps nobody
    /// waiting.
    pub log: Option<JoinHandle<()>>,
}

/// The name of one act among many.
pub fn numbered(action_id: &str, number: usize) -> String {
    format!("{action_id}.{number}")
}

/// What a profile says of an action on a board.
pub fn act_of(board: &Board, action: Action) -> Option<&Act> {
    match action {
        Action::Reclaim => board.reclaim.as_ref(),
        Action::Release => board.release.as_ref(),
        Action::Extend => board.extend.as_ref(),
        Action::Requeue => board.requeue.as_ref(),
    }
}

/// What a profile says of an order; an error if it says nothing, or cannot do it as it was asked.
pub fn ordered<'a>(profile: &'a Profile, board: &str, order: &Order<'_>) -> Result<&'a Act, Refusal> {
    let written = profile.boards.iter().find(|written| written.name == board);
    let act = written
        .and_then(|written| act_of(written, order.action))
        .ok_or_else(|| Refusal::NoSuchAct { profile: profile.name.clone(), action: order.action })?;
    if let Some(why) = &act.unusable {
        return Err(Refusal::UnusableAct { action: order.action, why: why.clone() });
    }
    let has_length = order.action == Action::Extend && order.authorization.by.is_some();
    if has_length && extension(act) == Extension::Anew {
        return Err(Refusal::NoLength);
    }
    Ok(act)
}

/// Whether an extension can be of any length.
pub fn extension(act: &Act) -> Extension {
    let mut sql = act.set.values().chain(act.statements().map(|statement| &statement.sql));
    let names_length = |sql: &String| sql.contains(":until") || sql.contains(":by");
    if sql.any(names_length) { Extension::AnyLength } else { Extension::Anew }
}

/// What the audit table keeps of an act: the rows as they were, and what it made other of them.
#[derive(Debug)]
pub struct Note<'a> {
    pub action: &'a str,
    pub address: &'a str,
    pub authorization: &'a Authorization,
    pub changes: &'a [Change],
}

/// How records name a sweep.
pub const SWEEPER: &str = "sweeper";

/// The part of a record that says what was done, to which claim, and by whom.
#[derive(Deserialize)]
struct Swept<'a> {
    action: &'a str,
    #[serde(borrow)]
    address: Cow<'a, str>,
    by: Option<&'a str>,
}

/// The address of the claim that a sweep reclaimed, if this record of the audit table tells of that.
pub fn swept_address(record: &str) -> Option<Cow<'_, str>> {
    let swept: Swept<'_> = serde_json::from_str(record).ok()?;
    let is_a_sweep = swept.by == Some(SWEEPER) && swept.action == Action::Reclaim.as_str();
    is_a_sweep.then_some(swept.address)
}

/// The first id that an act of this instant can have: ids begin with the time. An hour is left for clocks that
/// differ.
pub fn first_id_at(at: Moment) -> String {
    let millis = at.micros().max(0).unsigned_abs() / 1_000;
    let digits = format!("{:012x}", millis.saturating_sub(3_600_000));
    format!("{}-{}", &digits[..8], &digits[8..12])
}

/// Its text.
#[derive(Serialize)]
struct AuditEntry<'a> {
    action: &'a str,
    address: &'a str,
    after: Differences<'a>,
    before: Images<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
    reason: Option<&'a str>,
}

impl Note<'_> {
    pub fn text(&self) -> String {
        let entry = AuditEntry {
            action: self.action,
            address: self.address,
            after: Differences(self.changes),
            before: Images { changes: self.changes, side: Side::Before },
            by: self.authorization.unattended.then_some(SWEEPER),
            reason: self.authorization.reason.as_deref(),
        };
        // Texts, numbers and lists of them can always be written.
        serde_json::to_string(&entry).unwrap_or_default()
    }
}

/// An act whose record could not be written must not be, and the next one's could not be either.
pub fn unrecorded(problem: &str) -> Outcome {
    Outcome::Refused(Refusal::Unrecorded { why: problem.into() })
}
