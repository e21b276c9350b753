//! The claims of a board that may be in trouble, by one statement or way by way.

use std::collections::HashSet;
use std::time::Instant;

use super::{BURDEN, MOST, POLLING, PollFindings, SHARE, Watch};
use crate::domain::claim::Process;
use crate::domain::snapshot::Judged;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::domain::verdict::judge;
use crate::store::driver::{Connection, Failed, QueryRows};
use crate::store::found::RowRef;
use crate::store::mysql::candidate_queries::CandidateQuery;
use crate::store::mysql::sessions;
use crate::store::named_params::NamedParams;

/// Holders whose claims one statement asks for.
const HOLDERS: usize = 1_000;
/// Holders that one poll looks up apart from their claims.
const MOST_HOLDERS: u64 = 20_000;

/// A query that no index answers.
#[derive(Debug)]
pub(super) struct UnindexedQuery {
    claims: Vec<Judged>,
    at: Moment,
    next: Instant,
}

/// Claims, each once.
#[derive(Debug, Default)]
pub(super) struct GatheredClaims {
    pub(super) all: Vec<Judged>,
    pub(super) places: Vec<Option<RowRef>>,
}

impl GatheredClaims {
    fn add(&mut self, place: Option<RowRef>, judged: Judged) {
        self.all.push(judged);
        self.places.push(place);
    }

    /// Adds what another statement found. Rows are told apart by their places, and where one has none by their keys.
    fn join(&mut self, other: GatheredClaims) {
        if self.all.is_empty() {
            *self = other;
            return;
        }
        let places: HashSet<RowRef> = self.places.iter().flatten().cloned().collect();
        let keys: HashSet<String> = self.all.iter().map(|judged| judged.claim.key.address()).collect();
        for (judged, place) in other.all.into_iter().zip(other.places) {
            let is_known = match &place {
                Some(place) => places.contains(place),
                None => keys.contains(&judged.claim.key.address()),
            };
            if !is_known {
                self.add(place, judged);
            }
        }
    }
}

impl Watch {
    /// Reads the claims that meet a condition; whether there are more than may be read.
    pub(super) fn gather_up_to(
        &self,
        most: usize,
        connection: &mut dyn Connection,
        now: Moment,
        condition: &str,
        mut params: NamedParams,
        claims: &mut GatheredClaims,
    ) -> Result<bool, Failed> {
        params.extend(self.clock(now));
        let sql = format!("{}{condition} LIMIT {}", self.reader.select(), most.saturating_add(1));
        let mut own = GatheredClaims::default();
        let mut rows = 0;
        connection.each(POLLING, &sql, &params, &mut |row| {
            rows += 1;
            if rows <= most {
                let place = row.text(0).and_then(|place| RowRef::parse(&place));
                own.add(place, self.reader.read(row, &self.board, now));
            }
        })?;
        claims.join(own);
        Ok(rows > most)
    }

    /// Each query by itself, so that each can use its own index; what no index answers is asked less often.
    pub(super) fn gather_by_query(
        &mut self,
        connection: &mut dyn Connection,
        now: Moment,
        queries: &[CandidateQuery],
        found: &mut PollFindings,
        claims: &mut GatheredClaims,
    ) -> Result<(), Failed> {
        let mut burdens = std::mem::take(&mut self.burdens);
        let mut asked = HashSet::new();
        for (number, query) in queries.iter().enumerate() {
            if burdens.get(&number).is_some_and(|burden| Instant::now() < burden.next) {
                continue;
            }
            let started = Instant::now();
            let mut own = GatheredClaims::default();
            found.more |= match self.bad_holders(connection, now, query)? {
                Some(holders) => self.gather_of(connection, now, &holders, &mut own)?,
                None => {
                    let (condition, params) = (format!(" AND ({})", query.sql), query.params.clone());
                    self.gather_up_to(MOST, connection, now, &condition, params, &mut own)?
                }
            };
            let took = started.elapsed();
            burdens.remove(&number);
            if took > BURDEN {
                let next = Instant::now() + took * SHARE;
                burdens.insert(number, UnindexedQuery { claims: own.all.clone(), at: now, next });
            }
            claims.join(own);
            asked.insert(number);
        }
        // What was just read says it better than what is remembered.
        for burden in burdens.iter().filter(|(number, _)| !asked.contains(number)).map(|(_, burden)| burden) {
            found.since = Some(found.since.map_or(burden.at, |since| since.min(burden.at)));
            let mut remembered = GatheredClaims::default();
            for known in &burden.claims {
                let mut judged = known.clone();
                judged.verdict = judge(&judged.claim, &self.board.rules, now);
                remembered.add(None, judged);
            }
            claims.join(remembered);
        }
        self.burdens = burdens;
        Ok(())
    }

    /// The holders whose own row is in trouble or missing; nothing, if that is no way. The server goes from one holder
    /// to the next through the index: a correlated comparison could not.
    fn bad_holders(
        &self,
        connection: &mut dyn Connection,
        now: Moment,
        candidates: &CandidateQuery,
    ) -> Result<Option<Vec<Value>>, Failed> {
        let (true, Some(holder), Some(registry)) =
            (candidates.is_of_holders, &self.board.holder, &self.board.registry)
        else {
            return Ok(None);
        };
        let Some(column) = holder.column.as_ref().filter(|_| !self.board.looks_at_session) else {
            return Ok(None);
        };
        let (from, held, h) = (&self.board.from, self.board.is_held(), &holder.text);
        let mut params = self.clock(now);
        params.extend(candidates.params.clone());
        let column = crate::store::schema::quoted(column);
        let sql = format!(
            "SELECT held.{column} FROM (SELECT DISTINCT {h} FROM {from} WHERE ({held}) AND {h} IS NOT NULL LIMIT {}) AS held \
             LEFT JOIN {} ON {} {} held.{column} WHERE {}",
            MOST_HOLDERS + 1,
            registry.from,
            registry.id.text,
            registry.equality,
            candidates.sql
        );
        let holders = connection.all(POLLING, &sql, &params, |row| row.value(0, &holder.declared))?;
        // As many holders as claims: then the join is the shorter way.
        Ok((holders.len() as u64 <= MOST_HOLDERS).then_some(holders))
    }

    /// The claims of some holders, and those of nobody.
    fn gather_of(
        &self,
        connection: &mut dyn Connection,
        now: Moment,
        holders: &[Value],
        claims: &mut GatheredClaims,
    ) -> Result<bool, Failed> {
        let Some(holder) = &self.board.holder else { return Ok(false) };
        let mut more = false;
        for some in holders.chunks(HOLDERS) {
            let mut params = NamedParams::default();
            let names = some.iter().enumerate().map(|(at, value)| {
                params.add_value(&format!("holder{at}"), &holder.declared, value.clone());
                format!(":holder{at}")
            });
            let condition = format!(" AND {} IN ({})", holder.text, names.collect::<Vec<_>>().join(", "));
            more |= self.gather_up_to(MOST, connection, now, &condition, params, claims)?;
        }
        let nobody = format!(" AND {} IS NULL", holder.text);
        Ok(self.gather_up_to(MOST, connection, now, &nobody, NamedParams::default(), claims)? || more)
    }

    /// The claims about which the kernel knows more than the tables.
    pub(super) fn ask_the_kernel(
        &self,
        connection: &mut dyn Connection,
        now: Moment,
        claims: &mut GatheredClaims,
    ) -> Result<(), Failed> {
        let (Some(prober), Some(pid)) = (&self.prober, &self.board.pid) else { return Ok(()) };
        let Some(registry) = &self.board.registry else {
            let condition = format!(" AND ({pid}) IS NOT NULL");
            return self
                .gather_up_to(MOST, connection, now, &condition, NamedParams::default(), claims)
                .map(drop);
        };
        let mut dead = Vec::new();
        for (id, session, mut worker) in sessions::read(connection, self, registry)? {
            prober.probe(&mut worker, session.started_at.at(), session.beat_at.at());
            if worker.process == Process::Dead {
                dead.push(id);
            }
        }
        if dead.is_empty() {
            return Ok(());
        }
        self.gather_of(connection, now, &dead, claims).map(drop)
    }
}
