//! Figures that a test takes and tells; none of them decides about it.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Duration;

/// The file that `./tests/run --soak` prints at its end.
const FILE: &str = "CLAIMTOP_FIGURES";

/// Says a line where the run of the tests shows it.
pub fn tell(line: &str) {
    eprintln!("{line}");
    if let Some(path) = std::env::var_os(FILE) {
        let file = OpenOptions::new().create(true).append(true).open(path);
        // One write, so that the lines of several tests do not mix.
        file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
            .expect("the file of figures");
    }
}

/// Tells how often a promise was tried, and how often it was broken: one row of the table that
/// `./tests/run --soak` prints.
pub fn promise(promise: &str, tries: u64, failures: u64) {
    tell(&format!("{PROMISE}\t{promise}\t{tries}\t{failures}"));
}

/// What such a line begins with.
const PROMISE: &str = "promise";

/// How long something took, and what it was.
pub type Took = (Duration, String);

/// How many there were, and how long they took, beside what is wanted.
pub fn times(what: &str, mut times: Vec<Took>, aim: Duration) {
    times.sort();
    let Some((longest, slowest)) = times.last() else { return tell(&format!("{what}: never")) };
    let part = |percent: usize| times[(times.len() - 1) * percent / 100].0;
    let late = times.iter().filter(|(took, _)| *took > aim).count();
    tell(&format!(
        "{what}: {} times, median {:.1?}, 95 of 100 within {:.1?}, longest {longest:.1?} ({slowest:?}); \
         {late} later than {aim:?}",
        times.len(),
        part(50),
        part(95),
    ));
}
