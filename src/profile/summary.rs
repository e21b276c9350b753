//! A board in a few words, for the table of supported systems.

use super::format::{Board, Deadline};
use crate::domain::time::Span;

impl Board {
    /// Whether a late worker can finish somebody else's run.
    pub fn fencing(&self) -> &'static str {
        match self.fenced {
            Some(true) => "yes",
            Some(false) => "no",
            None => "-",
        }
    }

    /// What its deadlines are based on.
    pub fn deadline_basis(&self) -> String {
        let Deadline { column, claimed_at_plus, ttl, otherwise, holder, .. } = &self.deadline;
        if let (Some(_), Some(otherwise)) = (column, otherwise) {
            format!("a time in the row, or age of the claim, {otherwise}")
        } else if column.is_some() {
            "a time in the row".into()
        } else if claimed_at_plus.is_some() {
            "seconds in the row".into()
        } else if *holder {
            let after = self.orphan_after.unwrap_or(Span::minutes(10));
            format!("heartbeat of the holder, {after}")
        } else if ttl.is_some() {
            "a time to live by kind".into()
        } else if let Some(ttl) = otherwise {
            let since = if self.beat_at.is_some() { "heartbeat" } else { "age" };
            format!("{since} of the claim, {ttl}")
        } else {
            "none".into()
        }
    }

    /// What a reclaim does to the database.
    pub fn reclaim_effect(&self) -> String {
        let Some(act) = &self.reclaim else { return "shown only".into() };
        let columns: Vec<&str> = act.set.keys().map(String::as_str).collect();
        let change =
            if act.delete { "deletes the row".into() } else { format!("sets {}", columns.join(", ")) };
        if act.also.is_empty() { change } else { format!("{change}, and other rows") }
    }
}
