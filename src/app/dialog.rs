//! What is asked before an act, and what is said about it.

use tui_input::Input;

use super::message::{Many, Ready, Target};
use super::row::Row;
use crate::domain::recovery::Action;
use crate::domain::rules::DeadlineRule;
use crate::domain::shell::quoted;
use crate::domain::time::Moment;

/// An act on one claim that takes more than its key.
#[derive(Debug, Clone)]
pub struct Confirm {
    pub row: Row,
    pub target: Target,
    pub action: Action,
    pub asks: Asks,
    /// Why it is asked.
    pub why: String,
    pub name: Input,
    pub reason: Input,
    pub field: Field,
    /// What was wrong with the last answer.
    pub complaint: Option<String>,
}

/// How much has to be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asks {
    /// One key.
    Yes,
    /// That the tables are this profile's; asked once.
    Profile(String),
    /// The holder's name and a reason.
    Name(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Name,
    Reason,
}

/// An act on many claims.
#[derive(Debug, Clone)]
pub struct InBulk {
    pub question: u64,
    pub source: usize,
    pub action: Action,
    pub what: Many,
    /// So many claims of the same kind are in other sources, and not meant.
    pub elsewhere: usize,
    pub stage: Stage,
    pub name: Input,
    pub reason: Input,
    pub field: Field,
    pub complaint: Option<String>,
}

#[derive(Debug, Clone)]
pub enum Stage {
    /// They are being looked at.
    Looking,
    Preview(Ready),
    Running {
        done: usize,
        of: usize,
    },
    Failed(String),
}

/// An undo, before anybody has said yes.
#[derive(Debug, Clone)]
pub struct UndoPreview {
    pub source: usize,
    pub action_id: String,
    pub stage: UndoStage,
    pub scroll: u16,
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
        _ => "nothing: it stays as it is until a sweep or somebody takes it".into(),
    }
}

/// What the act will do, in words.
pub fn what_it_does(action: Action, row: &Row) -> String {
    let (id, holder) = (row.shown(), row.holder());
    match action {
        Action::Reclaim => format!("takes {id} from {holder} as the system's own recovery would"),
        Action::Release => format!("hands {id} back for {holder}, with no attempt counted"),
        Action::Extend => format!("gives {holder} more time for {id}"),
        Action::Requeue => format!("queues {id} again, with all its attempts"),
    }
}

/// The same act for a runbook.
pub fn command_line(action: Action, row: &Row, source: &str, asks: &Asks, reason: &str) -> String {
    let mut words = vec!["claimtop".to_owned(), action.to_string(), quoted(source), quoted(&row.id.address)];
    if row.generic {
        words.extend(["--profile".into(), quoted(&row.profile)]);
    }
    if let Asks::Name(holder) = asks {
        words.extend(["--force".into(), "--holder".into(), quoted(holder)]);
    }
    let reason = reason.trim();
    if matches!(asks, Asks::Name(_)) || !reason.is_empty() {
        let reason = if reason.is_empty() { "WHY" } else { reason };
        words.extend(["--reason".into(), quoted(reason)]);
    }
    words.join(" ")
}
