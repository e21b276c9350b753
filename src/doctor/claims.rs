//! Checks of a poll: slow queries, odd times, and claims that nobody cleans up.

use super::{DoctorCheck, DoctorTarget, count};
use crate::domain::detail::TOO_MANY;
use crate::domain::fencing::{Fencing, UNFENCED};
use crate::domain::snapshot::{BoardSnapshot, Snapshot};
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::{Reason, Set};
use crate::domain::visible::visible;
use crate::store::recoveries::Recoveries;
use crate::store::{Effort, Listed, Options, Reader};
use crate::store::{Filter, StoreError};

/// Twelve usual sweep intervals: any cleanup that runs would have taken the claim by then.
const LONG: Span = Span::minutes(60);

/// How many claims are examined one by one.
const MOST: usize = 10_000;

pub(super) fn check(mut reader: Reader, target: &DoctorTarget) -> Vec<DoctorCheck> {
    let snapshots = match reader.poll() {
        Ok(snapshots) => snapshots,
        Err(error) => return vec![DoctorCheck::error("queries", &error)],
    };
    let mut checks = vec![queries(&snapshots)];
    checks.extend(indexes(&target.options));
    checks.extend(exactness(&snapshots));
    checks.extend(deadlines(&snapshots));
    checks.extend(fencing(&snapshots));
    checks.extend(zones(&snapshots, &target.options));
    checks.extend(sessions(&snapshots, target));
    match clock(&mut reader, &snapshots).and_then(|clock| Ok((clock, sweeping(&mut reader, &snapshots)?))) {
        Ok((clock, sweeping)) => checks.extend([clock, sweeping]),
        Err(error) => checks.push(DoctorCheck::error("queries", &error)),
    }
    checks.extend(reclaims(&mut reader));
    checks
}

/// Many recoveries within an hour: workers die, or a deadline is too short.
fn reclaims(reader: &mut Reader) -> Vec<DoctorCheck> {
    let found = match reader.recoveries() {
        Ok(found) => found,
        Err(error) => return vec![DoctorCheck::error("reclaims", &error)],
    };
    let check = |found: Recoveries| {
        let total = found.total();
        if total <= TOO_MANY {
            return DoctorCheck::ok("reclaims", format!("{} within the last hour", count(total, "job")));
        }
        let worst = found.kinds.iter().max_by_key(|one| one.count);
        let worst = worst.and_then(|one| one.kind.as_deref()).map_or_else(|| "-".into(), visible);
        let more = if found.at_least { "at least " } else { "" };
        DoctorCheck::warning(
            "reclaims",
            format!("{more}{total} jobs were reclaimed within the last hour, most of them {worst}"),
            "look why its workers die; if they are alive, give the kind a longer time or let them send heartbeats",
        )
    };
    found.into_iter().map(check).collect()
}

fn queries(snapshots: &[Snapshot]) -> DoctorCheck {
    let claims: u64 = snapshots.iter().map(|snapshot| snapshot.counts().total).sum();
    let cost = snapshots.iter().map(|snapshot| snapshot.poll_cost.as_micros()).max().unwrap_or(0);
    let message = format!("a poll over {} took {:.1} ms", count(claims, "claim"), cost as f64 / 1_000.0);
    DoctorCheck::ok("queries", message)
}

fn boards(snapshots: &[Snapshot]) -> impl Iterator<Item = (&Snapshot, &BoardSnapshot)> {
    snapshots.iter().flat_map(|snapshot| snapshot.boards.iter().map(move |board| (snapshot, board)))
}

/// The indexes that will be missing once the tables grow. They are found by a poll that may not read any row without
/// an index, however small the tables are now.
fn indexes(options: &Options) -> Vec<DoctorCheck> {
    let thrifty = Options { effort: Effort { rows: 0, slice: 0, whole: 0 }, ..options.clone() };
    let snapshots = match Reader::open(thrifty).and_then(|mut reader| reader.poll()) {
        Ok(snapshots) => snapshots,
        Err(error) => return vec![DoctorCheck::error("indexes", &error)],
    };
    let mut wanted: Vec<&String> = boards(&snapshots).flat_map(|(_, board)| &board.gaps.indexes).collect();
    wanted.sort();
    wanted.dedup();
    if wanted.is_empty() {
        return vec![DoctorCheck::ok("indexes", "none is missing")];
    }
    let missing = |ddl: &String| {
        let place = ddl.split_once(" ON ").map_or(ddl.as_str(), |(_, place)| place);
        let message = format!("there is none on {}: a poll reads whole tables", place.replace('"', ""));
        DoctorCheck::warning("indexes", message, format!("{ddl};"))
    };
    wanted.into_iter().map(missing).collect()
}

fn exactness(snapshots: &[Snapshot]) -> Vec<DoctorCheck> {
    let inexact =
        boards(snapshots).filter_map(|(_, board)| Some(inexact(board, board.gaps.census?.looked_at)));
    let checks: Vec<DoctorCheck> = inexact.collect();
    if checks.is_empty() { vec![DoctorCheck::ok("counts", "exact")] } else { checks }
}

/// Counts that no index can answer are sampled on every large table: that is not a fault.
fn inexact(board: &BoardSnapshot, looked_at: u64) -> DoctorCheck {
    let reasons = &board.gaps.reasons;
    let names: Vec<&str> = reasons.iter().map(|reason| reason.as_str()).collect();
    let rows = count(looked_at, "row");
    let harmless = |reason: &Reason| matches!(reason, Reason::Unreadable | Reason::ClockSkew);
    if !reasons.is_empty() && reasons.iter().all(harmless) {
        let message = format!("{}: exact but for {}, looked for in {rows}", board.board, names.join(", "));
        return DoctorCheck::ok("counts", message + " (`claimtop check --exact` reads all)");
    }
    let all = names.is_empty() || names.len() == Reason::ALL.len();
    let what = if all { "claims".into() } else { names.join(", ") };
    DoctorCheck::warning(
        "counts",
        format!("{}: {what} counted in {rows} only", board.board),
        "add the indexes that are missed, or pass --exact to check, which reads all",
    )
}

/// Whether "none" refers to all claims, or only to those that were examined.
fn reach(snapshots: &[Snapshot]) -> &'static str {
    if snapshots.iter().all(Snapshot::is_exact) { "" } else { ", as far as the rows were looked at" }
}

/// Claims that cannot be judged, by what their rows lack.
fn deadlines(snapshots: &[Snapshot]) -> Vec<DoctorCheck> {
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
                checks.push(DoctorCheck::warning(
                    "times",
                    format!("{}: {}", board.board, reason.sentence(*claims)),
                    fix,
                ));
            }
        }
    }
    if checks.is_empty() {
        checks.push(DoctorCheck::ok("times", format!("every claim's times can be read{}", reach(snapshots))));
    }
    checks
}

/// Whether the system refuses late workers on boards whose claims can be freed.
fn fencing(snapshots: &[Snapshot]) -> Vec<DoctorCheck> {
    let freed = boards(snapshots).filter(|(_, board)| board.nature.acts.iter().any(|action| action.frees()));
    let (mut fenced, mut checks) = (Vec::new(), Vec::new());
    for (_, board) in freed {
        match board.nature.fencing {
            Fencing::Fenced => fenced.push(board.board.as_str()),
            Fencing::Unfenced => checks.push(DoctorCheck::ok(
                "fencing",
                format!(
                    "{}: none: {UNFENCED}; a sweep takes only claims of holders that are proven dead, unless the \
                     config says `unfenced = [\"{}\"]` for the sweep",
                    board.board, board.board
                ),
            )),
            Fencing::Unknown => {}
        }
    }
    if !fenced.is_empty() {
        let message = format!("{}: the system refuses a late worker", fenced.join(", "));
        checks.insert(0, DoctorCheck::ok("fencing", message));
    }
    checks
}

/// When the system itself ends a silent session, if that differs from when it counts as lost here.
fn sessions(snapshots: &[Snapshot], target: &DoctorTarget) -> Vec<DoctorCheck> {
    let mut checks: Vec<DoctorCheck> = Vec::new();
    for (snapshot, board) in boards(snapshots).filter(|(_, board)| board.sessions.is_some()) {
        let profile = target.profiles.iter().find(|profile| profile.name == snapshot.profile);
        let written = profile.and_then(|profile| {
            let written = profile.boards.iter().find(|written| written.name == board.board)?;
            profile.registry(written)
        });
        let ours = board.nature.rules.thresholds.orphan_after;
        let Some(theirs) = written.and_then(|registry| registry.ends_after).filter(|theirs| *theirs != ours)
        else {
            continue;
        };
        let message = format!(
            "the system's own timer ends a session after {theirs} of silence; here its claims are orphaned after \
             {ours} (`limits.orphan_after = \"{theirs}\"` for this source in the config would match)"
        );
        if checks.iter().all(|check| check.message != message) {
            checks.push(DoctorCheck::ok("sessions", message));
        }
    }
    checks
}

/// The zone in which times without a zone are read, and whether the rows agree.
fn zones(snapshots: &[Snapshot], options: &Options) -> Vec<DoctorCheck> {
    let mut checks: Vec<DoctorCheck> = Vec::new();
    for (_, board) in boards(snapshots) {
        let Some(zone) = &board.nature.zone else { continue };
        checks.push(match board.nature.rules.doubt.as_deref() {
            None => DoctorCheck::ok("zone", format!("{}: times without a zone are read as {zone}", board.board)),
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
                DoctorCheck::failed("zone", format!("{}: {doubt}; every act is refused", board.board), fix)
            }
        });
    }
    if checks.is_empty() && options.file().is_none() {
        checks.push(DoctorCheck::ok("zone", "every time is an instant of its own, whatever the zone"));
    }
    checks
}

/// Times in the future: a clock is wrong, or writes in another zone.
fn clock(reader: &mut Reader, snapshots: &[Snapshot]) -> Result<DoctorCheck, StoreError> {
    let sum = |snapshot: &Snapshot| snapshot.reasons().get(&Reason::ClockSkew).copied().unwrap_or(0);
    let skewed: u64 = snapshots.iter().map(sum).sum();
    if boards(snapshots).any(|(_, board)| board.nature.rules.doubt.is_some()) {
        return Ok(DoctorCheck::ok(
            "clock",
            "nothing can be message of the clocks while the zone is in doubt",
        ));
    }
    if skewed == 0 {
        return Ok(DoctorCheck::ok("clock", format!("no time lies in the future{}", reach(snapshots))));
    }
    let mut ahead: Vec<Span> = Vec::new();
    each(reader, &[Set::Unknown], |listed| {
        let sign = listed.judged.claim.sign_of_life().map(|sign| sign.since(listed.now));
        ahead.extend(sign.filter(|ahead| ahead.is_positive()));
    })?;
    let furthest = ahead.iter().max().map_or_else(String::new, |span| format!(", up to {span} ahead"));
    let (claims, their) = if skewed == 1 { ("claim", "its") } else { ("claims", "their") };
    let message = format!("{skewed} {claims}: a time in {their} row lies in the future{furthest}");
    if !ahead.is_empty() && ahead.iter().all(|span| looks_like_a_zone(*span)) {
        return Ok(DoctorCheck::warning(
            "clock",
            format!("{message}: it looks like local time written as UTC"),
            "have the workers write UTC, or times with their zone",
        ));
    }
    Ok(DoctorCheck::warning(
        "clock",
        message,
        "compare the clocks of the workers' hosts with this one (timedatectl, chronyc tracking)",
    ))
}

/// Zones differ by quarters of an hour, and an active claim began a short while ago.
fn looks_like_a_zone(ahead: Span) -> bool {
    const QUARTER: i64 = 15 * 60 * 1_000_000;
    const AGE: i64 = 5 * 60 * 1_000_000;
    let short_of_a_quarter = (QUARTER - ahead.as_micros().rem_euclid(QUARTER)) % QUARTER;
    let nearest = ahead.as_micros() + short_of_a_quarter;
    short_of_a_quarter <= AGE && (2 * QUARTER..=14 * 4 * QUARTER).contains(&nearest)
}

/// The claim leaks of coordination: rows that any cleanup would have removed long ago.
fn sweeping(reader: &mut Reader, snapshots: &[Snapshot]) -> Result<DoctorCheck, StoreError> {
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
        return Ok(DoctorCheck::ok("sweeping", format!("no claim expired more than {LONG} ago")));
    };
    let claims = if left == MOST as u64 { format!("{left} claims or more") } else { count(left, "claim") };
    Ok(DoctorCheck::warning(
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
