//! On what kind of disk a file is: SQLite's locks cannot be relied on across a network.

use rustix::fs::statfs;
use std::path::Path;

use super::Check;

/// How far a file system can be trusted with locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Local,
    Network(&'static str),
    /// It may be either: only its program knows.
    Unclear(&'static str),
}

/// By the number that the kernel gives each kind, see statfs(2).
fn kind(number: u32) -> Kind {
    match number {
        0x6969 => Kind::Network("NFS"),
        0xFE53_4D42 | 0xFF53_4D42 | 0x517B => Kind::Network("SMB"),
        0x0102_1997 => Kind::Network("9p"),
        0x5346_414F | 0x6B41_4653 => Kind::Network("AFS"),
        0x00C3_6400 => Kind::Network("Ceph"),
        0x0BD0_0BD0 => Kind::Network("Lustre"),
        0x4750_4653 => Kind::Network("GPFS"),
        0x6573_5546 => Kind::Unclear("FUSE"),
        _ => Kind::Local,
    }
}

pub fn look(path: &Path) -> Check {
    match statfs(path) {
        // The number has 32 bits; in which type it comes depends on the platform.
        Ok(found) => say(kind(found.f_type as u32)),
        Err(error) => Check::warning(
            "file system",
            format!("of what kind it is cannot be found out: {error}"),
            "see to it that the file is on a local disk",
        ),
    }
}

fn say(kind: Kind) -> Check {
    const FIX: &str = "keep the database on a local disk of the host whose workers write it";
    match kind {
        Kind::Local => Check::ok("file system", "local"),
        Kind::Network(name) => Check::warning(
            "file system",
            format!("{name}, a network file system: locks are unreliable there, and WAL does not work"),
            FIX,
        ),
        Kind::Unclear(name) => Check::warning(
            "file system",
            format!("{name}, which may be a network file system: locks may be unreliable there"),
            FIX,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::{Kind, kind, say};

    #[test]
    fn network_file_systems_are_known_by_their_numbers() {
        for number in [0x6969, 0xFE53_4D42, 0xFF53_4D42, 0x0102_1997] {
            assert!(matches!(kind(number), Kind::Network(_)), "{number:x}");
            assert_eq!(say(kind(number)).state, State::Warning);
        }
        assert_eq!(say(kind(0x6573_5546)).state, State::Warning, "FUSE may be anything");
    }

    #[test]
    fn local_file_systems_are_fine() {
        for ext4_xfs_btrfs_tmpfs_overlay in [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630] {
            assert_eq!(say(kind(ext4_xfs_btrfs_tmpfs_overlay)).state, State::Ok);
        }
    }
}
