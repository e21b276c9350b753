//! Very many claims: what is counted is not loaded, and what is listed is not kept.

use std::fs::File;

use super::*;
use crate::support::preload::run_with_peak_memory;

/// What a run came to, and the most memory it had, in megabytes.
fn measured(scene: &Scene, arguments: &[&str]) -> (Run, u64) {
    let (out, err) = (scene.database.beside("out"), scene.database.beside("err"));
    let mut command = scene.command(arguments);
    command.stdout(File::create(&out).expect("a file")).stderr(File::create(&err).expect("a file"));
    let (code, peak) = run_with_peak_memory(&mut command);
    let text = |path| std::fs::read_to_string(path).expect("UTF-8");
    (Run { code, out: text(out), err: text(err) }, peak / 1_024)
}

/// Thirty thousand rows more take more than seventy megabytes when all of them are loaded. What is read at once is
/// bounded well below twenty thousand rows, so the peak of those is the usual one.
const MORE: u64 = 40;

#[test]
fn lists_and_sweeps_of_very_many_claims_need_no_more_memory_than_of_half_as_many() {
    on_both(|| {
        let fewer = Scene::new();
        fewer.crowd("task", 20_000, -60 * MINUTE);
        let many = Scene::new();
        many.crowd("task", 40_000, -60 * MINUTE);
        many.crowd("well", 10_000, 20 * MINUTE);
        for (arguments, code, lines) in [
            (["list", "DB", "--json"].as_slice(), 0, 50_000),
            (&["list", "DB", "--limit", "0"], 0, 50_001),
            (&["list", "DB", "--json", "--set", "stale"], 0, 40_000),
            (&["sweep", "--once", "DB"], 5, 1),
            (&["sweep", "--once", "--sighted", "--max-share", "100%", "DB"], 0, 1),
        ] {
            let (_, usual) = measured(&fewer, arguments);
            let (run, peak) = measured(&many, arguments);
            assert_eq!((run.code, run.out.lines().count()), (code, lines), "{arguments:?}: {}", run.err);
            assert!(peak < usual + MORE, "{arguments:?}: {peak} MB, for half as many {usual} MB");
        }
        assert_eq!(many.held().len(), 50_000);
    });
}

#[test]
fn a_crowd_is_held_by_its_count() {
    on_both(|| {
        let scene = Scene::new();
        scene.crowd("task", 40_000, -60 * MINUTE);
        scene.crowd("well", 10_000, 20 * MINUTE);
        let run = scene.sweep(&[]);
        let summary = run.summary(5);
        assert_eq!((&summary["applied"], &summary["left"]), (&0.into(), &40_000.into()), "{run:#?}");
        assert!(run.err.contains("80 % went stale at once (40000 of 50000 claims)"), "{run:#?}");
    });
}

#[test]
fn a_list_shows_each_claim_once_and_the_worst_first() {
    on_both(|| {
        let scene = Scene::new();
        scene.crowd("old", 2_500, -60 * MINUTE);
        scene.crowd("older", 2_500, -90 * MINUTE);
        scene.crowd("well", 2_500, 20 * MINUTE);
        let run = scene.run(&["list", "DB", "--json"]);
        let ids: Vec<String> =
            run.lines().iter().map(|line| line["id"].as_str().expect("an id").into()).collect();
        let kinds: Vec<&str> = ids.iter().map(|id| id.split('-').next().expect("a name")).collect();
        assert!(kinds.iter().take(2_500).all(|kind| *kind == "older"));
        assert!(kinds.iter().skip(2_500).take(2_500).all(|kind| *kind == "old"));
        assert!(kinds.iter().skip(5_000).all(|kind| *kind == "well"));
        assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), 7_500);
    });
}
