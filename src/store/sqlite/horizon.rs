//! How many claims will reach their deadline in each of the coming minutes.

use rusqlite::Connection;

use super::cell::bound;
use super::plan::searches;
use super::reader::Reader;
use super::run::{bind_known, now_value};
use super::stream::stream;
use super::watch::Watch;
use crate::domain::close_up::Horizon;
use crate::domain::time::{Moment, Span};
use crate::store::StoreError;

/// Deadlines looked at on one board; beyond it a minute's count is a lower bound.
const MOST: usize = 20_000;

impl Reader {
    /// The coming `minutes` of all boards together.
    pub fn horizon(&mut self, minutes: usize) -> Result<Horizon, StoreError> {
        self.in_one_transaction("looking ahead", |reader, now, _| {
            let mut horizon = Horizon::of(minutes);
            for watch in reader.watched.iter().flat_map(|watched| &watched.boards) {
                look_ahead(&reader.connection, watch, now, &mut horizon)?;
            }
            Ok(horizon)
        })
    }
}

fn look_ahead(
    connection: &Connection,
    watch: &Watch,
    now: Moment,
    horizon: &mut Horizon,
) -> rusqlite::Result<()> {
    let end = now.plus(Span::minutes(horizon.minutes.len() as i64));
    let mut looked_at = 0;
    let mut add = |deadline: Option<Moment>, horizon: &mut Horizon| {
        looked_at += 1;
        if let Some(deadline) = deadline.filter(|at| *at >= now && *at < end) {
            horizon.add(deadline.since(now));
        }
        horizon.at_least |= looked_at == MOST;
        looked_at < MOST
    };
    let Some(deadline) = &watch.board.deadline else {
        return stream(connection, &watch.board, &watch.reader, now, false, |judged| {
            add(judged.verdict.deadline, horizon)
        });
    };
    let time = &deadline.comparable;
    let sql = format!(
        "SELECT {time} FROM {} WHERE {} AND {time} >= :from AND {time} < :to LIMIT {MOST}",
        watch.board.from,
        watch.board.is_held()
    );
    if watch.board.is_addressable() && !searches(connection, &sql, None)? {
        // Without an index the first rows stand for all; the chart says that it shows no more.
        return stream(connection, &watch.board, &watch.reader, now, false, |judged| {
            add(judged.verdict.deadline, horizon)
        });
    }
    let unit = deadline.compared_in();
    let values = [
        (":now".to_owned(), now_value(&watch.board, now)),
        (":from".to_owned(), bound(now.micros(), unit)),
        (":to".to_owned(), bound(end.micros(), unit)),
    ];
    let mut statement = connection.prepare_cached(&sql)?;
    bind_known(&mut statement, &values)?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        if !add(unit.read(&super::cell::cell(row, 0)).at(), horizon) {
            break;
        }
    }
    Ok(())
}
