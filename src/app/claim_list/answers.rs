//! What an answer adds to the list, and which rows make room for it.

use super::super::row::{Row, worst_first};
use super::{ClaimList, Head, Loaded, RequestPurpose};
use crate::domain::claim_list::{
    ListPart, ListPlace, ListRequest, Matching, OnBoard, Others, Start, Troubled, Worst,
};
use crate::domain::detail::Cursor;
use crate::domain::snapshot::Mark;
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::Set;

/// Rows that stay loaded of those that are not in trouble.
const KEPT: usize = 1_000;

impl ClaimList {
    /// Adds an answer; returns `false` if it is outdated.
    pub fn receive(&mut self, source: usize, request: &ListRequest, now: Moment, part: Loading) -> bool {
        let Some(of) = self.sources.get_mut(&source) else { return false };
        let Some((_, purpose)) = of.pending.take_if(|(asked, _)| asked == request) else { return false };
        (of.problem, of.answered) = (None, Some((now, part.cost)));
        if request.worst.is_some() {
            of.matching = part.matching;
        }
        if let Some((rows, is_all)) = part.worst {
            of.has_all_worst = is_all;
            self.worst.retain(|row| row.id.source != source);
            self.worst.extend(rows);
            self.worst.sort_by(worst_first);
        }
        match part.others {
            Some((mut loaded, looked_at)) => {
                self.without_worst(&mut loaded.rows, request);
                self.take_others(source, request, purpose, loaded, looked_at);
            }
            None if purpose == RequestPurpose::Elsewhere => of.others = None,
            None => {}
        }
        true
    }

    /// Beyond the worst, claims in trouble come in the order of their rows. Removes those that are already shown
    /// above.
    fn without_worst(&self, rows: &mut Vec<Row>, request: &ListRequest) {
        if request.others.as_ref().is_some_and(|stretch| stretch.troubled == Troubled::Here) {
            let shown: std::collections::BTreeSet<&str> =
                self.worst.iter().map(|row| row.id.address.as_str()).collect();
            rows.retain(|row| !shown.contains(row.id.address.as_str()));
        }
    }

    fn take_others(
        &mut self,
        source: usize,
        request: &ListRequest,
        purpose: RequestPurpose,
        loaded: Loaded,
        looked_at: usize,
    ) {
        let is_end = request.others.as_ref().is_some_and(|stretch| stretch.from == Start::Last);
        if purpose == RequestPurpose::Elsewhere && is_end {
            self.sources.values_mut().for_each(|of| of.others = None);
            self.head = Head::Above;
        }
        if self.sources.keys().next() == Some(&source)
            && loaded.before.is_none()
            && purpose != RequestPurpose::Below
        {
            self.head = Head::Loaded;
        }
        let Some(of) = self.sources.get_mut(&source) else { return };
        match (purpose, &mut of.others) {
            (RequestPurpose::Below, Some(known)) => {
                known.rows.extend(loaded.rows);
                known.after = loaded.after;
                of.looked_at += looked_at;
            }
            (RequestPurpose::Above, Some(known)) => {
                known.rows.splice(0..0, loaded.rows);
                known.before = loaded.before;
                of.looked_at += looked_at;
            }
            (_, known) => {
                *known = Some(loaded);
                of.looked_at = looked_at;
            }
        }
        match purpose {
            RequestPurpose::Below => self.forget_above(),
            RequestPurpose::Above => self.forget_below(),
            RequestPurpose::Again | RequestPurpose::Elsewhere => {}
        }
    }

    fn loaded_others(&self) -> usize {
        self.sources.values().filter_map(|of| of.others.as_ref()).map(|loaded| loaded.rows.len()).sum()
    }

    /// Drops rows far above the selection.
    fn forget_above(&mut self) {
        let mut spare = self.loaded_others().saturating_sub(KEPT);
        for of in self.sources.values_mut().filter(|of| of.others.is_some()) {
            let Some(loaded) = &mut of.others else { continue };
            if spare == 0 {
                return;
            }
            let goes = spare.min(loaded.rows.len());
            loaded.rows.drain(..goes);
            spare -= goes;
            self.head = Head::Above;
            match loaded.rows.first().map(|row| place(row, Cursor::Before)) {
                Some(before) => loaded.before = before,
                None => of.others = None,
            }
        }
    }

    fn forget_below(&mut self) {
        let mut spare = self.loaded_others().saturating_sub(KEPT);
        for of in self.sources.values_mut().rev().filter(|of| of.others.is_some()) {
            let Some(loaded) = &mut of.others else { continue };
            if spare == 0 {
                return;
            }
            let goes = spare.min(loaded.rows.len());
            loaded.rows.truncate(loaded.rows.len() - goes);
            spare -= goes;
            match loaded.rows.last().map(|row| place(row, Cursor::After)) {
                Some(after) => loaded.after = after,
                None => of.others = None,
            }
        }
    }

    /// A source could not answer.
    pub fn fail(&mut self, source: usize, request: &ListRequest, why: String) {
        if let Some(of) = self.sources.get_mut(&source)
            && of.pending.take_if(|(asked, _)| asked == request).is_some()
        {
            of.problem = Some(why);
        }
    }
}

fn place(row: &Row, cursor: impl Fn(Mark) -> Cursor) -> Option<ListPlace> {
    Some(ListPlace { board: row.board_id.clone(), cursor: cursor(row.judged.mark.clone()?) })
}

/// A part of the list as rows of the screen.
#[derive(Debug)]
pub struct Loading {
    worst: Option<(Vec<Row>, bool)>,
    others: Option<(Loaded, usize)>,
    matching: Option<Matching>,
    cost: Span,
}

impl Loading {
    /// Turns claims into rows; claims of unknown boards are left out.
    pub fn of(part: ListPart, row: impl Fn(OnBoard) -> Option<Row>) -> Loading {
        let worst = part
            .worst
            .map(|Worst { claims, is_all }| (claims.into_iter().filter_map(&row).collect(), is_all));
        let others = part.others.map(|Others { claims, before, after, looked_at }| {
            (Loaded { rows: claims.into_iter().filter_map(&row).collect(), before, after }, looked_at)
        });
        Loading { worst, others, matching: part.matching, cost: part.cost }
    }

    /// The rows that are not in trouble.
    pub fn healthy_rows(&self) -> impl Iterator<Item = &Row> {
        let others = self.others.iter().flat_map(|(loaded, _)| &loaded.rows);
        others.filter(|row| row.headline() == Set::Healthy)
    }
}
