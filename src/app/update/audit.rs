//! The Audit pane: its filter, the bulks that unfold, and what comes from the trail.

use super::super::audit::{TrailPage, Unfolded};
use super::super::message::{Effect, TrailLine};
use super::super::model::Model;
use super::super::row::RowId;
use crate::domain::audit::ActFilter;

impl Model {
    pub(super) fn load_trail(&self) -> Effect {
        Effect::LoadTrail(self.audit.filter.clone())
    }

    pub(super) fn set_audit_filter(&mut self, text: &str) -> Vec<Effect> {
        match ActFilter::parse(text) {
            Ok(filter) => {
                self.audit.filter_problem = None;
                if filter == self.audit.filter {
                    return Vec::new();
                }
                self.audit.filter = filter;
                vec![self.load_trail()]
            }
            Err(why) => {
                self.audit.filter_problem = Some(why);
                Vec::new()
            }
        }
    }

    /// A page of the trail. One that answers an earlier filter is not wanted any more.
    pub(super) fn read_trail(&mut self, page: Result<TrailPage, String>) -> Vec<Effect> {
        if page.as_ref().is_ok_and(|page| page.filter != self.audit.filter) {
            return Vec::new();
        }
        self.hold_selection();
        self.audit.page = Some(page);
        Vec::new()
    }

    /// Unfolds a bulk, or folds it.
    pub(super) fn fold(&mut self, id: &str) -> Vec<Effect> {
        self.hold_selection();
        if self.audit.unfolded.remove(id).is_some() {
            return Vec::new();
        }
        self.audit.unfolded.insert(id.to_owned(), Unfolded::Reading);
        vec![Effect::LoadBulk { id: id.to_owned(), filter: self.audit.filter.clone() }]
    }

    pub(super) fn read_bulk(&mut self, id: &str, unfolded: Unfolded) -> Vec<Effect> {
        self.hold_selection();
        if let Some(known) = self.audit.unfolded.get_mut(id) {
            *known = unfolded;
        }
        Vec::new()
    }

    pub(super) fn read_history(&mut self, claim: RowId, lines: Vec<TrailLine>) -> Vec<Effect> {
        self.audit.history = Some((claim, lines));
        Vec::new()
    }
}
