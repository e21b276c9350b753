//! Sources that die, come back, or were never there.

use super::*;
use crate::support::engine::on_both;
use crate::support::{COORDINATION, Database, MINUTE};

fn path(database: &Database) -> String {
    database.path().to_str().expect("UTF-8").to_owned()
}

#[test]
fn figures_of_a_source_that_died_are_taken_back_and_the_other_stays() {
    let (dying, living) = (Database::new(COORDINATION), Database::new(COORDINATION));
    dying.task("t", "nobody", -MINUTE);
    let (at, aside) = (dying.path(), dying.beside("aside.db"));
    let server = Server::start(&[], &[&at, &living.path()]);
    server.wait_until_read();
    assert_eq!(server.ask("GET", "/readyz").status, 200);
    std::fs::rename(&at, &aside).expect("moved");
    let name = path(&dying);
    let of_dying = [("source", name.as_str())];
    let told = server.wait("the figures are gone", |told| {
        assert!(told.get("claimtop_up", &of_dying).is_some());
        told.sum("claimtop_claims", &of_dying).is_none()
    });
    assert_eq!(told.get("claimtop_up", &of_dying), Some(0.0));
    for gone in
        ["claimtop_claims_held", "claimtop_kind_claims", "claimtop_sessions", "claimtop_last_poll_seconds"]
    {
        assert_eq!(told.sum(gone, &of_dying), None, "{gone}");
    }
    assert!(told.get("claimtop_last_good_poll_age_seconds", &of_dying) > Some(0.0));
    assert!(told.get("claimtop_polls_total", &[of_dying[0], ("result", "failed")]) > Some(0.0));
    let other = path(&living);
    assert_eq!(told.get("claimtop_up", &[("source", &other)]), Some(1.0));
    let ready = server.ask("GET", "/readyz");
    assert_eq!(ready.status, 503);
    let bad: Vec<&str> = ready.body.lines().filter(|line| line.starts_with("not ready: ")).collect();
    assert!(bad.len() == 1 && bad[0].contains(&name) && bad[0].contains("last read"), "{ready:?}");
    assert!(ready.body.contains(&other), "{ready:?}");
    assert_eq!(server.ask("GET", "/healthz").status, 200);
    std::fs::rename(&aside, &at).expect("moved back");
    server.wait("it is back", |told| told.get("claimtop_up", &of_dying) == Some(1.0));
    assert_eq!(server.ask("GET", "/readyz").status, 200);
}

#[test]
fn a_source_that_is_not_there_yet_is_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().join("later.db");
    let server = Server::start(&[], &[&at]);
    let told = server
        .wait("a failed poll", |told| told.get("claimtop_polls_total", &[("result", "failed")]) > Some(0.0));
    assert_eq!((told.get("claimtop_up", &[]), told.sum("claimtop_claims", &[])), (Some(0.0), None));
    assert!(server.ask("GET", "/readyz").body.contains("never read"));
    let made = Database::new(COORDINATION);
    made.task("t", "nobody", -MINUTE);
    made.connection.execute("VACUUM INTO ?1", [at.to_str()]).expect("a copy");
    server.wait("its figures", |told| told.get("claimtop_up", &[]) == Some(1.0));
}

#[test]
fn a_password_is_in_no_label_and_no_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("home");
    std::fs::create_dir_all(home.join("claimtop")).expect("a folder");
    let at = home.join("claimtop/config.toml");
    std::fs::write(&at, "[source.prod]\nat = 'postgres://ann:hunter2@127.0.0.1:1/app'\n").expect("written");
    std::fs::set_permissions(&at, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("chmod");
    let server = Server::at_home(&home, &[Path::new("prod")]);
    server
        .wait("a failed poll", |told| told.get("claimtop_polls_total", &[("result", "failed")]) > Some(0.0));
    let all = server.ask("GET", "/metrics").body + &server.ask("GET", "/readyz").body + &server.errors();
    assert!(all.contains("postgres://ann@127.0.0.1:1/app") && !all.contains("hunter2"), "{all}");
}

fn expiring_in_twenty_minutes() -> Database {
    let database = Database::new(COORDINATION);
    let now = chrono::Utc::now().timestamp_millis();
    database.run(
        "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
         VALUES ('t', 's', ?1, ?2, ?1)",
        (now, now + 20 * MINUTE),
    );
    database
}

#[test]
fn sighup_reads_the_config_again() {
    on_both(|| {
        let database = expiring_in_twenty_minutes();
        let folder = tempfile::tempdir().expect("a folder");
        let at = config(folder.path(), "");
        let (file, state) = (at.to_str().expect("UTF-8").to_owned(), folder.path().join("state"));
        let server =
            Server::with_state(&["--config", &file], &[Path::new(&database.source())], folder, &state);
        let expiring = [("board", "task"), ("set", "expiring")];
        assert_eq!(server.wait_until_read().get("claimtop_claims", &expiring), Some(0.0));
        let text = format!(
            "[source.here]\nat = {:?}\n[source.here.limits]\nwarn_before = \"25m\"\n",
            database.source()
        );
        std::fs::write(&at, text).expect("written");
        server.signal("HUP");
        server.wait("the new threshold", |told| told.get("claimtop_claims", &expiring) == Some(1.0));
        std::fs::write(&at, "nonsense = 1").expect("written");
        server.signal("HUP");
        server.wait("its word", |_| server.errors().contains("the config stays as it was"));
        assert_eq!(server.scrape().get("claimtop_claims", &expiring), Some(1.0));
    });
}

#[test]
fn a_config_that_is_gone_or_empty_for_a_moment_keeps_the_settings() {
    on_both(|| {
        let database = expiring_in_twenty_minutes();
        let folder = tempfile::tempdir().expect("a folder");
        let text = format!(
            "[source.here]\nat = {:?}\n[source.here.limits]\nwarn_before = \"25m\"\n",
            database.source()
        );
        let home = folder.path().join("home");
        std::fs::create_dir_all(home.join("claimtop")).expect("a folder");
        let at = home.join("claimtop/config.toml");
        std::fs::write(&at, &text).expect("written");
        let server = Server::at_home(&home, &[Path::new("here")]);
        let expiring = [("board", "task"), ("set", "expiring")];
        server.wait("the threshold", |told| told.get("claimtop_claims", &expiring) == Some(1.0));
        let kept = |what: &str, times: usize| {
            server.signal("HUP");
            let said = || server.errors().matches("the config stays as it was").count();
            server.wait(what, |_| said() == times);
            assert!(!server.errors().contains("read again"), "{}", server.errors());
            assert_eq!(server.scrape().get("claimtop_claims", &expiring), Some(1.0), "{what}");
        };
        std::fs::remove_file(&at).expect("removed");
        kept("its word about the missing file", 1);
        std::fs::write(&at, "").expect("written");
        kept("its word about the empty file", 2);
        std::fs::write(&at, text.replace("25m", "5m")).expect("written");
        server.signal("HUP");
        server.wait("the new threshold", |told| told.get("claimtop_claims", &expiring) == Some(0.0));
    });
}
