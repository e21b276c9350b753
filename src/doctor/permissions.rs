//! Whether acts are possible: the file, its folder, the trail, the audit table.

use rustix::fs::{Access, access};
use std::path::Path;

use super::{DoctorCheck, count, file};
use crate::recovery::trail::{Trail, TrailError};
use crate::store::{Options, SessionMode};

pub(super) fn act(path: &Path, session: SessionMode) -> DoctorCheck {
    const NAME: &str = "acting";
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let may = |what: &Path| access(what, Access::WRITE_OK).is_ok();
    if session == SessionMode::ReadOnly {
        return DoctorCheck::warning(
            NAME,
            "this session is read-only: every act is refused",
            "if acts are wanted, drop --read-only, or read_only = true of this source in the config",
        );
    }
    if !may(path) {
        return DoctorCheck::failed(
            NAME,
            "this user may not write the file: every act is refused",
            "run as the owner of the file, or have write permission granted on it",
        );
    }
    if !may(folder) {
        return DoctorCheck::failed(
            NAME,
            "this user may not write in its folder, where SQLite keeps its journal: every act is refused",
            format!("have write permission granted on {}", folder.display()),
        );
    }
    DoctorCheck::ok(NAME, "this user may write the file and its folder")
}

pub(super) fn audit_table(path: &Path, options: &Options) -> DoctorCheck {
    const NAME: &str = "audit table";
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'claimtop_audit'";
    match file::ask(path, options, &format!("SELECT CAST(({sql}) AS TEXT)")).as_deref() {
        Ok("0") => DoctorCheck::ok(
            NAME,
            "there is no table claimtop_audit: the trail alone keeps the records (`claimtop audit init` makes one)",
        ),
        Ok(_) => {
            DoctorCheck::ok(NAME, "claimtop_audit is there: a record is part of its act's own transaction")
        }
        Err(error) => DoctorCheck::warning(NAME, format!("cannot be looked for: {error}"), "try again"),
    }
}

/// The journal of all acts: whether it can be written, and whether its chain is intact. Creates nothing.
pub(super) fn trail() -> Vec<DoctorCheck> {
    let Some(folder) = Trail::default_folder() else {
        return vec![DoctorCheck::failed(
            "trail",
            "no folder for it is known, and no act is done without",
            "set XDG_STATE_HOME",
        )];
    };
    let mut checks = vec![writable(&folder)];
    match Trail::read_only(&folder).and_then(|trail| whole(&trail)) {
        Ok(more) => checks.extend(more),
        Err(error) => checks.push(DoctorCheck::failed(
            "trail",
            error.to_string(),
            format!("have read and write permission granted on {}", folder.display()),
        )),
    }
    checks
}

fn writable(folder: &Path) -> DoctorCheck {
    let may = |what: &Path| access(what, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    let journal = folder.join("journal.jsonl");
    // A folder that does not exist yet would be created in the nearest one that does.
    let Some(nearest) = folder.ancestors().find(|place| place.exists()) else {
        return DoctorCheck::failed("trail", "no folder for it is known", "set XDG_STATE_HOME");
    };
    let refused = if !nearest.is_dir() || !may(nearest) {
        Some(nearest)
    } else if journal.exists() && access(&journal, Access::WRITE_OK).is_err() {
        Some(journal.as_path())
    } else {
        None
    };
    match refused {
        Some(place) => DoctorCheck::failed(
            "trail",
            format!("{} cannot be written, and no act is done without its record", place.display()),
            "have write permission granted on it, or set XDG_STATE_HOME to a folder of this user's",
        ),
        None if journal.exists() => DoctorCheck::ok("trail", format!("{} can be written", journal.display())),
        None => {
            DoctorCheck::ok("trail", format!("nothing was done yet; it will be kept in {}", folder.display()))
        }
    }
}

fn whole(trail: &Trail) -> Result<Vec<DoctorCheck>, TrailError> {
    let mut checks = Vec::new();
    let verified = trail.verify(None)?;
    if verified.is_whole && verified.anchor.count > 0 {
        checks.push(DoctorCheck::ok(
            "trail",
            format!("its chain of {} is whole", count(verified.anchor.count, "line")),
        ));
    }
    if let Some(finding) = verified.findings.iter().find(|finding| finding.is_tampering()) {
        checks.push(DoctorCheck::failed(
            "trail",
            format!("it has been changed: {finding}"),
            "find out who wrote to it (`claimtop audit verify`), then move it aside to begin a new one",
        ));
    }
    let open = trail.open_actions()?.len() as u64;
    if open > 0 {
        checks.push(DoctorCheck::warning(
            "trail",
            format!("what became of {} is not known", count(open, "act")),
            "`claimtop audit list --open` shows them; the next act on their source finds out",
        ));
    }
    Ok(checks)
}
