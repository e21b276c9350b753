//! Queues of Java, whose rows have keys of several columns.

use super::{HOUR, Queue, naive};
use crate::support::engine::on_both;
use crate::support::{MINUTE, NOW, SECOND};

#[test]
fn quartz_gives_each_scheduler_an_interval_of_its_own() {
    on_both(|| {
        let queue = Queue::new(
        "quartz",
        "CREATE TABLE qrtz_fired_triggers (sched_name VARCHAR(120) NOT NULL, entry_id VARCHAR(95) NOT NULL,
           trigger_name VARCHAR(200) NOT NULL, trigger_group VARCHAR(200) NOT NULL,
           instance_name VARCHAR(200) NOT NULL, fired_time BIGINT NOT NULL, sched_time BIGINT NOT NULL,
           priority INTEGER NOT NULL, state VARCHAR(16) NOT NULL, job_name VARCHAR(200), job_group VARCHAR(200),
           is_nonconcurrent BOOL, requests_recovery BOOL, PRIMARY KEY (sched_name, entry_id));
         CREATE TABLE qrtz_scheduler_state (sched_name VARCHAR(120) NOT NULL, instance_name VARCHAR(200) NOT NULL,
           last_checkin_time BIGINT NOT NULL, checkin_interval BIGINT NOT NULL,
           PRIMARY KEY (sched_name, instance_name));
         CREATE TABLE qrtz_triggers (sched_name VARCHAR(120) NOT NULL, trigger_name VARCHAR(200) NOT NULL,
           trigger_group VARCHAR(200) NOT NULL, job_name VARCHAR(200), job_group VARCHAR(200),
           next_fire_time BIGINT, trigger_state VARCHAR(16) NOT NULL,
           PRIMARY KEY (sched_name, trigger_name, trigger_group));
         CREATE TABLE qrtz_locks (sched_name VARCHAR(120) NOT NULL, lock_name VARCHAR(40) NOT NULL,
           PRIMARY KEY (sched_name, lock_name));",
    );
        // Checked in as long ago as each other; only the second has promised to do so more often.
        // Another cluster has an instance of the same name, which has been gone for an hour.
        for (cluster, instance, ago, interval) in [
            ("main", "vm1", 60 * SECOND, 120 * SECOND),
            ("main", "vm2", 60 * SECOND, 20 * SECOND),
            ("main", "vm3", 25 * SECOND, 20 * SECOND),
            ("other", "vm1", HOUR, 120 * SECOND),
        ] {
            queue.run(
                "INSERT INTO qrtz_scheduler_state VALUES (?1, ?2, ?3, ?4)",
                (cluster, instance, NOW - ago, interval),
            );
        }
        for (cluster, entry, instance) in [
            ("main", "e1", "vm1"),
            ("main", "e2", "vm2"),
            ("main", "e3", "vm3"),
            ("main", "e4", "vm9"),
            ("other", "e1", "vm1"),
            ("single", "e1", "NON_CLUSTERED"),
        ] {
            queue.run(
                "INSERT INTO qrtz_fired_triggers VALUES
             (?1, ?2, 't1', 'DEFAULT', ?3, ?4, ?4, 5, 'EXECUTING', 'report', 'nightly', 1 = 1, 1 = 0)",
                (cluster, entry, instance, NOW - 10 * MINUTE),
            );
        }
        for (name, state) in [("t1", "BLOCKED"), ("t2", "WAITING"), ("t3", "ERROR")] {
            queue.run(
                "INSERT INTO qrtz_triggers VALUES ('main', ?1, 'DEFAULT', 'report', 'nightly', ?2, ?3)",
                (name, NOW - 30 * SECOND, state),
            );
        }
        queue.expect(&[
            ("main,e1", "healthy", &[]),
            ("main,e2", "orphaned", &["session_stale"]),
            ("main,e3", "expiring", &["deadline_near"]),
            ("main,e4", "orphaned", &["session_missing"]),
            ("other,e1", "orphaned", &["session_stale"]),
            ("single,e1", "unknown", &["no_deadline"]),
        ]);
        let claim = queue.claim("main,e2");
        assert_eq!((&claim["kind"], &claim["holder"]), (&"nightly.report".into(), &"main/vm2".into()));
        assert_eq!(claim["address"], "quartz/fired/main,e2");
        assert_eq!(claim["remaining_ms"], -32_500);
        let check = queue.check();
        assert_eq!((&check["sessions"]["total"], &check["sessions"]["stale"]), (&4.into(), &2.into()));
        assert_eq!((&check["backlog"]["queued"], &check["backlog"]["dead"]), (&1.into(), &1.into()));
        assert_eq!(check["backlog"]["oldest_queued_s"], 30);
    });
}

#[test]
fn db_scheduler_has_a_heartbeat_and_no_time_of_claim() {
    on_both(|| {
        let tables = "CREATE TABLE scheduled_tasks (task_name TEXT NOT NULL, task_instance TEXT NOT NULL, task_data BLOB,
           execution_time TIMESTAMP NOT NULL, picked BOOLEAN NOT NULL, picked_by TEXT, last_success TIMESTAMP,
           last_failure TIMESTAMP, consecutive_failures INT, last_heartbeat TIMESTAMP, version BIGINT NOT NULL,
           priority SMALLINT, PRIMARY KEY (task_name, task_instance));";
        let zoned = tables.replace("TIMESTAMP", "TIMESTAMPTZ").replace("BLOB", "BYTEA");
        let queue = Queue::with("db-scheduler", tables, &zoned);
        let rows = [
            ("report", "1", true, Some(-4 * MINUTE)),
            ("report", "2", true, Some(-30 * MINUTE - SECOND)),
            ("report", "3", true, Some(-28 * MINUTE)),
            ("mail", "1", true, None),
            ("mail", "2", false, None),
        ];
        for (name, instance, picked, beat) in rows {
            queue.run(
                "INSERT INTO scheduled_tasks VALUES (?1, ?2, NULL, ?3, ?4 = 1, ?5, NULL, NULL, 2, ?6, 1, 0)",
                (name, instance, naive(-HOUR), picked, picked.then_some("web1"), beat.map(naive)),
            );
        }
        queue.expect(&[
            ("report,1", "healthy", &[]),
            ("report,2", "stale", &["lease_expired"]),
            ("report,3", "expiring", &["deadline_near"]),
            ("mail,1", "unknown", &["unreadable"]),
        ]);
        let claim = queue.claim("report,2");
        assert_eq!((&claim["kind"], &claim["holder"]), (&"report".into(), &"web1".into()));
        assert_eq!(claim["attempts"], 2);
        assert!(claim["claimed_at"].is_null());
        assert_eq!(claim["remaining_ms"], -SECOND);
        assert_eq!(queue.check()["backlog"]["queued"], 1);
    });
}
