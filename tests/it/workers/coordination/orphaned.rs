//! Orphaned claims: the specification's seven cases, and the threshold itself.

use claimtop::worker::coordination::{OrphanReason, OrphanedClaims, ProcessCheck};
use serde_json::json;

use super::{World, pair};
use crate::support::{MINUTE, NOW};

impl World {
    /// A claim whose session nobody knows, as only a writer without foreign keys can leave it.
    fn lost_claim(&self, task: &str) {
        let sql = "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
                   VALUES (?1, 'gone', ?2, ?3, ?2)";
        self.stranger().execute(sql, (task, NOW, NOW + 60 * MINUTE)).expect("a claim");
    }

    fn clean_orphans(&mut self) -> OrphanedClaims {
        self.coordination.cleanup_orphaned_claims(ProcessCheck::Trust).expect("a cleanup")
    }
}

#[test]
fn a_database_without_orphans_stays_as_it_is() {
    let mut world = World::new();
    let cleaned = world.clean_orphans();
    assert_eq!(serde_json::to_value(cleaned).expect("JSON"), json!({"count": 0, "claims": []}));
    assert!(world.heard().is_empty());
}

#[test]
fn a_claim_of_a_missing_session_is_an_orphan() {
    let mut world = World::new();
    world.lost_claim("task-2");
    let cleaned = world.clean_orphans();
    let expected = json!({"count": 1, "claims": [{"taskId": "task-2", "sessionId": "gone",
        "claimedAt": NOW, "reason": "session_missing", "staleForMs": null}]});
    assert_eq!(serde_json::to_value(cleaned).expect("JSON"), expected);
    assert!(world.claims().is_empty());
}

#[test]
fn a_claim_of_a_silent_session_is_an_orphan() {
    let mut world = World::new();
    world.session("ann");
    world.claim("task-2", "ann", 60);
    world.minutes_pass(11);
    let cleaned = world.clean_orphans();
    let expected = json!({"count": 1, "claims": [{"taskId": "task-2", "sessionId": "ann",
        "claimedAt": NOW, "reason": "session_stale", "staleForMs": 11 * MINUTE}]});
    assert_eq!(serde_json::to_value(cleaned).expect("JSON"), expected);
    assert_eq!(world.number("SELECT count(*) FROM sessions"), 1, "only the claim goes");
}

#[test]
fn a_claim_of_an_active_session_stays() {
    let mut world = World::new();
    world.session("ann");
    world.claim("task-1", "ann", 60);
    world.minutes_pass(11);
    assert!(world.coordination.heartbeat("ann").expect("a heartbeat"));
    assert_eq!(world.clean_orphans().count, 0);
    assert_eq!(world.claims(), [pair("task-1", "ann")]);
}

#[test]
fn several_orphans_go_together_each_with_its_reason() {
    let mut world = World::new();
    world.session("ann");
    world.session("bob");
    world.claim("of-ann", "ann", 60);
    world.claim("of-bob", "bob", 60);
    world.lost_claim("of-nobody");
    world.minutes_pass(11);
    world.coordination.heartbeat("bob").expect("a heartbeat");
    let cleaned = world.clean_orphans();
    let reasons: Vec<_> = cleaned.claims.iter().map(|it| (it.task_id.as_str(), it.reason)).collect();
    let expected = [("of-ann", OrphanReason::SessionStale), ("of-nobody", OrphanReason::SessionMissing)];
    assert_eq!(reasons, expected);
    assert_eq!(world.claims(), [pair("of-bob", "bob")]);
    assert_eq!(world.clean_orphans().count, 0, "a second time there is nothing left");
}

#[test]
fn every_orphan_is_announced() {
    let mut world = World::new();
    world.session("ann");
    world.claim("task-2", "ann", 60);
    world.minutes_pass(12);
    world.heard();
    world.clean_orphans();
    let expected = json!({"event": "claim:orphaned", "taskId": "task-2", "sessionId": "ann",
        "reason": "session_stale", "staleForMs": 12 * MINUTE});
    assert_eq!(serde_json::to_value(&world.heard()[0]).expect("JSON"), expected);
}

#[test]
fn the_cleanup_of_orphans_is_summed_up() {
    let mut world = World::new();
    world.lost_claim("task-1");
    world.lost_claim("task-2");
    world.clean_orphans();
    let heard = world.heard();
    let expected = json!({"event": "claims:cleanup", "type": "orphaned", "count": 2, "timestamp": NOW});
    assert_eq!(serde_json::to_value(heard.last().expect("a summary")).expect("JSON"), expected);
    assert_eq!(heard.len(), 3);
}

#[test]
fn a_session_silent_for_exactly_the_threshold_keeps_its_claims() {
    let mut world = World::new();
    world.session("ann");
    world.claim("task-1", "ann", 60);
    world.minutes_pass(10);
    assert_eq!(world.clean_orphans().count, 0);
    world.millis_pass(1);
    assert_eq!(world.clean_orphans().count, 1);
}
