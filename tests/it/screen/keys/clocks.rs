//! Ages and judgements go by the database's clock, wherever ours stands.

use claimtop::app::Msg;
use claimtop::app::message::Probed;
use claimtop::app::overlay::Overlay;
use claimtop::domain::claim::Process;
use claimtop::domain::verdict::Reason;

use super::super::stage::holders::session;
use super::super::stage::{Stage, World, claim, task_board};

/// A database whose clock is an hour ahead: what ran out there ten minutes ago has fifty minutes
/// left by ours.
fn ahead() -> World {
    let mut late = claim("t-1").lease_ran_out("10m");
    late.claim.lease = claimtop::domain::claim::Lease::Until(claimtop::domain::time::Reading::At(
        super::super::stage::noon().plus(super::super::stage::span("50m")),
    ));
    World::of([task_board([late])]).ahead_by("1h")
}

#[test]
fn a_lease_ends_by_the_clock_of_the_database() {
    let mut stage = Stage::on(&ahead());
    assert_eq!(stage.listed(), ["t-1"]);
    assert!(stage.text().contains("its lease ran out 10m ago"), "{}", stage.text());
    assert!(stage.text().contains("13:00:00Z (1h off ours)"), "{}", stage.text());
    assert_eq!(super::act(&stage.press("r")).claim, "taskqueue/tasks/t-1");
}

#[test]
fn a_beat_of_a_session_is_as_old_as_the_database_says() {
    let mut stage = Stage::on(&ahead());
    stage.press("4");
    let mut beats = session("worker-7", "0s", 1);
    beats.beat_at = claimtop::domain::time::Reading::At(stage.now.plus(super::super::stage::span("59m30s")));
    stage.tell(Msg::Holders { source: 0, holders: Ok(vec![beats]) });
    let text = stage.text();
    assert!(text.contains(" 30s "), "{text}");
}

#[test]
fn a_probe_while_the_detail_is_open_does_not_turn_the_clock_back() {
    let mut stage = Stage::on(&ahead());
    stage.press("enter");
    let (process, evidence) = (Process::Alive, "pid 4312 runs".to_owned());
    let probe = Probed { source: 0, holder: "worker-7".into(), process, evidence, at: stage.now };
    stage.tell(Msg::Probed(vec![probe]));
    let Some(Overlay::Detail(detail)) = stage.model.overlay.last() else { panic!("no detail") };
    assert!(detail.row.judged.verdict.reasons.contains(Reason::LeaseExpired));
}

#[test]
fn a_claim_that_left_its_set_keeps_its_clock_in_the_open_detail() {
    let mut stage = Stage::on(&ahead());
    stage.press("enter");
    stage.poll(&World::of([task_board([])]).ahead_by("1h"));
    let Some(Overlay::Detail(detail)) = stage.model.overlay.last() else { panic!("no detail") };
    assert!(detail.row.judged.verdict.reasons.contains(Reason::LeaseExpired));
}
