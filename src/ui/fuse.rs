//! The fuse: a bar that burns down to the deadline, and then counts how far over it is. Its colour is the verdict's.

use ratatui::style::Style;
use ratatui::text::Span as Piece;

use super::text;
use super::theme::Theme;
use crate::app::row::{Fuse, Row};
use crate::domain::claim::Registry;
use crate::domain::time::Moment;
use crate::domain::verdict::Reason;

/// The bar in `room` columns.
pub(super) fn bar(row: &Row, now: Moment, room: usize, theme: &Theme) -> Piece<'static> {
    let (filled, full, empty) = match row.fuse(now) {
        Fuse::Burning { share, .. } => ((share * room as f64).ceil() as usize, '█', '░'),
        Fuse::Over { share, .. } => (((share * room as f64).ceil() as usize).max(1), '▓', '·'),
        Fuse::Unknown => (0, ' ', '·'),
    };
    let filled = filled.min(room);
    let cells: String =
        std::iter::repeat_n(full, filled).chain(std::iter::repeat_n(empty, room - filled)).collect();
    Piece::styled(cells, theme.set(row.headline()))
}

/// What is left, or by how much it is over: `2m10s left`, `over 11m03s`.
pub(super) fn left(row: &Row, now: Moment, theme: &Theme) -> (String, Style) {
    let style = theme.set(row.headline());
    match row.fuse(now) {
        Fuse::Burning { left, .. } => (format!("{} left", text::whole(left)), style),
        Fuse::Over { by, .. } => (format!("over {}", text::whole(by)), style),
        Fuse::Unknown => ("no limit".into(), theme.dim),
    }
}

/// Why it is in its set, in two words: `silent 7m06s`, `over 11m03s`, `2m10s left`.
pub(super) fn stands(row: &Row, now: Moment, theme: &Theme) -> (String, Style) {
    let style = theme.set(row.headline());
    let silent = || match row.claim().last_heard_of() {
        Some(at) => format!("silent {}", text::whole(now.since(at))),
        None => "never heard of".into(),
    };
    let set = row.headline();
    let reason = row.judged.verdict.reasons.iter().find(|reason| reason.set() == set);
    let said = match reason {
        Some(Reason::ProcessDead) => "process dead".into(),
        Some(Reason::SessionMissing) => match row.claim().registry {
            Registry::Missing => "not registered".into(),
            Registry::None | Registry::Unregistered | Registry::Listed(_) => silent(),
        },
        Some(Reason::SessionStale) => match &row.claim().registry {
            Registry::Listed(session) => match session.beat_at.at() {
                Some(at) => format!("silent {}", text::whole(now.since(at))),
                None => "never beat".into(),
            },
            Registry::None | Registry::Unregistered | Registry::Missing => silent(),
        },
        Some(Reason::HeartbeatSilent) => match row.claim().beat_at.at() {
            Some(at) => format!("silent {}", text::whole(now.since(at))),
            None => silent(),
        },
        Some(Reason::Unreadable) => "unreadable".into(),
        Some(Reason::ClockSkew) => "in the future".into(),
        Some(Reason::NoDeadline) => "no limit".into(),
        Some(Reason::LeaseExpired | Reason::TtlExceeded | Reason::DeadlineNear) | None => {
            return left(row, now, theme);
        }
    };
    (said, style)
}
