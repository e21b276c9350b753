//! The brakes that consider a whole run: how many claims at once, and what share of all.

use crate::domain::fencing::UNFENCED;
use crate::domain::snapshot::Snapshot;

/// What can stop a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Brake {
    /// Too many claims went stale at once.
    Share,
    /// More claims than one run takes.
    Cap,
    /// Tasks that were swept too often.
    Poison,
    /// Tables that may belong to any system.
    Profile,
    /// Claims that a late worker could finish a second time.
    Fencing,
    /// The clocks did not run evenly, so every claim is watched again from the start.
    Clock,
    /// A replica is behind its primary, so it cannot show who is late.
    Replica,
}

impl Brake {
    pub const ALL: [Brake; 7] = [
        Brake::Share,
        Brake::Cap,
        Brake::Poison,
        Brake::Profile,
        Brake::Fencing,
        Brake::Clock,
        Brake::Replica,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Brake::Share => "share",
            Brake::Cap => "cap",
            Brake::Poison => "poison",
            Brake::Profile => "profile",
            Brake::Fencing => "fencing",
            Brake::Clock => "clock",
            Brake::Replica => "replica",
        }
    }
}

/// A brake that held, and the sentence about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrakeHold {
    pub brake: Brake,
    pub sentence: String,
}

/// The limits of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Brakes {
    /// The most claims that one run takes.
    pub max: usize,
    /// The largest share in per cent, of a board's claims and of all claims, that may go stale at once.
    pub max_share: u8,
    /// The share does not matter up to this many claims in a run.
    pub share_above: usize,
    /// How often the same task may be taken in a day.
    pub per_day: usize,
}

impl Brakes {
    /// Whether this many of all claims are too many at once.
    pub fn is_too_much(&self, up: u64, all: u64) -> bool {
        up > self.share_above as u64 && up.saturating_mul(100) > u64::from(self.max_share).saturating_mul(all)
    }

    /// Why nothing may be taken when this many of all claims could be.
    pub fn share(&self, up: u64, all: u64) -> Option<String> {
        self.is_too_much(up, all).then(|| {
            format!(
                "{} % went stale at once ({up} of {all} claims): looks like the database or the network; held, \
                 nothing was touched; --max-share 100% lets it through",
                up.saturating_mul(100) / all.max(1)
            )
        })
    }

    /// Why nothing may be taken on a replica.
    pub fn replica(snapshots: &[Snapshot]) -> Option<String> {
        let behind = snapshots.iter().filter_map(|snapshot| snapshot.replica).max()?;
        Some(format!(
            "this is a replica, {behind} behind: what it shows may be over already; held, nothing was touched; \
             name the primary"
        ))
    }

    /// The sentence about the claims beyond the most that one run takes.
    pub fn cap(&self, left: u64) -> Option<String> {
        (left > 0)
            .then(|| format!("the cap of {} a run leaves {left} for the next; --max N raises it", self.max))
    }

    /// The sentence about claims of a board that are left because the system does not fence late workers.
    pub fn unfenced(board: &str, left: usize) -> Option<String> {
        let claims = if left == 1 { "1 claim".into() } else { format!("{left} claims") };
        (left > 0).then(|| {
            format!(
                "{board}: {claims} left: {UNFENCED}; `unfenced = [\"{board}\"]` for the sweep of this source in the \
                 config takes them, and so does proof that the holder is dead (`holders_on`)"
            )
        })
    }

    /// The sentence about tasks that were swept too often.
    pub fn poison(&self, count: usize) -> Option<String> {
        let what = if count == 1 { "1 task was".into() } else { format!("{count} tasks were") };
        (count > 0).then(|| {
            format!("{what} swept {} times within a day already: poison, left for a person", self.per_day)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::{Moment, Span};

    const BRAKES: Brakes = Brakes { max: 1_000, max_share: 30, share_above: 10, per_day: 3 };

    #[test]
    fn the_share_holds_only_above_ten_a_run_and_above_its_limit() {
        for (up, all, holds) in [
            (0, 0, false),
            (10, 10, false),
            (11, 11, true),
            (30, 100, false),
            (31, 100, true),
            (2_000, 2_000, true),
        ] {
            assert_eq!(BRAKES.share(up, all).is_some(), holds, "{up} of {all}");
        }
        let open = Brakes { max_share: 100, ..BRAKES };
        assert_eq!(open.share(2_000, 2_000), None);
        assert!(BRAKES.share(40, 100).unwrap().starts_with("40 % went stale at once"));
    }

    #[test]
    fn on_a_replica_nothing_is_taken_however_little_it_is_behind() {
        let of = |replica: Option<Span>| Snapshot {
            profile: "p".into(),
            generic: false,
            now: Moment::EARLIEST,
            clock_offset: Span::ZERO,
            poll_cost: Span::ZERO,
            replica,
            veiled: None,
            boards: Vec::new(),
            notices: Vec::new(),
        };
        assert_eq!(Brakes::replica(&[of(None)]), None);
        assert!(Brakes::replica(&[of(Some(Span::ZERO))]).is_some());
        let behind = [None, Some(Span::seconds(2)), Some(Span::seconds(40))].map(of);
        assert!(Brakes::replica(&behind).unwrap().starts_with("this is a replica, 40s behind"));
    }

    #[test]
    fn the_cap_says_how_many_are_left() {
        assert_eq!(BRAKES.cap(0), None);
        assert!(BRAKES.cap(500).unwrap().contains("leaves 500"));
    }
}
