//! The same words in every theme, and no colour where there must be none.

use claimtop::ui::Theme;
use claimtop::ui::picture::plain;
use claimtop::ui::theme::{Depth, Palette};
use ratatui::style::Color;

use super::super::stage::{SMALL, Stage};
use super::fleet::busy;
use super::styles;

const PALETTES: [(&str, Palette); 3] =
    [("dark", Palette::Dark), ("light", Palette::Light), ("colour_blind", Palette::ColourBlind)];
const DEPTHS: [(&str, Depth); 3] =
    [("true", Depth::True), ("sixteen", Depth::Sixteen), ("none", Depth::None)];

#[test]
fn every_theme_says_the_same_in_its_own_colours() {
    let mut stage = Stage::on(&busy());
    let words = plain(&stage.draw(SMALL));
    let mut seen = std::collections::BTreeSet::new();
    for (palette_name, palette) in PALETTES {
        for (depth_name, depth) in DEPTHS {
            let buffer = stage.draw_in(&Theme::new(palette, depth), SMALL);
            assert_eq!(plain(&buffer), words, "{palette_name} {depth_name}");
            let styles = styles(&buffer);
            let name = format!("theme_{palette_name}_{depth_name}");
            insta::with_settings!({
                prepend_module_to_snapshot => false, omit_expression => true, snapshot_path => "../snapshots"
            }, {
                insta::assert_snapshot!(name, styles);
            });
            assert!(
                seen.insert(styles) || depth == Depth::None,
                "{palette_name} {depth_name} looks like another"
            );
        }
    }
}

#[test]
fn without_colours_no_cell_has_one() {
    for (name, palette) in PALETTES {
        for keys in ["", "enter", "?", "l r", "R", "w", ":", "/", "2", "3", "6", "7"] {
            let buffer = Stage::on(&busy()).then(keys).draw_in(&Theme::new(palette, Depth::None), SMALL);
            let plain = |colour: Color| colour == Color::Reset;
            assert!(buffer.content().iter().all(|cell| plain(cell.fg) && plain(cell.bg)), "{name} {keys}");
        }
    }
}

#[test]
fn the_sixteen_colours_are_the_terminals_own() {
    for (name, palette) in PALETTES {
        let buffer = Stage::on(&busy()).draw_in(&Theme::new(palette, Depth::Sixteen), SMALL);
        let own = |colour: Color| !matches!(colour, Color::Rgb(..) | Color::Indexed(_));
        assert!(buffer.content().iter().all(|cell| own(cell.fg) && own(cell.bg)), "{name}");
    }
}
