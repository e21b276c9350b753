//! Connections to MySQL and MariaDB: every way in, every way to be kept out, and an end to every wait.

use claimtop::mysql::link::Flavor;
use claimtop::mysql::{Limits, Link, MyError, Purpose, Target};
use claimtop::profile::library::Library;
use claimtop::store::{Profiles, Reader, StoreError};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use crate::support::mariadb::{LIMITS, MariaDb};
use crate::support::mysql::MyDatabase;
use crate::support::options::at_server;
use crate::support::{certificates, command, stderr, stdout};

/// The password of the user `ann`, looked for in everything that is said.
const CANARY: &str = "canary-6fd1";

fn open(text: &str) -> Result<Link, StoreError> {
    Ok(Link::open(&Target::parse(text, None)?, Purpose::Acts, LIMITS)?)
}

/// The last cell of a statement's one row.
fn cell(link: &mut Link, sql: &str) -> String {
    let rows = link.query(sql, Vec::new()).expect(sql);
    rows[0].text(rows[0].len() - 1).unwrap_or_default()
}

/// The sentence of a connection that must fail; neither it nor its parts hold a password.
#[track_caller]
fn refusal(text: &str) -> String {
    let error = open(text).err().unwrap_or_else(|| panic!("{text} got in"));
    let (said, inside) = (error.to_string(), format!("{error:?}"));
    assert!(!said.contains(CANARY) && !inside.contains(CANARY), "{said} {inside}");
    assert!(!said.contains('\n'), "{said}");
    said
}

/// A server with a user `ann` who needs her password, and a database `app`.
fn server(options: &[&str], prepare: impl FnOnce(&std::path::Path)) -> Option<MariaDb> {
    let server = MariaDb::start(options, prepare)?;
    server.run(
        "mysql",
        &format!(
            "CREATE DATABASE app;\nCREATE USER ann IDENTIFIED BY '{CANARY}';\nGRANT ALL ON app.* TO ann;\n"
        ),
    );
    Some(server)
}

const ENCRYPTED: &str = "SHOW SESSION STATUS LIKE 'Ssl_cipher'";

#[test]
fn a_certificate_is_checked_as_far_as_ssl_mode_asks() {
    let tls = ["--ssl-cert=FOLDER/srv.crt", "--ssl-key=FOLDER/srv.key"];
    let Some(server) = server(&tls, certificates::make) else { return };
    let file = |name: &str| server.folder().join(name).display().to_string();
    let (right, other) = (file("ca.crt"), file("other.crt"));
    let to = |host: &str, rest: &str| format!("mysql://ann:{CANARY}@{host}:{}/app?{rest}", server.port);
    // The certificate is for `localhost`, not for its number.
    for (host, rest) in [
        ("localhost", format!("ssl-mode=VERIFY_IDENTITY&ssl-ca={right}")),
        ("localhost", format!("ssl-mode=REQUIRED&ssl-ca={right}")),
        ("127.0.0.1", "ssl-mode=REQUIRED".into()),
        ("127.0.0.1", "ssl-mode=PREFERRED".into()),
    ] {
        let mut link = open(&to(host, &rest)).unwrap_or_else(|error| panic!("{host} {rest}: {error}"));
        assert_ne!(cell(&mut link, ENCRYPTED), "", "{host} {rest}");
    }
    assert_eq!(cell(&mut open(&to("127.0.0.1", "ssl-mode=DISABLED")).unwrap(), ENCRYPTED), "");
    for (host, rest) in [
        ("localhost", "ssl-mode=VERIFY_IDENTITY".into()),
        ("localhost", format!("ssl-mode=VERIFY_IDENTITY&ssl-ca={other}")),
        ("localhost", format!("ssl-mode=REQUIRED&ssl-ca={other}")),
        ("127.0.0.1", format!("ssl-mode=VERIFY_IDENTITY&ssl-ca={right}")),
        ("localhost", "ssl-mode=VERIFY_IDENTITY&ssl-ca=/nonexistent.crt".into()),
    ] {
        let said = refusal(&to(host, &rest));
        assert!(said.contains("cert") || said.contains("/nonexistent.crt"), "{rest}: {said}");
    }
    for bad in ["expired.crt", "own.crt"] {
        std::fs::copy(file(bad), file("srv.crt")).unwrap();
        server.run("mysql", "FLUSH SSL");
        let said = refusal(&to("localhost", &format!("ssl-mode=VERIFY_IDENTITY&ssl-ca={right}")));
        assert!(said.contains("cert"), "{bad}: {said}");
    }
}

#[test]
fn a_server_without_tls_gets_nothing_where_encryption_is_needed() {
    let Some(server) = server(&[], |_| ()) else { return };
    let to = |rest: &str| format!("mysql://ann:{CANARY}@localhost:{}/app?{rest}", server.port);
    for mode in ["REQUIRED", "PREFERRED", "VERIFY_IDENTITY"] {
        let said = refusal(&to(&format!("ssl-mode={mode}")));
        assert!(
            said.to_ascii_lowercase().contains("tls") || said.to_ascii_lowercase().contains("ssl"),
            "{said}"
        );
    }
    for mode in ["ssl-mode=DISABLED", ""] {
        assert_eq!(cell(&mut open(&to(mode)).unwrap(), ENCRYPTED), "");
    }
    let far = refusal(&format!("mysql://ann:{CANARY}@192.0.2.1/app?ssl-mode=DISABLED"));
    assert!(far.contains("for this machine only"), "{far}");
}

#[test]
fn every_kind_of_account_gets_in() {
    let Some(server) = server(&["--plugin-maturity=unknown"], |_| ()) else { return };
    let own =
        String::from_utf8(std::process::Command::new("id").arg("-un").output().unwrap().stdout).unwrap();
    let own = own.trim();
    server.run(
        "mysql",
        &format!(
            "CREATE OR REPLACE USER nat IDENTIFIED VIA mysql_native_password USING PASSWORD('{CANARY}');
             CREATE OR REPLACE USER `{own}`@localhost IDENTIFIED VIA unix_socket;
             GRANT ALL ON *.* TO `{own}`@localhost, nat;
            "
        ),
    );
    let socket = server.folder().join("s").display().to_string();
    for url in [
        format!("mysql://{own}@localhost/app?socket={socket}"),
        format!("mariadb://nat:{CANARY}@127.0.0.1:{}/app", server.port),
        format!("mysql://nat:{CANARY}@localhost/app?socket={socket}"),
    ] {
        let mut link = open(&url).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(cell(&mut link, "SELECT DATABASE()"), "app");
    }
    // The plugin is in another package than the server.
    let Some(plugins) = std::env::var_os("CLAIMTOP_MARIADB_PLUGINS") else {
        println!("ed25519 NOT RUN: CLAIMTOP_MARIADB_PLUGINS names no folder with auth_ed25519.so");
        return;
    };
    let plugins = format!("--plugin-dir={}", plugins.to_string_lossy());
    let Some(server) = self::server(&[&plugins, "--plugin-load-add=auth_ed25519"], |_| ()) else { return };
    let made = format!("CREATE USER ed IDENTIFIED VIA ed25519 USING PASSWORD('{CANARY}')");
    server.run("mysql", &format!("{made};\nGRANT ALL ON app.* TO ed;\n"));
    let mut link = open(&format!("mysql://ed:{CANARY}@127.0.0.1:{}/app", server.port)).unwrap();
    assert_eq!(cell(&mut link, "SELECT CURRENT_USER()"), "ed@%");
    assert!(refusal(&format!("mysql://ed:{CANARY}x@127.0.0.1:{}/app", server.port)).contains("1045"));
}

/// The server of this run, where it is MySQL itself: the usual account there.
#[test]
fn an_account_with_caching_sha2_gets_in_with_and_without_encryption() {
    let Some(database) = MyDatabase::new("") else { return };
    if database.is_mariadb() || database.text("SELECT @@skip_networking") == "1" {
        println!("NOT RUN: the server of this run is not MySQL, or has no TCP");
        return;
    }
    let name = format!("sha_{}", &database.text("SELECT REPLACE(UUID(), '-', '')")[..20]);
    database.run(&format!("CREATE USER {name} IDENTIFIED WITH caching_sha2_password BY '{CANARY}'"));
    database.run(&format!("GRANT ALL ON *.* TO {name}"));
    let to = |rest: &str| {
        let (port, schema) = (database.text("SELECT @@port"), database.text("SELECT DATABASE()"));
        format!("mysql://{name}:{CANARY}@127.0.0.1:{port}/{schema}?{rest}")
    };
    // Twice each: the server remembers whom it has seen, and asks for less then.
    for rest in ["", "ssl-mode=REQUIRED", "", "ssl-mode=REQUIRED"] {
        let mut link = open(&to(rest)).unwrap_or_else(|error| panic!("{rest}: {error}"));
        assert_eq!(cell(&mut link, ENCRYPTED).is_empty(), rest.is_empty());
        assert_eq!(link.flavor(), Flavor::MySql);
    }
    assert!(refusal(&to("").replace(CANARY, "canary-6fd1x")).contains("1045"));
    let nobody = refusal(&to("").replace(&name, "nobody_at_all"));
    assert!(nobody.contains("check the user"), "{nobody}");
    database.run(&format!("DROP USER {name}"));
}

#[test]
fn a_server_that_does_not_let_us_in_is_quoted_with_a_hint() {
    let Some(server) = server(&["--init-connect=SELECT nonsense"], |_| ()) else { return };
    let to = |user: &str, database: &str| format!("mysql://{user}@127.0.0.1:{}/{database}", server.port);
    let wrong = refusal(&to("ann:wrong", "app"));
    assert!(wrong.contains("1045") && wrong.contains("check the user"), "{wrong}");
    let none = refusal(&to("ann", "app"));
    assert!(none.contains("password_command"), "{none}");
    let gone = refusal(&server.url("gone"));
    assert!(gone.contains("'gone'") && gone.contains("check"), "{gone}");
    // What the server runs for everybody but administrators, and which ends the session if it fails.
    let broken = refusal(&to(&format!("ann:{CANARY}"), "app"));
    assert!(broken.contains("init_connect"), "{broken}");
    assert!(matches!(open(&to("ann:wrong", "app")), Err(StoreError::Denied { .. })));
}

#[test]
fn a_server_that_is_not_there_or_never_answers_is_named() {
    let said = refusal("mysql://ann@127.0.0.1:1/app");
    assert!(said.contains("127.0.0.1:1") && said.contains("refused"), "{said}");
    let said = refusal("mysql://ann@localhost/app?socket=/nonexistent/s");
    assert!(said.contains("/nonexistent/s"), "{said}");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let target = Target::parse(&format!("mysql://ann@127.0.0.1:{port}/app"), None).unwrap();
    let began = Instant::now();
    let error = Link::open(&target.hurried(Duration::from_secs(1)), Purpose::Acts, LIMITS).unwrap_err();
    assert!(error.to_string().contains("no answer within 1s"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_frozen_server_is_left_after_our_own_limit_and_its_late_answer_is_nobodys() {
    let Some(server) = server(&[], |_| ()) else { return };
    let target = Target::parse(&server.url("app"), None).unwrap();
    let limits = Limits { answer: Duration::from_secs(3), ..LIMITS };
    let mut link = Link::open(&target, Purpose::Polls, limits).unwrap();
    server.freeze();
    let error = link.query("SELECT 'late'", Vec::new()).unwrap_err();
    assert_eq!(error, MyError::TimedOut(Duration::from_secs(3)));
    assert!(!link.is_open());
    server.go_on();
    assert!(matches!(link.query("SELECT 'next'", Vec::new()), Err(MyError::Lost(_))));
    assert_eq!(cell(&mut open(&server.url("app")).unwrap(), "SELECT 'new'"), "new");
}

#[test]
fn a_reader_comes_back_after_its_session_was_ended_and_the_server_restarted() {
    let Some(mut server) = server(&[], |_| ()) else { return };
    let tables = include_str!("../../assets/schema/mysql/task-queue.sql");
    server.run("app", tables);
    let options = at_server(&server.url("app"), Profiles::Detect(Library::built_in()));
    let mut reader = Reader::open(options).expect("a reader");
    let mut came_back = |what: &str| {
        let again = (0..10).any(|_| reader.poll().is_ok());
        assert!(again, "after {what}: {:?}", reader.poll().err());
    };
    came_back("nothing");
    let mut boss = open(&server.url("mysql")).unwrap();
    let ours = "SELECT id FROM information_schema.processlist WHERE db = 'app'";
    for row in boss.query(ours, Vec::new()).unwrap() {
        boss.run(&format!("KILL {}", row.text(0).unwrap())).unwrap();
    }
    came_back("a KILL");
    server.restart();
    came_back("a restart");
}

#[test]
fn the_file_the_variables_and_the_command_give_what_an_address_leaves_out() {
    let Some(server) = server(&[], |_| ()) else { return };
    server.run("app", include_str!("../../assets/schema/mysql/task-queue.sql"));
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".my.cnf");
    let port = server.port.to_string();
    let check = |url: &str, variables: &[(&str, &str)]| {
        let mut command = command(&["check"]);
        command.arg(url).env("HOME", home.path()).env_remove("MYSQL_PWD").envs(variables.iter().copied());
        let output = command.output().unwrap();
        let said = stdout(&output) + &stderr(&output);
        assert!(!said.contains(CANARY), "{said}");
        (output.status.code(), said)
    };
    let config = format!("[client]\nuser=ann\npassword=\"{CANARY}\" # hers\nhost=127.0.0.1\nport={port}\n");
    std::fs::write(&file, config).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(check("mysql:///app", &[]).0, Some(0));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (code, said) = check("mysql:///app", &[]);
    assert!(code == Some(3) && said.contains("chmod 600"), "{said}");
    std::fs::remove_file(&file).unwrap();
    let variables =
        [("MYSQL_HOST", "127.0.0.1"), ("MYSQL_TCP_PORT", &port), ("MYSQL_PWD", CANARY), ("USER", "ann")];
    let (code, said) = check("mysql:///app", &variables);
    assert_eq!(code, Some(0), "{said}");
    let config = home.path().join("config.toml");
    let source = format!("at = 'mysql://ann@127.0.0.1:{port}/app'\npassword_command = 'printf {CANARY}'\n");
    std::fs::write(&config, format!("[source.prod]\n{source}")).unwrap();
    std::fs::set_permissions(&config, std::fs::Permissions::from_mode(0o600)).unwrap();
    let output = command(&["check", "prod", "--config"]).arg(&config).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_password_on_the_command_line_is_refused_and_not_repeated() {
    let url = format!("mysql://ann:{CANARY}@127.0.0.1:1/app");
    for verb in [&["check"][..], &["list", "--json"], &["doctor"], &["init", "--system", "task-queue"]] {
        let output = command(verb).arg(&url).output().unwrap();
        let said = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{verb:?}: {said}");
        assert!(said.contains(".my.cnf") && !said.contains(CANARY), "{verb:?}: {said}");
    }
}
