//! Detailed questions, answered between polls.

use super::{SourceQuestion, SourceReader};
use crate::app::message::{DeadJobsQuery, Msg, Probed, ShownClaim};
use crate::app::row::Row;
use crate::domain::detail::{Cursor, Examined, Holder, PageRequest};
use crate::domain::filter::{Test, exactly};
use crate::poller::SMALL;
use crate::store::{Reader, StoreError, clock};

/// How many of the newest rows of a history tell what holders do.
const RECENT_TRACES: usize = 2_000;

impl SourceReader {
    /// The answer, and the error if the connection is lost.
    pub(super) fn reply(&mut self, question: SourceQuestion) -> (Msg, Option<StoreError>) {
        let source = self.source;
        let knew = self.out_of_reach.is_some();
        let mut lost = None;
        let mut trouble = |work: &SourceReader, error: StoreError| {
            let trouble = work.trouble(&error);
            if matches!(error, StoreError::Unreachable { .. }) && !knew {
                lost = Some(error);
            }
            trouble
        };
        let msg = match question {
            // These only change the time of the next poll.
            SourceQuestion::Pace { .. }
            | SourceQuestion::Now
            | SourceQuestion::Facts
            | SourceQuestion::Record(_) => Msg::Tick,
            SourceQuestion::List(request) => {
                let part = self.reachable().and_then(|reader| reader.list_part(&request));
                Msg::Listed { source, request, part: part.map_err(|error| trouble(self, error)) }
            }
            SourceQuestion::Dead(query) => {
                let found = self.dead(&query).map_err(|error| trouble(self, error));
                Msg::Dead { query, found }
            }
            SourceQuestion::Holders => {
                let holders = self.reachable().and_then(|reader| reader.holders(None));
                let holders = holders.map(|holders| self.probe_all(holders));
                Msg::Holders { source, holders: holders.map_err(|error| trouble(self, error)) }
            }
            SourceQuestion::Kinds => {
                let kinds = self.reachable().and_then(Reader::kinds);
                // Beside the kinds: a source that cannot tell it has told the kinds all the same.
                let activity = self.reachable().and_then(|reader| reader.recent_activity(RECENT_TRACES));
                let activity = activity.unwrap_or_default();
                Msg::Kinds { source, kinds: kinds.map_err(|error| trouble(self, error)), activity }
            }
            SourceQuestion::Examine(target) => {
                let found = self.examine(&target);
                Msg::Examined { id: target.id, found: found.map_err(|error| trouble(self, error)) }
            }
            SourceQuestion::Probe(rows) => Msg::Probed(self.probe(&rows)),
        };
        (msg, lost)
    }

    /// While polls cannot reach a server, nothing else tries.
    fn reachable(&mut self) -> Result<&mut Reader, StoreError> {
        match &self.out_of_reach {
            Some((source_name, why)) if !self.paused => {
                Err(StoreError::Unreachable { source_name: source_name.clone(), why: why.clone() })
            }
            _ => self.watch.source.reader(),
        }
    }

    /// The dead jobs of a kind. The connection stays open for the next question, unless it failed.
    fn dead(&mut self, query: &DeadJobsQuery) -> Result<Vec<Row>, StoreError> {
        self.reachable()?;
        dead_jobs(self.dead.reader()?, query).inspect_err(|_| self.dead.close())
    }

    fn examine(&mut self, target: &ShownClaim) -> Result<Option<Box<Examined>>, StoreError> {
        let Some(mark) = &target.mark else { return Ok(None) };
        let address = target.claim.key.address();
        let found = self.reachable()?.examine(&target.profile, &target.board, mark, &address)?;
        Ok(found.map(Box::new))
    }

    fn probe_all(&self, holders: Vec<Holder>) -> Vec<Holder> {
        let prober = (self.probers)();
        let probe = |mut holder: Holder| {
            prober.probe(&mut holder.worker, holder.started_at.at(), holder.beat_at.at());
            holder
        };
        holders.into_iter().map(probe).collect()
    }

    fn probe(&self, rows: &[Row]) -> Vec<Probed> {
        let prober = (self.probers)();
        let mut probed: Vec<Probed> = Vec::new();
        for row in rows {
            let mut claim = row.claim().clone();
            let Some(holder) = claim.holder.clone() else { continue };
            if probed.iter().any(|known| known.holder == holder) {
                continue;
            }
            prober.probe_holder_of(&mut claim);
            probed.push(Probed {
                source: self.source,
                holder,
                process: claim.worker.process,
                evidence: claim.worker.evidence.unwrap_or_default(),
                at: clock(),
            });
        }
        probed
    }
}

fn dead_jobs(reader: &mut Reader, query: &DeadJobsQuery) -> Result<Vec<Row>, StoreError> {
    let request = PageRequest {
        profile: query.profile.clone(),
        board: query.board.clone(),
        from: Cursor::First,
        conditions: query.kind.iter().map(|kind| Test::Kind(exactly([kind])).into()).collect(),
        rows: SMALL,
    };
    let page = reader.page(&request)?;
    let snapshots = reader.poll()?;
    let snapshot = snapshots.iter().find(|snapshot| snapshot.profile == query.profile);
    let board = snapshot.and_then(|one| one.boards.iter().find(|board| board.board == query.board));
    let (Some(snapshot), Some(board)) = (snapshot, board) else { return Ok(Vec::new()) };
    let row = |judged| {
        Row::new(query.source, &query.profile, &query.board, snapshot.generic, &board.nature, judged)
    };
    Ok(page.claims.into_iter().map(row).collect())
}
