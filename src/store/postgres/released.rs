//! What a row says once it is no claim any more.

use super::cell::{is_true, text};
use super::named_params::NamedParams;
use super::reader::Reader;
use super::watch::query;
use crate::domain::value::Key;
use crate::store::StoreError;
use crate::store::released::{Released, worst_first};

impl Reader {
    /// As on SQLite: see [`crate::store::Reader::released`].
    pub fn released(
        &mut self,
        profile: &str,
        board: &str,
        key: &Key,
    ) -> Result<Option<Released>, StoreError> {
        self.reading("looking at what became of a claim", |link, watched, now| {
            let watched = watched.iter().find(|watched| watched.name == profile);
            let watch = watched.and_then(|one| one.boards.iter().find(|watch| watch.board.name == board));
            let Some(watch) = watch else { return Ok(None) };
            let board = &watch.board;
            let Some(backlog) = board.backlog.as_ref().filter(|backlog| backlog.from == board.from) else {
                return Ok(None);
            };
            let mut states: Vec<_> = backlog.states.iter().collect();
            worst_first(&mut states);
            let columns: String =
                states.iter().map(|(_, predicate)| format!(", ({predicate})::text")).collect();
            let mut params = NamedParams::default();
            let same = watch.has_key(&key.0, &mut params);
            params.extend(watch.clock(now));
            let error = board.error.as_ref().map_or("NULL".into(), |error| format!("({error})::text"));
            let sql = format!("SELECT {error}{columns} FROM {} WHERE {same}", backlog.from);
            let rows = query(link, &params, &sql)?;
            let Some(row) = rows.first() else { return Ok(None) };
            let found = states.iter().enumerate().find(|(at, _)| is_true(row, at + 1));
            Ok(found.map(|(_, (state, _))| Released { state: (*state).clone(), error: text(row, 0) }))
        })
    }
}
