//! A source with `confirm = "always"`: no act of any kind without its name, typed.

use claimtop::app::bulk::Ready;
use claimtop::app::dialog::{Asks, Confirm};
use claimtop::app::message::Done;
use claimtop::app::overlay::Overlay;
use claimtop::app::{Effect, Msg};
use claimtop::domain::detail::KindTally;
use claimtop::domain::recovery::{Action, Confirmation, Outcome};
use claimtop::domain::tally::BulkTally;

use super::super::stage::holders::{kinds, session, tally};
use super::super::stage::{Stage, World, claim, task_board};
use super::act;

fn careful() -> Stage {
    let claims = [claim("a").lease_ran_out("30m"), claim("b").lease_ran_out("20m")];
    let mut stage = Stage::on(&World::of([task_board(claims)]).named("billing"));
    stage.model.sources[0].confirmation = Confirmation::Always;
    stage
}

fn ready(count: usize) -> Msg {
    let tally = BulkTally { applied: count, ..BulkTally::of(count) };
    let ready = Ready { tally, profiles: vec!["taskqueue".into()], ..Ready::default() };
    Msg::BulkReady { question: 1, ready: Ok(ready) }
}

/// Everything but the name does nothing; the name does it.
fn needs_the_name(mut stage: Stage) -> Vec<Effect> {
    assert!(
        stage.text().contains("Every act on this source needs its name. Type billing:"),
        "{}",
        stage.text()
    );
    assert!(stage.press("enter").is_empty());
    assert!(stage.text().contains("that is not the name of the source; type billing"), "{}", stage.text());
    stage.write("y");
    assert!(stage.press("enter").is_empty());
    stage.press("backspace");
    stage.write("billing");
    stage.press("enter")
}

#[test]
fn a_bulk_act_takes_the_name() {
    for keys in ["R", "X", "space R"] {
        let mut stage = careful().then(keys);
        stage.tell(ready(2));
        assert!(stage.press("y").is_empty(), "{keys}: a yes is not enough");
        assert!(matches!(needs_the_name(stage)[..], [Effect::RunBulk { .. }]), "{keys}");
    }
}

#[test]
fn the_end_of_a_session_takes_the_name() {
    let mut stage = careful();
    stage.press("4");
    stage.tell(Msg::Holders { source: 0, holders: Ok(vec![session("worker-7", "12m", 2)]) });
    stage.press("x");
    stage.tell(ready(2));
    assert!(stage.press("y").is_empty());
    assert!(matches!(needs_the_name(stage)[..], [Effect::RunBulk { .. }]));
}

#[test]
fn an_undo_takes_the_name() {
    let mut stage = careful();
    stage.tell(Msg::Acted(Done {
        source: 0,
        address: "taskqueue/tasks/a".into(),
        action_id: "first".into(),
        action: "reclaim".into(),
        outcome: Outcome::Applied,
        shown: "a".into(),
        holder: None,
    }));
    stage.press("u");
    stage.tell(Msg::UndoReady { action_id: "first".into(), ready: Ok(vec!["tasks a".into()]) });
    assert!(
        matches!(&needs_the_name(stage)[..], [Effect::Undo { source: 0, action_id }] if action_id == "first")
    );
}

#[test]
fn requeueing_takes_the_name() {
    let mut stage = careful();
    stage.press("5");
    let dead = KindTally { dead: 1, ..tally("render", 0, 0) };
    stage.tell(Msg::Kinds { source: 0, kinds: Ok(vec![kinds("tasks", [dead])]), activity: Vec::new() });
    let query = match stage.press("enter").pop() {
        Some(Effect::LoadDead(query)) => query,
        other => panic!("{other:?}"),
    };
    let row = stage.model.sources[0].rows[0].clone();
    stage.tell(Msg::Dead { query, found: Ok(vec![row]) });
    assert!(stage.press("r").is_empty());
    let Some(Overlay::Confirm(confirm)) = stage.model.overlay.last() else { panic!("no question") };
    let Confirm { asks, action, .. } = &**confirm;
    assert_eq!((asks, *action), (&Asks::Source("billing".into()), Action::Requeue));
    assert_eq!(act(&needs_the_name(stage)).action, Action::Requeue);
}
