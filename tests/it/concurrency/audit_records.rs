//! No act without its record: many are put on record in the trail and in the table at once, and if either
//! fails nothing is done.

use super::batches::{actor, running, stale};
use super::*;
use crate::support::Noted;
use crate::support::options::writable;
use crate::support::postgres::PgDatabase;
use claimtop::domain::recovery::{Action, Authorization, Outcome};
use claimtop::recovery::AuditedActor;
use claimtop::recovery::trail::Trail;
use claimtop::store::{Order, Seen};

/// The table refuses what is written to it.
const REFUSING: &str = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE EXCEPTION 'the table is full'; END $$;
     CREATE TRIGGER refuse BEFORE INSERT ON claimtop_audit FOR EACH STATEMENT EXECUTE FUNCTION refuse()";

fn records(database: &PgDatabase) -> Option<String> {
    database.value("SELECT count(*) FROM claimtop_audit")
}

#[test]
fn many_whose_record_the_table_refuses_are_refused_and_the_trail_says_so() {
    let database = PgDatabase::new(&format!("{JOBS}; {AUDIT}; {REFUSING}"));
    database.run(&stale_jobs(300));
    let folder = tempfile::tempdir().expect("a folder");
    let mut audited = AuditedActor::open(writable(options(&database.url(), None)), "here", folder.path())
        .expect("an audited actor");
    let all = stale(audited.actor());
    let mut outcomes = Vec::new();
    audited
        .perform_all(all.iter().collect(), Action::Reclaim, &Authorization::default(), &mut |told| {
            outcomes.push(told.acted.outcome);
            true
        })
        .expect("answers");
    assert_eq!(outcomes.len(), 300);
    let says_why = |outcome: &Outcome| matches!(outcome, Outcome::Refused(why) if why.to_string().contains("the table is full"));
    assert!(outcomes.iter().all(says_why), "{:?}", outcomes[0]);
    assert_eq!((running(&database).len(), records(&database).as_deref()), (300, Some("0")));
    let trail = Trail::read_only(folder.path()).expect("a trail");
    assert_eq!(trail.open_actions().expect("records").len(), 0);
    assert!(trail.verify(None).expect("a trail").findings.is_empty());
    // Nothing of it is in the way once there is room again.
    database.run("DROP TRIGGER refuse ON claimtop_audit");
    let mut applied = 0;
    audited
        .perform_all(all.iter().collect(), Action::Reclaim, &Authorization::default(), &mut |told| {
            applied += usize::from(told.acted.outcome == Outcome::Applied);
            true
        })
        .expect("answers");
    assert_eq!((applied, records(&database).as_deref()), (300, Some("300")));
}

#[test]
fn many_that_the_trail_cannot_take_are_in_no_table_either() {
    let database = PgDatabase::new(&format!("{JOBS}; {AUDIT}"));
    database.run(&stale_jobs(50));
    let mut actor = actor(&database);
    let all = stale(&mut actor);
    let mut all: Vec<&Seen> = all.iter().collect();
    let word = Authorization::default();
    let order = Order { action: Action::Reclaim, authorization: &word, action_id: "batch", dry_run: false };
    let mut full = Noted { written: Err("no space left".into()), ..Noted::new() };
    let batch = actor.act_batch(&mut all, &order, Duration::ZERO, &mut full).expect("a batch");
    for tried in &batch.tried {
        let Outcome::Refused(why) = &tried.outcome else { panic!("{:?}", tried.outcome) };
        assert!(why.to_string().contains("no space left"), "{why}");
    }
    assert_eq!((running(&database).len(), records(&database).as_deref()), (50, Some("0")));
}
