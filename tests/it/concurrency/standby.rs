//! A hot standby shows and cannot be acted on.

use super::*;
use crate::support::server::Server;

#[test]
fn acts_on_a_standby_are_refused_and_a_sweep_holds() {
    let primary = Server::start();
    primary.create_database("jobs", JOBS);
    primary.connect("jobs").run(&stale_jobs(3));
    let standby = primary.standby();
    standby.catch_up_with(&primary);
    let operator = Operator::of(standby.url("jobs"));
    let id = standby.connect("jobs").value("SELECT min(id::text) FROM executor_jobs").expect("a job");
    for verb in ["reclaim", "release", "extend"] {
        let run = operator.run(&[verb, "DB", &id, "--json"]);
        run.came_to(5, "refused");
        run.says("standby");
    }
    let bulk = operator.run(&["reclaim", "DB", "--set", "stale", "--yes", "--json"]);
    assert_eq!(bulk.code, 5, "{bulk:#?}");
    let sweep = operator.run(&["sweep", "--once", "--json", "DB"]);
    assert_eq!(sweep.code, 5, "{sweep:#?}");
    assert_eq!(operator.run(&["audit", "init", "DB", "--json"]).code, 5);
    let rows = "SELECT count(*) FROM executor_jobs WHERE status = 'running' AND attempts = 1";
    assert_eq!(primary.connect("jobs").value(rows).as_deref(), Some("3"));
    operator.trail_is_whole();
}
