//! The loop: messages in, the model updated, effects sent out, the screen drawn.
//!
//! ```text
//!   keys ─────────────┐
//!   polls (watch) ────┼──► Msg ──► Model::update ──► draw
//!   answers (mpsc) ───┤                 │
//!   signals, ticks ───┘                 └──► Effect ──► readers, actors, terminal
//! ```
//!
//! Only this file awaits. Nothing here waits for a database: a pool of threads reads all sources, and another one acts
//! on those that may be written.

mod captures;
mod effects;
mod input;
mod poll_answers;
mod replay_feed;
mod source_access;
mod source_actor;
mod source_reader;
mod state_file;
mod suspension;
mod trail_thread;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::Event;
use tokio::sync::mpsc;

use crate::app::message::Msg;
use crate::app::model::{Model, PollIntake};
use crate::app::replay::{Replay, ReplayMove};
use crate::background;
use crate::domain::time::{Moment, Span};
use crate::job_control::StopRequests;
use crate::poller::{Poller, PollerPool, SharedRecording};
use crate::recording::SourceIdentity;
use crate::signals::{SignalRequest, Signals};
use crate::store::clock;
use crate::store::suspend::Idle;
use crate::terminal::{self, Mouse, Screen};
use crate::ui::{self, Theme, View};
use effects::is_of_screen;
use input::Input;
use poll_answers::PollAnswers;
pub use replay_feed::ReplayFeed;
pub use source_access::{ProberMaker, SourceAccess, WriteOpener, WriteOpeners};
use source_actor::ActorHandle;
use source_reader::SourceQuestion;
pub use state_file::StateFile;
use trail_thread::TrailThread;

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
    readers: Vec<Poller<SourceQuestion>>,
    /// One for each source that may be written.
    actors: Vec<Option<ActorHandle>>,
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
        let (mut readers, mut actors) = (Vec::new(), Vec::new());
        let (reading, acting) = (PollerPool::new("poller"), PollerPool::new("acts"));
        let interval = model.settings.interval.duration();
        let labels: Vec<String> = feeds.iter().map(|feed| feed.label.clone()).collect();
        let identities: Vec<SourceIdentity> = feeds.iter().map(|feed| feed.identity.clone()).collect();
        let is_replay = model.replay.is_some();
        let polls = PollAnswers::new(feeds.len());
        polls.forward_to(sender.clone());
        for (source, feed) in feeds.into_iter().enumerate() {
            let polls = Arc::clone(&polls);
            readers.push(source_reader::start(&reading, source, &feed, interval, polls, sender.clone())?);
            let act = |writing| {
                ActorHandle::start(&acting, source, &feed.label, writing, &feed.probers, sender.clone())
            };
            actors.push(feed.writing.map(act));
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
            actors,
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
}
