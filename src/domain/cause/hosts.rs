//! The host of a holder, out of the names of all holders, where neither the registry nor the claim names it.

use std::collections::BTreeSet;

/// The host in each name; nothing where the names do not tell hosts from holders.
///
/// Names such as `web1:4312`, `w7@web1`, `web1/3f2a9c` and `worker:web1:4312` hold a host and something of
/// the holder's own. What is left without that is a host only if several holders share it.
pub fn hosts_of_names(names: &[&str]) -> Vec<Option<String>> {
    let nothing = vec![None; names.len()];
    let after_at: Vec<Option<&str>> =
        names.iter().map(|name| name.split_once('@').map(|(_, host)| host)).collect();
    if !names.is_empty() && after_at.iter().all(|host| host.is_some_and(|host| !host.is_empty())) {
        return after_at.into_iter().map(|host| host.map(|host| first_part(host).to_owned())).collect();
    }
    let parts: Vec<Vec<&str>> = names.iter().map(|name| name.split(SEPARATORS).collect()).collect();
    let distinct_first: BTreeSet<&str> = parts.iter().filter_map(|parts| parts.first().copied()).collect();
    let has_role = distinct_first.len() == 1 && names.len() > 1 && parts.iter().all(|parts| parts.len() > 2);
    let mut hosts: Vec<String> = parts
        .iter()
        .map(|parts| parts.get(usize::from(has_role)).copied().unwrap_or_default().to_owned())
        .collect();
    for _ in 0..4 {
        if is_shared(&hosts, names.len()) {
            return hosts.into_iter().map(|host| (!host.is_empty()).then_some(host)).collect();
        }
        let shorter: Vec<String> = hosts.iter().map(|host| without_id(host).to_owned()).collect();
        if shorter == hosts {
            break;
        }
        hosts = shorter;
    }
    nothing
}

const SEPARATORS: [char; 4] = [':', '/', '#', '|'];

fn first_part(host: &str) -> &str {
    host.split(SEPARATORS).next().unwrap_or(host)
}

/// Whether several holders share each host, by and large, and there is more than one host.
fn is_shared(hosts: &[String], names: usize) -> bool {
    let distinct: BTreeSet<&String> = hosts.iter().collect();
    distinct.len() >= 2 && distinct.len() * 3 <= names * 2 && hosts.iter().all(|host| !host.is_empty())
}

/// A name without the id at its end: digits, or at least five hexadecimal ones.
fn without_id(name: &str) -> &str {
    let Some(at) = name.rfind(['-', '.', '_']) else { return name };
    let id = &name[at + 1..];
    let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    let is_hex = id.len() >= 5 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_number || is_hex { &name[..at] } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three hosts with four holders each, in the style of `write(host, holder)`.
    fn fleet(write: impl Fn(&str, usize) -> String) -> Vec<String> {
        let hosts = ["web-1", "web-2", "db-7"];
        hosts.iter().flat_map(|host| (0..4).map(|at| write(host, 4_300 + at * 17))).collect()
    }

    fn hosts(names: &[String]) -> Vec<Option<String>> {
        hosts_of_names(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn a_host_is_found_in_the_usual_styles_of_names() {
        let styles: [fn(&str, usize) -> String; 7] = [
            |host, pid| format!("{host}:{pid}"),
            |host, pid| format!("{host}:{pid}:{:x}", pid * 7919),
            |host, pid| format!("w{pid}@{host}"),
            |host, pid| format!("{host}/{pid:x}"),
            |host, pid| format!("{host}-{pid}"),
            |host, pid| format!("{host}.{pid}"),
            |host, pid| format!("worker:{host}:{pid}"),
        ];
        for (style, write) in styles.iter().enumerate() {
            let found = hosts(&fleet(write));
            let expected: Vec<Option<String>> = ["web-1", "web-2", "db-7"]
                .iter()
                .flat_map(|host| vec![Some((*host).to_owned()); 4])
                .collect();
            assert_eq!(found, expected, "style {style}");
        }
    }

    #[test]
    fn names_that_tell_no_host_give_none() {
        let ids: Vec<String> = (0..12).map(|at| format!("{:08x}-{at:04x}-4a6b", at * 7_919_113)).collect();
        assert!(hosts(&ids).iter().all(Option::is_none), "{:?}", hosts(&ids));
        let numbered: Vec<String> = (0..12).map(|at| format!("worker-{at}")).collect();
        assert!(hosts(&numbered).iter().all(Option::is_none));
        assert!(hosts(&[]).is_empty());
    }
}
