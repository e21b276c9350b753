//! The loop: messages in, the model updated, effects sent out, the screen drawn.
//!
//! ```text
//!   keys ─────────────┐
//!   pollers (watch) ──┼──► Msg ──► Model::update ──► draw
//!   answers (mpsc) ───┤                 │
//!   signals, ticks ───┘                 └──► Effect ──► poller, act_thread, terminal
//! ```
//!
//! Only this file awaits. Nothing here waits for a database: pollers and act_threads are threads.

mod act_thread;
mod input;
mod trail_thread;

use std::io::{self, Write, stdout};
use std::sync::Arc;
use std::time::Duration;

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::Event;
use crossterm::execute;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::app::message::{Effect, Format, Msg};
use crate::app::model::{Model, Pace};
use crate::domain::time::Span;
use crate::poller::{Answer, Opener, Poller, ProberMaker, Question, SILENCE, duration};
use crate::store::suspend::{self, Idle};
use crate::store::{WriteAccess, clock};
use crate::terminal::{self, Mouse, Screen};
use crate::ui::{self, Theme, View};
use act_thread::{ActThread, Job};
use input::Input;
use trail_thread::TrailThread;

/// A source as the runtime needs it.
pub struct Feed {
    pub label: String,
    pub open: Opener,
    /// The same source, seen from its dead jobs.
    pub dead: Opener,
    pub probers: ProberMaker,
    /// How to act on it; a read-only source has no way.
    pub writing: Option<WriteOpeners>,
}

/// Opens a source to act on it, with permission asked for anew; or says why that is refused.
pub type WriteOpener = Arc<dyn Fn() -> Result<WriteAccess, String> + Send + Sync>;

/// How to act on the claims of a source, and on its dead jobs.
#[derive(Clone)]
pub struct WriteOpeners {
    pub claims: WriteOpener,
    pub dead: WriteOpener,
}

impl std::fmt::Debug for WriteOpeners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WriteOpeners")
    }
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").field("label", &self.label).finish_non_exhaustive()
    }
}

/// Answers that wait for the model; a poller with more to say waits itself.
const WAITING: usize = 64;

/// Runs the dashboard until somebody leaves it.
pub fn run(model: Model, feeds: Vec<Feed>, theme: Theme, mouse: Mouse) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        // Before the terminal is taken: no signal may end the program with the terminal in its hands.
        let signals = Signals::listen()?;
        let screen = terminal::take(mouse)?;
        let mut dashboard = Dashboard::start(model, feeds, theme, mouse, screen)?;
        dashboard.run(signals).await
    });
    terminal::give_back();
    terminal::say_last_words();
    // Threads that wait for a database are not waited for.
    runtime.shutdown_background();
    ended
}

struct Dashboard {
    model: Model,
    view: View,
    theme: Theme,
    mouse: Mouse,
    screen: Screen,
    pollers: Vec<Poller>,
    /// One for each source that may be written.
    act_threads: Vec<Option<ActThread>>,
    past: TrailThread,
    messages: mpsc::Receiver<Msg>,
    inputs: mpsc::Receiver<Input>,
    ended: bool,
    /// Somebody wants the process stopped, and it waits for its open transactions.
    stopping: bool,
    /// There are none any more.
    idles: mpsc::Receiver<Idle>,
    idle: mpsc::Sender<Idle>,
}

impl Dashboard {
    fn start(
        model: Model,
        feeds: Vec<Feed>,
        theme: Theme,
        mouse: Mouse,
        screen: Screen,
    ) -> io::Result<Dashboard> {
        let (sender, messages) = mpsc::channel(WAITING);
        let inputs = input::start()?;
        let (mut pollers, mut act_threads) = (Vec::new(), Vec::new());
        let interval = duration(model.settings.interval);
        let labels: Vec<String> = feeds.iter().map(|feed| feed.label.clone()).collect();
        for (source, feed) in feeds.into_iter().enumerate() {
            let doors = (feed.open, feed.dead);
            let poller = Poller::start(
                (source, &feed.label),
                doors.clone(),
                feed.probers.clone(),
                interval,
                sender.clone(),
            )?;
            forward(source, &poller, sender.clone());
            notice_silence(source, &poller, sender.clone());
            pollers.push(poller);
            let act = |writing| ActThread::start(source, feed.label, writing, feed.probers, sender.clone());
            act_threads.push(feed.writing.map(act).transpose()?);
        }
        let past = TrailThread::start(labels, sender)?;
        let (idle, idles) = mpsc::channel(1);
        Ok(Dashboard {
            model,
            view: View::default(),
            theme,
            mouse,
            screen,
            pollers,
            act_threads,
            past,
            messages,
            inputs,
            ended: false,
            stopping: false,
            idles,
            idle,
        })
    }

    async fn run(&mut self, mut signals: Signals) -> io::Result<()> {
        self.draw()?;
        while !self.ended {
            let tick = tokio::time::sleep(self.tick());
            let [terminate, hangup, interrupt] = &mut signals.endings;
            tokio::select! {
                input = self.inputs.recv() => self.take_input(input)?,
                Some(msg) = self.messages.recv() => self.take(msg)?,
                () = tick, if self.model.has_countdown() => self.take(Msg::Tick)?,
                () = received(terminate) => self.ended = true,
                () = received(hangup) => self.ended = true,
                () = received(interrupt) => self.ended = true,
                _ = signals.stops.recv() => self.suspend()?,
                _ = signals.continues.recv() => {
                    // It was told to go on before it had stopped.
                    self.stopping = false;
                    self.come_back()?;
                }
                Some(idle) = self.idles.recv() => self.stop(idle)?,
            }
            self.take_what_waits()?;
            if !self.ended {
                self.draw()?;
            }
        }
        Ok(())
    }

    /// How long the screen may stand still: polls that come every second move it on as well.
    fn tick(&self) -> Duration {
        let often = self.model.settings.interval <= Span::seconds(1) && self.model.pace == Pace::Live;
        Duration::from_millis(if often { 1_500 } else { 1_000 })
    }

    /// What came in meanwhile is drawn in one frame.
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
            // Nobody can see the screen any more.
            None | Some(Input::Gone) => {
                self.ended = true;
                Ok(())
            }
            // A window that shrinks and grows again has lost what it showed, at the same size.
            Some(Input::Event(Event::Resize(..))) => self.begin_anew(),
            Some(Input::Event(event)) => match input::message(event, &self.view) {
                Some(msg) => self.take(msg),
                None => Ok(()),
            },
        }
    }

    fn take(&mut self, msg: Msg) -> io::Result<()> {
        // What was written is looked at at once.
        let written = match &msg {
            Msg::Acted(done) => Some(done.source),
            Msg::BulkDone(summary) => Some(summary.source),
            _ => None,
        };
        if let Some(source) = written {
            self.ask(source, Question::Now);
        }
        for effect in self.model.update(clock(), msg) {
            self.run_effect(effect)?;
        }
        Ok(())
    }

    fn draw(&mut self) -> io::Result<()> {
        let Dashboard { model, view, theme, screen, .. } = self;
        model.now = clock();
        screen.draw(|frame| ui::draw(model, view, theme, frame))?;
        let rows = std::mem::take(&mut view.rows);
        let lines = view.page_lines;
        model.drawn(rows, lines);
        Ok(())
    }

    fn run_effect(&mut self, effect: Effect) -> io::Result<()> {
        match effect {
            Effect::Act { target, action, word } => {
                self.tell_act_thread(target.id.source, Job::Act { target: Box::new(target), action, word });
            }
            Effect::PrepareBulk { question, source, action, what } => {
                self.tell_act_thread(source, Job::Prepare { question, action, what });
            }
            Effect::RunBulk { question, source, word } => {
                self.tell_act_thread(source, Job::Run { question, word });
            }
            Effect::PrepareUndo { source, action_id } => {
                self.tell_act_thread(source, Job::PrepareUndo { action_id });
            }
            Effect::Undo { source, action_id } => self.tell_act_thread(source, Job::Undo { action_id }),
            Effect::LoadTrail => self.past.read(),
            Effect::Probe(rows) => {
                for source in 0..self.pollers.len() {
                    let here: Vec<_> = rows.iter().filter(|row| row.id.source == source).cloned().collect();
                    if !here.is_empty() {
                        self.ask(source, Question::Probe(here));
                    }
                }
            }
            Effect::LoadPage { source, request } => self.ask(source, Question::Page(request)),
            Effect::LoadDead(grave) => self.ask(grave.source, Question::Dead(grave)),
            Effect::LoadHolders { source } => self.ask(source, Question::Holders),
            Effect::LoadKinds { source } => self.ask(source, Question::Kinds),
            Effect::Examine { target } => self.ask(target.id.source, Question::Examine(Box::new(target))),
            Effect::SetPace { interval, paused } => {
                for source in 0..self.pollers.len() {
                    self.ask(source, Question::Pace { interval: duration(interval), paused });
                }
            }
            Effect::Copy(text) => execute!(stdout(), CopyToClipboard::to_clipboard_from(text))?,
            Effect::Save(format) => self.save(format)?,
            Effect::Bell => stdout().write_all(b"\x07").and_then(|()| stdout().flush())?,
            Effect::Suspend => self.suspend()?,
            Effect::Quit => self.ended = true,
        }
        Ok(())
    }

    fn ask(&self, source: usize, question: Question) {
        // A poller that has ended says so by its silence: its source goes stale.
        if let Some(poller) = self.pollers.get(source) {
            let _ = poller.questions.send(question);
        }
    }

    fn tell_act_thread(&mut self, source: usize, job: Job) {
        let said = match self.act_threads.get(source) {
            Some(Some(act_thread)) if act_thread.give(job) => return,
            Some(Some(_)) => {
                "nothing was done: the thread that acts on this source has ended unexpectedly; start claimtop again"
            }
            Some(None) | None => "nothing was done: this source is open read-only",
        };
        self.model.update(clock(), Msg::Said(said.into()));
    }

    /// Keeps the screen as a file in the folder the program was started in.
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
        let said = match std::fs::write(&name, text) {
            Ok(()) => format!("saved as {name}"),
            Err(error) => format!("{name} could not be written: {error}"),
        };
        self.take(Msg::Said(said))
    }

    /// Has the process stopped as soon as no thread has a transaction open: workers would wait for its locks.
    fn suspend(&mut self) -> io::Result<()> {
        if !self.stopping {
            self.stopping = true;
            let idle = self.idle.clone();
            let wait = move || {
                // Whoever has left since needs it no more.
                let _ = idle.blocking_send(suspend::idle());
            };
            std::thread::Builder::new().name("stop".into()).spawn(wait)?;
        }
        Ok(())
    }

    /// Gives the terminal back to the shell and stops; what follows runs when it goes on.
    fn stop(&mut self, idle: Idle) -> io::Result<()> {
        if !std::mem::replace(&mut self.stopping, false) {
            return Ok(());
        }
        terminal::give_back();
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
        drop(idle);
        self.come_back()
    }

    fn come_back(&mut self) -> io::Result<()> {
        terminal::enter(self.mouse)?;
        self.begin_anew()
    }

    /// The next frame is drawn in full. Not by `clear`: it asks the terminal where the cursor is, and
    /// the thread that reads the keys would have to hand over the answer.
    fn begin_anew(&mut self) -> io::Result<()> {
        let size = self.screen.size()?;
        self.screen.resize(Rect::new(0, 0, size.width, size.height))
    }
}

/// What the system may ask of the program.
struct Signals {
    endings: [Option<Signal>; 3],
    stops: Signal,
    continues: Signal,
}

impl Signals {
    fn listen() -> io::Result<Signals> {
        let endings = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()];
        Ok(Signals {
            endings: endings.map(|kind| signal(kind).ok()),
            stops: signal(SignalKind::from_raw(STOP))?,
            continues: signal(SignalKind::from_raw(CONTINUE))?,
        })
    }
}

/// SIGTSTP and SIGCONT.
const STOP: i32 = rustix::process::Signal::TSTP.as_raw();
const CONTINUE: i32 = rustix::process::Signal::CONT.as_raw();

/// Waits for a signal that could be listened to; for one that could not, for ever.
async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Says that a source is silent: the thread that waits for it cannot.
fn notice_silence(source: usize, poller: &Poller, messages: mpsc::Sender<Msg>) {
    let mut turns = poller.turns.clone();
    tokio::spawn(async move {
        while let Ok(turn) = turns.wait_for(|turn| turn % 2 == 1).await.map(|turn| *turn) {
            let since = clock();
            let silent = tokio::time::timeout(SILENCE, turns.wait_for(|now| *now != turn)).await.is_err();
            if silent && messages.send(Msg::Silent { source, since }).await.is_err() {
                return;
            }
            if turns.wait_for(|now| *now != turn).await.is_err() {
                return;
            }
        }
    });
}

/// Of several polls that nobody has looked at yet only the latest counts.
fn forward(source: usize, poller: &Poller, messages: mpsc::Sender<Msg>) {
    let (mut polls, slot) = (poller.polls.clone(), Arc::clone(&poller.latest));
    tokio::spawn(async move {
        while polls.changed().await.is_ok() {
            polls.borrow_and_update();
            let Some(Answer { poll, events }) = slot.lock().ok().and_then(|mut latest| latest.take()) else {
                continue;
            };
            if messages.send(Msg::Polled { source, poll, events }).await.is_err() {
                return;
            }
        }
        let _ = messages
            .send(Msg::Polled {
                source,
                poll: Err("the reader of this source has ended unexpectedly".into()),
                events: Vec::new(),
            })
            .await;
    });
}
