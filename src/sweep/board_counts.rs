//! How many claims of each board a sweep would take. They are counted first, so that brakes hold before rows are read.

use super::brakes::{Brake, Brakes};
use super::options::{RequiredEvidence, SweepOptions};
use super::reason::SweepSets;
use super::summary::SweepSummary;
use crate::domain::board_id::BoardId;
use crate::domain::claim::{Role, StampedBy};
use crate::domain::fencing::Fencing;
use crate::domain::snapshot::{BoardSnapshot, Snapshot};
use crate::domain::verdict::{Reason, Reasons};
use crate::store::{Actor, StoreError};

/// The two kinds of reasons, in the order in which a sweep handles them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroundKind {
    Expired,
    Orphaned,
}

impl GroundKind {
    pub(super) fn wanted(wanted: SweepSets) -> &'static [GroundKind] {
        match wanted {
            SweepSets::Both => &[GroundKind::Expired, GroundKind::Orphaned],
            SweepSets::Expired => &[GroundKind::Expired],
            SweepSets::Orphaned => &[GroundKind::Orphaned],
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            GroundKind::Expired => "expired",
            GroundKind::Orphaned => "orphaned",
        }
    }

    /// The reasons by which claims are found.
    pub(super) fn takes(self, demand: RequiredEvidence) -> Reasons {
        match demand {
            RequiredEvidence::Ground => self.reasons(),
            RequiredEvidence::Proof => Reasons::from_iter([Reason::ProcessDead]),
        }
    }

    /// The reasons that allow a sweep to take a claim.
    pub(super) fn reasons(self) -> Reasons {
        match self {
            GroundKind::Expired => Reasons::from_iter([Reason::LeaseExpired, Reason::TtlExceeded]),
            GroundKind::Orphaned => {
                Reasons::from_iter([Reason::ProcessDead, Reason::SessionMissing, Reason::SessionStale])
            }
        }
    }
}

/// What may be done on a board in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoardState {
    Free,
    /// A brake holds; its claims are only watched.
    Held,
    /// A brake holds, and there are too many claims to examine them.
    Crowded,
    /// A generic profile that nobody named: the tables may belong to any system.
    Unvouched,
}

/// One board, and how many of its claims could be taken.
#[derive(Debug)]
pub(super) struct BoardCount {
    pub(super) id: BoardId,
    pub(super) role: Role,
    pub(super) stamped_by: StampedBy,
    /// A time in one of its rows lies in the future: another clock writes times as well.
    pub(super) is_skewed: bool,
    total: u64,
    /// At least this many claims could be taken, and at most `most`.
    least: u64,
    most: u64,
    pub(super) state: BoardState,
    pub(super) demand: RequiredEvidence,
    /// How many claims can be taken: found one by one, or counted.
    pub(super) up: u64,
}

/// If a count above this already makes a brake hold, the claims are not examined one by one.
pub(super) const MAX_LISTED: u64 = 10_000;

/// The counts of all boards that a sweep covers.
pub(super) fn counted(
    actor: &mut Actor,
    snapshots: &[Snapshot],
    options: &SweepOptions,
) -> Result<Vec<BoardCount>, StoreError> {
    let mut boards = Vec::new();
    for snapshot in snapshots {
        let vouched = !snapshot.generic || options.vouched.contains(&snapshot.profile);
        for one in &snapshot.boards {
            if options.board.as_ref().is_some_and(|wanted| *wanted != one.board) {
                continue;
            }
            let state = if vouched { BoardState::Free } else { BoardState::Unvouched };
            let id = BoardId::new(&snapshot.profile, &one.board);
            boards.push(count(actor, id, one, options, state)?);
        }
    }
    Ok(boards)
}

fn count(
    actor: &mut Actor,
    id: BoardId,
    one: &BoardSnapshot,
    options: &SweepOptions,
    state: BoardState,
) -> Result<BoardCount, StoreError> {
    let demand = match one.nature.fencing {
        Fencing::Unfenced if !options.unfenced.contain(&id) => RequiredEvidence::Proof,
        Fencing::Unfenced | Fencing::Fenced | Fencing::Unknown => RequiredEvidence::Ground,
    };
    let by_deadline = options.wanted != SweepSets::Orphaned && demand == RequiredEvidence::Ground;
    let reasons: Reasons =
        GroundKind::wanted(options.wanted).iter().flat_map(|kind| kind.takes(demand).iter()).collect();
    let of = |reason: Reason| one.reasons.get(&reason).copied().unwrap_or(0);
    let (mut total, mut most) = (one.counts.total, reasons.iter().map(of).sum::<u64>());
    let mut least = if by_deadline { of(Reason::LeaseExpired).max(of(Reason::TtlExceeded)) } else { 0 };
    // On a server, a poll of a large table stops counting at a limit.
    if one.gaps.more {
        most = u64::MAX;
        if let Some(counted) = actor.count_overdue(&id)? {
            total = counted.of;
            least = if by_deadline { counted.claims } else { 0 };
        }
    }
    Ok(BoardCount {
        id,
        role: one.nature.role,
        stamped_by: one.nature.stamped_by,
        is_skewed: of(Reason::ClockSkew) > 0,
        total,
        least,
        most: most.min(total).max(least),
        state,
        demand,
        up: 0,
    })
}

/// Holds boards by their counts alone.
pub(super) fn hold_by_counts(boards: &mut [BoardCount], brakes: &Brakes, summary: &mut SweepSummary) {
    hold(boards, brakes, summary, BoardState::Crowded, |board| {
        if board.least > MAX_LISTED { board.least } else { 0 }
    });
}

/// Whether the counts do not decide if the share brake holds.
pub(super) fn is_open(boards: &[BoardCount], brakes: &Brakes) -> bool {
    let (most, total) = sum(boards, |board| board.most);
    let alone =
        |board: &&BoardCount| board.state == BoardState::Free && brakes.is_too_much(board.most, board.total);
    brakes.is_too_much(most, total) || boards.iter().any(|board| alone(&board))
}

/// Holds boards by the claims that were found one by one.
pub(super) fn hold_by_share(boards: &mut [BoardCount], brakes: &Brakes, summary: &mut SweepSummary) {
    hold(boards, brakes, summary, BoardState::Held, |board| board.up);
}

/// If too many of all claims could be taken, every board is held; otherwise only the boards with too many.
fn hold(
    boards: &mut [BoardCount],
    brakes: &Brakes,
    summary: &mut SweepSummary,
    state: BoardState,
    up: impl Fn(&BoardCount) -> u64,
) {
    let (all_up, total) = sum(boards, &up);
    let together = brakes.share(all_up, total);
    let is_only_one = boards.iter().filter(|board| board.total > 0).count() < 2;
    for board in boards.iter_mut().filter(|board| board.state == BoardState::Free) {
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

/// Over all boards that may be swept: the claims that could be taken, and all claims. Held boards count as well.
fn sum(boards: &[BoardCount], up: impl Fn(&BoardCount) -> u64) -> (u64, u64) {
    let vouched = boards.iter().filter(|board| board.state != BoardState::Unvouched);
    let of = |board: &BoardCount| if board.state == BoardState::Crowded { board.up } else { up(board) };
    vouched.fold((0, 0), |(ups, all), board| (ups + of(board), all + board.total))
}
