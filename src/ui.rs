//! The screen: one file per region. Drawing decides nothing and changes nothing but the [`View`],
//! which remembers where things stood.
//!
//! ```text
//! ┌───────────────────────────────────────────────┐
//! │ header    sources with their state, the clock │
//! │           causes, or what is lost             │
//! │           the sets, counted, with their past  │
//! │ tabs      1 Overview  2 Claims  3 Sessions .. │
//! ├───────────────┬───────────────┬───────────────┤
//! │ overview      │   stale       │   detail of   │   claims, locks: lists of claims
//! │   orphaned    ├───────────────┤   the         │   sessions, jobs, events, audit
//! │               │   expiring    │   selected    │
//! ├───────────────┴───────────────┴───────────────┤   over it: detail, dialog, palette, help
//! │ timeline  last signs of life, now, deadlines  │
//! ├───────────────────────────────────────────────┤
//! │ scrubber  in a replay: the whole recording    │
//! │ sentence  why the selected row is where it is │
//! │ notice    what came of the last key           │
//! │ footer    the keys that matter here           │
//! └───────────────────────────────────────────────┘
//! ```
//!
//! Every string of a database comes through [`crate::domain::visible`]; nothing else here may print
//! one.

mod activity;
mod audit;
mod backtest;
mod bulk;
mod claim_list;
mod dead;
mod detail;
mod dialog;
mod events;
mod footer;
mod fuse;
mod groups;
mod header;
mod help;
mod jobs;
mod overview;
mod overview_row;
mod palette;
pub mod picture;
mod popup;
mod scrubber;
mod sessions;
mod source_list;
mod source_strip;
mod table;
mod text;
pub mod theme;
mod timeline;
mod view;
mod welcome;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};

use crate::app::model::{Model, Pane};
use crate::app::overlay::Overlay;
pub use theme::Theme;
pub use view::View;

/// Draws the whole screen.
pub fn draw(model: &Model, view: &mut View, theme: &Theme, frame: &mut Frame<'_>) {
    let area = frame.area();
    view.begin();
    render(model, view, theme, area, frame.buffer_mut());
    if let Some(at) = view.cursor {
        frame.set_cursor_position(at);
    }
}

/// The same on a buffer: for pictures and tests.
pub fn render(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    buffer.set_style(area, theme.text);
    if area.width < 2 || area.height < 1 {
        return;
    }
    let header = header::height(model, area);
    let tabs = u16::from(area.height >= 8);
    let sentence = u16::from(area.height >= 20);
    let notice = u16::from(area.height >= 7);
    let footer = u16::from(area.height >= 5);
    let scrubber = scrubber::height(model, area);
    let [header, tabs, scrubber, sentence, notice, footer] =
        [header, tabs, scrubber, sentence, notice, footer].map(Constraint::Length);
    let [top, tab_line, body, scrubber, sentence_line, notice_line, footer_line] =
        Layout::vertical([header, tabs, Constraint::Min(1), scrubber, sentence, notice, footer]).areas(area);
    header::draw(model, view, theme, (top, area), buffer);
    if tab_line.height == 1 {
        header::draw_tabs(model, view, theme, tab_line, buffer);
    }
    draw_pane(model, view, theme, body, buffer);
    scrubber::draw(model, theme, scrubber, buffer);
    footer::draw_sentence(model, theme, sentence_line, buffer);
    footer::draw_notice(model, theme, (notice_line, sentence_line), buffer);
    footer::draw_keys(model, view, theme, footer_line, buffer);
    for overlay in &model.overlay {
        draw_overlay(model, view, theme, overlay, (area, body, notice_line), buffer);
    }
}

fn draw_pane(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    if model.sources.is_empty() {
        welcome::draw(theme, area, buffer);
        return;
    }
    match model.pane {
        Pane::Overview => overview::draw(model, view, theme, area, buffer),
        Pane::Claims => claim_list::draw_claims(model, view, theme, area, buffer),
        Pane::Locks => claim_list::draw_locks(model, view, theme, area, buffer),
        Pane::Groups => groups::draw(model, view, theme, area, buffer),
        Pane::Sessions => sessions::draw(model, view, theme, area, buffer),
        Pane::Jobs => jobs::draw(model, view, theme, area, buffer),
        Pane::Events => events::draw(model, view, theme, area, buffer),
        Pane::Audit => audit::draw(model, view, theme, area, buffer),
        Pane::Backtest => backtest::draw(model, view, theme, area, buffer),
    }
}

fn draw_overlay(
    model: &Model,
    view: &mut View,
    theme: &Theme,
    overlay: &Overlay,
    (area, body, notice_line): (Rect, Rect, Rect),
    buffer: &mut Buffer,
) {
    // A dialog hides the rows, so keys do not act on them.
    match overlay {
        Overlay::Filter(input) => footer::draw_filter(model, view, theme, input, notice_line, buffer),
        Overlay::Help { scroll } => {
            // The first line shows whether the data is outdated.
            let first = u16::from(area.height > 10);
            let below = Rect { y: area.y + first, height: area.height - first, ..area };
            help::draw(model, view, theme, *scroll, below, buffer);
        }
        Overlay::Sources { scroll } => source_list::draw(model, view, theme, *scroll, area, buffer),
        Overlay::Palette(palette) => palette::draw(model, view, theme, palette, area, buffer),
        Overlay::Detail(detail) => detail::draw(model, view, theme, detail, body, buffer),
        Overlay::Confirm(confirm) => dialog::draw_confirm(model, view, theme, confirm, area, buffer),
        Overlay::Undo(undo) => dialog::draw_undo(model, view, theme, undo, area, buffer),
        Overlay::InBulk(bulk) => bulk::draw(model, view, theme, bulk, area, buffer),
        Overlay::Dead(dead) => dead::draw(model, view, theme, dead, body, buffer),
        Overlay::Save => dialog::draw_save(view, theme, area, buffer),
        Overlay::Entry { line, scroll } => audit::draw_entry(view, theme, line, *scroll, body, buffer),
    }
}
