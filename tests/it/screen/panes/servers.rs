//! Sources on a server: the state of the link, a standby, rows that may be hidden.

use claimtop::app::Msg;
use claimtop::app::source::{Access, LinkState};
use claimtop::store::StoreError;
use claimtop::store::error::ConnectFailure;
use std::collections::BTreeSet;

use super::super::stage::{MIDDLE, SMALL, Stage, TINY, World, claim, job_board};
use super::fleet::busy;
use super::picture;

const PLACE: &str = "postgres://ann@db.example/app";
const VEIL: &str = "row-level security is active on executor_jobs for the role ann: rows may be hidden; \
    use a role with BYPASSRLS, or a policy that lets it see all";

fn on_server() -> World {
    busy().on_server("prod", PLACE)
}

/// What a poller says of a server with one host that refuses the connection: both stand above it already.
fn refused() -> String {
    let failure = ConnectFailure::of("db.example:5432", "connection refused");
    let why = failure.advising("check that the server runs there").into();
    let error = StoreError::Unreachable { source_name: PLACE.into(), why };
    let whole = "cannot be reached: db.example:5432: connection refused; check that the server runs there";
    assert_eq!(error.to_string(), format!("{PLACE} {whole}"));
    error.brief(&BTreeSet::new())
}

fn both(name: &str, stage: &mut Stage) {
    picture(name, stage, SMALL);
    picture(name, stage, MIDDLE);
}

#[test]
fn a_source_on_a_server_names_server_database_and_user() {
    both("server_live", &mut Stage::on(&on_server()));
}

#[test]
fn a_lost_link_says_since_when_why_and_that_it_is_tried_again() {
    let mut stage = Stage::on(&on_server());
    stage.poll_cannot_reach(&refused());
    stage.later("7s");
    both("server_no_link", &mut stage);
    picture("server_no_link", &mut stage, TINY);

    let mut stage = Stage::waiting_for(&[on_server()]);
    stage.poll_cannot_reach(&refused());
    stage.later("3s");
    both("server_never_there", &mut stage);
}

#[test]
fn a_silent_server_is_stale_until_it_answers_and_nothing_is_done_to_old_rows() {
    let mut stage = Stage::on(&on_server());
    let since = stage.now;
    stage.later("3s");
    assert!(stage.tell(Msg::Silent { source: 0, since }).is_empty());
    both("server_silent", &mut stage);
    assert!(stage.press("r").is_empty());
    assert!(stage.notice().1.contains("what you see is old"), "{}", stage.notice().1);
    stage.poll(&on_server());
    assert_eq!(stage.model.sources[0].link, LinkState::Live);
    assert!(!stage.text().contains("DISCONNECTED since"));
}

#[test]
fn who_is_silent_first_and_fails_then_is_stale_since_the_silence() {
    let mut stage = Stage::on(&on_server());
    let since = stage.now;
    stage.later("3s");
    stage.tell(Msg::Silent { source: 0, since });
    stage.later("7s");
    stage.poll_fails("no answer within 10s");
    assert_eq!(stage.model.sources[0].link.lost_since(), Some(since));
}

#[test]
fn a_paused_screen_is_not_called_stale() {
    let mut stage = Stage::on(&on_server()).then("f");
    let since = stage.now;
    stage.tell(Msg::Silent { source: 0, since });
    assert_eq!(stage.model.sources[0].link, LinkState::Live);
    assert!(stage.text().contains("PAUSED"));
}

#[test]
fn a_standby_shows_its_lag_dims_its_acts_and_refuses_them() {
    let mut stage = Stage::on(&on_server().behind_by("42s"));
    both("server_standby", &mut stage);
    assert!(stage.press("r").is_empty());
    assert!(stage.notice().1.contains("this is a standby"), "{}", stage.notice().1);
    // Promoted, it may be written.
    stage.poll(&on_server());
    assert!(!stage.text().contains("STANDBY"));
    assert_eq!(stage.model.sources[0].access(), Access::Write);
}

#[test]
fn claims_on_a_standby_age_by_what_it_has_heard_of() {
    let behind = Stage::on(&on_server().behind_by("10m"));
    let level = Stage::on(&on_server());
    assert_eq!(level.model.now_of(0).since(behind.model.now_of(0)).to_string(), "10m");
}

#[test]
fn an_empty_board_whose_rows_may_be_hidden_is_not_calm() {
    let empty = World::of([job_board([])]).on_server("prod", PLACE);
    assert!(Stage::on(&empty).text().contains("all calm"));
    let mut veiled = Stage::on(&empty.veiled_by(VEIL));
    assert!(!veiled.text().contains("all calm"));
    both("server_veiled_empty", &mut veiled);
    picture("server_veiled_empty", &mut veiled, TINY);
    let some = World::of([job_board([claim("j-1")])]).on_server("prod", PLACE).veiled_by(VEIL);
    both("server_veiled", &mut Stage::on(&some));
}
