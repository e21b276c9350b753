//! Undo: a rehearsal of what would be written, and the undo itself.

use super::{SourceActor, shown};
use crate::app::bulk::{BulkOf, Summary};
use crate::app::message::{Done, Msg};
use crate::domain::recovery::{Outcome, Refusal};
use crate::domain::visible::visible;
use crate::recovery::{ActReport, BulkResult};
use crate::report::changes;
use crate::store::Side;

/// The rows of so many acts of a bulk are shown before it is taken back.
const SHOWN: usize = 50;
/// So many acts of a bulk are looked at before it is taken back.
const LOOKED_AT: usize = 10_000;

impl SourceActor {
    /// Every row and column that an undo would write; of a bulk, how many acts can be undone, which cannot, and the
    /// rows of its last acts.
    pub(super) fn prepare_undo(&mut self, action_id: &str) -> Result<Vec<String>, String> {
        let (mut rows, mut problems) = (Vec::new(), Vec::new());
        let (mut undone, mut refused) = (0, 0);
        let mut actor = self.claims.take()?;
        let of = actor.rehearse_undo(action_id, &mut |report| {
            match report.outcome.cause() {
                Some(why) => {
                    refused += 1;
                    if problems.len() < SHOWN {
                        problems.push(format!("{}: {why}", visible(&report.id)));
                    }
                }
                None => {
                    undone += 1;
                    if undone <= SHOWN {
                        let (before, after) = (report.images(Side::Before), report.images(Side::After));
                        rows.extend(changes::lines(&before, &after));
                    }
                }
            }
            undone + refused < LOOKED_AT
        });
        let of = of.map_err(|error| error.to_string())?;
        self.claims.keep(actor);
        if undone == 0
            && let Some(why) = problems.first()
        {
            return Err(why.clone());
        }
        let mut lines = Vec::new();
        if of > 1 {
            lines.push(summary(undone, refused, of));
        }
        lines.extend(problems.into_iter().map(|why| format!("cannot be undone: {why}")));
        lines.extend(rows);
        if undone > SHOWN {
            lines.push(format!("... and the rows of {} more acts", undone - SHOWN));
        }
        Ok(lines)
    }

    /// Undoes one act, or a whole bulk.
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
                let ActReport { address, holder, outcome, .. } = report;
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

/// How many of the acts of a bulk an undo would take back.
fn summary(undone: usize, refused: usize, of: usize) -> String {
    let mut said = format!("{undone} of {of} acts will be undone");
    if refused > 0 {
        said += &format!("; {refused} cannot be undone");
    }
    let unseen = of - undone - refused;
    if unseen > 0 {
        said += &format!("; {unseen} more are tried as well");
    }
    said
}
