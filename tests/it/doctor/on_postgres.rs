//! The doctor on PostgreSQL: the server, its load, and what our role may do there.

use super::Practice;
use crate::support::postgres::PgDatabase;
use crate::support::server::{Server, until};
use std::path::Path;

const JOBS: &str = include_str!("../../../assets/schema/postgres/executor-jobs.sql");
const AUDIT: &str = include_str!("../../../assets/schema/postgres/audit.sql");
const ROLES: &str = include_str!("../../../assets/schema/postgres/roles.sql");

const HEALTHY: &str = "INSERT INTO executor_jobs (type, status, locked_by, locked_at, heartbeat_at)
    VALUES ('run_tsa', 'running', 'worker-1', now(), now());";

/// Jobs, and a login that is given these parts of the script of roles, or a grant.
struct Clinic {
    database: PgDatabase,
    login: String,
    practice: Practice,
}

impl Clinic {
    fn new(grants: &str) -> Clinic {
        let database = PgDatabase::new(&format!("BEGIN; {JOBS} {AUDIT} {ROLES} {HEALTHY} COMMIT;"));
        let login = format!("{}_login", database.name());
        database.run(&format!("CREATE ROLE {login} LOGIN; {}", grants.replace("LOGIN", &login)));
        Clinic { database, login, practice: Practice::new() }
    }

    fn examine(&self, options: &[&str]) -> super::Findings {
        self.at(&self.database.url_as(&self.login), options)
    }

    fn at(&self, url: &str, options: &[&str]) -> super::Findings {
        examined(&self.practice, url, options)
    }
}

pub(super) fn examined(practice: &Practice, url: &str, options: &[&str]) -> super::Findings {
    let mut command = practice.command(&["doctor", "--json"]);
    let output = command.args(options).arg(Path::new(url)).output().expect("claimtop runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let object = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr)));
    super::Findings { object, code: output.status.code().expect("an exit code") }
}

impl Drop for Clinic {
    fn drop(&mut self) {
        let _ = self.database.attempt(&format!("DROP OWNED BY {0}; DROP ROLE {0}", self.login));
    }
}

#[test]
fn an_operator_on_the_reference_tables_gets_only_ticks() {
    let clinic = Clinic::new("GRANT claimtop_operator TO LOGIN;");
    let findings = clinic.examine(&[]);
    assert!(findings.checks().iter().all(|check| check["state"] == "ok"), "{:#}", findings.object);
    assert_eq!((findings.code, findings.object["engine"].as_str()), (0, Some("postgres")));
    for name in [
        "reachable",
        "postgres",
        "server clock",
        "zone",
        "profile",
        "queries",
        "indexes",
        "counts",
        "times",
        "clock",
        "sweeping",
        "row security",
        "vacuum",
        "transactions",
        "audit table",
        "acting",
        "least rights",
        "trail",
    ] {
        findings.expect(name, "ok", "", "");
    }
}

#[test]
fn a_watcher_cannot_act_and_is_told_which_grant_is_missing() {
    let clinic = Clinic::new("GRANT claimtop_watcher TO LOGIN;");
    let findings = clinic.examine(&[]);
    findings.expect("acting", "failed", "UPDATE", "GRANT UPDATE (");
    findings.expect("audit table", "failed", "may not add", "GRANT INSERT");
    assert_eq!(findings.code, 2);
    let findings = clinic.examine(&["--read-only"]);
    findings.expect("acting", "warning", "read-only", "--read-only");
}

#[test]
fn a_role_that_could_write_more_than_acts_need_is_named() {
    let clinic = Clinic::new(
        "GRANT ALL ON executor_jobs, claimtop_audit TO LOGIN; GRANT USAGE ON SCHEMA public TO LOGIN;",
    );
    let findings = clinic.examine(&[]);
    findings.expect("least rights", "warning", "TRUNCATE", "roles.sql");
    findings.expect("least rights", "warning", "UPDATE of", "roles.sql");
    let findings = clinic.at(&clinic.database.url(), &[]);
    findings.expect("least rights", "warning", "superuser", "roles.sql");
    assert_eq!(findings.code, 1);
}

#[test]
fn hidden_rows_a_missing_index_idle_vacuum_and_a_cron_job_that_is_off_are_found() {
    let clinic = Clinic::new("GRANT claimtop_operator TO LOGIN;");
    clinic.database.run(
        "ALTER TABLE executor_jobs ENABLE ROW LEVEL SECURITY;
         DROP INDEX executor_jobs_reclaim_idx; DROP INDEX executor_jobs_status_idx;
         DROP INDEX executor_jobs_claim_idx;
         ALTER TABLE executor_jobs SET (autovacuum_enabled = false);
         CREATE SCHEMA cron; GRANT USAGE ON SCHEMA cron TO PUBLIC;
         CREATE TABLE cron.job (jobid int, schedule text, command text, active bool); GRANT SELECT ON cron.job TO PUBLIC;
         INSERT INTO cron.job VALUES (1, '30 seconds', 'SELECT reclaim_stale_jobs()', false);",
    );
    let findings = clinic.examine(&[]);
    findings.expect("row security", "failed", "executor_jobs", "BYPASSRLS");
    findings.expect("indexes", "warning", "executor_jobs", "CREATE INDEX CONCURRENTLY ON");
    findings.expect("vacuum", "warning", "autovacuum is off", "RESET");
    findings.expect("cron", "warning", "switched off", "alter_job");
    assert_eq!(findings.code, 2);
    clinic.database.run("UPDATE cron.job SET active = true");
    clinic.examine(&[]).expect("cron", "ok", "30 seconds", "");
    clinic.database.run("DELETE FROM cron.job");
    clinic.examine(&[]).expect("cron", "warning", "no job of it looks like a cleanup", "sweep");
    // The specification's own wrappers clean up before they wake the workers.
    clinic.database.run(
        "CREATE FUNCTION process_orchestrator_jobs() RETURNS void LANGUAGE plpgsql AS
           $$ BEGIN PERFORM reclaim_stale_jobs(); END $$;
         INSERT INTO cron.job VALUES (2, '30 seconds', 'SELECT process_orchestrator_jobs()', true);",
    );
    clinic.examine(&[]).expect("cron", "ok", "process_orchestrator_jobs", "");
}

#[test]
fn a_recovery_of_the_system_that_goes_by_other_rules_is_compared_line_by_line() {
    let clinic = Clinic::new("GRANT claimtop_operator TO LOGIN;");
    clinic.examine(&[]).expect("recovery", "ok", "the same rules", "");
    // What the running system ships since its migration 20260131000900.
    clinic.database.run(
        "CREATE OR REPLACE FUNCTION reclaim_stale_jobs() RETURNS jsonb LANGUAGE plpgsql AS $$
         DECLARE j record; v_next int;
         BEGIN
           FOR j IN SELECT e.*, CASE e.type WHEN 'protect_document_v2' THEN 5 WHEN 'document.protected' THEN 5
               WHEN 'run_tsa' THEN 60 WHEN 'submit_anchor_polygon' THEN 120 WHEN 'submit_anchor_bitcoin' THEN 120
               WHEN 'build_artifact' THEN 15 END AS ttl FROM executor_jobs e WHERE status = 'running' LOOP
             v_next := j.attempts + 1;
             IF v_next >= j.max_attempts THEN UPDATE executor_jobs SET status = 'dead' WHERE id = j.id; END IF;
           END LOOP;
           RETURN '{}'::jsonb;
         END $$;",
    );
    let findings = clinic.examine(&[]);
    let said: Vec<String> = findings
        .checks()
        .iter()
        .filter(|check| check["name"] == "recovery")
        .map(|check| format!("{} {}", check["said"], check["fix"]))
        .collect();
    for words in [
        "run_tsa may take 1h by reclaim_stale_jobs(), here 30m",
        "board.job.kind.run_tsa.ttl",
        "submit_anchor_polygon may take 2h",
        "submit_anchor_bitcoin may take 2h",
        "attempts + 1 >= maximum by reclaim_stale_jobs(), here when attempts >= maximum",
    ] {
        assert!(said.iter().any(|line| line.contains(words)), "{words} in {said:#?}");
    }
    assert_eq!(said.len(), 4, "{said:#?}");
    let page = crate::support::stdout(&clinic.database.claimtop(&["check"]));
    let mentions = page.lines().filter(|line| line.contains("differs in 4 points")).count();
    assert_eq!(mentions, 1, "{page}");
}

#[test]
fn a_server_that_is_not_there_is_exit_code_3() {
    let clinic = Clinic::new("");
    let findings = clinic.at("postgres://ann@127.0.0.1:1/app", &[]);
    findings.expect("reachable", "failed", "cannot be reached", "");
    assert_eq!(findings.code, 3);
}

#[test]
fn a_transaction_that_stays_open_and_the_dead_rows_it_keeps_are_found() {
    let (practice, server) = (Practice::new(), Server::start());
    server.create_database("jobs", &format!("BEGIN; {JOBS} {HEALTHY} COMMIT;"));
    let forgotten = server.connect("jobs");
    forgotten.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM executor_jobs");
    let pid = forgotten.value("SELECT pg_backend_pid()").expect("a process");
    let url = server.url("jobs");
    let findings = examined(&practice, &url, &[]);
    findings.expect("transactions", "ok", "older than 10 minutes", "");
    findings.expect("vacuum", "ok", "keeps up", "");
    // A quarter of an hour later.
    let later = forgotten.value("SELECT extract(epoch FROM now() + interval '15 minutes')::bigint * 1000");
    let findings = examined(&practice, &url, &["--now", &later.expect("a time")]);
    let said = format!("1 older than 10 minutes; the oldest, of process {pid} (");
    findings.expect("transactions", "warning", &said, "pg_terminate_backend");
    // As long as it looks, no vacuum takes away what others change.
    let worker = server.connect("jobs");
    worker.run("INSERT INTO executor_jobs (type) SELECT 'run_tsa' FROM generate_series(1, 6000)");
    for _ in 0..3 {
        worker.run("UPDATE executor_jobs SET attempts = attempts + 1");
    }
    drop(worker);
    until("the server to count dead rows", || {
        let dead = "SELECT n_dead_tup > 10000 FROM pg_stat_user_tables WHERE relname = 'executor_jobs'";
        server.connect("jobs").value(dead).as_deref() == Some("t")
    });
    examined(&practice, &url, &[]).expect("vacuum", "warning", "dead rows beside", "VACUUM");
    forgotten.run("COMMIT");
    server.connect("jobs").run("VACUUM executor_jobs");
    until("vacuum to be told of", || {
        let dead = "SELECT n_dead_tup = 0 FROM pg_stat_user_tables WHERE relname = 'executor_jobs'";
        server.connect("jobs").value(dead).as_deref() == Some("t")
    });
    examined(&practice, &url, &[]).expect("vacuum", "ok", "keeps up", "");
}

#[test]
fn a_standby_is_said_to_be_one_on_which_every_act_is_refused() {
    let (practice, primary) = (Practice::new(), Server::start());
    primary.create_database("jobs", &format!("BEGIN; {JOBS} {HEALTHY} COMMIT;"));
    let standby = primary.standby();
    standby.catch_up_with(&primary);
    let findings = examined(&practice, &standby.url("jobs"), &[]);
    findings.expect("standby", "warning", "every act is refused here", "primary");
    let (_, said, _) = findings.check("standby");
    assert!(!said.contains(",  behind"), "{said}");
    let of_primary = examined(&practice, &primary.url("jobs"), &[]);
    assert!(of_primary.checks().iter().all(|check| check["name"] != "standby"), "{:#}", of_primary.object);
}
