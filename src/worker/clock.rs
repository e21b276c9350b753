//! The clock of a worker: the system's (on PostgreSQL the database's), or one that a test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::clock::clock;
use crate::domain::time::{Moment, Span};

/// The clock of a worker; every operation reads it once.
#[derive(Debug, Clone, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// The system clock.
    pub fn system() -> Clock {
        Clock(None)
    }

    /// A clock for tests that stands still until it is set; its clones show the same time.
    pub fn standing_at(moment: Moment) -> Clock {
        Clock(Some(Arc::new(AtomicI64::new(moment.micros()))))
    }

    pub fn now(&self) -> Moment {
        match &self.0 {
            None => clock(),
            Some(set) => Moment::from_micros(set.load(Ordering::SeqCst)).unwrap_or(Moment::LATEST),
        }
    }

    /// Sets a standing clock; does nothing to the system clock.
    pub(super) fn set_to(&self) -> Option<Moment> {
        self.0.as_ref().map(|_| self.now())
    }

    /// Advances a standing clock; does nothing to the system clock.
    pub fn advance(&self, span: Span) {
        if let Some(set) = &self.0 {
            set.fetch_add(span.as_micros(), Ordering::SeqCst);
        }
    }
}
