//! Why an act is not allowed, and what would allow it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::Action;
use crate::domain::shell::quoted;
use crate::domain::value::Value;
use crate::domain::verdict::Set;
use crate::domain::visible::visible;
use crate::domain::zone_doubt::ZoneDoubt;

/// Why an act is not allowed. It reads as a sentence, with the options of the command line that would allow it.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// Our rules need more than the operator gave.
    NotPermitted {
        cause: PermissionCause,
        needs: Needs,
    },
    /// The rows contradict the zone of their times.
    TimesInDoubt(Arc<ZoneDoubt>),
    /// One of the claims of a session may not be released.
    Claim {
        address: String,
        refusal: Box<Refusal>,
    },
    /// The profile's `blocked_by` holds for the claim.
    Blocked,
    /// The profile does not describe the act.
    NoSuchAct {
        profile: String,
        action: Action,
    },
    /// The profile describes the act with something that the database does not have.
    UnusableAct {
        action: Action,
        why: String,
    },
    /// The same for the end of a session.
    UnusableEnd {
        why: String,
    },
    /// A statement beside the act found another number of rows than the profile demands.
    OtherRows {
        sql: String,
        wanted: u64,
        found: u64,
    },
    /// A dry run cannot try the act without effects that stay.
    NoRehearsal {
        functions: String,
    },
    /// The profile does not describe how a session ends.
    NoSessionEnd {
        profile: String,
    },
    /// An extension has no length where the system counts from the last sign of life.
    NoLength,
    /// The table has none of the columns that the act sets.
    NoColumns {
        act: &'static str,
    },
    /// Nobody has confirmed that the tables, whose names are common, are those of this profile.
    Unconfirmed {
        profile: String,
    },
    /// Changes of a table can be neither guarded nor taken back.
    TableUnsafe {
        table: String,
        why: TableUnsafe,
    },
    /// The act changes rows that nobody can name, so that they could not be put back.
    UntoldRows(UntoldRows),
    /// The database is a file.
    NoServer,
    /// The server does not say which of its sessions holds a claim.
    NoBackends,
    /// The profile names no server session.
    NoBackend {
        profile: String,
    },
    /// No session of the server holds the claim, or the one that did is gone.
    BackendGone,
    /// Our role may not end sessions of this user.
    MayNotSignal {
        role: String,
        user: String,
    },
    /// Our role may not see when the session began.
    MayNotSeeBackend {
        role: String,
    },
    /// The act ended a session of the server.
    CannotUndo {
        action_id: String,
    },
    TableGone,
    RegistryGone,
    /// The record of the act could not be written; so could not that of the next.
    Unrecorded {
        why: String,
    },
    /// That the act to be undone was applied is inferred only.
    OnlyInferred {
        action_id: String,
    },
    /// It is not known whether the act to be undone was applied.
    OutcomeOpen {
        action_id: String,
    },
    /// What the database reports about this row: a constraint, a trigger, a policy.
    Row(String),
    /// What the database reports, and would for every other row.
    Database(String),
    /// The connection was lost before the commit, as the server proves.
    NotCommitted(String),
    /// The act could not be tried at all.
    NotTried(String),
}

/// The fact by which a rule of ours asks for more.
#[derive(Debug, Clone, PartialEq)]
pub enum PermissionCause {
    ProcessAlive {
        pid: Value,
    },
    /// The database shows it, by the profile's `alive_when`.
    HolderAtWork,
    /// Neither stale nor orphaned, but this.
    NotInTrouble(Set),
    HolderMayLive,
    SessionMayLive {
        session: String,
    },
    /// The act ends the holder's session in the server.
    EndsSession,
}

/// What would allow an act that a rule of ours forbids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Needs {
    /// Force, a reason, and the holder's name, if it has one.
    Force { holder: Option<String> },
    /// A reason: force is there.
    Reason,
    /// The holder's name.
    Holder { holder: String },
    /// Another name: this is not the holder.
    OtherHolder { named: String, holder: Option<String> },
}

/// Why the rows of a table are shown and never changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableUnsafe {
    /// Its storage engine takes nothing back.
    NotTransactional {
        engine: String,
    },
    View,
    NoKey,
}

/// What changes rows that nobody can name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UntoldRows {
    /// Rows of this table refer to the one that is changed, and change with it.
    ForeignKey { table: String },
    /// More rows were written than the act names: by a trigger.
    Trigger { table: String },
    /// A statement beside the act whose rows cannot be found before it runs.
    Statement { sql: String },
}

/// Whom a refusal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReach {
    OneClaim,
    /// A full disk, a lost connection: every other act would be refused as well.
    EveryClaim,
}

impl Refusal {
    pub fn reach(&self) -> RefusalReach {
        match self {
            Refusal::Unrecorded { .. } | Refusal::Database(_) | Refusal::NotCommitted(_) => {
                RefusalReach::EveryClaim
            }
            _ => RefusalReach::OneClaim,
        }
    }

    /// The same about one of several claims.
    pub fn of(self, address: String) -> Refusal {
        Refusal::Claim { address, refusal: Box::new(self) }
    }

    /// The sentence without the options of the command line that would allow it.
    pub fn cause(&self) -> String {
        match self {
            Refusal::NotPermitted { needs: Needs::OtherHolder { .. }, .. } => self.to_string(),
            Refusal::NotPermitted { cause, .. } => cause.to_string(),
            Refusal::Claim { address, refusal } => format!("{address}: {}", refusal.cause()),
            other => other.to_string(),
        }
    }

    /// What it has in common with the refusals of other claims.
    pub fn in_common(&self) -> Cow<'static, str> {
        match self {
            Refusal::NotPermitted { needs: Needs::Reason, .. } => "--force needs a --reason".into(),
            Refusal::NotPermitted { needs: Needs::OtherHolder { .. }, .. } => {
                "held by somebody else than the holder that was named".into()
            }
            Refusal::NotPermitted { cause, .. } => match cause {
                PermissionCause::ProcessAlive { .. } => "the holder's process is alive".into(),
                PermissionCause::HolderAtWork => "the holder is at work".into(),
                PermissionCause::NotInTrouble(_) => "neither stale nor orphaned".into(),
                PermissionCause::HolderMayLive => "the holder may still be running".into(),
                PermissionCause::SessionMayLive { .. } => "nothing shows that the session is gone".into(),
                PermissionCause::EndsSession => "it ends the holder's session in the database".into(),
            },
            Refusal::TimesInDoubt(_) => "the zone of its times is in doubt".into(),
            Refusal::Claim { refusal, .. } => refusal.in_common(),
            other => other.to_string().into(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // What would allow it does not depend on why it was asked for.
            Refusal::NotPermitted { needs: needs @ Needs::OtherHolder { .. }, .. } => needs.fmt(f),
            Refusal::NotPermitted { cause, needs } => write!(f, "{cause}; {needs}"),
            Refusal::TimesInDoubt(doubt) => {
                write!(f, "{doubt}; `claimtop doctor` names the setting that fits")
            }
            Refusal::Claim { address, refusal } => write!(f, "{address}: {refusal}"),
            Refusal::Blocked => f.write_str("the profile forbids it for this claim (blocked_by, refuse_when)"),
            Refusal::NoSuchAct { profile, action } => {
                write!(f, "profile {profile} does not say how to {action} here")
            }
            Refusal::UnusableAct { action, why } => write!(
                f,
                "the profile's {action} does not fit this database: {why}; `claimtop profile check` tells more"
            ),
            Refusal::UnusableEnd { why } => write!(
                f,
                "the end of a session does not fit this database: {why}; `claimtop profile check` tells more"
            ),
            Refusal::OtherRows { sql, wanted, found } => write!(
                f,
                "a statement of the profile has to find {wanted} row{} and found {found}, so nothing was changed: {}",
                if *wanted == 1 { "" } else { "s" },
                visible(sql)
            ),
            Refusal::NoRehearsal { functions } => write!(
                f,
                "a dry run cannot try it: it calls {functions}, whose effects a rollback may not take back; nothing \
                 was run"
            ),
            Refusal::NoSessionEnd { profile } => {
                write!(f, "profile {profile} does not say how a session ends")
            }
            Refusal::NoLength => f.write_str(
                "--by is not possible here: this system counts from the last sign of life, and an extension is a \
                 new one; without --by the claim gets its usual time from now on",
            ),
            Refusal::NoColumns { act } => write!(f, "none of the columns that {act} sets is in this database"),
            Refusal::Unconfirmed { profile } => write!(
                f,
                "the tables of {profile} could be anybody's; --profile {} confirms that they are its",
                quoted(profile)
            ),
            Refusal::TableUnsafe { table, why } => {
                write!(f, "rows of {} are shown and never changed: {why}", visible(table))
            }
            Refusal::UntoldRows(by) => write!(f, "{by}, so it could not be undone; nothing was changed"),
            Refusal::NoBackends => f.write_str(
                "MySQL does not say which of its sessions holds a claim: end the worker's process instead, then \
                 reclaim its claim",
            ),
            Refusal::NoServer => f.write_str(
                "a SQLite database has no server sessions: end the worker's process instead, then reclaim its claim",
            ),
            Refusal::NoBackend { profile } => write!(
                f,
                "in profile {profile} no server session holds a claim: use reclaim or release to free it"
            ),
            Refusal::BackendGone => {
                f.write_str("no session of this server holds it any more: there is nothing to end")
            }
            Refusal::MayNotSignal { role, user } => write!(
                f,
                "the role {} may not end sessions of {}: grant it {} or pg_signal_backend (a superuser's session \
                 needs a superuser)",
                visible(role),
                visible(user),
                visible(user)
            ),
            Refusal::MayNotSeeBackend { role } => write!(
                f,
                "the role {} may not see when the session began, so another session with the same number could be \
                 hit: grant it pg_read_all_stats",
                visible(role)
            ),
            Refusal::CannotUndo { action_id } => {
                write!(f, "action {action_id} ended a session of the server; that cannot be undone")
            }
            Refusal::TableGone => f.write_str("its table is gone"),
            Refusal::RegistryGone => f.write_str("its registry is gone"),
            Refusal::Unrecorded { why } => write!(f, "the record could not be written: {why}"),
            Refusal::OnlyInferred { action_id } => write!(
                f,
                "that action {action_id} was applied is only inferred from the rows, and what is inferred is not \
                 undone: its worker may have finished since"
            ),
            Refusal::OutcomeOpen { action_id } => write!(
                f,
                "it is not known whether action {action_id} was applied (`claimtop audit list --open`), so it is \
                 not undone"
            ),
            Refusal::NotCommitted(error) => write!(f, "{error}; nothing was written"),
            Refusal::Row(message) | Refusal::Database(message) | Refusal::NotTried(message) => {
                f.write_str(message)
            }
        }
    }
}

impl fmt::Display for TableUnsafe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableUnsafe::NotTransactional { engine } => write!(
                f,
                "its storage engine is {}, which takes nothing back; ALTER TABLE ... ENGINE = InnoDB makes it safe",
                visible(engine)
            ),
            TableUnsafe::View => f.write_str("it is a view"),
            TableUnsafe::NoKey => f.write_str(
                "it has no primary key, and no unique one without NULL, so that its rows cannot be told apart",
            ),
        }
    }
}

impl fmt::Display for UntoldRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UntoldRows::ForeignKey { table } => {
                write!(f, "rows of {} would change along, by a foreign key", visible(table))
            }
            UntoldRows::Trigger { table } => write!(
                f,
                "a trigger of {} writes more rows than the act names, and this server does not say which",
                visible(table)
            ),
            UntoldRows::Statement { sql } => {
                write!(f, "nobody can tell which rows a statement of the profile changes: {}", visible(sql))
            }
        }
    }
}

impl fmt::Display for PermissionCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PermissionCause::ProcessAlive { pid } => write!(f, "its process (pid {}) is alive", pid.visible()),
            PermissionCause::HolderAtWork => f.write_str("its holder is at work, as the database shows"),
            PermissionCause::NotInTrouble(set) => write!(f, "it is {set}, neither stale nor orphaned"),
            PermissionCause::HolderMayLive => f.write_str("its holder may still be running"),
            PermissionCause::EndsSession => f.write_str(
                "this ends the holder's session in the database with everything it is doing, and cannot be undone",
            ),
            PermissionCause::SessionMayLive { session } => {
                write!(f, "session {} still beats, or nothing shows that it is gone", visible(session))
            }
        }
    }
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Needs::Force { holder: Some(holder) } => {
                write!(f, "to do it anyway: --force --holder {} --reason TEXT", quoted(holder))
            }
            Needs::Force { holder: None } => f.write_str("to do it anyway: --force --reason TEXT"),
            Needs::Reason => f.write_str("--force needs a --reason"),
            Needs::Holder { holder } => write!(f, "name the holder: --holder {}", quoted(holder)),
            Needs::OtherHolder { named, holder: Some(holder) } => {
                write!(f, "{} is not its holder; that is {}", visible(named), visible(holder))
            }
            Needs::OtherHolder { named, holder: None } => {
                write!(f, "{} is not its holder; it has none", visible(named))
            }
        }
    }
}
