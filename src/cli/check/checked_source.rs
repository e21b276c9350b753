//! One source of `check`, from round to round.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cli::setup::Setup;
use crate::domain::seen_boards::SeenBoards;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::Moment;
use crate::events::Event;
use crate::poller::{Opener, SourceWatch};
use crate::report::check::CheckResult;
use crate::store::{Reader, StoreError};

pub(super) struct CheckedSource {
    label: String,
    engine: &'static str,
    watch: SourceWatch,
    /// Whether events between two polls are needed.
    has_listeners: bool,
    /// The boards that were seen in an earlier round.
    boards: SeenBoards,
}

impl CheckedSource {
    pub(super) fn new(setup: &Setup, word: &str, exact: bool, has_listeners: bool) -> CheckedSource {
        let mut effort = setup.effort();
        if exact {
            effort.slice = usize::MAX;
        }
        if has_listeners {
            // Events are about single claims, so read their rows.
            effort.rows = setup.config.row_limit;
        }
        let (own, name) = (setup.clone(), word.to_owned());
        let open: Opener = Arc::new(move || own.options(&name, effort));
        let label = setup.label(word);
        CheckedSource {
            engine: setup.source(word).engine(),
            watch: SourceWatch::new(&label, open),
            label,
            has_listeners,
            boards: SeenBoards::default(),
        }
    }

    /// One poll, and the events since the last one.
    pub(super) fn look(&mut self, at: Moment) -> (CheckResult, Vec<Event>) {
        let (result, events) = match self.try_look(at) {
            Ok((mut snapshots, events)) => {
                let missing = self.boards.call(&snapshots);
                if let Some(first) = snapshots.first_mut() {
                    first.notices.splice(0..0, missing);
                }
                (Ok(snapshots), events)
            }
            Err(error) => (
                Err(error.sentence_after(&self.boards.profiles())),
                self.watch.fail(&error.brief(&BTreeSet::new())),
            ),
        };
        let facts = self.watch.facts.facts().filter(|_| result.is_ok());
        let previews = if result.is_ok() { self.watch.recovery_previews() } else { Vec::new() };
        // The rest of the check is valid without them.
        let recoveries = match &result {
            Ok(_) => self.watch.source.reader().and_then(Reader::recoveries).unwrap_or_default(),
            Err(_) => Vec::new(),
        };
        (CheckResult { result, facts, recoveries, previews, ..self.without_result() }, events)
    }

    fn try_look(&mut self, at: Moment) -> Result<(Vec<Snapshot>, Vec<Event>), StoreError> {
        if self.has_listeners {
            return self.watch.look(at);
        }
        Ok((self.watch.poll()?, Vec::new()))
    }

    /// The result of a poll that panicked.
    pub(super) fn crashed(&self) -> CheckResult {
        CheckResult {
            result: Err(format!("{}: the look at it crashed", self.label)),
            ..self.without_result()
        }
    }

    fn without_result(&self) -> CheckResult {
        CheckResult {
            source: self.label.clone(),
            engine: self.engine,
            result: Ok(Vec::new()),
            facts: None,
            previews: Vec::new(),
            recoveries: Vec::new(),
        }
    }
}
