//! Opens a source to act on it, or says why that is refused.

use std::fmt;

use super::output::{complain, print};
use super::setup::Setup;
use crate::domain::recovery::{Confirmation, Moved, Refusal};
use crate::domain::visible::visible;
use crate::exit::Exit;
use crate::recovery::AuditedActor;
use crate::recovery::audited_actor::RecoveryError;
use crate::recovery::trail::Trail;
use crate::report::json::line;
use crate::store::{NoWriteAccess, StoreError};

/// Why a verb did not act.
#[derive(Debug)]
pub(super) enum ActFailure {
    /// No claim has this id (any more).
    NoClaim {
        id: String,
    },
    /// No session of this name is registered or holds claims.
    NoSession {
        name: String,
    },
    /// Several claims have this id.
    Ambiguous {
        id: String,
        addresses: Vec<String>,
    },
    Moved(Moved),
    Refused(Refusal),
    /// The question was not answered with yes.
    NotConfirmed,
    /// The config requires confirmation of every act on the source.
    ConfirmationWanted {
        source: String,
    },
    /// The session is read-only, or the config protects the source.
    ReadOnly {
        source: String,
    },
    /// There is no folder for the trail.
    NoTrailFolder,
    /// `--now` was given.
    ClockStands,
    Store(StoreError),
    Recovery(RecoveryError),
}

impl ActFailure {
    pub(super) fn exit(&self) -> Exit {
        match self {
            ActFailure::NoClaim { .. } | ActFailure::NoSession { .. } | ActFailure::Moved(_) => Exit::Moved,
            ActFailure::Refused(_)
            | ActFailure::NotConfirmed
            | ActFailure::ConfirmationWanted { .. }
            | ActFailure::ReadOnly { .. }
            | ActFailure::NoTrailFolder
            | ActFailure::Store(StoreError::ReadOnly { .. })
            | ActFailure::Recovery(
                RecoveryError::Trail(_)
                | RecoveryError::Tampered(_)
                | RecoveryError::OutOfScope { .. }
                | RecoveryError::Refused(_),
            ) => Exit::Refused,
            ActFailure::Store(error) if is_full(error) => Exit::Refused,
            ActFailure::Ambiguous { .. }
            | ActFailure::ClockStands
            | ActFailure::Store(_)
            | ActFailure::Recovery(_) => Exit::Error,
        }
    }

    /// The outcome in JSON; an error has no object.
    fn outcome(&self) -> Option<&'static str> {
        match self.exit() {
            Exit::Moved => Some("moved"),
            Exit::Refused => Some("refused"),
            _ => None,
        }
    }

    /// Prints it to standard error.
    pub(super) fn complain(&self) -> Exit {
        match self.outcome() {
            Some(outcome) => complain(&format!("{outcome}: {self}")),
            None => complain(&self.to_string()),
        };
        self.exit()
    }

    /// Prints it, and the JSON object of the verb; `id` is the requested claim.
    pub(super) fn say(&self, json: bool, action: &str, id: Option<&str>) -> Exit {
        if let Some(outcome) = self.outcome().filter(|_| json) {
            let object = serde_json::json!({"action_id": null, "action": action, "outcome": outcome,
                "id": id, "holder": null, "why": self.to_string(), "before": null, "after": null});
            print(&(line(&object) + "\n"));
        }
        self.complain()
    }
}

impl fmt::Display for ActFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ActFailure::NoClaim { id } => write!(f, "there is no claim {} (any more)", visible(id)),
            ActFailure::NoSession { name } => {
                write!(f, "there is no session {} (any more), and it holds nothing", visible(name))
            }
            ActFailure::Ambiguous { id, addresses } => {
                write!(f, "{} means several claims: {}", visible(id), addresses.join(", "))
            }
            ActFailure::Moved(moved) => write!(f, "{moved}"),
            ActFailure::Refused(refusal) => write!(f, "{refusal}"),
            ActFailure::NotConfirmed => f.write_str("nothing was done; --yes does it without asking"),
            ActFailure::ConfirmationWanted { source } => write!(
                f,
                "{source}: its config says confirm = \"always\"; nothing was done; repeat the command with --yes"
            ),
            ActFailure::ReadOnly { source } => write!(f, "{source} is open read-only in this session"),
            ActFailure::NoTrailFolder => {
                f.write_str("no act without its record, and no folder for it is known; set XDG_STATE_HOME")
            }
            ActFailure::ClockStands => f.write_str("--now is for looking; it cannot go with a write"),
            ActFailure::Store(error) if is_full(error) => {
                write!(f, "{error}; nothing was written, free some space there and try again")
            }
            ActFailure::Store(error) => write!(f, "{error}"),
            ActFailure::Recovery(RecoveryError::Trail(error)) => {
                write!(f, "no act without its record: {error}")
            }
            ActFailure::Recovery(error) => write!(f, "{error}"),
        }
    }
}

impl From<StoreError> for ActFailure {
    fn from(error: StoreError) -> ActFailure {
        ActFailure::Store(error)
    }
}

impl From<RecoveryError> for ActFailure {
    fn from(error: RecoveryError) -> ActFailure {
        match error {
            RecoveryError::Store(error) => ActFailure::Store(error),
            other => ActFailure::Recovery(other),
        }
    }
}

/// Whether SQLite had no space for its journal, its file, or the index of its log.
fn is_full(error: &StoreError) -> bool {
    use rusqlite::ffi::{SQLITE_FULL, SQLITE_IOERR_SHMSIZE};
    matches!(error, StoreError::Sql { code: SQLITE_FULL | SQLITE_IOERR_SHMSIZE, .. })
}

/// Why the source `label` cannot be written.
pub(super) fn no_access(label: &str, why: NoWriteAccess) -> ActFailure {
    match why {
        NoWriteAccess::ReadOnly => ActFailure::ReadOnly { source: label.to_owned() },
        NoWriteAccess::Store(error) => error.into(),
    }
}

/// What a source is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenPurpose {
    Act,
    /// An act without `--yes`: refused if the config requires confirmation of every act.
    ActUnconfirmed,
    Rehearse,
}

/// The source that `word` names, ready to act or to rehearse.
pub(super) fn audited_actor(
    setup: &Setup,
    word: &str,
    purpose: OpenPurpose,
) -> Result<AuditedActor, ActFailure> {
    if setup.now.is_some() {
        return Err(ActFailure::ClockStands);
    }
    if purpose == OpenPurpose::ActUnconfirmed && setup.config.confirmation(word) == Confirmation::Always {
        return Err(ActFailure::ConfirmationWanted { source: visible(&setup.label(word)) });
    }
    let label = setup.label(word);
    let access = setup.write_access(word, setup.effort()).map_err(|why| no_access(&label, why))?;
    let access = match setup.prober_of_acts(word) {
        Some(prober) => access.probing_with(prober),
        None => access,
    };
    let folder = Trail::default_folder().ok_or(ActFailure::NoTrailFolder)?;
    if purpose == OpenPurpose::Rehearse {
        return Ok(AuditedActor::rehearsing(access, &label, &folder)?);
    }
    Ok(AuditedActor::open(access, &label, &folder)?)
}
