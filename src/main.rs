//! The binary: arguments in, an exit code out.

use claimtop::exit::Exit;

fn main() -> Exit {
    // Without the hook a panic still ends the program; it only says less.
    let _ = color_eyre::install();
    claimtop::cli::run(std::env::args_os())
}
