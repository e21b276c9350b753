//! Taking an act back: a look at what would be written, and the undo itself.

use super::{Work, shown};
use crate::app::message::{BulkOf, Done, Msg, Summary};
use crate::domain::recovery::{Outcome, Refusal};
use crate::domain::visible::visible;
use crate::recovery::{BulkResult, Report};
use crate::report::changes;
use crate::store::Side;

/// How many acts of a bulk are shown before it is taken back.
const SHOWN_OF_AN_UNDO: usize = 50;

impl Work {
    /// Every row and column that an undo would write; of a bulk, those of its last acts.
    pub(super) fn prepare_undo(&mut self, action_id: &str) -> Result<Vec<String>, String> {
        let (mut lines, mut count, mut problem) = (Vec::new(), 0, None);
        let mut actor = self.claims.take()?;
        let of = actor.rehearse_undo(action_id, &mut |report| {
            count += 1;
            match report.outcome.cause() {
                Some(why) if problem.is_none() => problem = Some(format!("{}: {why}", visible(&report.id))),
                Some(_) => {}
                None => {
                    let (before, after) = (report.images(Side::Before), report.images(Side::After));
                    lines.extend(changes::lines(&before, &after));
                }
            }
            count < SHOWN_OF_AN_UNDO
        });
        let of = of.map_err(|error| error.to_string())?;
        self.claims.keep(actor);
        if of > count {
            lines.push(format!("... and the rows of {} more acts", of - count));
        }
        match problem {
            Some(why) if lines.is_empty() => Err(why),
            Some(why) => {
                lines.insert(0, why);
                Ok(lines)
            }
            None => Ok(lines),
        }
    }

    /// Takes back one act, or all of a bulk.
    pub(super) fn undo(&mut self, action_id: &str) -> Msg {
        let mut last = None;
        let undone = self.claims.take().and_then(|mut actor| {
            let mut each = |report| {
                last = Some(report);
                true
            };
            let undone = actor.undo_all(action_id, None, &mut each).map_err(|error| error.to_string())?;
            self.claims.keep(actor);
            Ok(undone)
        });
        let (source, action) = (self.source, "undo".to_owned());
        match (undone, last) {
            (Ok(BulkResult { batch: Some(batch), tally, .. }), _) => {
                let (of, addresses) = (BulkOf::Undo(action_id.into()), Vec::new());
                Msg::BulkDone(Summary { source, of, tally, batch: Some(batch), addresses })
            }
            (Ok(_), Some(report)) => {
                let (shown, action_id) = (shown(&report, visible(&report.id)), action_id.to_owned());
                let Report { address, holder, outcome, .. } = report;
                Msg::Acted(Done { source, address, action_id, action, outcome, shown, holder })
            }
            (undone, _) => {
                let why = undone.err().unwrap_or_else(|| "there is nothing to undo".into());
                let (outcome, shown) = (Outcome::Refused(Refusal::NotTried(why)), action_id.to_owned());
                let (address, holder, action_id) = (String::new(), None, action_id.to_owned());
                Msg::Acted(Done { source, address, action_id, action, outcome, shown, holder })
            }
        }
    }
}
