//! Claims that tell their story: `claim("t-1").held_by("w7").lease_ran_out("11m")`.

use claimtop::domain::claim::{Claim, Lease, Process, Registry, Session, Worker};
use claimtop::domain::rules::Rules;
use claimtop::domain::snapshot::{Judged, Mark};
use claimtop::domain::time::{Moment, Reading};
use claimtop::domain::token::SeenToken;
use claimtop::domain::value::{Key, Value};
use claimtop::domain::verdict::judge;

use super::{noon, span};

/// A claim as its board holds it.
#[derive(Debug, Clone)]
pub struct Held {
    pub claim: Claim,
    pub seen: SeenToken,
    pub rowid: i64,
}

/// A healthy claim: taken ten minutes ago by `worker-7`, with twenty minutes of lease left, a session
/// that beats, and a process nobody has asked for.
pub fn claim(id: &str) -> Held {
    let claim = Claim {
        key: Key(vec![Value::Text(id.into())]),
        kind: Some("run_tsa".into()),
        holder: Some("worker-7".into()),
        claimed_at: ago("10m"),
        beat_at: ago("5s"),
        lease: Lease::Until(Reading::At(noon().plus(span("20m")))),
        registry: Registry::Listed(Session { beat_at: ago("5s"), stale_at: None, started_at: ago("2h") }),
        worker: Worker::new(Value::Int(4312), Some("web1".into())),
        disowned: false,
        alive: false,
        attempts: Some(1),
        max_attempts: Some(3),
        error: None,
    };
    Held { claim, seen: token_of("first"), rowid: 1 }
}

fn ago(text: &str) -> Reading {
    Reading::At(noon().minus(span(text)))
}

impl Held {
    pub fn of_kind(mut self, kind: &str) -> Held {
        self.claim.kind = Some(kind.into());
        self
    }

    pub fn held_by(mut self, holder: &str) -> Held {
        self.claim.holder = Some(holder.into());
        self
    }

    pub fn on_host(mut self, host: &str) -> Held {
        self.claim.worker.host = Some(host.into());
        self
    }

    pub fn taken(mut self, long_ago: &str) -> Held {
        self.claim.claimed_at = ago(long_ago);
        self
    }

    pub fn beat(mut self, long_ago: &str) -> Held {
        self.claim.beat_at = ago(long_ago);
        self
    }

    /// Stale: its lease ran out; its session still beats, so its holder is slow.
    pub fn lease_ran_out(mut self, long_ago: &str) -> Held {
        let over = noon().minus(span(long_ago));
        self.claim.lease = Lease::Until(Reading::At(over));
        let before = |text: &str| Reading::At(over.minus(span(text)));
        (self.claim.claimed_at, self.claim.beat_at) = (before("30m"), before("20m"));
        self
    }

    /// Expiring, with a holder that beats.
    pub fn runs_out_in(mut self, left: &str) -> Held {
        self.claim.lease = Lease::Until(Reading::At(noon().plus(span(left))));
        self
    }

    /// Orphaned: no such session is registered.
    pub fn without_session(mut self) -> Held {
        self.claim.registry = Registry::Missing;
        self.beat("8m")
    }

    /// Orphaned: its session has stopped beating.
    pub fn session_silent_for(mut self, long: &str) -> Held {
        let session = Session { beat_at: ago(long), stale_at: None, started_at: ago("3h") };
        self.claim.registry = Registry::Listed(session);
        self.beat(long)
    }

    /// Its process was asked for.
    pub fn process(mut self, process: Process) -> Held {
        self.claim.worker.process = process;
        self.claim.worker.evidence = Some(match process {
            Process::Alive => "pid 4312 runs since 09:58, before the claim".into(),
            Process::Dead => "no process 4312".into(),
            Process::Unknown => "it runs on another host".into(),
        });
        self
    }

    /// Unknown: its deadline cannot be read.
    pub fn unreadable(mut self) -> Held {
        self.claim.lease = Lease::Until(Reading::Bad("the text \"soon\"".into()));
        self
    }

    /// The same row in another state.
    pub fn seen_as(mut self, token: &str) -> Held {
        self.seen = token_of(token);
        self
    }

    pub fn judged(&self, rules: &Rules, now: Moment) -> Judged {
        Judged {
            verdict: judge(&self.claim, rules, now),
            claim: self.claim.clone(),
            seen: Some(self.seen),
            mark: Some(Mark::Rowid(self.rowid)),
        }
    }
}

/// A token that stands for a state with a name of at most twelve letters.
fn token_of(name: &str) -> SeenToken {
    let mut claim = [0; 12];
    claim[..name.len()].copy_from_slice(name.as_bytes());
    SeenToken { claim, session: None }
}

/// The name of the state that a token stands for.
pub fn state_of(token: SeenToken) -> String {
    String::from_utf8_lossy(&token.claim).trim_end_matches('\0').to_owned()
}
