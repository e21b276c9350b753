//! What an act did to other claims, and in spite of itself: triggers and foreign keys may do anything.

use serde::Serialize;
use std::collections::BTreeMap;

use super::bound::BoundBoard;
use super::driver::{ActTarget, Dialect};
use super::image::{Change, Image, RowAt};
use super::watched::BoardAt;
use crate::domain::visible::visible;

/// What an act did beyond the row of its claim, in tables that keep claims.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SideEffects {
    pub other_rows: Vec<OtherRow>,
    /// The claim is still held by the same holder: something put it back.
    pub still_held: bool,
}

/// Another row of a table that keeps claims.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OtherRow {
    pub table: String,
    /// Nothing, if it is known only that there are such rows.
    pub id: Option<String>,
    pub change: &'static str,
}

/// So many ids are named in a sentence.
const NAMED: usize = 5;

impl SideEffects {
    /// What an act on one row did to other rows of tables with claims.
    pub(super) fn beside(
        boards: &[BoardAt<'_>],
        dialect: &dyn Dialect,
        target: &ActTarget<'_>,
        changes: &[Change],
    ) -> SideEffects {
        let own = dialect.at_of(target.table, target.row, &RowAt::Rowid(target.rowid));
        let is_own = |change: &Change| {
            let is_same = match &own {
                RowAt::Rowid(_) => change.at == own,
                RowAt::Key(_) => change.before.as_ref() == Some(target.row),
            };
            is_same && change.table.eq_ignore_ascii_case(&target.table.name)
        };
        SideEffects::of(changes, is_own, &boards.iter().map(BoardAt::board))
    }

    /// Of these changes, those of other rows in the tables of the boards.
    fn of<'a>(
        changes: &[Change],
        is_own: impl Fn(&Change) -> bool,
        boards: &(impl Iterator<Item = &'a BoundBoard> + Clone),
    ) -> SideEffects {
        let mut other_rows = Vec::new();
        for change in changes.iter().filter(|change| !is_own(change)) {
            let mut of_table = boards.clone().filter(|board| board.table.eq_ignore_ascii_case(&change.table));
            let Some(board) = of_table.next() else { continue };
            let (what, image) = match (&change.before, &change.after) {
                (Some(before), None) => ("deleted", Some(before)),
                (None, Some(after)) => ("added", Some(after)),
                (Some(before), Some(_)) => ("changed", Some(before)),
                (None, None) => ("changed", None),
            };
            let id = image.map(|image| id_in(image, board));
            other_rows.push(OtherRow { table: change.table.clone(), id, change: what });
        }
        SideEffects { other_rows, still_held: false }
    }

    pub fn is_empty(&self) -> bool {
        self.other_rows.is_empty() && !self.still_held
    }

    /// What is to be said of them.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.still_held {
            sentences.push("the claim is still held by the same holder: a trigger put it back".to_owned());
        }
        let mut groups: BTreeMap<(&str, &str), Vec<Option<&str>>> = BTreeMap::new();
        for OtherRow { table, id, change } in &self.other_rows {
            groups.entry((table, change)).or_default().push(id.as_deref());
        }
        for ((table, change), ids) in groups {
            let named: Vec<String> = ids.iter().flatten().take(NAMED).map(|id| visible(id)).collect();
            let more = ids.len() - named.len();
            sentences.push(match (named.is_empty(), more) {
                (true, _) => format!(
                    "other rows of {} were {change} as well, by a trigger or a foreign key; which is not known",
                    visible(table)
                ),
                (false, 0) => format!("also {change} in {}: {}", visible(table), named.join(", ")),
                (false, more) => {
                    format!("also {change} in {}: {} and {more} more", visible(table), named.join(", "))
                }
            });
        }
        sentences
    }

    /// The same in one line, if there is anything to say.
    pub fn sentence(&self) -> Option<String> {
        (!self.is_empty()).then(|| self.sentences().join("; "))
    }
}

/// The id of a claim, out of its row: of an id that is no column, what stands first in the row.
fn id_in(image: &Image, board: &BoundBoard) -> String {
    let column = |id: &String| {
        let name = id.strip_prefix("c.")?.trim_matches('"');
        image.iter().find(|(column, _)| column.eq_ignore_ascii_case(name)).and_then(|(_, value)| value.text())
    };
    let parts: Option<Vec<String>> = board.id.iter().map(column).collect();
    let first = || image.iter().next().and_then(|(_, value)| value.text()).unwrap_or_default();
    parts.filter(|parts| !parts.is_empty()).map_or_else(first, |parts| parts.join(","))
}
