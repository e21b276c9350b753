//! Two operators with logins of their own on one database.

use super::*;
use crate::support::postgres::PgDatabase;

const ROLES: &str = include_str!("../../../assets/schema/postgres/roles.sql");

#[test]
fn two_operators_with_different_logins_take_every_claim_once_and_undo_only_what_stands() {
    let database = PgDatabase::new(&format!("BEGIN; {JOBS} {AUDIT} {ROLES} COMMIT;"));
    database.run(&stale_jobs(400));
    let logins = ["one", "two"].map(|n| format!("claimtop_{n}_{}", uuid::Uuid::now_v7().simple()));
    for login in &logins {
        database.run(&format!("CREATE ROLE {login} LOGIN IN ROLE claimtop_operator"));
    }
    let operators = logins.clone().map(|login| Operator::of(database.url_as(&login)));
    let bulk = ["reclaim", "DB", "--set", "stale", "--yes", "--json"];
    let running = operators.each_ref().map(|operator| {
        operator.command(&bulk).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("claimtop runs")
    });
    for child in running {
        let run = Run::of(&child.wait_with_output().expect("claimtop ends"));
        assert!(matches!(run.code, 0 | 4), "{run:#?}");
    }
    let queued = "SELECT count(*) FROM executor_jobs WHERE status = 'queued' AND attempts = 2";
    assert_eq!(database.value(queued).as_deref(), Some("400"), "each claim was taken once");
    let taken: Vec<Vec<String>> = operators.iter().map(Operator::applied).collect();
    assert_eq!(taken[0].len() + taken[1].len(), 400);
    assert!(taken[0].iter().all(|address| !taken[1].contains(address)), "each has a record of one of them");
    let records = "SELECT count(*) FROM claimtop_audit";
    assert_eq!(database.value(records).as_deref(), Some("400"), "both write into one table");
    // What one did the other cannot take back: it is not in his trail.
    let job = "00000000-0000-0000-0000-00000000000a";
    database.run(&format!(
        "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, attempts)
         VALUES ('{job}', 'run_tsa', 'running', now() - interval '1 hour', 'w', 1)"
    ));
    let action = operators[0].run(&["reclaim", "DB", job, "--json"]).came_to(0, "applied");
    let action = action["action_id"].as_str().expect("an id");
    assert_ne!(operators[1].run(&["undo", "DB", action, "--json"]).code, 0);
    // And what the other has touched since is not taken back by the first.
    database.run(&format!(
        "UPDATE executor_jobs SET status = 'running', locked_at = now() - interval '1 hour', locked_by = 'w2' WHERE id = '{job}'"
    ));
    operators[1].run(&["release", "DB", job, "--json"]).came_to(0, "applied");
    operators[0].run(&["undo", "DB", action, "--json"]).came_to(4, "moved");
    for operator in &operators {
        operator.trail_is_whole();
    }
    database.run(&format!("DROP OWNED BY {0}; DROP OWNED BY {1}; DROP ROLE {0}, {1}", logins[0], logins[1]));
}
