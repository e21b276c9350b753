//! Where a sweep's events and summaries go: lines for people, JSON for programs, a stream of events.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::super::event_stream::EventStream;
use super::super::output::{complain, print};
use crate::domain::visible::safe;
use crate::events::{About, By, Event, batched};
use crate::report::json::line;
use crate::sweep::{Summary, SweepReporter};

/// What standard output is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stdout {
    /// Every act and the summaries as JSON lines.
    Json,
    /// The stream of events; what people read goes to standard error.
    Events,
    People,
}

type Listener = dyn Fn(&Summary) + Send + Sync;

/// What the sources that are swept share.
pub struct SweepOutput {
    stdout: Stdout,
    stream: Mutex<EventStream>,
    /// Whether the stream leads anywhere, and whether that is standard output.
    is_open: bool,
    is_stdout: bool,
    /// Hears of the end of every run.
    listener: Option<Box<Listener>>,
}

impl SweepOutput {
    pub fn open(json: bool, events: Option<&Path>) -> Result<SweepOutput, String> {
        let stream = EventStream::open(events)?;
        let is_stdout = matches!(stream, EventStream::Stdout);
        let stdout = match (json, is_stdout) {
            (true, _) => Stdout::Json,
            (false, true) => Stdout::Events,
            (false, false) => Stdout::People,
        };
        Ok(SweepOutput {
            stdout,
            is_open: stream.is_open(),
            is_stdout,
            stream: Mutex::new(stream),
            listener: None,
        })
    }

    /// The same with a listener that hears of the end of every run.
    pub fn with_listener(self, listener: impl Fn(&Summary) + Send + Sync + 'static) -> SweepOutput {
        SweepOutput { listener: Some(Box::new(listener)), ..self }
    }

    fn write(&self, events: &[Event]) {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner).write(events);
    }
}

/// Prints what happens to one source.
pub struct SweepPrinter {
    output: Arc<SweepOutput>,
    /// What was done in this run and is not in the stream yet.
    pending: Vec<Event>,
    /// The claims that were taken in this run.
    taken: Vec<String>,
}

impl SweepPrinter {
    pub fn new(output: &Arc<SweepOutput>) -> SweepPrinter {
        SweepPrinter { output: Arc::clone(output), pending: Vec::new(), taken: Vec::new() }
    }
}

impl SweepReporter for SweepPrinter {
    fn has_listeners(&self) -> bool {
        self.output.is_open
    }

    /// Prints the act as JSON or for people at once; the stream gets all acts of a run together.
    fn acted(&mut self, event: &Event) {
        let output = &self.output;
        let is_ours = |about: &&About| about.by == By::Sweep && !about.dry_run && output.is_open;
        if let Some(about) = event.about().filter(is_ours) {
            self.taken.push(about.address.clone());
        }
        // The trail is the record; whether anybody reads along does not matter to the sweep.
        match (output.stdout, event.text()) {
            (Stdout::Json, _) => _ = print(&(line(event) + "\n")),
            (Stdout::People, Some(sentence)) => _ = print(&(safe(&sentence) + "\n")),
            (Stdout::People, None) | (Stdout::Events, _) => {}
        }
        let is_printed = output.stdout == Stdout::Json && output.is_stdout;
        if output.is_open && !is_printed {
            self.pending.push(event.clone());
        }
    }

    fn changed(&mut self, events: Vec<Event>) {
        self.output.write(&batched(events));
    }

    fn ended(&mut self, summary: &Summary) -> Vec<String> {
        let events = std::mem::take(&mut self.pending);
        // What is only rehearsed is wanted in full.
        self.output.write(&if summary.dry_run { events } else { batched(events) });
        for sentence in summary.sentences().chain(said(&summary.notices)) {
            complain(&format!("{}: {sentence}", summary.source));
        }
        // An error names what it is about: the source, or the journal.
        if let Some(error) = &summary.error {
            complain(error);
        }
        if self.output.stdout == Stdout::Json {
            print(&(line(&summary.object()) + "\n"));
        } else if summary.error.is_none() || summary.applied() > 0 {
            let text = safe(&summary.text()) + "\n";
            match self.output.stdout {
                Stdout::Events => _ = std::io::stderr().write_all(text.as_bytes()),
                Stdout::People | Stdout::Json => _ = print(&text),
            }
        }
        if let Some(listener) = &self.output.listener {
            listener(summary);
        }
        std::mem::take(&mut self.taken)
    }

    fn remark(&mut self, sentence: &str) {
        complain(sentence);
    }
}

fn said(sentences: &[String]) -> impl Iterator<Item = &str> {
    sentences.iter().map(String::as_str)
}
