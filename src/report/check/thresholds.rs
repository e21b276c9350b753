//! From how many claims on a look is a warning, or critical.

use crate::domain::snapshot::Counts;
use crate::exit::Exit;

/// What is counted and can be held against a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gauge {
    Stale,
    Orphaned,
    Expiring,
    Unknown,
    Runaway,
}

impl Gauge {
    pub const ALL: [Gauge; 5] =
        [Gauge::Stale, Gauge::Orphaned, Gauge::Expiring, Gauge::Unknown, Gauge::Runaway];

    pub fn as_str(self) -> &'static str {
        match self {
            Gauge::Stale => "stale",
            Gauge::Orphaned => "orphaned",
            Gauge::Expiring => "expiring",
            Gauge::Unknown => "unknown",
            Gauge::Runaway => "runaway",
        }
    }

    pub fn of(self, counts: &Counts) -> u64 {
        match self {
            Gauge::Stale => counts.stale,
            Gauge::Orphaned => counts.orphaned,
            Gauge::Expiring => counts.expiring,
            Gauge::Unknown => counts.unknown,
            Gauge::Runaway => counts.runaway,
        }
    }

    /// The exit codes' own meaning: one claim is enough.
    fn usual(self) -> Bounds {
        match self {
            Gauge::Stale | Gauge::Orphaned => Bounds { warn: None, crit: Some(1) },
            Gauge::Expiring | Gauge::Unknown => Bounds { warn: Some(1), crit: None },
            Gauge::Runaway => Bounds::default(),
        }
    }
}

/// So many claims, or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    gauge: Gauge,
    claims: u64,
}

impl Limit {
    /// Reads `stale=10`.
    pub fn parse(text: &str) -> Result<Limit, String> {
        let (name, number) = text.split_once('=').ok_or("write SET=COUNT, such as stale=10")?;
        let gauge = Gauge::ALL
            .into_iter()
            .find(|gauge| gauge.as_str() == name.trim())
            .ok_or("thresholds are for stale, orphaned, expiring, unknown and runaway")?;
        match number.trim().parse() {
            Ok(0) => Err("0 would always be reached; write 1 or more, or leave it out".into()),
            Ok(claims) => Ok(Limit { gauge, claims }),
            Err(_) => Err(format!("{:?} is not a number of claims", number.trim())),
        }
    }
}

/// The thresholds of one gauge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    pub warn: Option<u64>,
    pub crit: Option<u64>,
}

/// The thresholds of all gauges. One that nobody named keeps its usual ones: whoever allows ten stale
/// claims has not said that orphans do not matter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thresholds {
    set: Vec<(Gauge, Bounds)>,
}

impl Thresholds {
    pub fn new(warn: &[Limit], crit: &[Limit]) -> Result<Thresholds, String> {
        let mut set = Vec::new();
        for gauge in Gauge::ALL {
            let bounds = Bounds { warn: only(warn, gauge, "--warn")?, crit: only(crit, gauge, "--crit")? };
            if let (Some(warn), Some(crit)) = (bounds.warn, bounds.crit)
                && warn >= crit
            {
                return Err(format!(
                    "--warn {0}={warn} would never be seen: --crit {0}={crit} comes first",
                    gauge.as_str()
                ));
            }
            if bounds != Bounds::default() {
                set.push((gauge, bounds));
            }
        }
        Ok(Thresholds { set })
    }

    pub fn of(&self, gauge: Gauge) -> Bounds {
        let set = self.set.iter().find(|(known, _)| *known == gauge);
        set.map_or_else(|| gauge.usual(), |(_, bounds)| *bounds)
    }

    /// What these counts mean.
    pub fn judge(&self, counts: &Counts) -> Exit {
        let reached = |pick: fn(Bounds) -> Option<u64>| {
            Gauge::ALL
                .into_iter()
                .any(|gauge| pick(self.of(gauge)).is_some_and(|limit| gauge.of(counts) >= limit))
        };
        if reached(|bounds| bounds.crit) {
            Exit::Critical
        } else if reached(|bounds| bounds.warn) {
            Exit::Warning
        } else {
            Exit::Fine
        }
    }
}

fn only(limits: &[Limit], gauge: Gauge, option: &str) -> Result<Option<u64>, String> {
    let mut named = limits.iter().filter(|limit| limit.gauge == gauge);
    let first = named.next().map(|limit| limit.claims);
    match named.next() {
        Some(_) => Err(format!("{option} names {} twice", gauge.as_str())),
        None => Ok(first),
    }
}
