//! Looking up the holders' processes on this machine.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Setup;
use crate::domain::claim::Process;
use crate::liveness::{Machine, Subject};
use crate::store::Prober;

/// A process and the evidence for its state.
type Looked = (Process, String);

/// How long an answer of the kernel is reused.
const TRUSTED: Duration = Duration::from_secs(3);

impl Setup {
    /// Asks this machine's kernel, and trusts an answer for a few seconds: within one look the same
    /// process is asked for many times.
    pub fn prober(&self, source: Option<&str>) -> Prober {
        let holders_on = source.and_then(|name| self.config.source.get(name)?.holders_on);
        let machine = Machine::here();
        let known: Mutex<HashMap<String, (Instant, Looked)>> = Mutex::default();
        Prober::new(move |worker, started_at, beat_at| {
            let subject = Subject { pid: &worker.pid, host: worker.host.as_deref(), started_at, beat_at };
            let look = || {
                let finding = machine.probe(&subject, holders_on);
                (finding.process, finding.evidence)
            };
            let key = format!("{subject:?}");
            match known.lock() {
                Ok(mut known) => {
                    known.retain(|_, (at, _)| at.elapsed() < TRUSTED);
                    known.entry(key).or_insert_with(|| (Instant::now(), look())).1.clone()
                }
                Err(_) => look(),
            }
        })
    }
}
