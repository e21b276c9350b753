//! Every pane in every state at four sizes: one picture for each pane and size, with all states below each other. The
//! colours of sixteen are in one picture for each pane; that the selected row can be read is a property.

use claimtop::app::Msg;
use claimtop::app::bulk::{Ready, Unnamed};
use claimtop::app::message::SourcePoll;
use claimtop::app::model::Pane;
use claimtop::domain::recovery::Confirmation;
use claimtop::domain::source_label::{LabelColour, SourceLabel};
use claimtop::domain::tally::{BulkTally, Foreseen};
use claimtop::ui::Theme;
use claimtop::ui::picture::plain;
use claimtop::ui::theme::{Depth, Palette};
use ratatui::buffer::Buffer;
use ratatui::style::Color;

use super::super::stage::{Stage, World, acts};
use super::dialogs::listed;
use super::fleet::{busy, calm, empty, one_dead_host, with_lists};
use super::{assert_aligned, styles};

const SIZES: [(u16, u16); 4] = [(160, 45), (120, 40), (80, 24), (60, 20)];

/// The key of each pane, what opens a dialog in it, and what opens a bulk act.
const PANES: [(Pane, &str, &str, &str); 8] = [
    (Pane::Overview, "1", "j e", "R"),
    (Pane::Claims, "2", "e", "space R"),
    (Pane::Groups, "3", "?", "R"),
    (Pane::Sessions, "4", "p enter", "x"),
    (Pane::Jobs, "5", "enter", "R"),
    (Pane::Locks, "6", "r", "space R"),
    (Pane::Events, "7", "w", "R"),
    (Pane::Audit, "8", "enter", "R"),
];

/// A pane of these sources, with all that it asked for.
fn pane(worlds: &[World], key: &str) -> Stage {
    let mut stage = Stage::of(worlds);
    stage.browse(worlds, key);
    with_lists(&mut stage);
    stage
}

fn with_nothing(key: &str) -> Stage {
    let worlds = [empty()];
    let mut stage = Stage::of(&worlds);
    stage.browse(&worlds, key);
    stage.tell(Msg::Holders { source: 0, holders: Ok(Vec::new()) });
    stage.tell(Msg::Kinds { source: 0, kinds: Ok(Vec::new()), activity: Vec::new() });
    stage.tell(acts([]));
    stage
}

/// First all is well, then a host is dead: the log has something to tell.
fn in_trouble(key: &str) -> Stage {
    let mut stage = Stage::on(&calm());
    stage.later("2s");
    let trouble = [one_dead_host()];
    stage.poll(&trouble[0]);
    stage.browse(&trouble, key);
    with_lists(&mut stage);
    stage
}

/// One source of production, one that is read-only, one that cannot be read.
fn several_sources(key: &str) -> Stage {
    let worlds = [
        busy().named("billing"),
        one_dead_host().named("audit").read_only("asked for in the config"),
        empty().named("search"),
    ];
    let mut stage = Stage::waiting_for(&worlds);
    for (source, world) in worlds.iter().enumerate().take(2) {
        stage.poll_of(source, world);
    }
    let broken = Err("search.db is not a database".into());
    stage.tell(Msg::Polled(vec![SourcePoll { source: 2, poll: broken, events: Vec::new() }]));
    stage.model.sources[0].badge = Some(SourceLabel { text: "prod".into(), colour: LabelColour::Red });
    stage.model.sources[0].confirmation = Confirmation::Always;
    stage.browse(&worlds, key);
    with_lists(&mut stage);
    stage
}

fn filtered(key: &str) -> Stage {
    let worlds = [busy()];
    let mut stage = pane(&worlds, key);
    stage.press("/");
    let wanted = if key == "8" { "action:reclaim" } else { "render" };
    let effects = stage.write(wanted);
    stage.answer_lists(&worlds, effects);
    let effects = stage.press("enter");
    stage.answer_lists(&worlds, effects);
    stage
}

fn in_bulk(key: &str, keys: &str) -> Stage {
    let mut stage = pane(&[one_dead_host()], key);
    stage.press(keys);
    let line = |at: usize| {
        let foreseen = [Foreseen::Done, Foreseen::NeedsName, Foreseen::Skipped][at / 3];
        listed(&format!("taskqueue/tasks/mail-3{at:02}"), foreseen)
    };
    let ready = Ready {
        tally: BulkTally { applied: 3, refused: 6, ..BulkTally::of(9) },
        lines: (0..9).map(line).collect(),
        unnamed: Unnamed { count: 3, holders: vec!["web-3-1".into()] },
        profiles: vec!["taskqueue".into()],
        left_alone: "workers may take 3 at once, 3 within 18m".into(),
        ..Ready::default()
    };
    stage.tell(Msg::BulkReady { question: 1, ready: Ok(ready) });
    stage
}

/// Every state of a pane.
fn states(&(_, key, dialog, bulk): &(Pane, &'static str, &str, &str)) -> Vec<(&'static str, Stage)> {
    let mut waiting = Stage::waiting_for(&[busy()]);
    waiting.press(key);
    let mut lost = pane(&[busy()], key);
    lost.poll_fails("unable to open database file");
    lost.later("42s");
    let mut zoomed = in_trouble("Z");
    zoomed.press(if key == "1" { "l" } else { key });
    vec![
        ("waiting", waiting),
        ("empty", with_nothing(key)),
        ("calm", pane(&[calm()], key)),
        ("trouble", in_trouble(key)),
        ("everything", pane(&[busy()], key)),
        ("several sources", several_sources(key)),
        ("disconnected", lost),
        ("zoomed", zoomed),
        ("small header", pane(&[busy()], key).then("ctrl-e")),
        ("filtered", filtered(key)),
        ("dialog", pane(&[busy()], key).then(dialog)),
        ("bulk", in_bulk(key, bulk)),
    ]
}

fn assert_picture(name: &str, shown: &str) {
    insta::with_settings!({
        prepend_module_to_snapshot => false, omit_expression => true, snapshot_path => "../snapshots/matrix"
    }, {
        insta::assert_snapshot!(name, shown);
    });
}

#[test]
fn every_pane_in_every_state_at_four_sizes() {
    for pane in &PANES {
        let mut states = states(pane);
        for size in SIZES {
            let name = format!("{}_{}x{}", pane.0.title().to_lowercase(), size.0, size.1);
            let mut shown = String::new();
            for (state, stage) in &mut states {
                let buffer = stage.draw(size);
                assert_aligned(&buffer, &name);
                shown += &format!("== {state}\n{}\n", plain(&buffer).trim_end());
            }
            assert_picture(&name, &shown);
        }
    }
}

#[test]
fn every_pane_in_sixteen_colours() {
    for pane in &PANES {
        let theme = Theme::new(Palette::Dark, Depth::Sixteen);
        let mut shown = String::new();
        for (state, stage) in &mut states(pane) {
            shown += &format!("== {state}\n{}", styles(&stage.draw_in(&theme, (120, 40))));
        }
        assert_picture(&format!("{}_sixteen_colours", pane.0.title().to_lowercase()), &shown);
    }
}

/// The cells of the selected row.
fn selected(buffer: &Buffer) -> Vec<(Color, Color, String)> {
    let area = buffer.area;
    let mut cells = Vec::new();
    for y in area.top()..area.bottom() {
        let Some(from) = (area.left()..area.right()).find(|x| buffer[(*x, y)].symbol() == "▸") else {
            continue;
        };
        let background = (buffer[(from, y)].bg, buffer[(from, y)].modifier);
        let row = (from..area.right()).map(|x| &buffer[(x, y)]);
        let row = row.take_while(|cell| (cell.bg, cell.modifier & background.1) == background);
        cells.extend(row.map(|cell| (cell.fg, cell.bg, cell.symbol().to_owned())));
    }
    cells
}

#[test]
fn every_cell_of_the_selected_row_can_be_read_in_sixteen_colours_and_without() {
    let mut seen = 0;
    for pane in &PANES {
        for (state, stage) in &mut states(pane) {
            for (palette, depth) in [
                (Palette::Dark, Depth::Sixteen),
                (Palette::Light, Depth::Sixteen),
                (Palette::ColourBlind, Depth::Sixteen),
                (Palette::Dark, Depth::None),
            ] {
                for size in [SIZES[0], SIZES[2]] {
                    let cells = selected(&stage.draw_in(&Theme::new(palette, depth), size));
                    seen += cells.len();
                    for (text, background, symbol) in cells {
                        // Without colours the terminal swaps its own two.
                        let is_plain = text == Color::Reset && background == Color::Reset;
                        assert!(
                            is_plain || text != background,
                            "{symbol:?} in {:?}, {state}, {palette:?} {depth:?} {size:?}: {text} on {background}",
                            pane.0
                        );
                    }
                }
            }
        }
    }
    assert!(seen > 10_000, "only {seen} selected cells were found");
}
