//! Where one key is not enough: what is asked, and which answers count.

use claimtop::app::Msg;
use claimtop::app::dialog::{Asks, Confirm, ConfirmField};
use claimtop::app::overlay::Overlay;
use claimtop::domain::claim::{Process, Registry};
use claimtop::domain::fencing::UNFENCED;
use claimtop::domain::recovery::Authorization;
use claimtop::domain::time::Reading;

use super::super::stage::{Held, Stage, World, claim, task_board};
use super::{act, acts};

fn with(held: Held) -> Stage {
    Stage::on(&World::of([task_board([held])]))
}

fn dialog(stage: &Stage) -> &Confirm {
    match stage.model.overlay.last() {
        Some(Overlay::Confirm(confirm)) => confirm,
        other => panic!("no question: {other:?}"),
    }
}

fn asks_for_the_name(mut stage: Stage, keys: &str) {
    assert!(acts(&stage.press(keys)).is_empty());
    assert_eq!(dialog(&stage).asks, Asks::Name("worker-7".into()));
}

#[test]
fn a_living_process_asks_for_the_name() {
    asks_for_the_name(with(claim("t-1").lease_ran_out("11m").process(Process::Alive)), "r");
}

#[test]
fn a_claim_that_is_only_expiring_asks_for_the_name() {
    asks_for_the_name(with(claim("t-1").runs_out_in("2m")), "l r");
}

#[test]
fn a_holder_of_whom_nothing_is_known_asks_for_the_name() {
    let mut held = claim("t-1").runs_out_in("2m");
    (held.claim.registry, held.claim.beat_at) = (Registry::None, Reading::Absent);
    asks_for_the_name(with(held), "l x");
}

#[test]
fn a_silent_heartbeat_under_a_running_lease_asks_for_the_name() {
    asks_for_the_name(with(claim("t-1").beat("7m")), "r");
}

#[test]
fn the_name_and_a_reason_do_it() {
    let mut stage = with(claim("t-1").runs_out_in("2m"));
    stage.press("l r");
    stage.write("worker-7");
    stage.press("tab");
    stage.write("it hangs");
    let asked = act(&stage.press("enter"));
    let (reason, holder) = (Some("it hangs".to_owned()), Some("worker-7".to_owned()));
    assert_eq!(
        asked.authorization,
        Authorization { force: true, reason, holder, ..Authorization::default() }
    );
    assert!(stage.model.overlay.is_empty());
}

#[test]
fn a_wrong_name_is_said_and_does_nothing() {
    let mut stage = with(claim("t-1").runs_out_in("2m"));
    stage.press("l r");
    stage.write("worker-9");
    assert!(stage.press("enter").is_empty());
    let complaint = dialog(&stage).complaint.as_deref().unwrap_or_default();
    assert_eq!(complaint, "worker-9 is not its holder; that is worker-7");
    stage.press("backspace");
    assert_eq!(dialog(&stage).complaint, None, "it is being mended");
}

#[test]
fn a_missing_reason_is_said_and_does_nothing() {
    let mut stage = with(claim("t-1").runs_out_in("2m"));
    stage.press("l r");
    stage.write("worker-7");
    assert!(stage.press("enter").is_empty());
    assert!(dialog(&stage).complaint.as_deref().unwrap_or_default().contains("a reason is needed"));
    assert_eq!(dialog(&stage).field, ConfirmField::Reason, "keys go where something is missing");
    stage.write("   ");
    assert!(stage.press("enter").is_empty(), "blanks are no reason");
}

#[test]
fn esc_does_nothing_and_says_so() {
    let mut stage = with(claim("t-1").runs_out_in("2m"));
    stage.press("l r");
    stage.write("worker-7");
    assert!(stage.press("esc").is_empty());
    assert!(stage.model.overlay.is_empty());
    assert_eq!(stage.notice().1, "nothing was done");
}

#[test]
fn letters_of_a_name_are_no_commands() {
    let mut stage = with(claim("t-1").runs_out_in("2m"));
    stage.press("l r");
    assert!(stage.write("qyrxu").is_empty());
    assert_eq!(dialog(&stage).name.value(), "qyrxu");
}

#[test]
fn a_profile_that_could_be_anybodys_is_asked_about_once() {
    let two = [claim("a").lease_ran_out("11m"), claim("b").lease_ran_out("9m")];
    let mut stage = Stage::on(&World::of([task_board(two)]).generic());
    assert!(acts(&stage.press("r")).is_empty());
    assert_eq!(dialog(&stage).asks, Asks::Profile("taskqueue".into()));
    stage.press("n");
    assert!(acts(&stage.press("r")).is_empty(), "a no is not remembered as a yes");
    assert_eq!(act(&stage.press("y")).claim, "taskqueue/tasks/a");
    assert_eq!(act(&stage.press("j r")).claim, "taskqueue/tasks/b");
}

#[test]
fn who_vouches_for_a_profile_is_still_asked_for_the_name_of_a_living_holder() {
    let mut stage = Stage::on(&World::of([task_board([claim("a").runs_out_in("2m")])]).generic());
    stage.press("l r");
    assert!(stage.press("y").is_empty());
    assert_eq!(dialog(&stage).asks, Asks::Name("worker-7".into()));
}

#[test]
fn a_slow_holder_on_a_board_without_fencing_is_asked_about() {
    let mut stage = Stage::on(&World::of([task_board([claim("a").lease_ran_out("11m")]).unfenced()]));
    assert!(acts(&stage.press("r")).is_empty());
    assert_eq!(dialog(&stage).asks, Asks::Yes);
    assert_eq!(dialog(&stage).why, UNFENCED);
    assert!(stage.press("r x z").is_empty(), "only a yes is a yes");
    assert_eq!(act(&stage.press("y")).claim, "taskqueue/tasks/a");
}

#[test]
fn a_dead_holder_on_a_board_without_fencing_is_not_asked_about() {
    let dead = claim("a").lease_ran_out("11m").process(Process::Dead);
    let mut stage = Stage::on(&World::of([task_board([dead]).unfenced()]));
    assert_eq!(act(&stage.press("r")).claim, "taskqueue/tasks/a");
}

#[test]
fn a_pasted_block_never_acts() {
    let mut stage = with(claim("t-1").lease_ran_out("11m"));
    stage.look();
    assert!(stage.tell(Msg::Paste("r\nx\ny\n".into())).is_empty());
    assert!(stage.model.overlay.is_empty());
    assert!(stage.notice().1.contains("does nothing here"));
}

#[test]
fn a_pasted_yes_is_no_yes() {
    let mut stage = Stage::on(&World::of([task_board([claim("a").lease_ran_out("11m")]).unfenced()]));
    stage.press("r");
    assert!(stage.tell(Msg::Paste("y\n".into())).is_empty());
    assert_eq!(dialog(&stage).asks, Asks::Yes);
}

#[test]
fn a_pasted_name_fills_its_field_and_nothing_else() {
    let mut stage = with(claim("t-1").runs_out_in("2m"));
    stage.press("l r");
    assert!(stage.tell(Msg::Paste("worker-7\nand more\n".into())).is_empty());
    let asked = dialog(&stage);
    assert_eq!((asked.name.value(), asked.reason.value()), ("worker-7", ""));
}

#[test]
fn a_source_that_is_lost_while_one_is_asked_refuses_the_answer() {
    let mut stage = with(claim("t-1").runs_out_in("2m"));
    stage.press("l r");
    stage.write("worker-7");
    stage.press("tab");
    stage.write("it hangs");
    stage.poll_fails("unable to open database file");
    assert!(acts(&stage.press("enter")).is_empty());
}
