//! What the SQL of a profile may use on a server.

use super::*;
use crate::support::postgres::PgDatabase;
use crate::support::{stderr, stdout};

const PROFILE: &str = "
title = 'Mine'
[[claim]]
name = 'job'
table = 'executor_jobs'
held = \"status = 'running'\"
id = 'id'
kind = 'type'
holder = 'locked_by'
claimed_at = 'locked_at'
time = 'timestamptz'
deadline = { otherwise = '5m' }
reclaim = { set = { status = \"'queued'\" } }
";

struct Author {
    database: PgDatabase,
    folder: TempDir,
}

impl Author {
    fn new() -> Author {
        let database = PgDatabase::new(JOBS);
        database.run(
            "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by) VALUES
               ('00000000-0000-0000-0000-000000000001', 'run_tsa', 'running', now() - interval '1 hour', 'w')",
        );
        Author { database, folder: tempfile::tempdir().expect("a folder") }
    }

    /// A check by the profile with another line; what it says and how it ends.
    fn check(&self, line: &str, allowed: &[&str]) -> (Option<i32>, String) {
        let key = line.split_once(" = ").expect("a line").0;
        let old = PROFILE.lines().find(|line| line.starts_with(&format!("{key} = ")));
        let text = match old {
            Some(old) => PROFILE.replace(old, line),
            None => format!("{PROFILE}{line}\n"),
        };
        let profile = self.folder.path().join("mine.toml");
        std::fs::write(&profile, text).expect("the profile");
        let config = self.folder.path().join("config.toml");
        let names: Vec<String> = allowed.iter().map(|name| format!("'{name}'")).collect();
        let source = format!(
            "[source.db]\nat = '{}'\nprofiles = ['{}']\nallow_functions = [{}]\n",
            self.database.url(),
            profile.display(),
            names.join(", ")
        );
        std::fs::write(&config, source).expect("the config");
        let output = command(&["check", "--config", config.to_str().expect("UTF-8"), "db"])
            .output()
            .expect("claimtop runs");
        (output.status.code(), format!("{}{}", stdout(&output), stderr(&output)))
    }
}

#[test]
fn functions_that_do_more_than_read_are_refused_and_named() {
    let author = Author::new();
    author.database.run("CREATE EXTENSION dblink");
    for (function, call) in [
        ("dblink_exec", "public.dblink_exec('x', 'y') = 'x'"),
        ("lo_export", "lo_export(1, '/tmp/x') = 1"),
        ("pg_notify", "pg_notify('a', 'b') IS NULL"),
        ("pg_reload_conf", "pg_reload_conf()"),
        ("pg_read_file", "pg_read_file('/etc/passwd') = ''"),
        ("pg_read_file", "PG_CATALOG.\\\"pg_read_file\\\"('/etc/passwd') = ''"),
        ("pg_terminate_backend", "pg_terminate_backend(1)"),
        ("set_config", "set_config('a.b', 'c', false) = ''"),
        ("nextval", "nextval('x') = 1"),
        ("lo_import", "lo_import('/etc/passwd') = 1"),
        ("pg_sleep", "pg_sleep(0) IS NULL"),
        ("pg_sleep", "(0.0::float8).pg_sleep IS NULL"),
        ("query_to_xml", "query_to_xml('SELECT 1', true, true, '') IS NULL"),
        ("table_to_xml", "table_to_xml('pg_class', true, true, '') IS NULL"),
        ("pg_advisory_lock", "pg_advisory_lock(1) IS NULL"),
        ("pg_sleep", "(ARRAY[1,2])[1:pg_sleep(0)::text::int] IS NULL"),
    ] {
        for line in [
            format!("held = \"{call}\""),
            format!("orphaned_when = \"{call}\""),
            format!("reclaim = {{ set = {{ status = \"CASE WHEN {call} THEN 'queued' END\" }} }}"),
            format!("release = {{ set = {{ status = \"'queued'\" }}, also = [\"SELECT {call}\"] }}"),
            format!("extend = {{ set = {{ status = \"'queued'\" }}, blocked_by = \"{call}\" }}"),
            format!("from = \"JOIN (SELECT {call} AS x) AS y ON true\""),
        ] {
            let (code, said) = author.check(&line, &[]);
            assert_eq!(code, Some(3), "{line}: {said}");
            assert!(said.contains("is refused") && said.contains(function), "{line}: {said}");
            assert!(said.contains("allow_functions"), "{line}: {said}");
        }
    }
}

#[test]
fn what_is_not_built_in_is_refused_until_the_config_allows_it_by_name() {
    let author = Author::new();
    author.database.run(
        "CREATE SCHEMA app;
         CREATE FUNCTION app.is_on(text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 = ''running''';",
    );
    let call = "held = \"app.is_on(c.status)\"";
    let (code, said) = author.check(call, &[]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("the function app.is_on is not built in"), "{said}");
    assert_eq!(author.check(call, &["app.is_on"]).0, Some(2));
    // Without its schema it is not found, whatever the config says.
    let (code, said) = author.check("held = \"is_on(c.status)\"", &["app.is_on", "is_on"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("allow_functions"), "{said}");
    let (code, said) = author.check("held = \"pg_sleep(0) IS NOT NULL\"", &["pg_sleep"]);
    assert_eq!(code, Some(2), "{said}");
}

#[test]
fn an_operator_of_a_schema_is_refused_until_it_is_allowed() {
    let author = Author::new();
    author.database.run(
        "CREATE FUNCTION public.same(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
         CREATE OPERATOR public.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = public.same)",
    );
    let line = "held = \"c.status OPERATOR(public.===) 'x'\"";
    let (code, said) = author.check(line, &[]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("the operator public.=== is not built in"), "{said}");
    assert_eq!(author.check(line, &["public.==="]).0, Some(2));
    let (code, _) = author.check("held = \"c.status === 'x'\"", &["public.==="]);
    assert_eq!(code, Some(3));
}

#[test]
fn harmless_functions_tables_of_the_path_enums_and_domains_work() {
    let author = Author::new();
    author.database.run(
        "CREATE TYPE state AS ENUM ('on', 'off'); CREATE DOMAIN short AS text CHECK (length(VALUE) < 10);
         CREATE TABLE more (job uuid, state state, label short);
         INSERT INTO more VALUES ('00000000-0000-0000-0000-000000000001', 'on', 'x')",
    );
    for held in [
        "c.locked_at < clock_timestamp() AND c.locked_at < now()",
        "EXISTS (SELECT 1 FROM more m WHERE m.job = c.id AND m.state = 'on')",
        "EXISTS (SELECT 1 FROM more m WHERE m.job = c.id AND m.state = 'on'::state AND m.label = 'x'::short)",
        "EXISTS (SELECT 1 FROM more m WHERE m.job = c.id AND m.state IN ('on', 'off') AND m.state < 'off')",
        "EXISTS (SELECT 1 FROM public.more WHERE more.job = c.id AND CAST('on' AS public.state) = more.state)",
        "NOT EXISTS (SELECT 1 FROM pg_locks k WHERE k.locktype = 'no such')",
        "c.status || c.attempts <> '' AND extract(epoch FROM c.locked_at) > 0",
    ] {
        let (code, said) = author.check(&format!("held = \"{held}\""), &[]);
        assert_eq!(code, Some(2), "{held}: {said}");
    }
    let (code, said) = author.check("from = \"JOIN more m ON m.job = c.id\"", &[]);
    assert_eq!(code, Some(2), "{said}");
}

#[test]
fn citext_holders_are_compared_as_the_type_does() {
    let database = PgDatabase::new(
        "CREATE EXTENSION citext;
         CREATE TABLE jobs (id int PRIMARY KEY, who citext, at timestamptz);
         CREATE TABLE workers (name citext PRIMARY KEY, seen timestamptz);
         INSERT INTO jobs VALUES (1, 'Worker-A', now()); INSERT INTO workers VALUES ('worker-a', now())",
    );
    let folder = tempfile::tempdir().expect("a folder");
    let profile = folder.path().join("mine.toml");
    let text = "title = 'Mine'\n[[claim]]\nname = 'job'\ntable = 'jobs'\nid = 'id'\nholder = 'who'\nclaimed_at = 'at'\n\
        time = 'timestamptz'\ndeadline = { otherwise = '1h' }\nrelease = { delete = true }\n\
        [claim.session]\ntable = 'workers'\nid = 'name'\nbeat_at = 'seen'\ntime = 'timestamptz'\n";
    std::fs::write(&profile, text).expect("the profile");
    let profile = profile.to_str().expect("UTF-8");
    let output = database.claimtop(&["check", "--json", "--profile", profile]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let mut release = command(&["release", &database.url(), "1", "--profile", profile, "--json"]);
    let output = release
        .args(["--force", "--holder", "Worker-A", "--reason", "a test"])
        .env("XDG_STATE_HOME", folder.path())
        .output()
        .expect("claimtop runs");
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
}
