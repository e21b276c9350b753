//! The program itself in a real pty: keys go in, what a terminal would show comes out.

mod seen;

use crate::support::engine::not_in_fast;
use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::num::NonZeroU16;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use vt100::{MouseProtocolMode, Screen};

pub use seen::Glance;
use seen::Seen;

/// The escape key in the long form: the short one is another key if something follows at once.
pub const ESC: &str = "\x1b[27u";
pub const SHORT_ESC: &str = "\x1b";
pub const ENTER: &str = "\r";
pub const TAB: &str = "\t";
pub const PAGE_DOWN: &str = "\x1b[6~";
pub const CTRL_C: &str = "\x03";

/// Nothing takes this long unless it never happens.
const DEADLINE: Duration = Duration::from_secs(180);

/// A program that is about to be started in a terminal.
pub struct Start {
    command: CommandBuilder,
    size: (u16, u16),
}

impl Start {
    /// The dashboard, away from the user's own config; `state` is where its trail goes.
    pub fn claimtop(state: &Path) -> Start {
        let mut start = Start::program(env!("CARGO_BIN_EXE_claimtop"));
        start.command.env("XDG_STATE_HOME", state);
        start
    }

    pub fn program(program: impl AsRef<OsStr>) -> Start {
        let mut command = CommandBuilder::new(program);
        command.env("XDG_CONFIG_HOME", "/proc/nonexistent");
        command.env("COLORTERM", "truecolor");
        command.env("TERM", "xterm-256color");
        command.env_remove("NO_COLOR");
        command.cwd("/");
        Start { command, size: (120, 40) }
    }

    pub fn with(mut self, argument: impl AsRef<OsStr>) -> Start {
        self.command.arg(argument);
        self
    }

    /// Columns and lines.
    pub fn size(mut self, columns: u16, lines: u16) -> Start {
        self.size = (columns, lines);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Start {
        self.command.env(name, value);
        self
    }

    pub fn folder(mut self, folder: &Path) -> Start {
        self.command.cwd(folder);
        self
    }

    pub fn run(self) -> Pty {
        let Start { command, size } = self;
        not_in_fast("a terminal");
        let pair = native_pty_system().openpty(pty_size(size)).expect("a pty");
        let name = pair.master.tty_name().expect("its name");
        // Ours as well, so that its state can be asked for when the program is gone.
        let flags = OFlags::NOCTTY.bits().cast_signed();
        let tty = OpenOptions::new().read(true).write(true).custom_flags(flags).open(name).expect("the tty");
        let child = pair.slave.spawn_command(command).expect("the program starts");
        drop(pair.slave);
        let seen = Arc::new(Seen::new(size));
        let (reader, shared) = (pair.master.try_clone_reader().expect("a reader"), Arc::clone(&seen));
        let writer = pair.master.take_writer().expect("a writer");
        Pty {
            child,
            near: Some(Near { master: pair.master, writer }),
            tty: Some(tty),
            seen,
            reader: Some(thread::spawn(move || shared.read(reader))),
        }
    }
}

/// A program in a terminal; it ends with the test, however that ends.
pub struct Pty {
    child: Box<dyn Child + Send + Sync>,
    near: Option<Near>,
    tty: Option<File>,
    seen: Arc<Seen>,
    reader: Option<JoinHandle<()>>,
}

/// Our end.
struct Near {
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
}

impl Pty {
    /// Types.
    pub fn keys(&mut self, keys: &str) {
        let near = self.near.as_mut().expect("a terminal");
        near.writer.write_all(keys.as_bytes()).and_then(|()| near.writer.flush()).expect(keys);
    }

    /// Waits until the screen is as it should be; what it was then.
    pub fn wait_for(&self, what: &str, is_so: impl Fn(&Screen) -> bool) -> String {
        self.seen.wait_for(what, || self.is_in('Z'), is_so)
    }

    /// Types, and takes the time until the screen has its answer.
    pub fn answer_time(&mut self, keys: &str, is_answered: impl Fn(&str) -> bool) -> Duration {
        let pressed = Instant::now();
        self.keys(keys);
        self.wait_for(&format!("an answer to {keys:?}"), |screen| is_answered(&screen.contents()));
        pressed.elapsed()
    }

    /// The same screen for another pair of eyes.
    pub fn glance(&self) -> Glance {
        Glance(Arc::clone(&self.seen))
    }

    /// Waits until the screen holds this text.
    pub fn wait(&self, text: &str) -> String {
        self.wait_for(text, |screen| screen.contents().contains(text))
    }

    /// Waits until the screen holds the one text and not the other.
    pub fn wait_without(&self, text: &str, gone: &str) -> String {
        self.wait_for(&format!("{text:?} without {gone:?}"), |screen| {
            let shown = screen.contents();
            shown.contains(text) && !shown.contains(gone)
        })
    }

    /// Types, and waits for what comes of it.
    pub fn press(&mut self, keys: &str, text: &str) -> String {
        self.keys(keys);
        self.wait(text)
    }

    pub fn screen(&self) -> String {
        self.seen.state().parser.screen().contents()
    }

    /// Every byte so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.seen.state().bytes.clone()
    }

    /// Another size. What was shown is lost, as it may be in a terminal: only what is drawn from now
    /// on counts.
    pub fn resize(&mut self, columns: u16, lines: u16) {
        let mut state = self.seen.state();
        if state.parser.screen().size() == (count(lines), count(columns)) {
            return;
        }
        state.parser.set_size(count(lines), count(columns));
        state.parser.process(b"\x1b[2J");
        let near = self.near.as_ref().expect("a terminal");
        near.master.resize(pty_size((columns, lines))).expect("a new size");
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("our own child");
    }

    pub fn pid(&self) -> Pid {
        let pid = self.child.process_id().expect("a child that was not collected");
        Pid::from_raw(pid.cast_signed()).expect("no process is 0")
    }

    /// Waits until the kernel says that it is stopped.
    pub fn wait_until_stopped(&self) {
        until("it stops", || self.is_in('T').then_some(()));
    }

    /// Waits until it is stopped, or has come to its end instead; whether it is stopped.
    pub fn stops_or_ends(&self) -> bool {
        until("it stops", || match (self.is_in('T'), self.is_in('Z')) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        })
    }

    /// Whether the kernel says that it is in this state.
    fn is_in(&self, state: char) -> bool {
        let path = format!("/proc/{}/stat", self.pid().as_raw_nonzero());
        let stat = std::fs::read_to_string(path).expect("a child that was not collected");
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(state))
    }

    /// Whether lines are edited and echoed by the kernel, as a shell wants it.
    pub fn is_cooked(&self) -> bool {
        let modes = tcgetattr(self.tty.as_ref().expect("a terminal")).expect("its state").local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Closes our end of the terminal, as a window does.
    pub fn close(&mut self) {
        let tty = self.tty.take().expect("a terminal");
        let mut state = tcgetattr(&tty).expect("its state");
        // Else our end says goodbye with keys of its own.
        state.special_codes[SpecialCodeIndex::VEOF] = 0;
        tcsetattr(&tty, OptionalActions::Now, &state).expect("a new state");
        self.seen.state().lets_go = true;
        self.near = None;
        // Wakes the reader; if somebody else did before, there is nobody left to be told.
        let _ = (&tty).write_all(b" ");
        self.join();
    }

    /// Waits until the program ends by itself, and until all that it wrote was read.
    pub fn end(&mut self) -> Ended {
        let status = until("it ends", || self.child.try_wait().expect("our own child"));
        let cooked = self.tty.is_some() && self.is_cooked();
        self.tty = None;
        self.join();
        let state = self.seen.state();
        let screen = state.parser.screen();
        let is_sane = cooked
            && !screen.alternate_screen()
            && !screen.hide_cursor()
            && !screen.bracketed_paste()
            && screen.mouse_protocol_mode() == MouseProtocolMode::None;
        Ended { status, is_sane, left: screen.contents(), bytes: state.bytes.clone() }
    }

    /// Leaves the program by its key.
    pub fn quit(mut self) -> Ended {
        self.keys("q");
        let ended = self.end();
        assert_eq!(ended.status.exit_code(), 0, "{}", ended.left);
        assert!(ended.is_sane, "{}", ended.left);
        ended
    }

    fn join(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader");
        }
    }
}

/// How a program left its terminal.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    /// Cooked, on its own screen, with a cursor, and nothing of ours switched on.
    pub is_sane: bool,
    /// What is on the screen.
    pub left: String,
    pub bytes: Vec<u8>,
}

impl Drop for Pty {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = kill_process(self.pid(), Signal::KILL);
            let _ = self.child.wait();
        }
        self.tty = None;
    }
}

/// Asks again and again until there is an answer.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        // Nothing tells when another process ends or stops: it has to be asked.
        thread::park_timeout(Duration::from_millis(5));
    }
}

fn count(of: u16) -> NonZeroU16 {
    NonZeroU16::new(of).expect("a screen has room")
}

fn pty_size((cols, rows): (u16, u16)) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}
