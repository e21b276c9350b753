//! Opening a source to act on it, and the ways that can be refused.

use super::output::{complain, print};
use super::setup::Setup;
use crate::exit::Exit;
use crate::recovery::AuditedActor;
use crate::recovery::audited_actor::RecoveryError;
use crate::recovery::trail::Trail;
use crate::report::json::line;
use crate::store::{NoWriteAccess, StoreError};

/// Why there is nothing to report but a sentence.
#[derive(Debug)]
pub enum Refusal {
    Moved(String),
    Refused(String),
    Error(String),
}

impl Refusal {
    /// Says it on standard error.
    pub fn complain(self) -> Exit {
        let (exit, sentence) = match self {
            Refusal::Moved(why) => (Exit::Moved, format!("moved: {why}")),
            Refusal::Refused(why) => (Exit::Refused, format!("refused: {why}")),
            Refusal::Error(why) => (Exit::Error, why),
        };
        complain(&sentence);
        exit
    }

    /// Says it, and prints the object that a verb owes; `id` is the claim that was asked for.
    pub fn say(self, json: bool, action: &str, id: Option<&str>) -> Exit {
        let (exit, outcome, sentence) = match self {
            Refusal::Moved(why) => (Exit::Moved, "moved", why),
            Refusal::Refused(why) => (Exit::Refused, "refused", why),
            Refusal::Error(why) => return complain(&why),
        };
        if json {
            let object = serde_json::json!({"action_id": null, "action": action, "outcome": outcome,
                "id": id, "holder": null, "why": sentence, "before": null, "after": null});
            print(&(line(&object) + "\n"));
        }
        complain(&format!("{outcome}: {sentence}"));
        exit
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        match error {
            StoreError::ReadOnly { .. } => Refusal::Refused(error.to_string()),
            StoreError::Sql { code, .. } if is_full(code) => {
                Refusal::Refused(format!("{error}; nothing was written, free some space there and try again"))
            }
            other => Refusal::Error(other.to_string()),
        }
    }
}

impl From<RecoveryError> for Refusal {
    fn from(error: RecoveryError) -> Refusal {
        match error {
            RecoveryError::Store(error) => error.into(),
            RecoveryError::Trail(error) => Refusal::Refused(format!("no act without its record: {error}")),
            RecoveryError::Tampered(_) | RecoveryError::OutOfScope { .. } => {
                Refusal::Refused(error.to_string())
            }
            other => Refusal::Error(other.to_string()),
        }
    }
}

/// Whether SQLite found no room, for its journal or its file, or for the index of its log.
fn is_full(code: i32) -> bool {
    use rusqlite::ffi::{SQLITE_FULL, SQLITE_IOERR_SHMSIZE};
    code == SQLITE_FULL || code == SQLITE_IOERR_SHMSIZE
}

/// Why the source called `label` cannot be written.
pub fn no_access(label: &str, why: NoWriteAccess) -> Refusal {
    match why {
        NoWriteAccess::ReadOnly => Refusal::Refused(format!("{label} is open read-only in this session")),
        NoWriteAccess::Store(error) => error.into(),
    }
}

/// What a source is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Act,
    Rehearse,
}

/// The source that `word` means, ready to be acted on, or to be rehearsed on.
pub fn audited_actor(setup: &Setup, word: &str, purpose: Purpose) -> Result<AuditedActor, Refusal> {
    if setup.now.is_some() {
        return Err(Refusal::Error("--now is for looking; it cannot go with a write".into()));
    }
    let label = setup.label(word);
    let access = setup.write_access(word, setup.effort()).map_err(|why| no_access(&label, why))?;
    let folder = Trail::default_folder().ok_or_else(|| {
        Refusal::Refused(
            "no act without its record, and no folder for it is known; set XDG_STATE_HOME".into(),
        )
    })?;
    if purpose == Purpose::Rehearse {
        return Ok(AuditedActor::rehearsing(access, &label, &folder)?);
    }
    Ok(AuditedActor::open(access, &label, &folder)?)
}
