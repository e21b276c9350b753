//! The statements compiled from a profile and the pure verdict agree, on random databases of every
//! profile and both engines: with and without indexes, with poison in any cell, at and around every
//! boundary, after writes and when nothing but the clock has moved, on boards that are small and on
//! boards that count as large.

mod filters;
mod random;
mod systems;
pub mod table;

use claimtop::domain::detail::{Cursor, PageRequest};
use claimtop::domain::snapshot::{BoardSnapshot, Judged};
use claimtop::domain::time::Moment;
use claimtop::domain::verdict::Set;
use claimtop::store::{Effort, Filter, Listed, Options, Profiles, Reader};
use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::NOW;
use crate::support::engine::Engine;
use crate::support::options::{at_file, at_server};
use filters::compare_filters;
use random::Random;
use table::{Place, Table};

/// Worst rows per set that a poll brings along.
const ROWS: usize = 5;

/// Random databases per system; `./tests/run --soak` asks for more.
fn rounds(engine: Engine) -> u64 {
    let usual = match engine {
        Engine::Sqlite => 25,
        // Each statement is a round trip to a server that other tests use as well.
        Engine::Postgres => 5,
    };
    std::env::var("CLAIMTOP_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(usual)
}

pub fn reader(place: &Place, profiles: Profiles, slice: usize) -> Reader {
    let options = match place {
        Place::Sqlite(database) => at_file(database.path(), profiles),
        Place::Postgres(database) => at_server(&database.url(), profiles),
    };
    let effort = Effort { rows: ROWS, slice, whole: slice };
    let reader = Reader::open(Options { effort, busy_timeout: Duration::from_secs(5), ..options });
    reader.expect("a reader")
}

/// Polls, and compares every count with the slow way.
pub fn compare(reader: &mut Reader, when: &str) {
    let snapshots = reader.poll().unwrap_or_else(|error| panic!("{error}, {when}"));
    let tallies = reader.tally().unwrap_or_else(|error| panic!("{error}, {when}"));
    let boards: Vec<_> = snapshots.iter().flat_map(|snapshot| &snapshot.boards).collect();
    assert_eq!(boards.len(), tallies.len());
    for (board, tally) in boards.iter().zip(&tallies) {
        let place = format!("board {} {when}", board.board);
        if !board.gaps.is_exact() {
            // The machine is so busy that a statement counts as a burden, and is remembered.
            continue;
        }
        assert_eq!(board.reasons, tally.reasons, "reasons of {place}");
        assert_eq!(board.counts, tally.counts, "counts of {place}");
        for judged in board.worst.iter() {
            assert!(
                judged.verdict.headline().as_str() != "healthy",
                "a healthy row among the worst of {place}"
            );
        }
    }
}

/// What the list, the pages, the kinds, the horizon and the registry say fits what the poll says.
pub fn compare_views(reader: &mut Reader, when: &str) {
    let snapshots = reader.poll().expect("a poll");
    let mut listed: Vec<Listed> = Vec::new();
    reader
        .list(&Filter::default(), |claim| {
            listed.push(claim);
            true
        })
        .unwrap_or_else(|error| panic!("list: {error}, {when}"));
    let kinds = reader.kinds().unwrap_or_else(|error| panic!("kinds: {error}, {when}"));
    let whole = reader.whole(1_000).unwrap_or_else(|error| panic!("whole: {error}, {when}"));
    let holders = reader.holders(None).unwrap_or_else(|error| panic!("holders: {error}, {when}"));
    reader.horizon(60).unwrap_or_else(|error| panic!("horizon: {error}, {when}"));
    reader.history(10).unwrap_or_else(|error| panic!("history: {error}, {when}"));
    for snapshot in &snapshots {
        // What a busy machine makes a burden is remembered, and may be behind the list.
        for board in snapshot.boards.iter().filter(|board| board.gaps.is_exact()) {
            let place = format!("board {} {when}", board.board);
            let own = |profile: &str, name: &str| profile == snapshot.profile && name == board.board;
            let claims: Vec<&Judged> = listed
                .iter()
                .filter(|claim| own(&claim.profile, &claim.board))
                .map(|claim| &claim.judged)
                .collect();
            assert_eq!(claims.len() as u64, board.counts.total, "list of {place}");
            expect_worst(board, &claims, &place);
            let running: u64 = kinds
                .iter()
                .filter(|kinds| own(&kinds.profile, &kinds.board))
                .flat_map(|kinds| &kinds.kinds)
                .map(|kind| kind.running)
                .sum();
            assert_eq!(running, board.counts.total, "kinds of {place}");
            let small = whole.iter().find(|whole| own(&whole.profile, &whole.board)).expect("a small board");
            assert_eq!(small.claims.len() as u64, board.counts.total, "the whole of {place}");
            assert_eq!(
                paged(reader, &snapshot.profile, &board.board),
                board.counts.total,
                "pages of {place}"
            );
            if let Some(sessions) = &board.sessions {
                let members: Vec<_> = holders
                    .iter()
                    .filter(|holder| {
                        holder.profile == snapshot.profile && holder.listed_in == sessions.registry
                    })
                    .collect();
                let stale = members.iter().filter(|holder| holder.is_stale).count() as u64;
                assert_eq!(
                    (members.len() as u64, stale),
                    (sessions.total, sessions.stale),
                    "sessions of {place}"
                );
            }
        }
    }
}

/// The worst rows of a poll are the first of the list, set by set.
fn expect_worst(board: &BoardSnapshot, claims: &[&Judged], place: &str) {
    let addresses = |claims: &[&Judged], set: Set| -> Vec<String> {
        let of_set = claims.iter().filter(|judged| judged.verdict.is_in(set));
        of_set.map(|judged| judged.claim.key.address()).collect()
    };
    let worst: Vec<&Judged> = board.worst.iter().collect();
    for set in [Set::Orphaned, Set::Stale, Set::Unknown, Set::Expiring] {
        let (all, shown) = (addresses(claims, set), addresses(&worst, set));
        assert_eq!(all.len() as u64, board.counts.of(set), "{set} in the list of {place}");
        assert!(shown.len() >= all.len().min(ROWS), "{set} among the worst of {place}");
        let all: BTreeSet<String> = all.into_iter().collect();
        assert!(shown.iter().all(|address| all.contains(address)), "{set} among the worst of {place}");
    }
}

/// How many claims there are, page by page.
fn paged(reader: &mut Reader, profile: &str, board: &str) -> u64 {
    let mut from = Cursor::First;
    let mut seen = 0;
    loop {
        let (profile, board) = (profile.to_owned(), board.to_owned());
        let request = PageRequest { profile, board, from, rows: 7, conditions: Vec::new() };
        let page = reader.page(&request).expect("a page");
        seen += page.claims.len() as u64;
        match page.claims.last().and_then(|last| last.mark.clone()) {
            Some(mark) if !page.is_last => from = Cursor::After(mark),
            _ => return seen,
        }
    }
}

fn agree(engine: Engine, tables: &[Table], profiles: &Profiles) {
    let place = Place::new(engine);
    for seed in 0..rounds(engine) {
        // SQLite's indexes and tables cannot all be dropped at once: a new file is quicker.
        let fresh = (engine == Engine::Sqlite).then(|| Place::new(engine));
        let place = fresh.as_ref().unwrap_or(&place);
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(7));
        place.create(tables, &mut random);
        // The second takes every board of more than three claims for a large one. SQLite's may then
        // count it over several polls.
        let slices: &[usize] = if engine == Engine::Postgres { &[1_000, 3] } else { &[1_000] };
        let mut readers: Vec<(usize, Reader)> =
            slices.iter().map(|&slice| (slice, reader(place, profiles.clone(), slice))).collect();
        let mut compare_all = |when: &str, now: Option<Moment>| {
            for (slice, reader) in &mut readers {
                now.into_iter().for_each(|now| reader.freeze(now));
                compare(reader, &format!("with seed {seed} in slices of {slice}, {when}"));
            }
        };
        compare_all("at first", None);
        let mut now = NOW;
        for step in 0..6 {
            now += *random.pick(&[1, 500, 1_000, 1_500, 7_000, 60_000, 299_999, 600_000]);
            let moment = Moment::from_micros(now * 1_000 + random.below(1_000) as i64).expect("a moment");
            compare_all(&format!("with the clock moved, step {step}"), Some(moment));
            if random.chance(3) {
                place.fill(random.pick(tables), &mut random);
                compare_all(&format!("after writes, step {step}"), None);
            }
        }
        for (slice, reader) in &mut readers {
            let when = format!("with seed {seed} in slices of {slice}, at the end");
            compare_views(reader, &when);
            compare_filters(reader, &mut random, &when);
        }
    }
}
