//! The trail as the screen shows it: one line an act, newest first; read by a thread of its own, which
//! waits for no database.

use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use tokio::sync::mpsc;

use crate::app::message::{Msg, TrailLine};
use crate::recovery::trail::{Entry, Stage, Trail};

/// How many acts the screen keeps.
const KEPT: usize = 1_000;

/// A handle on the thread.
#[derive(Debug)]
pub struct Past(Sender<()>);

impl Past {
    /// `labels` are the sources that are watched.
    pub fn start(labels: Vec<String>, answers: mpsc::Sender<Msg>) -> std::io::Result<Past> {
        let (ask, asked) = channel();
        thread::Builder::new().name("trail".into()).spawn(move || {
            while asked.recv().is_ok() {
                // One answer is enough for all who asked before it was looked up.
                while asked.try_recv().is_ok() {}
                if answers.blocking_send(Msg::Trail(lines(&labels))).is_err() {
                    return;
                }
            }
        })?;
        Ok(Past(ask))
    }

    /// Has the trail read again.
    pub fn read(&self) {
        // If the thread is gone, the trail that is shown stays.
        let _ = self.0.send(());
    }
}

/// The acts on record.
fn lines(labels: &[String]) -> Result<Vec<TrailLine>, String> {
    let Some(folder) = Trail::default_folder() else { return Ok(Vec::new()) };
    let trail = Trail::read_only(&folder).map_err(|error| error.to_string())?;
    let entries = trail.entries().map_err(|error| error.to_string())?;
    let mut lines: BTreeMap<String, TrailLine> = BTreeMap::new();
    for entry in &entries {
        let line = lines.entry(entry.record.action_id.clone()).or_insert_with(|| line(entry, labels));
        match entry.record.stage {
            Stage::Intent => line.images = images(&entry.record.before, &entry.record.after),
            Stage::Outcome => {
                line.outcome.clone_from(&entry.record.outcome);
                line.why.clone_from(&entry.record.why);
            }
        }
    }
    let mut lines: Vec<TrailLine> = lines.into_values().collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.seq));
    lines.truncate(KEPT);
    Ok(lines)
}

fn line(entry: &Entry, labels: &[String]) -> TrailLine {
    let record = &entry.record;
    TrailLine {
        seq: entry.seq,
        at: record.at.clone(),
        action_id: record.action_id.clone(),
        action: record.action.clone(),
        outcome: None,
        why: None,
        source: record.source.clone(),
        on: labels.iter().position(|label| *label == record.source),
        address: record.address.clone(),
        holder: record.holder.clone(),
        who: record.who.login.clone().unwrap_or_else(|| format!("uid {}", record.who.uid)),
        reason: record.reason.clone(),
        images: Vec::new(),
    }
}

/// What changed, column by column.
fn images(before: &Json, after: &Json) -> Vec<String> {
    let empty = Vec::new();
    let (before, after) = (before.as_array().unwrap_or(&empty), after.as_array().unwrap_or(&empty));
    let mut lines = Vec::new();
    for (was, is) in before.iter().zip(after) {
        let table = was["table"].as_str().unwrap_or_default();
        let at = was.get("rowid").or_else(|| was.get("key")).unwrap_or(&Json::Null);
        lines.push(format!("{table} {at}"));
        match (was["row"].as_object(), is["row"].as_object()) {
            (Some(was), Some(is)) => {
                for (column, value) in was {
                    let now = is.get(column).unwrap_or(&Json::Null);
                    if now != value {
                        lines.push(format!("  {column}: {value} → {now}"));
                    }
                }
            }
            (Some(was), None) => {
                lines.push("  deleted".into());
                lines.extend(was.iter().map(|(column, value)| format!("  - {column}: {value}")));
            }
            (None, Some(is)) => {
                lines.push("  added".into());
                lines.extend(is.iter().map(|(column, value)| format!("  + {column}: {value}")));
            }
            (None, None) => {}
        }
    }
    lines
}
