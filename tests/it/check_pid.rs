//! Verdicts that rest on what the kernel says: `--check-pid` and `claimtop pid`, with real processes.

use serde_json::Value as Json;
use std::process::{Child, Command, Stdio};

use crate::support::{COORDINATION, Database, MINUTE, command, json, lines, stderr, stdout};

/// A process of our own, gone at the end of the test.
struct Worker(Child);

impl Worker {
    fn start() -> Worker {
        // Reads until we close its input: it lives exactly as long as it is needed.
        let child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        Worker(child.expect("a process"))
    }

    /// Ends it and waits: from here on its number belongs to nobody.
    fn end(mut self) -> u32 {
        self.stop();
        self.0.id()
    }

    fn stop(&mut self) {
        // It may have ended already; then there is nothing to do.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A session that registered and beat once just now, and holds one claim with a lease of half an
/// hour that never beat again.
fn database(pid: u32) -> (Database, i64) {
    let database = Database::new(COORDINATION);
    let now = chrono::Utc::now().timestamp_millis();
    database.run(
        "INSERT INTO sessions VALUES ('s1', '/p', 'cli', ?1, ?1, '{}', ?2), ('s2', '/p', 'cli', ?1, ?1, '{}', NULL)",
        (now, pid),
    );
    for (task, session) in [("t1", "s1"), ("t2", "s2")] {
        database.run(
            "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES (?1, ?2, ?3, ?4, ?3)",
            (task, session, now, now + 30 * MINUTE),
        );
    }
    let config = format!("[source.here]\nat = {:?}\nholders_on = \"this-host\"\n", database.path());
    std::fs::write(database.beside("config.toml"), config).expect("a config");
    (database, now)
}

/// Runs a verb on the configured source, this long after the session was last heard of.
fn run(database: &Database, verb: &[&str], later: i64, now: i64) -> std::process::Output {
    let config = database.beside("config.toml");
    let mut command = command(verb);
    command.arg("--config").arg(config).arg("--now").arg((now + later).to_string());
    command.arg("here").output().expect("claimtop runs")
}

fn claim(output: &std::process::Output, id: &str) -> Json {
    let all = lines(output);
    all.iter().find(|claim| claim["id"] == id).unwrap_or_else(|| panic!("no {id} in {all:#?}")).clone()
}

#[test]
fn a_silent_session_whose_process_lives_is_slow_and_not_orphaned() {
    let worker = Worker::start();
    let (database, now) = database(worker.0.id());
    let without = claim(&run(&database, &["list", "--json"], 14 * MINUTE, now), "t1");
    assert_eq!(without["verdict"], "orphaned");

    let with = claim(&run(&database, &["list", "--json", "--check-pid"], 14 * MINUTE, now), "t1");
    assert_eq!((with["verdict"].as_str(), with["conclusion"].as_str()), (Some("stale"), Some("slow")));
    assert_eq!(with["session"]["process"], "alive");
    let sentence = format!("heartbeat 14m old, but pid {} is alive: slow or stuck", worker.0.id());
    assert_eq!(with["why"], sentence);
}

#[test]
fn a_session_that_seems_well_is_orphaned_once_its_process_is_proven_dead() {
    let (database, now) = database(Worker::start().end());
    let without = claim(&run(&database, &["list", "--json"], MINUTE, now), "t1");
    assert_eq!(without["verdict"], "healthy");

    let with = claim(&run(&database, &["list", "--json", "--check-pid"], MINUTE, now), "t1");
    assert_eq!((with["verdict"].as_str(), with["conclusion"].as_str()), (Some("orphaned"), Some("dead")));
    assert_eq!(with["reasons"][0], "process_dead");
}

#[test]
fn the_counts_of_check_follow_the_kernel_too() {
    let count = |output: &std::process::Output| json(output)["sources"][0]["claims"].clone();
    let worker = Worker::start();
    let (living, now) = database(worker.0.id());
    let claims = count(&run(&living, &["check", "--json", "--check-pid"], 14 * MINUTE, now));
    assert_eq!((claims["orphaned"].as_i64(), claims["stale"].as_i64()), (Some(1), Some(2)), "{claims}");

    let (dead, now) = database(Worker::start().end());
    let output = run(&dead, &["check", "--json", "--check-pid"], MINUTE, now);
    assert_eq!(count(&output)["orphaned"], 1);
    assert_eq!(json(&output)["sources"][0]["reasons"]["process_dead"], 1);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn without_knowing_where_holders_run_no_process_is_called_dead() {
    let (database, now) = database(Worker::start().end());
    let path = database.path();
    let now = (now + MINUTE).to_string();
    let output =
        command(&["list", "--json", "--check-pid", "--now", &now]).arg(path).output().expect("claimtop runs");
    let claim = claim(&output, "t1");
    assert_eq!(
        (claim["verdict"].as_str(), claim["session"]["process"].as_str()),
        (Some("healthy"), Some("unknown"))
    );
}

#[test]
fn the_holders_are_listed_with_what_is_known_of_them() {
    let worker = Worker::start();
    let (database, now) = database(worker.0.id());
    let all = lines(&run(&database, &["pid", "--json"], MINUTE, now));
    assert_eq!(all.len(), 2);
    assert_eq!((all[0]["id"].as_str(), all[0]["process"].as_str()), (Some("s1"), Some("alive")));
    assert_eq!((all[0]["claims"].as_i64(), all[0]["pid"].as_i64()), (Some(1), Some(worker.0.id().into())));
    assert_eq!((all[1]["process"].as_str(), all[1]["pid"].as_i64()), (Some("unknown"), None));
    assert!(all[1]["evidence"].as_str().expect("evidence").contains("NULL"));

    let text = stdout(&run(&database, &["pid", "--session", "s2"], MINUTE, now));
    assert!(text.contains("s2") && !text.contains("s1"), "{text}");
    let nobody = run(&database, &["pid", "--session", "nobody"], MINUTE, now);
    assert_eq!(nobody.status.code(), Some(3));
    assert!(stderr(&nobody).contains("there is no session nobody"));
}

#[test]
fn a_worker_named_after_its_host_and_process_can_be_asked_about() {
    let worker = Worker::start();
    let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let gone = Worker::start().end();
    let database = Database::new(
        "CREATE TABLE merge_queue (id INTEGER PRIMARY KEY, workspace TEXT, status TEXT, added_at INTEGER,
           started_at INTEGER, agent_id TEXT)",
    );
    let now = chrono::Utc::now().timestamp();
    let agents = [
        format!("{here}-{}", worker.0.id()),
        format!("{here}-{gone}"),
        "elsewhere-1".into(),
        "somebody".into(),
    ];
    for agent in &agents {
        database.run(
            "INSERT INTO merge_queue (workspace, status, added_at, started_at, agent_id) VALUES (?1, 'claimed', ?2, ?2, ?1)",
            (agent, now),
        );
    }
    let config = format!("[source.here]\nat = {:?}\nholders_on = \"host-column\"\n", database.path());
    std::fs::write(database.beside("config.toml"), config).expect("a config");

    let all = lines(&run(&database, &["list", "--json", "--check-pid"], 10_000, now * 1_000));
    let of = |agent: &str| all.iter().find(|claim| claim["holder"] == agent).expect("the claim");
    assert_eq!(of(&agents[0])["session"]["process"], "alive");
    assert_eq!(of(&agents[1])["reasons"][0], "process_dead");
    assert_eq!(of(&agents[2])["session"]["process"], "unknown");
    assert_eq!(of(&agents[3])["session"], Json::Null);

    let check = json(&run(&database, &["check", "--json", "--check-pid"], 10_000, now * 1_000));
    assert_eq!(check["sources"][0]["claims"]["orphaned"], 1);
    let holders = lines(&run(&database, &["pid", "--json"], 10_000, now * 1_000));
    assert_eq!(holders.len(), 4);
}
