//! Where a sweep's events and summaries go: lines for people, JSON for programs, a stream for those who
//! listen.

use std::io::Write;
use std::path::Path;

use super::super::event_stream::EventStream;
use super::super::output::{complain, print};
use crate::domain::visible::safe;
use crate::events::{About, By, Event, batched};
use crate::report::json::line;
use crate::sweep::Summary;

/// What standard output is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stdout {
    /// Every act and the summaries as JSON lines.
    Json,
    /// The stream of events; what people read goes to standard error.
    Events,
    People,
}

#[derive(Debug)]
pub(super) struct SweepPrinter {
    stdout: Stdout,
    stream: EventStream,
    /// What was done in this run and is not in the stream yet.
    pending: Vec<Event>,
    /// The claims that were taken in this run.
    taken: Vec<String>,
}

impl SweepPrinter {
    pub(super) fn open(json: bool, events: Option<&Path>) -> Result<SweepPrinter, String> {
        let stream = EventStream::open(events)?;
        let stdout = match (json, &stream) {
            (true, _) => Stdout::Json,
            (false, EventStream::Stdout) => Stdout::Events,
            (false, _) => Stdout::People,
        };
        Ok(SweepPrinter { stdout, stream, pending: Vec::new(), taken: Vec::new() })
    }

    /// Whether anybody listens to what two looks reveal.
    pub(super) fn has_listeners(&self) -> bool {
        self.stream.is_open()
    }

    /// One thing that was done. Whoever asked for JSON is told each at once; the stream gets all of a
    /// run together.
    pub(super) fn say(&mut self, event: &Event) {
        let is_ours = |about: &&About| about.by == By::Sweep && !about.dry_run && self.stream.is_open();
        if let Some(about) = event.about().filter(is_ours) {
            self.taken.push(about.address.clone());
        }
        // The trail is the record; whether anybody reads along does not matter to the sweep.
        match (self.stdout, event.text()) {
            (Stdout::Json, _) => _ = print(&(line(event) + "\n")),
            (Stdout::People, Some(sentence)) => _ = print(&(safe(&sentence) + "\n")),
            (Stdout::People, None) | (Stdout::Events, _) => {}
        }
        let told = self.stdout == Stdout::Json && matches!(self.stream, EventStream::Stdout);
        if self.stream.is_open() && !told {
            self.pending.push(event.clone());
        }
    }

    /// What two looks revealed.
    pub(super) fn tell(&mut self, events: Vec<Event>) {
        self.stream.write(&batched(events));
    }

    /// What a run came to on one source; the claims that were taken.
    pub(super) fn conclude(&mut self, summary: &Summary) -> Vec<String> {
        let events = std::mem::take(&mut self.pending);
        // What is only rehearsed is wanted in full.
        self.stream.write(&if summary.dry_run { events } else { batched(events) });
        for sentence in summary.sentences().chain(said(&summary.notices)) {
            complain(&format!("{}: {sentence}", summary.source));
        }
        // An error names what it is about: the source, or the journal.
        if let Some(error) = &summary.error {
            complain(error);
        }
        if self.stdout == Stdout::Json {
            print(&(line(&summary.object()) + "\n"));
        } else if summary.error.is_none() || summary.applied() > 0 {
            let text = safe(&summary.text()) + "\n";
            match self.stdout {
                Stdout::Events => _ = std::io::stderr().write_all(text.as_bytes()),
                Stdout::People | Stdout::Json => _ = print(&text),
            }
        }
        std::mem::take(&mut self.taken)
    }

    /// Something that whoever runs it should know.
    pub(super) fn remark(&mut self, sentence: &str) {
        complain(sentence);
    }
}

fn said(sentences: &[String]) -> impl Iterator<Item = &str> {
    sentences.iter().map(String::as_str)
}
