//! The loop: messages in, the model updated, effects sent out, the screen drawn.
//!
//! ```text
//!   keys ─────────────┐
//!   polls (watch) ────┼──► Msg ──► Model::update ──► draw
//!   answers (mpsc) ───┤                 │
//!   signals, ticks ───┘                 └──► Effect ──► reader thread, act thread, terminal
//! ```
//!
//! Only this file awaits. Nothing here waits for a database: a source has a thread that reads, and one that acts
//! if it may be written.

mod act_thread;
mod feed;
mod input;
mod reader_thread;
mod suspension;
mod trail_thread;

use std::io::{self, Write, stdout};
use std::time::Duration;

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::Event;
use crossterm::execute;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tokio::sync::mpsc;

use crate::app::message::{Effect, Format, Msg};
use crate::app::model::{Model, Pace};
use crate::background;
use crate::domain::time::Span;
use crate::signals::{Request, Signals};
use crate::store::clock;
use crate::store::suspend::Idle;
use crate::terminal::{self, Mouse, Screen};
use crate::ui::{self, Theme, View};
use act_thread::{ActThread, Job};
pub use feed::{Feed, ProberMaker, WriteOpener, WriteOpeners};
use input::Input;
use reader_thread::{Question, ReaderThread};
use trail_thread::TrailThread;

/// Answers that wait for the model; a poller with more to say waits itself.
const WAITING: usize = 64;

/// Runs the dashboard until somebody leaves it.
pub fn run(model: Model, feeds: Vec<Feed>, theme: Theme, mouse: Mouse) -> io::Result<()> {
    let ended = background::runtime()?.block_on(async {
        // Before the terminal is taken: no signal may end the program while the terminal is in raw mode.
        let signals = Signals::for_screen()?;
        let screen = terminal::take(mouse)?;
        let mut dashboard = Dashboard::start(model, feeds, theme, mouse, screen)?;
        dashboard.run(signals).await
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
    readers: Vec<ReaderThread>,
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
        let (mut readers, mut act_threads) = (Vec::new(), Vec::new());
        let interval = model.settings.interval.duration();
        let labels: Vec<String> = feeds.iter().map(|feed| feed.label.clone()).collect();
        for (source, feed) in feeds.into_iter().enumerate() {
            let reader = ReaderThread::start(source, &feed, interval, sender.clone())?;
            reader.report_to(source, &sender);
            readers.push(reader);
            let act = |writing| ActThread::start(source, &feed.label, writing, &feed.probers, sender.clone());
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
            readers,
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
            tokio::select! {
                input = self.inputs.recv() => self.take_input(input)?,
                Some(msg) = self.messages.recv() => self.take(msg)?,
                () = tick, if self.model.has_countdown() => self.take(Msg::Tick)?,
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

    fn take_request(&mut self, request: Request) -> io::Result<()> {
        match request {
            Request::Stop => self.ended = true,
            Request::Suspend => self.suspend()?,
            Request::Continue => {
                // It was told to go on before it had stopped.
                self.stopping = false;
                self.come_back()?;
            }
            Request::Reload => {}
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
            Some(Input::Event(Event::Resize(..))) => self.redraw_all(),
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
                for source in 0..self.readers.len() {
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
                for source in 0..self.readers.len() {
                    self.ask(source, Question::Pace { interval: interval.duration(), paused });
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
        // A thread that has ended shows by its silence: its source goes stale.
        if let Some(reader) = self.readers.get(source) {
            reader.questions.ask(question);
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
}
