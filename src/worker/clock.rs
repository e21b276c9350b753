//! Where a worker takes its time from: the system (on PostgreSQL the database's), or a test's hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::domain::time::{Moment, Span};
use crate::store::clock;

/// A clock that every operation asks once.
#[derive(Debug, Clone, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// The system's time.
    pub fn system() -> Clock {
        Clock(None)
    }

    /// A clock that stands still until it is set; its clones show the same time.
    pub fn standing_at(moment: Moment) -> Clock {
        Clock(Some(Arc::new(AtomicI64::new(moment.micros()))))
    }

    pub fn now(&self) -> Moment {
        match &self.0 {
            None => clock(),
            Some(set) => Moment::from_micros(set.load(Ordering::SeqCst)).unwrap_or(Moment::LATEST),
        }
    }

    /// The time of a standing clock; the system's has none of its own.
    pub(super) fn set_to(&self) -> Option<Moment> {
        self.0.as_ref().map(|_| self.now())
    }

    /// Moves a standing clock; the system's goes its own way.
    pub fn advance(&self, span: Span) {
        if let Some(set) = &self.0 {
            set.fetch_add(span.as_micros(), Ordering::SeqCst);
        }
    }
}
