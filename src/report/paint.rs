//! Colour on terminals, words everywhere.

use std::io::IsTerminal;

use crate::domain::verdict::Set;

/// The width of the terminal on standard output, if there is one.
pub fn terminal_width() -> Option<usize> {
    let stdout = std::io::stdout();
    let size = stdout.is_terminal().then(|| rustix::termios::tcgetwinsize(&stdout).ok())??;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Whether to use colour; decided once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    Colour,
    Plain,
}

impl Paint {
    /// Colour only on a terminal, and never where `NO_COLOR` is set.
    pub fn for_stdout() -> Paint {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if std::io::stdout().is_terminal() && !refused && !dumb { Paint::Colour } else { Paint::Plain }
    }

    pub fn set(self, set: Set, text: &str) -> String {
        let code = match set {
            Set::Orphaned => "1;35",
            Set::Stale => "1;31",
            Set::Unknown => "1;34",
            Set::Expiring => "33",
            Set::Healthy => "32",
        };
        self.code(code, text)
    }

    pub fn bold(self, text: &str) -> String {
        self.code("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.code("2", text)
    }

    fn code(self, code: &str, text: &str) -> String {
        match self {
            Paint::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Paint::Plain => text.to_owned(),
        }
    }
}
