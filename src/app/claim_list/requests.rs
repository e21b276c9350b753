//! Which part of the list is asked for next.

use super::super::row::Row;
use super::{ClaimList, Head, Landing, Loaded, MOST_WORST, OfSource, RequestPurpose, Towards, Wanted};
use crate::domain::claim_list::{ListPlace, ListRequest, Start, Stretch, Troubled};
use crate::domain::detail::Cursor;
use crate::domain::filter::Filter;
use crate::domain::time::{Moment, Span};

/// Rows that are asked for at once.
const PAGE: usize = 200;
/// Rereading the list may keep the database busy for at most a twentieth of the time.
const SHARE: i64 = 20;

impl ClaimList {
    /// The list of these sources from its beginning. What is loaded stays until the answers come.
    pub fn start(&mut self, sources: &[usize], filter: Filter, land: Landing) -> Vec<Wanted> {
        self.worst.retain(|row| sources.contains(&row.id.source));
        self.sources.retain(|source, _| sources.contains(source));
        (self.head, self.land, self.filter) = (Head::Loaded, land, filter);
        let filter = &self.filter;
        let first = |source: &usize| {
            let of = self.sources.entry(*source).or_default();
            (of.wanted, of.matching) = (PAGE, None);
            let others = Some(Stretch { from: Start::First, rows: PAGE, troubled: Troubled::Elsewhere });
            let request = ListRequest { filter: filter.clone(), worst: Some(of.wanted), others };
            (*source, of.ask(request, RequestPurpose::Elsewhere))
        };
        sources.iter().map(first).collect()
    }

    /// The end of the list.
    pub fn end(&mut self) -> Vec<Wanted> {
        self.land = Landing::Bottom;
        let filter = &self.filter;
        let Some((source, of)) = self.sources.iter_mut().next_back() else { return Vec::new() };
        let stretch = Stretch { from: Start::Last, rows: PAGE, troubled: of.troubled() };
        let request = ListRequest { filter: filter.clone(), worst: None, others: Some(stretch) };
        vec![(*source, of.ask(request, RequestPurpose::Elsewhere))]
    }

    /// Rereads the loaded part of a source; waits longer if the last reading was slow.
    pub fn again(&mut self, source: usize, now: Moment) -> Option<Wanted> {
        let (head, filter) = (self.head, &self.filter);
        let of = self.sources.get_mut(&source)?;
        let rests = |(at, cost): (Moment, Span)| now.since(at) < cost.times(SHARE);
        if of.pending.is_some() || of.answered.is_some_and(rests) {
            return None;
        }
        let troubled = of.troubled();
        let stretch = |loaded: &Loaded| {
            let first = loaded.rows.first().filter(|_| loaded.before.is_some());
            let place = |row: &Row| {
                Some(ListPlace {
                    board: row.board_id.clone(),
                    cursor: Cursor::From(row.judged.mark.clone()?),
                })
            };
            let from = first.and_then(place).map_or(Start::First, Start::At);
            Stretch { from, rows: loaded.rows.len().max(PAGE), troubled }
        };
        let others = of.others.as_ref().map(stretch);
        let others = others.or_else(|| {
            let is_next = head == Head::Loaded && !of.has_more_worst();
            is_next.then_some(Stretch { from: Start::First, rows: PAGE, troubled })
        });
        let worst = (head == Head::Loaded).then_some(of.wanted.max(PAGE));
        if worst.is_none() && others.is_none() {
            return None;
        }
        let request = ListRequest { filter: filter.clone(), worst, others };
        Some((source, of.ask(request, RequestPurpose::Again)))
    }

    /// More rows in a direction, if there are any and none are loading.
    pub fn more(&mut self, towards: Towards) -> Vec<Wanted> {
        match towards {
            Towards::Bottom if self.head == Head::Loaded && !self.are_worst_read() => self.more_worst(),
            Towards::Bottom => self.below().into_iter().collect(),
            Towards::Top => self.above().into_iter().collect(),
        }
    }

    fn more_worst(&mut self) -> Vec<Wanted> {
        let filter = &self.filter;
        let open = self.sources.iter_mut().filter(|(_, of)| of.has_more_worst() && of.pending.is_none());
        let more = open.map(|(source, of)| {
            of.wanted = of.wanted.saturating_mul(2).min(MOST_WORST);
            let from = (of.wanted == MOST_WORST).then_some(Start::First);
            let others = from.map(|from| Stretch { from, rows: PAGE, troubled: Troubled::Here });
            let request = ListRequest { filter: filter.clone(), worst: Some(of.wanted), others };
            (*source, of.ask(request, RequestPurpose::Again))
        });
        more.collect()
    }

    fn below(&mut self) -> Option<Wanted> {
        let filter = &self.filter;
        let mut loaded = self.sources.iter_mut().skip_while(|(_, of)| of.others.is_none());
        let ends = |of: &OfSource| of.others.as_ref().is_none_or(|loaded| loaded.after.is_some());
        let (source, of) = loaded.find(|(_, of)| of.problem.is_none() && ends(of))?;
        let after = of.others.as_ref().and_then(|loaded| loaded.after.clone());
        of.stretch(*source, after.map_or(Start::First, Start::At), RequestPurpose::Below, filter)
    }

    fn above(&mut self) -> Option<Wanted> {
        if self.head == Head::Loaded {
            return None;
        }
        let filter = &self.filter;
        let loaded: Vec<usize> =
            self.sources.iter().filter(|(_, of)| of.others.is_some()).map(|(source, _)| *source).collect();
        let first = *loaded.first()?;
        let place = self.sources.get(&first)?.others.as_ref()?.before.clone();
        match place {
            Some(place) => {
                self.sources.get_mut(&first)?.stretch(first, Start::At(place), RequestPurpose::Above, filter)
            }
            None => {
                let (source, of) = self.sources.range_mut(..first).next_back()?;
                of.stretch(*source, Start::Last, RequestPurpose::Above, filter)
            }
        }
    }
}

impl OfSource {
    fn ask(&mut self, request: ListRequest, purpose: RequestPurpose) -> ListRequest {
        self.pending = Some((request.clone(), purpose));
        request
    }

    /// Asks for more rows, unless a request is pending.
    fn stretch(
        &mut self,
        source: usize,
        from: Start,
        purpose: RequestPurpose,
        filter: &Filter,
    ) -> Option<Wanted> {
        let is_free = self.pending.as_ref().is_none_or(|(_, purpose)| *purpose == RequestPurpose::Again);
        if !is_free {
            return None;
        }
        let stretch = Stretch { from, rows: PAGE, troubled: self.troubled() };
        let request = ListRequest { filter: filter.clone(), worst: None, others: Some(stretch) };
        Some((source, self.ask(request, purpose)))
    }
}
