//! Writing to the two streams, where a reader may go away at any time.

use std::io::{self, Write};

use crate::domain::visible::safe;
use crate::exit::Exit;

/// Prints to standard output; `false` when nobody reads any more.
pub fn print(text: &str) -> bool {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_ok()
}

/// Says on standard error what went wrong, safe for a terminal.
pub fn complain(sentence: &str) -> Exit {
    // If standard error is closed there is nobody left to tell.
    let _ = writeln!(io::stderr(), "claimtop: {}", safe(sentence));
    Exit::Error
}
