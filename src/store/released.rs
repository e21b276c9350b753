//! What a row says once it is no claim any more.

use super::named_params::NamedParams;
use super::{Reader, StoreError};
use crate::domain::board_id::BoardId;
use crate::domain::value::Key;
use crate::store::driver::QueryRows;

/// A job that nobody holds any more, as its own row tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Released {
    /// The state of the backlog that it is in: `queued`, `dead`, or another that the profile counts.
    pub state: String,
    /// The error that is written beside it.
    pub error: Option<String>,
}

impl Reader {
    /// What the row of a job says that nobody holds any more, where the profile knows the state it is in.
    pub fn released(
        &mut self,
        profile: &str,
        board: &str,
        key: &Key,
    ) -> Result<Option<Released>, StoreError> {
        let id = BoardId::new(profile, board);
        self.look("looking at what became of a claim", |look| {
            let Some(watch) = look.board(&id) else { return Ok(None) };
            let (board, rows) = (watch.bound(), watch.rows());
            let Some(backlog) = board.backlog.as_ref().filter(|backlog| backlog.from == board.from) else {
                return Ok(None);
            };
            let dialect = look.connection.dialect();
            let mut states: Vec<_> = backlog.states.iter().collect();
            states.sort_by_key(|(state, _)| rank(state));
            let mut columns = vec![dialect.selected(board.error.as_deref().unwrap_or("NULL"))];
            columns.extend(states.iter().map(|(_, predicate)| dialect.selected(&format!("({predicate})"))));
            let mut params = NamedParams::default();
            let same = dialect.has_key(board, &key.0, &mut params);
            params.extend(rows.clock(board, look.now));
            let sql = format!("SELECT {} FROM {} WHERE {same}", columns.join(", "), backlog.from);
            let found = look.connection.first("looking at what became of a claim", &sql, &params, |row| {
                let found = states.iter().enumerate().find(|(at, _)| row.is_true(at + 1));
                found.map(|(_, (state, _))| Released { state: (*state).clone(), error: row.text(0) })
            })?;
            Ok(found.flatten())
        })
    }
}

/// `dead` before `queued`, and both before what a profile counts besides.
fn rank(state: &str) -> u8 {
    match state {
        "dead" => 0,
        "queued" => 1,
        _ => 2,
    }
}
