//! The loop: messages in, the model updated, effects sent out, the screen drawn.
//!
//! ```text
//!   keys ─────────────┐
//!   polls (watch) ────┼──► Msg ──► Model::update ──► draw
//!   answers (mpsc) ───┤                 │
//!   signals, ticks ───┘                 └──► Effect ──► reader thread, act thread, terminal
//! ```
//!
//! Only this file awaits. Nothing here waits for a database: each source has a thread that reads, and one that acts
//! if it may be written.

mod act_thread;
mod input;
mod reader_thread;
mod replay_feed;
mod source_access;
mod state_file;
mod suspension;
mod trail_thread;

use std::io::{self, Write, stdout};
use std::path::Path;
use std::time::{Duration, Instant};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::Event;
use crossterm::execute;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tokio::sync::mpsc;

use crate::app::message::{Effect, Format, Msg};
use crate::app::model::{Model, PollIntake};
use crate::app::replay::{Replay, ReplayMove};
use crate::background;
use crate::domain::saved_view::ScreenState;
use crate::domain::time::{Moment, Span};
use crate::job_control::StopRequests;
use crate::poller::SharedRecording;
use crate::recording::{RecordingOptions, SourceIdentity};
use crate::signals::{SignalRequest, Signals};
use crate::store::clock;
use crate::store::suspend::Idle;
use crate::terminal::{self, Mouse, Screen};
use crate::ui::theme::Palette;
use crate::ui::{self, Theme, View};
use act_thread::{ActRequest, ActThread};
use input::Input;
use reader_thread::{ReaderThread, SourceQuestion};
pub use replay_feed::ReplayFeed;
pub use source_access::{ProberMaker, SourceAccess, WriteOpener, WriteOpeners};
pub use state_file::StateFile;
use trail_thread::{TrailQuestion, TrailThread};

/// How often a replay moves on while it plays.
const PLAYING: Duration = Duration::from_millis(200);
/// How many answers may wait for the model; then the senders wait.
const WAITING: usize = 64;

/// Runs the dashboard until the user quits.
pub fn run(
    model: Model,
    feeds: Vec<SourceAccess>,
    theme: Theme,
    mouse: Mouse,
    state_file: Option<StateFile>,
) -> io::Result<()> {
    on_screen(mouse, |screen| {
        let mut dashboard = Dashboard::start(model, feeds, theme, mouse, screen)?;
        dashboard.state_file = state_file;
        Ok(dashboard)
    })
}

/// Replays a recording until the user quits.
pub fn replay(model: Model, feed: ReplayFeed, theme: Theme, mouse: Mouse) -> io::Result<()> {
    on_screen(mouse, |screen| {
        let mut dashboard = Dashboard::start(model, Vec::new(), theme, mouse, screen)?;
        let begins = dashboard.model.replay.as_ref().map(|replay| replay.begins);
        dashboard.replay = Some(feed);
        if let Some(begins) = begins {
            dashboard.move_replay(ReplayMove::To(begins))?;
        }
        Ok(dashboard)
    })
}

fn on_screen(mouse: Mouse, start: impl FnOnce(Screen) -> io::Result<Dashboard>) -> io::Result<()> {
    let ended = background::runtime()?.block_on(async {
        // Before the terminal is taken over: no signal may end the program while the terminal is in raw mode.
        let signals = Signals::for_screen()?;
        let screen = terminal::take(mouse)?;
        let mut dashboard = start(screen)?;
        let ended = dashboard.run(signals).await;
        dashboard.finish_recording();
        ended
    });
    terminal::restore();
    terminal::print_panics();
    ended
}

struct Dashboard {
    model: Model,
    view: View,
    theme: Theme,
    mouse: Mouse,
    screen: Screen,
    /// Where choices are saved; none if no folder is known.
    state_file: Option<StateFile>,
    /// A recording in the place of sources.
    replay: Option<ReplayFeed>,
    /// When the recording was last moved on.
    moved_at: Instant,
    /// The sources as a recording names them, and the recording under way.
    identities: Vec<SourceIdentity>,
    recording: Option<SharedRecording>,
    readers: Vec<ReaderThread>,
    /// One for each source that may be written.
    act_threads: Vec<Option<ActThread>>,
    past: Option<TrailThread>,
    messages: mpsc::Receiver<Msg>,
    inputs: mpsc::Receiver<Input>,
    ended: bool,
    stop_requests: StopRequests,
    /// A thread waits until no transaction is open.
    waits_for_idle: bool,
    /// Reports that none is open any more.
    idles: mpsc::Receiver<Idle>,
    idle: mpsc::Sender<Idle>,
}

impl Dashboard {
    fn start(
        model: Model,
        feeds: Vec<SourceAccess>,
        theme: Theme,
        mouse: Mouse,
        screen: Screen,
    ) -> io::Result<Dashboard> {
        let (sender, messages) = mpsc::channel(WAITING);
        let inputs = input::start()?;
        let (mut readers, mut act_threads) = (Vec::new(), Vec::new());
        let interval = model.settings.interval.duration();
        let labels: Vec<String> = feeds.iter().map(|feed| feed.label.clone()).collect();
        let identities: Vec<SourceIdentity> = feeds.iter().map(|feed| feed.identity.clone()).collect();
        let is_replay = model.replay.is_some();
        for (source, feed) in feeds.into_iter().enumerate() {
            let reader = ReaderThread::start(source, &feed, interval, sender.clone())?;
            reader.report_to(source, &sender);
            readers.push(reader);
            let act = |writing| ActThread::start(source, &feed.label, writing, &feed.probers, sender.clone());
            act_threads.push(feed.writing.map(act).transpose()?);
        }
        // A replay does not open the trail.
        let past = if is_replay { None } else { Some(TrailThread::start(labels, sender)?) };
        let (idle, idles) = mpsc::channel(1);
        Ok(Dashboard {
            model,
            view: View::default(),
            theme,
            mouse,
            screen,
            state_file: None,
            replay: None,
            moved_at: Instant::now(),
            identities,
            recording: None,
            readers,
            act_threads,
            past,
            messages,
            inputs,
            ended: false,
            stop_requests: StopRequests::default(),
            waits_for_idle: false,
            idles,
            idle,
        })
    }

    async fn run(&mut self, mut signals: Signals) -> io::Result<()> {
        self.draw()?;
        while !self.ended {
            let tick = tokio::time::sleep(self.tick());
            tokio::select! {
                input = self.inputs.recv() => self.take_input(input)?,
                Some(msg) = self.messages.recv() => self.take(msg)?,
                () = tick, if self.model.has_countdown() => self.tick_over()?,
                request = signals.next() => self.take_request(request)?,
                Some(idle) = self.idles.recv() => self.stop(idle)?,
            }
            self.take_what_waits()?;
            if !self.ended {
                self.draw()?;
            }
        }
        Ok(())
    }

    fn take_request(&mut self, request: SignalRequest) -> io::Result<()> {
        self.stop_requests.hear(request);
        match request {
            SignalRequest::Stop => self.ended = true,
            SignalRequest::Suspend => self.suspend()?,
            // After a SIGSTOP, which gave no time to restore the terminal.
            SignalRequest::Continue => self.come_back()?,
            SignalRequest::Reload => {}
        }
        Ok(())
    }

    /// How long the screen may go without a redraw: polls every second redraw it as well.
    fn tick(&self) -> Duration {
        if self.model.replay.as_ref().is_some_and(Replay::is_playing) {
            return PLAYING;
        }
        let often = self.model.settings.interval <= Span::seconds(1) && self.model.pace == PollIntake::Live;
        Duration::from_millis(if often { 1_500 } else { 1_000 })
    }

    /// Handles everything that came in meanwhile before the next frame.
    fn take_what_waits(&mut self) -> io::Result<()> {
        for _ in 0..WAITING {
            if self.ended {
                break;
            }
            if let Ok(input) = self.inputs.try_recv() {
                self.take_input(Some(input))?;
            } else if let Ok(msg) = self.messages.try_recv() {
                self.take(msg)?;
            } else {
                break;
            }
        }
        Ok(())
    }

    fn take_input(&mut self, input: Option<Input>) -> io::Result<()> {
        match input {
            // The screen is gone: quit.
            None | Some(Input::Gone) => {
                self.ended = true;
                Ok(())
            }
            // A window that shrinks and grows again has lost its contents, at the same size.
            Some(Input::Event(Event::Resize(..))) => self.redraw_all(),
            Some(Input::Event(event)) => match input::message(event, &self.view) {
                Some(msg) => self.take(msg),
                None => Ok(()),
            },
        }
    }

    fn take(&mut self, msg: Msg) -> io::Result<()> {
        // After a write, poll now.
        let written = match &msg {
            Msg::Acted(done) => Some(done.source),
            Msg::BulkDone(summary) => Some(summary.source),
            _ => None,
        };
        if let Some(source) = written {
            self.ask(source, SourceQuestion::Now);
        }
        for effect in self.model.update(self.now(), msg) {
            match &self.replay {
                Some(feed) if !is_of_screen(&effect) => {
                    if let Some(answer) = feed.answer(effect) {
                        self.take(answer)?;
                    }
                }
                _ => self.run_effect(effect)?,
            }
        }
        Ok(())
    }

    /// Now, or the instant that a replay shows.
    fn now(&self) -> Moment {
        self.model.replay.as_ref().map_or_else(clock, |replay| replay.at)
    }

    /// Time has passed: a replay that plays goes on.
    fn tick_over(&mut self) -> io::Result<()> {
        let passed = self.moved_at.elapsed();
        self.moved_at = Instant::now();
        match &self.model.replay {
            Some(replay) if replay.is_playing() => {
                let micros = i64::try_from(passed.min(2 * PLAYING).as_micros()).unwrap_or(0);
                let to = replay.at.plus(Span::micros(micros).times(replay.speed.into()));
                self.move_replay(ReplayMove::To(to))
            }
            _ => self.take(Msg::Tick),
        }
    }

    fn move_replay(&mut self, to: ReplayMove) -> io::Result<()> {
        let from = self.now();
        self.moved_at = Instant::now();
        match self.replay.as_mut().map(|feed| feed.go(from, to)) {
            Some(Ok(msg)) => self.take(msg),
            Some(Err(error)) => self.take(Msg::Notice(error.to_string())),
            None => Ok(()),
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        let Dashboard { model, view, theme, screen, .. } = self;
        model.now = model.replay.as_ref().map_or_else(clock, |replay| replay.at);
        screen.draw(|frame| ui::draw(model, view, theme, frame))?;
        let rows = std::mem::take(&mut view.rows);
        let lines = view.page_lines;
        model.drawn(rows, lines);
        model.scroll_end = view.scroll_end;
        Ok(())
    }

    fn run_effect(&mut self, effect: Effect) -> io::Result<()> {
        match effect {
            Effect::Act { target, action, authorization } => {
                self.tell_act_thread(
                    target.id.source,
                    ActRequest::Act { target: Box::new(target), action, authorization },
                );
            }
            Effect::PrepareBulk { question, source, action, what } => {
                self.tell_act_thread(source, ActRequest::Prepare { question, action, what });
            }
            Effect::RunBulk { question, source, authorization } => {
                self.tell_act_thread(source, ActRequest::Run { question, authorization });
            }
            Effect::CancelBulk { source } => {
                if let Some(Some(thread)) = self.act_threads.get(source) {
                    thread.cancel();
                }
            }
            Effect::GatherFacts { source } => self.ask(source, SourceQuestion::Facts),
            Effect::PrepareUndo { source, action_id } => {
                self.tell_act_thread(source, ActRequest::PrepareUndo { action_id });
            }
            Effect::Undo { source, action_id } => {
                self.tell_act_thread(source, ActRequest::Undo { action_id });
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

    /// Records what the readers poll from now on.
    fn record(&mut self, file: &str) -> io::Result<()> {
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
    fn finish_recording(&mut self) {
        for source in 0..self.readers.len() {
            self.ask(source, SourceQuestion::Record(None));
        }
        let ended = self.recording.take().map_or(Ok(()), |recording| recording.finish());
        if let Err(error) = ended {
            self.model.update(clock(), Msg::RecordingStopped(error.to_string()));
        }
    }

    fn ask_trail(&self, question: TrailQuestion) {
        if let Some(past) = &self.past {
            past.ask(question);
        }
    }

    fn ask(&self, source: usize, question: SourceQuestion) {
        // The silence of a thread that has ended shows: its source becomes stale.
        if let Some(reader) = self.readers.get(source) {
            reader.questions.ask(question);
        }
    }

    fn tell_act_thread(&mut self, source: usize, job: ActRequest) {
        let said = match self.act_threads.get(source) {
            Some(Some(act_thread)) if act_thread.give(job) => return,
            Some(Some(_)) => {
                "nothing was done: the thread that acts on this source has ended unexpectedly; start claimtop again"
            }
            Some(None) | None => "nothing was done: this source is open read-only",
        };
        self.model.update(clock(), Msg::Notice(said.into()));
    }

    /// Saves the screen as a file in the working directory.
    fn save(&mut self, format: Format) -> io::Result<()> {
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

/// Whether an effect concerns the screen alone, and so exists in a replay too.
fn is_of_screen(effect: &Effect) -> bool {
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
