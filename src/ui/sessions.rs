//! The sessions: who holds claims, when they were last heard of, whether their process lives.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::table::{Cell, TableColumn, TableContent, draw as draw_table, fixed, right, share};
use super::theme::Theme;
use super::view::View;
use super::{header, text};
use crate::app::beats::Beat;
use crate::app::item::Item;
use crate::app::lists::holder_item;
use crate::app::message::ClickTarget;
use crate::app::model::{Model, Pane};
use crate::domain::detail::Holder;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::domain::verdict::Set;
use crate::domain::visible::{safe, visible};

const COLUMNS: &[TableColumn] = &[
    fixed("STATE", 9, 2),
    share("SESSION", 10, 4, 0),
    right("CLAIMS", 6, 1),
    right("LAST BEAT", 9, 3),
    right("STARTED", 9, 6),
    right("PID", 8, 5),
    share("HOST", 6, 2, 7),
    fixed("PROCESS", 8, 4),
    share("EVIDENCE", 14, 5, 8),
];

pub(super) fn draw(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let lines = model.holder_lines();
    if lines.is_empty() {
        let failed = model.holders.values().find_map(|holders| holders.as_ref().err());
        let said = match failed {
            Some(why) => safe(why),
            None if model.holders.is_empty() => {
                header::waiting(model.shown_sources().map(|(_, source)| source))
            }
            None if !model.query.is_empty() => "no session passes the filter".into(),
            None => "these systems keep no list of sessions, and their claims name no process".into(),
        };
        Line::styled(format!("  {}", text::clip(&said, usize::from(area.width))), theme.dim)
            .render(area, buffer);
        return;
    }
    let items: Vec<Item> = lines.iter().map(|(source, holder)| holder_item(*source, holder)).collect();
    let listing = TableContent::of(model, Pane::Sessions, COLUMNS, &items);
    draw_table(&listing, view, theme, area, buffer, |at, _| {
        let (source, holder) = lines[at];
        (cells(model, source, theme, holder), Some(ClickTarget::Item(items[at].clone())))
    });
}

fn cells(model: &Model, source: usize, theme: &Theme, holder: &Holder) -> Vec<Cell> {
    let now = model.now_of(source);
    let ago = |at: Option<Moment>| text::span(at.map(|at| now.since(at)));
    let (state, style) = match model.beat(source, holder, now) {
        Beat::Silent => ("✗ silent", theme.set(Set::Orphaned)),
        Beat::Late => ("~ late", theme.set(Set::Expiring)),
        Beat::Beats => ("✓ beats", theme.set(Set::Healthy)),
        Beat::Unknown => ("? unknown", theme.dim),
    };
    let name = holder.id.visible();
    let name = model.source_name(source).map_or(name.clone(), |source| format!("{source}·{name}"));
    let pid = match &holder.worker.pid {
        Value::Null => "–".into(),
        pid => pid.visible(),
    };
    let held = if holder.claims > 0 { theme.strong } else { theme.dim };
    vec![
        Cell::new(state, style),
        Cell::new(name, theme.strong),
        Cell::new(text::number(holder.claims), held),
        Cell::new(ago(holder.beat_at.at()), theme.text),
        Cell::new(ago(holder.started_at.at()), theme.dim),
        Cell::new(pid, theme.text),
        Cell::new(holder.worker.host.as_deref().map_or_else(|| "–".into(), visible), theme.dim),
        Cell::new(holder.worker.process.as_str(), theme.process(holder.worker.process)),
        Cell::sentence(holder.worker.evidence.clone().unwrap_or_default(), theme.dim),
    ]
}
