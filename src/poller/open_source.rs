//! A source and its read connection, opened when it is first needed and kept.

use std::fmt;
use std::sync::Arc;

use crate::store::{Options, Reader, StoreError};

/// Opens a source; called again after a lost connection.
pub type Opener = Arc<dyn Fn() -> Result<Options, StoreError> + Send + Sync>;

pub struct OpenSource {
    open: Opener,
    reader: Option<Reader>,
}

impl OpenSource {
    pub fn new(open: Opener) -> OpenSource {
        OpenSource { open, reader: None }
    }

    /// The reader; opened if there is none.
    pub fn reader(&mut self) -> Result<&mut Reader, StoreError> {
        match &mut self.reader {
            Some(reader) => Ok(reader),
            none => Ok(none.insert(Reader::open((self.open)()?)?)),
        }
    }

    /// Closes the connection; the next poll opens another one.
    pub fn close(&mut self) {
        self.reader = None;
    }
}

impl fmt::Debug for OpenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenSource").field("reader", &self.reader).finish_non_exhaustive()
    }
}
