//! `serve --page`: what people see, what a browser makes of it, and what a hostile row cannot do.

use super::*;
use crate::support::engine::on_both;
use crate::support::{COORDINATION, Database, MINUTE, SECOND};

const HOSTILE: [&str; 4] = [
    "<script>document.title='owned'</script><img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>'&amp;",
    "bidi \u{202e}evil\u{2066}",
    "</style></head><body id=injected>",
];

fn now() -> i64 {
    i64::try_from(std::time::UNIX_EPOCH.elapsed().expect("a clock").as_millis()).expect("a number")
}

fn add(database: &Database, task: &str, session: &str, silent_for: i64, expires_in: i64) {
    database.run(
        "INSERT INTO sessions VALUES (?1, '/project', 'cli', ?2, ?3, '{}', NULL) ON CONFLICT DO NOTHING",
        (session, now() - 180 * MINUTE, now() - silent_for),
    );
    database.run(
        "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        (task, session, now() - 120 * MINUTE, now() + expires_in, now() - silent_for),
    );
}

/// Ten hosts with three sessions each, two claims a session; one host fell silent an hour ago.
fn one_dead_host() -> Database {
    let database = Database::new(COORDINATION);
    for host in 0..10 {
        for session in 0..3 {
            let name = format!("web-{host}:{}", 4_300 + session);
            let silent = if host == 3 { 60 * MINUTE + session * SECOND } else { SECOND };
            for claim in 0..2 {
                add(&database, &format!("mail-{host}{session}{claim}"), &name, silent, 20 * MINUTE);
            }
        }
    }
    database
}

/// The same with rows that want to be more than text.
fn hostile() -> Database {
    let database = one_dead_host();
    for (at, name) in HOSTILE.iter().enumerate() {
        add(&database, name, &format!("web-3:{name}"), 60 * MINUTE, -MINUTE - at as i64);
    }
    add(&database, &"long".repeat(2_500), &"holder".repeat(2_000), 60 * MINUTE, -MINUTE);
    database
}

impl Server {
    /// Asks for the page until it says what is waited for.
    #[track_caller]
    fn page(&self, wanted: impl Fn(&str) -> bool) -> Answer {
        let end = Instant::now() + PATIENCE;
        loop {
            let answer = self.ask("GET", "/");
            if wanted(&answer.body) {
                return answer;
            }
            assert!(Instant::now() < end, "it never came: {answer:?}\n{}", self.errors());
            park_timeout(Duration::from_millis(20));
        }
    }
}

#[test]
fn the_page_names_causes_sets_groups_and_the_age_of_what_it_shows() {
    on_both(|| {
        let database = one_dead_host();
        let server = Server::start(&["--page"], &[Path::new(&database.source())]);
        let page = server.page(|page| page.contains("<h2>Causes</h2>")).body;
        for part in [
            "web-3 silent since",
            "all 3 sessions",
            "6 claims",
            "✗ 6 orphaned",
            "<td class=\"orphaned\">6 of 6 claims</td><td>3 of 3 holders</td>",
            "<td>all within 2 s</td><td>reclaim 6</td>",
            "mail-300",
            " s ago</p>",
            "6 in trouble, ",
            "<svg viewBox",
            "▾ web-3</text>",
            "http-equiv=\"refresh\"",
            "name=\"viewport\"",
            "prefers-color-scheme: dark",
        ] {
            assert!(page.contains(part), "no {part} in {page}");
        }
        assert!(!page.contains("<script") && !page.contains(" style="), "{page}");
        let told = server.wait("the count of causes", |told| told.get("claimtop_causes", &[]) == Some(1.0));
        assert!(told.label_values().iter().all(|value| !value.contains("web-3")), "a count has no names");
    });
}

#[test]
fn without_a_page_the_count_of_causes_is_the_same() {
    on_both(|| {
        let database = one_dead_host();
        let server = Server::start(&[], &[Path::new(&database.source())]);
        server.wait("the count of causes", |told| told.get("claimtop_causes", &[]) == Some(1.0));
        database.run("DELETE FROM task_claims WHERE session_id LIKE 'web-3%'", []);
        server.wait("no cause", |told| told.get("claimtop_causes", &[]) == Some(0.0));
    });
}

#[test]
fn a_browser_is_told_to_load_and_run_nothing() {
    let database = Database::new(COORDINATION);
    let server = Server::start(&["--page"], &[&database.path()]);
    let answer = server.page(|page| page.contains("of 0"));
    let head = answer.head.to_lowercase();
    for header in [
        "content-type: text/html; charset=utf-8",
        "default-src 'none'",
        "style-src 'nonce-",
        "frame-ancestors 'none'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
    ] {
        assert!(head.contains(header), "no {header} in {head}");
    }
    let nonce = |answer: &Answer| answer.body.split("nonce=\"").nth(1).map(|rest| rest[..64].to_owned());
    let first = nonce(&answer).expect("a nonce");
    assert!(head.contains(&format!("'nonce-{first}'")), "{head}");
    assert_ne!(Some(first), nonce(&server.ask("GET", "/")), "a nonce is used once");
    let asked = server.ask("HEAD", "/");
    assert_eq!((asked.status, asked.body.as_str()), (200, ""));
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        assert_eq!(server.ask(method, "/").status, 405, "{method}");
    }
    assert_eq!(server.send("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 403);
    let plain = Server::start(&[], &[&database.path()]);
    assert_eq!(plain.ask("GET", "/").status, 404);
}

#[test]
fn a_source_that_is_down_is_shown_as_down_beside_the_others() {
    let (database, gone) = (one_dead_host(), tempfile::tempdir().expect("a folder"));
    let server = Server::start(&["--page"], &[&database.path(), &gone.path().join("none.db")]);
    let page = server.page(|page| page.contains("✗ down for") && page.contains("6 orphaned")).body;
    assert!(page.contains("none.db"), "{page}");
}

#[test]
fn no_row_becomes_markup() {
    on_both(|| {
        let database = hostile();
        let server = Server::start(&["--page"], &[Path::new(&database.source())]);
        let page = server.page(|page| page.contains("owned")).body;
        for live in
            ["<script", "<img", "<svg onload", "onerror=alert(1)>", "id=injected>", "\u{202e}", "\u{2066}"]
        {
            assert!(!page.contains(live), "{live} in {page}");
        }
        assert!(page.contains("&lt;script&gt;") && page.contains("\\u{202e}"), "{page}");
        assert!(!page.contains(&"long".repeat(100)), "a long id is cut");
    });
}

/// A browser, if there is one.
fn chromium(arguments: &[&str]) -> Option<std::process::Output> {
    let profile = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.arg(format!("--user-data-dir={}", profile.path().display())).args(arguments);
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("skipped: no chromium here ({error}); install Debian's package chromium");
            None
        }
    }
}

#[test]
fn a_browser_draws_it_and_hostile_rows_inject_nothing() {
    let database = hostile();
    let server = Server::start(&["--page"], &[&database.path()]);
    server.page(|page| page.contains("owned"));
    let url = format!("http://{}/", server.address);
    let Some(dumped) = chromium(&["--dump-dom", &url]) else { return };
    let dom = String::from_utf8_lossy(&dumped.stdout).into_owned();
    for part in ["<title>claimtop</title>", "web-3", "&lt;script&gt;", "<svg viewBox", "orphaned"] {
        assert!(dom.contains(part), "no {part} in {dom}\n{}", String::from_utf8_lossy(&dumped.stderr));
    }
    for injected in ["<script", "<img", "onload=\"", "id=\"injected\""] {
        assert!(!dom.contains(injected), "{injected} in {dom}");
    }
    let picture = server.folder.path().join("page.png");
    let file = format!("--screenshot={}", picture.display());
    chromium(&[&file, "--window-size=800,1000", &url]);
    let picture = std::fs::read(&picture).expect("a picture");
    assert!(picture.starts_with(b"\x89PNG"));
    // A page without anything on it compresses to far less.
    let blank = server.folder.path().join("blank.png");
    let file = format!("--screenshot={}", blank.display());
    chromium(&[&file, "--window-size=800,1000", "about:blank"]);
    let blank = std::fs::read(&blank).expect("a picture").len();
    assert!(picture.len() > 4 * blank, "{} bytes, a blank page has {blank}", picture.len());
}
