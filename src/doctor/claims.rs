//! What a poll reveals: slow questions, odd times, and claims that nobody cleans up.

use super::{Check, DoctorTarget, count};
use crate::domain::snapshot::{BoardSnapshot, Snapshot};
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::{Reason, Set};
use crate::store::{Effort, Listed, Options, Reader};
use crate::store::{Filter, StoreError};

/// Twelve of the usual intervals of a sweep: whoever cleans up has been there by then.
const LONG: Span = Span::minutes(60);

/// Claims that are looked at one by one.
const MOST: usize = 10_000;

pub fn look(mut reader: Reader, patient: &DoctorTarget) -> Vec<Check> {
    let snapshots = match reader.poll() {
        Ok(snapshots) => snapshots,
        Err(error) => return vec![Check::error("queries", &error)],
    };
    let mut checks = vec![queries(&snapshots)];
    checks.extend(indexes(&patient.options));
    checks.extend(exactness(&snapshots));
    checks.extend(deadlines(&snapshots));
    checks.extend(zones(&snapshots, &patient.options));
    checks.extend(sessions(&snapshots, patient));
    match clock(&mut reader, &snapshots).and_then(|clock| Ok((clock, sweeping(&mut reader, &snapshots)?))) {
        Ok((clock, sweeping)) => checks.extend([clock, sweeping]),
        Err(error) => checks.push(Check::error("queries", &error)),
    }
    checks
}

fn queries(snapshots: &[Snapshot]) -> Check {
    let claims: u64 = snapshots.iter().map(|snapshot| snapshot.counts().total).sum();
    let cost = snapshots.iter().map(|snapshot| snapshot.poll_cost.as_micros()).max().unwrap_or(0);
    let said = format!("a poll over {} took {:.1} ms", count(claims, "claim"), cost as f64 / 1_000.0);
    Check::ok("queries", said)
}

fn boards(snapshots: &[Snapshot]) -> impl Iterator<Item = (&Snapshot, &BoardSnapshot)> {
    snapshots.iter().flat_map(|snapshot| snapshot.boards.iter().map(move |board| (snapshot, board)))
}

/// The indexes that will be missed once the tables grow: a poll that may not read any row without one
/// names them, however small the tables are now.
fn indexes(options: &Options) -> Vec<Check> {
    let thrifty = options.with_effort(Effort { rows: 0, slice: 0, whole: 0 });
    let snapshots = match Reader::open(thrifty).and_then(|mut reader| reader.poll()) {
        Ok(snapshots) => snapshots,
        Err(error) => return vec![Check::error("indexes", &error)],
    };
    let mut wanted: Vec<&String> = boards(&snapshots).flat_map(|(_, board)| &board.gaps.indexes).collect();
    wanted.sort();
    wanted.dedup();
    if wanted.is_empty() {
        return vec![Check::ok("indexes", "none is missed")];
    }
    let missing = |ddl: &String| {
        let place = ddl.split_once(" ON ").map_or(ddl.as_str(), |(_, place)| place);
        let said = format!("there is none on {}: looking reads whole tables", place.replace('"', ""));
        Check::warning("indexes", said, format!("{ddl};"))
    };
    wanted.into_iter().map(missing).collect()
}

fn exactness(snapshots: &[Snapshot]) -> Vec<Check> {
    let inexact =
        boards(snapshots).filter_map(|(_, board)| Some(inexact(board, board.gaps.census?.looked_at)));
    let checks: Vec<Check> = inexact.collect();
    if checks.is_empty() { vec![Check::ok("counts", "exact")] } else { checks }
}

/// What no index can answer is looked for in slices on every large table: that is nobody's fault.
fn inexact(board: &BoardSnapshot, looked_at: u64) -> Check {
    let reasons = &board.gaps.reasons;
    let names: Vec<&str> = reasons.iter().map(|reason| reason.as_str()).collect();
    let rows = count(looked_at, "row");
    let harmless = |reason: &Reason| matches!(reason, Reason::Unreadable | Reason::ClockSkew);
    if !reasons.is_empty() && reasons.iter().all(harmless) {
        let said = format!("{}: exact but for {}, looked for in {rows}", board.board, names.join(", "));
        return Check::ok("counts", said + " (`claimtop check --exact` reads all)");
    }
    let all = names.is_empty() || names.len() == Reason::ALL.len();
    let what = if all { "claims".into() } else { names.join(", ") };
    Check::warning(
        "counts",
        format!("{}: {what} counted in {rows} only", board.board),
        "add the indexes that are missed, or pass --exact to check, which reads all",
    )
}

/// Whether "none" was said of all claims, or only of those that were looked at.
fn reach(snapshots: &[Snapshot]) -> &'static str {
    if snapshots.iter().all(Snapshot::is_exact) { "" } else { ", as far as the rows were looked at" }
}

/// Claims that cannot be judged, by what their rows lack.
fn deadlines(snapshots: &[Snapshot]) -> Vec<Check> {
    let mut checks = Vec::new();
    for (_, board) in boards(snapshots) {
        for (reason, fix) in [
            (
                Reason::Unreadable,
                "`claimtop list --set unknown` shows the rows; see whether the profile's unit of time is theirs",
            ),
            (Reason::NoDeadline, "set a ttl for their kind in the config of this source"),
        ] {
            if let Some(claims) = board.reasons.get(&reason) {
                checks.push(Check::warning(
                    "times",
                    format!("{}: {}", board.board, reason.sentence(*claims)),
                    fix,
                ));
            }
        }
    }
    if checks.is_empty() {
        checks.push(Check::ok("times", format!("every claim's times can be read{}", reach(snapshots))));
    }
    checks
}

/// When the system itself ends a silent session, where that differs from when it counts as lost here.
fn sessions(snapshots: &[Snapshot], patient: &DoctorTarget) -> Vec<Check> {
    let mut checks: Vec<Check> = Vec::new();
    for (snapshot, board) in boards(snapshots).filter(|(_, board)| board.sessions.is_some()) {
        let profile = patient.profiles.iter().find(|profile| profile.name == snapshot.profile);
        let written = profile.and_then(|profile| {
            let written = profile.boards.iter().find(|written| written.name == board.board)?;
            profile.registry(written)
        });
        let ours = board.nature.rules.thresholds.orphan_after;
        let Some(theirs) = written.and_then(|registry| registry.ends_after).filter(|theirs| *theirs != ours)
        else {
            continue;
        };
        let said = format!(
            "the system's own timer ends a session after {theirs} of silence; here its claims are orphaned after \
             {ours} (`limits.orphan_after = \"{theirs}\"` for this source in the config would match)"
        );
        if checks.iter().all(|check| check.said != said) {
            checks.push(Check::ok("sessions", said));
        }
    }
    checks
}

/// In which zone times without one are read, and whether the rows agree.
fn zones(snapshots: &[Snapshot], options: &Options) -> Vec<Check> {
    let mut checks: Vec<Check> = Vec::new();
    for (_, board) in boards(snapshots) {
        let Some(zone) = &board.nature.zone else { continue };
        checks.push(match board.nature.rules.doubt.as_deref() {
            None => Check::ok("zone", format!("{}: times without a zone are read as {zone}", board.board)),
            Some(doubt) => {
                let fix = match doubt.fitting() {
                    Some(offset) => format!(
                        "`time_zone = \"{offset}\"` for this source in the config would fit, if its clocks are right; \
                         better have the workers write UTC, or times with their zone"
                    ),
                    None => "set `time_zone` for this source in the config to the zone in which its workers write, \
                             or have them write UTC, or times with their zone"
                        .into(),
                };
                Check::failed("zone", format!("{}: {doubt}; every act is refused", board.board), fix)
            }
        });
    }
    if checks.is_empty() && matches!(options, Options::Postgres(_)) {
        checks.push(Check::ok("zone", "every time is an instant of its own, whatever the zone"));
    }
    checks
}

/// Times in the future: somebody's clock is wrong, or writes in another zone.
fn clock(reader: &mut Reader, snapshots: &[Snapshot]) -> Result<Check, StoreError> {
    let sum = |snapshot: &Snapshot| snapshot.reasons().get(&Reason::ClockSkew).copied().unwrap_or(0);
    let skewed: u64 = snapshots.iter().map(sum).sum();
    if boards(snapshots).any(|(_, board)| board.nature.rules.doubt.is_some()) {
        return Ok(Check::ok("clock", "nothing can be said of the clocks while the zone is in doubt"));
    }
    if skewed == 0 {
        return Ok(Check::ok("clock", format!("no time lies in the future{}", reach(snapshots))));
    }
    let mut ahead: Vec<Span> = Vec::new();
    each(reader, &[Set::Unknown], |listed| {
        let sign = listed.judged.claim.sign_of_life().map(|sign| sign.since(listed.now));
        ahead.extend(sign.filter(|ahead| ahead.is_positive()));
    })?;
    let furthest = ahead.iter().max().map_or_else(String::new, |span| format!(", up to {span} ahead"));
    let (claims, their) = if skewed == 1 { ("claim", "its") } else { ("claims", "their") };
    let said = format!("{skewed} {claims}: a time in {their} row lies in the future{furthest}");
    if !ahead.is_empty() && ahead.iter().all(|span| looks_like_a_zone(*span)) {
        return Ok(Check::warning(
            "clock",
            format!("{said}: it looks like local time written as UTC"),
            "have the workers write UTC, or times with their zone",
        ));
    }
    Ok(Check::warning(
        "clock",
        said,
        "compare the clocks of the workers' hosts with this one (timedatectl, chronyc tracking)",
    ))
}

/// Zones differ by quarters of an hour, and a claim that is watched began a little while ago.
fn looks_like_a_zone(ahead: Span) -> bool {
    const QUARTER: i64 = 15 * 60 * 1_000_000;
    const AGE: i64 = 5 * 60 * 1_000_000;
    let short_of_a_quarter = (QUARTER - ahead.as_micros().rem_euclid(QUARTER)) % QUARTER;
    let nearest = ahead.as_micros() + short_of_a_quarter;
    short_of_a_quarter <= AGE && (2 * QUARTER..=14 * 4 * QUARTER).contains(&nearest)
}

/// Document 000's claim leaks: rows that whoever cleans up would have taken long ago.
fn sweeping(reader: &mut Reader, snapshots: &[Snapshot]) -> Result<Check, StoreError> {
    let mut left = 0;
    let mut oldest: Option<Moment> = None;
    each(reader, &[Set::Orphaned, Set::Stale], |listed| {
        let nature = boards(snapshots)
            .find(|(snapshot, board)| snapshot.profile == listed.profile && board.board == listed.board)
            .and_then(|(_, board)| board.nature.self_heals_after);
        let patience = nature.map_or(LONG, |heals| heals.max(LONG));
        if let Some(deadline) = listed.judged.verdict.deadline.filter(|at| at.plus(patience) < listed.now) {
            left += 1;
            oldest = Some(oldest.map_or(deadline, |known| known.min(deadline)));
        }
    })?;
    let now = snapshots.first().map(|snapshot| snapshot.now);
    let Some((oldest, now)) = oldest.zip(now) else {
        return Ok(Check::ok("sweeping", format!("no claim expired more than {LONG} ago")));
    };
    let claims = if left == MOST as u64 { format!("{left} claims or more") } else { count(left, "claim") };
    Ok(Check::warning(
        "sweeping",
        format!(
            "{claims} expired more than {LONG} ago, the oldest {} ago: nothing seems to clean up",
            now.since(oldest)
        ),
        "see whether the system's own cleanup runs (its timer, autoCleanup: true, its log), or run `claimtop sweep`",
    ))
}

fn each(reader: &mut Reader, sets: &[Set], mut take: impl FnMut(&Listed)) -> Result<(), StoreError> {
    let filter = Filter { sets: sets.to_vec(), limit: Some(MOST), ..Filter::default() };
    reader.list(&filter, |listed| {
        take(&listed);
        true
    })
}
