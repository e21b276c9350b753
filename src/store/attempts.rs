//! The attempts that document 003's system writes down.

/// The table they are in.
pub const TABLE: &str = "tasker_finalization_attempts";
/// Rows that one look reads; what is beyond them comes with the next.
pub const MOST: usize = 10_000;

/// One attempt to claim a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub claimed: bool,
    pub message: Option<String>,
}

/// New attempts, oldest first, and the number up to which they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempts {
    pub new: Vec<Attempt>,
    pub up_to: i64,
}
