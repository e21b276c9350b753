//! A source with `confirm = "always"` in a real terminal: nothing is written before its name was typed.

use super::Scene;
use super::pty::{ENTER, Pty};
use crate::support::{MINUTE, SECOND};

fn scene() -> Scene {
    let scene = Scene::new();
    scene.session("worker-1", SECOND);
    for number in 0..3 {
        scene.task(&format!("task-{number}"), "worker-1", -60 * MINUTE);
    }
    scene
}

fn open(scene: &Scene) -> Pty {
    let config = scene.database.beside("config.toml");
    let text = format!("[source.billing]\nat = {:?}\nconfirm = \"always\"\n", scene.database.path());
    std::fs::write(&config, text).expect("a config");
    let pty = scene.start().with("--config").with(config).with("billing").run();
    pty.wait("LIVE 1");
    pty
}

#[test]
fn a_bulk_act_and_its_undo_take_the_name_of_the_source() {
    let scene = scene();
    let mut pty = open(&scene);
    let dialog = pty.press("R", "Every act on this source needs its name. Type billing:");
    // The command for a runbook works as it is printed: it names the config that knows the source.
    assert!(dialog.contains("$ claimtop reclaim --config "), "{dialog}");
    pty.press("y", "that is not the name of the source");
    assert_eq!(scene.ids().len(), 3);
    pty.press("billing", "source  billing");
    pty.press(ENTER, "reclaim: 3 of 3 done");
    assert!(scene.ids().is_empty());
    pty.press("u", "3 of 3 acts will be undone");
    pty.press(ENTER, "that is not the name of the source");
    assert!(scene.ids().is_empty());
    pty.press("billing", "source  billing");
    pty.press(ENTER, "undone: 3 of 3 acts");
    assert_eq!(scene.ids().len(), 3);
    pty.quit();
}
