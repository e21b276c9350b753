//! A journal of years: an act costs what it costs without one, and nobody holds it in memory.

use super::*;
use crate::support::figures::tell;
use crate::support::preload::run_with_peak_memory;
use claimtop::recovery::trail::{Record, RecordStage, Trail, new_action_id};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// How many records stand in it; the long form has a million.
fn records() -> usize {
    std::env::var("CLAIMTOP_RECORDS").ok().and_then(|text| text.parse().ok()).unwrap_or(8_000)
}

/// Fills the journal with acts like the one it has, each with its outcome.
fn fill(scene: &Scene, count: usize) {
    let folder = scene.journal().parent().expect("a folder").to_owned();
    let mut trail = Trail::open(&folder).expect("a trail");
    let act = trail.entries().expect("entries").remove(0).record;
    let mut written = 0;
    while written < count {
        let acts = (0..250).flat_map(|_| {
            let intent = Record { action_id: new_action_id(), ..act.clone() };
            let outcome =
                Record { stage: RecordStage::Outcome, outcome: Some("applied".into()), ..intent.clone() };
            [intent, outcome]
        });
        let acts: Vec<Record> = acts.collect();
        trail.append(&acts).expect("appended");
        written += acts.len();
    }
}

fn timed(scene: &Scene, arguments: &[&str]) -> (Run, Duration) {
    let begun = Instant::now();
    let run = scene.run(arguments);
    (run, begun.elapsed())
}

/// The most memory that a run of the program has taken, in KiB.
fn memory_of(scene: &Scene, arguments: &[&str]) -> u64 {
    run_with_peak_memory(scene.command(arguments).stdout(Stdio::null())).1
}

/// How long it takes until the first line is there; the reader then goes away.
fn first_line(scene: &Scene, arguments: &[&str]) -> Duration {
    let begun = Instant::now();
    let mut child = scene.command(arguments).stdout(Stdio::piped()).spawn().expect("claimtop runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
    let took = begun.elapsed();
    assert!(!line.is_empty() && child.wait().is_ok());
    took
}

#[test]
fn an_act_costs_the_same_and_nobody_holds_the_past_in_memory() {
    let scene = Scene::stale();
    for number in 2..=30 {
        scene.task(&format!("task-{number}"), "worker-1", -60 * MINUTE);
    }
    let act = |number: usize| {
        let (run, took) = timed(&scene, &["reclaim", "DB", &format!("task-{number}"), "--json"]);
        (run.came_to(0, "applied")["action_id"].as_str().expect("an id").to_owned(), took)
    };
    let median = |mut all: Vec<Duration>| {
        all.sort();
        all[all.len() / 2]
    };
    let (first, _) = act(1);
    let without = median((2..=8).map(|number| act(number).1).collect());
    let memory_before = memory_of(&scene, &["audit", "verify"]);
    fill(&scene, records());
    let (_, index) = act(9);
    let with = median((10..=16).map(|number| act(number).1).collect());
    let (last, _) = act(17);
    let (_, undo) = timed(&scene, &["undo", "DB", &last, "--json"]);
    let (undone, undo_oldest) = timed(&scene, &["undo", "DB", &first, "--json"]);
    undone.came_to(0, "applied");
    let newest = timed(&scene, &["audit", "list", "--limit", "50"]);
    assert_eq!(newest.0.out.lines().count(), 51);
    let page = first_line(&scene, &["audit", "list"]);
    let (verified, verify) = timed(&scene, &["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:#?}");
    let memory = memory_of(&scene, &["audit", "verify"]);
    let listed = memory_of(&scene, &["audit", "list"]);
    tell(&format!(
        "journal of {} records: an act {with:.1?} ({without:.1?} without), its index made in {index:.1?}, \
         undo {undo:.1?}, of the oldest act {undo_oldest:.1?}, the newest 50 listed in {:.1?}, first page in {page:.1?}, \
         verified in {verify:.1?} with {} MiB ({} MiB without), all listed with {} MiB",
        records(),
        newest.1,
        memory >> 10,
        memory_before >> 10,
        listed >> 10
    ));
    // Memory does not grow with the journal; an allowance for what the system's allocator keeps.
    for memory in [memory, listed] {
        assert!(memory < memory_before + (24 << 10), "{memory} KiB, {memory_before} KiB without records");
    }
}
