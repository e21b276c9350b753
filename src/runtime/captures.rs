//! What the dashboard keeps in files: a recording of its polls, and pictures of the screen.

use std::io;
use std::path::Path;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Dashboard;
use super::source_reader::SourceQuestion;
use crate::app::message::{Format, Msg};
use crate::poller::SharedRecording;
use crate::recording::RecordingOptions;
use crate::store::clock;
use crate::ui::{self, View};

impl Dashboard {
    /// Records what the readers poll from now on.
    pub(super) fn record(&mut self, file: &str) -> io::Result<()> {
        let options = RecordingOptions::default();
        match SharedRecording::begin(Path::new(file), &self.identities, options) {
            Ok(recording) => {
                for source in 0..self.readers.len() {
                    self.ask(source, SourceQuestion::Record(Some(recording.recorder(source))));
                }
                self.recording = Some(recording);
                self.take(Msg::RecordingBegan(file.into()))
            }
            Err(error) => self.take(Msg::RecordingStopped(error.to_string())),
        }
    }

    /// Ends the recording, if there is one; polls that are still under way are not recorded.
    pub(super) fn finish_recording(&mut self) {
        for source in 0..self.readers.len() {
            self.ask(source, SourceQuestion::Record(None));
        }
        let ended = self.recording.take().map_or(Ok(()), |recording| recording.finish());
        if let Err(error) = ended {
            self.model.update(clock(), Msg::RecordingStopped(error.to_string()));
        }
    }

    /// Saves the screen as a file in the working directory.
    pub(super) fn save(&mut self, format: Format) -> io::Result<()> {
        let size = self.screen.size()?;
        let mut buffer = Buffer::empty(Rect::new(0, 0, size.width, size.height));
        let area = buffer.area;
        ui::render(&self.model, &mut View::default(), &self.theme, area, &mut buffer);
        let (ending, text) = match format {
            Format::Text => ("txt", ui::picture::plain(&buffer)),
            Format::Ansi => ("ansi", ui::picture::ansi(&buffer)),
            Format::Svg => ("svg", ui::picture::svg(&buffer, self.theme.background)),
        };
        let at: String = clock().rfc3339().chars().filter(char::is_ascii_digit).take(17).collect();
        let name = format!("claimtop-{at}.{ending}");
        let folder =
            std::env::current_dir().map_or_else(|_| ".".into(), |folder| folder.display().to_string());
        let said = match std::fs::write(&name, text) {
            Ok(()) => format!("saved as {name} in {folder}"),
            Err(error) => format!("{name} could not be written in {folder}: {error}"),
        };
        self.take(Msg::Notice(said))
    }
}
