//! A source as the dashboard needs it: how to read it, and how to act on it.

use std::fmt;
use std::sync::Arc;

use crate::poller::Opener;
use crate::recording::SourceIdentity;
use crate::store::{Prober, WriteAccess};

/// How the runtime reads a source and acts on it.
pub struct SourceAccess {
    pub label: String,
    /// As a recording names it.
    pub identity: SourceIdentity,
    pub open: Opener,
    /// The same source, for its dead jobs.
    pub dead: Opener,
    pub probers: ProberMaker,
    /// How to act on it; none for a read-only source.
    pub writing: Option<WriteOpeners>,
}

/// Opens a source to act on it and checks permission again; an error says why it is refused.
pub type WriteOpener = Arc<dyn Fn() -> Result<WriteAccess, String> + Send + Sync>;

/// How to act on the claims of a source, and on its dead jobs.
#[derive(Clone)]
pub struct WriteOpeners {
    pub claims: WriteOpener,
    pub dead: WriteOpener,
}

impl fmt::Debug for WriteOpeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WriteOpeners")
    }
}

impl fmt::Debug for SourceAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("label", &self.label).finish_non_exhaustive()
    }
}

/// Creates a process prober without cached answers.
pub type ProberMaker = Arc<dyn Fn() -> Prober + Send + Sync>;
