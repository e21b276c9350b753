//! Somebody at the dashboard while everything breaks: keys are typed all the while, and a clock runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

use crate::dashboard::pty::{ENTER, ESC, Glance, Pty, Start};
use crate::support::figures::{self, Took};
use crate::support::server::Server;

/// Jobs of a kind that nobody has heard of: no sweep and no operator takes them.
pub const UNCLEAR: &str = "
    INSERT INTO executor_jobs (id, type, status, locked_at, locked_by)
    SELECT format('%s0000000-0000-4000-8000-000000000002', n)::uuid, 'unheard_of', 'running', now(), 'well'
    FROM generate_series(1, 4) n;";

/// One more of them.
const ANOTHER: &str = "
    INSERT INTO executor_jobs (type, status, locked_at, locked_by) VALUES ('unheard_of', 'running', now(), 'well')";

/// What a key brings.
enum Answer {
    Shows(&'static str),
    Hides(&'static str),
}

/// Keys that need nothing of the server, and keys that have to wait for it.
const ROUND: &[(&str, Answer)] = &[
    ("?", Answer::Shows("Put it right")),
    (ESC, Answer::Hides("Put it right")),
    ("2", Answer::Shows("VERDICT")),
    ("5", Answer::Shows("WAITS SINCE")),
    ("8", Answer::Shows("nothing has been done yet")),
    ("1", Answer::Shows("Timeline")),
    ("/zz", Answer::Shows("/zz")),
    (ESC, Answer::Hides("/zz")),
    (ENTER, Answer::Shows("What can be done")),
    (ESC, Answer::Hides("What can be done")),
];

/// How long everything took.
#[derive(Default)]
pub struct Times {
    keys: Mutex<Vec<Took>>,
    banners: Mutex<Vec<Took>>,
    returns: Mutex<Vec<Took>>,
    news: Mutex<Vec<Took>>,
}

impl Times {
    /// Says it beside what is wanted; a busy machine may miss that, and no test fails by it.
    pub fn tell(self, faults: u64) {
        let told = [
            ("a key's answer", self.keys, 100),
            ("the banner", self.banners, 5_000),
            ("the link back", self.returns, 5_000),
            ("a new row after it", self.news, 5_000),
        ];
        for (what, times, aim) in told {
            let times = times.into_inner().unwrap_or_else(PoisonError::into_inner);
            figures::times(&format!("dashboard, {faults} faults, {what}"), times, Duration::from_millis(aim));
        }
    }
}

/// The dashboard, and what its screen tells others than the typist.
pub struct Spectator<'a> {
    times: &'a Times,
    glance: Glance,
    pty: Mutex<Pty>,
    unclear: Mutex<usize>,
    _folder: TempDir,
}

impl<'a> Spectator<'a> {
    /// Opens the dashboard on a source that holds [`UNCLEAR`], and goes to those.
    pub fn at(source: &str, times: &'a Times) -> Spectator<'a> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut pty = Start::claimtop(&folder.path().join("state")).folder(folder.path()).with(source).run();
        pty.wait("LIVE 1");
        pty.press("5", "WAITS SINCE");
        pty.press("8", "nothing has been done yet");
        pty.press("1", "Timeline");
        pty.keys("lll");
        pty.wait_for("the unclear ones", |screen| {
            chosen(&screen.contents()).is_some_and(|id| id.trim_start().starts_with("10000000"))
        });
        Spectator {
            times,
            glance: pty.glance(),
            pty: Mutex::new(pty),
            unclear: Mutex::new(4),
            _folder: folder,
        }
    }

    /// Types until all is over.
    pub fn type_on(&self, is_over: &AtomicBool) {
        let mut pty = self.pty.lock().expect("the only typist");
        while !is_over.load(Ordering::Relaxed) {
            for key in ["j", "k"] {
                let before = chosen(&pty.wait("▸"));
                let took = pty.answer_time(key, |shown| chosen(shown) != before);
                note(&self.times.keys, took, key);
            }
            for (key, answer) in ROUND {
                let took = pty.answer_time(key, |shown| match answer {
                    Answer::Shows(text) => shown.contains(text),
                    Answer::Hides(text) => !shown.contains(text),
                });
                note(&self.times.keys, took, key);
            }
        }
    }

    /// The server is out of reach since then: waits until the screen says so.
    pub fn sees_it_lost(&self, fault: &str, since: Instant) {
        self.glance.wait_for("the banner", |shown| shown.contains("DISCONNECTED since"));
        note(&self.times.banners, since.elapsed(), fault);
    }

    /// The server answers since then: waits until the screen knows, if it knew of the fault.
    pub fn sees_it_back(&self, fault: &str, since: Instant) {
        self.glance.wait_for("the link", |shown| !shown.contains("DISCONNECTED since"));
        note(&self.times.returns, since.elapsed(), fault);
    }

    /// Waits until the screen shows what is written now; how soon is up to the pace of the polls as well.
    pub fn sees_more(&self, server: &Server, fault: &str, since: Instant) {
        server.connect("jobs").run(ANOTHER);
        let mut unclear = self.unclear.lock().expect("the only one who adds to them");
        *unclear += 1;
        let wanted = format!(" {unclear} unknown");
        self.glance
            .wait_for(&wanted, |shown| shown.contains(&wanted) && !shown.contains("DISCONNECTED since"));
        note(&self.times.news, since.elapsed(), fault);
    }

    pub fn leave(self) {
        self.pty.into_inner().expect("nobody types any more").quit();
    }
}

/// The id under the mark of the selection.
fn chosen(shown: &str) -> Option<String> {
    let (_, after) = shown.split_once('▸')?;
    Some(after.chars().take(12).collect())
}

fn note(times: &Mutex<Vec<Took>>, took: Duration, what: &str) {
    times.lock().expect("the list").push((took, what.to_owned()));
}
