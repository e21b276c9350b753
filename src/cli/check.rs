//! `claimtop check`: one look at each source, all at once.

use std::thread;

use super::output::{complain, print};
use super::setup::Setup;
use crate::domain::snapshot::Snapshot;
use crate::exit::Exit;
use crate::report::check::{Looked, json, text};
use crate::report::json::line;
use crate::report::paint::Paint;
use crate::store::StoreError;
use crate::store::sqlite::{Reader, clock};

pub fn run(setup: &Setup, sources: &[String], exact: bool) -> Exit {
    let looked = look_at_all(setup, sources, exact);
    if setup.json {
        let at = setup.now.unwrap_or_else(clock);
        print(&format!("{}\n", line(&json(&looked, at))));
    } else {
        print(&text(&looked, Paint::for_stdout()));
    }
    for source in &looked {
        if let Err(sentence) = &source.result {
            complain(sentence);
        }
    }
    looked.iter().map(Looked::exit).fold(Exit::Fine, Exit::and)
}

/// Every source in a thread of its own but the last, which this one takes.
fn look_at_all(setup: &Setup, sources: &[String], exact: bool) -> Vec<Looked> {
    let look = |word: &String| Looked {
        source: setup.label(word),
        engine: setup.source(word).engine(),
        result: look(setup, word, exact).map_err(|error| error.to_string()),
    };
    let Some((last, others)) = sources.split_last() else { return Vec::new() };
    thread::scope(|scope| {
        let threads: Vec<_> = others.iter().map(|word| (word, scope.spawn(|| look(word)))).collect();
        let last = look(last);
        let joined = threads.into_iter().map(|(word, thread)| {
            thread.join().unwrap_or_else(|_| Looked {
                source: setup.label(word),
                engine: setup.source(word).engine(),
                result: Err(format!("{}: the look at it crashed", setup.label(word))),
            })
        });
        joined.chain([last]).collect()
    })
}

fn look(setup: &Setup, word: &str, exact: bool) -> Result<Vec<Snapshot>, StoreError> {
    let mut effort = setup.effort();
    if exact {
        effort.slice = usize::MAX;
    }
    Reader::open(setup.options(word, effort)?)?.poll()
}
