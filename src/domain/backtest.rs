//! What a threshold would have done in the past, and how often it would have been wrong.
//!
//! A *silence* is a claim without a new sign of life, from the first poll that saw it so to the last. A sweep with
//! the threshold X takes the claim at the first poll at which the sign is older than X. How the silence really ended
//! says whether that would have been right: a holder that renewed or finished its claim afterwards was alive.
//!
//! ```text
//! silence    one silence and its end             series   the silences of one kind, and tests on them
//! tested     the result of one threshold         range    the thresholds to test: 1m..60m
//! advice     which threshold to choose
//! ```

mod advice;
mod range;
mod series;
mod silence;
mod tested;

pub use advice::{Advice, MOST_WRONG, advise};
pub use range::{ThresholdRange, around};
pub use series::{Measure, Series, Subject, Take};
pub use silence::{Outcome, Silence, SilenceEnd};
pub use tested::{Judgement, Tested};
