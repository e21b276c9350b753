//! The claims of a board that may be in trouble, by one statement or way by way.

use std::collections::HashSet;
use std::time::Instant;

use super::candidate_queries::CandidateQuery;
use super::sessions;
use super::sql::HoldersAsked;
use super::watch::{BURDEN, PollFindings, SHARE, Watch};
use super::{POLLING, one_more};
use crate::domain::claim::Process;
use crate::domain::snapshot::Judged;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::domain::verdict::judge;
use crate::store::driver::{Connection, Failed, QueryRows, Row};
use crate::store::found::RowRef;
use crate::store::named_params::NamedParams;

/// Claims that one query may bring in; more are only said to be there.
pub(super) const MOST: usize = 20_000;
/// Holders that one poll looks up apart from their claims.
const MOST_HOLDERS: usize = 20_000;

/// The claims that a statement asks for.
#[derive(Debug)]
pub(super) struct ClaimsAsked<'a> {
    pub condition: &'a str,
    pub params: NamedParams,
    pub most: usize,
    pub state: StateRead,
}

/// When the state of a claim's row is read, which its token is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum StateRead {
    /// With the claim: there are so few that all of them are shown.
    Along,
    /// By a second statement, for those that are shown.
    #[default]
    Apart,
}

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
    pub(super) fn gather(
        &self,
        connection: &mut dyn Connection,
        now: Moment,
        asked: ClaimsAsked<'_>,
        claims: &mut GatheredClaims,
    ) -> Result<bool, Failed> {
        let ClaimsAsked { condition, mut params, most, state } = asked;
        params.extend(self.clock(now));
        let select = match state {
            StateRead::Along => self.reader.select_with_state(&[]),
            StateRead::Apart => self.reader.select(),
        };
        let sql = format!("{select}{condition} LIMIT {}", one_more(most));
        let mut own = GatheredClaims::default();
        let mut rows = 0;
        connection.each(POLLING, &sql, &params, &mut |row| {
            rows += 1;
            if rows <= most {
                let place = row.text(0).and_then(|place| RowRef::parse(&place));
                let judged = match state {
                    StateRead::Along => self.reader.read_with_state(row, &self.board, now),
                    StateRead::Apart => self.reader.read(row, &self.board, now),
                };
                own.add(place, judged);
            }
        })?;
        claims.join(own);
        Ok(rows > most)
    }

    /// The claims that meet a condition, up to as many as one query may bring in.
    fn asked<'a>(&self, condition: &'a str, params: NamedParams) -> ClaimsAsked<'a> {
        ClaimsAsked { condition, params, most: MOST, state: self.state_read }
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
        burdens.retain(|sql, _| queries.iter().any(|query| query.sql == *sql));
        let is_due =
            |burden: Option<&UnindexedQuery>| burden.is_none_or(|burden| burden.next <= Instant::now());
        let (due, not_due): (Vec<_>, Vec<_>) =
            queries.iter().partition(|query| is_due(burdens.get(&query.sql)));
        for query in due {
            let started = Instant::now();
            let mut own = GatheredClaims::default();
            found.more |= match self.bad_holders(connection, now, query)? {
                Some(holders) => self.gather_of(connection, now, &holders, &mut own)?,
                None => {
                    let condition = format!(" AND ({})", query.sql);
                    self.gather(connection, now, self.asked(&condition, query.params.clone()), &mut own)?
                }
            };
            let took = started.elapsed();
            burdens.remove(&query.sql);
            if took > BURDEN {
                let next = Instant::now() + took * SHARE;
                let burden = UnindexedQuery { claims: own.all.clone(), at: now, next };
                burdens.insert(query.sql.clone(), burden);
            }
            claims.join(own);
        }
        // What was just read says it better than what is remembered.
        for burden in not_due.iter().filter_map(|query| burdens.get(&query.sql)) {
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

    /// The holders whose own row is in trouble or missing, found one by one through the index on the claims' holders;
    /// nothing, if that is no way.
    fn bad_holders(
        &self,
        connection: &mut dyn Connection,
        now: Moment,
        candidates: &CandidateQuery,
    ) -> Result<Option<Vec<Value>>, Failed> {
        let (true, true, Some(holder), Some(registry)) = (
            candidates.is_of_holders,
            self.plan.holder_is_indexed && !self.board.looks_at_session,
            &self.board.holder,
            &self.board.registry,
        ) else {
            return Ok(None);
        };
        let asked = HoldersAsked { holder, registry, condition: &candidates.sql, most: MOST_HOLDERS };
        let Some(sql) = self.sql.holders(&self.board, &asked) else { return Ok(None) };
        let mut params = self.clock(now);
        params.extend(candidates.params.clone());
        let read = |row: &dyn Row| (row.value(0, &holder.declared), row.is_true(1));
        let holders = connection.all(POLLING, &sql, &params, read)?;
        // As many holders as claims: then the join is the shorter way.
        let too_many = holders.iter().any(|(_, too_many)| *too_many);
        Ok((!too_many).then(|| holders.into_iter().map(|(holder, _)| holder).collect()))
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
        for some in holders.chunks(self.sql.values_at_once()) {
            let mut params = NamedParams::default();
            let is_theirs = self.sql.is_one_of(&holder.text, &holder.declared, some, &mut params);
            let condition = format!(" AND {is_theirs}");
            more |= self.gather(connection, now, self.asked(&condition, params), claims)?;
        }
        let nobody = format!(" AND {} IS NULL", holder.text);
        Ok(self.gather(connection, now, self.asked(&nobody, NamedParams::default()), claims)? || more)
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
            let asked = self.asked(&condition, NamedParams::default());
            return self.gather(connection, now, asked, claims).map(drop);
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
