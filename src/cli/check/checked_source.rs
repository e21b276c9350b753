//! One source of `check`, from round to round.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cli::setup::Setup;
use crate::domain::seen_boards::SeenBoards;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::Moment;
use crate::events::Event;
use crate::poller::{Opener, SourceWatch};
use crate::report::check::Looked;
use crate::store::StoreError;

pub(super) struct CheckedSource {
    label: String,
    engine: &'static str,
    watch: SourceWatch,
    /// Whether somebody reads the events between two looks.
    has_listeners: bool,
    /// The boards that were there in an earlier round.
    boards: SeenBoards,
}

impl CheckedSource {
    pub(super) fn new(setup: &Setup, word: &str, exact: bool, has_listeners: bool) -> CheckedSource {
        let mut effort = setup.effort();
        if exact {
            effort.slice = usize::MAX;
        }
        if has_listeners {
            // Events are about single claims: their rows have to be read.
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

    /// One look, and the events since the last one.
    pub(super) fn look(&mut self, at: Moment) -> (Looked, Vec<Event>) {
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
        (Looked { result, ..self.without_result() }, events)
    }

    fn try_look(&mut self, at: Moment) -> Result<(Vec<Snapshot>, Vec<Event>), StoreError> {
        if self.has_listeners {
            return self.watch.look(at);
        }
        Ok((self.watch.source.reader()?.poll()?, Vec::new()))
    }

    /// The answer of a look that panicked.
    pub(super) fn crashed(&self) -> Looked {
        Looked { result: Err(format!("{}: the look at it crashed", self.label)), ..self.without_result() }
    }

    fn without_result(&self) -> Looked {
        Looked { source: self.label.clone(), engine: self.engine, result: Ok(Vec::new()) }
    }
}
