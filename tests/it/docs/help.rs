//! The help of every verb: each argument is explained, and each example works.

use std::thread;

use super::commands::{Ends, ends};
use super::sandbox::{SERVER, Sandbox};
use crate::support::{command, stdout};

/// What the help of a verb prints.
fn help(path: &[String]) -> String {
    let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
    arguments.push("--help");
    stdout(&command(&arguments).output().expect("claimtop runs"))
}

/// The lines of a part of the help, up to the next empty line.
fn part<'a>(help: &'a str, title: &str) -> Vec<&'a str> {
    let lines = help.lines().skip_while(|line| *line != title).skip(1);
    lines.take_while(|line| !line.is_empty()).collect()
}

/// The command itself, every verb, and every verb below one.
fn all() -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(path) = open.pop() {
        let text = help(&path);
        let verbs = part(&text, "Commands:").into_iter().filter(|line| !line.starts_with("   "));
        for verb in verbs.filter_map(|line| line.split_whitespace().next()) {
            open.push([&path[..], &[verb.to_owned()]].concat());
        }
        found.push((path, text));
    }
    found
}

#[test]
fn every_argument_is_explained() {
    let all = all();
    assert!(all.len() > 20, "{}", all.len());
    for (path, text) in all {
        let parts = text.lines().filter(|line| line.ends_with(':') && !line.starts_with(' '));
        for title in parts.filter(|title| !title.starts_with("Examples") && !title.starts_with("Exit codes"))
        {
            let lines = part(&text, title);
            for (at, line) in lines.iter().enumerate().filter(|(_, line)| is_argument(line)) {
                let is_explained =
                    line.trim().split_once("  ").is_some_and(|(_, text)| !text.trim().is_empty());
                let goes_on = lines.get(at + 1).is_some_and(|next| !is_argument(next));
                assert!(is_explained || goes_on, "claimtop {} --help: {line:?}", path.join(" "));
            }
        }
    }
}

/// Whether an argument begins on this line; what is indented further explains the one above.
fn is_argument(line: &str) -> bool {
    let text = line.trim_start();
    line.len() - text.len() <= 6 && text.starts_with(['-', '<', '['])
}

#[test]
fn every_verb_has_examples() {
    for (path, text) in all() {
        assert!(!part(&text, "Examples:").is_empty(), "claimtop {} --help has no examples", path.join(" "));
    }
}

/// What is wrong with the examples of one help.
fn problem(path: &[String], text: &str) -> Option<String> {
    let examples = part(text, "Examples:").into_iter().map(str::trim).filter(|line| !line.contains(SERVER));
    let sandbox = Sandbox::new(false);
    for line in examples {
        let real = sandbox.line(line);
        let ran = match ends(line) {
            Ends::Alone => sandbox.run(&real),
            Ends::ByKey => sandbox.show(&real),
            Ends::BySignal => sandbox.run_for_a_while(&real),
        };
        // A check of a database in trouble is an answer, and so is a recording too short to judge by.
        let most = match line {
            _ if line.starts_with("claimtop check") => 2,
            "claimtop doctor night.rec" => 1,
            _ => 0,
        };
        if !ran.code.is_some_and(|code| (0..=most).contains(&code)) {
            return Some(format!(
                "claimtop {} --help: {line}\n  ended with {:?}: {}",
                path.join(" "),
                ran.code,
                ran.output
            ));
        }
    }
    None
}

#[test]
fn every_example_works() {
    let all = all();
    let problems: Vec<String> = thread::scope(|scope| {
        let running: Vec<_> = all.iter().map(|(path, text)| scope.spawn(|| problem(path, text))).collect();
        running.into_iter().filter_map(|thread| thread.join().expect("a verb")).collect()
    });
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}
