//! What there is to see: all five systems, all three sets, and work that goes on.

use super::*;

/// How many claims are in a set, over all profiles.
fn total(sources: &[Json], set: &str) -> i64 {
    sources.iter().map(|source| source["claims"][set].as_i64().expect("a count")).sum()
}

#[test]
fn all_three_sets_have_members_and_most_claims_are_healthy() {
    let before = chrono::Utc::now().timestamp();
    let demo = Demo::kept(&[]);
    let started = Instant::now();
    let mut first: [Option<Duration>; 3] = [None; 3];
    let sources = eventually("members in all three sets at once", || {
        let sources = demo.check();
        let counts = ["stale", "expiring", "orphaned"].map(|set| total(&sources, set));
        for (first, count) in first.iter_mut().zip(counts) {
            *first = first.or((count > 0).then(|| started.elapsed()));
        }
        counts.iter().all(|count| *count > 0).then_some(sources)
    });
    println!("stale, expiring, orphaned after {first:?}, all at once after {:?}", started.elapsed());
    assert!(total(&sources, "healthy") > 0, "{sources:?}");
    assert!(sources.iter().all(|source| source["ok"] == true && source["generic"] == false));

    let profiles = ["coordination", "executor-jobs", "finalization", "merge-queue", "task-queue"];
    for profile in profiles {
        eventually(profile, || demo.list().iter().any(|claim| claim["profile"] == profile).then_some(()));
    }
    eventually("a lock of a session", || {
        demo.list()
            .iter()
            .any(|claim| claim["board"] == "lock" && claim["profile"] == "coordination")
            .then_some(())
    });
    assert_no_time_lies_before(&demo.look(), before);
    assert_eq!(fs::read_to_string(demo.folder.join("fleet.log")).unwrap(), "");
}

/// Every column that holds a time, in the unit of its table.
#[track_caller]
fn assert_no_time_lies_before(connection: &Connection, start: i64) {
    let times = [
        "SELECT min(started_at, last_heartbeat) / 1000 FROM sessions",
        "SELECT min(claimed_at, last_heartbeat, expires_at) / 1000 FROM task_claims",
        "SELECT min(acquired_at, expires_at) / 1000 FROM locks",
        "SELECT unixepoch(min(created_at, updated_at, run_at, coalesce(locked_at, created_at),
           coalesce(heartbeat_at, created_at))) FROM executor_jobs",
        "SELECT unixepoch(min(started_at, created_at)) FROM executor_job_runs",
        "SELECT min(added_at, state_changed_at, coalesce(started_at, added_at)) FROM merge_queue",
        "SELECT min(acquired_at, expires_at) FROM queue_processing_lock",
        "SELECT created_at FROM queue_events",
        "SELECT unixepoch(min(requested_at, created_at, updated_at, coalesce(claimed_at, created_at)))
           FROM tasker_tasks",
        "SELECT unixepoch(attempted_at) FROM tasker_finalization_attempts",
        "SELECT unixepoch(min(created_at, updated_at, coalesce(claimed_at, created_at))) FROM tasks",
        "SELECT unixepoch(last_seen_at) FROM worker_heartbeats",
        "SELECT unixepoch(created_at) FROM task_logs",
    ];
    for sql in times {
        let mut statement = connection.prepare(sql).expect(sql);
        let earliest = statement.query_map([], |row| row.get::<_, i64>(0)).expect(sql);
        let earliest = earliest.map(|row| row.expect(sql)).min();
        assert!(earliest.is_none_or(|time| time >= start), "{sql}: {earliest:?} before {start}");
    }
}

/// A claim of a profile whose holder is dead, with the number of its process.
fn dead_ones(demo: &Demo, profile: &str, set: &str) -> Option<Json> {
    demo.list().into_iter().find(|claim| {
        let process = claim["holder"].as_str().and_then(|holder| holder.rsplit('-').next()).unwrap_or("0");
        claim["profile"] == profile
            && claim["sets"].as_array().is_some_and(|sets| sets.iter().any(|it| it == set))
            && claim["board"] != "lock"
            && !Path::new("/proc").join(process).exists()
    })
}

/// Reclaims a dead holder's claim; another worker has the same task soon.
fn a_reclaimed_task_is_taken_again(profile: &str, set: &str) {
    let demo = Demo::kept(&[]);
    let (address, holder) = eventually("a reclaimed claim", || {
        let claim = dead_ones(&demo, profile, set)?;
        let text = |key: &str| claim[key].as_str().expect(key).to_owned();
        let (address, holder) = (text("address"), text("holder"));
        let output = demo.run(&["reclaim", "fleet", &address, "--holder", &holder, "--json"]);
        // The system itself may have been faster.
        (output.status.code() == Some(0)).then_some((address, holder))
    });
    let reclaimed = Instant::now();
    eventually("it is taken again", || {
        let claims = demo.list();
        claims.iter().any(|claim| claim["address"] == *address && claim["holder"] != *holder).then_some(())
    });
    println!("{address} of {holder} taken again after {:?}", reclaimed.elapsed());
}

#[test]
fn a_job_that_was_reclaimed_is_taken_by_another_worker() {
    a_reclaimed_task_is_taken_again("executor-jobs", "stale");
}

#[test]
fn a_claim_of_a_dead_session_is_taken_by_another() {
    a_reclaimed_task_is_taken_again("coordination", "orphaned");
}
