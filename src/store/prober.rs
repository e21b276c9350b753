//! Who asks the kernel about the holders' processes, if that is wanted.

use std::fmt;
use std::sync::Arc;

use crate::domain::claim::{Claim, Process, Registry, Worker};
use crate::domain::time::Moment;

/// Looks a process up: alive, dead or unknown, and why.
#[derive(Clone)]
pub struct Prober(Arc<Probe>);

/// The worker, when it was started, and when it was last heard of.
type Probe = dyn Fn(&Worker, Option<Moment>, Option<Moment>) -> (Process, String) + Send + Sync;

impl Prober {
    pub fn new(
        probe: impl Fn(&Worker, Option<Moment>, Option<Moment>) -> (Process, String) + Send + Sync + 'static,
    ) -> Prober {
        Prober(Arc::new(probe))
    }

    pub fn probe(&self, worker: &mut Worker, started_at: Option<Moment>, heard_of: Option<Moment>) {
        let (process, evidence) = (self.0)(worker, started_at, heard_of);
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
