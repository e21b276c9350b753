//! A role that may create objects in `public` is no operator: nothing it creates runs with an operator's rights.
//!
//! The proof is the server's log: a hostile function writes a line into it, whoever runs it, also in a
//! transaction that only reads and is never committed.

mod profile_functions;
mod triggers;
mod views_and_types;

use crate::dashboard::pty::Start;
use crate::support::server::{Server, USER};
use crate::support::{command, figures};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Output, Stdio};
use tempfile::TempDir;

const JOBS: &str = include_str!("../../assets/schema/postgres/executor-jobs.sql");
const FINALIZATION: &str = include_str!("../../assets/schema/postgres/finalization.sql");
const TASK_QUEUE: &str = include_str!("../../assets/schema/postgres/task-queue.sql");
const AUDIT: &str = include_str!("../../assets/schema/postgres/audit.sql");
const ROLES: &str = include_str!("../../assets/schema/postgres/roles.sql");

/// The witness, callable by everybody.
const WITNESS: &str = "
    CREATE FUNCTION public.hostile(what text) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN RAISE LOG 'HOSTILE % as %', what, current_user; RETURN true; END $$;";

/// Functions that go by built-in names, some with the same arguments, most with better ones.
const FUNCTIONS: &str = "
    DO $$
    DECLARE name text; kind text;
    BEGIN
      FOREACH name IN ARRAY ARRAY['pg_typeof', 'quote_ident', 'lower', 'length', 'rtrim', 'md5', 'to_char', 'format_type',
        'has_schema_privilege', 'row_security_active', 'current_setting', 'timezone', 'date_part', 'text', 'coalesce'] LOOP
        FOREACH kind IN ARRAY ARRAY['boolean', 'varchar', 'name', 'oid', 'bigint', 'timestamptz', 'text'] LOOP
          EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS text LANGUAGE plpgsql AS %L', name, kind,
            format('BEGIN PERFORM public.hostile(%L); RETURN %L; END', name, 'x'));
        END LOOP;
      END LOOP;
      FOREACH name IN ARRAY ARRAY['now', 'clock_timestamp', 'pg_is_in_recovery', 'pg_current_xact_id', 'current_database'] LOOP
        EXECUTE format('CREATE FUNCTION public.%I() RETURNS timestamptz LANGUAGE plpgsql AS %L', name,
          format('BEGIN PERFORM public.hostile(%L); RETURN NULL; END', name));
      END LOOP;
    END $$;";

/// Every operator that SQL of ours could use, for every pair of types that is not built in, and more.
const OPERATORS: &str = "
    DO $$
    DECLARE
      kinds text[] := ARRAY['text', 'varchar', 'bpchar', 'name', 'bigint', 'integer', 'smallint', 'numeric', 'oid',
        'xid', 'tid', 'uuid', 'jsonb', 'timestamptz', 'timestamp', 'boolean', '\"char\"', 'text[]', 'int2[]'];
      one text; other text; sign text;
    BEGIN
      FOREACH one IN ARRAY kinds LOOP FOREACH other IN ARRAY kinds LOOP
        EXECUTE format('CREATE FUNCTION public.compares(%s, %s) RETURNS boolean LANGUAGE plpgsql AS %L', one, other,
          format('BEGIN RETURN public.hostile(%L); END', one || ' ? ' || other));
        EXECUTE format('CREATE FUNCTION public.joins(%s, %s) RETURNS text LANGUAGE plpgsql AS %L', one, other,
          format('BEGIN PERFORM public.hostile(%L); RETURN %L; END', one || ' + ' || other, 'x'));
        FOREACH sign IN ARRAY ARRAY['=', '<>', '<', '>', '<=', '>=', '~', '~~'] LOOP
          EXECUTE format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.compares)', sign, one, other);
        END LOOP;
        FOREACH sign IN ARRAY ARRAY['||', '->>', '+', '-', '*', '&'] LOOP
          EXECUTE format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.joins)', sign, one, other);
        END LOOP;
      END LOOP; END LOOP;
    END $$;";

/// A server with the three systems, an operator by the roles file, and `mallory`, who may create things.
struct Fleet {
    server: Server,
    state: TempDir,
}

impl Fleet {
    /// An operator, `bob`, and mallory's rights; no tables yet.
    fn empty() -> Fleet {
        let server = Server::start();
        server.create_database("fleet", "CREATE ROLE mallory LOGIN; CREATE ROLE bob LOGIN");
        server
            .connect("fleet")
            .run("GRANT CREATE ON SCHEMA public TO mallory; GRANT CREATE ON DATABASE fleet TO mallory");
        Fleet { server, state: tempfile::tempdir().expect("a folder") }
    }

    fn new() -> Fleet {
        let fleet = Fleet::empty();
        for part in [JOBS, FINALIZATION, TASK_QUEUE, AUDIT, ROLES] {
            fleet.boss(&format!("BEGIN; {part} COMMIT;"));
        }
        fleet.boss(
            "GRANT claimtop_operator TO bob;
             INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, attempts)
               SELECT format('00000000-0000-0000-0000-%s', lpad(n::text, 12, '0'))::uuid, 'run_tsa', 'running',
                 now() - interval '1 hour', 'w', 1 FROM generate_series(1, 12) n;
             INSERT INTO tasker_tasks (task_uuid, claimed_by, claimed_at)
               VALUES ('00000000-0000-0000-0000-000000000099', 'p', (now() - interval '1 hour') AT TIME ZONE 'utc');
             INSERT INTO task_types (name) VALUES ('t');
             INSERT INTO worker_heartbeats (worker_id, last_seen_at) VALUES ('w', now() - interval '1 hour');
             INSERT INTO tasks (task_type_id, status, worker_id, claimed_at, attempts)
               VALUES (1, 'claimed', 'w', now() - interval '1 hour', 1), (1, 'failed', NULL, NULL, 3);",
        );
        fleet
    }

    fn boss(&self, sql: &str) {
        self.server.connect("fleet").run(sql);
    }

    fn mallory(&self, sql: &str) {
        self.server.connect_as("mallory", "fleet").run(sql);
    }

    /// claimtop as a role; the word DB stands for the source.
    fn run(&self, role: &str, arguments: &[&str]) -> Output {
        let url = self.server.url_as(role, "fleet");
        let mut command = command(&[]);
        command.args(arguments.iter().map(|word| if *word == "DB" { url.as_str() } else { word }));
        command.env("XDG_STATE_HOME", self.state.path()).stdin(Stdio::null()).output().expect("claimtop runs")
    }

    /// The same, with the exit code it must end with.
    #[track_caller]
    fn ends(&self, role: &str, code: i32, arguments: &[&str]) -> String {
        let output = self.run(role, arguments);
        let said = format!("{}{}", crate::support::stdout(&output), crate::support::stderr(&output));
        assert_eq!(output.status.code(), Some(code), "{role}: {arguments:?}: {said}");
        said
    }

    /// Nothing hostile ran since the server was started.
    #[track_caller]
    fn is_unharmed(&self, after: &str) {
        let log = self.server.log();
        let lines: Vec<&str> = log.lines().filter(|line| line.contains("HOSTILE")).take(5).collect();
        assert!(lines.is_empty(), "{after}: {lines:#?}");
    }

    /// The log would show it.
    #[track_caller]
    fn log_shows_hostile_code(&self) {
        self.boss("SELECT public.hostile('on purpose')");
        assert!(self.server.log().contains(&format!("HOSTILE on purpose as {USER}")));
    }
}

/// An id out of a run with `--json`.
fn action_of(said: &str) -> String {
    let first = said.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{said}"));
    let object: serde_json::Value = serde_json::from_str(first).expect("JSON");
    object["action_id"].as_str().unwrap_or_else(|| panic!("{said}")).to_owned()
}

/// Every verb, by somebody who may act.
fn every_verb(fleet: &Fleet, role: &str, first: u32) {
    let id = |n: u32| format!("00000000-0000-0000-0000-{:012}", first + n);
    fleet.boss(
        "SET search_path = pg_catalog; UPDATE public.executor_jobs SET status = 'running', attempts = 1, locked_by = 'w',
           locked_at = now() - interval '1 hour'",
    );
    let look = |arguments: &[&str]| {
        let output = fleet.run(role, arguments);
        assert!(output.status.code().is_some_and(|code| code <= 2), "{role} {arguments:?}: {output:?}");
        fleet.is_unharmed(&format!("{role}: {arguments:?}"));
    };
    look(&["check", "DB"]);
    look(&["check", "--json", "--exact", "DB"]);
    look(&["--read-only", "check", "DB"]);
    look(&["list", "DB"]);
    look(&["list", "--json", "--history", "DB"]);
    look(&["list", "--json", "--holder", "w", "DB"]);
    look(&["doctor", "DB"]);
    look(&["profile", "detect", "DB"]);
    look(&["profile", "check", "task-queue", "DB"]);
    let said = fleet.ends(role, 0, &["reclaim", "DB", &id(0), "--json"]);
    fleet.is_unharmed("reclaim");
    fleet.ends(role, 0, &["undo", "DB", &action_of(&said), "--json"]);
    fleet.is_unharmed("undo");
    fleet.ends(role, 0, &["reclaim", "DB", "task-queue/task/1", "--profile", "task-queue", "--dry-run"]);
    fleet.ends(role, 0, &["extend", "DB", &id(1), "--json"]);
    fleet.ends(role, 0, &["release", "DB", &id(2), "--json"]);
    fleet.ends(role, 0, &["requeue", "DB", "task-queue/task/2", "--profile", "task-queue", "--dry-run"]);
    fleet.is_unharmed("single acts");
    let bulk = ["reclaim", "DB", "--set", "stale", "--board", "job", "--limit", "2", "--yes", "--json"];
    fleet.ends(role, 0, &bulk);
    fleet.is_unharmed("bulk");
    fleet.run(role, &["sweep", "--once", "--json", "DB"]);
    fleet.is_unharmed("sweep");
    let session = ["release", "DB", "--session", "w", "--profile", "task-queue", "--dry-run"];
    fleet.run(role, &session);
    fleet.is_unharmed("session");
}

#[test]
fn nothing_that_another_role_creates_runs_whatever_an_operator_does() {
    let fleet = Fleet::new();
    fleet.mallory(&format!("{WITNESS} {FUNCTIONS} {OPERATORS}"));
    every_verb(&fleet, "bob", 1);
    every_verb(&fleet, USER, 6);
    fleet.log_shows_hostile_code();
    let operators = fleet.server.connect("fleet").value(
        "SELECT pg_catalog.count(*) FROM pg_catalog.pg_operator WHERE oprnamespace OPERATOR(pg_catalog.=) 'public'::regnamespace",
    );
    let operators = operators.and_then(|count| count.parse().ok()).expect("a count");
    figures::promise(
        "On PostgreSQL no operator or function of another role runs with the operator's rights.",
        operators,
        0,
    );
}

#[test]
fn nothing_of_it_runs_in_serve_and_on_the_dashboard_either() {
    let fleet = Fleet::new();
    fleet.mallory(&format!("{WITNESS} {FUNCTIONS} {OPERATORS}"));
    for role in ["bob", USER] {
        let url = fleet.server.url_as(role, "fleet");
        serve_until_read(&url);
        fleet.is_unharmed("serve");
        let state = fleet.state.path().join(role);
        let mut screen = Start::claimtop(&state).folder(fleet.state.path()).with(&url).run();
        screen.wait("LIVE 1");
        screen.press("2", "000000000001");
        screen.press("4", "PROCESS");
        screen.press("5", "WAITS SINCE");
        screen.press("1", "Expiring");
        screen.quit();
        fleet.is_unharmed("the dashboard");
    }
    fleet.log_shows_hostile_code();
}

#[test]
fn init_makes_no_tables_beside_what_could_be_taken_for_something_built_in() {
    let fleet = Fleet::empty();
    fleet.mallory(&format!("{WITNESS} {FUNCTIONS} {OPERATORS}"));
    let said = fleet.ends(USER, 3, &["init", "DB", "--system", "all"]);
    assert!(said.contains("could be taken for a built-in one"), "{said}");
    fleet.is_unharmed("init");
    fleet.boss("CREATE SCHEMA jobs; ALTER ROLE claimtop SET search_path = jobs");
    fleet.ends(USER, 0, &["init", "DB", "--system", "all"]);
    fleet.is_unharmed("init in a schema of its own");
    fleet.log_shows_hostile_code();
}

/// Serves until the figures of the source are there.
fn serve_until_read(url: &str) {
    let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--every", "100ms", url]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("claimtop starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let first = lines.next().expect("a line").expect("UTF-8");
    let address = first.strip_prefix("serving http://").and_then(|rest| rest.strip_suffix("/metrics"));
    let address = address.unwrap_or_else(|| panic!("{first}")).to_owned();
    crate::support::server::until("the figures", || {
        let mut stream = TcpStream::connect(&address).expect("a connection");
        stream.write_all(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n").expect("sent");
        let mut told = String::new();
        stream.read_to_string(&mut told).expect("an answer");
        told.contains("claimtop_claims{")
    });
    child.kill().expect("it ends");
    child.wait().expect("it is gone");
}

#[test]
fn a_superuser_is_told_once_and_pointed_to_the_roles() {
    let fleet = Fleet::new();
    let url = fleet.server.url_as(USER, "fleet");
    // Where a person looks, on standard error, whatever the verb and however many sources.
    for words in [&["check", url.as_str(), url.as_str()][..], &["list", url.as_str()]] {
        let state = fleet.state.path().join(words[0]);
        let start = Start::claimtop(&state).size(240, 60);
        let mut screen = words.iter().fold(start, |start, word| start.with(word)).run();
        let shown = screen.wait("assets/schema/postgres/roles.sql");
        screen.end();
        assert_eq!(shown.matches("connected as a superuser").count(), 1, "{shown}");
    }
    // Elsewhere it is one of the notes of a check.
    let told = |role: &str| {
        let output = fleet.run(role, &["check", "--json", "DB"]);
        assert_eq!(crate::support::stderr(&output), "");
        crate::support::stdout(&output).contains("connected as a superuser")
    };
    assert_eq!((told(USER), told("bob")), (true, false));
    let mut screen = Start::claimtop(&fleet.state.path().join("s")).size(240, 40).with(&url).run();
    screen.wait("connected as a superuser");
    screen.keys("q");
    screen.end();
}
