//! The line that says what came of the last key.

use claimtop::app::Msg;
use claimtop::app::message::Done;
use claimtop::domain::recovery::Outcome;

use super::super::stage::outcomes::{alive, lost, renewed};
use super::super::stage::{Stage, TINY};
use super::fleet::busy;

/// The last two lines of the screen.
fn footer(stage: &mut Stage) -> String {
    let text = stage.text();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len() - 2..].join("\n")
}

fn after(outcome: Outcome) -> Stage {
    let mut stage = Stage::on(&busy());
    stage.tell(Msg::Acted(Done {
        source: 0,
        address: "taskqueue/tasks/render-0041".into(),
        action_id: "1".into(),
        action: "reclaim".into(),
        outcome,
        shown: "render-0041".into(),
        holder: Some("worker-7".into()),
    }));
    stage
}

#[test]
fn each_outcome_has_its_sign_and_its_sentence() {
    let outcomes = [
        (Outcome::Applied, " ✓ done, u undoes it: reclaim render-0041 (worker-7)"),
        (
            renewed("1200ms", "worker-7"),
            " ~ render-0041 moved, nothing was written: renewed 1.2s ago by worker-7",
        ),
        (alive(4312, "worker-7"), " ! reclaim of render-0041 refused: its process (pid 4312) is alive"),
        (lost(), " ? the outcome of reclaim of render-0041 is unknown: the connection was lost"),
    ];
    for (outcome, said) in outcomes {
        assert!(footer(&mut after(outcome)).starts_with(said));
    }
}

#[test]
fn pictures_of_the_notices() {
    super::picture("notice_done", &mut after(Outcome::Applied), super::SMALL);
    super::picture("notice_done", &mut after(Outcome::Applied), TINY);
    let moved = renewed("1200ms", "worker-7");
    super::picture("notice_moved", &mut after(moved), super::SMALL);
    let refused = alive(4312, "worker-7");
    super::picture("notice_refused", &mut after(refused), super::SMALL);
    let unknown = lost();
    super::picture("notice_unknown", &mut after(unknown), super::SMALL);
}

#[test]
fn a_notice_covers_no_evidence_and_goes_after_a_while() {
    let mut stage = after(Outcome::Applied);
    stage.later("19s");
    assert!(footer(&mut stage).contains("u undoes it"));
    let evidence = "its session has been silent";
    assert!(stage.text().contains(evidence));
    stage.later("1s");
    assert!(footer(&mut stage).starts_with("\n"), "{}", footer(&mut stage));
    assert!(stage.text().contains(evidence));
    // On a small screen one line serves both.
    let mut stage = after(Outcome::Applied).sized(TINY);
    assert!(!stage.text().contains(evidence));
    stage.later("20s");
    assert!(stage.text().contains("its session has"), "{}", stage.text());
}
