//! One look at one source, and the acts that follow from it.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use super::brakes::{Brake, Brakes};
use super::event::taken;
use super::ground::{Ground, Spared, ground, patience, shows_life};
use super::orders::{Manner, Orders, SweepError};
use super::poison;
use super::sightings::{Shown, Sightings};
use super::summary::Summary;
use crate::domain::recovery::{Action, Outcome, Word};
use crate::domain::roll::Roll;
use crate::domain::rules::Rules;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::Span;
use crate::domain::verdict::{Reason, Set};
use crate::events::{About, By, Event, millis};
use crate::recovery::Desk;
use crate::recovery::perform::RecoveryError;
use crate::store::Filter;
use crate::store::Seen;

/// A claim that may be taken.
struct Candidate {
    seen: Seen,
    profile: String,
    board: String,
    address: String,
    ground: Ground,
}

impl Candidate {
    fn about(&self, summary: &Summary) -> About {
        About {
            source: summary.source.clone(),
            profile: self.profile.clone(),
            board: self.board.clone(),
            address: self.address.clone(),
            why: self.seen.why.clone(),
            by: By::Sweep,
            action_id: None,
            timestamp: millis(self.seen.now),
            dry_run: summary.dry_run,
            shown: self.seen.judged.claim.key.visible(),
        }
    }
}

/// One run on one source.
#[derive(Debug)]
pub struct Pass<'a> {
    desk: &'a mut Desk,
    orders: &'a Orders,
    summary: Summary,
}

type Out<'a> = dyn FnMut(&Event) + 'a;

impl<'a> Pass<'a> {
    pub fn new(desk: &'a mut Desk, orders: &'a Orders) -> Pass<'a> {
        let dry_run = orders.manner == Manner::Rehearse;
        let summary = Summary { source: desk.source().into(), dry_run, ..Summary::default() };
        Pass { desk, orders, summary }
    }

    /// Looks, brakes, and acts. `sightings` are those of earlier looks, with the time since the
    /// machine's start; without them the workers' clocks are trusted. `roll` knows the boards of earlier
    /// looks. `go_on` is asked after each batch.
    pub fn run(
        mut self,
        sightings: Option<(&mut Sightings, Span)>,
        roll: &mut Roll,
        out: &mut Out<'_>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Summary, SweepError> {
        let snapshots = self.look()?;
        self.summary.notices = roll.call(&snapshots);
        if let Some(sentence) = Brakes::replica(&snapshots) {
            self.summary.hold(Brake::Replica, sentence);
            return Ok(self.summary);
        }
        self.hold_doubtful_boards(&snapshots);
        let candidates = self.candidates(&snapshots)?;
        let candidates = self.without_poison(candidates, out)?;
        let up = candidates.len();
        let ripe = self.ripe(candidates, sightings, &snapshots);
        let all = self.total(&snapshots);
        let chosen = match self.orders.brakes.share(up, all) {
            Some(sentence) => {
                self.summary.hold(Brake::Share, sentence);
                Vec::new()
            }
            None => self.capped(ripe),
        };
        // What was done before a failure is told with it.
        let failure = self.act(chosen, out, go_on).err();
        self.summary.error = failure.map(|error| error.to_string());
        self.summary.left = up - self.summary.tried + self.summary.poison;
        Ok(self.summary)
    }

    fn look(&mut self) -> Result<Vec<Snapshot>, SweepError> {
        let actor = self.desk.actor();
        let board = self.orders.board.as_deref();
        let snapshots = actor.expect_board(board).and_then(|()| actor.poll());
        Ok(snapshots.map_err(RecoveryError::from)?)
    }

    /// Says of which boards no time can be trusted: none of their claims is stale, and none is taken.
    fn hold_doubtful_boards(&mut self, snapshots: &[Snapshot]) {
        let wanted = self.orders.board.as_deref();
        for board in snapshots.iter().flat_map(|snapshot| &snapshot.boards) {
            let is_wanted = wanted.is_none_or(|wanted| wanted == board.board);
            if let Some(doubt) = board.nature.rules.doubt.as_ref().filter(|_| is_wanted) {
                let sentence =
                    format!("{}: {doubt}; held: `claimtop doctor` names the setting that fits", board.board);
                self.summary.hold(Brake::Clock, sentence);
            }
        }
    }

    /// All claims that the share is measured by.
    fn total(&self, snapshots: &[Snapshot]) -> u64 {
        let board = self.orders.board.as_deref();
        let boards = snapshots.iter().flat_map(|snapshot| &snapshot.boards);
        let counted = boards.filter(|one| board.is_none_or(|board| board == one.board));
        counted.map(|one| one.counts.total).sum()
    }

    /// The claims that may be taken: expired first, then orphaned, the worst of each board first.
    fn candidates(&mut self, snapshots: &[Snapshot]) -> Result<Vec<Candidate>, SweepError> {
        let filter = Filter { sets: vec![Set::Stale, Set::Orphaned], ..Filter::default() };
        let all = self.desk.actor().select(&filter).map_err(RecoveryError::from)?;
        let judged: Vec<(Seen, Result<Ground, Spared>)> =
            all.into_iter().map(|seen| self.judged(seen, snapshots)).collect();
        let living = living_sessions(&judged, snapshots);
        let (mut found, mut unvouched) = (Vec::new(), HashMap::<String, usize>::new());
        for (seen, ground) in judged {
            let Ok(ground) = ground else { continue };
            let (profile, board) = self.desk.actor().names(&seen);
            let rests_on_silence = ground == Ground::Orphaned(Reason::SessionStale);
            if self.orders.board.as_ref().is_some_and(|wanted| *wanted != board)
                || rests_on_silence && living.contains(&holder(&seen))
            {
                continue;
            }
            if self.desk.actor().profile_of(&seen).1 && !self.orders.vouched.contains(&profile) {
                *unvouched.entry(profile).or_default() += 1;
                continue;
            }
            let address = self.desk.actor().address(&seen);
            found.push(Candidate { seen, profile, board, address, ground });
        }
        for (profile, count) in unvouched {
            self.summary.refused += count;
            let sentence = format!(
                "the tables of {profile} could be anybody's; --profile {profile} says that they are its"
            );
            self.summary.hold(Brake::Profile, sentence);
        }
        found.sort_by_key(|one| matches!(one.ground, Ground::Orphaned(_)));
        Ok(found)
    }

    fn judged(&self, seen: Seen, snapshots: &[Snapshot]) -> (Seen, Result<Ground, Spared>) {
        let rules = rules_of(&seen, snapshots);
        let judged = &seen.judged;
        let ground = ground(&judged.claim, &judged.verdict, rules, seen.now, self.orders.wanted);
        (seen, ground)
    }

    /// Leaves out what was taken too often, and says so.
    fn without_poison(
        &mut self,
        all: Vec<Candidate>,
        out: &mut Out<'_>,
    ) -> Result<Vec<Candidate>, SweepError> {
        let Some(now) = all.first().map(|one| one.seen.now) else { return Ok(all) };
        let fingerprint = self.desk.actor().fingerprint();
        let before = poison::taken(&self.orders.trail, &fingerprint, now).map_err(RecoveryError::from)?;
        let times = |one: &Candidate| before.get(&one.address).copied().unwrap_or(0);
        let (poison, rest): (Vec<Candidate>, Vec<Candidate>) =
            all.into_iter().partition(|one| times(one) >= self.orders.brakes.per_day);
        for one in &poison {
            let claim = &one.seen.judged.claim;
            out(&Event::Poison {
                task_id: claim.key.text(),
                session_id: claim.holder.clone(),
                times: times(one),
                about: one.about(&self.summary),
            });
        }
        self.summary.poison = poison.len();
        if let Some(sentence) = self.orders.brakes.poison(poison.len()) {
            self.summary.hold(Brake::Poison, sentence);
        }
        Ok(rest)
    }

    /// Those that have stood still long enough under our own eyes.
    fn ripe(
        &mut self,
        all: Vec<Candidate>,
        sightings: Option<(&mut Sightings, Span)>,
        snapshots: &[Snapshot],
    ) -> Vec<Candidate> {
        let Some((sightings, at)) = sightings else { return all };
        let shown: Vec<Shown> = all.iter().map(|one| self.shown(one, snapshots)).collect();
        let ripe = sightings.observe(at, &shown);
        self.summary.watching = ripe.iter().filter(|ripe| !**ripe).count();
        all.into_iter().zip(ripe).filter_map(|(one, ripe)| ripe.then_some(one)).collect()
    }

    fn shown(&self, one: &Candidate, snapshots: &[Snapshot]) -> Shown {
        let Candidate { seen, address, ground, .. } = one;
        let rules = rules_of(seen, snapshots);
        let token = seen.judged.seen.as_deref().unwrap_or_default();
        // An expired claim is the same whether or not its session has gone silent as well.
        let mark = match ground {
            Ground::Expired(_) => format!("expired {}", token.split("-s").next().unwrap_or_default()),
            Ground::Orphaned(_) => format!("orphaned {token}"),
        };
        let own = || patience(&seen.judged.claim, rules, *ground);
        Shown { address: address.clone(), mark, patience: self.orders.sighted_for.unwrap_or_else(own) }
    }

    fn capped(&mut self, mut ripe: Vec<Candidate>) -> Vec<Candidate> {
        let (most, said) = self.orders.brakes.cap(ripe.len());
        if let Some(sentence) = said {
            self.summary.hold(Brake::Cap, sentence);
        }
        ripe.truncate(most);
        ripe
    }

    /// Acts on the expired ones, then on the orphaned ones.
    fn act(
        &mut self,
        all: Vec<Candidate>,
        out: &mut Out<'_>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), SweepError> {
        let (expired, orphaned): (Vec<Candidate>, Vec<Candidate>) =
            all.into_iter().partition(|one| matches!(one.ground, Ground::Expired(_)));
        for (kind, all) in [("expired", expired), ("orphaned", orphaned)] {
            let Some(timestamp) = all.first().map(|first| millis(first.seen.now)) else { continue };
            let before = self.summary.applied();
            let acted = self.act_on(&all, out, go_on);
            let count = self.summary.applied() - before;
            if count > 0 {
                let (source, dry_run) = (self.summary.source.clone(), self.summary.dry_run);
                out(&Event::Cleanup { kind, count, timestamp, source, dry_run });
            }
            acted?;
        }
        Ok(())
    }

    fn act_on(
        &mut self,
        all: &[Candidate],
        out: &mut Out<'_>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), SweepError> {
        if !go_on() {
            return Ok(());
        }
        // On a server they are not done in their order.
        let by_address: HashMap<&str, &Candidate> =
            all.iter().map(|one| (one.address.as_str(), one)).collect();
        let Pass { desk, orders, summary } = self;
        let started = Instant::now();
        let mut paused = Duration::ZERO;
        let mut each = |outcome: &Outcome, applied: Option<&Candidate>, action_id: Option<String>| {
            summary.tried += 1;
            summary.count(outcome);
            if let Some(one) = applied {
                summary.take(one.ground);
                out(&taken(&one.seen, one.ground, About { action_id, ..one.about(summary) }));
            }
            go_on()
        };
        let word = Word::default();
        match orders.manner {
            Manner::Act => {
                let seen = all.iter().map(|one| &one.seen).collect();
                paused = desk.perform_all(seen, Action::Reclaim, &word, &mut |told| {
                    if told.outcome != Outcome::Applied {
                        return each(&told.outcome, None, None);
                    }
                    let one = by_address.get(told.address().as_str()).copied();
                    each(&told.outcome, one, Some(told.action_id()))
                })?;
            }
            Manner::Rehearse => {
                for one in all {
                    let report = desk.rehearse(&one.seen, Action::Reclaim, &word)?;
                    let applied = (report.outcome == Outcome::Applied).then_some(one);
                    if !each(&report.outcome, applied, None) {
                        break;
                    }
                }
            }
        }
        summary.acting += started.elapsed().saturating_sub(paused);
        Ok(())
    }
}

fn holder(seen: &Seen) -> (usize, Option<String>) {
    (seen.place.profile, seen.judged.claim.holder.clone())
}

/// Sessions that are silent in the registry while one of their claims lives: whatever else they hold,
/// their silence proves nothing.
fn living_sessions(
    all: &[(Seen, Result<Ground, Spared>)],
    snapshots: &[Snapshot],
) -> HashSet<(usize, Option<String>)> {
    let lives = |seen: &Seen| {
        seen.judged.verdict.reasons.contains(Reason::SessionStale)
            && shows_life(&seen.judged.claim, rules_of(seen, snapshots), seen.now)
    };
    all.iter().filter(|(seen, _)| lives(seen)).map(|(seen, _)| holder(seen)).collect()
}

fn rules_of<'a>(seen: &Seen, snapshots: &'a [Snapshot]) -> &'a Rules {
    &snapshots[seen.place.profile].boards[seen.place.board].nature.rules
}
