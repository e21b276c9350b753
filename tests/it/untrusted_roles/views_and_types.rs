//! Tables, views and types that wait for somebody to read or change them.

use super::*;

/// The columns of a job.
const COLUMNS: &str = "id int PRIMARY KEY, type text, status text, locked_at timestamptz, locked_by text,
    heartbeat_at timestamptz, attempts int, last_error text, run_at timestamptz, updated_at timestamptz";

const JOB: &str = "(1, 'run_tsa', 'running', now() - interval '1 hour', 'w')";

/// A trigger of mallory's on one of her tables.
fn trigger_on(table: &str) -> String {
    format!(
        "CREATE OR REPLACE FUNCTION public.springs() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN PERFORM public.hostile('trigger'); RETURN NEW; END $$;
         CREATE TRIGGER springs BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION public.springs();"
    )
}

fn looks(fleet: &Fleet, role: &str) {
    for arguments in [
        &["check", "DB"][..],
        &["list", "--json", "DB"],
        &["list", "--json", "--history", "DB"],
        &["doctor", "DB"],
        &["profile", "detect", "DB"],
        &["sweep", "--once", "DB"],
        &["reclaim", "DB", "1"],
    ] {
        fleet.run(role, arguments);
        fleet.is_unharmed(&format!("{role}: {arguments:?}"));
    }
}

#[test]
fn a_view_is_not_read_unless_somebody_names_the_profile() {
    let fleet = Fleet::empty();
    fleet.mallory(&format!(
        "{WITNESS} CREATE VIEW executor_jobs AS SELECT 1 AS id, 'run_tsa'::text AS type, 'running'::text AS status,
           now() - interval '1 hour' AS locked_at, 'w'::text AS locked_by, NULL::timestamptz AS heartbeat_at
           WHERE public.hostile('view');
         CREATE VIEW tasks AS SELECT 1 AS id, 1 AS task_type_id, 'w' AS worker_id, now() AS claimed_at
           WHERE public.hostile('view');
         GRANT SELECT ON executor_jobs, tasks TO PUBLIC"
    ));
    for role in ["bob", USER] {
        let said = fleet.ends(role, 3, &["check", "DB"]);
        assert!(said.contains("executor_jobs is a view") && said.contains("--profile"), "{said}");
        looks(&fleet, role);
    }
    // Whoever names it means it.
    fleet.ends(USER, 2, &["check", "--profile", "executor-jobs", "DB"]);
    assert!(fleet.server.log().contains("HOSTILE view"));
}

#[test]
fn a_config_that_names_the_profile_may_read_a_view() {
    let fleet = Fleet::empty();
    fleet.boss(&format!(
        "CREATE TABLE jobs ({COLUMNS}); INSERT INTO jobs VALUES {JOB}; CREATE VIEW executor_jobs AS SELECT * FROM jobs"
    ));
    let url = fleet.server.url_as(USER, "fleet");
    let config = fleet.state.path().join("config.toml");
    let text = format!("[source.jobs]\nat = '{url}'\nprofiles = ['executor-jobs']\n");
    std::fs::write(&config, text).expect("the config");
    let config = config.to_str().expect("UTF-8");
    fleet.ends(USER, 2, &["check", "--config", config, "jobs"]);
    fleet.ends(USER, 3, &["check", "DB"]);
}

#[test]
fn a_foreign_table_is_not_read_and_neither_is_a_part_of_one() {
    let fleet = Fleet::empty();
    fleet.boss(
        "CREATE EXTENSION postgres_fdw; CREATE SERVER other FOREIGN DATA WRAPPER postgres_fdw;
         CREATE FOREIGN TABLE executor_jobs (id int, type text, status text, locked_at timestamptz, locked_by text,
           heartbeat_at timestamptz) SERVER other;
         CREATE TABLE tasks (id int, task_type_id int, worker_id text, claimed_at timestamptz, status text)
           PARTITION BY LIST (id);
         CREATE FOREIGN TABLE tasks_1 PARTITION OF tasks FOR VALUES IN (1) SERVER other",
    );
    let said = fleet.ends(USER, 3, &["check", "DB"]);
    assert!(said.contains("executor_jobs is a foreign table"), "{said}");
    assert!(said.contains("a part of it is the foreign table public.tasks_1"), "{said}");
}

#[test]
fn a_table_in_front_of_the_real_one_is_not_taken_for_it() {
    let fleet = Fleet::new();
    fleet.mallory(WITNESS);
    for role in ["bob", USER] {
        fleet.mallory(&format!(
            "CREATE SCHEMA {role}; CREATE TABLE {role}.executor_jobs ({COLUMNS});
             INSERT INTO {role}.executor_jobs VALUES {JOB}; GRANT USAGE ON SCHEMA {role} TO PUBLIC;
             GRANT ALL ON {role}.executor_jobs TO PUBLIC; {}",
            trigger_on(&format!("{role}.executor_jobs"))
        ));
        let said = fleet.ends(role, 3, &["check", "DB"]);
        assert!(said.contains(&format!("executor_jobs is in the schemas {role} and public")), "{said}");
        looks(&fleet, role);
        fleet.run(role, &["reclaim", "DB", "1", "--profile", "executor-jobs"]);
        fleet.is_unharmed("reclaim with the profile named");
        // A path of one schema is clear.
        fleet.boss(&format!("ALTER ROLE {role} SET search_path = public"));
        let said = fleet.ends(role, 2, &["check", "--json", "DB"]);
        assert!(said.contains("executor-jobs"), "{said}");
        fleet.is_unharmed("check by another path");
    }
    fleet.log_shows_hostile_code();
}

#[test]
fn a_policy_or_a_type_that_runs_code_keeps_a_table_from_being_read() {
    let fleet = Fleet::empty();
    fleet.mallory(&format!(
        "{WITNESS} CREATE TABLE executor_jobs ({COLUMNS}); INSERT INTO executor_jobs VALUES {JOB};
         CREATE POLICY looks ON executor_jobs USING (public.hostile('policy'));
         ALTER TABLE executor_jobs ENABLE ROW LEVEL SECURITY; GRANT SELECT, UPDATE ON executor_jobs TO PUBLIC"
    ));
    let said = fleet.ends("bob", 3, &["check", "DB"]);
    assert!(said.contains("row-level security calls function"), "{said}");
    looks(&fleet, "bob");
    fleet.mallory(&format!(
        "DROP TABLE executor_jobs; CREATE TYPE mood AS ENUM ('running');
         CREATE FUNCTION public.of_mood(mood) RETURNS text LANGUAGE plpgsql AS
           $$ BEGIN PERFORM public.hostile('cast'); RETURN 'running'; END $$;
         CREATE CAST (mood AS text) WITH FUNCTION public.of_mood(mood) AS IMPLICIT;
         CREATE TABLE executor_jobs ({}); INSERT INTO executor_jobs VALUES {JOB}; GRANT ALL ON executor_jobs TO PUBLIC",
        COLUMNS.replace("status text", "status mood")
    ));
    for role in ["bob", USER] {
        let said = fleet.ends(role, 3, &["check", "DB"]);
        assert!(said.contains("is turned into other types by"), "{said}");
        looks(&fleet, role);
    }
    fleet.log_shows_hostile_code();
}

#[test]
fn a_table_of_records_that_somebody_else_put_there_is_not_used() {
    let fleet = Fleet::new();
    fleet.boss("DROP TABLE claimtop_audit");
    fleet.mallory(&format!(
        "{WITNESS} CREATE TABLE claimtop_audit (action_id text PRIMARY KEY, at text, record text);
         GRANT ALL ON claimtop_audit TO PUBLIC; {}",
        trigger_on("claimtop_audit")
    ));
    for (role, n) in [("bob", 1), (USER, 2)] {
        let id = format!("00000000-0000-0000-0000-{n:012}");
        fleet.ends(role, 0, &["reclaim", "DB", &id]);
        let said = fleet.ends(role, 2, &["check", "DB"]);
        assert!(said.contains("is not used for the records of acts: its owner mallory"), "{said}");
        let said = fleet.ends(role, 1, &["doctor", "DB"]);
        assert!(said.contains("is not used for the records of acts"), "{said}");
    }
    fleet.is_unharmed("acts beside it");
    let records = fleet.server.connect("fleet").value("SELECT count(*) FROM claimtop_audit");
    assert_eq!(records.as_deref(), Some("0"));
}

#[test]
fn a_cron_table_of_somebody_else_is_not_read() {
    let fleet = Fleet::new();
    fleet.mallory(&format!(
        "{WITNESS} CREATE SCHEMA cron; GRANT USAGE ON SCHEMA cron TO PUBLIC;
         CREATE VIEW cron.job AS SELECT 1 AS jobid, 'reclaim'::text AS command, '*'::text AS schedule, true AS active
           WHERE public.hostile('cron'); GRANT SELECT ON cron.job TO PUBLIC"
    ));
    for role in ["bob", USER] {
        fleet.run(role, &["doctor", "DB"]);
        fleet.is_unharmed("doctor");
    }
    fleet.log_shows_hostile_code();
}
