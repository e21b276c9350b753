//! The terminal: taken over, and restored however the program ends.

use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use std::io::{self, Stdout, Write, stderr, stdout};
use std::mem::ManuallyDrop;
use std::sync::Mutex;
use std::thread;

use crate::domain::visible::safe;

/// Who receives the mouse: this program, or the terminal with its own selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mouse {
    Program,
    Terminal,
}

/// Never dropped: ratatui prints when it is dropped, which panics if the terminal is gone.
pub type Screen = ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>;

/// Panics of other threads, kept until the screen is restored.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Takes the terminal over. From here on a panic restores it before its message is printed.
pub fn take(mouse: Mouse) -> io::Result<Screen> {
    let before = std::panic::take_hook();
    let owner = thread::current().id();
    std::panic::set_hook(Box::new(move |panic| {
        if thread::current().id() == owner {
            restore();
            before(panic);
        } else if let Ok(mut panics) = PANICS.lock() {
            // If a reading or acting thread panics, the screen stays, and the message is printed at the end.
            panics.push(panic.to_string());
        }
    }));
    let taken = enter(mouse).and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
    if taken.is_err() {
        restore();
    }
    taken.map(ManuallyDrop::new)
}

/// Prints the panics that were kept.
pub fn print_panics() {
    let Ok(panics) = PANICS.lock() else { return };
    for line in panics.iter().flat_map(|panic| panic.lines()) {
        // If standard error is closed, nobody can read them.
        let _ = writeln!(stderr(), "claimtop: {}", safe(line));
    }
}

/// Enters raw mode and the alternate screen: at the start, and after a stop.
pub fn enter(mouse: Mouse) -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
    match mouse {
        Mouse::Program => execute!(stdout(), EnableMouseCapture),
        Mouse::Terminal => Ok(()),
    }
}

/// Restores the terminal. Errors do not matter: a terminal that is gone needs nothing.
pub fn restore() {
    let _ =
        execute!(stdout(), DisableMouseCapture, DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}
