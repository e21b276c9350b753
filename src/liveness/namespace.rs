//! PID namespaces: whether a PID means the same process here as in the row.
//!
//! A row contains a bare PID and not its namespace. "No such process" is proof only if this program runs in the
//! machine's initial namespace, which numbers every process. In a container a live process of the host looks just as
//! absent.

use std::fs;
use std::path::Path;

/// Whether a PID of a row can be looked up from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Namespace {
    /// The initial one: every process has a PID here.
    Initial,
    /// That of a container, which numbers only its own processes.
    Nested,
    /// `kill` and `/proc` use different namespaces, or `/proc` does not show which.
    Unclear,
}

/// The kernel gives the initial PID namespace this inode number on every machine (`PROC_PID_INIT_INO`). All other
/// signs have gaps: a container with its own `/proc` sees one number in `NSpid` and its own namespace in
/// `/proc/1/ns/pid`, and reading that on the host needs privileges over process 1 that even root may lack.
const INITIAL: &str = "pid:[4026531836]";

impl Namespace {
    /// Reads from `/proc/self` where this process is.
    pub(super) fn of_this_process() -> Namespace {
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
        // With `nsenter -m` or in a chroot, /proc may belong to another namespace. It then shows this process under
        // another PID or not at all, and its entry 4312 is a different process than ours.
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
