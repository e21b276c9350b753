//! Lists of claims: the troubled ones, worst first, then the healthy ones page by page.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::cell::sent;
use super::dialect::PostgresDialect;
use super::error::PgError;
use super::found::Order;
use super::link::{Link, Row};
use super::named_params::NamedParams;
use super::reader::Reader;
use super::watch::{Watch, query};
use crate::domain::board_id::BoardId;
use crate::domain::close_up::Cursor;
use crate::domain::snapshot::{Judged, Mark};
use crate::domain::time::Moment;
use crate::domain::value::{Key, Value};
use crate::domain::verdict::Set;
use crate::store::driver::Dialect;
use crate::store::listed::{Listed, worse_first};
use crate::store::watched;
use crate::store::{Filter, StoreError};

/// Rows read in one transaction.
const PAGE: usize = 2_000;
/// The sets that are looked for first.
const TROUBLED: [Set; 4] = [Set::Orphaned, Set::Stale, Set::Unknown, Set::Expiring];

impl Watch {
    /// That a row has this key; its values go to `params`.
    pub fn has_key(&self, key: &[Value], params: &mut NamedParams) -> String {
        PostgresDialect.has_key(&self.board, key, params)
    }

    /// The claims that meet a condition, with their tokens.
    pub fn claims(
        &self,
        link: &mut Link,
        now: Moment,
        condition: &str,
        mut params: NamedParams,
    ) -> Result<Vec<Judged>, PgError> {
        params.extend(self.clock(now));
        let sql = format!("{}{condition}", self.reader.select(true));
        let rows = query(link, &params, &sql)?;
        Ok(rows.iter().map(|row| self.reader.read(row, &self.board, now)).collect())
    }

    /// What pages are sorted by, and the types: the key, or the rows' places where it is not enough.
    fn order(&self) -> (Vec<String>, Vec<&str>) {
        if self.reader.is_ambiguous() {
            return (vec!["(c.tableoid::text || c.ctid::text)".into()], vec!["text"]);
        }
        let ids = self.board.id.iter().map(|id| format!("({id})"));
        (ids.collect(), self.board.id_types.iter().map(String::as_str).collect())
    }

    /// A page of claims in the order of their keys, one row longer than asked for if there are more.
    pub fn page_of(
        &self,
        link: &mut Link,
        now: Moment,
        from: &Cursor,
        condition: &str,
        mut params: NamedParams,
        rows: usize,
    ) -> Result<Vec<Judged>, PgError> {
        let (operator, mark, order) = match from {
            Cursor::First => ("", None, "ASC"),
            Cursor::From(mark) => (">=", Some(mark), "ASC"),
            Cursor::After(mark) => (">", Some(mark), "ASC"),
            Cursor::Before(mark) => ("<", Some(mark), "DESC"),
            Cursor::Last => ("", None, "DESC"),
        };
        let (ids, kinds) = self.order();
        let mut edge = String::new();
        if let Some(Mark::Key(Key(values))) = mark {
            // The row's place, where there is one, comes last.
            let values = &values[values.len().saturating_sub(ids.len())..];
            let places = values.iter().zip(kinds).enumerate().map(|(at, (value, kind))| {
                params.add(&format!("edge{at}"), kind, sent(value));
                format!(":edge{at}")
            });
            let places: Vec<String> = places.collect();
            edge = format!(" AND ({}) {operator} ({})", ids.join(", "), places.join(", "));
        }
        let sorted: Vec<String> = ids.iter().map(|id| format!("{id} {order}")).collect();
        let tail =
            format!("{condition}{edge} ORDER BY {} LIMIT {}", sorted.join(", "), rows.saturating_add(1));
        self.claims(link, now, &tail, params)
    }

    /// The claims of a filter's sets that are in trouble, worst first.
    fn troubled(&self, link: &mut Link, now: Moment, filter: &Filter) -> Result<Vec<Judged>, PgError> {
        if filter.sets == [Set::Healthy] {
            return Ok(Vec::new());
        }
        let (narrowed, mut params) = self.narrowed(filter.holder.as_deref(), filter.kind.as_deref());
        let (condition, more) = self.trouble(now);
        params.extend(more);
        let mut claims = self.claims(link, now, &format!("{narrowed}{condition}"), params)?;
        claims.retain(|judged| judged.verdict.headline() != Set::Healthy);
        claims.sort_by(worse_first);
        Ok(claims)
    }

    /// Those of the claims that a filter takes, as they are shown.
    fn listed(&self, claims: Vec<Judged>, filter: &Filter, now: Moment) -> Vec<Listed> {
        let id = &self.board.board_id;
        let taken = claims.into_iter().filter(|judged| filter.takes(judged));
        taken.map(|judged| Listed::new(id.profile(), id.board(), judged, &self.board.rules, now)).collect()
    }

    /// The database itself looks for a holder and a kind.
    pub fn narrowed(&self, holder: Option<&str>, kind: Option<&str>) -> (String, NamedParams) {
        let (mut condition, mut params) = (String::new(), NamedParams::default());
        let holder_sql = self.board.holder.as_ref().map(|holder| &holder.text);
        for (wanted, sql, name) in
            [(holder, holder_sql, "wanted_holder"), (kind, self.board.kind.as_ref(), "wanted_kind")]
        {
            if let Some(wanted) = wanted {
                let sql = sql.map_or("NULL", String::as_str);
                condition += &format!(" AND ({sql})::text = :{name}");
                params.add(name, "", Some(wanted));
            }
        }
        (condition, params)
    }
}

impl Reader {
    /// Hands the claims that `filter` takes to `each`, until that says `false`.
    pub fn list(&mut self, filter: &Filter, mut each: impl FnMut(Listed) -> bool) -> Result<(), StoreError> {
        let mut left = filter.limit.unwrap_or(usize::MAX);
        for board in watched::ids(&self.watched, filter.board.as_deref()) {
            let mut take = |listed: Listed| {
                if left > 0 {
                    left -= 1;
                    return each(listed) && left > 0;
                }
                false
            };
            if !self.list_board(&board, filter, &mut take)? && left > 0 {
                // Whoever listens has had enough.
                return Ok(());
            }
        }
        Ok(())
    }

    /// The troubled ones, worst first, then the healthy ones page by page; whether `take` wants more.
    fn list_board(
        &mut self,
        board: &BoardId,
        filter: &Filter,
        take: &mut dyn FnMut(Listed) -> bool,
    ) -> Result<bool, StoreError> {
        let mut shown = Shown::default();
        let mut moved = 0;
        if filter.sets != [Set::Healthy] {
            match self.list_troubled(board, filter, &mut shown, take)? {
                Some(count) => moved = count,
                None => return Ok(false),
            }
        }
        let wants_healthy = filter.sets.is_empty() || filter.sets.contains(&Set::Healthy);
        if !wants_healthy && moved == 0 {
            return Ok(true);
        }
        let mut from = Cursor::First;
        loop {
            let page = self.reading("listing", |link, watched, now| {
                // Its tables may have been dropped since the last page.
                let Some((_, watch)) = watched::find(watched, board) else { return Ok(None) };
                let (mut condition, mut params) =
                    watch.narrowed(filter.holder.as_deref(), filter.kind.as_deref());
                if !wants_healthy {
                    let (trouble, more) = watch.trouble(now);
                    condition += &trouble;
                    params.extend(more);
                }
                let mut claims = watch.page_of(link, now, &from, &condition, params, PAGE)?;
                let more = claims.len() > PAGE;
                claims.truncate(PAGE);
                let next = claims.last().and_then(|last| Some(Cursor::After(last.mark.clone()?)));
                Ok(Some((watch.listed(claims, filter, now), next.filter(|_| more))))
            })?;
            let Some((page, next)) = page else { return Ok(true) };
            for listed in page {
                if shown.is_new(&listed.judged) && !take(listed) {
                    return Ok(false);
                }
            }
            match next {
                Some(next) if next != from => from = next,
                _ => return Ok(true),
            }
        }
    }

    /// The troubled ones, worst first: how many of them were elsewhere before their page was read, or nothing
    /// once `take` wants no more.
    fn list_troubled(
        &mut self,
        board: &BoardId,
        wanted: &Filter,
        shown: &mut Shown,
        take: &mut dyn FnMut(Listed) -> bool,
    ) -> Result<Option<usize>, StoreError> {
        let every = Filter { sets: TROUBLED.into(), limit: None, ..wanted.clone() };
        let filter = if wanted.sets.is_empty() { &every } else { wanted };
        let found = self.reading("listing", |link, watched, now| {
            let Some((_, watch)) = watched::find(watched, board) else { return Ok(Vec::new()) };
            // A view has no places to come back to: its claims are read at once.
            if watch.board.has_rowid {
                watch.spotted(link, now, filter, Order::WorstFirst)
            } else {
                Ok(Vec::new())
            }
        })?;
        let mut moved = 0;
        let pages = found.chunks(PAGE).map(Some).chain(found.is_empty().then_some(None));
        for some in pages {
            let page = self.reading("listing", |link, watched, now| {
                let Some((_, watch)) = watched::find(watched, board) else { return Ok(Vec::new()) };
                let claims = match some {
                    None if watch.board.has_rowid => Vec::new(),
                    None => watch.troubled(link, now, filter)?,
                    Some(some) => {
                        let read = |row: &Row| watch.reader.read(row, &watch.board, now);
                        watch.at_spots(link, now, some, &watch.reader.select(true), read)?
                    }
                };
                moved += some.map_or(0, <[_]>::len).saturating_sub(claims.len());
                Ok(watch.listed(claims, wanted, now))
            })?;
            for listed in page {
                if shown.is_new(&listed.judged) && !take(listed) {
                    return Ok(None);
                }
            }
        }
        Ok(Some(moved))
    }
}

/// Which claims were shown, by a hash of their names: a few bytes for each.
#[derive(Debug, Default)]
struct Shown {
    state: RandomState,
    names: HashSet<u64>,
}

impl Shown {
    fn is_new(&mut self, judged: &Judged) -> bool {
        // Marks tell claims apart even where their keys do not.
        let name = match &judged.mark {
            Some(Mark::Key(key)) => key.address(),
            _ => judged.claim.key.address(),
        };
        self.names.insert(self.state.hash_one(name))
    }
}
