//! In real time, against a worker that renews as fast as it can: no live claim is ever taken.

use claimtop::store::Effort;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::support::figures;
use crate::support::mysql::number;

/// The row itself counts how often it was taken while its lease ran.
const LIVE: &str = "CREATE TABLE q (id INT PRIMARY KEY, state VARCHAR(10) NOT NULL, holder VARCHAR(40),
      until DATETIME(6), beats INT NOT NULL DEFAULT 0, live INT NOT NULL DEFAULT 0);
    CREATE TRIGGER taken_live BEFORE UPDATE ON q FOR EACH ROW
      SET NEW.live = OLD.live + (OLD.state = 'held' AND NEW.state = 'queued' AND OLD.until > NOW(6));
    INSERT INTO q (id, state, holder, until) VALUES (1, 'held', 'w', '2020-01-01'), (2, 'held', 'w', '2020-01-01'),
      (3, 'held', 'w', '2020-01-01');
";

const PROFILE_OF_LIVE: &str = r#"
title = "A race"
[[claim]]
name = "job"
table = "q"
held = "c.state = 'held'"
id = "id"
holder = "holder"
time = "timestamp"
zone = "utc"
fenced = true
deadline = { column = "until", lease = "60s" }
reclaim = { set = { state = "'queued'" } }
"#;

/// Collisions to see; `./tests/run --soak` asks for more.
fn collisions() -> u64 {
    number("CLAIMTOP_COLLISIONS", 40)
}

/// Renews, lets the lease run out, and takes what was freed, again and again.
fn work(url: &str, done: &AtomicBool) {
    let mut link = crate::support::mysql::open(url);
    let mut at = 0;
    while !done.load(Ordering::Relaxed) {
        at += 1;
        let id = at % 3 + 1;
        for sql in [
            format!("UPDATE q SET state = 'held', until = '2020-01-01' WHERE id = {id}"),
            format!(
                "UPDATE q SET until = NOW(6) + INTERVAL 60 SECOND, beats = beats + 1 WHERE id = {id} AND state = 'held'"
            ),
        ] {
            // A row that the operator holds is renewed the next time.
            let _ = link.run(&sql);
        }
    }
}

/// Lets the worker end, however the test does.
pub(super) struct Ends<'a>(pub(super) &'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn race(many: bool) {
    let Some(database) = MyDatabase::new(LIVE) else { return };
    let profile = Profile::parse("own", PROFILE_OF_LIVE).expect("a profile");
    let mut options = at_server(&database.url(), Profiles::Named(vec![profile]));
    options.frozen_at = None;
    options.effort = Effort { rows: 5, slice: 1_000, whole: 1_000 };
    let mut actor = Actor::open(writable(options)).expect("an actor");
    let (done, url) = (AtomicBool::new(false), database.url());
    let (mut taken, mut moved) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| work(&url, &done));
        let _ends = Ends(&done);
        while moved < collisions() || taken < collisions() / 10 {
            for id in ["1", "2", "3"] {
                let Some(seen) = actor.find(id, None).expect("a look").pop() else { continue };
                let authorization = Authorization::default();
                let order = Order {
                    action: Action::Reclaim,
                    authorization: &authorization,
                    action_id: "x",
                    dry_run: false,
                };
                let outcome = if many {
                    let mut noted = crate::support::Noted::new();
                    let batch = actor.act_batch(&mut [&seen], &order, std::time::Duration::ZERO, &mut noted);
                    batch.expect("a batch").tried.remove(0).outcome
                } else {
                    actor.act(&seen, &order, &mut |_| Ok(())).expect("an act").outcome
                };
                match outcome {
                    Outcome::Applied => taken += 1,
                    Outcome::Moved(_) => moved += 1,
                    Outcome::Refused(_) => {}
                    Outcome::Unknown(unknown) => panic!("{unknown:?}"),
                }
            }
        }
    });
    let live: u64 = database.text("SELECT SUM(live) FROM q").parse().expect("a number");
    figures::promise("MySQL: claims taken while their lease ran", taken + moved, live);
    assert_eq!(live, 0, "{taken} taken, {moved} moved");
}

#[test]
fn no_live_claim_is_taken_one_by_one() {
    race(false);
}

#[test]
fn no_live_claim_is_taken_among_many() {
    race(true);
}
