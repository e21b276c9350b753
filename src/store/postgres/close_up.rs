//! Single claims and pages of them: lists, what a screen asks beyond a poll, traces of the past.

use std::collections::{BTreeMap, HashSet};

use super::cell::{cell, number, sent, text, time};
use super::error::PgError;
use super::link::{Link, Row};
use super::reader::{Reader, Watched};
use super::schema::{literal, quoted};
use super::watch::{MOST, Watch, query};
use super::words::Words;
use crate::domain::close_up::{Cursor, Examined, Horizon, KindTally, Kinds, Page, PageRequest, Whole};
use crate::domain::snapshot::{Judged, Mark};
use crate::domain::time::{Moment, Span};
use crate::domain::value::{Key, Value};
use crate::domain::verdict::Set;
use crate::profile::format::History;
use crate::store::listed::{Listed, Trace, worse_first};
use crate::store::schema::{Schema, Table, is_identifier};
use crate::store::{Filter, StoreError};

/// Rows read in one transaction.
const PAGE: usize = 2_000;

impl Watch {
    /// That a row has this key; its values go to `words`.
    pub fn has_key(&self, key: &[Value], words: &mut Words) -> String {
        let parts = self.board.id.iter().zip(&self.board.id_types).zip(key).enumerate();
        let condition = parts.map(|(at, ((id, kind), value))| {
            if *value == Value::Null {
                return format!("({id}) IS NULL");
            }
            words.add(&format!("key{at}"), kind, sent(value));
            format!("({id}) = :key{at}")
        });
        condition.collect::<Vec<_>>().join(" AND ")
    }

    /// The claims that meet a condition, with their tokens.
    pub fn claims(
        &self,
        link: &mut Link,
        now: Moment,
        condition: &str,
        mut words: Words,
    ) -> Result<Vec<Judged>, PgError> {
        words.extend(self.clock(now));
        let sql = format!("{}{condition}", self.reader.select(true));
        let rows = query(link, &words, &sql)?;
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
    fn page_of(
        &self,
        link: &mut Link,
        now: Moment,
        from: &Cursor,
        condition: &str,
        mut words: Words,
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
                words.add(&format!("edge{at}"), kind, sent(value));
                format!(":edge{at}")
            });
            let places: Vec<String> = places.collect();
            edge = format!(" AND ({}) {operator} ({})", ids.join(", "), places.join(", "));
        }
        let sorted: Vec<String> = ids.iter().map(|id| format!("{id} {order}")).collect();
        let tail =
            format!("{condition}{edge} ORDER BY {} LIMIT {}", sorted.join(", "), rows.saturating_add(1));
        self.claims(link, now, &tail, words)
    }
}

impl Reader {
    /// Hands the claims that `filter` takes to `each`, until that says `false`.
    pub fn list(&mut self, filter: &Filter, mut each: impl FnMut(Listed) -> bool) -> Result<(), StoreError> {
        let mut left = filter.limit.unwrap_or(usize::MAX);
        for place in self.places(filter.board.as_deref()) {
            let mut take = |watched: &Watched, judged: Judged, now: Moment| {
                if left > 0 && filter.takes(&judged) {
                    left -= 1;
                    let board = &watched.boards[place.1].board;
                    return each(Listed::new(&watched.name, &board.name, judged, &board.rules, now))
                        && left > 0;
                }
                left > 0
            };
            if !self.list_board(place, filter, &mut take)? && left > 0 {
                // Whoever listens has had enough.
                return Ok(());
            }
        }
        Ok(())
    }

    /// The troubled ones, worst first, then the healthy ones page by page; whether `take` wants more.
    fn list_board(
        &mut self,
        (profile, board): (usize, usize),
        filter: &Filter,
        take: &mut dyn FnMut(&Watched, Judged, Moment) -> bool,
    ) -> Result<bool, StoreError> {
        let (troubled, now) = self.reading("listing", |link, watched, now| {
            Ok((watched[profile].boards[board].troubled(link, now, filter)?, now))
        })?;
        let mut shown: HashSet<String> = HashSet::new();
        for judged in troubled {
            shown.insert(name_of(&judged));
            if !take(&self.watched[profile], judged, now) {
                return Ok(false);
            }
        }
        if !filter.sets.is_empty() && !filter.sets.contains(&Set::Healthy) {
            return Ok(true);
        }
        let mut from = Cursor::First;
        loop {
            let (mut page, now) = self.reading("listing", |link, watched, now| {
                let watch = &watched[profile].boards[board];
                let (condition, words) = watch.narrowed(filter.holder.as_deref(), filter.kind.as_deref());
                Ok((watch.page_of(link, now, &from, &condition, words, PAGE)?, now))
            })?;
            let more = page.len() > PAGE;
            page.truncate(PAGE);
            let next = page.last().and_then(|last| Some(Cursor::After(last.mark.clone()?)));
            for judged in page {
                let is_new = !shown.contains(&name_of(&judged));
                if is_new && !take(&self.watched[profile], judged, now) {
                    return Ok(false);
                }
            }
            match next {
                Some(next) if more && next != from => from = next,
                _ => return Ok(true),
            }
        }
    }

    /// Every board that is meant, by number.
    pub(super) fn places(&self, board: Option<&str>) -> Vec<(usize, usize)> {
        let mut places = Vec::new();
        for (profile, watched) in self.watched.iter().enumerate() {
            for (number, watch) in watched.boards.iter().enumerate() {
                if board.is_none_or(|board| board == watch.board.name) {
                    places.push((profile, number));
                }
            }
        }
        places
    }

    /// One page of a board.
    pub fn page(&mut self, request: &PageRequest) -> Result<Page, StoreError> {
        self.reading("reading a page", |link, watched, now| {
            let Some(watch) = find(watched, &request.profile, &request.board) else {
                return Ok(Page { claims: Vec::new(), now, is_first: true, is_last: true });
            };
            let (condition, words) = watch.narrowed(request.holder.as_deref(), request.kind.as_deref());
            let mut claims = watch.page_of(link, now, &request.from, &condition, words, request.rows)?;
            let ended = claims.len() <= request.rows;
            claims.truncate(request.rows);
            let (is_first, is_last) = match request.from {
                Cursor::First => (true, ended),
                Cursor::From(_) | Cursor::After(_) => (false, ended),
                Cursor::Before(_) => (ended, false),
                Cursor::Last => (ended, true),
            };
            if matches!(request.from, Cursor::Before(_) | Cursor::Last) {
                claims.reverse();
            }
            Ok(Page { claims, now, is_first, is_last })
        })
    }

    /// Every board of at most `most` claims, read whole.
    pub fn whole(&mut self, most: usize) -> Result<Vec<Whole>, StoreError> {
        self.reading("reading small boards", |link, watched, now| {
            let mut all = Vec::new();
            for watched in watched.iter() {
                for watch in watched.boards.iter().filter(|watch| watch.total() <= most as u64) {
                    let limit = format!(" LIMIT {}", most.saturating_add(1));
                    let claims = watch.claims(link, now, &limit, Words::default())?;
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
            let mut words = Words::default();
            let condition = format!(" AND {}", watch.has_key(&key.0, &mut words));
            let found = watch.claims(link, now, &condition, words.clone())?;
            let Some(judged) = found.into_iter().find(|judged| judged.claim.key.address() == address) else {
                return Ok(None);
            };
            let columns = watch.columns(link, now, "c", &watch.table, &condition, words.clone())?;
            let session = match &watch.registry {
                Some(table) => watch.columns(link, now, "s", table, &condition, words)?,
                None => Vec::new(),
            };
            Ok(Some(Examined { judged, columns, session, now }))
        })
    }

    /// Every board that has kinds or a backlog.
    pub fn kinds(&mut self) -> Result<Vec<Kinds>, StoreError> {
        self.reading("counting kinds", |link, watched, now| {
            let mut all = Vec::new();
            for watched in watched.iter() {
                for watch in &watched.boards {
                    let (kinds, at_least) = kinds_of(link, watch, now)?;
                    let board = watch.board.name.clone();
                    all.push(Kinds { profile: watched.name.clone(), board, kinds, at_least });
                }
            }
            Ok(all)
        })
    }

    /// The coming `minutes` of all boards together.
    pub fn horizon(&mut self, minutes: usize) -> Result<Horizon, StoreError> {
        self.reading("looking ahead", |link, watched, now| {
            let mut horizon = Horizon::of(minutes);
            let end = now.plus(Span::minutes(minutes as i64));
            for watch in watched.iter().flat_map(|watched| &watched.boards) {
                let sql = format!("{} LIMIT {MOST}", watch.reader.select(false));
                let rows = query(link, &watch.clock(now), &sql)?;
                horizon.at_least |= rows.len() == MOST;
                for row in &rows {
                    let deadline = watch.reader.read(row, &watch.board, now).verdict.deadline;
                    if let Some(at) = deadline.filter(|at| *at >= now && *at < end) {
                        horizon.add(at.since(now));
                    }
                }
            }
            Ok(horizon)
        })
    }

    /// Up to `limit` traces of each kind that the profiles name and the database has.
    pub fn history(&mut self, limit: usize) -> Result<Vec<Trace>, StoreError> {
        let (schema, zone) = (self.schema.clone(), self.options.zone.clone());
        self.reading("reading the history", |link, watched, _| {
            let mut traces = Vec::new();
            for watched in watched.iter() {
                for history in &watched.profile.history {
                    let own = traces_of(link, &schema, &zone, history, limit)?;
                    traces.extend(
                        own.into_iter().map(|trace| Trace { profile: watched.name.clone(), ..trace }),
                    );
                }
            }
            Ok(traces)
        })
    }
}

impl Watch {
    /// The claims of a filter's sets that are in trouble, worst first.
    fn troubled(&self, link: &mut Link, now: Moment, filter: &Filter) -> Result<Vec<Judged>, PgError> {
        if filter.sets == [Set::Healthy] {
            return Ok(Vec::new());
        }
        let (narrowed, mut words) = self.narrowed(filter.holder.as_deref(), filter.kind.as_deref());
        let (condition, more) = self.trouble(now);
        words.extend(more);
        let mut claims = self.claims(link, now, &format!("{narrowed}{condition}"), words)?;
        claims.retain(|judged| judged.verdict.headline() != Set::Healthy);
        claims.sort_by(worse_first);
        Ok(claims)
    }

    /// The database itself looks for a holder and a kind.
    pub fn narrowed(&self, holder: Option<&str>, kind: Option<&str>) -> (String, Words) {
        let (mut condition, mut words) = (String::new(), Words::default());
        let holder_sql = self.board.holder.as_ref().map(|holder| &holder.text);
        for (wanted, sql, name) in
            [(holder, holder_sql, "wanted_holder"), (kind, self.board.kind.as_ref(), "wanted_kind")]
        {
            if let Some(wanted) = wanted {
                let sql = sql.map_or("NULL", String::as_str);
                condition += &format!(" AND ({sql})::text = :{name}");
                words.add(name, "", Some(wanted.into()));
            }
        }
        (condition, words)
    }

    /// Every column of a row, by name.
    fn columns(
        &self,
        link: &mut Link,
        now: Moment,
        alias: &str,
        table: &Table,
        condition: &str,
        mut words: Words,
    ) -> Result<Vec<(String, Value)>, PgError> {
        let columns: Vec<String> =
            table.columns.iter().map(|column| format!("{alias}.{}::text", quoted(&column.name))).collect();
        words.extend(self.clock(now));
        let sql = format!(
            "SELECT {} FROM {} WHERE ({}){condition}",
            columns.join(", "),
            self.board.joined(),
            self.board.is_held()
        );
        let rows = query(link, &words, &sql)?;
        let Some(row) = rows.first() else { return Ok(Vec::new()) };
        let named = table.columns.iter().enumerate();
        let all = named.map(|(at, column)| (column.name.clone(), cell(row, at, &column.declared)));
        Ok(all.collect())
    }
}

/// Tells claims apart even where their keys do not.
fn name_of(judged: &Judged) -> String {
    match &judged.mark {
        Some(Mark::Key(key)) => key.address(),
        _ => judged.claim.key.address(),
    }
}

fn find<'a>(watched: &'a [Watched], profile: &str, board: &str) -> Option<&'a Watch> {
    let watched = watched.iter().find(|watched| watched.name == profile)?;
    watched.boards.iter().find(|watch| watch.board.name == board)
}

fn kinds_of(link: &mut Link, watch: &Watch, now: Moment) -> Result<(Vec<KindTally>, bool), PgError> {
    let mut kinds: BTreeMap<Option<String>, KindTally> = BTreeMap::new();
    let entry = |kind: Option<String>| KindTally {
        ttl: watch.board.rules.for_kind(kind.as_deref()).ttl,
        kind,
        ..KindTally::default()
    };
    let sql = format!("{} LIMIT {MOST}", watch.reader.select(false));
    let rows = query(link, &watch.clock(now), &sql)?;
    for row in &rows {
        let judged = watch.reader.read(row, &watch.board, now);
        let kind = judged.claim.kind.clone();
        let tally = kinds.entry(kind.clone()).or_insert_with(|| entry(kind));
        tally.running += 1;
        tally.stale += u64::from(judged.verdict.is_in(Set::Stale));
        tally.orphaned += u64::from(judged.verdict.is_in(Set::Orphaned));
        if let Some(overrun) = judged.verdict.overrun {
            tally.overrun = Some(tally.overrun.map_or(overrun, |longest| longest.max(overrun)));
        }
    }
    let mut at_least = rows.len() == MOST;
    let Some(backlog) = &watch.board.backlog else { return Ok((kinds.into_values().collect(), at_least)) };
    // A backlog in a table of its own may lack the column; then nobody knows the kinds.
    let kind = watch.board.kind.as_deref().filter(|_| backlog.from == watch.board.from).unwrap_or("NULL");
    let oldest = backlog.oldest.as_ref().filter(|oldest| oldest.bound_type.is_some());
    for (state, predicate) in
        backlog.states.iter().filter(|(state, _)| matches!(state.as_str(), "queued" | "dead"))
    {
        let sql = format!(
            "SELECT (kind)::text, count(*)::text, (min(oldest))::text FROM (SELECT {kind} AS kind, {} AS oldest \
             FROM {} WHERE ({predicate}) LIMIT {MOST}) AS waiting GROUP BY 1",
            oldest.map_or("NULL::text", |oldest| oldest.selected.as_str()),
            backlog.from
        );
        let mut looked_at = 0;
        for row in query(link, &watch.clock(now), &sql)? {
            let kind = text(&row, 0);
            let count = number(&row, 1).int().unwrap_or(0).max(0).unsigned_abs();
            looked_at += count;
            let tally = kinds.entry(kind.clone()).or_insert_with(|| entry(kind));
            if state == "dead" {
                tally.dead += count;
            } else {
                tally.queued += count;
                let read = |sql: &crate::store::bound::TimeSql| {
                    sql.unit.read(&time(&row, 2, &sql.cell.declared)).at()
                };
                tally.oldest_queued = oldest.and_then(read);
            }
        }
        at_least |= looked_at == MOST as u64;
    }
    Ok((kinds.into_values().collect(), at_least))
}

fn traces_of(
    link: &mut Link,
    schema: &Schema,
    zone: &str,
    history: &History,
    limit: usize,
) -> Result<Vec<Trace>, PgError> {
    let Some(table) = schema.table(&history.table) else { return Ok(Vec::new()) };
    // A column that this version of the system lacks reads as NULL.
    let value = |sql: Option<&String>| match sql {
        Some(sql) if table.column(sql).is_some() => {
            format!("c.{}", quoted(table.column(sql).map_or(sql.as_str(), |column| &column.name)))
        }
        Some(sql) if !is_identifier(sql) => format!("({sql})"),
        _ => "NULL".into(),
    };
    let at = value(Some(&history.at));
    let naive = table.column(&history.at).is_some_and(|column| column.declared.contains("without time zone"));
    let shown = if naive { format!("({at} AT TIME ZONE {})", literal(zone)) } else { at.clone() };
    let sql = format!(
        "SELECT ({})::text, ({})::text, ({})::text, ({shown})::text, ({})::text FROM {} AS c WHERE ({}) \
         ORDER BY {at} DESC NULLS LAST LIMIT {limit}",
        value(Some(&history.id)),
        value(history.kind.as_ref()),
        value(history.holder.as_ref()),
        value(Some(&history.what)),
        table.sql,
        history.only.as_deref().unwrap_or("TRUE"),
    );
    link.batch("SAVEPOINT claimtop_history")?;
    let rows = match link.query(&sql, &[]) {
        Ok(rows) => rows,
        // Another version of the table, without the columns that the condition names.
        Err(PgError::Server { .. }) => {
            link.batch("ROLLBACK TO claimtop_history")?;
            return Ok(Vec::new());
        }
        Err(lost) => return Err(lost),
    };
    let declared = table.column(&history.at).map(|column| column.declared.as_str()).unwrap_or_default();
    let trace = |row: &Row| Trace {
        profile: String::new(),
        history: history.name.clone(),
        id: text(row, 0),
        kind: text(row, 1),
        holder: text(row, 2),
        at: history.time.read(&time(row, 3, declared)),
        what: text(row, 4),
    };
    Ok(rows.iter().map(trace).collect())
}
