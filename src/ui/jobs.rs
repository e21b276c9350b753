//! The kinds of work: how many run, how long they may, how many wait and how many are dead.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::table::{
    Cell, SOURCE, SourceColumns, TableColumn, TableContent, draw as draw_table, right, share,
};
use super::theme::Theme;
use super::view::View;
use super::{activity, header, text};
use crate::app::item::Item;
use crate::app::lists::{KindLine, kind_item};
use crate::app::message::ClickTarget;
use crate::app::model::{Model, Pane};
use crate::domain::detail::TOO_MANY;
use crate::domain::verdict::Set;
use crate::domain::visible::{safe, visible};

const COLUMNS: &[TableColumn] = &[
    share("BOARD", 8, 2, 3),
    share("KIND", 10, 3, 0),
    right("RUNNING", 8, 0),
    right("STALE", 7, 2),
    right("ORPHANED", 8, 5),
    right("MAY TAKE", 8, 6),
    right("OVERRUN", 8, 4),
    right("QUEUED", 8, 1),
    right("DEAD", 7, 2),
    right("WAITS SINCE", 11, 7),
    share(SOURCE, 8, 2, 0),
];

pub(super) fn draw(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let area = activity::draw(model, theme, area, buffer);
    let lines = model.kind_lines();
    if lines.is_empty() {
        let failed = model.kinds.values().find_map(|kinds| kinds.as_ref().err());
        let said = match failed {
            Some(why) => safe(why),
            None if model.kinds.is_empty() => {
                header::waiting(model.shown_sources().map(|(_, source)| source))
            }
            None => "nothing runs and nothing waits".into(),
        };
        Line::styled(format!("  {}", text::clip(&said, usize::from(area.width))), theme.dim)
            .render(area, buffer);
        return;
    }
    let area = draw_reclaims(&lines, theme, area, buffer);
    let items: Vec<Item> = lines.iter().map(kind_item).collect();
    let columns = SourceColumns::new(model, COLUMNS);
    let listing = TableContent::of(model, Pane::Jobs, &columns.columns, &items);
    draw_table(&listing, view, theme, area, buffer, |at, _| {
        (columns.cells(cells(model, theme, &lines[at])), Some(ClickTarget::Item(items[at].clone())))
    });
}

/// Jobs that were reclaimed within the last hour, on the last line of the pane; returns what is left of the area.
fn draw_reclaims(lines: &[KindLine<'_>], theme: &Theme, area: Rect, buffer: &mut Buffer) -> Rect {
    let mut kinds: Vec<(u64, String)> = lines
        .iter()
        .filter_map(|line| Some((line.tally.reclaimed.filter(|count| *count > 0)?, line)))
        .map(|(count, line)| (count, line.tally.kind.as_deref().map_or_else(|| "–".into(), visible)))
        .collect();
    let total: u64 = kinds.iter().map(|(count, _)| count).sum();
    if total == 0 || area.height < 3 {
        return area;
    }
    kinds.sort_by(|one, other| other.cmp(one));
    let kinds: Vec<String> =
        kinds.iter().map(|(count, kind)| format!("{} {kind}", text::number(*count))).collect();
    let (word, style) = match total > TOO_MANY {
        true => ("TOO MANY RECLAIMS", theme.set(Set::Stale)),
        false => ("reclaimed", theme.dim),
    };
    let said = format!("  {word} {} within an hour: {}", text::number(total), kinds.join(", "));
    let [rest, last] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(area);
    Line::styled(text::clip(&said, usize::from(area.width)), style).render(last, buffer);
    rest
}

fn cells(model: &Model, theme: &Theme, line: &KindLine<'_>) -> Vec<Cell> {
    let tally = line.tally;
    let now = model.now_of(line.source);
    let count = |count: u64, loud: ratatui::style::Style| {
        let about = if line.at_least && count > 0 { "≥" } else { "" };
        Cell::new(format!("{about}{}", text::number(count)), if count > 0 { loud } else { theme.dim })
    };
    let overrun = tally.overrun.map_or_else(|| "–".into(), |times| format!("{times:.1}×"));
    let late = tally.overrun.is_some_and(|times| times >= 1.0);
    vec![
        Cell::new(visible(line.board), theme.dim),
        Cell::new(tally.kind.as_deref().map_or_else(|| "–".into(), visible), theme.strong),
        count(tally.running, theme.text),
        count(tally.stale, theme.set(Set::Stale)),
        count(tally.orphaned, theme.set(Set::Orphaned)),
        Cell::new(text::span(tally.ttl), theme.dim),
        Cell::new(overrun, if late { theme.set(Set::Stale) } else { theme.dim }),
        count(tally.queued, theme.text),
        count(tally.dead, theme.set(Set::Orphaned)),
        Cell::new(text::span(tally.oldest_queued.map(|at| now.since(at))), theme.dim),
        Cell::new(model.name_of(line.source), theme.dim),
    ]
}
