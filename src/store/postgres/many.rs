//! The claims of a batch as SQL: which they are, which can be locked, and what is each one's own.

use std::borrow::Cow;
use std::collections::HashSet;

use super::cell::sent;
use super::connection::query;
use super::dialect::PostgresDialect;
use super::named_params::{NamedParams, array};
use crate::domain::time::TimeUnit;
use crate::postgres::error::PgError;
use crate::postgres::link::Link;
use crate::profile::format::Act;
use crate::store::act::Order;
use crate::store::driver::Turn;
use crate::store::seen::{Seen, Spot};
use crate::store::server::Watch;
use crate::store::statements::{ClaimValues, id_type, shared_values};

/// A claim by the texts of its key.
pub(super) fn name(seen: &Seen) -> Vec<Option<String>> {
    seen.judged.claim.key.0.iter().map(|part| sent(part).map(Cow::into_owned)).collect()
}

/// Those of the claims that are held, by their names.
pub(super) fn held(
    link: &mut Link,
    watch: &Watch,
    turn: &Turn,
    all: &[&Seen],
) -> Result<HashSet<Vec<Option<String>>>, PgError> {
    let (condition, params) = with_keys(watch, all);
    let mut naming = watch.clock(turn.now);
    naming.extend(params);
    let ids: Vec<String> = watch.board.id.iter().map(|id| format!("({id})::text")).collect();
    let sql = format!(
        "SELECT {} FROM {} WHERE ({}){condition}",
        ids.join(", "),
        watch.board.from,
        watch.board.is_held()
    );
    let rows = query(link, &naming, &sql)?;
    Ok(rows.iter().map(|row| (0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect()).collect())
}

/// The sessions of the claims, locked, less those that somebody else holds.
pub(super) fn lock_sessions(
    link: &mut Link,
    watch: &Watch,
    all: &[&Seen],
) -> Result<HashSet<String>, PgError> {
    let Some(registry) = &watch.board.registry else { return Ok(HashSet::new()) };
    let holders: HashSet<&str> = all.iter().filter_map(|seen| seen.judged.claim.holder.as_deref()).collect();
    let mut params = NamedParams::default();
    params.add("holders", "text[]", Some(array(holders.into_iter().map(Some))));
    let sql = format!(
        "SELECT ({id})::text FROM {} WHERE ({id}) {} ANY ((:holders)::{}[]) ORDER BY 1 FOR SHARE SKIP LOCKED",
        registry.from,
        registry.equality,
        if registry.id.declared.is_empty() { "text" } else { &registry.id.declared },
        id = registry.id.text
    );
    let rows = query(link, &params, &sql)?;
    Ok(rows.iter().filter_map(|row| row.get(0)).map(str::to_owned).collect())
}

/// That a row is one of these claims.
pub(super) fn with_keys(watch: &Watch, all: &[&Seen]) -> (String, NamedParams) {
    let mut params = NamedParams::default();
    let (mut columns, mut arrays) = (Vec::new(), Vec::new());
    for (at, kind) in watch.board.id_types.iter().enumerate() {
        let values = all.iter().map(|seen| part_of_key(seen, at));
        params.add(&format!("keys{at}"), "text[]", Some(array(values)));
        columns.push(format!("claimtop_key.k{at}::{kind}"));
        arrays.push(format!(":keys{at}"));
    }
    let names: Vec<String> = (0..columns.len()).map(|at| format!("k{at}")).collect();
    let ids: Vec<String> = watch.board.id.iter().map(|id| format!("({id})")).collect();
    let condition = format!(
        " AND ({}) IN (SELECT {} FROM unnest({}) AS claimtop_key({}))",
        ids.join(", "),
        columns.join(", "),
        arrays.join(", "),
        names.join(", ")
    );
    (condition, params)
}

/// A table of the claims with what is each one's own, as far as the act names it, and the params that refer
/// to it.
pub(super) fn each(
    watch: &Watch,
    eligible: &[(usize, Cow<'_, Seen>)],
    act: &Act,
    order: &Order<'_>,
    turn: &Turn,
) -> (String, NamedParams) {
    let is_named = |name: &str| act.set.values().any(|value| value.contains(&format!(":{name}")));
    let all = || eligible.iter().map(|(_, seen)| &**seen);
    let own = || all().map(|seen| ClaimValues::new(&watch.board, &seen.judged.claim, &seen.why, order));
    let mut listed = ClaimArrays {
        params: shared_values(&PostgresDialect, &watch.board, order, turn.now),
        ..ClaimArrays::default()
    };
    listed.add("version", all().map(|seen| seen.version.as_ref()));
    listed.add("spot", all().map(spot));
    for at in 0..watch.board.id.len() {
        listed.add(&format!("key{at}"), all().map(|seen| part_of_key(seen, at)));
    }
    if is_named("why") {
        listed.add("why", own().map(|own| Some(own.why())));
        listed.params.add_sql("why", "claimtop_row.claimtop_why");
    }
    if is_named("holder") {
        listed.add("holder", all().map(|seen| seen.judged.claim.holder.as_deref()));
        listed.params.add_sql("holder", "claimtop_row.claimtop_holder");
    }
    if is_named("kind") {
        listed.add("kind", all().map(|seen| seen.judged.claim.kind.as_deref()));
        listed.params.add_sql("kind", "claimtop_row.claimtop_kind");
    }
    if is_named("id") {
        listed.add("id", all().map(|seen| part_of_key(seen, 0)));
        listed.params.add_sql("id", &format!("(claimtop_row.claimtop_id)::{}", id_type(&watch.board)));
    }
    if is_named("ttl_minutes") {
        listed.add("ttl_minutes", own().map(|own| own.ttl_minutes().map(|minutes| minutes.to_string())));
        listed.params.add_sql("ttl_minutes", "(claimtop_row.claimtop_ttl_minutes)::bigint");
    }
    if is_named("max_attempts") {
        listed.add(
            "max_attempts",
            all().map(|seen| seen.judged.claim.max_attempts.map(|most| most.to_string())),
        );
        listed.params.add_sql("max_attempts", "(claimtop_row.claimtop_max_attempts)::bigint");
    }
    if is_named("by") || is_named("until") {
        listed.add("by", own().map(|own| Some(own.by().as_micros().to_string())));
        add_spans(&mut listed.params, watch.board.unit);
    }
    (listed.from(), listed.params)
}

/// Values of claims as a table of texts.
#[derive(Default)]
struct ClaimArrays {
    params: NamedParams,
    names: Vec<String>,
    arrays: Vec<String>,
}

impl ClaimArrays {
    fn add(&mut self, name: &str, values: impl Iterator<Item = Option<impl AsRef<str>>>) {
        let place = format!("claimtop_each_{name}");
        self.params.add(&place, "text[]", Some(array(values)));
        self.arrays.push(format!(":{place}"));
        // An expression of the profile's names columns of its own table: these must not be in their way.
        self.names.push(format!("claimtop_{name}"));
    }

    /// The table, its rows numbered from 1.
    fn from(&self) -> String {
        let (arrays, names) = (self.arrays.join(", "), self.names.join(", "));
        format!("unnest({arrays}) WITH ORDINALITY AS claimtop_row({names}, claimtop_n)")
    }
}

/// Where a claim was seen, as text.
pub(super) fn spot(seen: &Seen) -> Option<String> {
    seen.spot.map(|spot| spot.to_string())
}

fn part_of_key(seen: &Seen, at: usize) -> Option<Cow<'_, str>> {
    seen.judged.claim.key.0.get(at).and_then(sent)
}

/// That a row is the one of the claim listed.
pub(super) fn is_its(watch: &Watch) -> String {
    let ids = watch.board.id.iter().zip(&watch.board.id_types).enumerate();
    let same = ids.map(|(at, (id, kind))| format!("({id}) = claimtop_row.claimtop_key{at}::{kind}"));
    same.collect::<Vec<_>>().join(" AND ")
}

/// That a row is the version that was seen.
pub(super) fn is_as_seen() -> &'static str {
    "c.xmin::text = claimtop_row.claimtop_version"
}

/// The same, and the row is found without an index: a version stays where it is.
pub(super) fn is_where_seen() -> String {
    format!("c.ctid = claimtop_row.claimtop_spot::tid AND {}", is_as_seen())
}

/// So many places are looked at by one scan of its own: more, and reading the whole table would seem cheaper
/// than going where the rows were.
const AT_ONCE: usize = 256;

/// Of which of the claims the row is still what was seen.
pub(super) fn unchanged(link: &mut Link, watch: &Watch, all: &[&Seen]) -> Result<Vec<bool>, PgError> {
    let spots: Vec<String> =
        all.chunks(AT_ONCE).map(|some| array(some.iter().map(|seen| spot(seen)))).collect();
    let sql = format!(
        "SELECT c.spot, c.version FROM unnest(($1::text)::text[]) AS claimtop_some(spots), LATERAL \
         (SELECT c.ctid::text AS spot, c.xmin::text AS version FROM {} AS c \
          WHERE c.ctid = ANY (claimtop_some.spots::tid[]) OFFSET 0) AS c",
        watch.table.sql
    );
    let rows = link.query(&sql, &[Some(&array(spots.iter().map(Some)))])?;
    let found: HashSet<(Option<Spot>, Option<&str>)> =
        rows.iter().map(|row| (row.get(0).and_then(Spot::parse), row.get(1))).collect();
    let is_found = |seen: &Seen| found.contains(&(seen.spot, seen.version.as_deref()));
    Ok(all.iter().map(|seen| is_found(seen)).collect())
}

/// `:by` and `:until` out of the microseconds of each row.
fn add_spans(params: &mut NamedParams, unit: TimeUnit) {
    let micros = "(claimtop_row.claimtop_by)::numeric";
    if unit.is_number() {
        let by = format!("({micros} * {} / 1000000)::bigint", unit.per_second());
        params.add_sql("until", &format!("(:now + {by})"));
        params.add_sql("by", &by);
        let span = format!("make_interval(secs => ({micros} / 1000000)::double precision)");
        params.add_sql("until_zoned", &format!("(:now_zoned + {span})"));
        params.add_sql("until_naive", &format!("(:now_naive + {span})"));
        return;
    }
    let by = format!("make_interval(secs => ({micros} / 1000000)::double precision)");
    params.add_sql("until_zoned", &format!("(:now_zoned + {by})"));
    params.add_sql("until_naive", &format!("(:now_naive + {by})"));
    params.add_sql(
        "until",
        &match unit {
            TimeUnit::TextUtc => format!("to_char((:now)::timestamp + {by}, 'YYYY-MM-DD HH24:MI:SS')"),
            _ => format!("(:now + {by})"),
        },
    );
    params.add_sql("by", &by);
}
