//! How many claims of each board a sweep would take: counted first, so that the brakes hold before a row is read.

use super::brakes::{Brake, Brakes};
use super::orders::Orders;
use super::reason::Wanted;
use super::summary::Summary;
use crate::domain::board_id::BoardId;
use crate::domain::claim::{Role, StampedBy};
use crate::domain::snapshot::{BoardSnapshot, Snapshot};
use crate::domain::verdict::{Reason, Reasons};
use crate::store::{Actor, StoreError};

/// The two kinds of grounds, in the order in which a sweep goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Expired,
    Orphaned,
}

impl Kind {
    pub(super) fn wanted(wanted: Wanted) -> &'static [Kind] {
        match wanted {
            Wanted::Both => &[Kind::Expired, Kind::Orphaned],
            Wanted::Expired => &[Kind::Expired],
            Wanted::Orphaned => &[Kind::Orphaned],
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Kind::Expired => "expired",
            Kind::Orphaned => "orphaned",
        }
    }

    /// The reasons that can be its ground.
    pub(super) fn reasons(self) -> Reasons {
        match self {
            Kind::Expired => Reasons::from_iter([Reason::LeaseExpired, Reason::TtlExceeded]),
            Kind::Orphaned => {
                Reasons::from_iter([Reason::ProcessDead, Reason::SessionMissing, Reason::SessionStale])
            }
        }
    }
}

/// What may be done on a board in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Free,
    /// A brake holds; its claims are only watched.
    Held,
    /// A brake holds, and there are too many claims to look at them.
    Crowded,
    /// Its tables could be anybody's.
    Unvouched,
}

/// One board, and how many of its claims are up.
#[derive(Debug)]
pub(super) struct Board {
    pub(super) id: BoardId,
    pub(super) role: Role,
    pub(super) stamped_by: StampedBy,
    /// A time in one of its rows lies in the future: somebody else stamps as well.
    pub(super) is_skewed: bool,
    total: u64,
    /// At least so many could be taken, and at most so many.
    least: u64,
    most: u64,
    pub(super) state: State,
    /// Those that were found to be up, or counted instead.
    pub(super) up: u64,
}

/// More than these are not looked at one by one if their count alone says that a brake holds.
pub(super) const CROWD: u64 = 10_000;

/// The boards that a sweep is about, counted.
pub(super) fn counted(
    actor: &mut Actor,
    snapshots: &[Snapshot],
    orders: &Orders,
) -> Result<Vec<Board>, StoreError> {
    let mut boards = Vec::new();
    for snapshot in snapshots {
        let vouched = !snapshot.generic || orders.vouched.contains(&snapshot.profile);
        for one in &snapshot.boards {
            if orders.board.as_ref().is_some_and(|wanted| *wanted != one.board) {
                continue;
            }
            let state = if vouched { State::Free } else { State::Unvouched };
            boards.push(count(
                actor,
                BoardId::new(&snapshot.profile, &one.board),
                one,
                orders.wanted,
                state,
            )?);
        }
    }
    Ok(boards)
}

fn count(
    actor: &mut Actor,
    id: BoardId,
    one: &BoardSnapshot,
    wanted: Wanted,
    state: State,
) -> Result<Board, StoreError> {
    let reasons: Reasons = Kind::wanted(wanted).iter().flat_map(|kind| kind.reasons().iter()).collect();
    let of = |reason: Reason| one.reasons.get(&reason).copied().unwrap_or(0);
    let (mut total, mut most) = (one.counts.total, reasons.iter().map(of).sum::<u64>());
    let mut least =
        if wanted == Wanted::Orphaned { 0 } else { of(Reason::LeaseExpired).max(of(Reason::TtlExceeded)) };
    // A poll of a large table on a server stops counting at some point.
    if one.gaps.more {
        most = u64::MAX;
        if let Some(counted) = actor.count_overdue(&id)? {
            total = counted.of;
            least = if wanted == Wanted::Orphaned { 0 } else { counted.claims };
        }
    }
    Ok(Board {
        id,
        role: one.nature.role,
        stamped_by: one.nature.stamped_by,
        is_skewed: of(Reason::ClockSkew) > 0,
        total,
        least,
        most: most.min(total).max(least),
        state,
        up: 0,
    })
}

/// Holds crowds by their counts alone.
pub(super) fn hold_crowds(boards: &mut [Board], brakes: &Brakes, summary: &mut Summary) {
    hold(boards, brakes, summary, State::Crowded, |board| if board.least > CROWD { board.least } else { 0 });
}

/// Whether the counts leave open if the share holds.
pub(super) fn is_open(boards: &[Board], brakes: &Brakes) -> bool {
    let (most, total) = sum(boards, |board| board.most);
    let alone = |board: &&Board| board.state == State::Free && brakes.is_too_much(board.most, board.total);
    brakes.is_too_much(most, total) || boards.iter().any(|board| alone(&board))
}

/// Holds by the claims that were found to be up.
pub(super) fn hold_by_share(boards: &mut [Board], brakes: &Brakes, summary: &mut Summary) {
    hold(boards, brakes, summary, State::Held, |board| board.up);
}

/// If too many of all claims are up, every board is held; otherwise those of which too many are.
fn hold(
    boards: &mut [Board],
    brakes: &Brakes,
    summary: &mut Summary,
    state: State,
    up: impl Fn(&Board) -> u64,
) {
    let (all_up, total) = sum(boards, &up);
    let together = brakes.share(all_up, total);
    let is_only_one = boards.iter().filter(|board| board.total > 0).count() < 2;
    for board in boards.iter_mut().filter(|board| board.state == State::Free) {
        let alone = brakes.share(up(board), board.total);
        if together.is_none()
            && let Some(sentence) = &alone
        {
            let of = if is_only_one { String::new() } else { format!("{}: ", board.id.board()) };
            summary.hold(Brake::Share, format!("{of}{sentence}"));
        }
        if alone.is_some() || together.is_some() {
            board.up = up(board).max(board.up);
            board.state = state;
        }
    }
    if let Some(sentence) = together {
        summary.hold(Brake::Share, sentence);
    }
}

/// Of all boards that may be swept: those that are up, and all claims. What is held already counts as well.
fn sum(boards: &[Board], up: impl Fn(&Board) -> u64) -> (u64, u64) {
    let vouched = boards.iter().filter(|board| board.state != State::Unvouched);
    let of = |board: &Board| if board.state == State::Crowded { board.up } else { up(board) };
    vouched.fold((0, 0), |(ups, all), board| (ups + of(board), all + board.total))
}
