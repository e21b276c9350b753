//! What a screen asks beyond a poll: a page of a board, small boards as a whole, one claim with all its
//! columns.

use super::conditions::Narrowed;
use super::driver::Failed;
use super::look::Look;
use super::named_params::NamedParams;
use super::schema::{Table, quoted};
use super::watched::WatchedBoard;
use super::{Reader, StoreError};
use crate::domain::board_id::BoardId;
use crate::domain::detail::{Examined, Page, PageRequest, Whole};
use crate::domain::snapshot::{Judged, Mark};
use crate::domain::value::Value;
use crate::store::driver::QueryRows;

impl Reader {
    /// One page of a board.
    pub fn page(&mut self, request: &PageRequest) -> Result<Page, StoreError> {
        let id = BoardId::new(&request.profile, &request.board);
        self.look("reading a page", |look| {
            let empty = Page { claims: Vec::new(), now: look.now, is_first: true, is_last: true };
            let Some(watch) = look.board(&id) else { return Ok(empty) };
            let narrowed = watch.rows().narrowed(watch.bound(), &request.conditions, look.now);
            let Narrowed { sql: mut condition, mut params, .. } = narrowed;
            match watch.rows().page(&request.from, request.rows, &mut params) {
                Some(page) => {
                    condition += &page;
                    let claims = look.claims("reading a page", watch, &condition, params)?;
                    Ok(Page::of(request, claims, look.now))
                }
                // Rows without an order: their beginning is all there is to see.
                None => {
                    condition += &format!(" LIMIT {}", request.rows);
                    Ok(Page { claims: look.claims("reading a page", watch, &condition, params)?, ..empty })
                }
            }
        })
    }

    /// Every board of at most `most` claims, read whole.
    pub fn whole(&mut self, most: usize) -> Result<Vec<Whole>, StoreError> {
        let limit = format!(" LIMIT {}", most.saturating_add(1));
        self.look("reading small boards", |look| {
            let mut all = Vec::new();
            for watch in look.watches().into_iter().filter(|watch| watch.total() <= most as u64) {
                let claims = look.claims("reading small boards", watch, &limit, NamedParams::default())?;
                if claims.len() <= most {
                    let id = &watch.bound().board_id;
                    all.push(Whole { profile: id.profile().into(), board: id.board().into(), claims });
                }
            }
            Ok(all)
        })
    }

    /// The claim at a mark, with every column, if it is still the one with this id.
    pub fn examine(
        &mut self,
        profile: &str,
        board: &str,
        mark: &Mark,
        address: &str,
    ) -> Result<Option<Examined>, StoreError> {
        let id = BoardId::new(profile, board);
        self.look("looking at a claim", |look| {
            let Some(watch) = look.board(&id) else { return Ok(None) };
            let mut params = NamedParams::default();
            let Some(is_it) = watch.rows().is_at(mark, &mut params) else { return Ok(None) };
            let is_it = format!(" AND {is_it}");
            let found = look.claims("looking at a claim", watch, &is_it, params.clone())?;
            let Some(judged) = found.into_iter().find(|judged| judged.claim.key.address() == address) else {
                return Ok(None);
            };
            let (columns, session) = rows_of(look, watch, &judged, &is_it, params)?;
            Ok(Some(Examined { judged, columns, session, now: look.now }))
        })
    }
}

type Columns = Vec<(String, Value)>;

/// Every column of the claim's row and of its holder's, by name.
fn rows_of(
    look: &mut Look<'_>,
    watch: &dyn WatchedBoard,
    judged: &Judged,
    is_it: &str,
    params: NamedParams,
) -> Result<(Columns, Columns), Failed> {
    let (board, schema, dialect) = (watch.bound(), look.schema, look.connection.dialect());
    let claim = schema.table(&board.table);
    let registry = board.registry.as_ref().filter(|_| judged.claim.holder.is_some());
    let registry = registry.and_then(|registry| schema.table(&registry.table));
    let selected = |alias: &'static str, table: Option<&Table>| -> Vec<String> {
        let columns = table.into_iter().flat_map(|table| &table.columns);
        columns.map(|column| dialect.selected(&format!("{alias}.{}", quoted(&column.name)))).collect()
    };
    let columns = [selected("c", claim), selected("s", registry)].concat();
    if columns.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let sql =
        format!("SELECT {} FROM {} WHERE ({}){is_it}", columns.join(", "), board.joined(), board.is_held());
    let mut all = watch.rows().clock(board, look.now);
    all.extend(params);
    let read = look.connection.first("looking at a claim", &sql, &all, |row| {
        let named = |first: usize, table: Option<&Table>| -> Columns {
            let columns = table.into_iter().flat_map(|table| &table.columns).enumerate();
            let read =
                columns.map(|(at, column)| (column.name.clone(), row.value(first + at, &column.declared)));
            read.collect()
        };
        let width = claim.map_or(0, |table| table.columns.len());
        (named(0, claim), named(width, registry))
    })?;
    let (columns, session) = read.unwrap_or_default();
    let is_listed = session.iter().any(|(_, value)| *value != Value::Null);
    Ok((columns, if is_listed { session } else { Vec::new() }))
}
