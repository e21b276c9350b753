//! The numbers of claims from which a check is a warning or critical.

use crate::domain::snapshot::Counts;
use crate::exit::Exit;

/// A count that can have a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gauge {
    Stale,
    Orphaned,
    Expiring,
    Unknown,
    Runaway,
    /// Recoveries within an hour.
    Reclaims,
}

impl Gauge {
    /// The counts of claims.
    pub const CLAIMS: [Gauge; 5] =
        [Gauge::Stale, Gauge::Orphaned, Gauge::Expiring, Gauge::Unknown, Gauge::Runaway];
    pub const ALL: [Gauge; 6] =
        [Gauge::Stale, Gauge::Orphaned, Gauge::Expiring, Gauge::Unknown, Gauge::Runaway, Gauge::Reclaims];

    pub fn as_str(self) -> &'static str {
        match self {
            Gauge::Stale => "stale",
            Gauge::Orphaned => "orphaned",
            Gauge::Expiring => "expiring",
            Gauge::Unknown => "unknown",
            Gauge::Runaway => "runaway",
            Gauge::Reclaims => "reclaims",
        }
    }

    /// The number; reclaims that nobody counted reach no threshold.
    pub fn of(self, counts: &Counts, reclaims: Option<u64>) -> u64 {
        match self {
            Gauge::Stale => counts.stale,
            Gauge::Orphaned => counts.orphaned,
            Gauge::Expiring => counts.expiring,
            Gauge::Unknown => counts.unknown,
            Gauge::Runaway => counts.runaway,
            Gauge::Reclaims => reclaims.unwrap_or(0),
        }
    }

    /// The meaning of the exit codes: one claim is enough.
    fn usual(self) -> GaugeBounds {
        match self {
            Gauge::Stale | Gauge::Orphaned => GaugeBounds { warn: None, crit: Some(1) },
            Gauge::Expiring | Gauge::Unknown => GaugeBounds { warn: Some(1), crit: None },
            Gauge::Runaway | Gauge::Reclaims => GaugeBounds::default(),
        }
    }
}

/// A threshold from the command line: this many claims or reclaims, or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GaugeLimit {
    gauge: Gauge,
    claims: u64,
}

impl GaugeLimit {
    /// Reads `stale=10`.
    pub fn parse(text: &str) -> Result<GaugeLimit, String> {
        let (name, number) = text.split_once('=').ok_or("write SET=COUNT, such as stale=10")?;
        let gauge = Gauge::ALL
            .into_iter()
            .find(|gauge| gauge.as_str() == name.trim())
            .ok_or("thresholds are for stale, orphaned, expiring, unknown, runaway and reclaims")?;
        match number.trim().parse() {
            Ok(0) => Err("0 would always be reached; write 1 or more, or leave it out".into()),
            Ok(claims) => Ok(GaugeLimit { gauge, claims }),
            Err(_) => Err(format!("{:?} is not a number of claims", number.trim())),
        }
    }
}

/// The thresholds of one gauge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GaugeBounds {
    pub warn: Option<u64>,
    pub crit: Option<u64>,
}

/// The thresholds of all gauges. A gauge without an option keeps its defaults: allowing ten stale claims does not
/// make orphans acceptable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckThresholds {
    set: Vec<(Gauge, GaugeBounds)>,
}

impl CheckThresholds {
    pub fn new(warn: &[GaugeLimit], crit: &[GaugeLimit]) -> Result<CheckThresholds, String> {
        let mut set = Vec::new();
        for gauge in Gauge::ALL {
            let bounds =
                GaugeBounds { warn: only(warn, gauge, "--warn")?, crit: only(crit, gauge, "--crit")? };
            if let (Some(warn), Some(crit)) = (bounds.warn, bounds.crit)
                && warn >= crit
            {
                return Err(format!(
                    "--warn {0}={warn} would never be seen: --crit {0}={crit} comes first",
                    gauge.as_str()
                ));
            }
            if bounds != GaugeBounds::default() {
                set.push((gauge, bounds));
            }
        }
        Ok(CheckThresholds { set })
    }

    pub fn of(&self, gauge: Gauge) -> GaugeBounds {
        let set = self.set.iter().find(|(known, _)| *known == gauge);
        set.map_or_else(|| gauge.usual(), |(_, bounds)| *bounds)
    }

    /// The exit code for these counts.
    pub fn judge(&self, counts: &Counts, reclaims: Option<u64>) -> Exit {
        let reached = |pick: fn(GaugeBounds) -> Option<u64>| {
            Gauge::ALL
                .into_iter()
                .any(|gauge| pick(self.of(gauge)).is_some_and(|limit| gauge.of(counts, reclaims) >= limit))
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

fn only(limits: &[GaugeLimit], gauge: Gauge, option: &str) -> Result<Option<u64>, String> {
    let mut named = limits.iter().filter(|limit| limit.gauge == gauge);
    let first = named.next().map(|limit| limit.claims);
    match named.next() {
        Some(_) => Err(format!("{option} names {} twice", gauge.as_str())),
        None => Ok(first),
    }
}
