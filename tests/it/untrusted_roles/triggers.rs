//! Triggers of the application find their tables, unless the search path is open to others.

use super::*;

/// A trigger that names its log without a schema, as most do.
const LOGS: &str = "
    CREATE TABLE public.job_events (job uuid, what text);
    CREATE FUNCTION public.log_job() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO job_events VALUES (NEW.id, 'attempt ' || NEW.attempts::bigint); RETURN NEW; END $$;
    CREATE TRIGGER log_job AFTER UPDATE ON public.executor_jobs FOR EACH ROW EXECUTE FUNCTION public.log_job();
    GRANT INSERT, SELECT ON public.job_events TO PUBLIC;";

const JOB: &str = "00000000-0000-0000-0000-000000000001";

#[test]
fn a_trigger_finds_its_tables_where_only_owners_create_things() {
    let fleet = Fleet::new();
    fleet.boss(&format!("REVOKE CREATE ON SCHEMA public FROM mallory; {LOGS}"));
    for role in ["bob", USER] {
        let said = fleet.ends(role, 0, &["reclaim", "DB", JOB, "--json"]);
        fleet.ends(role, 0, &["undo", "DB", &action_of(&said), "--json"]);
    }
    let events = fleet.server.connect("fleet").value("SELECT count(*) FROM job_events");
    assert_eq!(events.as_deref(), Some("4"));
    let bulk = ["reclaim", "DB", "--set", "stale", "--board", "job", "--limit", "3", "--yes", "--json"];
    fleet.ends("bob", 0, &bulk);
}

#[test]
fn a_trigger_sees_no_schema_in_which_others_create_things() {
    let fleet = Fleet::new();
    fleet.boss(LOGS);
    fleet.mallory(&format!("{WITNESS} {OPERATORS}"));
    for role in ["bob", USER] {
        let said = fleet.ends(role, 3, &["reclaim", "DB", JOB, "--json"]);
        assert!(said.contains("job_events") && said.contains("do not see the schemas public"), "{said}");
        assert!(said.contains("REVOKE CREATE"), "{said}");
        fleet.is_unharmed("an act with a trigger");
    }
    // What was created before stays there after the right is gone.
    fleet.boss("REVOKE CREATE ON SCHEMA public FROM mallory");
    fleet.ends("bob", 3, &["reclaim", "DB", JOB, "--json"]);
    fleet.is_unharmed("an act after the right is gone");
    // A path of its own makes the trigger safe, and it works again.
    fleet.boss(
        "CREATE SCHEMA app; ALTER TABLE job_events SET SCHEMA app; GRANT USAGE ON SCHEMA app TO PUBLIC;
         ALTER FUNCTION log_job() SET search_path = pg_catalog, app",
    );
    fleet.ends("bob", 0, &["reclaim", "DB", JOB, "--json"]);
    fleet.is_unharmed("an act with a safe trigger");
    fleet.log_shows_hostile_code();
}
