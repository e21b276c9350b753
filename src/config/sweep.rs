//! The settings of automatic cleanup, for all sources and for single ones.

use serde::{Deserialize, Deserializer};

use crate::domain::fencing::UnfencedBoards;
use crate::domain::time::Span;

/// The settings of one place; an unset value comes from the next weaker place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepLimits {
    /// How often to sweep; if unset, once unless the command line says otherwise.
    #[serde(default, deserialize_with = "interval")]
    pub every: Option<Span>,
    /// The most claims that one run takes.
    pub max: Option<usize>,
    /// The largest share of all claims that may go stale at once.
    pub max_share: Option<Share>,
    /// The share does not matter up to this many claims in a run.
    pub share_above: Option<usize>,
    /// How often the same task may be taken in a day.
    pub per_day: Option<usize>,
    /// How long a row must stay unchanged; if unset, the claim's own time to live.
    pub sighted_for: Option<Span>,
    /// Where claims of systems that do not fence late workers are taken without proof that the holder is dead.
    pub unfenced: Option<UnfencedBoards>,
}

impl SweepLimits {
    pub const USUAL: SweepLimits = SweepLimits {
        every: None,
        max: Some(1_000),
        max_share: Some(Share(30)),
        share_above: Some(10),
        per_day: Some(3),
        sighted_for: None,
        unfenced: Some(UnfencedBoards::None),
    };

    /// These settings, with the others for unset values.
    pub fn or(self, others: SweepLimits) -> SweepLimits {
        SweepLimits {
            every: self.every.or(others.every),
            max: self.max.or(others.max),
            max_share: self.max_share.or(others.max_share),
            share_above: self.share_above.or(others.share_above),
            per_day: self.per_day.or(others.per_day),
            sighted_for: self.sighted_for.or(others.sighted_for),
            unfenced: self.unfenced.or(others.unfenced),
        }
    }
}

fn interval<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Span>, D::Error> {
    Span::deserialize_interval(deserializer).map(Some)
}

/// A share in per cent, written `30%`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share(pub u8);

impl Share {
    pub fn parse(text: &str) -> Result<Share, String> {
        let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
        number
            .filter(|number| *number <= 100)
            .map(Share)
            .ok_or_else(|| "write a share from 0% to 100%".into())
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Share, D::Error> {
        Share::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
