//! Host names: whether the name in a row is the name of this machine.

use rustix::system::uname;
use std::net::IpAddr;

/// This machine's name, as the kernel has it.
pub(super) fn ours() -> String {
    uname().nodename().to_string_lossy().into_owned()
}

/// Whether two names mean the same host: they are equal, or one is the other without its domain.
///
/// Two names with different domains are two hosts: `web1.eu` is not `web1.us`.
pub(super) fn same(ours: &str, theirs: &str) -> bool {
    let (ours, theirs) = (normal(ours), normal(theirs));
    if is_anybody(&ours) || is_anybody(&theirs) {
        return false;
    }
    if ours == theirs {
        return true;
    }
    // The dots of an IP address do not separate a domain: 10.0.0.1 and 10.0.0.2 are different hosts.
    let is_address = |name: &str| name.parse::<IpAddr>().is_ok();
    if is_address(&ours) || is_address(&theirs) {
        return false;
    }
    short(&ours) == short(&theirs) && (!ours.contains('.') || !theirs.contains('.'))
}

fn normal(name: &str) -> String {
    name.trim().trim_end_matches('.').to_lowercase()
}

fn short(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// Names that any host may have, or that Linux shows where none was set.
fn is_anybody(name: &str) -> bool {
    matches!(short(name), "" | "localhost" | "(none)")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback() || address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn case_and_a_missing_domain_do_not_matter() {
        for theirs in ["web1", "WEB1", " web1 ", "web1.", "web1.example.com", "Web1.Example.Com"] {
            assert!(same("web1", theirs), "{theirs}");
            assert!(same(theirs, "web1"), "{theirs}");
        }
        assert!(same("web1.example.com", "WEB1.example.com."));
        assert!(same("10.0.0.1", "10.0.0.1"));
    }

    #[test]
    fn other_names_are_other_hosts() {
        let pairs = [
            ("web1", "web2"),
            ("web1", "web10"),
            ("web1.eu", "web1.us"),
            ("10.0.0.1", "10.0.0.2"),
            ("10", "10.0.0.2"),
            ("web1", ""),
            ("", ""),
            (".com", ".com"),
        ];
        for (ours, theirs) in pairs {
            assert!(!same(ours, theirs), "{ours} {theirs}");
        }
    }

    #[test]
    fn a_name_that_every_host_has_names_none() {
        for name in
            ["localhost", "LOCALHOST", "localhost.localdomain", "127.0.0.1", "::1", "0.0.0.0", "(none)"]
        {
            assert!(!same(name, name), "{name}");
        }
    }
}
