//! The tables of popular queues as they are on MySQL: the profile is detected, and every claim judged.

use crate::support::mysql::MyDatabase;

/// A queue: its profile, its tables with a few rows, and what is listed: id, kind, holder and verdict.
struct Queue {
    profile: &'static str,
    tables: &'static str,
    claims: &'static [[&'static str; 4]],
}

/// The frozen clock shows 2026-11-15 12:00:00 UTC.
const QUEUES: [Queue; 10] = [
    Queue {
        profile: "laravel",
        tables: "CREATE TABLE jobs (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, queue VARCHAR(255) NOT NULL, payload LONGTEXT NOT NULL,
              attempts TINYINT UNSIGNED NOT NULL, reserved_at INT UNSIGNED, available_at INT UNSIGNED NOT NULL, created_at INT UNSIGNED NOT NULL, KEY (queue));
            INSERT INTO jobs VALUES (1, 'default', '{\"displayName\": \"Mail\"}', 1, UNIX_TIMESTAMP('2026-11-15 11:00:00'), 0, 0),
              (2, 'default', '{\"displayName\": \"Mail\"}', 1, UNIX_TIMESTAMP('2026-11-15 11:59:50'), 0, 0), (3, 'default', '{}', 0, NULL, 0, 0)",
        claims: &[["1", "Mail", "worker", "stale"], ["2", "Mail", "worker", "healthy"]],
    },
    Queue {
        profile: "symfony-messenger",
        tables: "CREATE TABLE messenger_messages (id BIGINT AUTO_INCREMENT NOT NULL PRIMARY KEY, body LONGTEXT NOT NULL, headers LONGTEXT NOT NULL,
              queue_name VARCHAR(190) NOT NULL, created_at DATETIME NOT NULL, available_at DATETIME NOT NULL, delivered_at DATETIME DEFAULT NULL);
            INSERT INTO messenger_messages VALUES (1, '', '', 'async', '2026-11-15 10:00:00', '2026-11-15 10:00:00', '2026-11-15 10:30:00'),
              (2, '', '', 'async', '2026-11-15 10:00:00', '2026-11-15 10:00:00', '9999-12-31 23:59:59'),
              (3, '', '', 'async', '2026-11-15 10:00:00', '2026-11-15 10:00:00', NULL)",
        claims: &[["1", "async", "consumer", "stale"]],
    },
    Queue {
        profile: "delayed-job",
        tables: "CREATE TABLE delayed_jobs (id BIGINT AUTO_INCREMENT PRIMARY KEY, priority INT NOT NULL DEFAULT 0, attempts INT NOT NULL DEFAULT 0,
              handler TEXT NOT NULL, last_error TEXT, run_at DATETIME, locked_at DATETIME, failed_at DATETIME, locked_by VARCHAR(255), queue VARCHAR(255),
              created_at DATETIME(6), updated_at DATETIME(6));
            INSERT INTO delayed_jobs (id, handler, queue, locked_at, locked_by) VALUES (1, '', 'mail', '2026-11-15 07:00:00', 'host:h1 pid:7'),
              (2, '', 'mail', '2026-11-15 11:00:00', 'host:h1 pid:8'), (3, '', 'mail', NULL, NULL)",
        claims: &[["1", "mail", "host:h1 pid:7", "stale"], ["2", "mail", "host:h1 pid:8", "healthy"]],
    },
    Queue {
        profile: "django-tasks",
        tables: "CREATE TABLE django_tasks_database_dbtaskresult (id CHAR(32) PRIMARY KEY, status VARCHAR(10) NOT NULL, enqueued_at DATETIME(6) NOT NULL,
              started_at DATETIME(6), finished_at DATETIME(6), args_kwargs JSON NOT NULL, priority INT NOT NULL, task_path LONGTEXT NOT NULL,
              worker_ids JSON NOT NULL, queue_name VARCHAR(32) NOT NULL, backend_name VARCHAR(32) NOT NULL, run_after DATETIME(6) NOT NULL,
              return_value JSON, exception_class_path LONGTEXT NOT NULL, traceback LONGTEXT NOT NULL);
            INSERT INTO django_tasks_database_dbtaskresult VALUES ('a', 'RUNNING', '2026-11-15 10:00:00', '2026-11-15 10:30:00', NULL, '{}', 0, 'app.mail',
              '[\"w0\", \"w1\"]', 'default', 'default', '9999-12-31', NULL, '', '')",
        claims: &[["a", "app.mail", "w1", "stale"]],
    },
    Queue {
        profile: "django-q2",
        tables: "CREATE TABLE django_q_ormq (id INT AUTO_INCREMENT PRIMARY KEY, `key` VARCHAR(100) NOT NULL, payload LONGTEXT NOT NULL, `lock` DATETIME(6));
            INSERT INTO django_q_ormq VALUES (1, 'c', '', '2026-11-15 12:05:00'), (2, 'c', '', '2026-11-15 11:59:00')",
        claims: &[["1", "c", "cluster", "healthy"]],
    },
    Queue {
        profile: "solid-queue",
        tables: "CREATE TABLE solid_queue_jobs (id BIGINT AUTO_INCREMENT PRIMARY KEY, queue_name VARCHAR(255) NOT NULL, class_name VARCHAR(255) NOT NULL,
              arguments TEXT, priority INT NOT NULL DEFAULT 0, active_job_id VARCHAR(255), scheduled_at DATETIME(6), finished_at DATETIME(6),
              concurrency_key VARCHAR(255), created_at DATETIME(6) NOT NULL, updated_at DATETIME(6) NOT NULL);
            CREATE TABLE solid_queue_processes (id BIGINT AUTO_INCREMENT PRIMARY KEY, kind VARCHAR(255) NOT NULL, last_heartbeat_at DATETIME(6) NOT NULL,
              supervisor_id BIGINT, pid INT NOT NULL, hostname VARCHAR(255), metadata TEXT, created_at DATETIME(6) NOT NULL, name VARCHAR(255) NOT NULL);
            CREATE TABLE solid_queue_claimed_executions (id BIGINT AUTO_INCREMENT PRIMARY KEY, job_id BIGINT NOT NULL, process_id BIGINT,
              created_at DATETIME(6) NOT NULL, UNIQUE KEY (job_id), KEY (process_id, job_id));
            CREATE TABLE solid_queue_ready_executions (id BIGINT AUTO_INCREMENT PRIMARY KEY, job_id BIGINT NOT NULL, queue_name VARCHAR(255) NOT NULL,
              priority INT NOT NULL DEFAULT 0, created_at DATETIME(6) NOT NULL, UNIQUE KEY (job_id));
            INSERT INTO solid_queue_jobs (id, queue_name, class_name, created_at, updated_at) VALUES (1, 'q', 'MailJob', '2026-11-15 11:00:00', '2026-11-15 11:00:00'),
              (2, 'q', 'MailJob', '2026-11-15 11:00:00', '2026-11-15 11:00:00');
            INSERT INTO solid_queue_processes VALUES (7, 'Worker', '2026-11-15 11:50:00', NULL, 70, 'h1', NULL, '2026-11-15 10:00:00', 'w7'),
              (8, 'Worker', '2026-11-15 11:59:50', NULL, 80, 'h1', NULL, '2026-11-15 10:00:00', 'w8');
            INSERT INTO solid_queue_claimed_executions VALUES (1, 1, 7, '2026-11-15 11:40:00'), (2, 2, 8, '2026-11-15 11:40:00')",
        claims: &[["1", "MailJob", "7", "orphaned"], ["2", "MailJob", "8", "healthy"]],
    },
    Queue {
        profile: "db-scheduler",
        tables: "CREATE TABLE scheduled_tasks (task_name VARCHAR(100) NOT NULL, task_instance VARCHAR(100) NOT NULL, task_data BLOB,
              execution_time TIMESTAMP(6) NOT NULL, picked BOOLEAN NOT NULL, picked_by VARCHAR(50), last_success TIMESTAMP(6) NULL, last_failure TIMESTAMP(6) NULL,
              consecutive_failures INT, last_heartbeat TIMESTAMP(6) NULL, version BIGINT NOT NULL, PRIMARY KEY (task_name, task_instance));
            INSERT INTO scheduled_tasks VALUES ('mail', '1', NULL, '2026-11-15 11:00:00', 1, 'h1', NULL, NULL, 0, '2026-11-15 11:20:00', 1),
              ('mail', '2', NULL, '2026-11-15 11:00:00', 0, NULL, NULL, NULL, 0, NULL, 1)",
        claims: &[["mail,1", "mail", "h1", "stale"]],
    },
    Queue {
        profile: "shedlock",
        tables: "CREATE TABLE shedlock (name VARCHAR(64) NOT NULL, lock_until TIMESTAMP(3) NOT NULL, locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
              locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name));
            INSERT INTO shedlock VALUES ('held', '2026-11-15 12:10:00', '2026-11-15 11:50:00', 'h1'),
              ('released', '2026-11-15 11:10:00', '2026-11-15 11:00:00', 'h1')",
        claims: &[["held", "", "h1", "healthy"]],
    },
    Queue {
        profile: "airflow",
        tables: "CREATE TABLE task_instance (id CHAR(36) PRIMARY KEY, task_id VARCHAR(250) NOT NULL, dag_id VARCHAR(250) NOT NULL, run_id VARCHAR(250) NOT NULL,
              map_index INT NOT NULL DEFAULT -1, start_date TIMESTAMP(6) NULL, end_date TIMESTAMP(6) NULL, state VARCHAR(20), try_number INT, max_tries INT,
              hostname VARCHAR(1000), pid INT, queued_dttm TIMESTAMP(6) NULL, last_heartbeat_at TIMESTAMP(6) NULL,
              UNIQUE KEY task_instance_composite_key (dag_id, task_id, run_id, map_index));
            INSERT INTO task_instance (id, task_id, dag_id, run_id, start_date, state, try_number, max_tries, hostname, last_heartbeat_at) VALUES
              ('x', 'load', 'etl', 'r1', '2026-11-15 11:00:00', 'running', 1, 1, 'h1', '2026-11-15 11:50:00')",
        claims: &[["etl,load,r1,-1", "etl", "h1", "stale"]],
    },
    Queue {
        profile: "liquibase",
        tables: "CREATE TABLE DATABASECHANGELOGLOCK (ID INT NOT NULL PRIMARY KEY, `LOCKED` TINYINT(1) NOT NULL, LOCKGRANTED DATETIME NULL, LOCKEDBY VARCHAR(255));
            INSERT INTO DATABASECHANGELOGLOCK VALUES (1, 1, '2026-11-15 11:00:00', 'h1 (10.0.0.1)')",
        claims: &[["1", "", "h1 (10.0.0.1)", "stale"]],
    },
];

#[test]
fn the_profile_of_every_queue_is_detected_and_its_claims_are_judged() {
    let mut wrong = Vec::new();
    for Queue { profile, tables, claims } in QUEUES {
        let Some(database) = MyDatabase::new(tables) else { return };
        let (source, _) = database.check(&[]);
        if source["profile"] != profile {
            wrong.push(format!("{profile}: detected {}: {source}", source["profile"]));
            continue;
        }
        let listed = database.list(&[]);
        let text =
            |claim: &serde_json::Value, name: &str| claim[name].as_str().unwrap_or_default().to_owned();
        let mut listed: Vec<[String; 4]> = listed
            .iter()
            .map(|claim| ["id", "kind", "holder", "verdict"].map(|name| text(claim, name)))
            .collect();
        listed.sort();
        if listed != claims.iter().map(|claim| claim.map(str::to_owned)).collect::<Vec<_>>() {
            wrong.push(format!("{profile}: {listed:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
