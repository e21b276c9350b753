//! The trail as the screen shows it: the newest acts first, bulks folded. Its own thread reads it and waits for no
//! database. A long search shows what it has found so far, and yields to the next question.

mod act_line;
mod newest;

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use tokio::sync::mpsc;

use crate::app::audit::{TrailPage, Unfolded};
use crate::app::message::{Msg, TrailLine};
use crate::app::row::RowId;
use crate::domain::audit::{ActFilter, Field, Match};
use crate::recovery::trail::Trail;
use newest::{Newest, Shape};

/// How many lines the screen keeps, and how many acts of a bulk are unfolded.
const KEPT: usize = 1_000;
/// How many acts the detail of a claim lists.
const HISTORY: usize = 20;

/// Questions to the trail.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TrailQuestion {
    /// The newest acts that pass a filter.
    Acts(ActFilter),
    /// The acts of one bulk that pass a filter.
    Bulk { id: String, filter: ActFilter },
    /// What was done to a claim.
    Claim(RowId),
}

impl TrailQuestion {
    /// Whether the answer to this question is no longer needed once the other was asked.
    fn is_replaced_by(&self, other: &TrailQuestion) -> bool {
        match (self, other) {
            (TrailQuestion::Bulk { id, .. }, TrailQuestion::Bulk { id: other, .. }) => id == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// A handle on the thread.
#[derive(Debug)]
pub(super) struct TrailThread(Sender<TrailQuestion>);

impl TrailThread {
    /// `labels` are the watched sources.
    pub(super) fn start(labels: Vec<String>, answers: mpsc::Sender<Msg>) -> std::io::Result<TrailThread> {
        let (ask, asked) = channel();
        let mut reader = TrailReader { labels, asked, answers, waiting: VecDeque::new() };
        thread::Builder::new().name("trail".into()).spawn(move || while reader.answer_next() {})?;
        Ok(TrailThread(ask))
    }

    /// Asks; the answer comes as a message.
    pub(super) fn ask(&self, question: TrailQuestion) {
        // If the thread is gone, the trail that is shown stays.
        let _ = self.0.send(question);
    }
}

struct TrailReader {
    labels: Vec<String>,
    asked: Receiver<TrailQuestion>,
    answers: mpsc::Sender<Msg>,
    waiting: VecDeque<TrailQuestion>,
}

impl TrailReader {
    /// Answers one question; `false` when no further question can come.
    fn answer_next(&mut self) -> bool {
        if self.waiting.is_empty() {
            match self.asked.recv() {
                Ok(question) => self.waiting.push_back(question),
                Err(_) => return false,
            }
        }
        let _ = self.collect();
        let Some(question) = self.waiting.pop_front() else { return true };
        if self.answer(&question).is_break()
            && !self.waiting.iter().any(|other| question.is_replaced_by(other))
        {
            // It yielded to another question, and is still needed.
            self.waiting.push_back(question);
        }
        !self.answers.is_closed()
    }

    /// Collects the questions that came meanwhile; breaks if there was one.
    fn collect(&mut self) -> ControlFlow<()> {
        while let Ok(question) = self.asked.try_recv() {
            self.waiting.retain(|known| !known.is_replaced_by(&question));
            self.waiting.push_back(question);
        }
        if self.waiting.is_empty() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Breaks off if another question was asked.
    fn answer(&mut self, question: &TrailQuestion) -> ControlFlow<()> {
        match question {
            TrailQuestion::Acts(filter) => {
                let newest = Newest::new(filter.clone(), Shape::BulksFolded, KEPT);
                self.search(newest, Msg::Trail)
            }
            TrailQuestion::Claim(claim) => {
                let Some(label) = self.labels.get(claim.source).cloned() else {
                    return ControlFlow::Continue(());
                };
                let filter = ActFilter::default()
                    .and(Field::Claim, Match::Is(claim.address.clone()))
                    .and(Field::Source, Match::Is(label));
                let newest = Newest::new(filter, Shape::EachAct, HISTORY);
                self.search(newest, |page| Msg::History {
                    claim: claim.clone(),
                    lines: page.map(newest::single_acts).unwrap_or_default(),
                })
            }
            TrailQuestion::Bulk { id, filter } => {
                let acts = match open().and_then(|trail| self.bulk(&trail, id, filter)) {
                    Ok(lines) => Unfolded::Acts(lines),
                    Err(why) => Unfolded::Failed(why),
                };
                self.send(Msg::Unfolded { id: id.clone(), acts })
            }
        }
    }

    /// Reads the trail backwards and sends what was found: soon at first, then from time to time.
    fn search(
        &mut self,
        mut newest: Newest,
        msg: impl Fn(Result<TrailPage, String>) -> Msg,
    ) -> ControlFlow<()> {
        let trail = match open() {
            Ok(trail) => trail,
            Err(why) => return self.send(msg(Err(why))),
        };
        let mut gives_way = false;
        let read = trail.each_entry_back_of(&newest.period(), |entry| {
            newest.add(&entry, &self.labels)?;
            if newest.is_time_to_tell() {
                self.send(msg(Ok(newest.page_so_far())))?;
            }
            // A new question waits for a few records at most.
            if newest.records().is_multiple_of(64) && self.collect().is_break() {
                gives_way = true;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        if gives_way {
            return ControlFlow::Break(());
        }
        self.send(msg(read.map(|()| newest.page()).map_err(|error| error.to_string())))
    }

    /// The first acts of a bulk that pass a filter.
    fn bulk(&self, trail: &Trail, id: &str, filter: &ActFilter) -> Result<Vec<TrailLine>, String> {
        let mut acts = newest::BulkActs::new(filter.clone(), KEPT);
        trail
            .each_entry_of_batch(id, |entry| acts.add(&entry, &self.labels))
            .map_err(|error| error.to_string())?;
        Ok(acts.lines())
    }

    fn send(&self, msg: Msg) -> ControlFlow<()> {
        match self.answers.blocking_send(msg) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

fn open() -> Result<Trail, String> {
    let folder = Trail::default_folder().ok_or("no folder for the trail is known; set XDG_STATE_HOME")?;
    Trail::read_only(&folder).map_err(|error| error.to_string())
}
