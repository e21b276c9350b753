//! What a screen asks beyond a poll: a page of a board, one claim with all its columns.

use super::cell::cell;
use super::error::PgError;
use super::link::Link;
use super::named_params::NamedParams;
use super::reader::{Reader, Watched};
use super::schema::quoted;
use super::watch::{Watch, query};
use crate::domain::close_up::{Examined, Page, PageRequest, Whole};
use crate::domain::snapshot::Mark;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::store::StoreError;
use crate::store::schema::Table;

impl Reader {
    /// One page of a board.
    pub fn page(&mut self, request: &PageRequest) -> Result<Page, StoreError> {
        self.reading("reading a page", |link, watched, now| {
            let Some(watch) = find(watched, &request.profile, &request.board) else {
                return Ok(Page { claims: Vec::new(), now, is_first: true, is_last: true });
            };
            let (condition, params) = watch.narrowed(request.holder.as_deref(), request.kind.as_deref());
            let claims = watch.page_of(link, now, &request.from, &condition, params, request.rows)?;
            Ok(Page::of(request, claims, now))
        })
    }

    /// Every board of at most `most` claims, read whole.
    pub fn whole(&mut self, most: usize) -> Result<Vec<Whole>, StoreError> {
        self.reading("reading small boards", |link, watched, now| {
            let mut all = Vec::new();
            for watched in watched.iter() {
                for watch in watched.boards.iter().filter(|watch| watch.total() <= most as u64) {
                    let limit = format!(" LIMIT {}", most.saturating_add(1));
                    let claims = watch.claims(link, now, &limit, NamedParams::default())?;
                    if claims.len() <= most {
                        let board = watch.board.name.clone();
                        all.push(Whole { profile: watched.name.clone(), board, claims });
                    }
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
        let Mark::Key(key) = mark else { return Ok(None) };
        self.reading("looking at a claim", |link, watched, now| {
            let Some(watch) = find(watched, profile, board) else { return Ok(None) };
            let mut params = NamedParams::default();
            let condition = format!(" AND {}", watch.has_key(&key.0, &mut params));
            let found = watch.claims(link, now, &condition, params.clone())?;
            let Some(judged) = found.into_iter().find(|judged| judged.claim.key.address() == address) else {
                return Ok(None);
            };
            let columns = watch.columns(link, now, "c", &watch.table, &condition, params.clone())?;
            let session = match &watch.registry {
                Some(table) => watch.columns(link, now, "s", table, &condition, params)?,
                None => Vec::new(),
            };
            Ok(Some(Examined { judged, columns, session, now }))
        })
    }
}

impl Watch {
    /// Every column of a row, by name.
    fn columns(
        &self,
        link: &mut Link,
        now: Moment,
        alias: &str,
        table: &Table,
        condition: &str,
        mut params: NamedParams,
    ) -> Result<Vec<(String, Value)>, PgError> {
        let columns: Vec<String> =
            table.columns.iter().map(|column| format!("{alias}.{}::text", quoted(&column.name))).collect();
        params.extend(self.clock(now));
        let sql = format!(
            "SELECT {} FROM {} WHERE ({}){condition}",
            columns.join(", "),
            self.board.joined(),
            self.board.is_held()
        );
        let rows = query(link, &params, &sql)?;
        let Some(row) = rows.first() else { return Ok(Vec::new()) };
        let named = table.columns.iter().enumerate();
        let all = named.map(|(at, column)| (column.name.to_string(), cell(row, at, &column.declared)));
        Ok(all.collect())
    }
}

fn find<'a>(watched: &'a [Watched], profile: &str, board: &str) -> Option<&'a Watch> {
    let watched = watched.iter().find(|watched| watched.name == profile)?;
    watched.boards.iter().find(|watch| watch.board.name == board)
}
