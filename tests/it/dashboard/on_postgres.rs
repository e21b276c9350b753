//! The dashboard on PostgreSQL: every pane, and what it says of rights, standbys and secrets.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

use super::pty::{ENTER, ESC, Pty, Start};
use crate::support::postgres::PgDatabase;
use crate::support::server::Server;

const JOBS: &str = include_str!("../../../assets/schema/postgres/executor-jobs.sql");

/// Two jobs whose holders fell silent, one with little time left, 400 that are fine, one that died.
pub const FLEET: &str = "
    INSERT INTO executor_jobs (id, type, status, locked_by, locked_at, heartbeat_at)
      SELECT format('00000000-0000-4000-8000-%s', lpad(n::text, 12, '0'))::uuid, 'run_tsa', 'running',
             'worker-fine', now(), now() FROM generate_series(1, 400) n;
    INSERT INTO executor_jobs (id, type, status, locked_by, locked_at, heartbeat_at) VALUES
      ('a0000000-0000-4000-8000-000000000001', 'run_tsa', 'running', 'worker-old',
       now() - interval '3 hours', now() - interval '2 hours'),
      ('a0000000-0000-4000-8000-000000000002', 'build_artifact', 'running', 'worker-late',
       now() - interval '2 hours', now() - interval '1 hour'),
      ('a0000000-0000-4000-8000-000000000003', 'run_tsa', 'running', 'worker-soon',
       now() - interval '28 minutes', now() - interval '28 minutes');
    INSERT INTO executor_jobs (type, status, attempts, last_error)
      VALUES ('build_artifact', 'dead', 10, 'the printer burns');";

/// The tables and their fleet.
pub fn jobs() -> String {
    format!("BEGIN; {JOBS} {FLEET} COMMIT;")
}

/// A dashboard on an address, with a folder of its own for everything it keeps.
pub fn open(folder: &TempDir, url: &str) -> Pty {
    start(folder, url).run()
}

fn start(folder: &TempDir, url: &str) -> Start {
    Start::claimtop(&folder.path().join("state")).folder(folder.path()).with(url)
}

/// The same server, another database.
fn missing(database: &PgDatabase) -> String {
    let url = database.url();
    let (server, _) = url.rsplit_once('/').expect("a database");
    format!("{server}/no_such_jobs")
}

#[test]
fn every_pane_shows_what_a_server_holds() {
    let database = PgDatabase::new(&jobs());
    let folder = tempfile::tempdir().unwrap();
    let mut pty = open(&folder, &database.url());
    let shown = pty.wait("worker-old");
    pty.wait("LIVE 1");
    for part in ["executor-jobs", "postgres://", "worker-late", "worker-soon", "of 403"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }

    pty.press("2", "403 claims on 1 board, worst first");
    pty.wait("worker-old");
    pty.press("G", "…00002");
    pty.press("g", "worker-old");
    pty.press("/holder:worker-late\r", "/holder:worker-late");
    pty.press("1", "worker-late");
    pty.wait_without("worker-late", "worker-old");
    pty.press(ENTER, "Every column");
    pty.press(ESC, "Timeline");
    pty.keys("/");
    pty.keys(ESC);
    pty.wait("worker-old");

    pty.press("5", "WAITS SINCE");
    pty.wait("build_artifact");
    pty.press("8", "nothing has been done yet");
    pty.quit();
}

/// The connections to a database, by the ids of their backends.
fn connections(database: &PgDatabase) -> Vec<String> {
    let sql = "SELECT pid::text FROM pg_stat_activity WHERE datname = current_database()
               AND application_name LIKE 'claimtop%' ORDER BY pid";
    database.query(sql).into_iter().flatten().flatten().collect()
}

#[test]
fn a_key_opens_no_connection_once_there_is_one_for_it() {
    let database = PgDatabase::new(&jobs());
    let folder = tempfile::tempdir().unwrap();
    let mut pty = open(&folder, &database.url());
    pty.wait("worker-old");
    pty.press("r", "done, u undoes it: reclaim");
    pty.press("u", "y undo");
    pty.press("y", "undone: ");
    pty.press("5", "WAITS SINCE");
    pty.keys("g");
    pty.press(ENTER, "the printer burns");
    pty.keys(ESC);
    pty.wait_without("WAITS SINCE", "Dead: ");
    let before = connections(&database);
    pty.press(ENTER, "the printer burns");
    pty.keys(ESC);
    pty.wait_without("WAITS SINCE", "Dead: ");
    pty.press("1", "worker-old");
    // The list moved when the first act took its row, so the claim is chosen anew.
    pty.press("g", "▸ a0000000-0000-4000-80…0000000001");
    pty.press("r", "done, u undoes it: reclaim");
    pty.press("u", "y undo");
    pty.press("y", "undone: ");
    assert_eq!(connections(&database), before);
    pty.quit();
}

#[test]
fn a_read_only_dashboard_has_no_thread_that_acts() {
    let database = PgDatabase::new(&jobs());
    let folder = tempfile::tempdir().unwrap();
    let threads = |pty: &Pty| -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", pty.pid().as_raw_nonzero())).expect("its threads");
        let name =
            |task: std::io::Result<fs::DirEntry>| fs::read_to_string(task.ok()?.path().join("comm")).ok();
        tasks.filter_map(name).map(|name| name.trim().to_owned()).collect()
    };
    for (option, acting) in [(None, true), (Some("--read-only"), false)] {
        let mut start = start(&folder, &database.url());
        if let Some(option) = option {
            start = start.with(option);
        }
        let mut pty = start.run();
        pty.wait("worker-old");
        let all = threads(&pty);
        assert!(all.contains(&"poller 0".to_owned()), "{all:?}");
        // Where it may act, the first act starts a thread for that.
        assert!(!all.contains(&"acts 0".to_owned()), "{option:?}: {all:?}");
        if !acting {
            pty.press("r", "read-only");
            let all = threads(&pty);
            assert!(!all.contains(&"acts 0".to_owned()), "{option:?}: {all:?}");
        }
        pty.quit();
    }
}

#[test]
fn rows_that_a_policy_may_hide_are_never_called_calm() {
    let database = PgDatabase::new(&jobs());
    let role = format!("{}_clerk", database.name());
    database.run(&format!(
        "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA public TO {role}; GRANT SELECT ON executor_jobs TO {role};
         ALTER TABLE executor_jobs ENABLE ROW LEVEL SECURITY;"
    ));
    let folder = tempfile::tempdir().unwrap();
    let pty = open(&folder, &database.url_as(&role));
    let shown = pty.wait("nothing is wrong with what we may see");
    assert!(shown.contains("row-level security is active") && shown.contains("RLS ACTIVE"), "{shown}");
    assert!(!shown.contains("all calm"), "{shown}");
    pty.quit();
    database.run(&format!("DROP OWNED BY {role}; DROP ROLE {role};"));
}

#[test]
fn a_standby_says_how_far_behind_it_is_and_refuses_every_act() {
    let primary = Server::start();
    primary.create_database("jobs", &jobs());
    let standby = primary.standby();
    standby.catch_up_with(&primary);
    let folder = tempfile::tempdir().unwrap();
    let mut pty = open(&folder, &standby.url("jobs"));
    let shown = pty.wait("worker-old");
    assert!(shown.contains("STANDBY") && shown.contains("behind"), "{shown}");
    pty.press("r", "this is a standby");
    pty.keys("R");
    pty.wait("this is a standby");
    pty.quit();
}

#[test]
fn a_database_that_is_not_there_is_said_clearly() {
    let database = PgDatabase::new("");
    let folder = tempfile::tempdir().unwrap();
    let url = missing(&database);
    let pty = open(&folder, &url);
    let shown = pty.wait("disconnected since");
    let plain = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain.contains("database \"no_such_jobs\" does not exist"), "{shown}");
    pty.quit();
}

#[test]
fn a_password_is_neither_on_the_screen_nor_in_its_pictures() {
    const CANARY: &str = "hunter2canary";
    let database = PgDatabase::new(&jobs());
    let folder = tempfile::tempdir().unwrap();
    let passfile = folder.path().join("pgpass");
    fs::write(&passfile, format!("*:*:*:*:{CANARY}\n")).unwrap();
    fs::set_permissions(&passfile, fs::Permissions::from_mode(0o600)).unwrap();
    let missing = missing(&database);
    let by_variable = start(&folder, &database.url()).env("PGPASSWORD", CANARY);
    let by_file = start(&folder, &missing).env("PGPASSFILE", &passfile);
    for (started, text) in [(by_variable, "worker-old"), (by_file, "disconnected since")] {
        let mut pty = started.run();
        pty.wait(text);
        pty.press("w", "Save the screen as");
        pty.press("t", "saved as");
        for pane in ["2", "3", "5", "7", "8"] {
            pty.keys(pane);
        }
        pty.wait("nothing has been done yet");
        let ended = pty.quit();
        assert!(!String::from_utf8_lossy(&ended.bytes).contains(CANARY));
    }
    let kept = kept(folder.path());
    assert!(kept.iter().any(|(name, _)| name.contains("claimtop-")), "no picture was saved");
    for (name, bytes) in kept.iter().filter(|(name, _)| !name.ends_with("pgpass")) {
        assert!(!String::from_utf8_lossy(bytes).contains(CANARY), "{name}");
    }
}

/// Every file below a folder.
fn kept(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(kept(&path));
        } else {
            all.push((path.display().to_string(), fs::read(path).unwrap()));
        }
    }
    all
}

#[test]
fn a_warning_of_the_address_is_given_once_before_the_screen_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let pty = open(&folder, "postgres://ann@192.0.2.1/app?sslmode=prefer&connect_timeout=1");
    pty.wait("disconnected since");
    let ended = pty.quit();
    let bytes = String::from_utf8_lossy(&ended.bytes).into_owned();
    let (before, after) = bytes.split_once("\x1b[?1049h").expect("the screen was taken");
    assert!(before.contains("are taken as require"), "{before}");
    assert!(!after.contains("are taken as require"), "{after}");
}
