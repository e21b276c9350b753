//! The task queue, with a registry of workers and without, and its relative with leases.

use super::systems::Touches::{Claim as TheClaim, Others, Session};
use super::systems::{RunsOn, Step, System, claim, step};
use super::systems_more::{LEASES, REGISTERED_TASKS, TASKS};

const BYSTANDER: &str = "INSERT INTO tasks (id, task_type_id, status, worker_id, claimed_at)
    VALUES (8, 1, 'claimed', 'other', datetime($S - 900, 'unixepoch'))";

/// Somebody who beats shows that the times are read in the right zone.
const REGISTERED_BYSTANDER: &str = "INSERT INTO tasks (id, task_type_id, status, worker_id, claimed_at)
    VALUES (8, 1, 'claimed', 'other', datetime($S - 900, 'unixepoch'));
    INSERT INTO worker_heartbeats (worker_id, last_seen_at) VALUES ('awake', datetime($S - 2, 'unixepoch'))";

const HELD: &str = "SELECT count(*) FROM tasks WHERE id = 7 AND worker_id IS NOT NULL";

const CLAIMED: &str = "INSERT INTO tasks (id, task_type_id, status, worker_id, claimed_at)
    VALUES (7, 1, 'claimed', 'holder', datetime($S - 301 - $D, 'unixepoch'))";

const TASK_STEPS: [Step; 9] = [
    step("nothing", Others, ""),
    step(
        "finished",
        TheClaim,
        "UPDATE tasks SET status = 'completed', completed_at = datetime($S, 'unixepoch') WHERE id = 7",
    ),
    step(
        "taken by another",
        TheClaim,
        "UPDATE tasks SET worker_id = 'other-' || $K, claimed_at = datetime($S - $K, 'unixepoch') WHERE id = 7",
    ),
    step(
        "taken again by the same holder",
        TheClaim,
        "UPDATE tasks SET claimed_at = datetime($S - $K, 'unixepoch') WHERE id = 7",
    ),
    step("status changed", TheClaim, "UPDATE tasks SET status = 'pending' WHERE id = 7"),
    step("an unmapped column changed", TheClaim, "UPDATE tasks SET params = 'note-' || $K WHERE id = 7"),
    step(
        "there and back again",
        TheClaim,
        "UPDATE tasks SET attempts = attempts + $K WHERE id = 7;
         UPDATE tasks SET attempts = attempts - $K WHERE id = 7",
    ),
    step("deleted", TheClaim, "DELETE FROM tasks WHERE id = 7"),
    step(
        "somebody else's task",
        Others,
        "UPDATE tasks SET claimed_at = datetime($S - $K, 'unixepoch') WHERE id = 8",
    ),
];

const HEARTBEAT_STEPS: [Step; 13] = {
    let [a, b, c, d, e, f, g, h, i] = TASK_STEPS;
    [
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        i,
        step(
            "session beats",
            Session,
            "UPDATE worker_heartbeats SET last_seen_at = datetime($S - $K, 'unixepoch')
             WHERE worker_id = 'holder'",
        ),
        step(
            "session beats, but too long ago to count",
            Session,
            "UPDATE worker_heartbeats SET last_seen_at = datetime($S - 6000 - $K, 'unixepoch')
             WHERE worker_id = 'holder'",
        ),
        step(
            "session registered again",
            Session,
            "DELETE FROM worker_heartbeats WHERE worker_id = 'holder';
             INSERT INTO worker_heartbeats (worker_id, last_seen_at)
             VALUES ('holder', datetime($S - $K, 'unixepoch'))",
        ),
        step(
            "somebody else beats",
            Others,
            "DELETE FROM worker_heartbeats WHERE worker_id = 'other';
             INSERT INTO worker_heartbeats (worker_id, last_seen_at)
             VALUES ('other', datetime($S - $K, 'unixepoch'))",
        ),
    ]
};

pub const TASK: System = System {
    name: "task-queue task",
    runs_on: RunsOn::Both,
    schema: REGISTERED_TASKS,
    id: "7",
    tables: &["tasks", "task_logs", "worker_heartbeats"],
    bystanders: REGISTERED_BYSTANDER,
    held: HELD,
    claims: &[
        claim("claimed too long ago by a stranger", true, CLAIMED),
        claim(
            "session stale",
            true,
            "INSERT INTO tasks (id, task_type_id, status, worker_id, claimed_at)
               VALUES (7, 1, 'claimed', 'holder', datetime($S - 9000, 'unixepoch'));
             INSERT INTO worker_heartbeats (worker_id, last_seen_at)
               VALUES ('holder', datetime($S - 301 - $D, 'unixepoch'))",
        ),
    ],
    steps: &HEARTBEAT_STEPS,
};

pub const TASK_WITHOUT_REGISTRY: System = System {
    name: "task-queue task without a registry",
    runs_on: RunsOn::Both,
    schema: TASKS,
    id: "7",
    tables: &["tasks", "task_logs"],
    bystanders: BYSTANDER,
    held: HELD,
    claims: &[claim("claimed too long ago", false, CLAIMED)],
    steps: &TASK_STEPS,
};

pub const LEASE: System = System {
    name: "task-queue lease",
    runs_on: RunsOn::Both,
    schema: LEASES,
    id: "5",
    tables: &["task_queue", "workers"],
    bystanders: "INSERT INTO task_queue (id, type, status, locked_by, reserved_at_utc, lease_until_utc) VALUES
        (6, 'a', 'leased', 'other', datetime($S - 900, 'unixepoch'), datetime($S - 840, 'unixepoch'))",
    held: "SELECT count(*) FROM task_queue WHERE id = 5 AND locked_by IS NOT NULL",
    claims: &[
        claim(
            "lease over",
            false,
            "INSERT INTO workers VALUES ('holder', '{}', datetime($S - 5, 'unixepoch'));
             INSERT INTO task_queue (id, type, status, locked_by, reserved_at_utc, lease_until_utc) VALUES
               (5, 'a', 'leased', 'holder', datetime($S - 9000, 'unixepoch'),
                datetime($S - 1 - $D, 'unixepoch'))",
        ),
        claim(
            "lease of a stranger over",
            false,
            "INSERT INTO task_queue (id, type, status, locked_by, reserved_at_utc, lease_until_utc) VALUES
               (5, 'a', 'processing', 'holder', datetime($S - 9000, 'unixepoch'),
                datetime($S - 1 - $D, 'unixepoch'))",
        ),
        claim(
            "session stale",
            true,
            "INSERT INTO workers VALUES ('holder', '{}', datetime($S - 301 - $D, 'unixepoch'));
             INSERT INTO task_queue (id, type, status, locked_by, reserved_at_utc, lease_until_utc) VALUES
               (5, 'a', 'leased', 'holder', datetime($S - 10, 'unixepoch'), datetime($S + 50, 'unixepoch'))",
        ),
    ],
    steps: &[
        step("nothing", Others, ""),
        step(
            "renewed",
            TheClaim,
            "UPDATE task_queue SET lease_until_utc = datetime($S + 60 - $K, 'unixepoch') WHERE id = 5",
        ),
        step("finished", TheClaim, "UPDATE task_queue SET status = 'completed', locked_by = NULL WHERE id = 5"),
        step(
            "taken by another",
            TheClaim,
            "UPDATE task_queue SET locked_by = 'other-' || $K, reserved_at_utc = datetime($S - $K, 'unixepoch'),
             lease_until_utc = datetime($S + 60 - $K, 'unixepoch') WHERE id = 5",
        ),
        step(
            "taken again by the same holder",
            TheClaim,
            "UPDATE task_queue SET reserved_at_utc = datetime($S - $K, 'unixepoch') WHERE id = 5",
        ),
        step("status changed", TheClaim, "UPDATE task_queue SET status = 'queued' WHERE id = 5"),
        step(
            "an unmapped column changed",
            TheClaim,
            "UPDATE task_queue SET compatibility = '{\"region\": $K}' WHERE id = 5",
        ),
        step(
            "there and back again",
            TheClaim,
            "UPDATE task_queue SET attempts = attempts + $K WHERE id = 5;
             UPDATE task_queue SET attempts = attempts - $K WHERE id = 5",
        ),
        step("deleted", TheClaim, "DELETE FROM task_queue WHERE id = 5"),
        step(
            "session beats",
            Session,
            "UPDATE workers SET heartbeat_utc = datetime($S - 20 - $K, 'unixepoch') WHERE worker_id = 'holder'",
        ),
        step(
            "session registered again",
            Session,
            "DELETE FROM workers WHERE worker_id = 'holder';
             INSERT INTO workers VALUES ('holder', '{}', datetime($S - 20 - $K, 'unixepoch'))",
        ),
        step(
            "somebody else's lease",
            Others,
            "UPDATE task_queue SET lease_until_utc = datetime($S + 60, 'unixepoch') WHERE id = 6",
        ),
    ],
};
