//! A journal that somebody else could have written is not opened.

use super::*;

#[track_caller]
fn assert_untrusted(folder: &Path, path: &Path, fix: &str) {
    for error in [Trail::open(folder).err(), Trail::read_only(folder).err()] {
        let error = error.expect("refused");
        assert!(matches!(error, TrailError::Untrusted { .. }), "{error:?}");
        let said = error.to_string();
        assert!(said.contains(&path.display().to_string()) && said.contains(fix), "{said}");
    }
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
}

#[test]
fn a_journal_that_others_may_write_is_refused() {
    let mut place = Place::with(1);
    for mode in [0o666, 0o620, 0o602] {
        chmod(&place.journal(), mode);
        assert_untrusted(&place.folder(), &place.journal(), "chmod go-w");
        // Also by a session that was open before.
        assert!(matches!(place.trail.append(&[intent()]), Err(TrailError::Untrusted { .. })));
        assert!(matches!(place.trail.entries(), Err(TrailError::Untrusted { .. })));
    }
    chmod(&place.journal(), 0o644);
    place.add(1);
    place.assert_whole(2);
}

#[test]
fn a_folder_that_others_may_write_is_refused() {
    let place = Place::with(1);
    for mode in [0o777, 0o770, 0o1777] {
        chmod(&place.folder(), mode);
        assert_untrusted(&place.folder(), &place.folder(), "chmod go-w");
    }
    chmod(&place.folder(), 0o755);
    place.assert_whole(1);
}

#[test]
fn a_sealed_file_or_an_index_that_others_may_write_is_refused() {
    let place = segments::long(40);
    for name in ["journal.000001.jsonl", "journal.index"] {
        let path = place.folder().join(name);
        chmod(&path, 0o666);
        let error = place.trail.open_actions().expect_err("refused");
        assert!(matches!(error, TrailError::Untrusted { .. }), "{error:?}");
        chmod(&path, 0o600);
    }
    place.assert_whole(40);
}

#[test]
fn a_journal_of_somebody_else_is_refused() {
    let place = Place::with(1);
    // Only root can give files away.
    if std::os::unix::fs::chown(place.journal(), Some(65_534), None).is_err() {
        return;
    }
    assert_untrusted(&place.folder(), &place.journal(), "uid 65534");
}
