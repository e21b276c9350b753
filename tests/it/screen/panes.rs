//! Every pane in every state, at every size that matters: text and style.
//!
//! A picture is the screen as text and, below it, the style of each line as runs of columns; what
//! has the plain style of text is left out. `INSTA_UPDATE=always` paints them anew: look at them.

mod audit;
mod claims;
mod details;
mod dialogs;
pub mod fleet;
mod groups;
mod lists;
mod matrix;
mod notices;
mod overview;
mod read_only;
mod replay;
mod servers;
mod sizes;
mod themes;
mod untrusted_text;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr;

use super::stage::{LARGE, MIDDLE, SMALL, Stage};

/// Compares the screen with its picture.
fn picture(name: &str, stage: &mut Stage, size: (u16, u16)) {
    let buffer = stage.draw(size);
    assert_aligned(&buffer, name);
    let shown = format!("{}\nstyles:\n{}", claimtop::ui::picture::plain(&buffer), styles(&buffer));
    let name = format!("{name}_{}x{}", size.0, size.1);
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, shown);
    });
}

/// The picture at all three sizes.
fn pictures(name: &str, stage: &mut Stage) {
    for size in [SMALL, MIDDLE, LARGE] {
        picture(name, stage, size);
    }
}

/// Every line is exactly as wide as the screen, and no cell holds anything that acts on a terminal.
fn assert_aligned(buffer: &Buffer, name: &str) {
    let area = buffer.area;
    for y in area.top()..area.bottom() {
        let mut x = area.left();
        while x < area.right() {
            let symbol = buffer[(x, y)].symbol();
            assert!(
                !symbol.chars().any(claimtop::domain::visible::is_deceptive),
                "{name}: {symbol:?} at {x},{y}"
            );
            x += u16::try_from(symbol.width().max(1)).expect("a width");
        }
        assert_eq!(x, area.right(), "{name}: line {y} is too wide");
    }
}

/// The styles, line by line; lines that look the same stand together.
fn styles(buffer: &Buffer) -> String {
    let area = buffer.area;
    let mut all: Vec<(u16, u16, String)> = Vec::new();
    for y in area.top()..area.bottom() {
        let runs = runs(buffer, y);
        match all.last_mut() {
            Some((_, to, known)) if *known == runs => *to = y,
            _ => all.push((y, y, runs)),
        }
    }
    let mut out = String::new();
    for (from, to, runs) in all.into_iter().filter(|(_, _, runs)| !runs.is_empty()) {
        let lines = if from == to { from.to_string() } else { format!("{from}-{to}") };
        let _ = writeln!(out, "{lines}:{runs}");
    }
    out
}

fn runs(buffer: &Buffer, y: u16) -> String {
    let area = buffer.area;
    let plain = String::from("#d8dee9");
    let mut all: Vec<(u16, u16, String)> = Vec::new();
    for x in area.left()..area.right() {
        let style = look(&buffer[(x, y)]);
        match all.last_mut() {
            Some((_, to, known)) if *known == style => *to = x + 1,
            _ => all.push((x, x + 1, style)),
        }
    }
    let told = all.into_iter().filter(|(_, _, style)| *style != plain && !style.is_empty());
    told.fold(String::new(), |out, (from, to, style)| format!("{out} {from}..{to} {style};"))
}

/// A cell's style in a few words: `#f07178 on #2e3748 bold`.
fn look(cell: &Cell) -> String {
    let mut words = Vec::new();
    if cell.fg != Color::Reset {
        words.push(colour(cell.fg));
    }
    if cell.bg != Color::Reset {
        words.push(format!("on {}", colour(cell.bg)));
    }
    for (modifier, word) in
        [(Modifier::BOLD, "bold"), (Modifier::DIM, "dim"), (Modifier::REVERSED, "reversed")]
    {
        if cell.modifier.contains(modifier) {
            words.push(word.into());
        }
    }
    words.join(" ")
}

fn colour(colour: Color) -> String {
    match colour {
        Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
        other => other.to_string().to_lowercase(),
    }
}
