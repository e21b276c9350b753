//! Sessions, files and holders that forbid an act, each with its exit code and its sentence.

use super::*;

fn config(scene: &Scene, more: &str) -> String {
    let file = scene.database.beside("config.toml");
    let text = format!("[source.here]\nat = {:?}\n{more}\n", scene.database.source());
    fs::write(&file, text).expect("a config");
    file.to_str().expect("UTF-8").to_owned()
}

#[test]
fn an_invented_time_cannot_go_with_a_write() {
    on_both(|| {
        let scene = Scene::stale();
        let bytes = scene.bytes();
        for verb in [&["reclaim", "DB", "task-1"][..], &["undo", "DB", "x"], &["audit", "init", "DB"]] {
            let run = scene.run(&[verb, &["--now", "2026-11-15T12:00:00Z", "--json"]].concat());
            assert_eq!(run.code, 3, "{run:#?}");
            run.says("--now");
        }
        scene.assert_untouched(&bytes, "--now");
        assert!(!scene.state().exists());
    });
}

#[test]
fn a_read_only_session_writes_nothing_anywhere() {
    on_both(|| {
        let scene = Scene::stale();
        let bytes = scene.bytes();
        for verb in [
            &["reclaim", "DB", "task-1"][..],
            &["release", "DB", "task-1"],
            &["extend", "DB", "task-1"],
            &["reclaim", "DB", "--set", "stale", "--yes"],
            &["undo", "DB", "x"],
            &["audit", "init", "DB"],
        ] {
            scene.run(&[verb, &["--read-only", "--json"]].concat()).came_to(5, "refused");
        }
        scene.assert_untouched(&bytes, "a read-only session");
        assert!(!scene.state().exists(), "a read-only session made a journal");
    });
}

#[test]
fn a_source_that_the_config_calls_read_only_is_not_written() {
    on_both(|| {
        let scene = Scene::stale();
        let file = config(&scene, "read_only = true");
        let bytes = scene.bytes();
        for word in ["here", "DB"] {
            scene.run(&["reclaim", word, "task-1", "--config", &file, "--json"]).came_to(5, "refused");
        }
        scene.assert_untouched(&bytes, "a read-only source");
        let file = config(&scene, "read_only = false");
        scene.run(&["reclaim", "here", "task-1", "--config", &file, "--json"]).came_to(0, "applied");
    });
}

#[test]
fn a_file_without_permission_is_refused() {
    let scene = Scene::stale();
    // No log beside it: the file's own permission is all there is to the question.
    scene.database.connection.pragma_update(None, "journal_mode", "DELETE").expect("rollback mode");
    scene.open_to_all();
    chmod(&scene.database.path(), 0o444);
    let bytes = scene.bytes();
    let mut command = scene.as_nobody(&["reclaim", "--json", "DB", "task-1"]);
    let run = Run::of(&command.output().expect("claimtop runs"));
    run.came_to(5, "refused");
    run.says("this user may not write the file");
    scene.assert_untouched(&bytes, "a user without permission");
}

#[test]
fn a_process_that_lives_takes_force_where_the_kernel_is_asked() {
    on_both(|| {
        let scene = Scene::new();
        // It reads what nobody writes, so it lives until its input is closed.
        let mut child = Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("a child");
        scene.execute(
            "INSERT INTO sessions VALUES ('worker-1', '/project', 'cli', ?1, ?1, '{}', ?2)",
            (now() + SECOND, child.id()),
        );
        scene.task("task-1", "worker-1", -60 * MINUTE);
        let file = config(&scene, "holders_on = \"this-host\"");
        let asked = ["reclaim", "here", "task-1", "--config", &file, "--check-pid", "--json"];
        let bytes = scene.bytes();
        let object = scene.run(&asked).came_to(5, "refused");
        let why = object["why"].as_str().expect("why");
        assert!(why.contains(&format!("pid {}", child.id())) && why.contains("alive"), "{why}");
        scene.assert_untouched(&bytes, "a living holder");
        scene.run(&[&asked[..], &["--force", "--reason", "it hangs"]].concat()).came_to(5, "refused");
        let named = ["--force", "--reason", "it hangs", "--holder", "worker-1"];
        scene.run(&[&asked[..], &named].concat()).came_to(0, "applied");
        // Once it has ended, its lease alone decides.
        scene.task("task-1", "worker-1", -60 * MINUTE);
        drop(child.stdin.take());
        child.wait().expect("its end");
        scene.run(&asked).came_to(0, "applied");
    });
}
