//! Sessions, jobs, events and the trail.

use claimtop::app::Msg;
use claimtop::domain::detail::{HolderActivity, KindTally};
use claimtop::domain::time::Span;
use std::collections::BTreeMap;

use super::super::stage::holders::{kinds, tally};
use super::super::stage::{SMALL, Stage, World, acts, claim, noon, task_board};
use super::fleet::{busy, calm, on_duty, with_lists};
use super::{picture, pictures};

#[test]
fn sessions_show_who_holds_what_and_who_is_gone() {
    pictures("sessions_busy", &mut on_duty().then("4"));
}

#[test]
fn sessions_say_why_there_are_none() {
    let mut stage = Stage::on(&busy()).then("4");
    picture("sessions_loading", &mut stage, SMALL);
    stage.tell(Msg::Holders { source: 0, holders: Ok(Vec::new()) });
    picture("sessions_empty", &mut stage, SMALL);
    stage.tell(Msg::Holders { source: 0, holders: Err("no such table: sessions".into()) });
    picture("sessions_failed", &mut stage, SMALL);
}

#[test]
fn jobs_are_counted_by_kind() {
    pictures("jobs_busy", &mut on_duty().then("5"));
}

#[test]
fn jobs_say_what_each_holder_did_lately() {
    let mut stage = on_duty().then("5");
    let active = |holder: &str, recent: u64| HolderActivity {
        profile: "finalization".into(),
        history: "attempts".into(),
        holder: Some(holder.into()),
        count: 100,
        recent,
        last: Some(noon().minus(Span::seconds(3))),
        what: BTreeMap::new(),
        now: noon(),
    };
    let activity = vec![active("result_processor_2b", 12), active("result_processor_9f\u{202e}", 40)];
    stage.tell(Msg::Kinds { source: 0, kinds: Ok(Vec::new()), activity: activity.clone() });
    picture("jobs_activity_alone", &mut stage, SMALL);
    with_lists(&mut stage);
    stage.tell(Msg::Kinds { source: 0, kinds: Ok(vec![kinds("tasks", [tally("render", 2, 0)])]), activity });
    pictures("jobs_activity", &mut stage);
}

#[test]
fn jobs_that_were_reclaimed_within_an_hour_are_on_the_last_line() {
    let mut stage = Stage::on(&busy()).then("5");
    let reclaimed = |kind: &str, count| KindTally { reclaimed: Some(count), ..tally(kind, 1, 0) };
    let some = vec![kinds("jobs", [reclaimed("run_tsa", 12), reclaimed("build_artifact", 0)])];
    stage.tell(Msg::Kinds { source: 0, kinds: Ok(some), activity: Vec::new() });
    picture("jobs_reclaimed", &mut stage, SMALL);
    let many = vec![kinds("jobs", [reclaimed("run_tsa", 90), reclaimed("build_artifact", 11)])];
    stage.tell(Msg::Kinds { source: 0, kinds: Ok(many), activity: Vec::new() });
    picture("jobs_too_many_reclaims", &mut stage, SMALL);
}

#[test]
fn jobs_say_why_there_are_none() {
    let mut stage = Stage::on(&busy()).then("5");
    picture("jobs_loading", &mut stage, SMALL);
    stage.tell(Msg::Kinds { source: 0, kinds: Ok(Vec::new()), activity: Vec::new() });
    picture("jobs_empty", &mut stage, SMALL);
}

#[test]
fn events_tell_what_entered_and_left() {
    let mut stage = Stage::on(&calm()).then("7");
    picture("events_empty", &mut stage, SMALL);
    stage.later("4s");
    stage.poll(&busy());
    stage.later("4s");
    stage.poll_fails("unable to open database file: /srv/tasks.db");
    stage.later("1m");
    stage.poll(&World::of([task_board([claim("mail-9313").held_by("worker-12").lease_ran_out("5s")])]));
    pictures("events_busy", &mut stage);
}

#[test]
fn the_trail_shows_every_act() {
    pictures("audit_busy", &mut on_duty().then("8 j"));
}

#[test]
fn the_trail_says_why_it_is_empty() {
    let mut stage = Stage::on(&busy()).then("8");
    picture("audit_loading", &mut stage, SMALL);
    stage.tell(acts([]));
    picture("audit_empty", &mut stage, SMALL);
    stage.tell(Msg::Trail(Err("audit.jsonl: permission denied".into())));
    picture("audit_failed", &mut stage, SMALL);
}
