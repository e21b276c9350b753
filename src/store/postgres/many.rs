//! The claims of a batch as SQL: which they are, which can be locked, and what is each one's own.

use std::collections::HashSet;

use super::act::{OwnWords, id_type, shared_words};
use super::actor::Turn;
use super::cell::sent;
use super::error::PgError;
use super::link::Link;
use super::watch::{Watch, query};
use super::words::{Words, array};
use crate::domain::time::TimeUnit;
use crate::profile::format::Act;
use crate::store::act::Order;
use crate::store::seen::Seen;

/// A claim by the texts of its key.
pub fn name(seen: &Seen) -> Vec<Option<String>> {
    seen.judged.claim.key.0.iter().map(sent).collect()
}

/// Those of the claims that are held, by their names.
pub fn held(
    link: &mut Link,
    watch: &Watch,
    turn: &Turn,
    all: &[&Seen],
) -> Result<HashSet<Vec<Option<String>>>, PgError> {
    let (condition, words) = with_keys(watch, all);
    let mut naming = watch.clock(turn.now);
    naming.extend(words);
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
pub fn lock_sessions(link: &mut Link, watch: &Watch, all: &[&Seen]) -> Result<HashSet<String>, PgError> {
    let Some(registry) = &watch.board.registry else { return Ok(HashSet::new()) };
    let holders: HashSet<&str> = all.iter().filter_map(|seen| seen.judged.claim.holder.as_deref()).collect();
    let mut words = Words::default();
    words.add("holders", "text[]", Some(array(holders.into_iter().map(Some))));
    let sql = format!(
        "SELECT ({id})::text FROM {} WHERE ({id}) = ANY ((:holders)::{}[]) ORDER BY 1 FOR SHARE SKIP LOCKED",
        registry.from,
        if registry.id.declared.is_empty() { "text" } else { &registry.id.declared },
        id = registry.id.text
    );
    let rows = query(link, &words, &sql)?;
    Ok(rows.iter().filter_map(|row| row.get(0)).map(str::to_owned).collect())
}

/// That a row is one of these claims.
pub fn with_keys(watch: &Watch, all: &[&Seen]) -> (String, Words) {
    let mut words = Words::default();
    let (mut columns, mut arrays) = (Vec::new(), Vec::new());
    for (at, kind) in watch.board.id_types.iter().enumerate() {
        let values: Vec<Option<String>> =
            all.iter().map(|seen| seen.judged.claim.key.0.get(at).and_then(sent)).collect();
        words.add(&format!("keys{at}"), "text[]", Some(array(values.iter().map(Option::as_deref))));
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
    (condition, words)
}

/// A table of the claims with what is each one's own, as far as the act names it, and the words that refer
/// to it.
pub fn each(
    watch: &Watch,
    eligible: &[(usize, Seen)],
    act: &Act,
    order: &Order<'_>,
    turn: &Turn,
    zone: &str,
) -> (String, Words) {
    let is_named = |word: &str| act.set.values().any(|value| value.contains(&format!(":{word}")));
    let mut words = shared_words(watch, order, turn.now, zone);
    let mut columns: Vec<(String, Vec<Option<String>>)> = Vec::new();
    columns.push(("n".into(), (0..eligible.len()).map(|n| Some(n.to_string())).collect()));
    columns.push(("version".into(), eligible.iter().map(|(_, seen)| seen.version.clone()).collect()));
    for at in 0..watch.board.id.len() {
        let key = eligible.iter().map(|(_, seen)| seen.judged.claim.key.0.get(at).and_then(sent));
        columns.push((format!("key{at}"), key.collect()));
    }
    let mut add = |name: &str, value: &dyn Fn(OwnWords) -> Option<String>| {
        let own = |seen: &Seen| OwnWords::new(watch, &seen.judged.claim, &seen.why, order);
        columns.push((name.into(), eligible.iter().map(|(_, seen)| value(own(seen))).collect()));
    };
    if is_named("why") {
        add("why", &|own| Some(own.why));
        words.add_sql("why", "claimtop_row.claimtop_why");
    }
    if is_named("holder") {
        add("holder", &|own| own.holder);
        words.add_sql("holder", "claimtop_row.claimtop_holder");
    }
    if is_named("id") {
        add("id", &|own| own.id);
        words.add_sql("id", &format!("(claimtop_row.claimtop_id)::{}", id_type(watch)));
    }
    if is_named("ttl_minutes") {
        add("ttl_minutes", &|own| own.ttl_minutes.map(|minutes| minutes.to_string()));
        words.add_sql("ttl_minutes", "(claimtop_row.claimtop_ttl_minutes)::bigint");
    }
    if is_named("max_attempts") {
        add("max_attempts", &|own| own.max_attempts.map(|most| most.to_string()));
        words.add_sql("max_attempts", "(claimtop_row.claimtop_max_attempts)::bigint");
    }
    if is_named("by") || is_named("until") {
        add("by", &|own| Some(own.by.as_micros().to_string()));
        add_spans(&mut words, watch.board.unit);
    }
    let (mut names, mut arrays) = (Vec::new(), Vec::new());
    for (name, values) in &columns {
        let place = format!("claimtop_each_{name}");
        words.add(&place, "text[]", Some(array(values.iter().map(Option::as_deref))));
        arrays.push(format!(":{place}"));
        // An expression of the profile's names columns of its own table: these must not be in their way.
        names.push(format!("claimtop_{name}"));
    }
    (format!("unnest({}) AS claimtop_row({})", arrays.join(", "), names.join(", ")), words)
}

/// `:by` and `:until` out of the microseconds of each row.
fn add_spans(words: &mut Words, unit: TimeUnit) {
    let micros = "(claimtop_row.claimtop_by)::numeric";
    if unit.is_number() {
        let by = format!("({micros} * {} / 1000000)::bigint", unit.per_second());
        words.add_sql("until", &format!("(:now + {by})"));
        words.add_sql("by", &by);
        return;
    }
    let by = format!("make_interval(secs => ({micros} / 1000000)::double precision)");
    words.add_sql(
        "until",
        &match unit {
            TimeUnit::TextUtc => format!("to_char((:now)::timestamp + {by}, 'YYYY-MM-DD HH24:MI:SS')"),
            _ => format!("(:now + {by})"),
        },
    );
    words.add_sql("by", &by);
}
