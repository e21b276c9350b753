//! The setup of a long-running program, whose config can be reloaded.

use std::sync::{Arc, Mutex, PoisonError};

use super::Setup;
use crate::cli::Common;
use crate::cli::output::complain;

/// One setup for all threads.
#[derive(Debug, Clone)]
pub(crate) struct SharedSetup(Arc<Mutex<Setup>>);

impl SharedSetup {
    pub(crate) fn new(setup: Setup) -> SharedSetup {
        SharedSetup(Arc::new(Mutex::new(setup)))
    }

    /// The setup as it is now.
    pub(crate) fn current(&self) -> Setup {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reloads the config and reports it. Returns whether it was read: an invalid one leaves everything as it was.
    pub(crate) fn reload(&self, common: &Common) -> bool {
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
