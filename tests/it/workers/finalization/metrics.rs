//! The specification's counters and histograms.

use super::*;
use claimtop::worker::finalization::{ContentionReason, FinalizationMetrics};

fn count(metrics: &FinalizationMetrics, name: &str) -> u64 {
    metrics.counter(&format!("finalization_claim_{name}_total")).expect(name)
}

#[test]
fn every_answer_is_counted_under_its_name() {
    on_both(|mut world| {
        world.claim("p-1");
        world.claim("p-1");
        world.claim("p-2");
        world.claim("p-3");
        world.finalization.claim_task_for_finalization("nowhere", "p-1", TIMEOUT).unwrap();
        world.finalization.add_task("young", 0).unwrap();
        world.finalization.claim_task_for_finalization("young", "p-1", TIMEOUT).unwrap();
        world.finalization.extend("t", "p-1").unwrap();
        world.finalization.extend("t", "p-2").unwrap();
        world.finalization.release("t", "p-2").unwrap();
        world.finalization.release("t", "p-1").unwrap();
        world.claim("p-1");
        world.finalization.complete("t", "p-1").unwrap();
        world.claim("p-1");
        let metrics = world.finalization.metrics();
        assert_eq!(count(&metrics, "attempts"), 8);
        assert_eq!(count(&metrics, "success"), 3);
        assert_eq!(count(&metrics, "contention"), 5);
        let reasons = ContentionReason::ALL.map(|reason| (reason.as_str(), metrics.contention(reason)));
        let expected = [
            ("already_claimed", 2),
            ("already_complete", 1),
            ("not_ready", 1),
            ("race_condition", 0),
            ("other", 1),
        ];
        assert_eq!(reasons, expected);
        for (name, expected) in [
            ("release_attempts", 2),
            ("release_success", 1),
            ("release_not_owned", 1),
            ("extend_attempts", 2),
            ("extend_success", 1),
            ("extend_failed", 1),
        ] {
            assert_eq!(count(&metrics, name), expected, "{name}");
        }
        assert_eq!(metrics.counters().len(), 9 + 5);
        let counts = metrics.histograms().map(|(name, histogram)| (name, histogram.count()));
        assert_eq!(
            counts,
            [
                ("finalization_claim_duration_seconds", 8),
                ("finalization_claim_release_duration_seconds", 2),
                ("finalization_claim_extend_duration_seconds", 2),
            ]
        );
    });
}

#[test]
fn the_buckets_of_a_histogram_add_up() {
    on_both(|mut world| {
        for _ in 0..20 {
            world.claim("p-1");
        }
        let metrics = world.finalization.metrics();
        let (_, histogram) = metrics.histograms()[0];
        let buckets: Vec<(f64, u64)> = histogram.buckets().collect();
        assert!(buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{buckets:?}");
        assert!(buckets.last().unwrap().1 <= histogram.count());
        assert!(histogram.sum() > 0.0 && histogram.sum() < 60.0);
        for bound in [0.1, 0.5] {
            assert!(buckets.iter().any(|(upper, _)| *upper == bound), "the specified limits are bounds");
        }
    });
}

#[test]
fn what_was_refused_or_failed_is_no_attempt() {
    on_both(|mut world| {
        assert!(world.finalization.claim_task_for_finalization("t", "", TIMEOUT).is_err());
        assert_eq!(world.finalization.metrics(), FinalizationMetrics::default());
    });
}
