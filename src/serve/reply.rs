//! What is answered to a request.

use std::net::IpAddr;
use std::time::Instant;

use crate::metrics::Metrics;

const TEXT: &str = "text/plain; charset=utf-8";
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A request, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked<'a> {
    pub method: &'a str,
    pub path: &'a str,
    /// Every name by which the client calls us.
    pub hosts: Vec<&'a str>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    pub content_type: &'static str,
    pub body: String,
}

impl Reply {
    fn text(status: u16, body: &str) -> Reply {
        Reply { status, content_type: TEXT, body: format!("{body}\n") }
    }
}

/// The answer to a request that came in at the address `here`.
pub fn reply(asked: &Asked<'_>, here: IpAddr, metrics: &Metrics, now: Instant) -> Reply {
    // A page in a browser can make its own name lead to this host. It cannot lie about that name.
    if here.is_loopback() && !asked.hosts.iter().all(|host| is_loopback(host)) {
        return Reply::text(403, "this is served to this host alone, by its own names");
    }
    if asked.hosts.is_empty() {
        return Reply::text(400, "a request names its host");
    }
    let known = ["/metrics", "/healthz", "/readyz"].contains(&asked.path);
    match (asked.path, asked.method) {
        _ if !known => Reply::text(404, "there are /metrics, /healthz and /readyz"),
        ("/metrics", "GET" | "HEAD") => match metrics.text(now) {
            Ok(body) => Reply { status: 200, content_type: OPENMETRICS, body },
            Err(_) => Reply::text(500, "the metrics could not be written"),
        },
        ("/healthz", "GET" | "HEAD") => Reply::text(200, "alive"),
        ("/readyz", "GET" | "HEAD") => ready(metrics, now),
        _ => Reply::text(405, "GET and HEAD are all"),
    }
}

fn ready(metrics: &Metrics, now: Instant) -> Reply {
    let all = metrics.readiness(now);
    let status = if all.iter().all(Result::is_ok) { 200 } else { 503 };
    let sentences: Vec<String> =
        all.into_iter().map(|one| one.unwrap_or_else(|bad| format!("not ready: {bad}"))).collect();
    Reply::text(status, &sentences.join("\n"))
}

/// Whether a host, with or without a port, is a name of this machine for itself.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_for_itself_pass_on_loopback() {
        for good in ["localhost", "LocalHost:9464", "127.0.0.1", "127.0.0.1:9464", "127.8.8.8", "[::1]:9464"]
        {
            assert!(is_loopback(good), "{good}");
        }
        for bad in
            ["", "evil.example:9464", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "[::2]"]
        {
            assert!(!is_loopback(bad), "{bad}");
        }
    }

    #[test]
    fn elsewhere_any_name_passes_but_there_must_be_one() {
        let metrics = Metrics::new(["a".to_owned()]);
        let everywhere = IpAddr::from([0, 0, 0, 0]);
        let status = |hosts: Vec<&str>, here| {
            let asked = Asked { method: "GET", path: "/healthz", hosts };
            reply(&asked, here, &metrics, Instant::now()).status
        };
        assert_eq!(status(vec!["prod-7:9464"], everywhere), 200);
        assert_eq!(status(vec![], everywhere), 400);
        let here = IpAddr::from([127, 0, 0, 1]);
        assert_eq!(status(vec!["localhost", "evil.example"], here), 403);
    }
}
