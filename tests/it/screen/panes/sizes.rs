//! No size breaks it.

use crate::support::engine::is_fast;
use claimtop::app::Msg;
use claimtop::app::bulk::{PreviewLine, Ready};
use claimtop::domain::claim::Process;
use claimtop::domain::tally::BulkTally;
use proptest::prelude::*;

use super::super::stage::{Held, Stage, World, claim, job_board, lock_board, task_board};
use super::assert_aligned;
use super::fleet::{busy, with_lists};

/// Every pane and every overlay of the busy fleet.
fn screens() -> Vec<(&'static str, Stage)> {
    let keys = [
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "7",
        "8",
        "8 enter",
        "enter",
        "l l enter G",
        "?",
        "? pagedown pagedown",
        ":",
        "/",
        "w",
        "l r",
        "R",
        "space X",
        "3 x",
        "z",
        "l z",
        "f",
    ];
    let mut all: Vec<(&'static str, Stage)> = keys
        .into_iter()
        .map(|keys| {
            let mut stage = Stage::on(&busy());
            with_lists(&mut stage);
            (keys, stage.then(keys))
        })
        .collect();
    for (name, holder) in [("preview", None), ("typed", Some("worker-7".to_owned()))] {
        let mut stage = Stage::on(&busy()).then("R");
        let lines = (0..30).map(|at| PreviewLine::Also(format!("t-{at}"))).collect();
        let tally = BulkTally { applied: 30, ..BulkTally::of(30) };
        let ready = Ready { tally, lines, notes: vec!["one".into(); 5], holder, ..Ready::default() };
        stage.tell(Msg::BulkReady { question: 1, ready: Ok(ready) });
        all.push((name, stage));
    }
    let mut running = Stage::on(&busy()).then("R");
    let tally = BulkTally { applied: 3, ..BulkTally::of(3) };
    let ready = Ready { tally, ..Ready::default() };
    running.tell(Msg::BulkReady { question: 1, ready: Ok(ready) });
    all.push(("running", running.then("y")));
    all.push(("no source", Stage::without_source()));
    all.push(("waiting", Stage::waiting_for(&[busy()])));
    let mut down = Stage::on(&busy());
    down.poll_fails("unable to open database file");
    all.push(("down", down));
    all
}

#[test]
fn every_screen_survives_every_size() {
    for (name, mut stage) in screens() {
        for width in (1..=60).step_by(if is_fast() { 7 } else { 1 }) {
            for height in (1..=30).filter(|height| width % 3 == 0 || height % 3 == 1 || *height < 9) {
                assert_aligned(&stage.draw((width, height)), name);
            }
        }
        for size in [(20, 5), (80, 24), (400, 120), (1, 200), (400, 1)] {
            assert_aligned(&stage.draw(size), name);
        }
    }
}

fn any_claim() -> impl Strategy<Value = Held> {
    ("\\PC{0,30}", "\\PC{0,20}", 0..7_u8, 0..100_000_i64).prop_map(|(id, holder, story, seconds)| {
        let held = claim(&id).held_by(&holder);
        let long = format!("{seconds}s");
        match story {
            0 => held.lease_ran_out(&long),
            1 => held.runs_out_in(&long),
            2 => held.without_session(),
            3 => held.session_silent_for(&long),
            4 => held.process(Process::Dead),
            5 => held.unreadable(),
            _ => held,
        }
    })
}

const KEYS: &[&str] = &[
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
    "8",
    "j",
    "k",
    "h",
    "l",
    "g",
    "G",
    "pagedown",
    "pageup",
    "tab",
    "backtab",
    "enter",
    "esc",
    "r",
    "x",
    "e",
    "u",
    "p",
    "P",
    "R",
    "X",
    "space",
    "z",
    "s",
    "o",
    "f",
    "+",
    "-",
    ":",
    "?",
    "/",
    "w",
    "y",
    "n",
    "backspace",
    "t",
    "a",
    "!",
    ">",
    "up",
    "down",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_held_and_pressed_a_frame_is_drawn(
        tasks in prop::collection::vec(any_claim(), 0..12),
        jobs in prop::collection::vec(any_claim(), 0..4),
        locks in prop::collection::vec(any_claim(), 0..4),
        keys in prop::collection::vec(prop::sample::select(KEYS), 0..25),
        size in (1..140_u16, 1..50_u16),
        generic in any::<bool>(),
    ) {
        let world = World::of([task_board(tasks).unfenced(), job_board(jobs), lock_board(locks)]);
        let world = if generic { world.generic() } else { world };
        let mut stage = Stage::on(&world).sized(size);
        for key in keys {
            stage.press(key);
            assert_aligned(&stage.look(), key);
        }
        stage.poll(&World::of([task_board([])]));
        assert_aligned(&stage.look(), "after the poll");
    }
}
