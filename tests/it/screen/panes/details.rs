//! One claim, with everything that is known of it.

use claimtop::app::Msg;
use claimtop::domain::detail::Examined;
use claimtop::domain::value::Value;

use super::super::stage::{SMALL, Stage, TINY, noon};
use super::fleet::{busy, on_duty};
use super::{picture, pictures};

/// The detail of the first claim, once its row was read.
fn found(mut stage: Stage) -> Stage {
    stage.press("enter");
    let row = stage.model.selected_row().expect("a claim").clone();
    let text = |value: &str| Value::Text(value.into());
    let columns = vec![
        ("id".to_owned(), text(&row.shown())),
        ("status".to_owned(), text("claimed")),
        ("claimed_by".to_owned(), text(&row.holder())),
        ("lease_expires_at".to_owned(), Value::Int(1_794_745_200_000)),
        ("payload".to_owned(), text("{\"scene\":\"intro\",\n\"frames\":[1,2,3]}")),
        ("result".to_owned(), Value::Null),
        ("blob".to_owned(), Value::Bytes(vec![0, 255, 7])),
    ];
    let session = vec![("id".to_owned(), text(&row.holder())), ("host".to_owned(), text("web1"))];
    let found = Examined { judged: row.judged, columns, session, now: noon() };
    stage.tell(Msg::Examined { id: row.id, found: Ok(Some(Box::new(found))) });
    stage
}

#[test]
fn the_detail_tells_everything() {
    let mut stage = found(on_duty());
    pictures("detail_found", &mut stage);
    picture("detail_found", &mut stage, TINY);
    stage.press("pagedown");
    picture("detail_scrolled", &mut stage, SMALL);
}

#[test]
fn the_detail_opens_before_its_row_is_read() {
    picture("detail_pending", &mut Stage::on(&busy()).then("enter pagedown"), SMALL);
}

#[test]
fn the_detail_says_that_the_claim_is_gone() {
    let mut stage = Stage::on(&busy()).then("enter pagedown");
    let id = stage.model.selected_row().expect("a claim").id.clone();
    stage.tell(Msg::Examined { id: id.clone(), found: Ok(None) });
    picture("detail_gone", &mut stage, SMALL);
    stage.tell(Msg::Examined { id, found: Err("database is locked".into()) });
    picture("detail_failed", &mut stage, SMALL);
}

#[test]
fn the_detail_of_an_orphan_names_the_missing_session() {
    picture("detail_orphaned", &mut Stage::on(&busy()).then("l l enter"), SMALL);
}

#[test]
fn an_entry_of_the_trail_shows_what_it_changed() {
    let mut stage = on_duty().then("8 j enter");
    picture("entry", &mut stage, SMALL);
    picture("entry", &mut stage, TINY);
}
