//! The fuse: a bar that burns down to the deadline, and then counts how far over it is.

use ratatui::style::Style;
use ratatui::text::Span as Piece;

use super::text;
use super::theme::Theme;
use crate::app::row::{Fuse, Row};
use crate::domain::time::Moment;
use crate::domain::verdict::Set;

/// The bar in `room` columns.
pub fn bar(row: &Row, now: Moment, room: usize, theme: &Theme) -> Piece<'static> {
    let (style, filled, full, empty) = match row.fuse(now) {
        Fuse::Burning { share, .. } => {
            let cells = (share * room as f64).ceil() as usize;
            (burning(row, theme), cells, '█', '░')
        }
        Fuse::Over { share, .. } => {
            let cells = ((share * room as f64).ceil() as usize).max(1);
            (theme.set(Set::Stale), cells, '▓', '·')
        }
        Fuse::Unknown => (theme.dim, 0, ' ', '·'),
    };
    let filled = filled.min(room);
    let cells: String =
        std::iter::repeat_n(full, filled).chain(std::iter::repeat_n(empty, room - filled)).collect();
    Piece::styled(cells, style)
}

/// What is left, or by how much it is over: `2m10s`, `+11m03s`.
pub fn left(row: &Row, now: Moment, theme: &Theme) -> (String, Style) {
    match row.fuse(now) {
        Fuse::Burning { left, .. } => (text::whole(left), burning(row, theme)),
        Fuse::Over { by, .. } => (format!("+{}", text::whole(by)), theme.set(Set::Stale)),
        Fuse::Unknown => ("no limit".into(), theme.dim),
    }
}

fn burning(row: &Row, theme: &Theme) -> Style {
    if row.judged.verdict.is_in(Set::Expiring) { theme.set(Set::Expiring) } else { theme.set(Set::Healthy) }
}
