//! What the kernel says of a PID that a row names: alive, dead on proof, or unknown.
//!
//! It knows processes, host names and namespaces; it knows nothing of databases, boards or
//! verdicts. Everything that is no proof is [`Process::Unknown`], with the sentence that says why:
//!
//! ```text
//! machine     the gates, and the finding          host        is this name ours?
//! sighting    what the kernel shows of one pid    namespace   do our numbers mean the same?
//! identity    is that process the holder?         proc_stat   the texts of /proc, parsed
//! ```

mod host;
mod identity;
mod machine;
mod namespace;
pub mod proc_stat;
mod sighting;

pub use crate::domain::claim::HoldersOn;
use crate::domain::claim::Process;
use crate::domain::time::Moment;
use crate::domain::value::Value;
pub use machine::Machine;

/// What is known of a holder's process from its rows.
///
/// The times are compared with this machine's clock: leave out those that another clock wrote.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub pid: &'a Value,
    pub host: Option<&'a str>,
    pub started_at: Option<Moment>,
    pub beat_at: Option<Moment>,
}

/// Alive, dead or unknown, and the sentence that says why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub process: Process,
    pub evidence: String,
}

impl Finding {
    fn alive(evidence: String) -> Finding {
        Finding { process: Process::Alive, evidence }
    }

    fn dead(evidence: String) -> Finding {
        Finding { process: Process::Dead, evidence }
    }

    fn unknown(evidence: String) -> Finding {
        Finding { process: Process::Unknown, evidence }
    }
}
