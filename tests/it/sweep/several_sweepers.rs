//! Sweepers in company: of each other, of signals, and of sources that fail.

use std::io::{BufRead, BufReader};

use super::*;

#[test]
fn two_sweepers_at_once_take_each_claim_exactly_once() {
    on_both(|| {
        let scene = Scene::new();
        scene.expired(500);
        let arguments = ["sweep", "--once", "--json", "DB", "--max-share", "100%"];
        let start = || {
            let mut command = scene.command(&arguments);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("claimtop starts")
        };
        let both = [start(), start()].map(|child| Run::of(&child.wait_with_output().expect("its end")));
        let mut taken: Vec<String> = both.iter().flat_map(|run| run.tasks("claim:expired")).collect();
        taken.sort();
        let all: Vec<String> = (0..500).map(|number| format!("task-{number:04}")).collect();
        assert_eq!(taken, all);
        assert!(both.iter().all(|run| run.code == 0), "{both:#?}");
        assert_eq!(scene.held().len(), 0);
        let applied = scene.outcomes().iter().filter(|record| record["outcome"] == "applied").count();
        assert_eq!(applied, 500);
        assert_eq!(scene.run(&["audit", "verify"]).code, 0);
    });
}

#[test]
fn sigterm_in_the_middle_ends_after_the_batch_and_everything_done_is_told() {
    on_both(|| {
        let scene = Scene::new();
        scene.expired(6_000);
        let mut command =
            scene.command(&["sweep", "--once", "--json", "DB", "--max-share", "100%", "--max", "9999"]);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("claimtop starts");
        let mut lines =
            BufReader::new(child.stdout.take().expect("a pipe")).lines().map(|line| line.expect("UTF-8"));
        let first = lines.next().expect("a line");
        let sent = Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        let mut out = vec![first];
        out.extend(lines);
        let code = child.wait().expect("its end").code().expect("a code");
        let run = Run { code, out: out.join("\n"), err: String::new() };
        let (summary, told) = (run.summary(0), run.tasks("claim:expired").len());
        assert!(told < 6_000, "it did not stop");
        assert_eq!(summary["applied"], told);
        assert_eq!(scene.held().len(), 6_000 - told);
        assert_eq!(summary["left"], 6_000 - told);
        assert_eq!(scene.outcomes().len(), told);
        assert_eq!(scene.run(&["audit", "list", "--open"]).code, 0);
    });
}

#[test]
fn a_dead_source_beside_a_living_one_is_reported_and_the_other_is_swept() {
    on_both(|| {
        let scene = Scene::new();
        scene.expired(2);
        let run = scene.run(&["sweep", "--once", "--json", "/nonexistent/a.db", "DB"]);
        assert_eq!(run.code, 3);
        let summaries: Vec<Json> =
            run.lines().into_iter().filter(|line| line["event"] == "summary").collect();
        assert_eq!(summaries.len(), 2);
        assert!(summaries[0]["error"].as_str().is_some_and(|error| error.contains("no such file")));
        assert_eq!(summaries[1]["applied"], 2);
        assert_eq!(run.err.matches("/nonexistent/a.db").count(), 1, "named once: {run:#?}");
    });
}

#[test]
fn people_read_lines_and_a_summary_and_events_can_have_stdout_for_themselves() {
    on_both(|| {
        let scene = Scene::new();
        scene.expired(2);
        let dry = scene.run(&["sweep", "--once", "--dry-run", "DB"]);
        assert!(dry.out.contains("would reclaim coordination/task/task-0000: "), "{dry:#?}");
        assert!(dry.out.contains(": 2 would be swept (2 expired, 0 orphaned)"), "{dry:#?}");
        let events = scene.run(&["sweep", "--once", "--events", "-", "DB"]);
        assert_eq!(events.lines().len(), 3, "{events:#?}");
        assert!(events.err.contains(": 2 swept"), "{events:#?}");
        assert_eq!(scene.run(&["sweep", "--once", "--events", "/nonexistent/x", "DB"]).code, 3);
        assert_eq!(scene.run(&["sweep", "--once", "--every", "5m", "DB"]).code, 3);
    });
}
