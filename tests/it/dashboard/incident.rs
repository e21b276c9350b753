//! An incident as a person on call has it: 400 claims of 30 sessions on six hosts, one host is dead, and some
//! holders elsewhere are slow and alive. The cause is on the first screen; a few keys and a reason put it right.

use std::time::Instant;

use super::acts::Worker;
use super::pty::ENTER;
use super::{Scene, now};
use crate::support::figures::tell;
use crate::support::{MINUTE, SECOND};

const HOSTS: i64 = 6;
const SESSIONS: i64 = 5;
/// With the lock of its first session.
const DEAD: &str = "67 claims";

/// The claims of every session, and their workers where these are slow and alive.
fn dead_host() -> (Scene, Vec<Worker>) {
    let scene = Scene::new();
    let mut workers = Vec::new();
    let mut number = 4_000;
    for host in 1..=HOSTS {
        for session in 0..SESSIONS {
            let name = format!("web-{host}-{session}");
            let is_dead = host == 3;
            let is_slow = host == 5 && session < 4;
            let silent_for =
                if is_dead { 11 * MINUTE + session * SECOND } else { (host + session) % 8 * SECOND };
            let worker = is_slow.then(Worker::new);
            scene.session_of(&name, silent_for, worker.as_ref().map(Worker::pid));
            workers.extend(worker);
            let more = i64::from(host <= 2 || (is_dead && session == 2));
            for at in 0..13 + more - i64::from(host == 2 && session > 3) {
                number += 1;
                // The first claim of a slow holder is over its time, and so are most of the dead host's.
                let is_over = (is_slow && at == 0) || (is_dead && at < 11);
                let expires_in = if is_over { -5 * MINUTE } else { 20 * MINUTE };
                scene.task(&format!("mail-{number}"), &name, expires_in);
            }
            if is_dead {
                scene.database.run(
                    "UPDATE task_claims SET last_heartbeat = ?1 WHERE session_id = ?2",
                    (now() - silent_for, &name),
                );
            }
        }
    }
    scene.lock("deploy/production", "web-3-0", -6 * MINUTE);
    (scene, workers)
}

#[test]
fn a_dead_host_is_named_on_the_first_screen_and_recovered_with_four_keys_and_a_reason() {
    let (scene, _workers) = dead_host();
    let all = scene.ids();
    assert_eq!(all.len(), 400);
    let of_host = |host: &str| {
        let sql = "SELECT count(*) FROM task_claims WHERE session_id LIKE ?1 || '-%'";
        let count: i64 = scene.database.connection.query_row(sql, [host], |row| row.get(0)).expect(host);
        count
    };
    assert_eq!(of_host("web-3"), 66);
    let others = 400 - 66;

    let began = Instant::now();
    let mut pty = scene.open_on_this_host();
    let shown = pty.wait("web-3 silent since");
    let cause_after = began.elapsed();
    assert!(shown.contains("all 5 sessions within 4 s"), "{shown}");
    assert!(shown.contains(&format!("{DEAD}, 1 lock (deploy/production)")), "{shown}");

    let recovering = Instant::now();
    pty.press("3", "web-5");
    pty.press("R", &format!("{DEAD} will be reclaimed"));
    pty.keys("\t");
    pty.press("INC-204", "INC-204");
    pty.press(ENTER, "reclaim: 67 of 67 done; u undoes all of it");
    let recovered_after = recovering.elapsed();
    assert_eq!((of_host("web-3"), i64::try_from(scene.ids().len())), (0, Ok(others)));
    pty.wait_without("4 stale", "web-3 silent");

    pty.press("u", "y undo");
    pty.press("y", "undone: 67 of 67 acts");
    assert_eq!(scene.ids(), all);
    pty.wait("web-3 silent since");
    tell(&format!(
        "incident: the cause {cause_after:.1?} after the start; keys 3, R, Tab, a reason, Enter: \
         67 claims recovered in {recovered_after:.1?}; u, y: all of them back"
    ));
    pty.quit();
}
