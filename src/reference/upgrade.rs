//! What later versions brought to the tables and functions of earlier ones: the only things that `init` changes.

use super::System;

/// A column that a later version brought. A row can be written without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AddedColumn {
    pub table: &'static str,
    pub column: &'static str,
    pub sqlite: &'static str,
    /// What adds it on PostgreSQL: a default that is set afterwards does not rewrite the table.
    #[cfg_attr(not(feature = "postgres"), allow(dead_code))]
    pub postgres: &'static str,
}

const ATTEMPTS: &str = "tasker_finalization_attempts";

const FINALIZATION: [AddedColumn; 2] = [
    AddedColumn {
        table: ATTEMPTS,
        column: "operation",
        sqlite: "ALTER TABLE tasker_finalization_attempts ADD COLUMN operation TEXT",
        postgres: "ALTER TABLE tasker_finalization_attempts ADD COLUMN operation varchar",
    },
    AddedColumn {
        table: ATTEMPTS,
        column: "duration_seconds",
        sqlite: "ALTER TABLE tasker_finalization_attempts ADD COLUMN duration_seconds REAL",
        postgres: "ALTER TABLE tasker_finalization_attempts ADD COLUMN duration_seconds double precision;
                   ALTER TABLE tasker_finalization_attempts ALTER COLUMN duration_seconds
                     SET DEFAULT extract(epoch FROM clock_timestamp() - statement_timestamp())",
    },
];

impl System {
    pub(super) fn added_columns(self) -> &'static [AddedColumn] {
        match self {
            System::Finalization => &FINALIZATION,
            System::Coordination | System::ExecutorJobs | System::MergeQueue | System::TaskQueue => &[],
        }
    }
}

/// The SHA-256 of the bodies that functions of ours had in earlier versions: these are replaced, and no others.
#[cfg(feature = "postgres")]
const FORMER_BODIES: [(&str, &str); 3] = [
    ("claim_task_for_finalization", "8882a659101ddec75f4190ee71822ffaff837afa8cb52de2c466586ecd1e77da"),
    ("extend_finalization_claim", "eb9b3c603214578ec0f39285e87ceafdcfeee60a88700c23b4d210b8d4eba808"),
    ("release_finalization_claim", "92d5453acc5e4384d5aa3f2eb76e7f2e8c0fd2e00231688c76f7db36cf6af86a"),
];

/// Whether a function is one of ours in an earlier version.
#[cfg(feature = "postgres")]
pub(super) fn is_former(name: &str, body: &str) -> bool {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(body.as_bytes());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    FORMER_BODIES.iter().any(|(known, former)| *known == name && *former == digest)
}
