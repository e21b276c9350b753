//! The claims of a board that may be in trouble, by one statement or way by way.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::{MOST, PollFindings, Watch, limit, query};
use crate::domain::claim::Process;
use crate::domain::snapshot::Judged;
use crate::domain::time::Moment;
use crate::domain::verdict::judge;
use crate::postgres::error::PgError;
use crate::postgres::link::Link;
use crate::store::driver::Row as _;
use crate::store::postgres::candidate_queries::{self, CandidateQuery};
use crate::store::postgres::named_params::{NamedParams, array};
use crate::store::postgres::rows;
use crate::store::postgres::surroundings;

/// A query that takes longer than this is a burden, and asked at most for this share of the time.
const BURDEN: Duration = Duration::from_millis(200);
const SHARE: u32 = 20;
/// Holders that one poll looks up by hopping through the index.
const HOLDERS: usize = 20_000;

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
    pub(super) places: Vec<Option<String>>,
}

impl GatheredClaims {
    /// Adds a row of a statement that brings each only once.
    fn add(&mut self, place: Option<&str>, judged: Judged) {
        self.all.push(judged);
        self.places.push(place.map(str::to_owned));
    }

    /// Adds what another statement found. Rows are told apart by their places, and where one has none
    /// by their keys.
    fn join(&mut self, other: GatheredClaims) {
        if self.all.is_empty() {
            *self = other;
            return;
        }
        let places: HashSet<String> = self.places.iter().flatten().cloned().collect();
        let keys: HashSet<String> = self.all.iter().map(|judged| judged.claim.key.address()).collect();
        for (judged, place) in other.all.into_iter().zip(other.places) {
            let is_known = match &place {
                Some(place) => places.contains(place),
                None => keys.contains(&judged.claim.key.address()),
            };
            if !is_known {
                self.add(place.as_deref(), judged);
            }
        }
    }
}

impl Watch {
    /// Reads the claims that meet a condition; whether there are more than may be read.
    fn gather(
        &self,
        link: &mut Link,
        now: Moment,
        condition: &str,
        params: NamedParams,
        claims: &mut GatheredClaims,
    ) -> Result<bool, PgError> {
        self.gather_up_to(MOST, link, now, condition, params, claims)
    }

    pub(super) fn gather_up_to(
        &self,
        most: usize,
        link: &mut Link,
        now: Moment,
        condition: &str,
        mut params: NamedParams,
        claims: &mut GatheredClaims,
    ) -> Result<bool, PgError> {
        params.extend(self.clock(now));
        let sql = format!("{}{condition} LIMIT {}", self.reader.select(), limit(most));
        let rows = query(link, &params, &sql)?;
        let mut own = GatheredClaims::default();
        for row in rows.iter().take(most) {
            own.add(rows::place(row), self.reader.read(row, &self.board, now));
        }
        claims.join(own);
        Ok(rows.len() > most)
    }

    /// Each query by itself, so that each can use its own index; what no index answers is asked less often.
    pub(super) fn gather_by_arms(
        &mut self,
        link: &mut Link,
        now: Moment,
        found: &mut PollFindings,
        claims: &mut GatheredClaims,
    ) -> Result<(), PgError> {
        let mut burdens = std::mem::take(&mut self.burdens);
        let queries = self.queries.as_deref().unwrap_or_default();
        let mut asked = HashSet::new();
        for (number, query) in queries.iter().enumerate() {
            if burdens.get(&number).is_some_and(|burden| Instant::now() < burden.next) {
                continue;
            }
            let started = Instant::now();
            let mut own = GatheredClaims::default();
            let params = candidate_queries::params(std::slice::from_ref(query), now);
            found.more |= match self.bad_holders(link, now, query, &params)? {
                Some(holders) => self.gather_of(link, now, &holders, &mut own)?,
                None => self.gather(link, now, &format!(" AND ({})", query.sql), params, &mut own)?,
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
                remembered.all.push(judged);
                remembered.places.push(None);
            }
            claims.join(remembered);
        }
        self.burdens = burdens;
        Ok(())
    }

    /// The holders whose own row is in trouble or missing, found by hopping through the index on the
    /// claims' holders; nothing, if that is no way.
    fn bad_holders(
        &self,
        link: &mut Link,
        now: Moment,
        candidates: &CandidateQuery,
        params: &NamedParams,
    ) -> Result<Option<Vec<Option<String>>>, PgError> {
        let (true, true, Some(holder), Some(registry)) =
            (candidates.is_of_holders, self.holder_is_indexed, &self.board.holder, &self.board.registry)
        else {
            return Ok(None);
        };
        if self.board.looks_at_session {
            return Ok(None);
        }
        let (from, held, h) = (&self.board.from, self.board.is_held(), &holder.text);
        let sql = format!(
            "WITH RECURSIVE hops AS (
               (SELECT {h} AS holder, 1 AS n FROM {from} WHERE ({held}) AND {h} IS NOT NULL ORDER BY {h} LIMIT 1)
               UNION ALL
               SELECT (SELECT {h} FROM {from} WHERE ({held}) AND {h} > hops.holder ORDER BY {h} LIMIT 1), hops.n + 1
               FROM hops WHERE hops.holder IS NOT NULL AND hops.n <= {HOLDERS})
             SELECT hops.holder::text, (hops.n > {HOLDERS})::text FROM hops
             LEFT JOIN {} ON {} = hops.holder WHERE hops.holder IS NOT NULL AND ({} OR hops.n > {HOLDERS})",
            registry.from, registry.id.text, candidates.sql
        );
        let mut all = self.clock(now);
        all.extend(params.clone());
        let rows = query(link, &all, &sql)?;
        if rows.iter().any(|row| row.is_true(1)) {
            // As many holders as claims: then the join is the shorter way.
            return Ok(None);
        }
        Ok(Some(rows.iter().map(|row| row.text(0)).collect()))
    }

    /// The claims of some holders, and those of nobody.
    fn gather_of(
        &self,
        link: &mut Link,
        now: Moment,
        holders: &[Option<String>],
        claims: &mut GatheredClaims,
    ) -> Result<bool, PgError> {
        let Some(holder) = &self.board.holder else { return Ok(false) };
        let mut params = NamedParams::default();
        params.add("holders", "text[]", Some(array(holders.iter().map(Option::as_deref))));
        let h = &holder.text;
        let kind = if holder.declared.is_empty() { "text" } else { &holder.declared };
        let more =
            self.gather(link, now, &format!(" AND {h} = ANY ((:holders)::{kind}[])"), params, claims)?;
        Ok(self.gather(link, now, &format!(" AND {h} IS NULL"), NamedParams::default(), claims)? || more)
    }

    /// The claims about which the kernel knows more than the tables.
    pub(super) fn ask_the_kernel(
        &self,
        link: &mut Link,
        now: Moment,
        claims: &mut GatheredClaims,
    ) -> Result<(), PgError> {
        let (Some(prober), Some(pid)) = (&self.prober, &self.board.pid) else { return Ok(()) };
        let Some(registry) = &self.board.registry else {
            let condition = format!(" AND ({pid}) IS NOT NULL");
            return self.gather(link, now, &condition, NamedParams::default(), claims).map(|_| ());
        };
        let mut dead = Vec::new();
        for (id, session, mut worker) in surroundings::sessions(link, self, registry)? {
            prober.probe(&mut worker, session.started_at.at(), session.beat_at.at());
            if worker.process == Process::Dead {
                dead.push(id.text());
            }
        }
        if dead.is_empty() {
            return Ok(());
        }
        self.gather_of(link, now, &dead, claims).map(|_| ())
    }
}
