//! Confirmation dialogs and their texts.

use tui_input::Input;

use super::message::ShownClaim;
use super::row::Row;
use crate::domain::recovery::{Action, TERMINATE};
use crate::domain::rules::DeadlineRule;
use crate::domain::shell::quoted;
use crate::domain::time::{Moment, Span};

/// An act on one claim that needs a confirmation.
#[derive(Debug, Clone)]
pub struct Confirm {
    pub row: Row,
    pub target: ShownClaim,
    pub action: Action,
    pub asks: Asks,
    /// Why it is asked.
    pub why: String,
    /// How much more time an extension gives, if that can be chosen.
    pub time: Option<Input>,
    pub name: Input,
    pub reason: Input,
    pub field: ConfirmField,
    /// What was wrong with the last answer.
    pub complaint: Option<String>,
}

impl Confirm {
    /// What has to be typed, from top to bottom; nothing, if one key is enough.
    pub fn fields(&self) -> Vec<ConfirmField> {
        let time = self.time.iter().map(|_| ConfirmField::Time);
        match &self.asks {
            Asks::Profile(_) => Vec::new(),
            Asks::Yes if self.time.is_none() => Vec::new(),
            Asks::Yes => time.chain([ConfirmField::Reason]).collect(),
            Asks::Name(_) | Asks::Source(_) => {
                time.chain([ConfirmField::Name, ConfirmField::Reason]).collect()
            }
        }
    }

    /// The text of the field that keys go to.
    pub fn input(&mut self) -> &mut Input {
        match (self.field, &mut self.time) {
            (ConfirmField::Time, Some(time)) => time,
            (ConfirmField::Reason, _) => &mut self.reason,
            (ConfirmField::Name | ConfirmField::Time, _) => &mut self.name,
        }
    }
}

/// What the operator has to confirm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asks {
    /// One key.
    Yes,
    /// That the tables are this profile's; asked once.
    Profile(String),
    /// The source's name: its config wants every act confirmed.
    Source(String),
    /// The holder's name and a reason.
    Name(String),
}

/// What is typed before an act on one claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfirmField {
    Time,
    /// The holder's name, or the source's.
    Name,
    Reason,
}

/// The name of a source whose config asks for it before every act.
#[derive(Debug, Clone)]
pub struct SourceName {
    pub wanted: String,
    pub typed: Input,
}

impl SourceName {
    pub fn new(wanted: String) -> SourceName {
        SourceName { wanted, typed: Input::default() }
    }

    pub fn is_typed(&self) -> bool {
        self.typed.value().trim() == self.wanted
    }

    /// What is asked for.
    pub fn question(&self) -> String {
        format!("Every act on this source needs its name. Type {}:", self.wanted)
    }

    /// What is wrong as long as something else is typed.
    pub fn complaint(&self) -> String {
        format!("that is not the name of the source; type {}", self.wanted)
    }
}

/// An undo that waits for its confirmation.
#[derive(Debug, Clone)]
pub struct UndoPreview {
    pub source: usize,
    pub action_id: String,
    pub stage: UndoStage,
    pub source_name: Option<SourceName>,
    pub scroll: u16,
    pub complaint: Option<String>,
}

#[derive(Debug, Clone)]
pub enum UndoStage {
    Looking,
    /// Every row and column that it writes, as lines.
    Preview(Vec<String>),
    Failed(String),
}

/// What will happen to the claim if nobody does anything.
pub fn if_nothing_is_done(row: &Row, now: Moment) -> String {
    let deadline = row.judged.verdict.deadline;
    if let (Some(after), Some(sign)) = (row.nature.self_heals_after, row.claim().sign_of_life()) {
        let left = sign.plus(after).since(now);
        return if left.is_positive() {
            format!("the system frees it automatically in {left}")
        } else {
            format!("the system should have freed it automatically {} ago", left.abs())
        };
    }
    match (row.nature.rules.deadline, deadline) {
        (DeadlineRule::Lease | DeadlineRule::Timeout, Some(deadline)) if deadline >= now => {
            format!("any worker may take it in {}", deadline.since(now))
        }
        (DeadlineRule::Lease | DeadlineRule::Timeout, Some(_)) => {
            "any worker that asks for this very task may take it; none has yet".into()
        }
        (DeadlineRule::Ttl | DeadlineRule::Holder, Some(deadline)) if deadline >= now => {
            format!("its time is up in {}; then a sweep may take it, if one runs", deadline.since(now))
        }
        _ => "it stays as it is until a sweep or somebody takes it".into(),
    }
}

/// What the act will do, in words.
pub fn what_it_does(action: Action, row: &Row) -> String {
    let (id, holder) = (row.shown(), row.holder());
    match action {
        Action::Reclaim => format!("takes {id} from {holder} as the system's own recovery would"),
        Action::Release => format!("hands {id} back for {holder}, with no attempt counted"),
        Action::Extend => format!("gives {holder} more time for {id}, counted from now"),
        Action::Requeue => format!("queues {id} again, with all its attempts"),
    }
}

/// What an extension gives, and until when.
pub fn what_it_gives(row: &Row, by: Span, now: Moment) -> String {
    let until = now.plus(by);
    let clock = |at: Moment| at.rfc3339().get(11..19).unwrap_or_default().to_owned();
    match row.judged.verdict.deadline {
        Some(deadline) if deadline >= until => {
            format!("{by} from now: until {}Z, which is no later than its deadline now", clock(until))
        }
        Some(deadline) if deadline >= now => {
            format!("{by} from now: until {}Z instead of {}Z", clock(until), clock(deadline))
        }
        _ => format!("{by} from now: until {}Z", clock(until)),
    }
}

/// The same act for a runbook, with the words that name its source.
pub fn command_line(confirm: &Confirm, source: &str) -> String {
    let Confirm { action, row, asks, .. } = confirm;
    let mut words =
        vec!["claimtop".to_owned(), action.to_string(), source.to_owned(), quoted(&row.id.address)];
    if row.generic {
        words.extend(["--profile".into(), quoted(&row.profile)]);
    }
    if matches!(asks, Asks::Name(_)) {
        words.push("--force".into());
        words.extend(row.claim().holder.iter().flat_map(|holder| ["--holder".into(), quoted(holder)]));
    }
    if let Some(time) = &confirm.time {
        words.extend(["--by".into(), quoted(time.value().trim())]);
    }
    if matches!(asks, Asks::Source(_)) {
        words.push("--yes".into());
    }
    let reason = confirm.reason.value().trim();
    if matches!(asks, Asks::Name(_)) || !reason.is_empty() {
        let reason = if reason.is_empty() { "WHY" } else { reason };
        words.extend(["--reason".into(), quoted(reason)]);
    }
    words.join(" ")
}

/// The command that ends the server session behind a claim: the screen itself never does that.
pub fn terminate_command(row: &Row, source: &str) -> String {
    let holder = row.claim().holder.as_deref().map_or_else(|| "PID".into(), quoted);
    let address = quoted(&row.id.address);
    format!("claimtop {TERMINATE} {source} {address} --holder {holder} --force --reason WHY")
}
