//! The status machine.

use claimtop::worker::merge_queue::{FailureKind, TransitionOutcome};
use serde_json::json;

use super::*;

const WAY: [Status; 5] =
    [Status::Rebasing, Status::Testing, Status::ReadyToMerge, Status::Merging, Status::Merged];

/// An entry of a-1 in this state.
fn entry_in(state: Status) -> (Scene, MergeQueue) {
    let (scene, mut queue) = Scene::with_entries(1);
    if state == Status::Pending {
        return (scene, queue);
    }
    take(&mut queue, "a-1");
    match state {
        Status::FailedRetryable | Status::FailedTerminal => walk(&mut queue, 1, "a-1", state),
        Status::Cancelled => {
            queue.cancel_entry(1).unwrap();
        }
        _ => {
            for to in WAY {
                if status(&queue, 1) != state {
                    walk(&mut queue, 1, "a-1", to);
                }
            }
        }
    }
    assert_eq!(status(&queue, 1), state);
    (scene, queue)
}

#[test]
fn the_machine_has_exactly_the_documents_ways() {
    use Status::*;
    let ways = [
        (Pending, vec![Claimed, Cancelled]),
        (Claimed, vec![Pending, Rebasing, FailedRetryable, FailedTerminal, Cancelled]),
        (Rebasing, vec![Testing, FailedRetryable, FailedTerminal, Cancelled]),
        (Testing, vec![ReadyToMerge, FailedRetryable, FailedTerminal, Cancelled]),
        (ReadyToMerge, vec![Merging, FailedRetryable, FailedTerminal, Cancelled]),
        (Merging, vec![Merged, FailedRetryable, FailedTerminal]),
        (Merged, vec![]),
        (FailedRetryable, vec![Pending, Cancelled]),
        (FailedTerminal, vec![]),
        (Cancelled, vec![]),
    ];
    for (from, allowed) in ways {
        for to in Status::ALL {
            assert_eq!(from.may_become(to), from == to || allowed.contains(&to), "{from} -> {to}");
        }
        assert_eq!(from.is_terminal(), allowed.is_empty(), "{from}");
        assert_eq!(Status::parse(from.as_str()), Some(from));
    }
    assert_eq!(Status::parse("processing"), Some(Claimed));
    assert_eq!(Status::parse("completed"), Some(Merged));
    assert_eq!(Status::parse("failed"), Some(FailedTerminal));
    assert_eq!(Status::parse("Pending"), None);
}

#[test]
fn an_agent_goes_every_way_of_the_machine_and_no_other() {
    for from in Status::ALL.into_iter().filter(|from| from.is_held()) {
        for to in Status::ALL {
            let (scene, mut queue) = entry_in(from);
            let moved = queue.transition(1, "a-1", to).unwrap();
            match moved {
                TransitionOutcome::Unchanged => assert_eq!(from, to),
                TransitionOutcome::Done(entry) => {
                    assert!(from != to && from.may_become(to) && entry.status == to);
                }
                TransitionOutcome::Forbidden { from: said } => assert!(said == from && !from.may_become(to)),
                other => panic!("{from} -> {to}: {other:?}"),
            }
            assert_invariants(&scene.raw);
        }
    }
}

#[test]
fn what_nobody_has_is_moved_by_no_agent() {
    for from in Status::ALL.into_iter().filter(|from| !from.is_held()) {
        for to in Status::ALL.into_iter().filter(|to| *to != from) {
            let (_scene, mut queue) = entry_in(from);
            let expected = match from {
                Status::Pending => TransitionOutcome::NotOwner { holder: None },
                _ => TransitionOutcome::Forbidden { from },
            };
            assert_eq!(queue.transition(1, "a-1", to).unwrap(), expected, "{from} -> {to}");
            assert_eq!(status(&queue, 1), from);
        }
    }
}

#[test]
fn only_the_agent_that_has_an_entry_moves_it() {
    let (_scene, mut queue) = entry_in(Status::Testing);
    let foreign = TransitionOutcome::NotOwner { holder: Some("a-1".into()) };
    assert_eq!(queue.transition(1, "a-2", Status::ReadyToMerge).unwrap(), foreign);
    assert_eq!(queue.transition(1, "a-2", Status::Testing).unwrap(), foreign);
    assert_eq!(queue.mark_failed(1, "a-2", "no", FailureKind::Terminal).unwrap(), foreign);
    assert_eq!(queue.mark_completed(1, "a-2").unwrap(), foreign);
    assert_eq!(queue.transition(7, "a-1", Status::Testing).unwrap(), TransitionOutcome::Missing);
    assert_eq!(status(&queue, 1), Status::Testing);
}

#[test]
fn a_merge_ends_with_its_time_and_without_its_agent() {
    let (scene, mut queue) = entry_in(Status::Merging);
    scene.pass(42);
    let TransitionOutcome::Done(entry) = queue.mark_completed(1, "a-1").unwrap() else {
        panic!("it is merged")
    };
    assert_eq!((entry.status, entry.completed_at), (Status::Merged, Some(START + 42)));
    assert_eq!((entry.started_at, entry.agent_id), (Some(START), None));
    assert_eq!(entry.previous_state.as_deref(), Some("merging"));
    let kinds: Vec<String> = queue.events(1).unwrap().into_iter().map(|event| event.event_type).collect();
    let steps = ["transitioned"; 4];
    assert_eq!(kinds, [&["created", "claimed"][..], &steps, &["merged"]].concat());
    // Once more changes nothing.
    assert_eq!(queue.mark_completed(1, "a-1").unwrap(), TransitionOutcome::Unchanged);
    assert_eq!(queue.events(1).unwrap().len(), 7);
}

#[test]
fn what_is_not_being_merged_cannot_be_completed() {
    for from in [Status::Claimed, Status::Rebasing, Status::Testing, Status::ReadyToMerge] {
        let (_scene, mut queue) = entry_in(from);
        assert_eq!(queue.mark_completed(1, "a-1").unwrap(), TransitionOutcome::Forbidden { from });
    }
}

#[test]
fn a_failure_is_kept_with_its_error() {
    for (failure, to) in
        [(FailureKind::Retryable, Status::FailedRetryable), (FailureKind::Terminal, Status::FailedTerminal)]
    {
        let (scene, mut queue) = entry_in(Status::Testing);
        let TransitionOutcome::Done(entry) = queue.mark_failed(1, "a-1", "3 tests failed", failure).unwrap()
        else {
            panic!("it has failed")
        };
        assert_eq!((entry.status, entry.error_message.as_deref()), (to, Some("3 tests failed")));
        let event = queue.events(1).unwrap().pop().unwrap();
        assert_eq!(event.event_type, "failed");
        let details =
            json!({"from": "testing", "to": to.as_str(), "agent": "a-1", "error": "3 tests failed"});
        assert_eq!(event.details, details);
        assert_invariants(&scene.raw);
    }
}

#[test]
fn a_retry_counts_and_stops_at_the_maximum() {
    let (scene, mut queue) = Scene::with_entries(1);
    for attempt in 1..=3 {
        take(&mut queue, "a-1");
        queue.mark_failed(1, "a-1", "flaky", FailureKind::Retryable).unwrap();
        queue.release_processing_lock("a-1").unwrap();
        let TransitionOutcome::Done(entry) = queue.retry_entry(1).unwrap() else { panic!("it may be tried") };
        assert_eq!((entry.status, entry.attempt_count), (Status::Pending, attempt));
        assert_eq!((entry.error_message, entry.completed_at, entry.started_at), (None, None, None));
        assert_eq!(queue.events(1).unwrap().pop().unwrap().event_type, "retried");
        assert_invariants(&scene.raw);
    }
    take(&mut queue, "a-1");
    queue.mark_failed(1, "a-1", "flaky", FailureKind::Retryable).unwrap();
    assert_eq!(queue.retry_entry(1).unwrap(), TransitionOutcome::Exhausted { attempts: 3 });
    assert_eq!(status(&queue, 1), Status::FailedRetryable);
}

#[test]
fn only_what_failed_for_a_passing_reason_is_retried() {
    for from in Status::ALL.into_iter().filter(|from| *from != Status::FailedRetryable) {
        let (_scene, mut queue) = entry_in(from);
        assert_eq!(queue.retry_entry(1).unwrap(), TransitionOutcome::Forbidden { from });
    }
    assert_eq!(Scene::new().queue().retry_entry(1).unwrap(), TransitionOutcome::Missing);
}

#[test]
fn everything_but_a_running_merge_and_the_end_can_be_cancelled() {
    for from in Status::ALL {
        let (scene, mut queue) = entry_in(from);
        let moved = queue.cancel_entry(1).unwrap();
        match from {
            Status::Cancelled => assert_eq!(moved, TransitionOutcome::Unchanged),
            Status::Merging | Status::Merged | Status::FailedTerminal => {
                assert_eq!(moved, TransitionOutcome::Forbidden { from });
            }
            _ => assert_eq!(status(&queue, 1), Status::Cancelled),
        }
        assert_invariants(&scene.raw);
    }
    assert_eq!(Scene::new().queue().cancel_entry(1).unwrap(), TransitionOutcome::Missing);
}

#[test]
fn a_clock_that_is_set_back_changes_nothing_before_it_started() {
    let (scene, mut queue) = entry_in(Status::Claimed);
    scene.pass(-3_600);
    walk(&mut queue, 1, "a-1", Status::Rebasing);
    assert_invariants(&scene.raw);
}
