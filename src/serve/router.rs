//! Paths and their replies.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderMap, HeaderValue,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderName, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tower_http::set_header::SetResponseHeaderLayer;
use uuid::Uuid;

use super::page::LivePage;
use crate::domain::visible::safe;
use crate::http_server::{self, ConnectionLimits, Reuse};
use crate::metrics::{ExpositionFormat, MetricsRegistry};
use crate::store::clock;

const HTML: &str = "text/html; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// A browser may load and run nothing.
const NOTHING: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A scrape takes milliseconds and needs no second request.
const LIMITS: ConnectionLimits = ConnectionLimits {
    connections: 256,
    head: Duration::from_secs(2),
    life: Duration::from_secs(5),
    reuse: Reuse::OneRequest,
};

/// What requests are answered from.
#[derive(Debug, Clone)]
pub struct ServedContent {
    pub metrics: Arc<MetricsRegistry>,
    /// The live page, if it is enabled.
    pub page: Option<Arc<LivePage>>,
}

/// Serves requests on a listener until the process ends.
pub fn start(listener: TcpListener, content: ServedContent) -> io::Result<()> {
    let here = listener.local_addr()?.ip();
    http_server::start(listener, router(content, here), LIMITS, None)
}

fn router(content: ServedContent, here: IpAddr) -> Router {
    let mut router = Router::new()
        .route("/metrics", get(scrape))
        .route("/healthz", get(|| async { "alive\n" }))
        .route("/readyz", get(ready));
    if let Some(page) = &content.page {
        let page = Arc::clone(page);
        router = router.route("/", get(move || async move { for_people(&page) }));
    }
    let header = |name: HeaderName, value| {
        SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value))
    };
    router
        .method_not_allowed_fallback(|| async {
            let allowed = [(ALLOW, "GET, HEAD")];
            (StatusCode::METHOD_NOT_ALLOWED, allowed, "only GET and HEAD are supported\n")
        })
        .fallback(|| async {
            (StatusCode::NOT_FOUND, "try /metrics, /healthz or /readyz; serve --page adds /\n")
        })
        .layer(from_fn_with_state(here, check_host))
        .layer(header(CACHE_CONTROL, "no-store"))
        .layer(header(X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .layer(header(X_FRAME_OPTIONS, "DENY"))
        .layer(header(REFERRER_POLICY, "no-referrer"))
        .layer(header(CONTENT_SECURITY_POLICY, NOTHING))
        .layer(header(VARY, "accept"))
        .with_state(content)
}

/// DNS rebinding: a web page can make its own host name point to this host, but cannot hide that name.
async fn check_host(State(here): State<IpAddr>, request: Request, next: Next) -> Response {
    let named = request.headers().get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
    let hosts: Vec<&str> =
        named.chain(request.uri().authority().map(|authority| authority.as_str())).collect();
    if here.is_loopback() && !hosts.iter().all(|host| is_loopback(host)) {
        let said = "only requests to a loopback name of this host are answered\n";
        return (StatusCode::FORBIDDEN, said).into_response();
    }
    if hosts.is_empty() {
        return (StatusCode::BAD_REQUEST, "the request has no host name\n").into_response();
    }
    next.run(request).await
}

/// The live page. It contains no scripts, and its style has an unguessable nonce.
fn for_people(page: &LivePage) -> Response {
    let nonce = [Uuid::now_v7(), Uuid::now_v7()].map(|one| one.simple().to_string()).concat();
    let body = page.html(Instant::now(), clock(), &nonce);
    let policy = format!("{NOTHING}; style-src 'nonce-{nonce}'");
    ([(CONTENT_TYPE, HTML.to_owned()), (CONTENT_SECURITY_POLICY, policy)], body).into_response()
}

async fn scrape(State(content): State<ServedContent>, headers: HeaderMap) -> Response {
    let accept: Vec<&str> =
        headers.get_all(ACCEPT).iter().map(|value| value.to_str().unwrap_or_default()).collect();
    let format = wanted(&accept);
    let content_type = match format {
        ExpositionFormat::OpenMetrics => OPENMETRICS,
        ExpositionFormat::Prometheus => PROMETHEUS,
    };
    match content.metrics.text(Instant::now(), format) {
        Ok(body) => ([(CONTENT_TYPE, content_type)], body).into_response(),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "the metrics could not be rendered\n").into_response(),
    }
}

/// OpenMetrics, unless the client prefers the classic text format.
fn wanted(accept: &[&str]) -> ExpositionFormat {
    let ranges: Vec<(String, f32)> = accept.iter().flat_map(|line| line.split(',')).map(range).collect();
    let liking = |kinds: &[&str]| {
        let fits = ranges.iter().filter(|(kind, _)| kinds.contains(&kind.as_str()));
        fits.map(|(_, liking)| *liking).fold(0.0, f32::max)
    };
    let openmetrics = liking(&["application/openmetrics-text", "application/*"]);
    if liking(&["text/plain", "text/*"]) > openmetrics {
        ExpositionFormat::Prometheus
    } else {
        ExpositionFormat::OpenMetrics
    }
}

/// A media type and its quality. Other versions of the classic format are not offered.
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

async fn ready(State(content): State<ServedContent>) -> Response {
    let all = content.metrics.readiness(Instant::now());
    let is_ready = all.iter().all(Result::is_ok);
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let line =
        |one: Result<String, String>| safe(&one.unwrap_or_else(|bad| format!("not ready: {bad}"))) + "\n";
    (status, all.into_iter().map(line).collect::<String>()).into_response()
}

/// Whether a host, with or without a port, is a loopback name of this machine.
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
    use tower::ServiceExt;

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
        let status = |hosts: &[&'static str], here: IpAddr| {
            let content =
                ServedContent { metrics: Arc::new(MetricsRegistry::new(["a".to_owned()])), page: None };
            let mut request = Request::new(axum::body::Body::empty());
            *request.uri_mut() = "/healthz".parse().expect("a path");
            for host in hosts {
                request.headers_mut().append(HOST, HeaderValue::from_static(host));
            }
            let runtime = crate::background::runtime().expect("a runtime");
            let answer = runtime.block_on(router(content, here).oneshot(request)).expect("an answer");
            answer.status().as_u16()
        };
        let (everywhere, here) = (IpAddr::from([0, 0, 0, 0]), IpAddr::from([127, 0, 0, 1]));
        assert_eq!(status(&["prod-7:9464"], everywhere), 200);
        assert_eq!(status(&[], everywhere), 400);
        assert_eq!(status(&["localhost", "evil.example"], here), 403);
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
            assert_eq!(wanted(openmetrics), ExpositionFormat::OpenMetrics, "{openmetrics:?}");
        }
        for older in [
            &["text/plain"][..],
            &["Text/Plain; Version=0.0.4; charset=utf-8"],
            &["application/openmetrics-text;q=0.1", "text/plain; q=0.9"],
            &["text/*;q=0.5"],
        ] {
            assert_eq!(wanted(older), ExpositionFormat::Prometheus, "{older:?}");
        }
    }
}
