//! Who asks the kernel about the holders' processes, if that is wanted.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::domain::claim::{Claim, Process, Registry, Worker};
use crate::domain::time::Moment;

/// Looks a process up: alive, dead or unknown, and why.
#[derive(Clone)]
pub struct Prober {
    probe: Arc<ProbeFn>,
    memory: Option<Arc<ProberMemory>>,
}

/// What the kernel answered lately, by the process that was asked for.
struct ProberMemory {
    lasts: Duration,
    known: Mutex<HashMap<String, (Instant, ProcessAnswer)>>,
}

/// The state of a process, and the evidence for it.
type ProcessAnswer = (Process, String);

/// The worker, when it was started, and when it was last heard of.
type ProbeFn = dyn Fn(&Worker, Option<Moment>, Option<Moment>) -> ProcessAnswer + Send + Sync;

impl Prober {
    pub fn new(
        probe: impl Fn(&Worker, Option<Moment>, Option<Moment>) -> (Process, String) + Send + Sync + 'static,
    ) -> Prober {
        Prober { probe: Arc::new(probe), memory: None }
    }

    /// The same, with answers that are reused for a while: within one look the same process is asked for many times.
    pub fn remembering(self, lasts: Duration) -> Prober {
        Prober { memory: Some(Arc::new(ProberMemory { lasts, known: Mutex::default() })), ..self }
    }

    /// Asks the kernel again from here on.
    pub fn forget(&self) {
        if let Some(mut known) = self.memory.as_ref().and_then(|memory| memory.known.lock().ok()) {
            known.clear();
        }
    }

    fn ask(&self, worker: &Worker, started_at: Option<Moment>, heard_of: Option<Moment>) -> ProcessAnswer {
        let ask = || (self.probe)(worker, started_at, heard_of);
        let Some(memory) = &self.memory else { return ask() };
        let Ok(mut known) = memory.known.lock() else { return ask() };
        known.retain(|_, (at, _)| at.elapsed() < memory.lasts);
        let key = format!("{:?} {:?} {started_at:?} {heard_of:?}", worker.pid, worker.host);
        known.entry(key).or_insert_with(|| (Instant::now(), ask())).1.clone()
    }

    pub fn probe(&self, worker: &mut Worker, started_at: Option<Moment>, heard_of: Option<Moment>) {
        let (process, evidence) = self.ask(worker, started_at, heard_of);
        worker.process = process;
        worker.evidence = Some(evidence);
    }

    /// Fills in what is known of the process that holds a claim.
    pub fn probe_holder_of(&self, claim: &mut Claim) {
        let (started_at, heard_of) = match &claim.registry {
            Registry::Listed(session) => (session.started_at.at(), session.beat_at.at()),
            // It took the claim: then, at least, it was there.
            Registry::None | Registry::Unregistered | Registry::Missing => (None, claim.sign_of_life()),
        };
        self.probe(&mut claim.worker, started_at, heard_of);
    }
}

impl fmt::Debug for Prober {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prober")
    }
}
