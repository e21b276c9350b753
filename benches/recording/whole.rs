//! Every claim of a board with 10,000 live ones: each beats every 30 seconds, 50 begin and 50 end a second, 300 sessions
//! beat every ten seconds.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use claimtop::domain::claim::{Claim, Registry, Session};
use claimtop::domain::detail::Whole;
use claimtop::domain::snapshot::{Judged, Nature};
use claimtop::domain::time::Reading;
use claimtop::domain::value::{Key, Value};
use claimtop::domain::verdict::judge;
use claimtop::recording::PollSeen;

use super::measure::cpu;
use super::{LIVE, TROUBLED, at, nature, snapshot, writer};

/// So many claims begin, and so many end, every second.
const STARTS: i64 = 50;
const LIFE: i64 = LIVE as i64 / STARTS;

pub fn record(path: &Path, frames: i64) -> Vec<Duration> {
    let mut writer = writer(path);
    let nature = nature();
    let mut live: Vec<Judged> = (-LIFE..0)
        .flat_map(|second| (0..STARTS).map(move |at| (second, at)))
        .map(|born| new(born, &nature))
        .collect();
    let mut times = Vec::new();
    for second in 0..frames {
        // The oldest are at the front, as in a table with rising keys.
        live.drain(..STARTS as usize);
        live.extend((0..STARTS).map(|number| new((second, number), &nature)));
        for one in &mut live {
            beat(&mut one.claim, second);
        }
        let mut snapshot = snapshot(&nature, second);
        let worst = std::mem::take(&mut snapshot.boards[0].worst);
        let mut claims = live.clone();
        claims.extend(worst.iter().cloned());
        snapshot.boards[0].worst = worst;
        let whole = [Whole { profile: "executor-jobs".into(), board: "job".into(), claims }];
        let poll = PollSeen {
            snapshots: std::slice::from_ref(&snapshot),
            whole: &whole,
            horizon: None,
            warnings: &[],
            causes: &[],
            events: &[],
            fingerprint: "sqlite:1:2",
        };
        times.push(cpu(|| writer.record_poll(0, at(second), &poll).expect("a frame")));
    }
    writer.finish(at(frames)).expect("an end");
    println!("{} live claims and {TROUBLED} in trouble, all of them recorded", live.len());
    times
}

/// A number that looks random and is the same in every run.
fn mixed(number: i64) -> i64 {
    let mut mixed = number.cast_unsigned().wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 1).cast_signed()
}

fn new((second, number): (i64, i64), nature: &Arc<Nature>) -> Judged {
    let number = (second + LIFE) * STARTS + number;
    let born = at(second).plus(claimtop::domain::time::Span::micros(mixed(number) % 1_000_000));
    let session = mixed(number) % 300;
    let claim = Claim {
        key: Key(vec![Value::Text(format!("live-{number:08}"))]),
        kind: Some(format!("kind-{}", number % 5)),
        holder: Some(format!("web-{}-{session}", session % 30)),
        claimed_at: Reading::At(born),
        beat_at: Reading::At(born),
        registry: Registry::Listed(Session {
            beat_at: Reading::At(at(second)),
            stale_at: None,
            started_at: Reading::At(at(-9_000)),
        }),
        attempts: Some(0),
        max_attempts: Some(10),
        ..Claim::blank()
    };
    Judged { verdict: judge(&claim, &nature.rules, at(second)), claim, seen: None, mark: None }
}

/// Beats every 30 seconds, some microseconds late; its session every ten.
fn beat(claim: &mut Claim, second: i64) {
    let Some(last) = claim.beat_at.at() else { return };
    let due = claimtop::domain::time::Span::micros(28_000_000 + mixed(last.micros()) % 4_000_000);
    if last.plus(due) <= at(second) {
        claim.beat_at = Reading::At(last.plus(due));
    }
    if let (Registry::Listed(session), Some(holder)) = (&mut claim.registry, &claim.holder) {
        let number: i64 = holder.rsplit('-').next().and_then(|text| text.parse().ok()).expect("a number");
        session.beat_at = Reading::At(at(second - (second + number).rem_euclid(10)));
    }
}
