//! The probes of a board: one or more for every reason.

use super::{Edge, MARK, Probe, Tag, Window};
use crate::domain::rules::{DeadlineRule, Thresholds};
use crate::domain::time::{Moment, Span, TimeUnit};
use crate::domain::verdict::Reason;
use crate::store::bound::{BoundBoard, BoundRegistry, Sql, TimeSql};
use crate::store::schema::literal;
use crate::store::sqlite::functions::code;

const TICK: Span = Span::micros(1);
const FIRST: Edge = Edge::Fixed(Moment::EARLIEST);

/// The excluded upper edge of everything that can be read.
fn last() -> Edge {
    // One past the latest would not be a moment; nothing is lost at the end of the year 9999.
    Edge::Fixed(Moment::LATEST)
}

/// Everything a poll asks of `board`.
pub(in crate::store::sqlite) fn compile(board: &BoundBoard) -> Vec<Probe> {
    let mut probes = Vec::new();
    for (condition, limits) in groups(board) {
        let mut group = Vec::new();
        deadlines(board, limits, &mut group);
        beats(board, limits, &mut group);
        let own = group.len();
        sessions(board, limits, &mut group);
        // Whoever is at work is no orphan.
        for probe in &mut group[own..] {
            probe.only.extend(not_alive(board));
        }
        for mut probe in group {
            // Its kind first: that costs nothing, and spares most claims the rest.
            probe.only.splice(0..0, condition.clone());
            probes.push(probe);
        }
    }
    unreadable(board, &mut probes);
    skewed(board, &mut probes);
    if let Some(disowned) = &board.disowned {
        let conditions = [Some(disowned.clone()), not_alive(board)].into_iter().flatten().collect();
        probes.push(still(Tag::Reason(Reason::SessionMissing), conditions, true));
    }
    if board.rules.doubt.is_some() {
        // No time can be trusted: what remains is what needs none.
        probes.retain(|probe| match probe.tag {
            Tag::Reason(Reason::SessionMissing | Reason::Unreadable | Reason::NoDeadline) => true,
            Tag::BadDeadline => true,
            Tag::Reason(_) | Tag::Runaway | Tag::OldBeat => false,
        });
        probes.push(still(Tag::Reason(Reason::ClockSkew), Vec::new(), false));
    }
    probes
}

/// The board's claims, split where kinds have thresholds of their own.
fn groups(board: &BoundBoard) -> Vec<(Option<String>, &Thresholds)> {
    let Some(kind) = board.kind.as_ref().filter(|_| !board.rules.kinds.is_empty()) else {
        return vec![(None, &board.rules.thresholds)];
    };
    let mut groups: Vec<(Option<String>, &Thresholds)> = board
        .rules
        .kinds
        .iter()
        .map(|(name, limits)| (Some(format!("{kind} = {}", literal(name))), limits))
        .collect();
    let names: Vec<String> = board.rules.kinds.keys().map(|name| literal(name)).collect();
    let others = format!("({kind} IS NULL OR {kind} NOT IN ({}))", names.join(", "));
    groups.push((Some(others), &board.rules.thresholds));
    groups
}

fn minus(span: Span) -> Span {
    span.times(-1)
}

/// A probe whose window is all there is to it.
fn moving(tag: Tag, time: &TimeSql, from: Edge, to: Edge) -> Probe {
    Probe {
        window: Some(Window { time: time.comparable.clone(), unit: time.compared_in(), from, to }),
        strips: true,
        index: time.cell.column.clone().filter(|_| time.unit.is_number()),
        ..still(tag, Vec::new(), false)
    }
}

/// A probe that the clock does not move.
fn still(tag: Tag, only: Vec<String>, needs_session: bool) -> Probe {
    Probe {
        tag,
        only,
        params: Vec::new(),
        window: None,
        needs_session,
        without_session: false,
        strips: false,
        index: None,
    }
}

fn deadlines(board: &BoundBoard, limits: &Thresholds, probes: &mut Vec<Probe>) {
    let expired = Tag::Reason(Reason::LeaseExpired);
    let near = Tag::Reason(Reason::DeadlineNear);
    let now = Edge::Claims(Span::ZERO);
    match board.rules.deadline {
        DeadlineRule::Lease => {
            let Some(deadline) = &board.deadline else { return };
            let warn = limits.warn_of_lease();
            probes.push(moving(expired, deadline, FIRST, now));
            probes.push(moving(near, deadline, now, Edge::Claims(plus_tick(warn))));
            if limits.lease.is_positive() {
                let to = Edge::Claims(plus_tick(minus(limits.lease)));
                probes.push(moving(Tag::Runaway, deadline, FIRST, to));
            }
        }
        DeadlineRule::Timeout => timeouts(board, limits, probes),
        DeadlineRule::Ttl => match (limits.ttl, board.claimed_at.as_ref().or(board.beat_at.as_ref())) {
            (Some(ttl), Some(since)) => ttls(board, limits, ttl, since, probes),
            _ => probes.push(still(Tag::Reason(Reason::NoDeadline), Vec::new(), false)),
        },
        DeadlineRule::Never => probes.push(still(Tag::Reason(Reason::NoDeadline), Vec::new(), false)),
        DeadlineRule::Endless => {}
        // Its deadline is its session's, below, unless it has none.
        DeadlineRule::Holder => unregistered(board, limits, probes),
    }
}

fn plus_tick(span: Span) -> Span {
    Span::micros(span.as_micros().saturating_add(TICK.as_micros()))
}

/// Rows with a timeout of their own: the instants are computed row by row.
fn timeouts(board: &BoundBoard, limits: &Thresholds, probes: &mut Vec<Probe>) {
    let (Some(since), Some(seconds)) = (&board.claimed_at, &board.timeout) else { return };
    let arguments =
        format!("{}, {}, {seconds}", since.cell.text, code(since.unit, since.zone.own.unwrap_or_default()));
    let warn = limits.warn_before.map_or_else(|| "NULL".into(), |warn| warn.as_micros().to_string());
    let at = |function: &str, more: &str| TimeSql {
        cell: Sql { text: String::new(), column: None, declared: String::new() },
        unit: TimeUnit::UnixUs,
        selected: String::new(),
        comparable: format!("{function}({arguments}{more})"),
        bound_type: None,
        zone: since.zone.clone(),
        is_naive: false,
    };
    let deadline = at("claimtop_deadline", "");
    let now = Edge::Claims(Span::ZERO);
    probes.push(moving(Tag::Reason(Reason::LeaseExpired), &deadline, FIRST, now));
    probes.push(moving(Tag::Runaway, &at("claimtop_runaway", ""), FIRST, Edge::Claims(TICK)));
    let mut near = moving(Tag::Reason(Reason::DeadlineNear), &deadline, now, last());
    near.only.push(format!("claimtop_near({arguments}, {warn}) < :soon{MARK}"));
    near.params.push((format!("soon{MARK}"), TimeUnit::UnixUs, Edge::Claims(TICK)));
    near.strips = false;
    probes.push(near);
}

/// Rows whose sign of life, the later of two columns, decides.
fn ttls(board: &BoundBoard, limits: &Thresholds, ttl: Span, claimed_at: &TimeSql, probes: &mut Vec<Probe>) {
    let exceeded = Tag::Reason(Reason::TtlExceeded);
    let near = Tag::Reason(Reason::DeadlineNear);
    let cut = Edge::Claims(minus(ttl));
    let warned = Edge::Claims(Span::micros(limits.warn_of(ttl).as_micros() - ttl.as_micros() + 1));
    let double = Edge::Claims(plus_tick(minus(ttl.times(2))));
    // Where the system keeps only one of the two, that decides.
    let Some(beat) = board.beat_at.as_ref().filter(|_| board.claimed_at.is_some()) else {
        probes.push(moving(exceeded, claimed_at, FIRST, cut));
        probes.push(moving(near, claimed_at, cut, warned));
        probes.push(moving(Tag::Runaway, claimed_at, FIRST, double));
        return;
    };
    let b = &beat.comparable;
    let unit = beat.compared_in();
    let before = |tag: Tag, from: Edge, to: Edge| {
        let mut probe = moving(tag, claimed_at, from, to);
        probe
            .only
            .push(format!("({} IS NULL OR ({b} >= :first{MARK} AND {b} < :beat{MARK}))", beat.cell.text));
        probe.params.push((format!("first{MARK}"), unit, FIRST));
        probe.params.push((format!("beat{MARK}"), unit, to));
        probe.strips = false;
        probe
    };
    probes.push(before(exceeded, FIRST, cut));
    probes.push(before(Tag::Runaway, FIRST, double));
    // Near, because it was claimed so long ago, or because it beat so long ago.
    probes.push(before(near, cut, warned));
    let mut beaten = moving(near, claimed_at, FIRST, cut);
    beaten.only.push(format!("{b} >= :cut{MARK} AND {b} < :beat{MARK}"));
    beaten.params.push((format!("cut{MARK}"), unit, cut));
    beaten.params.push((format!("beat{MARK}"), unit, warned));
    beaten.strips = false;
    probes.push(beaten);
}

fn beats(board: &BoundBoard, limits: &Thresholds, probes: &mut Vec<Probe>) {
    let leased = matches!(board.rules.deadline, DeadlineRule::Lease | DeadlineRule::Timeout);
    if let (true, Some(beat)) = (leased, &board.beat_at) {
        probes.push(moving(Tag::OldBeat, beat, FIRST, Edge::Claims(minus(limits.silent_after))));
    }
}

fn sessions(board: &BoundBoard, limits: &Thresholds, probes: &mut Vec<Probe>) {
    let Some(registry) = &board.registry else { return };
    let missing = format!("{} IS NULL", registry.id.text);
    let mut probe = still(Tag::Reason(Reason::SessionMissing), vec![missing], true);
    if registry.required {
        probe.index = board.holder.as_ref().and_then(|holder| holder.column.clone());
    } else {
        probe.only.push(is_gone(board, registry));
    }
    probes.push(probe);

    // The instant a session is given up, as a column and a distance from it.
    let Some((at, after)) = registry.given_up(limits.orphan_after) else { return };
    let given_up = Edge::Sessions(minus(after));
    let mut session = |tag: Tag, from: Edge, to: Edge| {
        let mut probe = moving(tag, at, from, to);
        probe.needs_session = true;
        probe.index = board.holder.as_ref().and_then(|holder| holder.column.clone());
        probes.push(probe);
    };
    session(Tag::Reason(Reason::SessionStale), FIRST, given_up);
    if board.rules.deadline == DeadlineRule::Holder {
        let warn = limits.warn_of(limits.orphan_after).as_micros();
        let warned = Edge::Sessions(Span::micros(warn - after.as_micros() + 1));
        session(Tag::Reason(Reason::DeadlineNear), given_up, warned);
        if limits.orphan_after.is_positive() {
            let double = Span::micros(-after.as_micros() - limits.orphan_after.as_micros() + 1);
            session(Tag::Runaway, FIRST, Edge::Sessions(double));
        }
    }
}

/// That nothing shows its holder at work.
fn not_alive(board: &BoundBoard) -> Option<String> {
    board.alive.as_ref().map(|alive| format!("({alive}) IS NOT TRUE"))
}

/// That the holder was registered before.
fn is_gone(board: &BoundBoard, registry: &BoundRegistry) -> String {
    let holder = board.holder.as_ref().map_or("NULL", |holder| holder.text.as_str());
    format!("claimtop_is_gone({}, {holder})", literal(&registry.table))
}

/// Where the holder's heartbeat decides, and a holder need not register: the age of the claims of those
/// who have not.
fn unregistered(board: &BoundBoard, limits: &Thresholds, probes: &mut Vec<Probe>) {
    let Some(registry) = board.registry.as_ref().filter(|registry| !registry.required) else { return };
    let mut own = Vec::new();
    match (limits.ttl, board.claimed_at.as_ref().or(board.beat_at.as_ref())) {
        (Some(ttl), Some(since)) => ttls(board, limits, ttl, since, &mut own),
        (Some(_), None) => {}
        (None, _) => own.push(still(Tag::Reason(Reason::NoDeadline), Vec::new(), true)),
    }
    let condition = format!("{} IS NULL AND NOT {}", registry.id.text, is_gone(board, registry));
    for mut probe in own {
        probe.only.extend(not_alive(board));
        probe.only.push(condition.clone());
        probe.needs_session = true;
        probe.without_session = true;
        probe.index = None;
        probes.push(probe);
    }
}

/// The ways a time cannot be read: NULL, or, as SQLite orders numbers before texts and blobs,
/// before the first or after the last moment there is.
fn unreadable(board: &BoundBoard, probes: &mut Vec<Probe>) {
    let reason = Tag::Reason(Reason::Unreadable);
    if board.rules.deadline == DeadlineRule::Lease
        && let Some(deadline) = &board.deadline
    {
        bad(Tag::BadDeadline, deadline, true, None, probes);
    }
    if let (Some(since), Some(seconds)) = (&board.claimed_at, &board.timeout) {
        let lease = format!(
            "claimtop_deadline({}, {}, {seconds}) IS NULL",
            since.cell.text,
            code(since.unit, since.zone.own.unwrap_or_default())
        );
        probes.push(still(Tag::BadDeadline, vec![lease], false));
    }
    if let Some(claimed_at) = &board.claimed_at {
        bad(reason, claimed_at, true, None, probes);
    }
    if let Some(beat) = &board.beat_at {
        // It may be NULL, for the worker has not beaten yet, unless everything rests on it.
        let alone = board.claimed_at.is_none() && board.rules.deadline == DeadlineRule::Ttl;
        bad(reason, beat, alone, None, probes);
    }
    if let Some(registry) = &board.registry {
        for time in registry.times() {
            bad(reason, time, true, Some(&registry.id.text), probes);
        }
    }
}

fn bad(tag: Tag, time: &TimeSql, null_is_bad: bool, session: Option<&String>, probes: &mut Vec<Probe>) {
    let cell = &time.cell.text;
    let mut ways: Vec<String> = Vec::new();
    if null_is_bad {
        // A session that is not there has no times either; that is another reason.
        let there = session.map_or_else(String::new, |id| format!("{id} IS NOT NULL AND "));
        ways.push(format!("({there}{cell} IS NULL)"));
    }
    if time.unit.is_number() {
        ways.push(format!("{cell} < :first{MARK}"));
        ways.push(format!("{cell} > :last{MARK}"));
    } else {
        ways.push(format!("({cell} IS NOT NULL AND {} IS NULL)", time.comparable));
    }
    let mut probe = still(tag, vec![format!("({})", ways.join(" OR "))], session.is_some());
    probe.params.push((format!("first{MARK}"), time.unit, FIRST));
    probe.params.push((format!("last{MARK}"), time.unit, last()));
    probes.push(probe);
}

fn skewed(board: &BoundBoard, probes: &mut Vec<Probe>) {
    let noise = plus_tick(board.rules.clock_noise);
    for time in [&board.claimed_at, &board.beat_at].into_iter().flatten() {
        let mut probe = moving(Tag::Reason(Reason::ClockSkew), time, Edge::Claims(noise), last());
        probe.index = None;
        probes.push(probe);
    }
    if let Some(beat) = board.registry.as_ref().and_then(|registry| registry.beat_at.as_ref()) {
        let mut probe = moving(Tag::Reason(Reason::ClockSkew), beat, Edge::Sessions(noise), last());
        probe.needs_session = true;
        probe.index = None;
        probes.push(probe);
    }
}
