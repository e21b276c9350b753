//! Looking up the holders' processes on this machine.

use std::time::Duration;

use super::Setup;
use crate::domain::claim::HoldersOn;
use crate::liveness::{Machine, ProcessSubject};
use crate::store::Prober;

/// How long an answer of the kernel is reused.
const TRUSTED: Duration = Duration::from_secs(3);

impl Setup {
    /// A prober for acts on the source that `word` names, if the config says that the holders run on this host or
    /// that their rows name their hosts. `--check-pid` always has one.
    pub(crate) fn prober_of_acts(&self, word: &str) -> Option<Prober> {
        let name = self.settings_for(word);
        let configured = name.as_deref().and_then(|name| self.config.source.get(name))?;
        match configured.holders_on? {
            HoldersOn::ThisHost | HoldersOn::HostColumn => Some(self.prober(name.as_deref())),
            HoldersOn::Elsewhere => None,
        }
    }

    /// A prober that asks the kernel of this machine.
    pub(crate) fn prober(&self, source: Option<&str>) -> Prober {
        let holders_on = source.and_then(|name| self.config.source.get(name)?.holders_on);
        let machine = Machine::here();
        let prober = Prober::new(move |worker, started_at, beat_at| {
            let subject =
                ProcessSubject { pid: &worker.pid, host: worker.host.as_deref(), started_at, beat_at };
            let finding = machine.probe(&subject, holders_on);
            (finding.process, finding.evidence)
        });
        prober.remembering(TRUSTED)
    }
}
