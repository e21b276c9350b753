//! The systems of the specifications, their claims that may be taken, and what others do to them.
//!
//! In the statements `$MS` and `$S` stand for the frozen instant, `$D` for a number of seconds that
//! differs from schedule to schedule and `$K` for one that differs from step to step.
//!
//! They are in words that both engines know, or that a server is taught: see `schedules`.

use crate::support::COORDINATION;

pub struct System {
    pub name: &'static str,
    pub runs_on: RunsOn,
    pub schema: &'static str,
    /// The id of the claim.
    pub id: &'static str,
    /// The tables, to be emptied.
    pub tables: &'static [&'static str],
    pub claims: &'static [Claim],
    /// Other rows of the same tables.
    pub bystanders: &'static str,
    pub steps: &'static [Step],
    /// Counts the claim as long as it is held.
    pub held: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RunsOn {
    Both,
    /// Its schema is in PostgreSQL's own words, and so are its statements.
    PostgresAlone,
}

pub struct Claim {
    pub why: &'static str,
    pub rests_on_session: bool,
    /// Only with its holder's name.
    pub named: bool,
    pub sql: &'static str,
}

pub struct Step {
    pub what: &'static str,
    pub touches: Touches,
    pub sql: &'static str,
}

/// What a step changes, if it changes anything.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Touches {
    /// The claim, or what it is judged by.
    Claim,
    /// Its holder's row.
    Session,
    /// Something else altogether.
    Others,
}
use Touches::{Claim as TheClaim, Others, Session};

pub const fn claim(why: &'static str, rests_on_session: bool, sql: &'static str) -> Claim {
    Claim { why, rests_on_session, named: false, sql }
}

pub const fn step(what: &'static str, touches: Touches, sql: &'static str) -> Step {
    Step { what, touches, sql }
}

pub const ALL: [&System; 10] = [
    &COORDINATION_TASK,
    &COORDINATION_LOCK,
    &super::systems_more::EXECUTOR_JOB,
    &super::systems_more::MERGE_ENTRY,
    &super::systems_more::MERGE_LOCK,
    &super::systems_finalization::FINALIZATION,
    &super::systems_tasks::TASK,
    &super::systems_tasks::TASK_WITHOUT_REGISTRY,
    &super::systems_tasks::LEASE,
    &super::systems_native::EXECUTOR_JOB,
];

pub const COORDINATION_TASK: System = System {
    name: "coordination task",
    runs_on: RunsOn::Both,
    schema: COORDINATION,
    id: "task-1",
    tables: &["sessions", "locks", "task_claims"],
    bystanders: "INSERT INTO sessions VALUES ('other', '/p', 'cli', $MS - 9000000, $MS - 1000, '{}', 7);
        INSERT INTO task_claims VALUES ('task-2', 'other', $MS - 90000, $MS - 5, $MS - 5, 0, 'cli', NULL, NULL);
        INSERT INTO locks VALUES ('task-1x', 'other', $MS - 5000, $MS - 5, 'exclusive', 0);",
    held: "SELECT count(*) FROM task_claims WHERE task_id = 'task-1'",
    claims: &[
        claim(
            "lease over",
            false,
            "INSERT INTO sessions VALUES ('holder', '/p', 'cli', $MS - 9000000, $MS - 1000, '{}', 7);
             INSERT INTO task_claims VALUES
               ('task-1', 'holder', $MS - 9000000, $MS - 1 - $D * 1000, $MS - 9000, 3, 'cli', NULL, NULL)",
        ),
        claim(
            "session missing",
            true,
            "INSERT INTO task_claims VALUES
               ('task-1', 'holder', $MS - 900000, $MS + 600000, $MS - 9000, 3, 'cli', NULL, x'ff00')",
        ),
        claim(
            "session stale",
            true,
            "INSERT INTO sessions VALUES ('holder', '/p', 'cli', $MS - 9000000, $MS - 7200000 - $D, '{}', 7);
             INSERT INTO task_claims VALUES
               ('task-1', 'holder', $MS - 9000000, $MS + 600000, $MS - 7200000, 3, 'cli', NULL, 1.5)",
        ),
        claim(
            "session stale and lease over",
            true,
            "INSERT INTO sessions VALUES ('holder', '/p', 'cli', $MS - 9000000, $MS - 7200000 - $D, '{}', 7);
             INSERT INTO task_claims VALUES
               ('task-1', 'holder', $MS - 9000000, $MS - 1, $MS - 9000, 3, 'cli', NULL, NULL)",
        ),
        Claim {
            why: "heartbeat silent",
            rests_on_session: false,
            named: true,
            sql: "INSERT INTO sessions VALUES ('holder', '/p', 'cli', $MS - 9000000, $MS - 1000, '{}', 7);
             INSERT INTO task_claims VALUES
               ('task-1', 'holder', $MS - 9000000, $MS + 60000, $MS - 7200000 - $D, 3, 'cli', NULL, NULL)",
        },
    ],
    steps: &[
        step("nothing", Others, ""),
        step(
            "renewed",
            TheClaim,
            "UPDATE task_claims SET expires_at = $MS + 1800000 + $K, last_heartbeat = $MS - $K,
             heartbeat_count = heartbeat_count + 1 WHERE task_id = 'task-1'",
        ),
        step(
            "renewed by too little",
            TheClaim,
            "UPDATE task_claims SET last_heartbeat = last_heartbeat + $K WHERE task_id = 'task-1'",
        ),
        step("finished", TheClaim, "DELETE FROM task_claims WHERE task_id = 'task-1'"),
        step(
            "taken by another",
            TheClaim,
            "DELETE FROM task_claims WHERE task_id = 'task-1';
             INSERT INTO task_claims VALUES
               ('task-1', 'other', $MS - $K, $MS + 1800000, $MS - $K, 0, 'cli', NULL, NULL)",
        ),
        step(
            "taken by another in place",
            TheClaim,
            "UPDATE task_claims SET session_id = 'other-' || $K WHERE task_id = 'task-1'",
        ),
        step(
            "taken again by the same holder",
            TheClaim,
            "DELETE FROM task_claims WHERE task_id = 'task-1';
             INSERT INTO task_claims VALUES
               ('task-1', 'holder', $MS - $K, $MS + 1800000, $MS - $K, 0, 'cli', NULL, NULL)",
        ),
        step(
            "kind changed",
            TheClaim,
            "UPDATE task_claims SET agent_type = 'kind-' || $K WHERE task_id = 'task-1'",
        ),
        step(
            "an unmapped column changed",
            TheClaim,
            "UPDATE task_claims SET metadata = 'note-' || $K WHERE task_id = 'task-1'",
        ),
        step(
            "there and back again",
            TheClaim,
            "UPDATE task_claims SET heartbeat_count = heartbeat_count + $K WHERE task_id = 'task-1';
             UPDATE task_claims SET heartbeat_count = heartbeat_count - $K WHERE task_id = 'task-1'",
        ),
        step(
            "session beats",
            Session,
            "UPDATE sessions SET last_heartbeat = $MS - $K * 2000 WHERE id = 'holder'",
        ),
        step(
            "session registered again",
            Session,
            "DELETE FROM sessions WHERE id = 'holder';
             INSERT INTO sessions VALUES ('holder', '/p', 'cli', $MS - $K, $MS - $K, '{}', 8)",
        ),
        step(
            "somebody else's claim",
            Others,
            "UPDATE task_claims SET expires_at = $MS + $K WHERE task_id = 'task-2';
             UPDATE sessions SET last_heartbeat = $MS WHERE id = 'other'",
        ),
    ],
};

pub const COORDINATION_LOCK: System = System {
    name: "coordination lock",
    runs_on: RunsOn::Both,
    schema: COORDINATION,
    id: "src/main.rs",
    tables: &["sessions", "locks", "task_claims"],
    bystanders: "INSERT INTO sessions VALUES ('other', '/p', 'cli', $MS - 9000000, $MS - 1000, '{}', 7);
        INSERT INTO locks VALUES ('src/lib.rs', 'other', $MS - 5000, $MS - 5, 'exclusive', 0);",
    held: "SELECT count(*) FROM locks WHERE resource = 'src/main.rs'",
    claims: &[
        claim(
            "lease over",
            false,
            "INSERT INTO sessions VALUES ('holder', '/p', 'cli', $MS - 9000000, $MS - 1000, '{}', 7);
             INSERT INTO locks VALUES
               ('src/main.rs', 'holder', $MS - 900000, $MS - 1 - $D * 1000, 'exclusive', 0)",
        ),
        claim(
            "session missing",
            true,
            "INSERT INTO locks VALUES ('src/main.rs', 'holder', $MS - 9000, $MS + 50000, 'exclusive', 0)",
        ),
        claim(
            "session stale",
            true,
            "INSERT INTO sessions VALUES ('holder', '/p', 'cli', $MS - 9000000, $MS - 7200000 - $D, '{}', 7);
             INSERT INTO locks VALUES ('src/main.rs', 'holder', $MS - 9000, $MS + 50000, 'shared', 0)",
        ),
    ],
    steps: &[
        step("nothing", Others, ""),
        step(
            "renewed",
            TheClaim,
            "UPDATE locks SET expires_at = $MS + 50000 + $K, refresh_count = refresh_count + 1
             WHERE resource = 'src/main.rs'",
        ),
        step("released", TheClaim, "DELETE FROM locks WHERE resource = 'src/main.rs'"),
        step(
            "taken by another",
            TheClaim,
            "DELETE FROM locks WHERE resource = 'src/main.rs';
             INSERT INTO locks VALUES
               ('src/main.rs', 'other', $MS - $K, $MS + 60000 - $K, 'exclusive', 0)",
        ),
        step(
            "taken again by the same holder",
            TheClaim,
            "DELETE FROM locks WHERE resource = 'src/main.rs';
             INSERT INTO locks VALUES ('src/main.rs', 'holder', $MS - $K, $MS + 60000 - $K, 'exclusive', 0)",
        ),
        step(
            "kind changed",
            TheClaim,
            "UPDATE locks SET lock_type = 'kind-' || $K WHERE resource = 'src/main.rs'",
        ),
        step(
            "an unmapped column changed",
            TheClaim,
            "UPDATE locks SET refresh_count = refresh_count + 1 WHERE resource = 'src/main.rs'",
        ),
        step(
            "there and back again",
            TheClaim,
            "UPDATE locks SET refresh_count = refresh_count + $K WHERE resource = 'src/main.rs';
             UPDATE locks SET refresh_count = refresh_count - $K WHERE resource = 'src/main.rs'",
        ),
        step(
            "session beats",
            Session,
            "UPDATE sessions SET last_heartbeat = $MS - $K * 2000 WHERE id = 'holder'",
        ),
        step(
            "session registered again",
            Session,
            "DELETE FROM sessions WHERE id = 'holder';
             INSERT INTO sessions VALUES ('holder', '/p', 'cli', $MS - $K, $MS - $K, '{}', 8)",
        ),
        step("session unregistered", Session, "DELETE FROM sessions WHERE id = 'holder'"),
        step(
            "somebody else's lock",
            Others,
            "UPDATE locks SET expires_at = $MS + $K WHERE resource = 'src/lib.rs'",
        ),
    ],
};
