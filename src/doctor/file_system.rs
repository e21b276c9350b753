//! The kind of file system: SQLite's locks are unreliable across a network.

use rustix::fs::statfs;
use std::path::Path;

use super::DoctorCheck;

/// Whether locks are reliable on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileSystemKind {
    Local,
    Network(&'static str),
    /// It may be either: the kernel does not know.
    Unclear(&'static str),
}

/// By the magic number of the file system, see statfs(2).
fn kind(number: u32) -> FileSystemKind {
    match number {
        0x6969 => FileSystemKind::Network("NFS"),
        0xFE53_4D42 | 0xFF53_4D42 | 0x517B => FileSystemKind::Network("SMB"),
        0x0102_1997 => FileSystemKind::Network("9p"),
        0x5346_414F | 0x6B41_4653 => FileSystemKind::Network("AFS"),
        0x00C3_6400 => FileSystemKind::Network("Ceph"),
        0x0BD0_0BD0 => FileSystemKind::Network("Lustre"),
        0x4750_4653 => FileSystemKind::Network("GPFS"),
        0x6573_5546 => FileSystemKind::Unclear("FUSE"),
        _ => FileSystemKind::Local,
    }
}

pub(super) fn check(path: &Path) -> DoctorCheck {
    match statfs(path) {
        // The number has 32 bits, but its type depends on the platform.
        Ok(found) => describe(kind(found.f_type as u32)),
        Err(error) => DoctorCheck::warning(
            "file system",
            format!("its kind cannot be determined: {error}"),
            "make sure that the file is on a local disk",
        ),
    }
}

fn describe(kind: FileSystemKind) -> DoctorCheck {
    const FIX: &str = "keep the database on a local disk of the host whose workers write it";
    match kind {
        FileSystemKind::Local => DoctorCheck::ok("file system", "local"),
        FileSystemKind::Network(name) => DoctorCheck::warning(
            "file system",
            format!("{name}, a network file system: locks are unreliable there, and WAL does not work"),
            FIX,
        ),
        FileSystemKind::Unclear(name) => DoctorCheck::warning(
            "file system",
            format!("{name}, which may be a network file system: locks may be unreliable there"),
            FIX,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::CheckState;
    use super::{FileSystemKind, describe, kind};

    #[test]
    fn network_file_systems_are_known_by_their_numbers() {
        for number in [0x6969, 0xFE53_4D42, 0xFF53_4D42, 0x0102_1997] {
            assert!(matches!(kind(number), FileSystemKind::Network(_)), "{number:x}");
            assert_eq!(describe(kind(number)).state, CheckState::Warning);
        }
        assert_eq!(describe(kind(0x6573_5546)).state, CheckState::Warning, "FUSE may be anything");
    }

    #[test]
    fn local_file_systems_are_fine() {
        for ext4_xfs_btrfs_tmpfs_overlay in [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630] {
            assert_eq!(describe(kind(ext4_xfs_btrfs_tmpfs_overlay)).state, CheckState::Ok);
        }
    }
}
