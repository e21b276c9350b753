//! Where the claims are that a filter looks for, by the sets of each board.

use super::reader::Reader;
use super::rowset::RowSet;
use super::watch::Since;
use crate::domain::board_id::BoardId;
use crate::domain::time::Moment;
use crate::domain::verdict::Reasons;
use crate::store::found::{FoundBoard, RowRef};
use crate::store::options::Effort;
use crate::store::watched;
use crate::store::{Filter, StoreError};

impl Reader {
    /// The claims of a filter on every board that can be acted on: the most urgent first, then the worst.
    pub fn members(&mut self, filter: &Filter) -> Result<Vec<FoundBoard>, StoreError> {
        self.follow_the_path()?;
        let ids = watched::ids(&self.watched, filter.board.as_deref());
        self.in_one_transaction("looking for claims", |reader, now, since| {
            let mut found = Vec::new();
            for id in &ids {
                reader.refresh_board(id, now, since)?;
                let Some(watch) = reader.board(id).filter(|watch| watch.board.is_addressable()) else {
                    continue;
                };
                let sets = watch.sets();
                let (mut shown, mut rows) = (RowSet::default(), Vec::new());
                for reasons in filter.wanted() {
                    let mut some = watch.worst_of(&reader.connection, reasons, &sets, now, usize::MAX)?;
                    watch.urgent_first(&reader.connection, &mut some, now)?;
                    take_new(some, &mut shown, &mut rows);
                }
                found.push(FoundBoard { board: id.clone(), rows });
            }
            Ok(found)
        })
    }

    /// The claims of a board in the sets of a filter, worst first; nothing for a view.
    pub(super) fn worst(&mut self, id: &BoardId, filter: &Filter) -> Result<Option<Vec<RowRef>>, StoreError> {
        self.follow_the_path()?;
        // Of a holder or a kind nobody knows yet how many are among them.
        let is_narrowed = filter.holder.is_some() || filter.kind.is_some();
        let most = filter.limit.filter(|_| !is_narrowed).unwrap_or(usize::MAX);
        self.in_one_transaction("listing", |reader, now, since| {
            match reader.board(id) {
                Some(watch) if !watch.board.is_addressable() => return Ok(None),
                Some(_) if !filter.sets.is_empty() => {}
                _ => return Ok(Some(Vec::new())),
            }
            reader.refresh_board(id, now, since)?;
            let Some(watch) = reader.board(id) else { return Ok(Some(Vec::new())) };
            let sets = watch.sets();
            let (mut shown, mut rows) = (RowSet::default(), Vec::new());
            for set in &filter.sets {
                let some = watch.worst_of(&reader.connection, Reasons::of(*set), &sets, now, most)?;
                take_new(some, &mut shown, &mut rows);
            }
            Ok(Some(rows))
        })
    }

    /// Brings the sets of a board up to now, if its rows can be told apart.
    fn refresh_board(&mut self, id: &BoardId, now: Moment, since: Since) -> rusqlite::Result<()> {
        let effort = Effort { rows: 0, ..self.options.effort };
        let Reader { watched, connection, .. } = self;
        let mut boards = watched.iter_mut().flat_map(|watched| &mut watched.boards);
        let watch = boards.find(|watch| watch.board.board_id == *id && watch.board.is_addressable());
        let Some(watch) = watch else { return Ok(()) };
        // Bound anew, it knows nothing yet.
        let since = if watch.is_refreshed() { since } else { Since::Written };
        watch.refresh(connection, now, since, effort)
    }
}

fn take_new(some: Vec<i64>, shown: &mut RowSet, rows: &mut Vec<RowRef>) {
    for rowid in some {
        if !shown.contains(rowid) {
            shown.insert(rowid);
            rows.push(RowRef::Number(rowid));
        }
    }
}
