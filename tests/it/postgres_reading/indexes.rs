//! What a look reads: by an index only the claims; without one everything, and then it says which is missed.

use super::*;
use crate::support::server::until;

const ROWS: u64 = 200_000;
const CLAIMS: u64 = 400;

/// The table of executor-jobs with a history of finished jobs, and a few that run: some of them too long.
fn with_history() -> PgDatabase {
    let database = PgDatabase::new(JOBS);
    database.run(&format!(
        "ALTER TABLE executor_jobs SET (autovacuum_enabled = false);
         INSERT INTO executor_jobs (type, status, locked_at, locked_by, heartbeat_at, run_at, updated_at)
           SELECT 'run_tsa', 'succeeded', NULL, NULL, NULL, timestamptz '2026-11-01 12:00:00+00', '2026-11-01'
           FROM generate_series(1, {ROWS});
         INSERT INTO executor_jobs (type, status, locked_at, locked_by, heartbeat_at)
           SELECT 'run_tsa', 'running', timestamptz '2026-11-15 12:00:00+00' - interval '1 minute' * (n % 40), 'w1', NULL
           FROM generate_series(1, {CLAIMS}) n;
         ANALYZE executor_jobs"
    ));
    database
}

/// Rows of a table that whatever is done reads: one after the other, and by an index.
fn read(database: &PgDatabase, table: &str, look: impl FnOnce()) -> (u64, u64) {
    // A connection that has ended has told all it read.
    let others = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
         AND backend_type = 'client backend'";
    let sql = format!(
        "SELECT seq_tup_read, coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables WHERE relname = '{table}'"
    );
    let so_far = || {
        until("all connections to end", || database.query(others).is_empty());
        // This one has not ended, and would tell about its own reading whenever it has the time.
        database.query("SELECT pg_stat_force_next_flush()");
        let row = database.query(&sql).remove(0);
        let number = |at: usize| row[at].as_ref().expect("a number").parse::<u64>().expect("a number");
        (number(0), number(1))
    };
    let before = so_far();
    look();
    let after = so_far();
    (after.0 - before.0, after.1 - before.1)
}

fn missing(database: &PgDatabase) -> Vec<String> {
    let (source, _) = database.check();
    let missing = source["boards"]["job"]["missing_indexes"].as_array().cloned().unwrap_or_default();
    missing.iter().map(|ddl| ddl.as_str().expect("a statement").to_owned()).collect()
}

#[test]
fn a_look_names_the_index_that_it_lacks_and_is_content_with_it() {
    let database = with_history();
    let ddl = missing(&database);
    assert_eq!(ddl.len(), 1, "{ddl:?}");
    assert!(
        ddl[0]
            .starts_with("CREATE INDEX CONCURRENTLY ON \"public\".\"executor_jobs\" (\"locked_at\") WHERE ")
    );
    let text =
        String::from_utf8(database.claimtop(&["check", "--now", "1794744000000"]).stdout).expect("UTF-8");
    assert!(text.contains(&format!("this index would help: {}", ddl[0])), "{text}");
    database.run(&ddl[0]);
    assert_eq!(missing(&database), Vec::<String>::new());
}

#[test]
fn a_table_that_is_read_in_one_go_lacks_none() {
    let database = PgDatabase::new(JOBS);
    job(&database, "run_tsa", 1);
    assert_eq!(missing(&database), Vec::<String>::new());
}

#[test]
fn a_poll_reads_no_row_of_the_history() {
    let database = with_history();
    database.run(
        "CREATE INDEX ON executor_jobs (type, locked_at) WHERE status IN ('running', 'processing');
         CREATE INDEX ON executor_jobs (status, run_at)",
    );
    let (one_by_one, by_index) = read(&database, "executor_jobs", || {
        let (source, _) = database.check();
        assert_eq!(source["claims"]["total"], CLAIMS, "{source:#}");
        assert_eq!(source["claims"]["stale"], CLAIMS / 40 * 9, "{source:#}");
    });
    // Each claim once to count it and once to judge it, and the worst once more to show them.
    assert!(one_by_one == 0 && by_index <= 3 * CLAIMS, "{one_by_one} one by one, {by_index} by index");
}

/// Leases, with an index for each of their times.
const LEASES: &str = "CREATE TABLE runs (id bigint PRIMARY KEY, held_by text, at timestamptz, until timestamptz,
      payload text DEFAULT repeat('x', 300)) WITH (autovacuum_enabled = false);
    CREATE INDEX ON runs (until) WHERE held_by IS NOT NULL; CREATE INDEX ON runs (at) WHERE held_by IS NOT NULL;";
const LEASES_PROFILE: &str = "title = 'Own'\n[[claim]]\nname = 'run'\nrole = 'job'\ntable = 'runs'\n\
    held = 'c.held_by IS NOT NULL'\nid = 'id'\nholder = 'held_by'\nclaimed_at = 'at'\ntime = 'timestamptz'\n\
    deadline = { column = 'until', lease = '30m' }\n";

#[test]
fn a_poll_reads_no_healthy_claim_where_its_times_have_an_index() {
    assert_reads(50_000, 60);
}

#[test]
fn a_cause_is_looked_for_in_a_part_of_a_large_board() {
    assert_reads(10_000, 12_000);
}

/// A look at 200,000 rows, of which one in `stale` is stale, reads at most so many of them, by index.
fn assert_reads(stale: u64, most: u64) {
    let database = PgDatabase::new(LEASES);
    database.run(&format!(
        "INSERT INTO runs SELECT n, CASE WHEN n % 2 = 0 THEN 'w' END, timestamptz '2026-11-15 11:50:00+00',
           timestamptz '2026-11-15 13:00:00+00' - interval '2 hours' * (n % {stale} = 0)::int
           FROM generate_series(1, {ROWS}) n"
    ));
    // So that counting takes the index alone.
    database.run("VACUUM ANALYZE runs");
    let folder = tempfile::tempdir().expect("a folder");
    let profile = folder.path().join("own.toml");
    std::fs::write(&profile, LEASES_PROFILE).expect("a profile");
    let (one_by_one, by_index) = read(&database, "runs", || {
        let (source, _) = database.check_with(&["--profile", profile.to_str().expect("a path")]);
        let claims = &source["claims"];
        let expected = (ROWS / 2, ROWS / stale);
        assert_eq!(
            (&claims["total"], &claims["stale"]),
            (&expected.0.into(), &expected.1.into()),
            "{source:#}"
        );
    });
    assert!(one_by_one == 0 && by_index <= most, "{one_by_one} one by one, {by_index} by index");
}
