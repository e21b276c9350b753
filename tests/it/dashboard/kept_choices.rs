//! What was chosen on the screen is there again after the next start.

use std::cell::Cell;

use super::Scene;
use super::pty::{ENTER, Pty};
use crate::support::{MINUTE, SECOND};

fn scene() -> Scene {
    let scene = Scene::new();
    for worker in ["worker-1", "worker-2"] {
        scene.session(worker, SECOND);
        scene.task(&format!("task-of-{worker}"), worker, -60 * MINUTE);
    }
    scene
}

fn open(scene: &Scene) -> Pty {
    let pty = scene.start().env("COLORTERM", "truecolor").with(scene.database.path()).run();
    pty.wait("LIVE 1");
    pty
}

/// The colour of the program's name in the header.
fn colour(pty: &Pty) -> vt100::Color {
    let found = Cell::new(vt100::Color::Default);
    pty.wait_for("the header", |screen| {
        let cell = screen.cell(0, 1).filter(|cell| cell.contents() == "c");
        cell.is_some_and(|cell| {
            found.set(cell.fgcolor());
            true
        })
    });
    found.get()
}

/// Writes a command into the palette.
fn command(pty: &mut Pty, text: &str) {
    pty.press(":", "Commands");
    pty.press(text, text);
    pty.keys(ENTER);
    pty.wait_for("the palette is closed", |screen| !screen.contents().contains(" Commands "));
}

#[test]
fn theme_sort_columns_and_views_are_there_again_after_a_restart() {
    let scene = scene();
    let mut pty = open(&scene);
    let dark = colour(&pty);
    pty.press("2", "HOLDER");
    command(&mut pty, "sort -age");
    pty.wait("AGE▲");
    command(&mut pty, "columns id,holder,age");
    pty.wait_without("AGE▲", "WHY");
    pty.press("/holder:worker-2\r", "/holder:worker-2");
    command(&mut pty, "save view mine");
    pty.wait("saved; :view mine opens it");
    command(&mut pty, "theme light");
    pty.wait_for("another colour", |screen| screen.cell(0, 1).is_some_and(|cell| cell.fgcolor() != dark));
    let light = colour(&pty);
    pty.quit();

    let mut pty = open(&scene);
    assert_eq!(colour(&pty), light);
    let shown = pty.press("2", "AGE▲");
    assert!(!shown.contains("WHY") && !shown.contains("/holder:"), "{shown}");
    pty.wait("task-of-worker-1");
    // The name of the view is completed.
    pty.press(":", "Commands");
    pty.press("view m", "view mine");
    pty.keys(ENTER);
    let shown = pty.wait_without("task-of-worker-2", "task-of-worker-1");
    assert!(shown.contains("/holder:worker-2"), "{shown}");
    pty.quit();
}
