//! What a threshold would have done in the past, and how often it would have been wrong.
//!
//! A *silence* is a claim without a new sign of life, from the first poll that saw it so to the last. A sweep with
//! the threshold X takes the claim at the first poll at which the sign is older than X. How the silence really ended
//! says whether that would have been right: a holder that renewed or finished its claim afterwards was alive.
//!
//! ```text
//! silence    one silence and its end             series   the silences of one kind, and tests on them
//! tested     the result of one threshold         range    the thresholds to test: 1m..60m
//! advice     which threshold to choose           tested_series   all results of one kind, in words
//! plot       the results as bars
//! ```

mod advice;
mod plot;
mod range;
mod series;
mod silence;
mod tested;
mod tested_series;

pub use advice::{Advice, MOST_WRONG, advise};
pub use plot::{BarPlot, PlotLine};
pub use range::{ThresholdRange, ladder};
pub use series::{Measure, Series, Subject, Take};
pub use silence::{Outcome, Silence, SilenceEnd};
pub use tested::{Judgement, Tested};
pub use tested_series::{TestedSeries, percent};

/// Why a recording may have nothing to test.
pub const NOTHING_TO_TEST: &str = "no threshold to test: silences shorter than a minute are not recorded, and thresholds below that cannot be tested";
