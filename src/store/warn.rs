//! Who hears what an operator should know once.

use std::fmt;
use std::sync::Arc;

/// Takes a sentence; it may have heard it before.
#[derive(Clone)]
pub struct Warn(Arc<dyn Fn(&str) + Send + Sync>);

impl Warn {
    pub fn new(hear: impl Fn(&str) + Send + Sync + 'static) -> Warn {
        Warn(Arc::new(hear))
    }

    pub fn say(&self, sentence: &str) {
        (self.0)(sentence);
    }
}

impl fmt::Debug for Warn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Warn")
    }
}
