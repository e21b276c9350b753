//! Two sightings: what is taken has stood still under our own eyes, whatever its clock says.

use std::io::{BufRead, BufReader};
use std::process::Child;

use super::*;
use crate::support::faketime::FakeClock;

/// No patience but that of two sightings.
const AT_ONCE: &str = "[sweep]\nsighted_for = \"0s\"\n";

fn shelf(scene: &Scene) -> PathBuf {
    let folder = std::fs::read_dir(scene.state().join("claimtop/sightings")).expect("a folder");
    let mut files: Vec<PathBuf> = folder.map(|file| file.expect("a file").path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

/// Changes what the last run left for the next.
pub(super) fn edit(scene: &Scene, change: impl FnOnce(&mut Json)) {
    let path = shelf(scene);
    let mut kept = serde_json::from_slice(&std::fs::read(&path).expect("sightings")).expect("JSON");
    change(&mut kept);
    std::fs::write(path, kept.to_string()).expect("written");
}

/// Lets it seem that the last run was this long ago, by every clock.
fn later(scene: &Scene, minutes: i64) {
    let micros = minutes * 60_000_000;
    edit(scene, |kept| {
        let back = |value: &mut Json| *value = Json::from(value.as_i64().expect("a number") - micros);
        back(&mut kept["clocks"]["wall_us"]);
        back(&mut kept["clocks"]["since_boot_us"]);
        for sighting in kept["sightings"].as_object_mut().expect("sightings").values_mut() {
            back(&mut sighting["since_us"]);
        }
    });
}

#[test]
fn plain_once_says_that_it_trusts_the_workers_clocks() {
    on_both(|| {
        let scene = Scene::new();
        scene.expired(1);
        let run = scene.sweep(&[]);
        assert!(run.err.contains("trusts the workers' clocks"), "{run:#?}");
        assert!(!scene.sweep(&["--sighted"]).err.contains("trusts"));
    });
}

#[test]
fn it_takes_two_runs_and_a_row_that_stood_still() {
    on_both(|| {
        let scene = Scene::new();
        scene.config(AT_ONCE);
        scene.expired(3);
        let first = scene.sweep(&["--sighted"]).summary(0);
        assert_eq!(
            (&first["applied"], &first["watching"], &first["left"]),
            (&0.into(), &3.into(), &3.into())
        );
        // One is renewed by a worker whose clock is an hour slow: still expired by ours.
        scene.database.run(
            "UPDATE task_claims SET last_heartbeat = last_heartbeat + 1 WHERE task_id = 'task-0001'",
            (),
        );
        let second = scene.sweep(&["--sighted"]);
        assert_eq!(second.tasks("claim:expired"), ["task-0000", "task-0002"]);
        assert_eq!(second.summary(0)["watching"], 1);
        assert_eq!(scene.sweep(&["--sighted"]).tasks("claim:expired"), ["task-0001"]);
    });
}

#[test]
fn unless_told_otherwise_a_row_must_stand_still_for_the_claims_own_time() {
    on_both(|| {
        let scene = Scene::new();
        scene.session("well", SECOND);
        // Claimed two hours ago, renewed 61 minutes ago for an hour.
        scene.task("t", "well", -MINUTE, 61 * MINUTE);
        scene.sweep(&["--sighted"]).summary(0);
        later(&scene, 59);
        assert_eq!(scene.sweep(&["--sighted"]).summary(0)["watching"], 1);
        later(&scene, 3);
        assert_eq!(scene.sweep(&["--sighted"]).summary(0)["applied"], 1);
    });
}

#[test]
fn a_silent_session_that_beats_again_starts_anew_even_if_its_clock_is_slow() {
    on_both(|| {
        let scene = Scene::new();
        scene.config(AT_ONCE);
        scene.session("s", 60 * MINUTE);
        scene.task("t", "s", 20 * MINUTE, 60 * MINUTE);
        scene.sweep(&["--sighted"]).summary(0);
        scene.database.run("UPDATE sessions SET last_heartbeat = last_heartbeat + 5000", ());
        assert_eq!(scene.sweep(&["--sighted"]).summary(0)["watching"], 1);
        assert_eq!(scene.sweep(&["--sighted"]).tasks("claim:orphaned"), ["t"]);
    });
}

#[test]
fn after_a_clock_jump_or_a_restart_everything_is_watched_anew() {
    on_both(|| {
        let scene = Scene::new();
        scene.config(AT_ONCE);
        scene.expired(1);
        scene.sweep(&["--sighted"]).summary(0);
        edit(&scene, |kept| {
            kept["clocks"]["wall_us"] =
                Json::from(kept["clocks"]["wall_us"].as_i64().expect("µs") - 60_000_000);
        });
        let jumped = scene.sweep(&["--sighted"]);
        assert_eq!(jumped.summary(0)["watching"], 1);
        assert!(jumped.err.contains("clock jumped by"), "{jumped:#?}");
        edit(&scene, |kept| kept["clocks"]["boot"] = Json::from("another"));
        assert_eq!(scene.sweep(&["--sighted"]).summary(0)["watching"], 1);
        std::fs::write(shelf(&scene), "{").expect("torn");
        assert_eq!(scene.sweep(&["--sighted"]).summary(0)["watching"], 1);
        assert_eq!(scene.sweep(&["--sighted"]).summary(0)["applied"], 1);
    });
}

#[test]
fn a_gap_between_runs_that_is_longer_than_usual_starts_the_watch_anew() {
    on_both(|| {
        let scene = Scene::new();
        scene.config(AT_ONCE);
        scene.expired(1);
        scene.sweep(&["--sighted"]).summary(0);
        // Nobody knows yet how far apart runs are; two hours are too long for any usual timer.
        later(&scene, 120);
        let first = scene.sweep(&["--sighted"]);
        assert_eq!(first.summary(0)["watching"], 1);
        assert!(first.err.contains("there was no run for 2h"), "{first:#?}");
        // A timer of an hour is learnt from its runs.
        for minutes in [60, 60] {
            scene.database.run("UPDATE task_claims SET last_heartbeat = last_heartbeat + 1", ());
            later(&scene, minutes);
            assert_eq!(scene.sweep(&["--sighted"]).summary(0)["watching"], 1);
        }
        later(&scene, 60);
        let usual = scene.sweep(&["--sighted"]);
        assert!(!usual.err.contains("there was no run"), "{usual:#?}");
        assert_eq!(usual.summary(0)["applied"], 1);
    });
}

#[test]
fn one_long_gap_does_not_make_the_next_seem_usual() {
    on_both(|| {
        let scene = Scene::new();
        scene.config(AT_ONCE);
        scene.expired(1);
        for (minutes, gap) in [(0, false), (5, false), (5, false), (300, true), (300, true)] {
            scene.database.run("UPDATE task_claims SET last_heartbeat = last_heartbeat + 1", ());
            if minutes > 0 {
                later(&scene, minutes);
            }
            let run = scene.sweep(&["--sighted"]);
            assert_eq!(run.summary(0)["watching"], 1);
            assert_eq!(run.err.contains("there was no run"), gap, "{minutes} minutes: {run:#?}");
        }
    });
}

#[test]
fn what_the_config_says_about_the_distance_counts() {
    on_both(|| {
        let scene = Scene::new();
        scene.config("[sweep]\nsighted_for = \"0s\"\nevery = \"2m\"\n");
        scene.expired(1);
        scene.sweep(&["--sighted"]).summary(0);
        later(&scene, 7);
        let run = scene.sweep(&["--sighted"]);
        assert!(run.err.contains("there was no run for 7m"), "{run:#?}");
        assert_eq!(run.summary(0)["watching"], 1);
    });
}

/// An interval at which no delay of a busy machine counts as a gap, after which everything is watched anew.
pub(super) const NO_GAP: &str = "3s";

/// A sweep that goes on until it is told to stop.
pub(super) struct Going {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Going {
    pub(super) fn start(scene: &Scene, every: &str) -> Going {
        Going::start_under(scene, every, None)
    }

    /// The same by a clock of its own.
    pub(super) fn start_under(scene: &Scene, every: &str, clock: Option<&FakeClock>) -> Going {
        let mut command = scene.command(&["sweep", "--every", every, "--json", "DB"]);
        if let Some(clock) = clock {
            clock.rules(&mut command);
        }
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("claimtop starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Going { child, lines }
    }

    /// Waits for the next summary.
    pub(super) fn summary(&mut self) -> Json {
        loop {
            let line = self.lines.next().expect("a line").expect("UTF-8");
            let line: Json = serde_json::from_str(&line).expect("JSON");
            if line["event"] == "summary" {
                return line;
            }
        }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    pub(super) fn end(mut self) -> i32 {
        self.signal("TERM");
        self.child.wait().expect("its end").code().expect("a code")
    }
}

impl Drop for Going {
    /// A test that fails leaves no sweeper behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_continuous_sweep_acts_at_the_second_sighting_and_ends_on_sigterm() {
    on_both(|| {
        let scene = Scene::new();
        scene.config(AT_ONCE);
        scene.expired(2);
        let mut going = Going::start(&scene, NO_GAP);
        assert_eq!(going.summary()["watching"], 2);
        assert_eq!(going.summary()["applied"], 2);
        assert_eq!(going.summary()["applied"], 0);
        assert_eq!(going.end(), 0);
        assert_eq!(scene.held().len(), 0);
    });
}

#[test]
fn sighup_reads_the_config_again_and_a_wrong_one_changes_nothing() {
    on_both(|| {
        let scene = Scene::new();
        scene.config("[sweep]\nmax = 0\nsighted_for = \"0s\"\n");
        scene.expired(2);
        let mut going = Going::start(&scene, "200ms");
        assert_eq!(going.summary()["watching"], 2);
        let is_held =
            |summary: &Json| summary["held"].as_str().is_some_and(|held| held.contains("the cap of 0"));
        assert!((0..50).any(|_| is_held(&going.summary())));
        scene.config("max = nonsense");
        going.signal("HUP");
        assert_eq!(going.summary()["applied"], 0);
        scene.config(AT_ONCE);
        going.signal("HUP");
        let applied = (0..50).map(|_| going.summary()["applied"].clone()).find(|applied| *applied != 0);
        assert_eq!(applied, Some(Json::from(2)));
        assert_eq!(going.end(), 0);
    });
}
