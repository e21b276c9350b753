//! Which of the claims the next transaction takes, so that several sweepers of the same claims stay apart.
//!
//! Every claim lies in a partition, by where in the table its row is. A sweeper holds an advisory lock on each
//! partition that it works in until its transaction ends, and the others work elsewhere. The locks only save work: what
//! keeps a claim from being taken twice is the guard of the statement that changes it.

use super::super::actor::{Actor, BeginQuestion};
use super::super::connection::is_locked;
use super::super::look;
use super::super::many;
use super::super::named_params::array;
use crate::store::StoreError;
use crate::store::driver::BatchPart;
use crate::store::seen::Seen;

/// So many claims are simply done.
const FEW: usize = 100;
const PARTITIONS: usize = 64;
/// So many pages that follow each other are of one partition.
const PAGES: usize = 4;
/// The first number of the advisory lock of the first partition; the second one is the table's.
const LOCKS: i32 = 0x636c_6d00;
/// How long to wait for a partition: a sweeper that is not stuck leaves it sooner.
const PATIENCE: &str = "SET LOCAL lock_timeout = 200; SAVEPOINT claimtop_partition";

/// The partitions that claims lie in.
pub(super) struct PartitionLocks {
    /// Of each claim.
    of: Vec<usize>,
    /// Those with claims, in the order in which they are tried.
    used: Vec<usize>,
    /// So many have enough claims for the next transaction.
    enough: usize,
    /// Of the partitions that are left no more than this part is taken at once.
    part: usize,
    /// Takes some, and answers with them and those where somebody else has been before.
    pub(super) question: BeginQuestion,
}

/// What one finds.
struct FoundPartitions {
    mine: Vec<usize>,
    /// Of these somebody else has changed the first claim, and so probably the others.
    gone: Vec<usize>,
}

impl Actor {
    /// The partitions of the claims, unless they are few, nobody knows where they are, or nobody may ask for partitions.
    pub(super) fn partitions(&self, all: &[&Seen]) -> Option<PartitionLocks> {
        let is_asked = all.len() > FEW && !self.may_not_lock_partitions;
        let first = all.first().filter(|first| is_asked && first.spot.is_some())?;
        let table = &look::at(&self.reader.watched, &first.place)?.table.sql;
        let of: Vec<usize> = all.iter().map(|seen| partition(seen)).collect();
        let mut firsts = [None; PARTITIONS];
        for (seen, partition) in all.iter().zip(&of) {
            firsts[*partition].get_or_insert(*seen);
        }
        // Each sweeper begins with another partition.
        let order =
            (0..PARTITIONS).map(|partition| (partition + self.first_partition % PARTITIONS) % PARTITIONS);
        let (used, firsts): (Vec<usize>, Vec<&Seen>) =
            order.filter_map(|partition| Some((partition, firsts[partition]?))).unzip();
        let enough = (self.batch_size.claims / (all.len() / used.len())).max(1);
        // With competitors, take an eighth of what is left, so that all finish at about the same time; and check first
        // whether somebody else has already worked in a partition.
        let (part, is_left) = if self.batch_size.has_competitors {
            let row = "c.ctid = l.spot::tid AND c.xmin::text = l.version";
            (8, format!("EXISTS (SELECT FROM {table} AS c WHERE {row})"))
        } else {
            (1, "true".into())
        };
        let question = BeginQuestion {
            with: format!(
                "WITH claimtop_partitions AS MATERIALIZED (SELECT l.partition, {is_left} AS is_left \
                 FROM unnest(($2::text)::int[], ($3::text)::text[], ($4::text)::text[]) AS l(partition, spot, version)), \
                 claimtop_mine AS MATERIALIZED (SELECT partition FROM claimtop_partitions WHERE CASE WHEN is_left THEN \
                 pg_try_advisory_xact_lock({LOCKS} + partition, ($1::text)::regclass::oid::int) ELSE false END \
                 LIMIT greatest(1, least({enough}, (SELECT count(*) FROM claimtop_partitions WHERE is_left) / {part})))"
            ),
            columns: ", (SELECT string_agg(partition::text, ' ') FROM claimtop_mine), \
                      (SELECT string_agg(partition::text, ' ') FROM claimtop_partitions WHERE NOT is_left)",
            values: vec![
                table.clone(),
                array(used.iter().map(|partition| Some(partition.to_string()))),
                array(firsts.iter().map(|seen| many::spot(seen))),
                array(firsts.iter().map(|seen| seen.version.as_ref())),
            ],
        };
        Some(PartitionLocks { of, used, enough, part, question })
    }

    /// As many of the claims as the next transaction takes; they come first then. The transaction has begun with
    /// the question of the partitions.
    pub(super) fn leading<'a, 'b>(
        &mut self,
        all: &'a mut [&'b Seen],
        partitions: Option<&PartitionLocks>,
        answer: &[Option<String>],
    ) -> Result<BatchPart<'a, 'b>, StoreError> {
        self.is_crowded = false;
        let next = all.len().min(self.batch_size.claims);
        // Whether the role may lock partitions is known only after it was tried.
        let Some(partitions) = partitions.filter(|_| !self.may_not_lock_partitions) else {
            return Ok(BatchPart { all: &all[..next], passed: 0, until: None });
        };
        let mut found = partitions.found(answer);
        if found.mine.is_empty() && found.gone.is_empty() && self.wait_for(partitions)? {
            found = partitions.found(&self.ask(&partitions.question)?);
        }
        self.batch_size.has_competitors = partitions.shows_others(&found);
        let mine = put_first(all, partitions.of.iter().map(|partition| found.mine.contains(partition)));
        if mine > 0 {
            // The rest of a partition would be a transaction of its own.
            let next = if mine / 4 * 3 <= next { mine } else { next };
            return Ok(BatchPart { all: &all[..next], passed: 0, until: None });
        }
        let gone = put_first(all, partitions.of.iter().map(|partition| found.gone.contains(partition)));
        let unchanged = self.unchanged(&all[..gone])?;
        let passed = put_first(&mut all[..gone], unchanged.iter().map(|is_left| !is_left));
        // What is left has its partition again next time.
        let next = if passed > 0 { 0 } else { next };
        self.is_crowded = true;
        Ok(BatchPart { all: &all[passed..passed + next], passed, until: None })
    }

    /// Waits until the first of the partitions is free; `false`, if it did not become free in time. A sweeper that
    /// waits holds no partition, so nobody waits for it.
    fn wait_for(&mut self, partitions: &PartitionLocks) -> Result<bool, StoreError> {
        let sql = format!(
            "SELECT pg_advisory_xact_lock({LOCKS} + {}, ($1::text)::regclass::oid::int)::text",
            partitions.used[0]
        );
        let table = partitions.question.values.first().map(String::as_str);
        let waited = self.ask_link(|link| match link.query_after(PATIENCE, &sql, &[table]) {
            Ok(_) => link.batch(&link.patience()).map(|()| true),
            Err(error) if is_locked(&error) => {
                link.batch(&format!("ROLLBACK TO claimtop_partition; {}", link.patience())).map(|()| false)
            }
            Err(error) => Err(error),
        });
        waited.map_err(|error| self.sentence(&error, "waiting for others"))
    }

    /// Which of the claims, all of one board, still have the row that was seen.
    pub(super) fn unchanged(&mut self, all: &[&Seen]) -> Result<Vec<bool>, StoreError> {
        let none = || Ok(vec![false; all.len()]);
        let (Actor { reader, link, .. }, Some(first)) = (self, all.first()) else {
            return none();
        };
        let Some(watch) = look::at(&reader.watched, &first.place) else { return none() };
        let found = many::unchanged(link, watch, all);
        found.map_err(|error| reader.options.sentence(&error, "looking for claims that are left"))
    }
}

impl PartitionLocks {
    fn found(&self, answer: &[Option<String>]) -> FoundPartitions {
        let numbers = |at: usize| {
            let text = answer.get(at).and_then(Option::as_deref).unwrap_or_default();
            text.split(' ').filter_map(|partition| partition.parse().ok()).collect()
        };
        FoundPartitions { mine: numbers(0), gone: numbers(1) }
    }

    /// Whether somebody else works through the same claims.
    fn shows_others(&self, found: &FoundPartitions) -> bool {
        let left = self.used.len() - found.gone.len();
        let wanted = self.enough.min(left / self.part).max(1);
        !found.gone.is_empty() || found.mine.len() < wanted
    }
}

/// The partition of a claim.
fn partition(seen: &Seen) -> usize {
    seen.spot.map_or(0, |spot| spot.page as usize / PAGES % PARTITIONS)
}

/// Puts those first that are wanted: how many. Apart from that they stay in their order.
fn put_first(all: &mut [&Seen], is_wanted: impl Iterator<Item = bool>) -> usize {
    let (mut wanted, mut others) = (Vec::new(), Vec::new());
    for (seen, is_wanted) in all.iter().copied().zip(is_wanted) {
        if is_wanted { wanted.push(seen) } else { others.push(seen) }
    }
    for (place, seen) in all.iter_mut().zip(wanted.iter().chain(&others)) {
        *place = seen;
    }
    wanted.len()
}
