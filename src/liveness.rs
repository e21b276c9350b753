//! Whether the process that a row names is alive, dead (on proof) or unknown, as the kernel shows it.
//!
//! This module knows processes, host names and namespaces; it knows nothing about databases, boards or verdicts.
//! Anything that is not proof is [`Process::Unknown`], with a sentence that says why.
//!
//! ```text
//! machine           the checks in their order, and the finding
//! host              is this name ours?                      namespace   do our PIDs mean the same?
//! pid_sighting      what the kernel shows about one PID     proc_stat   the files in /proc, parsed
//! process_identity  is that process the holder?
//! ```

mod host;
mod machine;
mod namespace;
mod pid_sighting;
pub mod proc_stat;
mod process_identity;

pub use crate::domain::claim::HoldersOn;
use crate::domain::claim::Process;
use crate::domain::time::Moment;
use crate::domain::value::Value;
pub use machine::Machine;

/// What the rows say about a holder's process.
///
/// The times are compared with this machine's clock: leave out times that another clock wrote.
#[derive(Debug, Clone, Copy)]
pub struct ProcessSubject<'a> {
    pub pid: &'a Value,
    pub host: Option<&'a str>,
    pub started_at: Option<Moment>,
    pub beat_at: Option<Moment>,
}

/// Alive, dead or unknown, with a sentence that says why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessFinding {
    pub process: Process,
    pub evidence: String,
}

impl ProcessFinding {
    fn alive(evidence: String) -> ProcessFinding {
        ProcessFinding { process: Process::Alive, evidence }
    }

    fn dead(evidence: String) -> ProcessFinding {
        ProcessFinding { process: Process::Dead, evidence }
    }

    fn unknown(evidence: String) -> ProcessFinding {
        ProcessFinding { process: Process::Unknown, evidence }
    }
}
