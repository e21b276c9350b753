//! The Groups pane: what claims in trouble have in common, and acts on all of them.

use claimtop::app::bulk::{Many, Ready, Unnamed};
use claimtop::app::model::Pane;
use claimtop::app::{Effect, Msg};
use claimtop::domain::cause::GroupBy;
use claimtop::domain::filter::{Pattern, Test};
use claimtop::domain::recovery::Action;
use claimtop::domain::tally::BulkTally;

use super::super::stage::{Stage, World, claim, task_board};

/// Two hosts: all claims of one are over, and one of the other.
fn two_hosts() -> World {
    let mut held = Vec::new();
    for session in 0..3 {
        for task in 0..2 {
            let one = |host: &str| {
                claim(&format!("{host}-{session}-{task}")).held_by(&format!("{host}-{session}")).on_host(host)
            };
            held.push(one("web-3").lease_ran_out(&format!("{}m", 10 + task)));
            held.push(one("web-4"));
        }
    }
    held.push(claim("late").held_by("web-4-0").on_host("web-4").lease_ran_out("5m"));
    World::of([task_board(held)])
}

fn groups() -> Stage {
    let mut stage = Stage::on(&two_hosts());
    let effects = stage.press("3");
    assert!(matches!(&effects[..], [Effect::GatherFacts { source: 0 }]), "{effects:?}");
    stage
}

#[test]
fn groups_are_by_host_first_and_g_goes_on() {
    let mut stage = groups();
    assert_eq!((stage.model.pane, stage.model.group_by), (Pane::Groups, GroupBy::Host));
    let lines = stage.model.group_lines();
    let shown: Vec<_> =
        lines.iter().map(|line| (line.name(), line.group.in_trouble, line.group.of)).collect();
    assert_eq!(shown, [("web-3".to_owned(), 6, 6), ("web-4".to_owned(), 1, 7)]);
    for by in
        [GroupBy::Holder, GroupBy::Kind, GroupBy::Board, GroupBy::Source, GroupBy::Reason, GroupBy::Host]
    {
        stage.press("g");
        assert_eq!(stage.model.group_by, by);
    }
}

#[test]
fn an_act_on_a_group_means_all_its_claims_in_trouble() {
    let mut stage = groups();
    let effects = stage.press("R");
    let [Effect::PrepareBulk { action: Action::Reclaim, what: Many::Group(group), .. }] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(group.name, "web-3");
    assert_eq!(group.options, ["--holder", "'web-3-*'"]);
    let [condition] = &group.filter.conditions[..] else { panic!("{group:?}") };
    assert_eq!(condition.test, Test::Holder(vec![Pattern::Like("web-3-*".into())]));
}

#[test]
fn enter_shows_the_claims_of_a_group() {
    let mut stage = groups();
    stage.press("enter");
    assert_eq!(stage.model.pane, Pane::Claims);
    assert_eq!(stage.model.query.text, "holder:web-3-*");
}

/// Two claims will be done, and one needs the name of its holder.
fn preview() -> Msg {
    let mut tally = BulkTally { applied: 2, ..BulkTally::of(3) };
    tally.refused = 1;
    let unnamed = Unnamed { count: 1, holders: vec!["web-3-1".into()] };
    Msg::BulkReady { question: 1, ready: Ok(Ready { tally, unnamed, ..Ready::default() }) }
}

#[test]
fn those_that_need_a_name_are_left_out_unless_the_group_is_typed() {
    let mut stage = groups();
    stage.press("R");
    stage.tell(preview());
    let text = stage.text();
    assert!(text.contains("reclaim 3 claims of web-3 in tasks.db?"), "{text}");
    assert!(text.contains("1 need confirmation: the holder may still be running"), "{text}");
    assert!(text.contains("--holder 'web-3-*' --unconfirmed skip --yes"), "{text}");
    let effects = stage.press("y");
    let [Effect::RunBulk { authorization, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert!(authorization.holders.is_empty());
}

#[test]
fn the_typed_name_of_a_group_includes_them_and_needs_a_reason() {
    let mut stage = groups();
    stage.press("R");
    stage.tell(preview());
    stage.press("tab tab");
    stage.write("web-4");
    assert!(stage.press("enter").is_empty());
    assert!(stage.text().contains("that does not match; type web-3"));
    stage.press("backspace");
    stage.write("3");
    assert!(stage.press("enter").is_empty(), "a reason is missing");
    stage.write("INC-204");
    let text = stage.text();
    assert!(text.contains("--holder 'web-3-*' --reason INC-204 --yes"), "{text}");
    assert!(text.contains("enter reclaim 3"), "{text}");
    let effects = stage.press("enter");
    let [Effect::RunBulk { authorization, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(authorization.holders, [Pattern::Is("web-3-1".into())]);
    assert_eq!(authorization.reason.as_deref(), Some("INC-204"));
}

#[test]
fn esc_cancels_what_runs_and_c_copies_the_command() {
    let mut stage = groups();
    stage.press("R");
    stage.tell(preview());
    let effects = stage.press("c");
    let [Effect::Copy(command)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(command, "claimtop reclaim tasks.db --holder 'web-3-*' --unconfirmed skip --yes");
    stage.press("y");
    assert!(matches!(&stage.press("esc")[..], [Effect::CancelBulk { source: 0 }]));
    assert!(stage.text().contains("it ends after the current transaction"));
}
