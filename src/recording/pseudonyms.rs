//! Ids, holders and hosts replaced by pseudonyms, for a recording that leaves the house.
//!
//! The same name has the same pseudonym wherever the key is the same. The key is random and never in a recording, so
//! nobody can find out a name by trying. Free texts (errors, sentences) may contain names and are left out.

use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};

use crate::domain::cause::{Cause, Dimension};
use crate::domain::claim::Claim;
use crate::domain::value::{Key, Value};
use crate::events::{ClaimContext, Event};

#[derive(Debug, Clone)]
pub struct Pseudonyms {
    key: [u8; 32],
}

/// Takes the place of an error text.
const REMOVED: &str = "(removed)";

impl Pseudonyms {
    /// With a new key.
    pub fn random() -> Pseudonyms {
        let mut hash = Sha256::new();
        // Each has 74 random bits.
        for _ in 0..4 {
            hash.update(uuid::Uuid::now_v7().as_bytes());
        }
        Pseudonyms { key: hash.finalize().into() }
    }

    pub fn with_key(key: [u8; 32]) -> Pseudonyms {
        Pseudonyms { key }
    }

    pub fn key(&self) -> &[u8; 32] {
        &self.key
    }

    fn of(&self, what: &str, name: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(self.key);
        hash.update(what);
        hash.update([0]);
        hash.update(name);
        let digits: String = hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        format!("{what}-{digits}")
    }

    fn id(&self, name: &str) -> String {
        self.of("id", name)
    }

    fn holder(&self, name: &str) -> String {
        self.of("holder", name)
    }

    fn host(&self, name: &str) -> String {
        self.of("host", name)
    }

    pub(super) fn claim(&self, claim: &Claim) -> Claim {
        let part = |value: &Value| match value {
            Value::Null => Value::Null,
            other => Value::Text(self.id(&other.text().unwrap_or_default())),
        };
        let mut masked = claim.clone();
        masked.key = Key(claim.key.0.iter().map(part).collect());
        masked.holder = claim.holder.as_deref().map(|name| self.holder(name));
        masked.worker.host = claim.worker.host.as_deref().map(|name| self.host(name));
        masked.worker.evidence = None;
        masked.error = claim.error.as_ref().map(|_| REMOVED.into());
        masked
    }

    pub(super) fn causes(&self, causes: &[Cause]) -> Vec<Cause> {
        let masked = |cause: &Cause| {
            let mut masked = cause.clone();
            if cause.by == Dimension::Host {
                masked.names = cause.names.iter().map(|name| self.host(name)).collect();
            }
            masked.touched.locks = cause.touched.locks.iter().map(|id| self.id(id)).collect();
            masked
        };
        causes.iter().map(masked).collect()
    }

    pub(super) fn event(&self, event: &Event) -> Event {
        let mut masked = event.clone();
        match &mut masked {
            Event::Acquired { task_id, session_id, about, .. }
            | Event::Extended { task_id, session_id, about, .. }
            | Event::Released { task_id, session_id, about, .. }
            | Event::Expired { task_id, session_id, about, .. }
            | Event::Orphaned { task_id, session_id, about, .. }
            | Event::Expiring { task_id, session_id, about, .. }
            | Event::Unclear { task_id, session_id, about, .. }
            | Event::Retried { task_id, session_id, about, .. }
            | Event::Left { task_id, session_id, about, .. }
            | Event::Recovered { task_id, session_id, about, .. }
            | Event::Poison { task_id, session_id, about, .. } => {
                self.mask_claim(task_id, session_id, about, event.kind().word());
            }
            Event::ChangedHands { task_id, session_id, from_session_id, about } => {
                self.mask_claim(task_id, session_id, about, event.kind().word());
                *from_session_id = from_session_id.as_deref().map(|name| self.holder(name));
            }
            Event::SessionLost { session_id, .. } | Event::SessionCleanup { session_id, .. } => {
                *session_id = self.holder(session_id);
            }
            Event::Batch { first, .. } => {
                first.iter_mut().for_each(|address| *address = self.address(address).0);
            }
            Event::CauseBegan { by, name, claims, of, sentence, .. } => {
                if *by == Dimension::Host.as_str() {
                    *name = self.host(name);
                }
                *sentence = format!("{by} {name}: {claims} of {of} claims");
            }
            Event::CauseEnded { by, name, .. } => {
                if *by == Dimension::Host.as_str() {
                    *name = self.host(name);
                }
            }
            Event::Cleanup { .. }
            | Event::SourceLost { .. }
            | Event::SourceBack { .. }
            | Event::SourceChanged { .. } => {}
        }
        masked
    }

    fn mask_claim(
        &self,
        task_id: &mut String,
        session_id: &mut Option<String>,
        about: &mut ClaimContext,
        why: &str,
    ) {
        let (address, id) = self.address(&about.address);
        about.address = address;
        about.shown.clone_from(&id);
        about.why = why.into();
        *task_id = id;
        *session_id = session_id.as_deref().map(|name| self.holder(name));
    }

    /// The address with another id, and that id.
    fn address(&self, address: &str) -> (String, String) {
        let (place, id) = address.rsplit_once('/').unwrap_or(("", address));
        let part = |part: &str| self.id(&percent_decode_str(part).decode_utf8_lossy());
        let id = id.split(',').map(part).collect::<Vec<_>>().join(",");
        (format!("{place}/{id}"), id)
    }
}
