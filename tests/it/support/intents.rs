//! Where a batch's intents go if a test needs no journal.

use claimtop::store::{Intents, Pending};

pub struct Noted {
    /// The numbers of the acts.
    pub numbers: Vec<usize>,
    /// What comes of writing them down.
    pub written: Result<(), String>,
}

impl Noted {
    pub fn new() -> Noted {
        Noted { numbers: Vec::new(), written: Ok(()) }
    }
}

impl Intents for Noted {
    fn add(&mut self, number: usize, _: &Pending<'_>) {
        self.numbers.push(number);
    }

    fn take_back(&mut self, count: usize) {
        self.numbers.truncate(self.numbers.len() - count);
    }

    fn write(&mut self) -> Result<(), String> {
        self.written.clone()
    }
}
