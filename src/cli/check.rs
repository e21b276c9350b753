//! `claimtop check`: one look at each source, all at once.

use super::output::{complain, print};
use super::setup::Setup;
use crate::domain::snapshot::Snapshot;
use crate::exit::Exit;
use crate::report::check::{Looked, json, text};
use crate::report::json::line;
use crate::report::paint::Paint;
use crate::store::StoreError;
use crate::store::sqlite::clock;

pub async fn run(setup: Setup, sources: &[String], exact: bool) -> Exit {
    let mut looks = Vec::new();
    for word in sources {
        let setup = setup.clone();
        let own_word = word.clone();
        looks.push((word, tokio::spawn(async move { look(&setup, &own_word, exact).await })));
    }
    let mut looked = Vec::new();
    for (word, look) in looks {
        let result = match look.await {
            Ok(result) => result.map_err(|error| error.to_string()),
            Err(crash) => Err(format!("{word}: the look at it crashed: {crash}")),
        };
        looked.push(Looked { source: word.clone(), engine: setup.source(word).engine(), result });
    }
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

async fn look(setup: &Setup, word: &str, exact: bool) -> Result<Vec<Snapshot>, StoreError> {
    let mut effort = setup.effort(0);
    if exact {
        effort.slice = usize::MAX;
    }
    let store = setup.open(word, effort).await?;
    store.ask(|reader| reader.poll()).await
}
