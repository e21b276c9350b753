//! PID namespaces: whether a number means the same process to us as to the row.
//!
//! A row carries a bare number and not the namespace it was counted in. Only where this program
//! runs in the machine's first namespace, the one that numbers every process, does "no such
//! process" say anything; in a container a live process of the host looks just as absent.

use std::fs;
use std::path::Path;

/// Whether a PID of a row can be looked up from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Namespace {
    /// The machine's first: every process has a number here.
    Initial,
    /// A container or the like, which numbers only its own processes.
    Nested,
    /// `kill` and `/proc` count in different namespaces, or `/proc` does not say.
    Unclear,
}

/// The kernel gives the first PID namespace this inode number on every machine
/// (`PROC_PID_INIT_INO`). The other signs all have gaps: with a `/proc` of its own a container
/// sees one number in `NSpid` and its own namespace in `/proc/1/ns/pid`, which outside needs
/// rights over process 1 that even root may lack.
const INITIAL: &str = "pid:[4026531836]";

impl Namespace {
    /// Asks `/proc/self` where this process is.
    pub fn of_this_process() -> Namespace {
        let link =
            |path: &str| fs::read_link(Path::new(path)).ok().and_then(|at| at.to_str().map(str::to_owned));
        Namespace::from_links(
            link("/proc/self").as_deref(),
            link("/proc/self/ns/pid").as_deref(),
            std::process::id(),
        )
    }

    fn from_links(this: Option<&str>, namespace: Option<&str>, pid: u32) -> Namespace {
        let (Some(this), Some(namespace)) = (this, namespace) else { return Namespace::Unclear };
        if namespace != INITIAL {
            return Namespace::Nested;
        }
        // Inside `nsenter -m` or a foreign chroot /proc may be another namespace's: then it names
        // this process otherwise, or not at all, and what it tells of 4312 is of another 4312.
        if this.parse() == Ok(pid) { Namespace::Initial } else { Namespace::Unclear }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_namespace_with_its_own_proc_counts() {
        let of = Namespace::from_links;
        assert_eq!(of(Some("42"), Some(INITIAL), 42), Namespace::Initial);
        assert_eq!(of(Some("42"), Some("pid:[4026532177]"), 42), Namespace::Nested);
        assert_eq!(of(Some("2324"), Some("pid:[4026532177]"), 2), Namespace::Nested);
        assert_eq!(of(Some("42"), Some(INITIAL), 43), Namespace::Unclear);
        assert_eq!(of(Some("self"), Some(INITIAL), 43), Namespace::Unclear);
        assert_eq!(of(None, Some(INITIAL), 42), Namespace::Unclear);
        assert_eq!(of(Some("42"), None, 42), Namespace::Unclear);
    }
}
