//! A password in an address, however that is written or broken, is in nothing that is shown.

use super::{Random, fuzz};
use claimtop::config::Config;
use claimtop::store::Source;
use claimtop::store::postgres::Target;
use std::process::Command;

const CANARY: &str = "canary-6fd1";

/// Addresses with a password, of all kinds.
const FORMS: [&str; 20] = [
    "postgres://ann:PW@db.example:5432/app?sslmode=require",
    "postgresql://ann:PW@[::1]:5432,b/app",
    "postgres://ann:PW@%2Frun%2Fpg/app",
    "postgres://ann:x@y:PW@h/d",
    "postgres://ann%3aPW@h/d",
    "postgres://h/d?user=ann&password=PW&application_name=x",
    "postgres:///d?host=/run/pg&password=PW",
    "host=h dbname=d user=ann password=PW",
    "host = h password = 'x PW y' sslmode = disable",
    "password=PW",
    "service=s passfile=/x password='PW'",
    "postgresql+psycopg2://ann:PW@h/d",
    "postgresql+asyncpg://ann:PW@h:1/d?ssl=true",
    "jdbc:postgresql://h/d?user=ann&password=PW",
    "mysql://ann:PW@h/d",
    "sqlserver://h:1433;user=ann;password=PW",
    "redis://:PW@h:6379/0",
    "Server=h;Database=d;User Id=ann;Password=PW;",
    "ann:PW@h/d",
    "mongodb+srv://ann:PW@h/?retryWrites=true",
];

/// An address that was broken somewhere before or after its password, never in what leads to it.
fn broken(random: &mut Random) -> String {
    let form = random.pick(&FORMS);
    let (before, after) = form.split_once("PW").expect("a password");
    let mut before = before.to_owned();
    match random.below(8) {
        0 => {
            before =
                format!("{}{before}", random.pick(&[" ", "\t", "\n", "\u{a0}", "\"", "'", "\u{feff}", "x "]));
        }
        1 => {
            before = before.replacen(
                "://",
                random.pick(&[":/", "//", ":", "%3a//", "%3A%2F%2F", ":///", "://://"]),
                1,
            );
        }
        2 => before = before.to_ascii_uppercase(),
        3 => {
            before = before.replacen(
                "postgres",
                random.pick(&["postgre", "pgsql", "Postgres", "postgress", "pg"]),
                1,
            );
        }
        _ => {}
    }
    let after = match random.below(4) {
        // Without a scheme and without a host nothing tells it from the name of a file.
        _ if form.starts_with("ann:") => format!("{after}{}", random.text()),
        0 => String::new(),
        1 => random.changed(after),
        2 => format!("{after}{}", random.text()),
        _ => after.to_owned(),
    };
    let around = random.pick(&["PW", "PW", "PW", "!PW", "PW#", "a/PW", "PW?x", "&PW", "PW%40"]);
    format!("{before}{}{after}", around.replace("PW", CANARY))
}

#[track_caller]
fn assert_hidden(shown: &str, address: &str) {
    assert!(!shown.contains(CANARY), "{address:?} is shown as {shown:?}");
}

#[test]
fn a_canary_in_an_address() {
    fuzz("a password in an address is in nothing that is shown of it", 5, |random| {
        let address = broken(random);
        let source = Source::parse(&address);
        for shown in [
            source.to_string(),
            format!("{source:?}"),
            Source::shown(&address),
            Source::unsupported(&Source::shown(&address)).to_string(),
        ] {
            assert_hidden(&shown, &address);
        }
        if let Source::Postgres(_) = source {
            match Target::parse(&address, None) {
                Ok(target) => {
                    assert_hidden(target.label(), &address);
                    assert_hidden(&format!("{target:?} {:?}", target.warnings()), &address);
                }
                Err(error) => assert_hidden(&format!("{error} {error:?}"), &address),
            }
        }
        let config = format!("[source.a]\nat = {}\n", toml_string(&address));
        match Config::parse(&config) {
            Ok(config) => assert_hidden(&format!("{config:?}"), &address),
            Err((_, what)) => assert_hidden(&what, &address),
        }
    });
}

fn toml_string(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[test]
fn a_canary_on_the_command_line() {
    let folder = tempfile::tempdir().expect("a folder");
    fuzz("a password on the command line is in nothing that the program prints", 20_000, |random| {
        let address = broken(random).replace('\0', "");
        let verb: &[&str] = random.pick(&[
            &["check"][..],
            &["check", "--json"],
            &["list", "--csv"],
            &["doctor"],
            &["serve", "--listen", "127.0.0.1:0", "--nonsense"],
            &["profile", "detect"],
            &["pid", "--json"],
            &[],
        ]);
        let mut command = Command::new("timeout");
        command
            .args(["--signal=KILL", "60", env!("CARGO_BIN_EXE_claimtop")])
            .args(verb)
            .arg("--")
            .arg(&address);
        command.env("XDG_CONFIG_HOME", "/proc/nonexistent").env("XDG_STATE_HOME", folder.path());
        // Nobody answers there, and nobody is asked anywhere else.
        command.env("PGHOSTADDR", "127.0.0.1").env("PGPORT", "1").env("PGCONNECT_TIMEOUT", "1");
        let output = command.current_dir(folder.path()).output().expect("claimtop runs");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert_hidden(&said, &address);
        assert!(
            output.status.code() == Some(3) && !said.contains("panicked"),
            "{address:?} {verb:?}: {said}"
        );
    });
}
