//! An end for threads that work until they are told to stop.

use std::sync::atomic::{AtomicBool, Ordering};

/// Raises the flag when it is dropped, by a failure as well: else a scope would wait for its threads forever, and
/// with it every test behind.
pub struct Ending<'a>(pub &'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
