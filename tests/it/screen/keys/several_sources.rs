//! Several sources: each has its own state, every row and message names its own, and no key reaches another by chance.

use claimtop::app::Msg;
use claimtop::app::message::{Done, SourcePoll};
use claimtop::app::source::PollFailure;
use claimtop::domain::recovery::{Confirmation, Outcome};

use super::super::panes::fleet::{busy, one_dead_host, with_lists};
use super::super::stage::{Stage, World, acts, claim, entry, task_board};
use super::act;

fn named(name: &str, ids: &[&str]) -> World {
    World::of([task_board(ids.iter().map(|id| claim(id).lease_ran_out("9m")))]).named(name)
}

/// Two sources; the worst claim is in the first.
fn two() -> Stage {
    let first = World::of([task_board([claim("a-1").lease_ran_out("20m")])]).named("billing");
    Stage::of(&[first, named("audit", &["b-1", "b-2"])])
}

fn empty(name: &str) -> World {
    World::of([task_board([])]).named(name)
}

#[test]
fn a_second_key_never_acts_on_a_claim_of_another_source_that_took_the_place() {
    let mut stage = two();
    assert_eq!(act(&stage.press("r")).claim, "taskqueue/tasks/a-1");
    stage.poll_of(0, &empty("billing"));
    stage.later("5s");
    assert_eq!(stage.selected().as_deref(), Some("b-1"));
    assert!(stage.press("r").is_empty(), "the key was meant for a-1");
    assert!(stage.notice().1.contains("audit: b-1 is selected now"), "{}", stage.notice().1);
    assert_eq!(act(&stage.press("r")).claim, "taskqueue/tasks/b-1");
}

#[test]
fn a_second_key_within_a_second_acts_on_no_other_claim_of_the_same_source() {
    let mut stage = Stage::on(&named("billing", &["a-1", "a-2", "a-3"]));
    act(&stage.press("r"));
    stage.poll(&named("billing", &["a-2", "a-3"]));
    assert!(stage.press("r").is_empty());
    assert_eq!(act(&stage.press("r")).claim, "taskqueue/tasks/a-2");
    // Later the next one may follow at once.
    stage.poll(&named("billing", &["a-3"]));
    stage.later("2s");
    assert_eq!(act(&stage.press("r")).claim, "taskqueue/tasks/a-3");
}

#[test]
fn a_broken_source_shows_its_own_message_beside_the_others() {
    let mut stage = Stage::waiting_for(&[named("billing", &["a-1"]), empty("search")]);
    stage.poll_of(0, &named("billing", &["a-1"]));
    let poll = Err(PollFailure::Unreadable("is not a SQLite database".into()));
    stage.tell(Msg::Polled(vec![SourcePoll { source: 1, poll, events: Vec::new() }]));
    let text = stage.text();
    assert!(text.contains("[search: cannot be read]"), "{text}");
    assert!(text.contains("search: is not a SQLite database") && text.contains("LIVE 1s"), "{text}");
    assert_eq!(act(&stage.press("r")).claim, "taskqueue/tasks/a-1");
}

#[test]
fn what_cannot_be_read_is_not_calm() {
    let mut stage = Stage::waiting_for(&[empty("billing"), empty("search")]);
    stage.poll_of(0, &empty("billing"));
    let poll = Err(PollFailure::Unreadable("is not a SQLite database".into()));
    stage.tell(Msg::Polled(vec![SourcePoll { source: 1, poll, events: Vec::new() }]));
    let text = stage.text();
    assert!(
        text.contains("calm, as far as 1 of 2 sources can be read") && !text.contains("all calm"),
        "{text}"
    );
}

#[test]
fn read_only_is_a_matter_of_the_source_whose_claim_is_selected() {
    let closed = named("audit", &["b-1"]).read_only("read_only in the config");
    let first = World::of([task_board([claim("a-1").lease_ran_out("20m")])]).named("billing");
    let mut stage = Stage::of(&[first, closed]);
    assert!(stage.text().contains("[audit read-only !1]"), "{}", stage.text());
    assert!(!stage.text().contains("READ-ONLY"));
    act(&stage.press("r"));
    assert!(stage.press("j r").is_empty());
    assert_eq!(stage.notice().1, "audit: this source is read-only: read_only in the config");
}

#[test]
fn every_message_about_an_act_names_its_source() {
    let mut stage = two();
    stage.press("r");
    assert!(stage.notice().1.starts_with("billing: reclaim a-1"), "{}", stage.notice().1);
    let done = Done {
        source: 1,
        address: "taskqueue/tasks/b-1".into(),
        action_id: "1".into(),
        action: "reclaim".into(),
        outcome: Outcome::Applied,
        shown: "b-1".into(),
        holder: Some("worker-7".into()),
    };
    stage.tell(Msg::Acted(done));
    assert!(stage.notice().1.ends_with("reclaim b-1 (worker-7) in audit"), "{}", stage.notice().1);
    // So does every dialog, and the sentence about the selected row.
    stage.press("e");
    assert!(stage.text().contains("extend a-1 in billing?"), "{}", stage.text());
    stage.press("esc");
    assert!(stage.text().contains(" billing: a-1: its lease ran out"), "{}", stage.text());
}

#[test]
fn a_source_that_wants_every_act_confirmed_has_its_name_typed() {
    let mut stage = two();
    stage.model.sources[0].confirmation = Confirmation::Always;
    assert!(stage.press("r").is_empty());
    assert!(stage.text().contains("needs its name. Type billing:"), "{}", stage.text());
    stage.write("audit");
    assert!(stage.press("enter").is_empty());
    stage.press("ctrl-c");
    stage.write("billing");
    assert_eq!(act(&stage.press("enter")).claim, "taskqueue/tasks/a-1");
    // The other source needs no name.
    act(&stage.press("j r"));
}

#[test]
fn a_click_on_a_source_shows_it_alone_and_another_shows_all() {
    let mut stage = two();
    let text = stage.text();
    let line = text.lines().next().expect("a line");
    let column = line[..line.find("audit").expect("the source")].chars().count();
    stage.click(u16::try_from(column).expect("a column"), 0);
    assert_eq!(stage.in_trouble(), ["b-1", "b-2"]);
    stage.press("esc");
    assert_eq!(stage.in_trouble(), ["b-1", "b-2"], "a source that was chosen stays");
    stage.look();
    stage.click(u16::try_from(column).expect("a column"), 0);
    assert_eq!(stage.in_trouble().len(), 3);
}

/// In a test system much is silent by chance.
#[test]
fn a_dead_host_of_one_source_is_named_beside_a_source_in_which_much_is_silent() {
    let stage = Stage::of(&[busy().named("staging"), one_dead_host().named("billing")]);
    let causes: Vec<String> = stage.model.causes.iter().map(|cause| cause.name()).collect();
    assert_eq!(causes, ["web-3"]);
}

#[test]
fn in_every_pane_and_at_every_size_the_selected_row_names_its_source() {
    let worlds = [busy().named("billing"), one_dead_host().named("audit")];
    let mut stage = Stage::of(&worlds);
    // The log has something to tell.
    stage.later("2s");
    stage.poll_of(0, &World::of([task_board([claim("new").lease_ran_out("1m")])]).named("billing"));
    stage.poll_of(0, &worlds[0]);
    for pane in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        stage.browse(&worlds, pane);
        with_lists(&mut stage);
        let mut line = entry(7, "reclaim", Some("applied"), "taskqueue/tasks/render-0041");
        line.source = "billing".into();
        stage.tell(acts([line]));
        for size in [(160, 45), (120, 40), (80, 24), (60, 20)] {
            let shown = claimtop::ui::picture::plain(&stage.draw(size));
            let at = shown.lines().position(|line| line.contains('▸'));
            let at = at.unwrap_or_else(|| panic!("no row in {pane}: {shown}"));
            // In the overview a row may take two lines.
            let row: Vec<&str> = shown.lines().skip(at).take(if pane == "1" { 2 } else { 1 }).collect();
            let row = row.join(" ");
            assert!(row.contains("billing") || row.contains("audit"), "{pane} at {size:?}: {shown}");
        }
    }
}
