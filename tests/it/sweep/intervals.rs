//! Intervals that make no sense are errors, wherever they are written.

use super::*;

#[test]
fn an_interval_of_nothing_or_of_ages_is_an_error() {
    let scene = Scene::new();
    for arguments in [
        ["sweep", "--every", "0s", "DB"].as_slice(),
        &["sweep", "--every", "99ms", "DB"],
        &["sweep", "--every", "1000000years", "DB"],
        &["sweep", "--every", "100years", "DB"],
        &["check", "--watch", "0s", "DB"],
        &["check", "--watch", "100years", "DB"],
        &["serve", "--every", "0s", "DB"],
        &["serve", "--sweep", "--sweep-every", "0s", "DB"],
    ] {
        let run = scene.run(arguments);
        assert_eq!(run.code, 3, "{arguments:?}: {run:#?}");
        assert!(run.err.contains("100ms") || run.err.contains("any clock"), "{arguments:?}: {run:#?}");
    }
}

#[test]
fn the_same_in_the_config() {
    let scene = Scene::new();
    for (text, least) in [
        ("[sweep]\nevery = \"0s\"\n", "100ms"),
        ("[source.a]\nat = \"a.db\"\n[source.a.sweep]\nevery = \"50ms\"\n", "100ms"),
        ("interval = \"0s\"\n", "1ms"),
        ("poll_timeout = \"0s\"\n", "1ms"),
    ] {
        scene.config(text);
        let run = scene.run(&["check", "DB"]);
        assert!(run.code == 3 && run.err.contains(least), "{text}: {run:#?}");
    }
}
