//! A server that freezes, falls or is not there yet: the screen says so, the keys answer, the link returns.

use super::on_postgres::{jobs, open};
use super::pty::{ENTER, ESC, Pty};
use crate::support::server::Server;

/// A server with jobs, and the dashboard on it.
struct Watched {
    pty: Pty,
    server: Server,
    _folder: tempfile::TempDir,
}

fn watched() -> Watched {
    let server = Server::start();
    server.create_database("jobs", &jobs());
    let folder = tempfile::tempdir().unwrap();
    let pty = open(&folder, &server.url("jobs"));
    pty.wait("worker-old");
    pty.wait("LIVE 1");
    Watched { pty, server, _folder: folder }
}

/// It is live again, without any sentence about its link.
fn wait_until_live(pty: &Pty) {
    pty.wait_for("a live link", |screen| {
        let shown = screen.contents();
        let lost = ["DISCONNECTED since", "disconnected since", "no answer since"]
            .iter()
            .any(|part| shown.contains(part));
        shown.contains("LIVE 1") && shown.contains("worker-old") && !lost
    });
}

#[test]
fn a_frozen_server_is_called_stale_while_every_key_answers_and_is_live_again_when_it_thaws() {
    let Watched { mut pty, server, .. } = watched();
    pty.press("2", "000000000001");
    pty.press("5", "WAITS SINCE");
    pty.press("1", "Timeline");
    server.freeze();
    pty.wait("DISCONNECTED since");
    let shown = pty.wait("worker-old");
    assert!(shown.contains("no answer since") || shown.contains("disconnected since"), "{shown}");
    // Each of them wants something of the server; none may wait for it.
    for (key, text) in [
        ("8", "nothing has been done yet"),
        ("5", "WAITS SINCE"),
        ("2", "000000000001"),
        ("?", "Put it right"),
    ] {
        assert!(pty.press(key, text).contains("DISCONNECTED since"), "{key}");
    }
    pty.keys(ESC);
    pty.press("1", "Timeline");
    pty.press("r", "what you see is old, and nothing is done to it");
    server.thaw();
    wait_until_live(&pty);
    pty.press("2", "000000000001");
    pty.press("7", "back again");
    pty.quit();
}

#[test]
fn a_closer_look_at_a_frozen_server_opens_at_once_and_says_that_no_answer_comes() {
    let Watched { mut pty, server, .. } = watched();
    server.freeze();
    pty.press(ENTER, "Every column");
    pty.wait_for("the missing answer", |screen| {
        let shown = screen.contents();
        shown.contains("  no answer since") || shown.contains("  no answer; the last one was before")
    });
    pty.keys(ESC);
    pty.press("2", "on 1 board, worst first");
    pty.press("1", "Timeline");
    pty.press(ENTER, "Every column");
    server.thaw();
    pty.wait("entity_type");
    server.freeze();
    pty.wait("DISCONNECTED since");
    // What was read before stays.
    pty.wait("entity_type");
    server.thaw();
    pty.keys(ESC);
    wait_until_live(&pty);
    pty.quit();
}

#[test]
fn an_act_on_a_frozen_server_holds_up_no_other_key_and_its_failure_is_said() {
    let Watched { mut pty, server, .. } = watched();
    server.freeze();
    pty.keys("r");
    // The trail is on this machine: whoever waits for the server does not keep it.
    pty.press("8", "nothing has been done yet");
    pty.press("?", "Put it right");
    pty.keys(ESC);
    // On a slow machine the banner is up before the key is pressed.
    pty.wait_for("a refusal", |screen| {
        let shown = screen.contents();
        shown.contains("refused: ") || shown.contains("what you see is old")
    });
    server.thaw();
    pty.press("1", "Timeline");
    wait_until_live(&pty);
    let held = "SELECT count(*) FROM executor_jobs WHERE locked_by = 'worker-old' AND status = 'running'";
    assert_eq!(server.connect("jobs").value(held).as_deref(), Some("1"));
    pty.quit();
}

#[test]
fn a_server_that_fell_and_got_up_is_followed() {
    let Watched { pty, server, .. } = watched();
    server.restart_immediate();
    server
        .connect("jobs")
        .run("UPDATE executor_jobs SET locked_by = 'worker-new' WHERE locked_by = 'worker-late'");
    pty.wait("worker-new");
    wait_until_live(&pty);
    pty.quit();
}

#[test]
fn a_server_that_is_stopped_is_said_to_be_and_found_again() {
    let Watched { pty, server, .. } = watched();
    server.stop();
    pty.wait("DISCONNECTED since");
    let shown = pty.wait("trying again");
    assert!(shown.contains("worker-old"), "{shown}");
    server.start_again();
    wait_until_live(&pty);
    pty.quit();
}

#[test]
fn terminated_sessions_are_replaced() {
    let Watched { pty, server, .. } = watched();
    for round in ["worker-a", "worker-b", "worker-c"] {
        assert!(server.terminate_backends() > 0);
        let name = format!("UPDATE executor_jobs SET locked_by = '{round}' WHERE type = 'build_artifact'");
        server.connect("jobs").run(&name);
        pty.wait(round);
    }
    wait_until_live(&pty);
    pty.quit();
}

#[test]
fn a_dashboard_may_be_started_before_its_server() {
    let server = Server::start();
    server.create_database("jobs", &jobs());
    server.stop();
    let folder = tempfile::tempdir().unwrap();
    let mut pty = open(&folder, &server.url("jobs"));
    let shown = pty.wait("disconnected since");
    assert!(shown.contains("trying again") && shown.contains("DISCONNECTED since"), "{shown}");
    pty.press("8", "nothing has been done yet");
    pty.press("1", "trying again");
    server.start_again();
    wait_until_live(&pty);
    pty.quit();
}

#[test]
fn a_server_that_is_frozen_from_the_start_is_said_to_be_silent() {
    let server = Server::start();
    server.create_database("jobs", &jobs());
    server.freeze();
    let folder = tempfile::tempdir().unwrap();
    let mut pty = open(&folder, &server.url("jobs"));
    pty.wait("DISCONNECTED since");
    pty.press("?", "Put it right");
    pty.keys(ESC);
    server.thaw();
    wait_until_live(&pty);
    pty.quit();
}
