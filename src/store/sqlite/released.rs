//! What a row says once it is no claim any more.

use super::cell::{cell, to_sql};
use super::reader::Reader;
use super::run::{bind_known, now_value};
use crate::domain::value::{Key, Value};
use crate::store::StoreError;
use crate::store::released::{Released, worst_first};

impl Reader {
    /// As on PostgreSQL: see [`crate::store::Reader::released`].
    pub fn released(
        &mut self,
        profile: &str,
        board: &str,
        key: &Key,
    ) -> Result<Option<Released>, StoreError> {
        self.follow_the_path()?;
        self.in_one_transaction("looking at what became of a claim", |reader, now, _| {
            let Some(watch) = reader.board_named(profile, board) else { return Ok(None) };
            let board = &watch.board;
            let Some(backlog) = board.backlog.as_ref().filter(|backlog| backlog.from == board.from) else {
                return Ok(None);
            };
            let mut states: Vec<_> = backlog.states.iter().collect();
            worst_first(&mut states);
            let columns: String = states.iter().map(|(_, predicate)| format!(", ({predicate})")).collect();
            let mut values = vec![(":now".to_owned(), now_value(board, now))];
            let mut same = Vec::new();
            for (at, (id, part)) in board.id.iter().zip(&key.0).enumerate() {
                same.push(format!("{id} IS :key{at}"));
                values.push((format!(":key{at}"), to_sql(part)));
            }
            let error = board.error.as_deref().unwrap_or("NULL");
            let sql = format!("SELECT {error}{columns} FROM {} WHERE {}", backlog.from, same.join(" AND "));
            let mut statement = reader.connection.prepare_cached(&sql)?;
            bind_known(&mut statement, &values)?;
            let mut rows = statement.raw_query();
            let Some(row) = rows.next()? else { return Ok(None) };
            let holds = |at: usize| matches!(cell(row, at + 1), Value::Int(flag) if flag != 0);
            let found = states.iter().enumerate().find(|(at, _)| holds(*at));
            let error = cell(row, 0).text();
            Ok(found.map(|(_, (state, _))| Released { state: (*state).clone(), error }))
        })
    }
}
