//! Which of the claims the next transaction takes, so that several who work through the same ones do not meet.
//!
//! Every claim lies in a lane, by where in the table its row is. Whoever works in a lane has an advisory lock
//! of it until his transaction ends, and the others work elsewhere. This is a courtesy: what keeps a claim from
//! being taken twice is the guard of the statement that changes it.

use super::super::actor::{Actor, is_locked};
use super::super::link::{Link, Row};
use super::super::look;
use super::super::many;
use super::super::words::array;
use crate::store::StoreError;
use crate::store::seen::Seen;

/// The claims of one transaction.
pub(super) struct Leading<'a, 'b> {
    pub(super) all: &'a [&'b Seen],
    /// So many before them are known to be gone.
    pub(super) passed: usize,
    /// Whether somebody else is at work on just these.
    pub(super) is_crowded: bool,
}

impl Leading<'_, '_> {
    /// The number of a claim in the batch.
    pub(super) fn number(&self, at: usize) -> usize {
        self.passed + at + 1
    }
}

/// So many claims are simply done.
const FEW: usize = 100;
const LANES: usize = 64;
/// So many pages that follow each other are of one lane.
const PAGES: usize = 4;
/// The first number of the advisory lock of the first lane; the second one is the table's.
const LOCKS: i32 = 0x636c_6d00;
/// Whoever works in a lane leaves it sooner, unless he is stuck.
const PATIENCE: &str = "SET LOCAL lock_timeout = 200; SAVEPOINT claimtop_lane";

/// The lanes that there are claims in, as one found them.
#[derive(Default)]
struct Found {
    mine: Vec<usize>,
    /// Of these somebody else has changed the first claim, and so probably the others.
    gone: Vec<usize>,
    /// These somebody else is at work in, or nobody is needed yet.
    other: Vec<usize>,
}

impl Actor {
    /// As many of the claims as the next transaction takes; they come first then.
    pub(super) fn leading<'a, 'b>(&mut self, all: &'a mut [&'b Seen]) -> Result<Leading<'a, 'b>, StoreError> {
        let next = all.len().min(self.stride.claims);
        if all.len() <= FEW || all[0].spot.is_none() || self.stays_out_of_lanes {
            return Ok(Leading { all: &all[..next], passed: 0, is_crowded: false });
        }
        let lanes: Vec<usize> = all.iter().map(|seen| lane(seen)).collect();
        let mut found = self.enter(all, &lanes)?;
        if let Found { mine, gone, other } = &found
            && let (true, true, Some(taken)) = (mine.is_empty(), gone.is_empty(), other.first())
            && self.wait_for(*taken, all)?
        {
            found = self.enter(all, &lanes)?;
        }
        let mine = put_first(all, lanes.iter().map(|lane| found.mine.contains(lane)));
        if mine > 0 {
            return Ok(Leading { all: &all[..next.min(mine)], passed: 0, is_crowded: false });
        }
        let gone = put_first(all, lanes.iter().map(|lane| found.gone.contains(lane)));
        let unchanged = self.unchanged(&all[..gone])?;
        let passed = put_first(&mut all[..gone], unchanged.iter().map(|is_left| !is_left));
        // What is left has its lane again next time.
        let next = if passed > 0 { 0 } else { next };
        Ok(Leading { all: &all[passed..passed + next], passed, is_crowded: true })
    }

    /// Takes as many lanes as the next transaction has time for.
    fn enter(&mut self, all: &[&Seen], lanes: &[usize]) -> Result<Found, StoreError> {
        let mut firsts = [None; LANES];
        for (seen, lane) in all.iter().zip(lanes) {
            firsts[*lane].get_or_insert(*seen);
        }
        // Everybody begins somewhere else.
        let order = (0..LANES).map(|lane| (lane + self.first_lane % LANES) % LANES);
        let used: Vec<(usize, &Seen)> = order.filter_map(|lane| Some((lane, firsts[lane]?))).collect();
        let enough = self.stride.claims.div_ceil(all.len() / used.len());
        // In company the parts become smaller and smaller, so that all come to the end together.
        let share = if self.stride.in_company { 8 } else { 1 };
        let sql = |table: &str| {
            format!(
                "WITH claimtop_lanes AS MATERIALIZED (\
                   SELECT l.lane, EXISTS (SELECT FROM {table} AS c \
                     WHERE c.ctid = l.spot::tid AND c.xmin::text = l.version) AS is_left \
                   FROM unnest(($2::text)::int[], ($3::text)::text[], ($4::text)::text[]) AS l(lane, spot, version)) \
                 SELECT lane::text, NULL FROM claimtop_lanes WHERE NOT is_left \
                 UNION ALL (SELECT lane::text, 'mine' FROM claimtop_lanes \
                   WHERE CASE WHEN is_left THEN \
                     pg_try_advisory_xact_lock({LOCKS} + lane, ($1::text)::regclass::oid::int) ELSE false END \
                   LIMIT greatest(1, least({enough}, (SELECT count(*) FROM claimtop_lanes WHERE is_left) / {share})))"
            )
        };
        let values = [
            array(used.iter().map(|(lane, _)| Some(lane.to_string()))),
            array(used.iter().map(|(_, seen)| many::spot(seen))),
            array(used.iter().map(|(_, seen)| seen.version.as_ref())),
        ];
        let Some(rows) = self.ask_of_lanes(all[0], sql, &values)? else {
            return Ok(Found::default());
        };
        let mut found = Found::default();
        for row in &rows {
            let lane = row.get(0).and_then(|lane| lane.parse().ok()).unwrap_or_default();
            if row.get(1).is_some() { found.mine.push(lane) } else { found.gone.push(lane) }
        }
        let others = used.iter().map(|(lane, _)| *lane);
        found.other = others.filter(|lane| !found.mine.contains(lane) && !found.gone.contains(lane)).collect();
        let left = used.len() - found.gone.len();
        self.stride.in_company =
            !found.gone.is_empty() || found.mine.len() < enough.min(left / share).max(1).min(left);
        Ok(found)
    }

    /// Waits until nobody is in a lane any more; whether that came to be. Who waits is in no lane, so that nobody
    /// waits for him.
    fn wait_for(&mut self, lane: usize, all: &[&Seen]) -> Result<bool, StoreError> {
        let sql = |_: &str| {
            format!("SELECT pg_advisory_xact_lock({LOCKS} + {lane}, ($1::text)::regclass::oid::int)::text")
        };
        Ok(self.ask_of_lanes(all[0], sql, &[])?.is_some())
    }

    /// Asks a question whose first value is the table; nothing, if the answer would have to be waited for or
    /// nobody may ask.
    fn ask_of_lanes(
        &mut self,
        first: &Seen,
        sql: impl FnOnce(&str) -> String,
        values: &[String],
    ) -> Result<Option<Vec<Row>>, StoreError> {
        let Actor { reader, link: Some(link), .. } = self else { return Ok(None) };
        let Some(watch) = look::at(&reader.watched, first.place) else { return Ok(None) };
        let table = &watch.table.sql;
        let values: Vec<Option<&str>> =
            std::iter::once(table.as_str()).chain(values.iter().map(String::as_str)).map(Some).collect();
        let back = |link: &mut Link| link.batch("ROLLBACK TO claimtop_lane");
        let answer = match link.query_after(PATIENCE, &sql(table), &values) {
            Ok(rows) => Ok(Some(rows)),
            Err(error) if is_locked(&error) => back(link).map(|()| None),
            Err(error) if error.code() == Some("42501") => {
                self.stays_out_of_lanes = true;
                back(link).map(|()| None)
            }
            Err(error) => Err(error),
        };
        answer.map_err(|error| reader.options.sentence(&error, "looking for claims that are left"))
    }

    /// Which of the claims, all of one board, still have the row that was seen.
    pub(super) fn unchanged(&mut self, all: &[&Seen]) -> Result<Vec<bool>, StoreError> {
        let none = || Ok(vec![false; all.len()]);
        let (Actor { reader, link: Some(link), .. }, Some(first)) = (self, all.first()) else { return none() };
        let Some(watch) = look::at(&reader.watched, first.place) else { return none() };
        let found = many::unchanged(link, watch, all);
        found.map_err(|error| reader.options.sentence(&error, "looking for claims that are left"))
    }
}

/// The lane of a claim.
fn lane(seen: &Seen) -> usize {
    seen.spot.map_or(0, |spot| spot.page as usize / PAGES % LANES)
}

/// Puts those first that are wanted: how many. Apart from that they stay in their order.
fn put_first(all: &mut [&Seen], is_wanted: impl Iterator<Item = bool>) -> usize {
    let (mut wanted, mut others) = (Vec::new(), Vec::new());
    for (seen, is_wanted) in all.iter().copied().zip(is_wanted) {
        if is_wanted { wanted.push(seen) } else { others.push(seen) }
    }
    for (place, seen) in all.iter_mut().zip(wanted.iter().chain(&others)) {
        *place = seen;
    }
    wanted.len()
}
