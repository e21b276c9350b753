//! What is answered to a request.

use std::net::IpAddr;
use std::time::Instant;

use crate::domain::visible::safe;
use crate::metrics::{Format, Metrics};

const TEXT: &str = "text/plain; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A request, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked<'a> {
    pub method: &'a str,
    pub path: &'a str,
    /// Every name by which the client calls us.
    pub hosts: Vec<&'a str>,
    /// The formats that it takes.
    pub accept: Vec<&'a str>,
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
        ("/metrics", "GET" | "HEAD") => scrape(wanted(&asked.accept), metrics, now),
        ("/healthz", "GET" | "HEAD") => Reply::text(200, "alive"),
        ("/readyz", "GET" | "HEAD") => ready(metrics, now),
        _ => Reply::text(405, "GET and HEAD are all"),
    }
}

fn scrape(format: Format, metrics: &Metrics, now: Instant) -> Reply {
    let content_type = match format {
        Format::OpenMetrics => OPENMETRICS,
        Format::Prometheus => PROMETHEUS,
    };
    match metrics.text(now, format) {
        Ok(body) => Reply { status: 200, content_type, body },
        Err(_) => Reply::text(500, "the metrics could not be written"),
    }
}

/// OpenMetrics, unless the client likes the older text format more.
fn wanted(accept: &[&str]) -> Format {
    let ranges: Vec<(String, f32)> = accept.iter().flat_map(|line| line.split(',')).map(range).collect();
    let liking = |kinds: &[&str]| {
        let fits = ranges.iter().filter(|(kind, _)| kinds.contains(&kind.as_str()));
        fits.map(|(_, liking)| *liking).fold(0.0, f32::max)
    };
    let openmetrics = liking(&["application/openmetrics-text", "application/*"]);
    if liking(&["text/plain", "text/*"]) > openmetrics { Format::Prometheus } else { Format::OpenMetrics }
}

/// A kind of content, and how much it is liked. The older format has other versions that are not ours.
fn range(text: &str) -> (String, f32) {
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
    let mut liking = 1.0;
    for (key, value) in parts.filter_map(|part| part.split_once('=')) {
        match (key.trim().to_ascii_lowercase().as_str(), value.trim().trim_matches('"')) {
            ("q", value) => liking = value.parse().unwrap_or(0.0),
            ("version", version) if kind == "text/plain" && version != "0.0.4" => liking = 0.0,
            _ => {}
        }
    }
    (kind, liking)
}

fn ready(metrics: &Metrics, now: Instant) -> Reply {
    let all = metrics.readiness(now);
    let status = if all.iter().all(Result::is_ok) { 200 } else { 503 };
    let sentences: Vec<String> =
        all.into_iter().map(|one| safe(&one.unwrap_or_else(|bad| format!("not ready: {bad}")))).collect();
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
            let asked = Asked { method: "GET", path: "/healthz", hosts, accept: Vec::new() };
            reply(&asked, here, &metrics, Instant::now()).status
        };
        assert_eq!(status(vec!["prod-7:9464"], everywhere), 200);
        assert_eq!(status(vec![], everywhere), 400);
        let here = IpAddr::from([127, 0, 0, 1]);
        assert_eq!(status(vec!["localhost", "evil.example"], here), 403);
    }
    #[test]
    fn the_older_format_is_for_those_who_like_it_more() {
        for openmetrics in [
            &[][..],
            &["*/*"],
            &["text/html,*/*;q=0.8"],
            &["application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1"],
            &["application/openmetrics-text, text/plain"],
            &["text/plain;version=1.0.0"],
        ] {
            assert_eq!(wanted(openmetrics), Format::OpenMetrics, "{openmetrics:?}");
        }
        for older in [
            &["text/plain"][..],
            &["Text/Plain; Version=0.0.4; charset=utf-8"],
            &["application/openmetrics-text;q=0.1", "text/plain; q=0.9"],
            &["text/*;q=0.5"],
        ] {
            assert_eq!(wanted(older), Format::Prometheus, "{older:?}");
        }
    }
}
