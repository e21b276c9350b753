//! Seven endings, each from three screens: the terminal is sane afterwards.

use claimtop::app::keymap::Keymap;
use claimtop::app::message::Msg;
use claimtop::app::model::{Model, ModelSettings};
use claimtop::domain::time::Span;
use claimtop::store::clock;
use claimtop::terminal::{Mouse, print_panics, restore, take};
use claimtop::ui::theme::{Depth, Palette};
use claimtop::ui::{Theme, View, draw};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rustix::process::Signal;

use super::Scene;
use super::pty::{CTRL_C, ENTER, ESC, Pty, Start};

/// The screens that a program can end on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    Overview,
    Detail,
    Dialog,
}

const SCREENS: [On; 3] = [On::Overview, On::Detail, On::Dialog];

/// The dashboard, with this screen open.
fn open(scene: &Scene, on: On) -> Pty {
    let mut pty = scene.open();
    pty.wait("task-soon");
    assert!(!pty.is_cooked());
    match on {
        On::Overview => pty.wait("Expiring 1"),
        On::Detail => pty.press(&format!("l{ENTER}"), "heartbeat_count"),
        On::Dialog => pty.press("lr", "Type the holder's name"),
    };
    pty
}

/// Ends the program from each of the screens; it says nothing and leaves the terminal sane.
fn each_screen(end: impl Fn(&mut Pty, On)) {
    let scene = Scene::usual();
    for on in SCREENS {
        let mut pty = open(&scene, on);
        end(&mut pty, on);
        let ended = pty.end();
        assert_eq!(ended.status.exit_code(), 0, "{on:?}: {ended:?}");
        let last = String::from_utf8_lossy(&ended.bytes[ended.bytes.len().saturating_sub(200)..]);
        assert!(ended.is_sane, "{on:?}: {}\nthe last bytes: {last:?}", ended.left);
        assert_eq!(ended.left.trim(), "", "{on:?}");
    }
    assert_eq!(scene.ids(), ["task-old", "task-soon"]);
}

#[test]
fn leaving_by_key_leaves_a_sane_terminal() {
    each_screen(|pty, on| match on {
        On::Overview => pty.keys("q"),
        On::Detail | On::Dialog => pty.keys(CTRL_C),
    });
}

#[test]
fn sigterm_leaves_a_sane_terminal() {
    each_screen(|pty, _| pty.signal(Signal::TERM));
}

#[test]
fn sighup_leaves_a_sane_terminal() {
    each_screen(|pty, _| pty.signal(Signal::HUP));
}

#[test]
fn sigint_leaves_a_sane_terminal() {
    each_screen(|pty, _| pty.signal(Signal::INT));
}

#[test]
fn a_stop_gives_the_terminal_to_the_shell_and_going_on_takes_it_back() {
    each_screen(|pty, on| {
        match on {
            On::Overview => pty.keys("\x1a"),
            On::Detail | On::Dialog => pty.signal(Signal::TSTP),
        }
        pty.wait_until_stopped();
        pty.wait_for("the shell's own screen", |screen| !screen.alternate_screen() && !screen.hide_cursor());
        assert!(pty.is_cooked(), "{on:?}");
        pty.signal(Signal::CONT);
        let text = match on {
            On::Overview => "Expiring 1",
            On::Detail => "heartbeat_count",
            On::Dialog => "Type the holder's name",
        };
        pty.wait_for("our screen again", |screen| {
            screen.alternate_screen() && screen.contents().contains(text)
        });
        assert!(!pty.is_cooked(), "{on:?}");
        if on == On::Dialog {
            pty.press(ESC, "nothing was done");
        }
        pty.keys(if on == On::Detail { CTRL_C } else { "q" });
    });
}

#[test]
fn a_terminal_that_is_closed_ends_the_program() {
    let scene = Scene::usual();
    for on in SCREENS {
        let mut pty = open(&scene, on);
        pty.close();
        // It may find out by the signal, by the watch on its input, or as it draws.
        let ended = pty.end();
        assert!(ended.status.signal().is_none(), "{on:?}: {ended:?}");
        assert!([0, 3].contains(&ended.status.exit_code()), "{on:?}: {ended:?}");
    }
    assert_eq!(scene.ids(), ["task-old", "task-soon"]);
}

/// This very test program as another program: `what` it does is up to [`a_program_that_panics`].
fn panicking(what: &str) -> Pty {
    Start::program(std::env::current_exe().expect("a path"))
        .with("dashboard::endings::a_program_that_panics")
        .with("--exact")
        .with("--ignored")
        .with("--nocapture")
        .env("CLAIMTOP_TEST_PANIC", what)
        .run()
}

#[test]
fn a_panic_gives_the_terminal_back_before_it_is_told() {
    for screen in ["welcome", "help", "palette"] {
        let mut pty = panicking(screen);
        let ended = pty.end();
        assert!(ended.is_sane, "{screen}: {}", ended.left);
        assert_eq!(ended.status.exit_code(), 101, "{screen}: {ended:?}");
        assert!(ended.left.contains("panicked at"), "{screen}: {}", ended.left);
        assert!(ended.left.contains("a bug for the test"), "{screen}: {}", ended.left);
        let bytes = String::from_utf8_lossy(&ended.bytes);
        let (taken, left) = (bytes.find("\x1b[?1049h"), bytes.find("\x1b[?1049l"));
        assert!(taken.is_some() && taken < left && left < bytes.find("panicked at"), "{screen}");
    }
}

#[test]
fn a_thread_that_panics_does_not_take_the_screen_with_it() {
    let mut pty = panicking("thread");
    let ended = pty.end();
    assert!(ended.is_sane, "{}", ended.left);
    assert_eq!(ended.status.exit_code(), 0, "{ended:?}");
    let bytes = String::from_utf8_lossy(&ended.bytes);
    assert_eq!(bytes.matches("\x1b[?1049l").count(), 1, "left once, at the end: {bytes:?}");
    assert!(bytes.find("claimtop demo") < bytes.find("\x1b[?1049l"), "{bytes:?}");
    assert!(bytes.find("\x1b[?1049l") < bytes.find("a bug for the test"), "{bytes:?}");
}

#[test]
#[ignore = "no test: a program for the two above, which panics in a terminal of theirs"]
fn a_program_that_panics() {
    let Ok(what) = std::env::var("CLAIMTOP_TEST_PANIC") else { return };
    let settings = ModelSettings { interval: Span::seconds(1), bell: true };
    let mut model = Model::new(Vec::new(), settings, Keymap::default(), clock());
    let key = match what.as_str() {
        "help" => Some('?'),
        "palette" => Some(':'),
        _ => None,
    };
    if let Some(key) = key {
        model.update(clock(), Msg::Key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE)));
    }
    let theme = Theme::new(Palette::Dark, Depth::True);
    let mut screen = take(Mouse::Program).expect("a terminal");
    let mut draw = || {
        screen.draw(|frame| draw(&model, &mut View::default(), &theme, frame)).expect("a frame");
    };
    if what == "thread" {
        let ended = std::thread::spawn(|| panic!("a bug for the test")).join();
        assert!(ended.is_err());
        draw();
        restore();
        print_panics();
        return;
    }
    draw();
    panic!("a bug for the test");
}
