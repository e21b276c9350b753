//! The terminal's size changes, at any moment and to anything.

use super::Scene;
use super::pty::ESC;

#[test]
fn any_size_is_drawn_and_keys_work_at_all_of_them() {
    let scene = Scene::usual();
    let mut pty = scene.start().with(scene.database.path()).size(20, 5).run();
    pty.wait("claimtop");
    let steps = [
        (20, 5, "2"),
        (21, 6, "3"),
        (1, 1, "4"),
        (2, 1, "?"),
        (40, 12, "?"),
        (5, 40, "5"),
        (80, 24, ":"),
        (30, 7, ESC),
        (200, 8, "6"),
        (120, 40, "7"),
        (47, 13, "1"),
        (48, 13, "l"),
        (20, 5, "r"),
        (80, 6, ESC),
        (400, 120, "j"),
        (3, 3, "w"),
        (400, 5, ESC),
        (20, 120, "/"),
        (9, 9, ESC),
        (90, 19, "h"),
        (110, 20, " "),
        (20, 5, "\r"),
        (400, 120, ESC),
        (60, 10, " "),
        (400, 120, "1"),
    ];
    for (columns, lines, key) in steps {
        pty.resize(columns, lines);
        pty.keys(key);
    }
    // Once the filter shows this, all keys before it have done what they do.
    pty.press("/beacon", "beacon");
    pty.keys(ESC);
    pty.wait_without("task-old", "beacon");
    for (columns, lines, text) in
        [(400, 120, "task-soon"), (80, 24, "task-soon"), (40, 12, "task"), (20, 5, "claimtop")]
    {
        pty.resize(columns, lines);
        pty.wait(text);
    }
    pty.resize(120, 40);
    // A mark moves the selection on; the first key goes to the top of its pane, the second to the top of all.
    pty.keys("gg");
    pty.press("r", "reclaim task-old");
    pty.quit();
}

/// The reader of keys is busy as both arrive, so that it finds them together.
#[test]
fn neither_a_key_nor_a_new_size_is_lost_when_they_come_together() {
    let scene = Scene::usual();
    let mut pty = scene.open();
    pty.wait("task-old");
    let busy = "k".repeat(300);
    for _ in 0..25 {
        for help_is_open in [true, false] {
            pty.keys(&busy);
            // Seen as one change to the same size; what was shown is gone.
            pty.resize(10, 2);
            pty.resize(120, 40);
            pty.keys("?");
            pty.wait_for("a whole screen", |screen| {
                let shown = screen.contents();
                // Both stand beside the help: only a frame drawn in full brings them back.
                let is_whole = shown.contains("claimtop") && shown.contains("LIVE 1");
                is_whole && shown.contains("Put it right") == help_is_open
            });
        }
    }
    pty.quit();
}
