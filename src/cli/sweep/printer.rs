//! The output of a sweep: lines for people, JSON, and a stream of events.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::event_stream::EventStream;
use super::super::output::{complain, print};
use super::arguments::SweepTerms;
use crate::cli::setup::Setup;
use crate::domain::visible::safe;
use crate::events::{ClaimContext, Event, Origin};
use crate::report::json::line;
use crate::sweep::{SweepReporter, SweepSummary};

/// What standard output is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stdout {
    /// Every act and the summaries as JSON lines.
    Json,
    /// The stream of events; text for people goes to standard error.
    Events,
    People,
}

type Listener = dyn Fn(&SweepSummary) + Send + Sync;

/// The output that all swept sources share.
pub(crate) struct SweepOutput {
    stdout: Stdout,
    stream: Mutex<EventStream>,
    /// Whether there is a stream, and whether it is standard output.
    is_open: bool,
    is_stdout: bool,
    /// Called at the end of every run.
    listener: Option<Box<Listener>>,
}

impl SweepOutput {
    pub(crate) fn open(setup: &Setup, terms: &SweepTerms) -> Result<SweepOutput, String> {
        let batching = terms.batches.batching(&setup.config.events);
        let stream = EventStream::open(terms.events.as_deref(), batching)?;
        let is_stdout = stream.is_stdout();
        let stdout = match (setup.json, is_stdout) {
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

    /// The same with a listener that is called at the end of every run.
    pub(crate) fn with_listener(
        self,
        listener: impl Fn(&SweepSummary) + Send + Sync + 'static,
    ) -> SweepOutput {
        SweepOutput { listener: Some(Box::new(listener)), ..self }
    }

    fn write(&self, events: Vec<Event>) {
        self.stream().write(events);
    }

    fn stream(&self) -> MutexGuard<'_, EventStream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Prints the acts and summaries of one source.
pub(crate) struct SweepPrinter {
    output: Arc<SweepOutput>,
    /// Acts of this run that are not in the stream yet.
    pending: Vec<Event>,
    /// The claims that were taken in this run.
    taken: Vec<String>,
}

impl SweepPrinter {
    pub(crate) fn new(output: &Arc<SweepOutput>) -> SweepPrinter {
        SweepPrinter { output: Arc::clone(output), pending: Vec::new(), taken: Vec::new() }
    }
}

impl SweepReporter for SweepPrinter {
    fn has_listeners(&self) -> bool {
        self.output.is_open
    }

    /// Prints the act now, as JSON or text; the stream gets all acts of a run together.
    fn acted(&mut self, event: &Event) {
        let output = &self.output;
        let is_ours = |about: &&ClaimContext| about.by == Origin::Sweep && !about.dry_run && output.is_open;
        if let Some(about) = event.about().filter(is_ours) {
            self.taken.push(about.address.clone());
        }
        // The trail is the record, so a closed output does not stop the sweep.
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
        self.output.write(events);
    }

    fn ended(&mut self, summary: &SweepSummary) -> Vec<String> {
        let events = std::mem::take(&mut self.pending);
        // A dry run lists everything.
        if summary.dry_run {
            self.output.stream().write_now(&events);
        } else {
            self.output.write(events);
        }
        for sentence in summary.sentences().chain(said(&summary.notices)) {
            complain(&format!("{}: {sentence}", summary.source));
        }
        // An error contains the source or the journal that it concerns.
        if let Some(error) = &summary.error {
            complain(error);
        }
        if self.output.stdout == Stdout::Json {
            print(&(line(&summary.object()) + "\n"));
        } else if summary.error.is_none() || summary.applied() > 0 {
            let text = summary.lines().iter().map(|line| safe(line) + "\n").collect::<String>();
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
