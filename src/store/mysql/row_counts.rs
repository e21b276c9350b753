//! How many rows a session has written: triggers show in that, whoever may see them.

use crate::mysql::link::Flavor;
use crate::mysql::{Link, MyError};
use crate::store::image::Change;

/// Rows by what was done to them. Those that foreign keys take along are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RowCounts {
    added: u64,
    changed: u64,
    deleted: u64,
}

const COUNTS: &str =
    "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_write', 'Handler_update', 'Handler_delete')";

impl RowCounts {
    pub(super) fn read(link: &mut Link) -> Result<RowCounts, MyError> {
        let rows = link.query(COUNTS, Vec::new())?;
        let count = |name: &str| {
            let row = rows.iter().find(|row| row.text(0).is_some_and(|text| text.eq_ignore_ascii_case(name)));
            row.and_then(|row| row.text(1)?.parse().ok()).unwrap_or(0)
        };
        // MySQL counts the rows of its own temporary tables along.
        let counts_added = link.flavor() == Flavor::MariaDb;
        let added = if counts_added { count("Handler_write") } else { 0 };
        Ok(RowCounts { added, changed: count("Handler_update"), deleted: count("Handler_delete") })
    }

    /// Those that some changes name; `each` says how often the server counts a row of a table.
    pub(super) fn of(changes: &[Change], each: impl Fn(&str) -> u64) -> RowCounts {
        let mut all = RowCounts::default();
        for change in changes {
            let count = each(&change.table);
            match (&change.before, &change.after) {
                (None, Some(_)) => all.added += count,
                (Some(_), None) => all.deleted += count,
                (Some(_), Some(_)) => all.changed += count,
                (None, None) => {}
            }
        }
        all
    }

    pub(super) fn since(self, before: RowCounts) -> RowCounts {
        RowCounts {
            added: self.added.saturating_sub(before.added),
            changed: self.changed.saturating_sub(before.changed),
            deleted: self.deleted.saturating_sub(before.deleted),
        }
    }

    pub(super) fn exceeds(self, named: RowCounts) -> bool {
        self.added > named.added || self.changed > named.changed || self.deleted > named.deleted
    }
}
