//! What a batch makes of its claims: encoded as the rows come in.

use super::super::actor::Actor;
use super::{moved, two_rows};
use crate::domain::recovery::{Moved, Outcome};
use crate::postgres::error::PgError;
use crate::store::act::{Acted, Intents, Note, Order, Pending, numbered};
use crate::store::driver::Turn;
use crate::store::image::{Change, Image};
use crate::store::schema::Table;
use crate::store::seen::{Seen, prefix};
use crate::store::side_effects::SideEffects;

pub(super) struct Made<'a> {
    pub(super) turn: &'a Turn,
    pub(super) order: &'a Order<'a>,
    intents: &'a mut dyn Intents,
    /// What all addresses begin with.
    prefix: String,
    pub(super) table: Table,
    /// So many claims have numbers before those of the batch.
    passed: usize,
    /// For the table in the database, if there is one.
    records: Option<Vec<(String, String)>>,
    /// The claims whose rows have come in, in that order.
    rows: Vec<usize>,
    /// What came of each claim, as far as it is known.
    pub(super) tried: Vec<Option<Acted>>,
}

impl<'a> Made<'a> {
    pub(super) fn new(
        actor: &Actor,
        turn: &'a Turn,
        order: &'a Order<'a>,
        table: Table,
        first: &Seen,
        passed: usize,
        intents: &'a mut dyn Intents,
    ) -> Made<'a> {
        let prefix = prefix(first.place.board.profile(), first.place.board.board());
        let records = actor.has_audit_table().then(Vec::new);
        let (rows, tried) = (Vec::new(), Vec::new());
        Made { turn, order, intents, prefix, table, passed, records, rows, tried }
    }

    /// A claim's row was changed; `after` is what is left of it, and others followed.
    pub(super) fn add(
        &mut self,
        at: usize,
        fresh: &Seen,
        after: Option<Image>,
        followed: Vec<Change>,
        effects: SideEffects,
    ) -> Result<(), PgError> {
        if self.tried[at].is_some() {
            return Err(two_rows());
        }
        let mut changes = vec![Change::of(&self.table, Some(fresh.row.clone()), after)];
        changes.extend(followed);
        let number = self.passed + at + 1;
        let pending = Pending {
            address: fresh.address_after(&self.prefix),
            changes: &changes,
            db_at: self.turn.now,
            transaction: self.turn.transaction.as_deref(),
            seen: fresh,
        };
        self.intents.add(number, &pending);
        if let Some(records) = &mut self.records {
            let (action, address, authorization) =
                (self.order.action.as_str(), &pending.address, self.order.authorization);
            let text = Note { action, address, authorization, changes: &changes }.text();
            records.push((numbered(self.order.action_id, number), text));
        }
        self.rows.push(at);
        self.tried[at] = Some(Acted { changes, effects, ..Acted::nothing(Outcome::Applied) });
        Ok(())
    }

    /// How many rows have come in.
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Forgets all rows but the first so many: the database has taken the others back.
    pub(super) fn take_back_to(&mut self, kept: usize) {
        self.intents.take_back(self.rows.len() - kept);
        for at in self.rows.drain(kept..) {
            self.tried[at] = None;
        }
        if let Some(records) = &mut self.records {
            records.truncate(kept);
        }
    }

    /// What came of all, and what the audit table is to keep of them.
    pub(super) fn ready(self) -> (Vec<Acted>, Vec<(String, String)>) {
        let tried = self.tried.into_iter();
        let tried = tried.map(|tried| tried.unwrap_or_else(|| moved(Moved::AtTheLastMoment)));
        (tried.collect(), self.records.unwrap_or_default())
    }
}
