//! What became of an act whose answer was lost.

use super::actor::Actor;
use super::audit_table;
use crate::store::StoreError;
use crate::store::image::Change;
use crate::store::resolution::{Basis, Resolution, TransactionMark};

impl Actor {
    /// What became of an act: by its row of the audit table, else by the rows that it changed.
    ///
    /// An intent is written under the write lock. Having that lock here means that the act is over, and that
    /// no row changes between two looks.
    pub fn resolve(
        &mut self,
        action_id: &str,
        transaction: Option<&str>,
        changes: &[Change],
    ) -> Result<Resolution, StoreError> {
        self.begin()?;
        let resolved = self.resolve_inside(action_id, transaction, changes);
        let ended = self.write("ROLLBACK", |writer| writer.execute_batch("ROLLBACK"));
        resolved.and_then(|resolution| ended.map(|()| resolution))
    }

    fn resolve_inside(
        &mut self,
        action_id: &str,
        transaction: Option<&str>,
        changes: &[Change],
    ) -> Result<Resolution, StoreError> {
        if self.schema.table(audit_table::NAME).is_some() {
            if self.write("looking up the act", |writer| audit_table::contains(writer, action_id))? {
                return Ok(Resolution::Applied(Basis::Proven));
            }
            // The table may have been made after the act.
            if TransactionMark::parse(transaction).is_audited {
                return Ok(Resolution::NotApplied(Basis::Proven));
            }
        }
        Resolution::by_rows(changes, |side| self.matches(changes, side))
    }

    /// By what it can be asked later what became of the transaction that has begun.
    pub(super) fn transaction_mark(&self) -> Option<String> {
        let is_audited = self.schema.table(audit_table::NAME).is_some();
        TransactionMark { is_audited, ..TransactionMark::default() }.text()
    }
}
