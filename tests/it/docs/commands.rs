//! Every command that a page prints is run, in a sandbox for each block.
//!
//! Every line of a block that is marked `sh` has to end with exit code 0, or with the one that its comment names:
//! `# exit 2`. A block marked `sh tour` goes on where the one before stopped, and the block of text after it shows what
//! is printed. Blocks marked `sh needs-...` install something or change the machine: they are not run.
//! `tests/api` runs those marked `sh api`.

use std::collections::BTreeSet;
use std::thread;

use super::page::{Block, Page};
use super::sandbox::{Ran, SERVER, Sandbox};

/// What a block may need that a test does not give it.
const NEEDS: [&str; 4] = ["needs-network", "needs-cargo", "needs-psql", "api"];

/// How a command ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// After it has done what it does.
    Alone,
    /// When somebody presses a key.
    ByKey,
    /// When somebody ends it.
    BySignal,
}

pub(super) fn ends(line: &str) -> Ends {
    let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
    let has = |word: &str| words.contains(&word);
    if words.first() != Some(&"claimtop") || has("--headless") {
        return Ends::Alone;
    }
    let goes_on = has("record") && !has("--for");
    if goes_on || has("serve") || has("api") && !has("key") || has("--every") || has("--watch") {
        return Ends::BySignal;
    }
    // A source in the place of a verb, or nothing at all.
    let verb = words[1..].iter().find(|word| !word.starts_with('-'));
    match verb {
        Some(&"demo") | None => Ends::ByKey,
        Some(word) if word.contains(['.', ':', '\'']) => Ends::ByKey,
        Some(_) => Ends::Alone,
    }
}

/// The exit code that the comment of a line names.
fn expected(line: &str) -> i32 {
    let comment = line.split_once("# exit ").map(|(_, rest)| rest);
    let digits = comment.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    digits.map_or(0, |digits| digits.parse().expect("a number after `# exit`"))
}

/// Runs the lines of a block, and returns what they printed; or what went wrong, with the line.
fn run(block: &Block, page: &str, sandbox: &Sandbox) -> Result<String, String> {
    let mut printed = String::new();
    for (number, line) in block.lines.iter().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let real = sandbox.line(line);
        let ran = match ends(line) {
            Ends::Alone => sandbox.run(&real),
            Ends::ByKey => sandbox.show(&real),
            Ends::BySignal => sandbox.run_for_a_while(&real),
        };
        let Ran { output, code } = ran;
        let is_right = match ends(line) {
            Ends::Alone | Ends::ByKey => code == Some(expected(line)),
            // How things stood when it was ended decides.
            Ends::BySignal => matches!(code, Some(0..=2)),
        };
        if !is_right {
            return Err(format!("{page}:{}: {line}\n  ended with {code:?}: {output}", block.line + number));
        }
        printed.push_str(&output);
    }
    Ok(printed)
}

/// The first word of a line that has letters only: numbers, names and times differ from run to run.
fn first_word(line: &str) -> Option<&str> {
    line.split_whitespace().find(|word| word.chars().all(|c| c.is_alphabetic()))
}

/// The lines of a sample whose like was not printed. Indented lines tell of single claims, which differ.
fn missing(sample: &Block, printed: &str) -> Vec<String> {
    let words: BTreeSet<&str> = printed.lines().filter_map(first_word).collect();
    let is_missing =
        |line: &&String| !line.starts_with(' ') && first_word(line).is_some_and(|word| !words.contains(word));
    sample.lines.iter().filter(is_missing).cloned().collect()
}

/// Everything that is wrong with the commands of a page.
fn problems(page: &Page, wanted: fn(&Block) -> bool) -> Vec<String> {
    let blocks = page.blocks();
    let mut tour: Option<Sandbox> = None;
    let mut problems = Vec::new();
    for (at, block) in blocks.iter().enumerate().filter(|(_, block)| is_run(block) && wanted(block)) {
        let with_server = names_server(block);
        let own;
        let sandbox = if block.has("tour") {
            &*tour.get_or_insert_with(|| Sandbox::new(with_server))
        } else {
            own = Sandbox::new(with_server);
            &own
        };
        match run(block, &page.name(), sandbox) {
            Ok(printed) => {
                let sample = blocks.get(at + 1).filter(|next| block.has("tour") && next.is("text"));
                let missing = sample.map(|sample| missing(sample, &printed)).unwrap_or_default();
                problems.extend(
                    missing.into_iter().map(|line| format!("{}: not printed any more: {line}", page.name())),
                );
            }
            Err(problem) => problems.push(problem),
        }
    }
    problems
}

fn is_run(block: &Block) -> bool {
    block.is("sh") && !NEEDS.iter().any(|need| block.has(need))
}

fn names_server(block: &Block) -> bool {
    block.lines.iter().any(|line| line.contains(SERVER))
}

/// Runs what is wanted of all pages, each page in a thread of its own.
fn assert_works(wanted: fn(&Block) -> bool) {
    let pages = Page::all();
    let problems: Vec<String> = thread::scope(|scope| {
        let running: Vec<_> = pages.iter().map(|page| scope.spawn(move || problems(page, wanted))).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("a page")).collect()
    });
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

#[test]
fn every_command_works() {
    assert_works(|block| !names_server(block));
}

#[test]
fn every_command_on_a_server_works() {
    assert_works(names_server);
}

#[test]
fn a_block_of_commands_is_run_or_says_what_it_needs() {
    let known = |word: &String| word == "sh" || word == "tour" || NEEDS.contains(&word.as_str());
    for page in Page::all() {
        for block in page.blocks().iter().filter(|block| !block.is("text")) {
            let shows_commands =
                block.lines.iter().any(|line| line.starts_with("claimtop ") || line.starts_with("$ "));
            assert!(
                !shows_commands || block.is("sh"),
                "{}:{}: mark these commands `sh`",
                page.name(),
                block.line
            );
            if block.is("sh") {
                assert!(block.info.iter().all(known), "{}:{}: {:?}", page.name(), block.line, block.info);
            }
        }
    }
}
