//! The output of events as JSON lines: a file, standard output, or none.

use clap::Args;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use super::output::{complain, print};
use crate::config::EventSettings;
use crate::domain::time::Span;
use crate::events::{Batching, Event, EventCollector, SingleEvents};
use crate::report::json::line;

/// How events are combined before they are written; `check` and `sweep` share it.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Events")]
pub(crate) struct BatchArgs {
    /// More events of one kind than this become one `claims:batch` event [default: 50]
    #[arg(long, value_name = "N", requires = "events")]
    batch_above: Option<usize>,
    /// Collect events for this long before they are written [default: those of one look]
    #[arg(long, value_name = "DURATION", value_parser = Span::parse, requires = "events")]
    batch_every: Option<Span>,
    /// Write no event about a single claim, only how many there were
    #[arg(long, requires = "events")]
    no_single_events: bool,
}

impl BatchArgs {
    /// The command line is stronger than the config.
    pub(super) fn batching(&self, config: &EventSettings) -> Batching {
        let told = EventSettings {
            batch_above: self.batch_above,
            batch_every: self.batch_every,
            single: self.no_single_events.then_some(false),
        };
        let EventSettings { batch_above, batch_every, single } = told.or(*config);
        let usual = Batching::default();
        Batching {
            above: batch_above.unwrap_or(usual.above),
            every: batch_every.unwrap_or(usual.every),
            single: match single {
                Some(false) => SingleEvents::Counted,
                Some(true) | None => SingleEvents::Written,
            },
        }
    }
}

/// Where events go.
#[derive(Debug)]
enum Destination {
    Nowhere,
    Stdout,
    File(File),
}

#[derive(Debug)]
pub(super) struct EventStream {
    to: Destination,
    collector: EventCollector,
}

impl EventStream {
    /// Opens what `--events` names; a file is appended to.
    pub(super) fn open(events: Option<&Path>, batching: Batching) -> Result<EventStream, String> {
        let to = match events {
            None => Destination::Nowhere,
            Some(path) if path.as_os_str() == "-" => Destination::Stdout,
            Some(path) => {
                let opened = OpenOptions::new().append(true).create(true).open(path);
                let unwritable = |error| format!("{}: cannot be written: {error}", path.display());
                Destination::File(opened.map_err(unwritable)?)
            }
        };
        Ok(EventStream { to, collector: EventCollector::new(batching) })
    }

    pub(super) fn is_open(&self) -> bool {
        !matches!(self.to, Destination::Nowhere)
    }

    pub(super) fn is_stdout(&self) -> bool {
        matches!(self.to, Destination::Stdout)
    }

    /// Writes events once they are due; returns whether the stream is still open.
    pub(super) fn write(&mut self, events: Vec<Event>) -> bool {
        let due = self.collector.add(events, Instant::now());
        self.write_now(&due)
    }

    /// Writes these events without combining them.
    pub(super) fn write_now(&mut self, events: &[Event]) -> bool {
        let text: String = events.iter().map(|event| line(event) + "\n").collect();
        match &mut self.to {
            _ if text.is_empty() => true,
            Destination::Nowhere => true,
            Destination::Stdout => print(&text),
            Destination::File(file) => {
                // One write, so that the lines of several programs do not mix.
                if let Err(error) = file.write_all(text.as_bytes()) {
                    complain(&format!("events could not be written: {error}"));
                }
                true
            }
        }
    }
}

/// What still waits is written at the end.
impl Drop for EventStream {
    fn drop(&mut self) {
        let rest = self.collector.rest();
        self.write_now(&rest);
    }
}
