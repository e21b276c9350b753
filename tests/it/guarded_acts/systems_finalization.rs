//! Tasks that are finalized by whoever claims them, each with a time limit of its own.

use super::systems::Touches::{Claim as TheClaim, Others};
use super::systems::{RunsOn, System, claim, step};
use super::systems_more::FINALIZED;

pub const FINALIZATION: System = System {
    name: "finalization task",
    runs_on: RunsOn::Both,
    schema: FINALIZED,
    id: "uuid-1",
    tables: &["tasker_tasks"],
    bystanders: "INSERT INTO tasker_tasks VALUES
        ('uuid-2', false, 'other', datetime($S - 900, 'unixepoch'), 60, NULL, NULL)",
    held: "SELECT count(*) FROM tasker_tasks WHERE task_uuid = 'uuid-1' AND claimed_by IS NOT NULL",
    claims: &[
        claim(
            "timeout over",
            false,
            "INSERT INTO tasker_tasks VALUES
               ('uuid-1', false, 'holder', datetime($S - 61 - $D, 'unixepoch'), 60, NULL, '{}')",
        ),
        claim(
            "long timeout over",
            false,
            "INSERT INTO tasker_tasks VALUES
               ('uuid-1', false, 'holder', datetime($S - 3601 - $D, 'unixepoch'), 3600, 'rubbish', x'00ff')",
        ),
    ],
    steps: &[
        step("nothing", Others, ""),
        step(
            "given more time",
            TheClaim,
            "UPDATE tasker_tasks SET claim_timeout_seconds = 90000 + $K WHERE task_uuid = 'uuid-1'",
        ),
        step("finished", TheClaim, "UPDATE tasker_tasks SET complete = true WHERE task_uuid = 'uuid-1'"),
        step(
            "released",
            TheClaim,
            "UPDATE tasker_tasks SET claimed_by = NULL, claimed_at = NULL WHERE task_uuid = 'uuid-1'",
        ),
        step(
            "taken by another",
            TheClaim,
            "UPDATE tasker_tasks SET claimed_by = 'other-' || $K, claimed_at = datetime($S - $K, 'unixepoch')
             WHERE task_uuid = 'uuid-1'",
        ),
        step(
            "taken again by the same holder",
            TheClaim,
            "UPDATE tasker_tasks SET claimed_at = datetime($S - $K, 'unixepoch') WHERE task_uuid = 'uuid-1'",
        ),
        step(
            "an unmapped column changed",
            TheClaim,
            "UPDATE tasker_tasks SET context = '{\"note\": $K}' WHERE task_uuid = 'uuid-1'",
        ),
        step(
            "there and back again",
            TheClaim,
            "UPDATE tasker_tasks SET claim_timeout_seconds = claim_timeout_seconds + $K WHERE task_uuid = 'uuid-1';
             UPDATE tasker_tasks SET claim_timeout_seconds = claim_timeout_seconds - $K WHERE task_uuid = 'uuid-1'",
        ),
        step("deleted", TheClaim, "DELETE FROM tasker_tasks WHERE task_uuid = 'uuid-1'"),
        step(
            "somebody else's task",
            Others,
            "UPDATE tasker_tasks SET claimed_at = datetime($S - $K, 'unixepoch') WHERE task_uuid = 'uuid-2'",
        ),
    ],
};
