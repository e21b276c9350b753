//! Ctrl-Z on the dashboard: the terminal goes back to the shell, and the process stops between two transactions.

use std::io;

use ratatui::layout::Rect;

use super::Dashboard;
use crate::store::suspend::{self, Idle};
use crate::terminal;

impl Dashboard {
    /// Stops the process as soon as no thread has a transaction open: workers would wait for its locks.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
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
    pub(super) fn stop(&mut self, idle: Idle) -> io::Result<()> {
        if !std::mem::replace(&mut self.stopping, false) {
            return Ok(());
        }
        terminal::restore();
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
        drop(idle);
        self.come_back()
    }

    pub(super) fn come_back(&mut self) -> io::Result<()> {
        terminal::enter(self.mouse)?;
        self.redraw_all()
    }

    /// The next frame is drawn in full. Not by `clear`: it asks the terminal where the cursor is, and
    /// the thread that reads the keys would have to hand over the answer.
    pub(super) fn redraw_all(&mut self) -> io::Result<()> {
        let size = self.screen.size()?;
        self.screen.resize(Rect::new(0, 0, size.width, size.height))
    }
}
