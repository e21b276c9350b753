//! What a terminal has shown, for everybody who waits for something on it.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use vt100::{Parser, Screen};

use super::{DEADLINE, count};

/// On a busy machine it takes a moment until all that a program wrote is read.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// What the terminal has been told so far.
pub(super) struct Seen {
    state: Mutex<State>,
    news: Condvar,
}

pub(super) struct State {
    pub(super) parser: Parser,
    pub(super) bytes: Vec<u8>,
    is_over: bool,
    /// The reader lets go of the terminal at the next byte.
    pub(super) lets_go: bool,
}

impl State {
    /// Whether the last frame has arrived to its end: there the cursor is hidden or put in its place.
    fn is_whole(&self) -> bool {
        let end = &self.bytes[self.bytes.len().saturating_sub(16)..];
        let placed = end.ends_with(b"H") && end.windows(6).any(|part| part == b"\x1b[?25h");
        !self.parser.screen().alternate_screen() || placed || end.ends_with(b"\x1b[?25l")
    }
}

impl Seen {
    pub(super) fn new((columns, lines): (u16, u16)) -> Seen {
        let parser = Parser::new(count(lines), count(columns), 0);
        let state = State { parser, bytes: Vec::new(), is_over: false, lets_go: false };
        Seen { state: Mutex::new(state), news: Condvar::new() }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(super) fn wait_for(
        &self,
        what: &str,
        is_gone: impl Fn() -> bool,
        is_so: impl Fn(&Screen) -> bool,
    ) -> String {
        let deadline = Instant::now() + DEADLINE;
        let mut gone_since = None;
        let mut state = self.state();
        loop {
            if state.is_whole() && is_so(state.parser.screen()) {
                return state.parser.screen().contents();
            }
            // A program that has ended may have written more than was read.
            let gone_for = is_gone().then(|| gone_since.get_or_insert_with(Instant::now).elapsed());
            let is_over = state.is_over || gone_for.is_some_and(|time| time > LAST_WORDS);
            if Instant::now() >= deadline || is_over {
                let over = if is_over { "the program is gone" } else { "it did not come" };
                let shown = state.parser.screen().contents();
                drop(state);
                panic!("waiting for {what}: {over}; the screen is\n{shown}");
            }
            // Whether it is still there is asked now and then.
            let pause = Duration::from_millis(200);
            state = self.news.wait_timeout(state, pause).expect("no panic while it is held").0;
        }
    }

    pub(super) fn read(&self, mut reader: Box<dyn Read + Send>) {
        let mut buffer = [0; 16_384];
        loop {
            let got = match reader.read(&mut buffer) {
                Ok(got) => got,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => 0,
            };
            let mut state = self.state();
            state.parser.process(&buffer[..got]);
            state.bytes.extend(&buffer[..got]);
            let ends = got == 0 || state.lets_go;
            state.is_over |= ends;
            self.news.notify_all();
            if ends {
                return;
            }
        }
    }
}

/// The screen of a [`Pty`], seen from another thread.
pub struct Glance(pub(super) Arc<Seen>);

impl Glance {
    /// Waits until the screen is as it should be.
    pub fn wait_for(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        self.0.wait_for(what, || false, |screen| is_so(&screen.contents()));
    }
}
