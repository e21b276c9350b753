//! Keys, pastes and the mouse, and the end of the terminal.

use crossterm::event::{Event, KeyEventKind, MouseButton, MouseEventKind, read};
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::thread;
use tokio::sync::mpsc;

use crate::app::message::Msg;
use crate::ui::View;

/// Input from the terminal.
#[derive(Debug)]
pub(super) enum Input {
    Event(Event),
    /// The terminal is gone.
    Gone,
}

/// Two threads: one reads, the other notices when the terminal is gone. Without the second, a dead terminal would
/// keep the first busy forever.
pub(super) fn start() -> io::Result<mpsc::Receiver<Input>> {
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

/// The message for an event, given what the last frame showed.
pub(super) fn message(event: Event, view: &View) -> Option<Msg> {
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
