//! Acts on many: marked or the whole set, looked at first, then done once.

use claimtop::app::bulk::{
    BulkOf, InBulk, Many, PreviewLine, Ready, Stage as Step, Summary, options_of_worst,
};
use claimtop::app::model::Tone;
use claimtop::app::overlay::Overlay;
use claimtop::app::{Effect, Msg};
use claimtop::domain::recovery::{Action, Authorization, Moved, Outcome};
use claimtop::domain::tally::{BulkTally, Foreseen};
use claimtop::domain::verdict::Set;

use super::super::stage::holders::session;
use super::super::stage::outcomes::{alive, renewed};
use super::super::stage::{Stage, World, claim, task_board};

fn three() -> World {
    World::of([task_board([
        claim("a").lease_ran_out("30m"),
        claim("b").lease_ran_out("20m"),
        claim("c").lease_ran_out("10m"),
    ])])
}

fn ready(count: usize, holder: Option<&str>) -> Msg {
    let lines = (0..count).map(|at| PreviewLine::Also(format!("t-{at}"))).collect();
    let (notes, holder) = (Vec::new(), holder.map(Into::into));
    let tally = BulkTally { applied: count, ..BulkTally::of(count) };
    let ready = Ready { tally, lines, notes, holder, profiles: vec!["taskqueue".into()], ..Ready::default() };
    Msg::BulkReady { question: 1, ready: Ok(ready) }
}

fn nothing_to_do() -> Ready {
    Ready::default()
}

fn dialog(stage: &Stage) -> &InBulk {
    match stage.model.overlay.last() {
        Some(Overlay::InBulk(bulk)) => bulk,
        other => panic!("no question: {other:?}"),
    }
}

#[test]
fn marked_claims_are_looked_at_first() {
    let mut stage = Stage::on(&three());
    stage.press("space space");
    let effects = stage.press("R");
    let [Effect::PrepareBulk { source: 0, action: Action::Reclaim, what: Many::Marked(targets), .. }] =
        &effects[..]
    else {
        panic!("{effects:?}")
    };
    let ids: Vec<&str> = targets.iter().map(|target| target.id.address.as_str()).collect();
    assert_eq!(ids, ["taskqueue/tasks/a", "taskqueue/tasks/b"]);
    assert!(matches!(dialog(&stage).stage, Step::Looking));
    assert!(stage.press("y").is_empty(), "nothing was shown yet");
}

#[test]
fn without_marks_the_whole_set_is_meant() {
    let mut stage = Stage::on(&three());
    let effects = stage.press("X");
    let [Effect::PrepareBulk { action: Action::Release, what: Many::Worst(Set::Stale), .. }] = &effects[..]
    else {
        panic!("{effects:?}")
    };
}

#[test]
fn marks_whose_claims_are_gone_do_not_become_the_whole_set() {
    let mut stage = Stage::on(&three());
    stage.press("space");
    stage.poll(&World::of([task_board([claim("b").lease_ran_out("20m"), claim("c").lease_ran_out("10m")])]));
    assert!(stage.press("R").is_empty());
    assert!(stage.model.overlay.is_empty());
}

#[test]
fn a_yes_after_the_preview_runs_it_once() {
    let mut stage = Stage::on(&three());
    stage.press("R");
    stage.tell(ready(3, None));
    assert!(stage.text().contains("3 claims will be reclaimed"));
    let effects = stage.press("y");
    assert!(
        matches!(&effects[..], [Effect::RunBulk { source: 0, authorization, .. }] if *authorization == Authorization::default()),
        "{effects:?}"
    );
    assert!(stage.press("y enter n q r R u").is_empty(), "what runs is not stopped by a stray key");
    stage.tell(Msg::BulkProgress { done: 2 });
    assert!(matches!(dialog(&stage).stage, Step::Running { done: 2, of: 3 }));
}

#[test]
fn the_end_says_what_was_done_and_lets_it_be_taken_back() {
    let mut stage = Stage::on(&three());
    stage.press("space space R");
    stage.tell(ready(2, None));
    stage.press("y");
    stage.tell(Msg::BulkDone(Summary {
        source: 0,
        of: BulkOf::Act(Action::Reclaim),
        tally: tally(1, &renewed("2s", "w7")),
        batch: Some("batch-1".into()),
        addresses: vec!["taskqueue/tasks/a".into()],
    }));
    let said = "reclaim: 1 of 2 done, 1 moved (b: renewed 2s ago by w7); u undoes all of it";
    assert_eq!(stage.notice(), (Tone::Moved, said));
    assert!(stage.model.overlay.is_empty() && stage.model.marked.is_empty());
    stage.press("u");
    stage.tell(Msg::UndoReady { action_id: "batch-1".into(), ready: Ok(vec!["tasks 1".into()]) });
    let effects = stage.press("y");
    assert!(
        matches!(&effects[..], [Effect::Undo { action_id, .. }] if action_id == "batch-1"),
        "{effects:?}"
    );
    stage.tell(Msg::BulkDone(Summary {
        source: 0,
        of: BulkOf::Undo("batch-1".into()),
        tally: tally(1, &Outcome::Moved(Moved::ClaimedSince)),
        batch: Some("batch-2".into()),
        addresses: Vec::new(),
    }));
    assert_eq!(
        stage.notice(),
        (Tone::Moved, "undone: 1 of 2 acts, 1 moved (b: somebody has claimed it since)")
    );
    assert!(stage.press("u").is_empty(), "it was tried");
}

/// So many that were done, and one that was not.
fn tally(applied: usize, other: &Outcome) -> BulkTally {
    let mut tally = BulkTally { applied, ..BulkTally::of(applied + 1) };
    tally.add(other, || "b".into());
    tally
}

#[test]
fn what_was_not_tried_is_told_with_the_reason_and_can_be_undone_as_far_as_it_was_done() {
    let mut stage = Stage::on(&three());
    stage.press("R");
    stage.tell(ready(3, None));
    stage.press("y");
    let stopped = Some("the disk is full".into());
    let tally = BulkTally { applied: 1, stopped, ..BulkTally::of(3) };
    let (of, addresses) = (BulkOf::Act(Action::Reclaim), Vec::new());
    stage.tell(Msg::BulkDone(Summary { source: 0, of, tally, batch: Some("batch-1".into()), addresses }));
    let said = "reclaim: 1 of 3 done, 2 not tried (stopped: the disk is full); u undoes all of it";
    assert_eq!(stage.notice(), (Tone::Refused, said));
}

#[test]
fn a_preview_tells_what_is_skipped_and_why_and_does_the_rest() {
    let mut stage = Stage::on(&three());
    stage.press("R");
    let mut ready = nothing_to_do();
    ready.tally = tally(2, &alive(7, "w7"));
    ready.lines = ["t-1", "t-2"].map(|line| PreviewLine::Also(line.into())).into();
    stage.tell(Msg::BulkReady { question: 1, ready: Ok(ready) });
    let text = stage.text();
    assert!(text.contains("(2 of 3)"), "{text}");
    assert!(text.contains("2 of 3 claims will be reclaimed; 1 skipped:"), "{text}");
    assert!(
        text.contains("1 refused: the holder's process is alive (b: its process (pid 7) is alive)"),
        "{text}"
    );
    assert_eq!(stage.press("y").len(), 1);
    assert!(matches!(dialog(&stage).stage, Step::Running { done: 0, of: 2 }));
}

#[test]
fn if_all_are_skipped_nothing_can_be_confirmed() {
    let mut stage = Stage::on(&three());
    stage.press("R");
    let mut ready = nothing_to_do();
    ready.tally = tally(0, &alive(7, "w7"));
    stage.tell(Msg::BulkReady { question: 1, ready: Ok(ready) });
    assert!(stage.text().contains("nothing can be done"), "{}", stage.text());
    assert!(stage.press("y").is_empty());
    assert_eq!(stage.notice().1, "there is nothing to do, 1 refused (b: its process (pid 7) is alive)");
}

#[test]
fn the_dialog_says_that_it_is_about_one_source_of_several() {
    let two = World::of([task_board([claim("d").lease_ran_out("30m"), claim("e").lease_ran_out("20m")])]);
    let mut stage = Stage::of(&[three(), two]);
    stage.press("g R");
    stage.tell(ready(3, None));
    let text = stage.text();
    assert!(text.contains("2 more in other sources are not included"), "{text}");
}

#[test]
fn esc_and_n_leave_everything_as_it_is() {
    for key in ["esc", "n"] {
        let mut stage = Stage::on(&three());
        stage.press("R");
        stage.tell(ready(3, None));
        assert!(stage.press(key).is_empty());
        assert!(stage.model.overlay.is_empty());
        assert_eq!(stage.notice().1, "nothing was done");
    }
}

#[test]
fn an_answer_that_nobody_waits_for_any_more_opens_nothing() {
    let mut stage = Stage::on(&three());
    stage.press("R esc");
    assert!(stage.tell(ready(3, None)).is_empty());
    assert!(stage.model.overlay.is_empty());
}

#[test]
fn an_answer_to_an_earlier_question_is_not_shown_under_a_later_one() {
    let mut stage = Stage::on(&three());
    stage.press("R esc X");
    stage.tell(ready(3, None));
    assert!(matches!(dialog(&stage).stage, Step::Looking), "that was about reclaiming");
}

#[test]
fn a_late_answer_does_not_bring_a_running_act_back_to_its_preview() {
    let mut stage = Stage::on(&three());
    stage.press("R");
    stage.tell(ready(3, None));
    stage.press("y");
    stage.tell(ready(3, None));
    assert!(matches!(dialog(&stage).stage, Step::Running { .. }));
}

#[test]
fn a_look_that_failed_says_why_and_closes() {
    let mut stage = Stage::on(&three());
    stage.press("R");
    stage.tell(Msg::BulkReady { question: 1, ready: Err("database is locked".into()) });
    assert!(stage.text().contains("database is locked"));
    assert!(stage.press("y").is_empty());
    assert!(stage.press("esc").is_empty());
    assert!(stage.model.overlay.is_empty());
}

#[test]
fn claims_of_a_profile_that_could_be_anybodys_are_not_taken_in_bulk_until_somebody_vouches_for_it() {
    let mut stage = Stage::on(&three().generic());
    stage.press("R");
    stage.tell(ready(3, None));
    assert!(stage.text().contains("could be anybody's"), "{}", stage.text());
    assert!(stage.press("y").is_empty());
    stage.press("esc r y R");
    let Msg::BulkReady { ready, .. } = ready(3, None) else { unreachable!() };
    stage.tell(Msg::BulkReady { question: 2, ready });
    assert!(matches!(dialog(&stage).stage, Step::Preview(_)));
    assert!(stage.text().contains("--profile"), "{}", stage.text());
}

#[test]
fn a_profile_that_could_be_anybodys_is_in_nobodys_way_if_none_of_its_claims_is_meant() {
    let mut stage = Stage::on(&three().generic());
    stage.press("R");
    let of_others = Ready { profiles: vec!["executor-jobs".into()], ..nothing_to_do() };
    stage.tell(Msg::BulkReady { question: 1, ready: Ok(of_others) });
    assert!(matches!(dialog(&stage).stage, Step::Preview(_)));
}

#[test]
fn nothing_to_do_does_nothing() {
    let mut stage = Stage::on(&three());
    stage.press("R");
    stage.tell(ready(0, None));
    assert!(stage.press("y").is_empty());
    assert_eq!(stage.notice().1, "there is nothing to do");
}

#[test]
fn a_set_with_nothing_in_it_says_so() {
    let mut stage = Stage::on(&World::of([task_board([claim("t-1")])]));
    assert!(stage.press("R").is_empty());
    assert_eq!(stage.notice().1, "nothing is orphaned");
}

#[test]
fn a_session_is_released_with_all_it_holds() {
    let mut stage = Stage::on(&three());
    stage.press("4");
    let holders = vec![session("worker-7", "25m", 3), session("worker-8", "2s", 1)];
    stage.tell(Msg::Holders { source: 0, holders: Ok(holders) });
    let effects = stage.press("x");
    let [Effect::PrepareBulk { action: Action::Release, what: Many::Session(name), .. }] = &effects[..]
    else {
        panic!("{effects:?}")
    };
    assert_eq!(name, "worker-7", "the silent one that holds something stands first");
}

#[test]
fn a_session_that_may_live_takes_its_name_and_a_reason() {
    let mut stage = Stage::on(&three());
    stage.press("4");
    stage.tell(Msg::Holders { source: 0, holders: Ok(vec![session("worker-8", "2s", 1)]) });
    stage.press("x");
    stage.tell(ready(1, Some("worker-8")));
    stage.write("worker-9");
    assert!(stage.press("enter").is_empty());
    assert!(dialog(&stage).complaint.as_deref().unwrap_or_default().contains("worker-8"));
    stage.press("backspace");
    stage.write("8");
    assert!(stage.press("enter").is_empty(), "a reason is missing");
    stage.write("drained");
    let effects = stage.press("enter");
    let [Effect::RunBulk { authorization, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert!(authorization.force);
    assert_eq!(
        (authorization.holder.as_deref(), authorization.reason.as_deref()),
        (Some("worker-8"), Some("drained"))
    );
}

#[test]
fn every_claim_of_a_preview_has_a_line_that_says_what_comes_of_it() {
    let mut stage = Stage::on(&three()).then("R");
    let claim = |at: usize| PreviewLine::Claim {
        address: format!("taskqueue/tasks/t-{at:02}"),
        foreseen: [Foreseen::Done, Foreseen::NeedsName, Foreseen::Skipped][at / 20],
        why: ["its lease ran out", "the holder may be alive", "its process is running"][at / 20].into(),
    };
    let tally = BulkTally { applied: 20, refused: 40, ..BulkTally::of(60) };
    let ready = Ready { tally, lines: (0..60).map(claim).collect(), ..Ready::default() };
    stage.tell(Msg::BulkReady { question: 1, ready: Ok(ready) });
    let mut seen = stage.text();
    for _ in 0..60 {
        stage.press("j");
        seen.push_str(&stage.text());
    }
    for at in 0..60 {
        let said =
            ["its lease ran out", "needs the name: the holder may", "skipped: its process is"][at / 20];
        assert!(seen.contains(&format!("t-{at:02}  {said}")), "{at}: {said}");
    }
    let text = stage.text();
    assert!(text.contains("t-59") && text.contains("the end of the list"), "{text}");
    assert!(stage.then("g").text().contains("t-00"));
}

#[test]
fn a_pane_means_the_claims_that_it_shows_and_says_which_it_leaves_out() {
    let both = claim("both").lease_ran_out("30m").session_silent_for("20m");
    let stale = [claim("a").lease_ran_out("20m"), claim("b").lease_ran_out("10m")];
    let world = World::of([task_board(stale.into_iter().chain([both]))]);
    let mut stage = Stage::on(&world).then("l");
    assert!(stage.text().contains("Stale 2 (+1 shown as orphaned)"), "{}", stage.text());
    let effects = stage.press("R");
    let [Effect::PrepareBulk { what: Many::Worst(Set::Stale), .. }] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(options_of_worst(Set::Stale), ["--set", "stale", "--filter", "'!set:orphaned'"]);
    let tally = BulkTally { applied: 2, ..BulkTally::of(2) };
    let ready = Ready { tally, profiles: vec!["taskqueue".into()], ..Ready::default() };
    stage.tell(Msg::BulkReady { question: 1, ready: Ok(ready) });
    let text = stage.text();
    assert!(text.contains("Not included: 1 more that are stale, shown in a worse pane"), "{text}");
    assert!(text.contains("--set stale --filter '!set:orphaned'"), "{text}");
}
