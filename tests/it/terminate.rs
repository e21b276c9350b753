//! `claimtop terminate`: ends the server session whose advisory lock is a claim.

use serde_json::Value as Json;
use std::process::{Output, Stdio};
use tempfile::TempDir;

use crate::support::engine::not_in_fast;
use crate::support::postgres::{PgDatabase, Session};
use crate::support::{COORDINATION, Database, json, stderr, stdout};

const QUE: &str = include_str!("systems/fixtures/que.postgres.sql");
const GOOD_JOB: &str = include_str!("systems/fixtures/good-job.postgres.sql");
const GOOD_JOB_3: &str = include_str!("systems/fixtures/good-job-3.postgres.sql");
const PGAGENT: &str = include_str!("systems/fixtures/pgagent.postgres.sql");

struct Scene {
    database: PgDatabase,
    folder: TempDir,
}

impl Scene {
    fn new(schema: &str) -> Scene {
        not_in_fast("a server");
        Scene { database: PgDatabase::new(schema), folder: tempfile::tempdir().expect("a folder") }
    }

    /// A worker of Que with the job 4711 in its hands.
    fn of_que() -> (Scene, Session) {
        let scene = Scene::new(QUE);
        scene
            .database
            .run("INSERT INTO que_jobs (id, job_class, job_schema_version) VALUES (4711, 'Mail', 2)");
        let worker = scene.database.connect();
        worker.run("SELECT pg_advisory_lock(4711)");
        (scene, worker)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.run_at(&self.database.url(), arguments)
    }

    fn run_at(&self, url: &str, arguments: &[&str]) -> Output {
        let (verb, rest) = arguments.split_first().expect("a verb");
        let mut command = crate::support::command(&[verb]);
        command.arg(url).args(rest).env("XDG_STATE_HOME", self.folder.path());
        command.envs(self.database.password().map(|password| ("PGPASSWORD", password)));
        command.env("PGCONNECT_TIMEOUT", "60").stdin(Stdio::null()).output().expect("claimtop runs")
    }

    /// With everything that it takes to end the session of this process number.
    fn terminate(&self, id: &str, holder: &str, more: &[&str]) -> Output {
        let said = ["terminate", id, "--force", "--holder", holder, "--reason", "it hangs"];
        self.run(&[&said, more].concat())
    }

    fn trail(&self) -> Vec<Json> {
        let mut command = crate::support::command(&["audit", "export"]);
        let exported = command.env("XDG_STATE_HOME", self.folder.path()).output().expect("claimtop runs");
        stdout(&exported).lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }
}

fn is_there(session: &Session) -> bool {
    session.attempt("SELECT 1").is_ok()
}

#[test]
fn the_session_that_holds_the_lock_is_ended_and_the_job_is_free() {
    let (scene, worker) = Scene::of_que();
    let (pid, bystander) = (worker.pid().to_string(), scene.database.connect());
    let shown = scene.terminate("4711", &pid, &["--dry-run"]);
    assert!(stdout(&shown).contains(&format!("end the server session {pid}")), "{shown:?}");
    assert!(is_there(&worker), "a dry run ends nothing");
    let done = json(&scene.terminate("4711", &pid, &["--json"]));
    assert_eq!((&done["outcome"], &done["holder"]), (&"applied".into(), &pid.clone().into()), "{done:#}");
    assert_eq!(done["backend"]["pid"].to_string(), pid);
    assert!(!is_there(&worker) && is_there(&bystander));
    assert_eq!(scene.database.value("SELECT pg_try_advisory_lock(4711)::text").as_deref(), Some("true"));
    // Intent and outcome are on record, and nothing takes it back.
    let trail: Vec<Json> = scene.trail().into_iter().map(|line| line["record"].clone()).collect();
    let stages: Vec<String> = trail.iter().map(|record| record["stage"].to_string()).collect();
    assert_eq!(stages, ["\"intent\"", "\"outcome\""], "{trail:#?}");
    assert_eq!((&trail[0]["action"], &trail[1]["outcome"]), (&"terminate".into(), &"applied".into()));
    assert_eq!(trail[0]["evidence"]["backend"]["pid"].to_string(), pid);
    let undone = scene.run(&["undo", done["action_id"].as_str().expect("an id"), "--yes"]);
    assert_eq!(undone.status.code(), Some(5), "{undone:?}");
    assert!(stderr(&undone).contains("cannot be undone"), "{undone:?}");
}

#[test]
fn everything_has_to_be_said() {
    let (scene, worker) = Scene::of_que();
    let pid = worker.pid().to_string();
    let other = scene.database.connect().pid().to_string();
    for (said, why) in [
        (&["terminate", "4711"][..], "cannot be undone; to do it anyway: --force --holder"),
        (&["terminate", "4711", "--holder", &pid, "--reason", "it hangs"], "--force"),
        (&["terminate", "4711", "--force", "--holder", &pid], "--force needs a --reason"),
        (&["terminate", "4711", "--force", "--reason", "it hangs"], "name the holder"),
        (&["terminate", "4711", "--force", "--holder", &other, "--reason", "x"], "is not its holder"),
        (
            &["terminate", "4711", "--force", "--holder", &pid, "--reason", "x", "--read-only"],
            "is open read-only in this session",
        ),
    ] {
        let refused = scene.run(said);
        assert_eq!(refused.status.code(), Some(5), "{refused:?}");
        let text = stdout(&refused) + &stderr(&refused);
        assert!(text.contains(why), "{text}");
        assert!(is_there(&worker), "{said:?}");
    }
}

#[test]
fn a_claim_that_is_over_has_no_session_to_end() {
    let (scene, worker) = Scene::of_que();
    worker.run("SELECT pg_advisory_unlock_all()");
    let moved = scene.terminate("4711", &worker.pid().to_string(), &[]);
    assert_eq!(moved.status.code(), Some(4), "{moved:?}");
    assert!(is_there(&worker));
}

#[test]
fn the_same_lock_in_another_database_is_no_claim_here() {
    let (here, (_elsewhere, worker)) = (Scene::new(QUE), Scene::of_que());
    here.database.run("INSERT INTO que_jobs (id, job_class, job_schema_version) VALUES (4711, 'Mail', 2)");
    let listed = here.run(&["list", "--json"]);
    assert!(listed.status.success() && stdout(&listed).is_empty(), "{listed:?}");
    let moved = here.terminate("4711", &worker.pid().to_string(), &[]);
    assert_eq!(moved.status.code(), Some(4), "{moved:?}");
    assert!(is_there(&worker));
}

#[test]
fn a_role_that_may_not_signal_is_told_what_it_lacks() {
    let (scene, worker) = Scene::of_que();
    let login = format!("claimtop_test_{}", uuid::Uuid::now_v7().simple());
    let (owner, database) = (format!("{login}_app"), &scene.database);
    database.run(&format!(
        "CREATE ROLE {owner} LOGIN; CREATE ROLE {login} LOGIN;
         GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA public TO {login}, {owner}"
    ));
    drop(worker);
    let worker = database.connect();
    worker.run(&format!("SET SESSION AUTHORIZATION {owner}; SELECT pg_advisory_lock(4711)"));
    let pid = worker.pid().to_string();
    let url = database.url_as(&login);
    let said = ["terminate", "4711", "--force", "--holder", &pid, "--reason", "it hangs"];
    let refused = scene.run_at(&url, &said);
    assert_eq!(refused.status.code(), Some(5), "{refused:?}");
    assert!(stdout(&refused).contains("may not end sessions of"), "{refused:?}");
    assert!(is_there(&worker));
    drop(worker);
    database.run(&format!("DROP OWNED BY {login}, {owner}; DROP ROLE {login}; DROP ROLE {owner}"));
}

#[test]
fn a_role_that_may_signal_and_not_see_is_told_what_it_lacks() {
    let (scene, worker) = Scene::of_que();
    drop(worker);
    let login = format!("claimtop_test_{}", uuid::Uuid::now_v7().simple());
    let (owner, database) = (format!("{login}_app"), &scene.database);
    database.run(&format!(
        "CREATE ROLE {owner} LOGIN; CREATE ROLE {login} LOGIN; GRANT pg_signal_backend TO {login};
         GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA public TO {login}, {owner}"
    ));
    let worker = database.connect_as(&owner);
    worker.run("SELECT pg_advisory_lock(4711)");
    let pid = worker.pid().to_string();
    let url = database.url_as(&login);
    // The claim is shown all the same.
    let listed = scene.run_at(&url, &["list", "--json"]);
    assert!(stdout(&listed).contains(&format!("\"holder\":\"{pid}\"")), "{listed:?}");
    let said = ["terminate", "4711", "--force", "--holder", &pid, "--reason", "it hangs"];
    let refused = scene.run_at(&url, &said);
    assert_eq!(refused.status.code(), Some(5), "{refused:?}");
    let sentence = format!("the role {login} may not see when the session began");
    assert!(stdout(&refused).contains(&sentence), "{refused:?}");
    assert!(stdout(&refused).contains("grant it pg_read_all_stats"), "{refused:?}");
    assert!(is_there(&worker));
    // What the message asks for is enough.
    database.run(&format!("GRANT pg_read_all_stats TO {login}"));
    let done = scene.run_at(&url, &said);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(!is_there(&worker));
    drop(worker);
    database.run(&format!("DROP OWNED BY {login}, {owner}; DROP ROLE {login}; DROP ROLE {owner}"));
}

#[test]
fn a_good_job_is_held_by_the_session_with_its_lock() {
    let scene = Scene::new(GOOD_JOB);
    scene.database.run(
        "INSERT INTO good_job_processes (id, state) VALUES (gen_random_uuid(), '{\"pid\": 1, \"hostname\": \"elsewhere\"}');
         INSERT INTO good_jobs (job_class, queue_name, locked_by_id, locked_at)
         SELECT 'Mail', 'default', id, timezone('UTC', now()) FROM good_job_processes",
    );
    let worker = scene.database.connect();
    worker.run("SELECT pg_advisory_lock(('x' || substr(md5('good_jobs-' || id), 1, 16))::bit(64)::bigint) FROM good_jobs");
    let id = scene.database.value("SELECT id::text FROM good_jobs").expect("a job");
    let holder = scene.database.value("SELECT locked_by_id::text FROM good_jobs").expect("a holder");
    let done = scene.terminate(&id, &holder, &[]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(stdout(&done).contains("it cannot be undone"), "{done:?}");
    assert!(!is_there(&worker));
    // Nobody has the lock any more: now it is the row that has to be freed.
    let refused = scene.terminate(&id, &holder, &[]);
    assert_eq!(refused.status.code(), Some(5), "{refused:?}");
    assert!(stdout(&refused).contains("no session of this server holds it any more"), "{refused:?}");
}

/// A job may be locked before its row says by whom, and before release 4 its row never did.
#[test]
fn a_good_job_that_has_only_its_lock_is_shown_and_can_be_freed() {
    for (tables, profile, column) in [
        (GOOD_JOB, "good-job", "id"),
        (GOOD_JOB, "good-job", "active_job_id"),
        (GOOD_JOB_3, "good-job-3", "active_job_id"),
    ] {
        let scene = Scene::new(tables);
        scene.database.run(
            "INSERT INTO good_jobs (active_job_id, serialized_params)
             SELECT gen_random_uuid(), '{\"job_class\": \"Mail\"}' FROM generate_series(1, 3)",
        );
        let worker = scene.database.connect();
        let key = format!("('x' || substr(md5('good_jobs-' || {column}), 1, 16))::bit(64)::bigint");
        worker.run(&format!("SELECT pg_advisory_lock({key}) FROM (SELECT * FROM good_jobs LIMIT 1) AS one"));
        let pid = worker.pid().to_string();
        let listed = crate::support::lines(&scene.run(&["list", "--json"]));
        assert_eq!(listed.len(), 1, "{profile}: {listed:#?}");
        let claim = &listed[0];
        assert_eq!(
            (&claim["profile"], &claim["holder"]),
            (&profile.into(), &pid.clone().into()),
            "{claim:#}"
        );
        assert_eq!(
            (&claim["verdict"], &claim["conclusion"]),
            (&"healthy".into(), &"alive".into()),
            "{claim:#}"
        );
        let id = claim["id"].as_str().expect("an id");
        // The row has nothing to free: not even force takes what the session has.
        let refused = scene.run(&["reclaim", id, "--force", "--holder", &pid, "--reason", "it hangs"]);
        assert_eq!(refused.status.code(), Some(5), "{refused:?}");
        let done = scene.terminate(id, &pid, &[]);
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        assert!(!is_there(&worker));
        assert!(stdout(&scene.run(&["list", "--json"])).is_empty());
    }
}

#[test]
fn a_process_number_that_was_reused_since_the_claim_is_not_hit() {
    let scene = Scene::new(PGAGENT);
    let (agent, later) = (scene.database.connect(), scene.database.connect());
    let job = |id: i32, pid: i32, at: &str| {
        scene.database.run(&format!(
            "INSERT INTO pgagent.pga_job (jobid, jobjclid, jobname, jobdesc, jobhostagent, jobenabled, jobcreated,
             jobchanged, jobagentid, joblastrun) VALUES ({id}, 1, 'mail', '', '', true, now(), now(), {pid}, {at})"
        ));
    };
    // The first was taken by the agent's session; the other by one that had the same number a day ago.
    job(1, agent.pid(), "clock_timestamp()");
    job(2, later.pid(), "now() - interval '1 day'");
    let refused = scene.terminate("2", &later.pid().to_string(), &[]);
    assert_eq!(refused.status.code(), Some(5), "{refused:?}");
    assert!(is_there(&later));
    let done = scene.terminate("1", &agent.pid().to_string(), &[]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(!is_there(&agent) && is_there(&later));
}

#[test]
fn a_file_has_no_sessions_to_end() {
    let database = Database::new(COORDINATION);
    database.run("INSERT INTO sessions VALUES ('s1', '/p', 'cli', 1, 1, '{}', NULL)", []);
    database.run(
        "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
         VALUES ('t1', 's1', 1, 2, 1)",
        [],
    );
    let mut command = crate::support::command(&["terminate"]);
    command.arg(database.path()).args(["t1", "--force", "--holder", "s1", "--reason", "it hangs"]);
    let refused = command.env("XDG_STATE_HOME", database.beside("state")).output().expect("claimtop runs");
    assert_eq!(refused.status.code(), Some(5), "{refused:?}");
    assert!(stdout(&refused).contains("a SQLite database has no server sessions"), "{refused:?}");
}
