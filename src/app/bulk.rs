//! A bulk act: its claims, its preview, its dialog and its result.

use std::sync::Arc;

use tui_input::Input;

use super::dialog::SourceName;
use super::message::ShownClaim;
use crate::domain::filter::{Condition, Filter, Sense, Test};
use crate::domain::recovery::Action;
use crate::domain::shell::quoted;
use crate::domain::tally::{BulkTally, Foreseen};
use crate::domain::verdict::Set;

/// The claims of an act in bulk.
#[derive(Debug, Clone)]
pub enum Many {
    Marked(Vec<ShownClaim>),
    /// The claims whose worst set this is: those that a pane of the overview shows.
    Worst(Set),
    /// The claims in trouble of a group.
    Group(Box<GroupTarget>),
    /// Everything a session holds, and its own end.
    Session(String),
}

/// A group whose claims are acted on.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupTarget {
    /// Its name, which is also what is typed to confirm.
    pub name: String,
    pub filter: Filter,
    /// The same selection as options of the command line.
    pub options: Vec<String>,
}

/// The claims whose worst set this is.
pub fn filter_of_worst(set: Set) -> Filter {
    let mut filter = Filter { sets: vec![set], ..Filter::default() };
    if let worse @ [_, ..] = &worse_than(set)[..] {
        let test = Test::In(worse.to_vec());
        filter.conditions.push(Condition { sense: Sense::IsNot, test });
    }
    filter
}

/// The same selection as options of the command line.
pub fn options_of_worst(set: Set) -> Vec<String> {
    let mut options = vec!["--set".to_owned(), set.to_string()];
    let worse: Vec<&str> = worse_than(set).into_iter().map(Set::as_str).collect();
    if !worse.is_empty() {
        options.extend(["--filter".to_owned(), quoted(&format!("!set:{}", worse.join(",")))]);
    }
    options
}

fn worse_than(set: Set) -> Vec<Set> {
    Set::ALL.into_iter().filter(|other| *other < set).collect()
}

impl GroupTarget {
    /// Whether its holders are named on the command line.
    pub fn names_holders(&self) -> bool {
        self.options.iter().any(|option| option == "--holder")
    }
}

/// The preview of a bulk act.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ready {
    /// The result if nothing changes in between: `applied` will be done, the rest is skipped.
    pub tally: BulkTally,
    /// What is foreseen for each holder, then for each claim.
    pub lines: Vec<PreviewLine>,
    /// How many claims have no line of their own.
    pub unlisted: usize,
    /// Warnings.
    pub notes: Vec<String>,
    /// The holder must be named: it may be alive.
    pub holder: Option<String>,
    /// Those that are done only if their holders are named.
    pub unnamed: Unnamed,
    /// What happens if nobody does anything.
    pub left_alone: String,
    /// The profiles of the claims.
    pub profiles: Vec<String>,
}

/// A line of the list in a preview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreviewLine {
    Holder(String),
    /// A claim, what is foreseen of it, and why.
    Claim {
        address: String,
        foreseen: Foreseen,
        why: String,
    },
    /// Something else that will be done.
    Also(String),
}

/// Claims that are done only if their holders, which may be alive, are named.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unnamed {
    pub count: usize,
    pub holders: Vec<String>,
}

/// The result of a bulk act or of its undo.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub source: usize,
    pub of: BulkOf,
    pub tally: BulkTally,
    /// Undoes all of it.
    pub batch: Option<String>,
    /// The claims that it was done to, as far as they are kept.
    pub addresses: Vec<String>,
}

/// What was done in bulk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BulkOf {
    Act(Action),
    /// The undo of the acts with this id.
    Undo(String),
}

/// An act on many claims.
#[derive(Debug, Clone)]
pub struct InBulk {
    pub question: u64,
    pub source: usize,
    pub action: Action,
    pub what: Many,
    /// How many claims of the pane are in other sources; they are not included.
    pub elsewhere: usize,
    pub stage: Stage,
    pub name: Input,
    pub reason: Input,
    pub source_name: Option<SourceName>,
    pub field: BulkField,
    /// The first line of the preview's list that is shown.
    pub scroll: usize,
    pub complaint: Option<String>,
}

/// Where keys go in the preview of a bulk act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkField {
    /// The list: keys scroll, confirm, cancel and copy.
    List,
    Reason,
    Name,
    Source,
}

#[derive(Debug, Clone)]
pub enum Stage {
    /// The preview is being made.
    Looking,
    Preview(Arc<Ready>),
    Running {
        done: usize,
        of: usize,
    },
    Failed(String),
}

impl InBulk {
    /// The fields that keys can go to, from top to bottom.
    pub fn fields(&self) -> Vec<BulkField> {
        let name = self.typed_name().map(|_| BulkField::Name);
        let source = self.source_name.as_ref().map(|_| BulkField::Source);
        [BulkField::List, BulkField::Reason].into_iter().chain(name).chain(source).collect()
    }

    /// The text of the field that keys go to.
    pub fn input(&mut self) -> &mut Input {
        match (self.field, &mut self.source_name) {
            (BulkField::Name, _) => &mut self.name,
            (BulkField::Source, Some(source)) => &mut source.typed,
            (BulkField::List | BulkField::Reason | BulkField::Source, _) => &mut self.reason,
        }
    }

    /// What has to be typed to include claims whose holders may be alive.
    pub fn typed_name(&self) -> Option<String> {
        match (&self.stage, &self.what) {
            (Stage::Preview(ready), _) if ready.holder.is_some() => ready.holder.clone(),
            (Stage::Preview(ready), what) if ready.unnamed.count > 0 => {
                Some(match (what, &ready.unnamed.holders[..]) {
                    (Many::Group(group), _) => group.name.clone(),
                    (_, [one]) => one.clone(),
                    (Many::Worst(set), _) => set.to_string(),
                    (Many::Marked(_) | Many::Session(_), _) => "marked".into(),
                })
            }
            _ => None,
        }
    }

    /// Whether it was typed.
    pub fn is_named(&self) -> bool {
        self.typed_name().is_some_and(|name| self.name.value() == name)
    }

    /// The same act for a runbook, with the words that name its source; nothing for single claims that somebody marked.
    pub fn command_line(&self, ready: &Ready, source: &str, profiles: &[String]) -> Option<String> {
        let mut words = vec!["claimtop".to_owned(), self.action.to_string(), source.to_owned()];
        match &self.what {
            Many::Marked(_) => return None,
            Many::Worst(set) => words.extend(options_of_worst(*set)),
            Many::Group(group) => words.extend(group.options.iter().cloned()),
            Many::Session(session) => {
                words[1] = "release".into();
                words.extend(["--session".into(), quoted(session)]);
                if ready.holder.is_some() {
                    words.extend(["--force".into(), "--holder".into(), quoted(session)]);
                }
            }
        }
        words.extend(profiles.iter().flat_map(|profile| ["--profile".into(), quoted(profile)]));
        // On a command line whoever names holders includes those that may be alive.
        let names_holders = matches!(&self.what, Many::Group(group) if group.names_holders());
        if ready.unnamed.count > 0 && self.is_named() != names_holders {
            let what = if self.is_named() { "include" } else { "skip" };
            words.extend(["--unconfirmed".into(), what.into()]);
        }
        let reason = self.reason.value().trim();
        if ready.holder.is_some() || !reason.is_empty() {
            let reason = if reason.is_empty() { "WHY" } else { reason };
            words.extend(["--reason".into(), quoted(reason)]);
        }
        words.push("--yes".into());
        Some(words.join(" "))
    }
}
