//! Help, the palette, the filter as it is written.

use super::super::stage::{MIDDLE, SMALL, Stage, TINY};
use super::fleet::busy;
use super::picture;

fn both(name: &str, stage: &mut Stage) {
    picture(name, stage, SMALL);
    picture(name, stage, TINY);
}

#[test]
fn help_knows_where_you_are_and_every_key() {
    let mut stage = Stage::on(&busy()).then("?");
    both("help", &mut stage);
    picture("help", &mut stage, MIDDLE);
    picture("help_of_sessions", &mut Stage::on(&busy()).then("4 ?"), SMALL);
    stage.press("pagedown pagedown pagedown pagedown");
    picture("help_end", &mut stage, SMALL);
}

#[test]
fn the_palette_is_a_cheat_sheet() {
    let mut stage = Stage::on(&busy()).then(":");
    both("palette", &mut stage);
    stage.write("re");
    stage.press("down");
    picture("palette_found", &mut stage, SMALL);
    stage.write("lease the host is gone");
    picture("palette_reason", &mut stage, SMALL);
}

#[test]
fn the_filter_helps_while_it_is_written() {
    let mut stage = Stage::on(&busy()).then("/");
    both("filter_empty", &mut stage);
    stage.write("mail !worker-3");
    picture("filter_written", &mut stage, SMALL);
    stage.write(" age>soon");
    both("filter_error", &mut stage);
}
