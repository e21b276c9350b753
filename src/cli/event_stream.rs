//! The output of events as JSON lines: a file, standard output, or none.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use super::output::{complain, print};
use crate::events::Event;
use crate::report::json::line;

#[derive(Debug)]
pub(super) enum EventStream {
    Nowhere,
    Stdout,
    File(File),
}

impl EventStream {
    /// Opens what `--events` names; a file is appended to.
    pub(super) fn open(events: Option<&Path>) -> Result<EventStream, String> {
        match events {
            None => Ok(EventStream::Nowhere),
            Some(path) if path.as_os_str() == "-" => Ok(EventStream::Stdout),
            Some(path) => {
                let opened = OpenOptions::new().append(true).create(true).open(path);
                opened
                    .map(EventStream::File)
                    .map_err(|error| format!("{}: cannot be written: {error}", path.display()))
            }
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !matches!(self, EventStream::Nowhere)
    }

    /// Writes events; returns whether the stream is still open.
    pub(super) fn write(&mut self, events: &[Event]) -> bool {
        let text: String = events.iter().map(|event| line(event) + "\n").collect();
        match self {
            _ if text.is_empty() => true,
            EventStream::Nowhere => true,
            EventStream::Stdout => print(&text),
            EventStream::File(file) => {
                // One write, so that the lines of several programs do not mix.
                if let Err(error) = file.write_all(text.as_bytes()) {
                    complain(&format!("events could not be written: {error}"));
                }
                true
            }
        }
    }
}
