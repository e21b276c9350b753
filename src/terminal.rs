//! The terminal: taken over, and given back sane however this ends.

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

/// Whether the mouse is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mouse {
    Ours,
    TheTerminals,
}

/// Never dropped: ratatui says goodbye by printing, and where the terminal is gone that is a panic.
pub type Screen = ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>;

/// What threads that panicked would have said, had the screen not been ours.
static LAST_WORDS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Takes the terminal over. From here on a panic gives it back before it says anything.
pub fn take(mouse: Mouse) -> io::Result<Screen> {
    let before = std::panic::take_hook();
    let owner = thread::current().id();
    std::panic::set_hook(Box::new(move |panic| {
        if thread::current().id() == owner {
            give_back();
            before(panic);
        } else if let Ok(mut words) = LAST_WORDS.lock() {
            // The screen outlives a thread that reads or acts: it goes on drawing, and says later
            // what happened.
            words.push(panic.to_string());
        }
    }));
    let taken = enter(mouse).and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
    if taken.is_err() {
        give_back();
    }
    taken.map(ManuallyDrop::new)
}

/// Says what could not be said while the terminal was ours.
pub fn say_last_words() {
    let Ok(words) = LAST_WORDS.lock() else { return };
    for line in words.iter().flat_map(|word| word.lines()) {
        // If standard error is closed there is nobody left to tell.
        let _ = writeln!(stderr(), "claimtop: {}", safe(line));
    }
}

/// Raw mode and the other screen: at the start, and after a stop.
pub fn enter(mouse: Mouse) -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
    match mouse {
        Mouse::Ours => execute!(stdout(), EnableMouseCapture),
        Mouse::TheTerminals => Ok(()),
    }
}

/// Everything as it was. A terminal that is gone cannot be told, and need not be.
pub fn give_back() {
    let _ =
        execute!(stdout(), DisableMouseCapture, DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}
