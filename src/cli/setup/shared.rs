//! The setup of a program that runs for long: its config can be read again.

use std::sync::{Arc, Mutex, PoisonError};

use super::Setup;
use crate::cli::Common;
use crate::cli::output::complain;

/// One setup for all threads.
#[derive(Debug, Clone)]
pub struct SharedSetup(Arc<Mutex<Setup>>);

impl SharedSetup {
    pub fn new(setup: Setup) -> SharedSetup {
        SharedSetup(Arc::new(Mutex::new(setup)))
    }

    /// The setup as it is now.
    pub fn current(&self) -> Setup {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the config again, and says so. Whether it was read: a wrong one leaves everything as it was.
    pub fn reload(&self, common: &Common) -> bool {
        match self.current().reload(common) {
            Ok(setup) => {
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = setup;
                complain("the config was read again");
                true
            }
            Err(sentence) => {
                complain(&format!("the config stays as it was: {sentence}"));
                false
            }
        }
    }
}
