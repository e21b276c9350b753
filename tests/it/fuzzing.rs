//! Random input for everything that reads what others wrote: databases, files, addresses, `/proc`.
//!
//! The inputs are made by a generator of our own, from a number: it changes good examples and joins them
//! with what is known to do harm. Coverage-guided fuzzers need a nightly compiler, and a run must be the same on
//! every machine: a failure names its number, and `CLAIMTOP_FUZZ_FROM` begins there. `CLAIMTOP_FUZZ` says how many
//! runs the cheapest target gets; `./tests/run --soak` makes it five million.

mod addresses;
mod display;
mod journal;
mod parsers;
mod random;

use crate::support::figures;
use random::Random;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs of the cheapest target in the short form.
const SHORT: u64 = 20_000;

/// Has a target run its share of the runs, and tells how many there were.
fn fuzz(promise: &str, share: u64, mut run: impl FnMut(&mut Random)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let runs = (number("CLAIMTOP_FUZZ").unwrap_or(SHORT) / share).max(50);
    let from = number("CLAIMTOP_FUZZ_FROM").unwrap_or(0);
    for at in from..from + runs {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&mut Random::new(at))));
        if let Err(panic) = outcome {
            eprintln!("run {at} failed; CLAIMTOP_FUZZ_FROM={at} CLAIMTOP_FUZZ=1 repeats it");
            figures::promise(promise, runs, 1);
            resume_unwind(panic);
        }
    }
    figures::promise(promise, runs, 0);
}
