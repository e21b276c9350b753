//! Queues of Django, which writes its times as text without a zone.

use super::{HOUR, Queue, naive, written};
use crate::support::{MINUTE, SECOND};

#[test]
fn django_q2_holds_a_row_until_the_time_in_its_lock() {
    let queue = Queue::new(
        "django-q2",
        "CREATE TABLE django_q_ormq (id integer NOT NULL PRIMARY KEY AUTOINCREMENT, key varchar(100) NOT NULL,
           payload text NOT NULL, lock datetime NULL);",
    );
    // The day is the same for all: text would be compared by what follows the date.
    let locks = [
        (1, Some(naive(10 * MINUTE))),
        (2, Some(naive(5 * SECOND))),
        (3, Some(naive(-SECOND))),
        (4, None),
        // Django writes no fraction where there is none.
        (5, Some(written(HOUR, "%Y-%m-%d %H:%M:%S"))),
    ];
    for (id, lock) in locks {
        queue.run("INSERT INTO django_q_ormq VALUES (?1, 'default', 'gAAB', ?2)", (id, lock));
    }
    queue.expect(&[("1", "healthy", &[]), ("2", "expiring", &["deadline_near"]), ("5", "healthy", &[])]);
    let claim = queue.claim("1");
    assert_eq!(claim["kind"], "default");
    assert_eq!(claim["deadline_at"], "2026-11-15T12:10:00.000Z");
    assert!(claim["holder"].is_null() && claim["claimed_at"].is_null());
    // What nobody holds any more is queued again.
    assert_eq!(queue.check()["backlog"]["queued"], 2);
}

#[test]
fn django_tasks_keeps_its_workers_in_a_json_array_and_has_no_deadline() {
    let queue = Queue::new(
        "django-tasks",
        "CREATE TABLE django_tasks_database_dbtaskresult (id char(32) NOT NULL PRIMARY KEY,
           status varchar(10) NOT NULL, enqueued_at datetime NOT NULL, started_at datetime, finished_at datetime,
           priority integer NOT NULL, task_path text NOT NULL, queue_name varchar(32) NOT NULL,
           run_after datetime NOT NULL, worker_ids text NOT NULL CHECK (json_valid(worker_ids)),
           exception_class_path text NOT NULL, traceback text NOT NULL);",
    );
    let id = |number: i64| format!("{number:032x}");
    let rows = [
        (1, "RUNNING", Some(-MINUTE), r#"["old", "ScIs"]"#),
        (2, "RUNNING", Some(-90 * HOUR), r#"["ScIs"]"#),
        (3, "RUNNING", Some(-MINUTE), "[]"),
        (4, "READY", None, "[]"),
        (5, "SUCCESSFUL", Some(-HOUR), r#"["ScIs"]"#),
        (6, "FAILED", Some(-HOUR), r#"["ScIs"]"#),
    ];
    for (number, status, started, workers) in rows {
        queue.run(
            "INSERT INTO django_tasks_database_dbtaskresult VALUES
             (?1, ?2, ?3, ?4, NULL, 0, 'app.tasks.mail', 'default', '9999-01-01 00:00:00', ?5, '', '')",
            (id(number), status, naive(-100 * HOUR), started.map(naive), workers),
        );
    }
    queue.expect(&[
        (&id(1), "unknown", &["no_deadline"]),
        (&id(2), "unknown", &["no_deadline"]),
        (&id(3), "unknown", &["no_deadline"]),
    ]);
    let claim = queue.claim(&id(1));
    assert_eq!((&claim["kind"], &claim["holder"]), (&"app.tasks.mail".into(), &"ScIs".into()));
    assert_eq!((&claim["attempts"], &claim["claimed_at"]), (&2.into(), &"2026-11-15T11:59:00.000Z".into()));
    assert!(queue.claim(&id(3))["holder"].is_null());
    let backlog = &queue.check()["backlog"];
    assert_eq!((&backlog["queued"], &backlog["dead"]), (&1.into(), &1.into()));
}
