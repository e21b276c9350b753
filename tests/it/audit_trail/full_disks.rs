//! Disks that are full, cannot be written, or are not ours.

use super::child_process::{Again, HERE};
use super::*;

/// Root passes over permissions, so it becomes somebody else first.
const SOMEBODY: &str = "if [ \"$(id -u)\" = 0 ]; then
    exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"; else exec \"$@\"; fi";
const TINY_DISK: &str =
    "exec unshare -m sh -c 'mount -t tmpfs -o size=64k,mode=700 tmpfs \"$CLAIMTOP_TRAIL_FOLDER\" &&
    exec \"$@\"' sh \"$@\"";
const READ_ONLY_DISK: &str =
    "exec unshare -m sh -c 'mount -t tmpfs -o ro,mode=700 tmpfs \"$CLAIMTOP_TRAIL_FOLDER\" &&
    exec \"$@\"' sh \"$@\"";
/// Blocks are of 512 bytes. Without the trap the signal would end the process before it can answer.
const SMALL_FILES: &str = "trap '' XFSZ; ulimit -f 100; exec \"$@\"";

/// Appends until there is no room; then the journal must be what it was before.
pub(super) fn fill(folder: &Path) -> String {
    let mut trail = Trail::open(folder).expect("a trail");
    let mut written = 0;
    loop {
        let before = fs::read(trail.path()).expect("the journal");
        let records: Vec<Record> = (0..7).map(|_| intent()).collect();
        let error = match trail.append(&records) {
            Ok(_) => {
                written += 7;
                continue;
            }
            Err(error) => error,
        };
        assert!(matches!(error, TrailError::NoRoom { .. }), "{error:?}");
        assert!(error.to_string().contains("free some space"), "{error}");
        assert_eq!(fs::read(trail.path()).expect("the journal"), before);
        assert_eq!(only_findings(trail.verify(None).expect("verified")), []);
        assert_eq!(trail.entries().expect("entries").len(), written);
        return format!("no room after {written}");
    }
}

#[track_caller]
fn assert_fills(world: &str) {
    let home = tempfile::tempdir().expect("a temporary folder");
    if let Some(answer) = Again::new(world, "fill", home.path()).answer() {
        assert!(answer.starts_with("no room after ") && !answer.ends_with(" 0"), "{answer}");
    }
}

#[test]
fn a_full_disk_is_an_error_and_the_journal_stays_whole() {
    assert_fills(TINY_DISK);
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_and_the_journal_stays_whole() {
    assert_fills(SMALL_FILES);
}

#[test]
fn a_read_only_disk_is_an_error_that_says_what_to_do() {
    let home = tempfile::tempdir().expect("a temporary folder");
    if let Some(answer) = Again::new(READ_ONLY_DISK, "open", home.path()).answer() {
        assert!(answer.contains("ReadOnlyDisk") && answer.contains("XDG_STATE_HOME"), "{answer}");
    }
}

#[test]
fn a_folder_without_permission_is_an_error_that_says_what_to_do() {
    let home = tempfile::tempdir().expect("a temporary folder");
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o500)).expect("read-only");
    if let Some(answer) = Again::new(SOMEBODY, "open", &home.path().join("audit")).answer() {
        assert!(answer.contains("Denied") && answer.contains("XDG_STATE_HOME"), "{answer}");
    }
}

#[test]
fn a_file_in_the_place_of_the_folder_is_an_error() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let file = home.path().join("audit");
    fs::write(&file, "in the way").expect("a file");
    assert!(matches!(Trail::open(&file), Err(TrailError::Io { .. })));
    assert!(matches!(Trail::read_only(&file), Err(TrailError::Io { .. })));
}

#[test]
fn the_default_folder_follows_the_environment() {
    let folder = |state: Option<&str>, home: Option<&str>| {
        let again = Again::new(HERE, "folder", Path::new("/nonexistent"));
        again.env("XDG_STATE_HOME", state).env("HOME", home).answer().expect("an answer")
    };
    assert_eq!(folder(Some("/state"), Some("/home/u")), "Some(\"/state/claimtop/audit\")");
    for no_state in [None, Some(""), Some("relative")] {
        assert_eq!(folder(no_state, Some("/home/u")), "Some(\"/home/u/.local/state/claimtop/audit\")");
    }
    assert_eq!(folder(None, None), "None");
}
