//! A replay: frames of a recording take the place of polls.

use super::super::actions::Command;
use super::super::message::Effect;
use super::super::model::{ListId, Model, Pane, Tone};
use super::super::replay::{ReplayMove, ReplayPace, ReplayedEvents, ReplayedSource};
use crate::domain::backtest::TestedSeries;
use crate::domain::time::Moment;

/// Said where a command needs a recording.
const ONLY_IN_REPLAY: &str = "only in a replay: `claimtop FILE` opens a recording";
/// Said where a command would write.
const NO_ACTS: &str = "this is a replay: what you see is past, and acts do not exist here";

impl Model {
    /// A command that means something else, or nothing, in a replay; nothing, if it is an ordinary one.
    pub(super) fn replay_command(&mut self, command: Command, text: &str) -> Option<Vec<Effect>> {
        let is_replay = self.replay.is_some();
        let wants_replay = matches!(
            command,
            Command::Play
                | Command::StepForward
                | Command::StepBack
                | Command::NextEvent
                | Command::PreviousEvent
                | Command::At
                | Command::Backtest
        );
        if !is_replay {
            return wants_replay.then(|| self.refuse(ONLY_IN_REPLAY));
        }
        if command.spec().writes {
            return Some(self.refuse(NO_ACTS));
        }
        match command {
            Command::Play | Command::Mark | Command::Pause => Some(self.play_or_pause()),
            Command::StepForward | Command::Right => Some(self.step_frames(1)),
            Command::StepBack | Command::Left => Some(self.step_frames(-1)),
            Command::NextEvent => Some(self.go_to_mark(true)),
            Command::PreviousEvent => Some(self.go_to_mark(false)),
            Command::At => Some(self.go_to_time(text)),
            Command::Backtest => Some(self.go_to(Pane::Backtest)),
            Command::Faster | Command::Slower => {
                if let Some(replay) = &mut self.replay {
                    if command == Command::Faster { replay.faster() } else { replay.slower() }
                }
                Some(Vec::new())
            }
            Command::CheckPid | Command::CheckAllPids => {
                Some(self.refuse("this is a replay: processes of then cannot be checked now"))
            }
            Command::Record => Some(self.refuse("this is a replay: there is nothing to record")),
            _ => None,
        }
    }

    fn refuse(&mut self, why: &str) -> Vec<Effect> {
        self.notify(Tone::Refused, why);
        Vec::new()
    }

    fn play_or_pause(&mut self) -> Vec<Effect> {
        let Some(replay) = &mut self.replay else { return Vec::new() };
        replay.toggle();
        // At the end it starts again.
        match replay.is_playing() && replay.at >= replay.ends {
            true => vec![Effect::Replay(ReplayMove::To(replay.begins))],
            false => Vec::new(),
        }
    }

    fn step_frames(&mut self, frames: isize) -> Vec<Effect> {
        if let Some(replay) = &mut self.replay {
            replay.pace = ReplayPace::Paused;
        }
        vec![Effect::Replay(ReplayMove::Frames(frames))]
    }

    fn go_to_mark(&mut self, forward: bool) -> Vec<Effect> {
        let Some(replay) = &mut self.replay else { return Vec::new() };
        replay.pace = ReplayPace::Paused;
        let mark = if forward { replay.next_mark() } else { replay.previous_mark() };
        match mark {
            Some(at) => vec![Effect::Replay(ReplayMove::To(at))],
            None => self.refuse(if forward { "no event after this" } else { "no event before this" }),
        }
    }

    fn go_to_time(&mut self, text: &str) -> Vec<Effect> {
        let Some(replay) = &mut self.replay else { return Vec::new() };
        match Moment::parse_near(text, replay.ends) {
            Some(at) => {
                replay.pace = ReplayPace::Paused;
                vec![Effect::Replay(ReplayMove::To(at))]
            }
            None => self.refuse("write :at 03:12, :at 03:12:41 or :at 2026-11-15T03:12:00Z"),
        }
    }

    /// Shows an instant of the recording.
    pub(super) fn replayed(&mut self, at: Moment, sources: Vec<ReplayedSource>) -> Vec<Effect> {
        self.hold_selection();
        self.now = at;
        if let Some(replay) = &mut self.replay {
            replay.at = at;
            if at >= replay.ends {
                replay.pace = ReplayPace::Paused;
            }
        }
        if sources.iter().any(|one| matches!(one.events, ReplayedEvents::All(_))) {
            self.event_log.clear();
            self.events_logged = 0;
        }
        let mut effects = Vec::new();
        for (source, shown) in sources.into_iter().enumerate() {
            effects.extend(self.replayed_source(source, shown));
        }
        effects
    }

    fn replayed_source(&mut self, source: usize, shown: ReplayedSource) -> Vec<Effect> {
        let Some(view) = self.sources.get_mut(source) else { return Vec::new() };
        view.start_again(shown.past);
        let events = match shown.events {
            ReplayedEvents::All(events) | ReplayedEvents::New(events) => events,
        };
        self.log(source, events.into_iter());
        let effects = match shown.poll {
            Some(poll) => self.polled_well(vec![(source, poll)]),
            None => Vec::new(),
        };
        if let Some((since, trouble)) = shown.lost {
            self.sources[source].fail(since, trouble);
        }
        // A bell of the past wakes nobody.
        effects.into_iter().filter(|effect| !matches!(effect, Effect::Bell)).collect()
    }

    /// What thresholds would have done in the recording, as far as it is known.
    pub fn backtests(&self) -> &[TestedSeries] {
        match self.replay.as_ref().and_then(|replay| replay.backtest.as_ref()) {
            Some(Ok(all)) => all,
            Some(Err(_)) | None => &[],
        }
    }

    /// The backtest of the selected thresholds.
    pub fn selected_backtest(&self) -> Option<&TestedSeries> {
        let list = ListId::Pane(Pane::Backtest);
        let at = self.selection(list).place(&self.items(list))?;
        self.backtests().get(at)
    }

    /// Takes in the results of a backtest: the thresholds with the most to gain first.
    pub(super) fn backtested(&mut self, mut found: Result<Vec<TestedSeries>, String>) -> Vec<Effect> {
        if let Ok(all) = &mut found {
            all.sort_by_key(|one| std::cmp::Reverse(one.series.silences.len()));
        }
        if let Some(replay) = &mut self.replay {
            replay.backtest = Some(found);
        }
        Vec::new()
    }

    /// Begins or ends to record what polls see.
    pub(super) fn record(&mut self, file: &str) -> Vec<Effect> {
        match (self.recording.take(), file.trim()) {
            (Some(name), "") => {
                self.notify(Tone::Info, format!("recorded into {name}"));
                vec![Effect::StopRecording]
            }
            (Some(name), _) => {
                self.notify(Tone::Refused, format!("recording into {name} already; :record ends it"));
                self.recording = Some(name);
                Vec::new()
            }
            (None, "") => {
                let at: String = self.now.rfc3339().chars().filter(char::is_ascii_digit).take(14).collect();
                vec![Effect::Record(format!("claimtop-{at}.rec"))]
            }
            (None, file) => vec![Effect::Record(file.into())],
        }
    }
}
