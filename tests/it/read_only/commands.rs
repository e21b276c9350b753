//! Every verb that writes, in every kind of session that may not.
//!
//! Root may write everything, so root's tests of permissions run the program as nobody.

use super::{Keeping, Scene, State, answered, copy};
use crate::support::{json, stdout};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

/// An act that no trail knows, of the right form.
const NO_ACT: &str = "019a8a3e-0000-7000-8000-000000000000";

/// A verb's words before the source, and those after it.
const WRITES: &[(&[&str], &[&str])] = &[
    (&["reclaim"], &["task-1"]),
    (&["reclaim"], &["task-1", "--force", "--yes", "--holder", "session-1", "--reason", "mine"]),
    (&["reclaim"], &["--set", "stale,orphaned", "--yes", "--force"]),
    (&["reclaim"], &["--set", "stale", "--dry-run"]),
    (&["reclaim"], &["no-such-claim", "--force"]),
    (&["release"], &["task-1", "--force", "--holder", "session-1"]),
    (&["release"], &["--set", "stale,orphaned,healthy,unknown,expiring", "--yes", "--force", "--limit", "5"]),
    (&["extend"], &["task-1", "--by", "10m", "--force", "--holder", "session-1"]),
    (&["extend"], &["--set", "stale,orphaned", "--by", "10m", "--yes", "--force"]),
    (&["undo"], &[NO_ACT]),
    (&["undo"], &[NO_ACT, "--reason", "mine"]),
    (&["audit", "init"], &[]),
];

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}

/// The files of the trail that say anything.
fn records(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.map(|entry| entry.expect("an entry")) {
        let metadata = entry.metadata().expect("metadata");
        if metadata.is_dir() {
            found.extend(records(&entry.path()));
        } else if metadata.len() > 0 {
            found.push(entry.path().display().to_string());
        }
    }
    found
}

/// Refused, with the reason, in text and in JSON.
#[track_caller]
fn refused(output: &Output, in_json: bool, reason: &str, what: &str) {
    let (code, said) = answered(output, what);
    assert_eq!(code, 5, "{what}: {said}{}", stdout(output));
    assert!(said.starts_with("claimtop: refused: ") && said.contains(reason), "{what}: {said}");
    if in_json {
        let object = json(output);
        assert_eq!(object["outcome"], "refused", "{what}: {object}");
        assert!(object["why"].as_str().is_some_and(|why| why.contains(reason)), "{what}: {object}");
    } else {
        assert_eq!(stdout(output), "", "{what}");
    }
}

/// Tries every verb that writes through `run`, in text and in JSON.
fn every_write(scene: &Scene, source: &str, reason: &str, run: impl Fn(&[&str]) -> Output) {
    let before = scene.state();
    for (verb, rest) in WRITES {
        for in_json in [false, true] {
            let format: &[&str] = if in_json { &["--json"] } else { &[] };
            let words: Vec<&str> = [*verb, &[source], rest, format].concat();
            let what = format!("{words:?}");
            refused(&run(&words), in_json, reason, &what);
            assert_eq!(scene.state(), before, "{what}: the folder is as it was");
            assert_eq!(records(&scene.at("state")), [] as [String; 0], "{what}: nothing is recorded");
        }
    }
}

#[test]
fn read_only_on_the_command_line() {
    for keeping in [Keeping::Rollback, Keeping::Log, Keeping::Server] {
        let scene = Scene::new(keeping);
        every_write(&scene, &scene.source(), "read-only", |words| {
            scene.command(&["--read-only"]).args(words).output().expect("claimtop runs")
        });
        every_write(&scene, &scene.word(), "read-only", |words| {
            scene.command(words).arg("--read-only").output().expect("claimtop runs")
        });
        assert!(!scene.at("state").exists(), "{keeping:?}: not even a folder for a trail");
    }
}

/// A config that keeps the source from being written.
fn config(scene: &Scene) -> String {
    let text = format!("[source.prod]\nat = {:?}\nread_only = true\n", scene.source());
    scene.file("config.toml", &text).into_os_string().into_string().expect("UTF-8")
}

#[test]
fn read_only_in_the_config() {
    for keeping in [Keeping::Rollback, Keeping::Log, Keeping::Server] {
        let scene = Scene::new(keeping);
        let config = config(&scene);
        let run = |words: &[&str]| {
            scene.command(words).args(["--config", &config]).output().expect("claimtop runs")
        };
        every_write(&scene, "prod", "read-only", run);
        every_write(&scene, &scene.source(), "read-only", run);
        assert!(!scene.at("state").exists(), "{keeping:?}: not even a folder for a trail");
    }
}

/// The ways to say where the database is, other than that of the config.
fn other_words(scene: &Scene) -> Vec<String> {
    let Some(server) = &scene.server else { return other_paths(scene) };
    let url = server.url();
    let target: postgres::Config = url.parse().expect("a connection string");
    let (name, port) = (server.name(), target.get_ports()[0]);
    let host = match &target.get_hosts()[0] {
        postgres::config::Host::Tcp(name) => name.clone(),
        postgres::config::Host::Unix(folder) => folder.display().to_string(),
    };
    let user = target.get_user().expect("a user");
    vec![
        url.clone(),
        url.replace("postgresql://", "postgres://"),
        format!("{url}?application_name=somebody"),
        format!("postgresql:///{name}?host={host}&port={port}&user={user}"),
        format!("host={host} port={port} user={user} dbname={name}"),
        format!("dbname={name}  user='{user}' host='{host}'  port={port}"),
    ]
}

fn other_paths(scene: &Scene) -> Vec<String> {
    let folder = scene.data.path().display().to_string();
    symlink(scene.path(), scene.at("link.db")).expect("a link to the file");
    symlink(scene.data.path(), scene.at("link")).expect("a link to the folder");
    vec![
        "tasks.db".to_owned(),
        "./tasks.db".to_owned(),
        format!("{folder}//tasks.db"),
        format!("{folder}/./tasks.db"),
        format!("file:{folder}/tasks.db"),
        format!("sqlite:{folder}/tasks.db"),
        scene.at("link.db").display().to_string(),
        scene.at("link").join("tasks.db").display().to_string(),
    ]
}

#[test]
fn read_only_in_the_config_by_any_other_words_for_the_database() {
    for keeping in [Keeping::Rollback, Keeping::Server] {
        let scene = Scene::new(keeping);
        let config = config(&scene);
        let mut written = Vec::new();
        for spelling in other_words(&scene) {
            let before = scene.state();
            let words = ["extend", &spelling, "task-1", "--by", "10m", "--force", "--holder", "session-1"];
            let output = scene.command(&words).args(["--config", &config]).output().expect("claimtop runs");
            if scene.state() != before || output.status.code() == Some(0) {
                written.push(spelling);
            }
        }
        assert_eq!(written, [] as [String; 0], "{keeping:?}: a source that the config protects was written");
    }
}

#[test]
fn an_act_of_earlier_cannot_be_undone() {
    for keeping in [Keeping::Rollback, Keeping::Server] {
        an_act_stays(&Scene::new(keeping));
    }
}

fn an_act_stays(scene: &Scene) {
    let word = scene.word();
    let words = ["reclaim", "--json", &word, "task-1", "--force", "--holder", "session-1"];
    let done = scene.command(&words).output().expect("claimtop runs");
    // So it is the session that stops the others, and nothing about the claim.
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let action = json(&done)["action_id"].as_str().expect("an id").to_owned();
    let (before, trail) = (scene.state(), records(&scene.at("state")));
    let journal = |files: &[String]| -> Vec<Vec<u8>> {
        files.iter().map(|file| fs::read(file).expect("the trail")).collect()
    };
    let content = journal(&trail);
    let (config, source) = (config(scene), scene.source());
    for in_json in [false, true] {
        let format: &[&str] = if in_json { &["--json"] } else { &[] };
        for words in [
            &["--read-only", "undo", &word, &action][..],
            &["--config", &config, "undo", "prod", &action],
            &["--config", &config, "undo", &source, &action],
        ] {
            let output = scene.command(words).args(format).output().expect("claimtop runs");
            refused(&output, in_json, "read-only", &format!("{words:?}"));
            assert_eq!(scene.state(), before, "{words:?}");
            assert_eq!(records(&scene.at("state")), trail, "{words:?}");
            assert_eq!(journal(&trail), content, "{words:?}: nothing is recorded");
        }
    }
}

/// Runs the program as somebody to whom permissions apply.
fn as_somebody(scene: &Scene, words: &[&str]) -> Output {
    let id = Command::new("id").arg("-u").output().expect("id runs");
    let mut command = if id.stdout == b"0\n" {
        let copied = scene.at("claimtop");
        if !copied.exists() {
            copy(Path::new(env!("CARGO_BIN_EXE_claimtop")), &copied);
            chmod(&copied, 0o755);
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copied).args(words);
        command.current_dir(scene.data.path()).env("XDG_CONFIG_HOME", "/proc/nonexistent");
        command.env("XDG_STATE_HOME", scene.at("state"));
        command
    } else {
        scene.command(words)
    };
    command.output().expect("claimtop runs")
}

/// Everybody may enter the folders, and there is one for the trail that everybody may write.
fn open_to_all(scene: &Scene) {
    chmod(scene.elsewhere.path(), 0o755);
    fs::create_dir(scene.at("state")).expect("a folder");
    chmod(&scene.at("state"), 0o777);
}

#[test]
fn a_file_that_this_user_may_not_write() {
    for keeping in [Keeping::Rollback, Keeping::Log] {
        let scene = Scene::new(keeping);
        open_to_all(&scene);
        for name in State::of(scene.data.path()).names() {
            chmod(&scene.data.path().join(name), 0o444);
        }
        chmod(scene.data.path(), 0o777);
        let path = scene.path();
        every_write(&scene, path.to_str().expect("UTF-8"), "may not write the file", |words| {
            as_somebody(&scene, words)
        });
    }
}

#[test]
fn a_folder_that_this_user_may_not_write() {
    for keeping in [Keeping::Rollback, Keeping::Log] {
        let scene = Scene::new(keeping);
        open_to_all(&scene);
        for name in State::of(scene.data.path()).names() {
            chmod(&scene.data.path().join(name), 0o666);
        }
        chmod(scene.data.path(), 0o555);
        let path = scene.path();
        every_write(&scene, path.to_str().expect("UTF-8"), "may not write in its folder", |words| {
            as_somebody(&scene, words)
        });
        // Or the temporary folder could not be removed by anybody but root.
        chmod(scene.data.path(), 0o755);
    }
}
