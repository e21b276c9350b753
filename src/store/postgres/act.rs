//! The statements of an act: what the profile says is done, inside a guard that the program adds.

use std::borrow::Cow;

use super::cell::sent;
use super::dependencies::CascadeEffect;
use super::dialect::names_zone;
use super::image;
use super::named_params::NamedParams;
use super::schema::{literal, quoted};
use super::watch::Watch;
use crate::domain::claim::Claim;
use crate::domain::recovery::{Action, Refusal};
use crate::domain::rules::Thresholds;
use crate::domain::time::{Moment, Span, TimeUnit};
use crate::profile::format::{Act, Profile};
use crate::store::act::{Order, ordered};
use crate::store::bound::BoundZone;
use crate::store::schema::Table;
use crate::store::seen::Seen;

/// What runs, in order, and the values it runs with.
#[derive(Debug)]
pub struct Statements {
    /// Selects something if the act is forbidden.
    pub blocked_by: Option<String>,
    pub before: Vec<String>,
    pub act: String,
    /// What becomes of the row.
    pub effect: CascadeEffect,
    pub also: Vec<String>,
    pub params: NamedParams,
}

/// Compiles an act on exactly the row that was looked at, or says why there is none.
pub fn statements(
    profile: &Profile,
    watch: &Watch,
    fresh: &Seen,
    order: &Order<'_>,
) -> Result<Statements, Refusal> {
    let act = ordered(profile, &watch.board.name, order)?;
    let mut params = NamedParams::default();
    let key = watch.has_key(&fresh.judged.claim.key.0, &mut params);
    let same = image::guard(&watch.table, &fresh.row, "c", "seen", &mut params);
    params.add("version", "", fresh.version.clone());
    params.extend(self::params(watch, &fresh.judged.claim, &fresh.why, order, fresh.now));
    let conditions = format!("{key} AND c.xmin::text = :version AND {same}");
    Ok(Statements {
        blocked_by: act.blocked_by.as_ref().map(|predicate| {
            format!("SELECT 'x' FROM {} WHERE {key} AND ({predicate}\n)", watch.board.joined())
        }),
        before: act.before.clone(),
        act: guarded(act, &watch.table, "c", "", &conditions, order.action.as_str())?
            + &image::returned(&watch.table, "c"),
        effect: effect(act),
        also: act.also.clone(),
        params,
    })
}

/// What an act makes of a row.
pub fn effect(act: &Act) -> CascadeEffect {
    if act.delete {
        CascadeEffect::Deleted
    } else {
        CascadeEffect::Changed(act.set.keys().cloned().collect())
    }
}

/// The statement that does the act to the rows for which the conditions hold.
pub fn guarded(
    act: &Act,
    table: &Table,
    alias: &str,
    from: &str,
    conditions: &str,
    verb: &'static str,
) -> Result<String, Refusal> {
    if act.delete {
        let using = if from.is_empty() { String::new() } else { format!(" USING {from}") };
        return Ok(format!("DELETE FROM {} AS {alias}{using} WHERE {conditions}", table.sql));
    }
    // Columns that this version of the system lacks are left out, as they are in reading. The line
    // break keeps a comment in a value from swallowing the guard.
    let set = act.set.iter().filter_map(|(column, value)| {
        let column = table.column(column)?;
        let value = suited(value, &column.declared);
        Some(format!("{} = ({value}\n)::{}", quoted(&column.name), column.declared))
    });
    let set: Vec<String> = set.collect();
    if set.is_empty() {
        return Err(Refusal::NoColumns { act: verb });
    }
    let from = if from.is_empty() { String::new() } else { format!(" FROM {from}") };
    Ok(format!("UPDATE {} AS {alias} SET {}{from} WHERE {conditions}", table.sql, set.join(", ")))
}

/// An instant in the form of the column that it is written to: without a zone, in that of the board; or
/// with one. A cast would take the zone of our session.
fn suited<'a>(value: &'a str, declared: &str) -> Cow<'a, str> {
    match (value.trim(), names_zone(declared)) {
        (name @ (":now" | ":until"), Some(true)) => format!("{name}_zoned").into(),
        (name @ (":now" | ":until"), Some(false)) => format!("{name}_naive").into(),
        _ => value.into(),
    }
}

/// The values that a profile's expressions may name.
pub fn params(watch: &Watch, claim: &Claim, why: &str, order: &Order<'_>, now: Moment) -> NamedParams {
    let mut params = shared_words(watch, order, now);
    let own = OwnWords::new(watch, claim, why, order);
    params.add_span("by", watch.board.unit, own.by());
    let until = watch.board.rules.claim_now(now).plus(own.by());
    add_instant(&mut params, "until", watch.board.unit, &watch.board.zone, until);
    params.add("ttl_minutes", "bigint", own.ttl_minutes());
    params.add("max_attempts", "bigint", own.max_attempts());
    params.add("why", "text", Some(own.why()));
    params.add("id", id_type(watch), own.id());
    params.add("holder", "text", own.holder());
    params.add("kind", "text", claim.kind.clone());
    params
}

/// Those that are the same for all claims of a board.
pub fn shared_words(watch: &Watch, order: &Order<'_>, now: Moment) -> NamedParams {
    let mut params = NamedParams::default();
    let board = &watch.board;
    add_instant(&mut params, "now", board.unit, &board.zone, board.rules.claim_now(now));
    params.add("reason", "text", order.word.reason.clone());
    params
}

/// An instant for what is written. Where times are texts it has no type of its own: a log beside the claims
/// may well keep times as such.
pub fn add_instant(params: &mut NamedParams, name: &str, unit: TimeUnit, zone: &BoundZone, moment: Moment) {
    match unit {
        TimeUnit::TextUtc => params.add_sql(name, &literal(&zone.own.unwrap_or_default().text(moment))),
        _ => params.add_time(name, unit, zone, moment),
    }
    params.add_time(&format!("{name}_zoned"), TimeUnit::Timestamptz, zone, moment);
    params.add_time(&format!("{name}_naive"), TimeUnit::Timestamp, zone, moment);
}

/// The type of the first part of the key.
pub fn id_type(watch: &Watch) -> &str {
    watch.board.id_types.first().map_or("text", String::as_str)
}

/// Those that are a claim's own.
#[derive(Debug)]
pub struct OwnWords<'a> {
    limits: &'a Thresholds,
    claim: &'a Claim,
    why: &'a str,
    order: &'a Order<'a>,
}

impl<'a> OwnWords<'a> {
    pub fn new(watch: &'a Watch, claim: &'a Claim, why: &'a str, order: &'a Order<'a>) -> OwnWords<'a> {
        OwnWords { limits: watch.board.rules.for_kind(claim.kind.as_deref()), claim, why, order }
    }

    pub fn by(&self) -> Span {
        self.order.word.by.or(self.limits.ttl).unwrap_or(self.limits.lease)
    }

    pub fn ttl_minutes(&self) -> Option<String> {
        self.limits.ttl.map(|ttl| (ttl.as_micros() / Span::minutes(1).as_micros()).to_string())
    }

    pub fn max_attempts(&self) -> Option<String> {
        self.claim.max_attempts.map(|most| most.to_string())
    }

    pub fn why(&self) -> String {
        let why = if self.order.action == Action::Requeue { "queued again by hand" } else { self.why };
        match &self.order.word.reason {
            Some(reason) => format!("{why} ({reason})"),
            None => why.to_owned(),
        }
    }

    pub fn id(&self) -> Option<Cow<'a, str>> {
        self.claim.key.0.first().and_then(sent)
    }

    pub fn holder(&self) -> Option<&'a str> {
        self.claim.holder.as_deref()
    }
}

impl Statements {
    /// Everything as it would run, and the values it names.
    pub fn preview(&self) -> Vec<String> {
        let all = self.before.iter().chain([&self.act]).chain(&self.also);
        all.flat_map(|sql| [sql.replace('\n', ""), format!("  with {}", self.params.shown_in(sql))]).collect()
    }
}
