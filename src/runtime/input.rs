//! Keys, pastes, the mouse; and whether the terminal is still there.

use crossterm::event::{Event, KeyEventKind, MouseButton, MouseEventKind, read};
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::thread;
use tokio::sync::mpsc;

use crate::app::message::Msg;
use crate::ui::View;

/// What the terminal has to say.
#[derive(Debug)]
pub enum Input {
    Event(Event),
    /// There is no terminal any more.
    Gone,
}

/// Two threads: one reads, the other notices when there is nobody left to read from. Without the
/// second a terminal that dies keeps the first one busy for ever.
pub fn start() -> io::Result<mpsc::Receiver<Input>> {
    let (sender, receiver) = mpsc::channel(256);
    let gone = sender.clone();
    thread::Builder::new().name("keys".into()).spawn(move || {
        while let Ok(event) = read() {
            if sender.blocking_send(Input::Event(event)).is_err() {
                return;
            }
        }
        let _ = sender.blocking_send(Input::Gone);
    })?;
    thread::Builder::new().name("terminal".into()).spawn(move || {
        let stdin = io::stdin();
        loop {
            let mut watched = [PollFd::new(&stdin, PollFlags::empty())];
            match poll(&mut watched, None) {
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => break,
                Ok(_) if watched[0].revents().is_empty() => {}
                Ok(_) => break,
            }
        }
        let _ = gone.blocking_send(Input::Gone);
    })?;
    Ok(receiver)
}

/// What an event means, given what the last frame showed.
pub fn message(event: Event, view: &View) -> Option<Msg> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(Msg::Key(key)),
        Event::Paste(text) => Some(Msg::Paste(text)),
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                view.hit(mouse.column, mouse.row).cloned().map(Msg::Clicked)
            }
            MouseEventKind::ScrollUp => Some(Msg::Scrolled(-3)),
            MouseEventKind::ScrollDown => Some(Msg::Scrolled(3)),
            _ => None,
        },
        Event::Key(_) | Event::Resize(..) | Event::FocusGained | Event::FocusLost => None,
    }
}
