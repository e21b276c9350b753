//! Writes to standard output and standard error, which may be closed at any time.

use std::io::{self, Write};

use crate::domain::visible::safe;
use crate::exit::Exit;

/// Prints to standard output; `false` if it is closed.
pub(super) fn print(text: &str) -> bool {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_ok()
}

/// Prints an error to standard error, safe for a terminal.
pub(super) fn complain(sentence: &str) -> Exit {
    // If standard error is closed, there is nobody to tell.
    let _ = writeln!(io::stderr(), "claimtop: {}", safe(sentence));
    Exit::Error
}
