//! `claimtop demo --postgres URL`: the fleet on a server, in a schema that is gone with it.

use super::*;
use crate::support::postgres::PgDatabase;
use crate::support::stderr;

/// A demo without a screen on a database of the test's.
struct OnServer {
    database: PgDatabase,
    child: Child,
    output: BufReader<ChildStdout>,
    around: TempDir,
    /// Where its config is.
    folder: PathBuf,
}

impl OnServer {
    fn start(options: &[&str]) -> OnServer {
        let database = PgDatabase::new("CREATE TABLE mine (a int)");
        let around = tempfile::tempdir().expect("a folder");
        let mut command = command_on(&database, around.path(), options);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("a demo");
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        assert!(line.contains("schema claimtop_demo"), "{line:?}");
        let config = line.split("--config ").nth(1).and_then(|rest| rest.split('`').next());
        let config = PathBuf::from(config.unwrap_or_else(|| panic!("no config in {line:?}")));
        let folder = config.parent().expect("a folder").to_owned();
        OnServer { database, child, output, around, folder }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a number")).expect("a process");
        kill_process(pid, signal).expect("a signal");
    }

    fn end(&mut self) -> (ExitStatus, String) {
        let mut text = String::new();
        self.output.read_to_string(&mut text).expect("its words");
        (self.child.wait().expect("its end"), text)
    }

    fn has_schema(&self) -> bool {
        let sql = "SELECT count(*) FROM pg_namespace WHERE nspname = 'claimtop_demo'";
        self.database.value(sql).as_deref() == Some("1")
    }

    fn number(&self, sql: &str) -> i64 {
        self.database.value(sql).expect("a number").parse().expect("a number")
    }

    fn check(&self) -> Vec<Json> {
        let mut command = command(&["check", "fleet", "--json", "--config"]);
        let output = command.arg(self.folder.join("config.toml")).output().expect("claimtop runs");
        json(&output)["sources"].as_array().expect("sources").clone()
    }

    #[track_caller]
    fn assert_nothing_is_left(&self) {
        eventually("no process is left", || processes(&self.folder).is_empty().then_some(()));
        eventually("no schema is left", || (!self.has_schema()).then_some(()));
        eventually("no folder is left", || (!self.folder.exists()).then_some(()));
        assert_eq!(self.number("SELECT count(*) FROM pg_class WHERE relname = 'mine'"), 1);
        assert_eq!(self.number("SELECT count(*) FROM pg_proc WHERE proname = 'reclaim_stale_jobs'"), 0);
        let left: Vec<_> = fs::read_dir(self.around.path()).expect("a listing").collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

impl Drop for OnServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command_on(database: &PgDatabase, temporary: &Path, options: &[&str]) -> Command {
    let mut command = demo(temporary, options);
    command.args(["--postgres", &database.url()]);
    command
}

#[test]
fn real_processes_work_on_the_server_and_nothing_is_left() {
    let mut demo = OnServer::start(&[]);
    eventually("every system has something done", || {
        let done = "SELECT (SELECT count(*) FROM claimtop_demo.executor_jobs WHERE status = 'succeeded') * 
                      (SELECT count(*) FROM claimtop_demo.tasks WHERE status = 'completed') *
                      (SELECT count(*) FROM claimtop_demo.tasker_tasks WHERE complete)";
        (demo.number(done) > 0).then_some(())
    });
    eventually("a worker hangs or has crashed, and that is seen", || {
        let found = demo.check();
        assert_eq!(found.len(), 3, "{found:#?}");
        found.iter().any(|source| source["claims"]["stale"].as_i64() > Some(0)).then_some(())
    });
    for pid in processes(&demo.folder) {
        let line = String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default())
            .into_owned();
        assert!(!line.contains("postgres"), "no address is on a command line: {line}");
    }
    demo.signal(Signal::TERM);
    let (status, said) = demo.end();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(said.contains("tasks done") && said.contains("workers started"), "{said}");
    // Not only soon: at once.
    assert!(!demo.has_schema() && !demo.folder.exists());
    demo.assert_nothing_is_left();
}

#[test]
fn it_ends_when_its_time_is_up_or_a_signal_comes() {
    let mut timed = OnServer::start(&["--for", "2s"]);
    let mut signalled: Vec<OnServer> = [Signal::HUP, Signal::INT]
        .into_iter()
        .map(|signal| {
            let demo = OnServer::start(&["--workers", "5"]);
            demo.signal(signal);
            demo
        })
        .collect();
    for demo in signalled.iter_mut().chain([&mut timed]) {
        assert_eq!(demo.end().0.code(), Some(0));
        demo.assert_nothing_is_left();
    }
}

#[test]
fn who_outlives_a_killed_demo_removes_its_schema_too() {
    let mut demo = OnServer::start(&["--workers", "5"]);
    eventually("workers are there", || (processes(&demo.folder).len() > 5).then_some(()));
    demo.signal(Signal::KILL);
    assert_eq!(demo.end().0.code(), None);
    demo.assert_nothing_is_left();
}

#[test]
fn a_schema_that_is_there_is_left_alone() {
    for (comment, words) in [
        ("NULL", "not created by a demo"),
        ("'claimtop demo of /tmp/x'", "DROP SCHEMA claimtop_demo CASCADE"),
    ] {
        let sql = format!(
            "CREATE SCHEMA claimtop_demo; COMMENT ON SCHEMA claimtop_demo IS {comment};
             CREATE TABLE claimtop_demo.tasks (a int)"
        );
        let database = PgDatabase::new(&sql);
        let around = tempfile::tempdir().unwrap();
        let output = command_on(&database, around.path(), &[]).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert!(stderr(&output).contains(words), "{words:?} in {}", stderr(&output));
        let columns = "SELECT count(*) FROM pg_attribute WHERE attrelid = 'claimtop_demo.tasks'::regclass AND attnum > 0";
        assert_eq!(database.value(columns).as_deref(), Some("1"));
        assert_eq!(fs::read_dir(around.path()).unwrap().count(), 0);
    }
}

#[test]
fn what_is_kept_can_be_looked_at_later() {
    let around = tempfile::tempdir().unwrap();
    let keep = around.path().join("fleet");
    let mut demo = OnServer::start(&["--for", "2s", "--workers", "5", "--keep", keep.to_str().unwrap()]);
    let (status, said) = demo.end();
    assert_eq!(status.code(), Some(0));
    assert!(said.contains("kept"), "{said}");
    eventually("no process is left", || processes(&demo.folder).is_empty().then_some(()));
    assert!(demo.has_schema());
    assert_eq!(demo.check().len(), 3);
}

#[test]
fn a_password_on_the_command_line_or_a_file_is_refused() {
    let around = tempfile::tempdir().unwrap();
    for (word, words) in [("postgres://ann:s3cret@db.example/app", "password"), ("tasks.db", "URL")] {
        let output = demo(around.path(), &["--postgres", word]).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        let said = stderr(&output);
        assert!(said.contains(words) && !said.contains("s3cret"), "{said}");
    }
    assert_eq!(fs::read_dir(around.path()).unwrap().count(), 0);
}

/// The tables that somebody has locked, or waits for, to remove them.
fn locked(demo: &OnServer, is_granted: bool) -> Vec<String> {
    let sql = format!(
        "SELECT c.oid::regclass::text FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
         WHERE l.mode = 'AccessExclusiveLock' AND l.granted = {is_granted} AND c.relkind = 'r'
           AND c.relnamespace = 'claimtop_demo'::regnamespace"
    );
    demo.database.query(&sql).into_iter().filter_map(|mut row| row.remove(0)).collect()
}

#[test]
fn a_deadlock_with_a_reader_does_not_keep_the_schema() {
    let mut demo = OnServer::start(&[]);
    // The one who removes the schema is to notice the deadlock, and not before there is one.
    demo.database.run(&format!("ALTER DATABASE {} SET deadlock_timeout = '5s'", demo.database.name()));
    let reader = demo.database.connect();
    reader.run("SET deadlock_timeout = '1h'; BEGIN; SELECT 1 FROM claimtop_demo.worker_heartbeats LIMIT 1");
    demo.signal(Signal::TERM);
    let next = eventually("the removal waits for the reader", || {
        locked(&demo, false).first()?;
        locked(&demo, true).pop()
    });
    reader.run(&format!("SELECT 1 FROM {next} LIMIT 1; COMMIT"));
    let (status, said) = demo.end();
    assert_eq!(status.code(), Some(0), "{said}");
    demo.assert_nothing_is_left();
}
