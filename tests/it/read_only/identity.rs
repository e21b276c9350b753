//! A source that the config protects stays protected, however it is reached and whatever happens to the
//! config: it is recognised by what it is, not by how it is spelled.

use super::{Keeping, Scene, answered, copy};
use crate::support::{json, stderr, stdout};
use std::fs;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

/// An act that goes through unless the session forbids it.
const ACT: [&str; 6] = ["task-1", "--by", "10m", "--force", "--holder", "session-1"];

fn extend(scene: &Scene, source: &str, config: Option<&Path>) -> Output {
    let mut command = scene.command(&["extend", source]);
    command.args(ACT);
    if let Some(path) = config {
        command.arg("--config").arg(path);
    }
    command.output().expect("claimtop runs")
}

/// Refused because of the config, with nothing written.
#[track_caller]
fn assert_protected(scene: &Scene, source: &str, config: &Path) {
    let before = scene.state();
    let output = extend(scene, source, Some(config));
    let (code, said) = answered(&output, source);
    assert_eq!((code, scene.state() == before), (5, true), "{source}: {said}");
    assert!(said.contains("read-only"), "{source}: {said}");
}

fn config_at(path: &Path, at: &str, more: &str) -> PathBuf {
    fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
    fs::write(path, format!("[source.prod]\nat = {at:?}\nread_only = true\n{more}")).expect("a config");
    path.to_owned()
}

/// The program with its config in the user's folder, as somebody to whom permissions apply.
fn with_home(scene: &Scene, home: &Path, words: &[&str]) -> Output {
    let mut command = if rustix::process::geteuid().is_root() {
        let copied = scene.at("claimtop");
        if !copied.exists() {
            copy(Path::new(env!("CARGO_BIN_EXE_claimtop")), &copied);
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copied).args(words);
        command
    } else {
        scene.command(words)
    };
    command.current_dir(scene.data.path()).env("XDG_CONFIG_HOME", home);
    command.env("XDG_STATE_HOME", scene.at("state")).output().expect("claimtop runs")
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}

/// A scene in which everybody may do everything, so that only the config stands in the way.
fn open_scene() -> Scene {
    let scene = Scene::new(Keeping::Rollback);
    chmod(scene.data.path(), 0o777);
    chmod(&scene.path(), 0o666);
    chmod(scene.elsewhere.path(), 0o777);
    scene
}

#[test]
fn a_config_that_cannot_be_reached_is_an_error_and_not_no_config() {
    let scene = open_scene();
    let at = scene.source();
    type Damage<'a> = (&'a str, &'a dyn Fn(&Path));
    let ways: [Damage<'_>; 6] = [
        ("its folder cannot be searched", &|home| chmod(&home.join("claimtop"), 0o000)),
        ("the folder above cannot be searched", &|home| chmod(home, 0o000)),
        ("it cannot be read", &|home| chmod(&home.join("claimtop/config.toml"), 0o000)),
        ("it is a dangling link", &|home| {
            fs::remove_file(home.join("claimtop/config.toml")).expect("removed");
            symlink("/nonexistent/config.toml", home.join("claimtop/config.toml")).expect("a link");
        }),
        ("its folder is a dangling link", &|home| {
            fs::rename(home.join("claimtop"), home.join("away")).expect("renamed");
            symlink("/nonexistent/claimtop", home.join("claimtop")).expect("a link");
        }),
        ("its folder is a file", &|home| {
            fs::rename(home.join("claimtop"), home.join("away")).expect("renamed");
            fs::write(home.join("claimtop"), "").expect("a file");
        }),
    ];
    for (number, (what, spoil)) in ways.into_iter().enumerate() {
        let home = scene.at(&format!("home-{number}"));
        config_at(&home.join("claimtop/config.toml"), &at, "");
        spoil(&home);
        let before = scene.state();
        for words in [[&["extend", "tasks.db"][..], &ACT].concat(), vec!["check", "tasks.db"]] {
            let output = with_home(&scene, &home, &words);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(3), "{what}: {said}{}", stdout(&output));
            assert!(said.contains("config") || said.contains("claimtop: "), "{what}: {said}");
        }
        assert_eq!(scene.state(), before, "{what}");
        // Or the temporary folder could not be removed by anybody but root.
        chmod(&home, 0o755);
        if home.join("claimtop").is_dir() {
            chmod(&home.join("claimtop"), 0o755);
        }
    }
    // One that truly does not exist is none.
    let output = with_home(&scene, &scene.at("no-home"), &[&["extend", "tasks.db"][..], &ACT].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_relative_path_in_the_config_is_relative_to_the_config() {
    let scene = Scene::new(Keeping::Rollback);
    let config = config_at(&scene.data.path().join("config.toml"), "tasks.db", "");
    let elsewhere = scene.at("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    let run = |words: &[&str]| {
        let mut command = scene.command(words);
        command.arg("--config").arg(&config).current_dir(&elsewhere).output().expect("claimtop runs")
    };
    let before = scene.state();
    for source in [scene.source(), "prod".into()] {
        let output = run(&[&["extend", &source][..], &ACT].concat());
        assert_eq!(output.status.code(), Some(5), "{source}: {}", stderr(&output));
        assert_eq!(scene.state(), before, "{source}");
    }
    let output = run(&["check", "--json", "prod"]);
    assert_eq!(json(&output)["sources"][0]["ok"], true, "{}", stderr(&output));
}

#[test]
fn a_hard_link_leads_to_the_protected_file() {
    let scene = Scene::new(Keeping::Rollback);
    let config = config_at(&scene.at("config.toml"), &scene.source(), "");
    let link = scene.data.path().join("other.db");
    fs::hard_link(scene.path(), &link).expect("a hard link");
    assert_protected(&scene, link.to_str().expect("UTF-8"), &config);
    // And it is the file that counts, not its name: what takes its place is another one.
    fs::remove_file(scene.path()).expect("removed");
    fs::copy(&link, scene.path()).expect("copied");
    assert_protected(&scene, &scene.source(), &config);
    let output = extend(&scene, link.to_str().expect("UTF-8"), Some(&config));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn thresholds_of_the_config_follow_the_file() {
    let scene = Scene::new(Keeping::Rollback);
    let limits = "[source.prod.board.task]\nlease = \"500000h\"\norphan_after = \"500000h\"\n";
    let config = config_at(&scene.at("config.toml"), &scene.source(), limits);
    let link = scene.data.path().join("other.db");
    fs::hard_link(scene.path(), &link).expect("a hard link");
    let orphaned = |source: &Path, config: Option<&Path>| {
        let mut command = scene.command(&["check", "--json"]);
        command.arg(source).args(config.map(|path| format!("--config={}", path.display())));
        json(&command.output().expect("claimtop runs"))["sources"][0]["claims"]["orphaned"].clone()
    };
    assert_eq!(orphaned(&link, None), 1);
    assert_eq!(orphaned(&scene.path(), Some(&config)), 0);
    assert_eq!(orphaned(&link, Some(&config)), 0);
}

/// A way to the server through a port of this machine, on every address that it has: what a pooler, a
/// tunnel or another network does.
struct Way {
    port: u16,
}

impl Way {
    fn to(socket: &str) -> Way {
        let listener =
            TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0")).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let socket = PathBuf::from(socket).join(".s.PGSQL.5432");
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = UnixStream::connect(&socket) else { continue };
                join(near, far);
            }
        });
        Way { port }
    }
}

fn join(near: TcpStream, far: UnixStream) {
    let (mut to, mut from) = (far.try_clone().expect("a handle"), near.try_clone().expect("a handle"));
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    thread::spawn(move || {
        let (mut far, mut near) = (far, near);
        let _ = io::copy(&mut far, &mut near);
        let _ = near.shutdown(Shutdown::Both);
    });
}

/// Every spelling of a way to the server that this machine understands.
fn spellings(scene: &Scene, way: &Way) -> Vec<String> {
    let server = scene.server.as_ref().expect("a server");
    let target: postgres::Config = server.url().parse().expect("a connection string");
    let (user, name, port) = (target.get_user().expect("a user"), server.name(), way.port);
    let alias = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let hosts =
        ["127.0.0.1", "0.0.0.0", "localhost", "127.0.0.2", "[::]", "[::1]", "[::ffff:127.0.0.1]", &alias];
    let answers = |host: &&&str| TcpStream::connect(format!("{host}:{port}")).is_ok();
    let hosts: Vec<&&str> = hosts.iter().filter(answers).collect();
    assert!(hosts.len() >= 3, "only {hosts:?} lead to this machine");
    let url = |host: &&&str| format!("postgres://{user}@{host}:{port}/{name}?sslmode=disable");
    let mut all: Vec<String> = hosts.iter().map(url).collect();
    all.push(format!("host=127.0.0.1 port={port} dbname={name} user={user}"));
    all.push(format!(
        "host=db.example hostaddr=127.0.0.1 port={port} dbname={name} user={user} sslmode=disable"
    ));
    all
}

/// The folder of the server's socket, if that is how it is reached.
fn socket(scene: &Scene) -> Option<String> {
    let target: postgres::Config = scene.server.as_ref()?.url().parse().expect("a connection string");
    match &target.get_hosts()[0] {
        postgres::config::Host::Unix(folder) if target.get_ports()[0] == 5432 => {
            Some(folder.display().to_string())
        }
        _ => None,
    }
}

#[test]
fn a_server_is_recognised_by_any_way_to_it() {
    let scene = Scene::new(Keeping::Server);
    let Some(socket) = socket(&scene) else { return eprintln!("SKIPPED: the server has no usual socket") };
    let way = Way::to(&socket);
    let config = config_at(&scene.at("config.toml"), &scene.source(), "");
    for spelling in spellings(&scene, &way) {
        assert_protected(&scene, &spelling, &config);
    }
    // The other way round: protected by the port, reached through the socket.
    let config = config_at(&scene.at("by-port.toml"), &spellings(&scene, &way)[0], "");
    assert_protected(&scene, &scene.source(), &config);
}

#[test]
fn a_protected_server_that_cannot_be_reached_protects_until_the_source_has_a_name() {
    let scene = Scene::new(Keeping::Server);
    let more = format!("[source.mine]\nat = {:?}\n", scene.source());
    let config = config_at(&scene.at("config.toml"), "postgres://nobody@127.0.0.1:1/app", &more);
    let before = scene.state();
    let unnamed = format!("{}&application_name=x", scene.source());
    let output = extend(&scene, &unnamed.replace("postgresql://", "postgres://"), Some(&config));
    // Its words are those of a source with a name and without protection.
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let config = config_at(&scene.at("alone.toml"), "postgres://nobody@127.0.0.1:1/app", "");
    let after = scene.state();
    assert_ne!(before, after);
    let output = extend(&scene, &scene.source(), Some(&config));
    let (code, said) = answered(&output, "unnamed");
    assert_eq!((code, scene.state() == after), (5, true), "{said}");
    assert!(said.contains("prod") && said.contains("read-only"), "{said}");
}

#[test]
fn a_named_source_is_protected_by_identity_too_unless_it_says_otherwise() {
    let scene = Scene::new(Keeping::Server);
    let Some(socket) = socket(&scene) else { return eprintln!("SKIPPED: the server has no usual socket") };
    let way = Way::to(&socket);
    let tunnel = &spellings(&scene, &way)[0];
    let more =
        format!("[source.tunnel]\nat = {tunnel:?}\n[source.mine]\nat = {tunnel:?}\nread_only = false\n");
    let config = config_at(&scene.at("config.toml"), &scene.source(), &more);
    assert_protected(&scene, "tunnel", &config);
    let output = extend(&scene, "mine", Some(&config));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}
