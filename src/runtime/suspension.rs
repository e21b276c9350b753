//! Ctrl-Z on the dashboard: gives the terminal back to the shell, and stops the process between two transactions.

use std::io;

use ratatui::layout::Rect;

use super::Dashboard;
use crate::store::suspend::{self, Idle};
use crate::terminal;

impl Dashboard {
    /// Stops the process as soon as no thread has an open transaction: workers would wait for its locks.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        if !self.waits_for_idle {
            self.waits_for_idle = true;
            let idle = self.idle.clone();
            let wait = move || {
                // If the dashboard has ended since, nobody needs it.
                let _ = idle.blocking_send(suspend::idle());
            };
            std::thread::Builder::new().name("stop".into()).spawn(wait)?;
        }
        Ok(())
    }

    /// Gives the terminal back to the shell and stops; the rest runs when the process continues.
    pub(super) fn stop(&mut self, idle: Idle) -> io::Result<()> {
        self.waits_for_idle = false;
        if !self.stop_requests.is_wanted() {
            return Ok(());
        }
        terminal::restore();
        self.stop_requests.stop(idle);
        self.come_back()
    }

    pub(super) fn come_back(&mut self) -> io::Result<()> {
        terminal::enter(self.mouse)?;
        self.redraw_all()
    }

    /// Draws the next frame in full. `clear` cannot be used: it asks the terminal for the cursor position, and the
    /// thread that reads the keys would have to pass on the answer.
    pub(super) fn redraw_all(&mut self) -> io::Result<()> {
        let size = self.screen.size()?;
        self.screen.resize(Rect::new(0, 0, size.width, size.height))
    }
}
