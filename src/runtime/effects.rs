//! What the model asks for: questions to sources, acts, and changes of the screen itself.

use std::io::{self, Write, stdout};

use crossterm::clipboard::CopyToClipboard;
use crossterm::execute;

use super::Dashboard;
use super::source_actor::ActRequest;
use super::source_reader::SourceQuestion;
use super::trail_thread::TrailQuestion;
use crate::app::message::{Effect, Msg};
use crate::domain::saved_view::ScreenState;
use crate::signals::SignalRequest;
use crate::store::clock;
use crate::ui::theme::Palette;

impl Dashboard {
    pub(super) fn run_effect(&mut self, effect: Effect) -> io::Result<()> {
        match effect {
            Effect::Act { target, action, authorization } => {
                self.tell_actor(
                    target.id.source,
                    ActRequest::Act { target: Box::new(target), action, authorization },
                );
            }
            Effect::PrepareBulk { question, source, action, what } => {
                self.tell_actor(source, ActRequest::Prepare { question, action, what });
            }
            Effect::RunBulk { question, source, authorization } => {
                self.tell_actor(source, ActRequest::Run { question, authorization });
            }
            Effect::CancelBulk { source } => {
                if let Some(Some(actor)) = self.actors.get(source) {
                    actor.cancel();
                }
            }
            Effect::GatherFacts { source } => self.ask(source, SourceQuestion::Facts),
            Effect::PrepareUndo { source, action_id } => {
                self.tell_actor(source, ActRequest::PrepareUndo { action_id });
            }
            Effect::Undo { source, action_id } => {
                self.tell_actor(source, ActRequest::Undo { action_id });
            }
            Effect::LoadTrail(filter) => self.ask_trail(TrailQuestion::Acts(filter)),
            Effect::LoadBulk { id, filter } => self.ask_trail(TrailQuestion::Bulk { id, filter }),
            Effect::LoadHistory(claim) => self.ask_trail(TrailQuestion::Claim(claim)),
            Effect::Probe(rows) => {
                for source in 0..self.readers.len() {
                    let here: Vec<_> = rows.iter().filter(|row| row.id.source == source).cloned().collect();
                    if !here.is_empty() {
                        self.ask(source, SourceQuestion::Probe(here));
                    }
                }
            }
            Effect::LoadList { source, request } => self.ask(source, SourceQuestion::List(request)),
            Effect::LoadDead(query) => self.ask(query.source, SourceQuestion::Dead(query)),
            Effect::LoadHolders { source } => self.ask(source, SourceQuestion::Holders),
            Effect::LoadKinds { source } => self.ask(source, SourceQuestion::Kinds),
            Effect::Examine { target } => {
                self.ask(target.id.source, SourceQuestion::Examine(Box::new(target)));
            }
            Effect::SetPace { interval, paused } => {
                for source in 0..self.readers.len() {
                    self.ask(source, SourceQuestion::Pace { interval: interval.duration(), paused });
                }
            }
            Effect::SetTheme(name) => {
                if let Some(palette) = Palette::named(name) {
                    self.theme = self.theme.in_palette(palette);
                }
            }
            Effect::Copy(text) => execute!(stdout(), CopyToClipboard::to_clipboard_from(text))?,
            Effect::Save(format) => self.save(format)?,
            Effect::Remember(state) => self.remember(&state)?,
            Effect::Replay(to) => self.move_replay(to)?,
            // Only in a replay, which answers it.
            Effect::LoadBacktest => {}
            Effect::Record(file) => self.record(&file)?,
            Effect::StopRecording => self.finish_recording(),
            Effect::Bell => stdout().write_all(b"\x07").and_then(|()| stdout().flush())?,
            Effect::Suspend => self.take_request(SignalRequest::Suspend)?,
            Effect::Quit => self.ended = true,
        }
        Ok(())
    }

    /// Saves choices for the next start.
    fn remember(&mut self, state: &ScreenState) -> io::Result<()> {
        let kept = match &self.state_file {
            Some(file) => file.keep(state).map_err(|error| error.to_string()),
            None => Err("no folder for it is known; set XDG_STATE_HOME".into()),
        };
        match kept {
            Ok(()) => Ok(()),
            Err(why) => self.take(Msg::Notice(format!("this is not kept for the next start: {why}"))),
        }
    }

    fn ask_trail(&self, question: TrailQuestion) {
        if let Some(past) = &self.past {
            past.ask(question);
        }
    }

    pub(super) fn ask(&self, source: usize, question: SourceQuestion) {
        // The silence of a thread that has ended shows: its source becomes stale.
        if let Some(reader) = self.readers.get(source) {
            reader.ask(question);
        }
    }

    fn tell_actor(&mut self, source: usize, job: ActRequest) {
        let said = match self.actors.get(source) {
            Some(Some(source_actor)) if source_actor.give(job) => return,
            Some(Some(_)) => {
                "nothing was done: the thread that acts on this source has ended unexpectedly; start claimtop again"
            }
            Some(None) | None => "nothing was done: this source is open read-only",
        };
        self.model.update(clock(), Msg::Notice(said.into()));
    }
}

/// Whether an effect concerns the screen alone, and so exists in a replay too.
pub(super) fn is_of_screen(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::SetTheme(_)
            | Effect::Copy(_)
            | Effect::Save(_)
            | Effect::Replay(_)
            | Effect::Suspend
            | Effect::Quit
    )
}
