//! Where a sweep's events and summaries go: lines for people, JSON for programs, a file for both.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use super::super::output::{complain, print};
use crate::domain::visible::safe;
use crate::report::json::line;
use crate::sweep::{Event, Summary};

/// What standard output is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stdout {
    /// Events and summaries as JSON lines.
    Json,
    /// Events as JSON lines; what people read goes to standard error.
    Events,
    People,
}

#[derive(Debug)]
pub(super) struct Voice {
    stdout: Stdout,
    file: Option<File>,
}

impl Voice {
    pub(super) fn open(json: bool, events: Option<&Path>) -> Result<Voice, String> {
        let to_stdout = events.is_some_and(|path| path.as_os_str() == "-");
        let file = match events.filter(|_| !to_stdout) {
            Some(path) => Some(
                OpenOptions::new()
                    .append(true)
                    .create(true)
                    .open(path)
                    .map_err(|error| format!("{}: cannot be written: {error}", path.display()))?,
            ),
            None => None,
        };
        let stdout = match (json, to_stdout) {
            (true, _) => Stdout::Json,
            (false, true) => Stdout::Events,
            (false, false) => Stdout::People,
        };
        Ok(Voice { stdout, file })
    }

    /// One thing that happened.
    pub(super) fn say(&mut self, event: &Event) {
        let text = line(event) + "\n";
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_all(text.as_bytes())
        {
            complain(&format!("an event could not be written: {error}"));
        }
        // The trail is the record; whether anybody reads along does not matter to the sweep.
        match (self.stdout, event.text()) {
            (Stdout::Json | Stdout::Events, _) => _ = print(&text),
            (Stdout::People, Some(sentence)) => _ = print(&(safe(&sentence) + "\n")),
            (Stdout::People, None) => {}
        }
    }

    /// What a run came to on one source.
    pub(super) fn conclude(&mut self, summary: &Summary) {
        for sentence in summary.sentences().chain(summary.error.as_deref()) {
            complain(&format!("{}: {sentence}", summary.source));
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
    }

    /// Something that whoever runs it should know.
    pub(super) fn remark(&mut self, sentence: &str) {
        complain(sentence);
    }
}
