//! Looking up the holders' processes on this machine.

use std::time::Duration;

use super::Setup;
use crate::liveness::{Machine, Subject};
use crate::store::Prober;

/// How long an answer of the kernel is reused.
const TRUSTED: Duration = Duration::from_secs(3);

impl Setup {
    /// A prober that asks this machine's kernel.
    pub fn prober(&self, source: Option<&str>) -> Prober {
        let holders_on = source.and_then(|name| self.config.source.get(name)?.holders_on);
        let machine = Machine::here();
        let prober = Prober::new(move |worker, started_at, beat_at| {
            let subject = Subject { pid: &worker.pid, host: worker.host.as_deref(), started_at, beat_at };
            let finding = machine.probe(&subject, holders_on);
            (finding.process, finding.evidence)
        });
        prober.remembering(TRUSTED)
    }
}
