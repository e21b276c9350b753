//! The id of a worker, as the specification allows it.

use std::fmt;

use super::super::WorkerError;

/// The id of a worker: 1 to 255 ASCII letters, digits, dashes and underscores.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(String);

const LONGEST: usize = 255;

impl WorkerId {
    pub fn new(text: &str) -> Result<WorkerId, WorkerError> {
        let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if text.is_empty() || text.len() > LONGEST || !text.chars().all(good) {
            let message = format!(
                "Invalid worker_id format: {text:?}; a worker's id is 1 to {LONGEST} letters, digits, dashes \
                 and underscores"
            );
            return Err(WorkerError::Invalid(message));
        }
        Ok(WorkerId(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
