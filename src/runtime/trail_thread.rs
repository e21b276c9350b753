//! The trail as the screen shows it: one line an act, newest first; read by a thread of its own, which
//! waits for no database.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use tokio::sync::mpsc;

use crate::app::message::{Msg, TrailLine};
use crate::recovery::trail::{Entry, Stage, Trail};
use crate::report::changes;

/// How many acts the screen keeps.
const KEPT: usize = 1_000;

/// A handle on the thread.
#[derive(Debug)]
pub struct TrailThread(Sender<()>);

impl TrailThread {
    /// `labels` are the sources that are watched.
    pub fn start(labels: Vec<String>, answers: mpsc::Sender<Msg>) -> std::io::Result<TrailThread> {
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
        Ok(TrailThread(ask))
    }

    /// Has the trail read again.
    pub fn read(&self) {
        // If the thread is gone, the trail that is shown stays.
        let _ = self.0.send(());
    }
}

/// The newest acts on record. What was done before them is not read.
fn lines(labels: &[String]) -> Result<Vec<TrailLine>, String> {
    let Some(folder) = Trail::default_folder() else { return Ok(Vec::new()) };
    let trail = Trail::read_only(&folder).map_err(|error| error.to_string())?;
    let mut lines: HashMap<String, TrailLine> = HashMap::new();
    let mut passed = 0;
    let read = trail.each_entry_back(|entry| {
        let id = &entry.record.action_id;
        if !lines.contains_key(id) {
            if lines.len() == KEPT {
                // The intent of the oldest one may still be to come: others write in between.
                passed += 1;
                return if passed < KEPT { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
            }
            lines.insert(id.clone(), line(&entry, labels));
        }
        if let Some(line) = lines.get_mut(id) {
            tell(line, &entry);
        }
        ControlFlow::Continue(())
    });
    read.map_err(|error| error.to_string())?;
    let mut lines: Vec<TrailLine> = lines.into_values().collect();
    lines.sort_by(|one, other| other.seq.cmp(&one.seq).then_with(|| one.action_id.cmp(&other.action_id)));
    Ok(lines)
}

/// Adds what a record says to the line of its act; later records were added before.
fn tell(line: &mut TrailLine, entry: &Entry) {
    let record = &entry.record;
    line.seq = entry.seq;
    line.at.clone_from(&record.at);
    match record.stage {
        Stage::Intent => line.images = changes::lines(&record.before, &record.after),
        Stage::Outcome if line.outcome.is_none() => {
            line.outcome.clone_from(&record.outcome);
            line.why.clone_from(&record.why);
        }
        Stage::Outcome => {}
    }
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
