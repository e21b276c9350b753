//! The binary: arguments in, an exit code out.

use std::process::Termination;

fn main() -> impl Termination {
    // Without the hook a panic still ends the program; it only says less.
    let _ = color_eyre::install();
    claimtop::run_program(std::env::args_os())
}
