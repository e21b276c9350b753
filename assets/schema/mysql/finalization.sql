-- Finalization: tasks that one processor at a time may finalize. May be run again. MySQL 8.0.16 or MariaDB 10.6 and
-- later.
--
-- There are no stored functions here: processors claim with the library `claimtop::worker`.
--
-- Times are TIMESTAMP(6) and not DATETIME(6): an instant, whatever time_zone the session of a processor has, so NOW(6)
-- is right for everybody. Its price is the year 2038. Text is compared by its bytes: `a` and `A` are two processors.

CREATE TABLE IF NOT EXISTS tasker_tasks (
    task_uuid char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT (uuid()) PRIMARY KEY,
    complete boolean NOT NULL DEFAULT false,
    priority int NOT NULL DEFAULT 0,
    context json,
    requested_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    completed_at timestamp(6) NULL,
    claimed_by varchar(255),
    claimed_at timestamp(6) NULL,
    claim_timeout_seconds int NOT NULL DEFAULT 30,
    created_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    updated_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    -- What is held, by its holder.
    KEY idx_tasker_tasks_held (complete, claimed_by, claimed_at),
    -- What waits, oldest first.
    KEY idx_tasker_tasks_waiting (complete, created_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The specification's function reads `state`; the running code has only `processed` and asks for that.
CREATE TABLE IF NOT EXISTS tasker_workflow_steps (
    workflow_step_uuid char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT (uuid()) PRIMARY KEY,
    task_uuid char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    state varchar(20) NOT NULL DEFAULT 'pending',
    created_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    updated_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    KEY idx_tasker_workflow_steps_task (task_uuid, state),
    CONSTRAINT tasker_workflow_steps_task
        FOREIGN KEY (task_uuid) REFERENCES tasker_tasks (task_uuid) ON DELETE CASCADE,
    CONSTRAINT tasker_workflow_steps_state CHECK (state IN ('pending', 'in_progress', 'completed', 'failed'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS tasker_task_transitions (
    id bigint AUTO_INCREMENT PRIMARY KEY,
    task_uuid char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    from_state varchar(255),
    to_state varchar(255) NOT NULL,
    most_recent boolean NOT NULL DEFAULT true,
    created_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    -- A unique key lets any number of NULLs in: one most recent transition a task.
    only_one tinyint GENERATED ALWAYS AS (CASE WHEN most_recent THEN 1 END) VIRTUAL,
    UNIQUE KEY idx_tasker_task_transitions_most_recent (task_uuid, only_one),
    CONSTRAINT tasker_task_transitions_task
        FOREIGN KEY (task_uuid) REFERENCES tasker_tasks (task_uuid) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Without a foreign key: an attempt on a task that is not there is recorded too.
CREATE TABLE IF NOT EXISTS tasker_finalization_attempts (
    id bigint AUTO_INCREMENT PRIMARY KEY,
    task_uuid char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    processor_id varchar(255) NOT NULL,
    claimed boolean NOT NULL,
    already_claimed_by varchar(255),
    task_state varchar(255),
    message varchar(255),
    attempted_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    -- claim, extend or release; NULL in the rows of writers that do not say.
    operation varchar(20),
    -- How long it took until this row was written; waiting for others included.
    duration_seconds double,
    KEY idx_finalization_attempts_task_uuid (task_uuid, attempted_at DESC),
    KEY idx_finalization_attempts_processor (processor_id, attempted_at DESC),
    KEY idx_finalization_attempts_at (attempted_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
