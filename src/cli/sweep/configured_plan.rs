//! What the command line and the config say about sweeping one source.

use std::sync::Arc;

use super::arguments::SweepTerms;
use crate::cli::recovery::{Purpose, Refusal, audited_actor};
use crate::cli::setup::SharedSetup;
use crate::config::SweepLimits;
use crate::domain::time::Span;
use crate::poller::Opener;
use crate::recovery::AuditedActor;
use crate::recovery::trail::Trail;
use crate::store::Effort;
use crate::sweep::{Brakes, Manner, Orders, SourcePlan, SweepError, SweepFailure, Wanted};

pub struct ConfiguredPlan {
    setup: SharedSetup,
    word: String,
    every: Option<Span>,
    terms: Arc<SweepTerms>,
    manner: Manner,
}

impl ConfiguredPlan {
    pub fn new(
        setup: &SharedSetup,
        word: &str,
        every: Option<Span>,
        terms: &Arc<SweepTerms>,
        manner: Manner,
    ) -> ConfiguredPlan {
        let (setup, terms) = (setup.clone(), Arc::clone(terms));
        ConfiguredPlan { setup, word: word.to_owned(), every, terms, manner }
    }

    /// From strong to weak: the command line, the source's config, the config, the defaults.
    fn limits(&self) -> SweepLimits {
        let setup = self.setup.current();
        let told = SweepLimits {
            every: self.every,
            max: self.terms.max,
            max_share: self.terms.max_share,
            ..SweepLimits::default()
        };
        told.or(setup.config.sweep(setup.settings_for(&self.word).as_deref())).or(SweepLimits::USUAL)
    }
}

impl SourcePlan for ConfiguredPlan {
    fn label(&self) -> String {
        self.setup.current().label(&self.word)
    }

    fn every(&self) -> Option<Span> {
        self.limits().every
    }

    fn manner(&self) -> Manner {
        self.manner
    }

    fn orders(&self) -> Orders {
        let limits = self.limits();
        Orders {
            manner: self.manner,
            wanted: Wanted::of(&self.terms.set),
            board: self.terms.board.clone(),
            brakes: Brakes {
                max: limits.max.unwrap_or_default(),
                max_share: limits.max_share.map_or(0, |share| share.0),
                share_above: limits.share_above.unwrap_or_default(),
                per_day: limits.per_day.unwrap_or_default(),
            },
            vouched: self.setup.current().named_profiles(&self.word),
            sighted_for: limits.sighted_for,
            trail: Trail::default_folder().unwrap_or_default(),
        }
    }

    fn open(&self) -> Result<AuditedActor, SweepFailure> {
        let purpose = match self.manner {
            Manner::Act => Purpose::Act,
            Manner::Rehearse => Purpose::Rehearse,
        };
        audited_actor(&self.setup.current(), &self.word, purpose).map_err(failure)
    }

    fn explain(&self, error: SweepError) -> SweepFailure {
        match error {
            SweepError::Recovery(error) => failure(error.into()),
            SweepError::SightingsFile { .. } | SweepError::NoClock => SweepFailure::Failed(error.to_string()),
        }
    }

    fn opener(&self) -> Opener {
        let (setup, word) = (self.setup.clone(), self.word.clone());
        Arc::new(move || {
            let setup = setup.current();
            let (rows, slice) = (setup.config.row_limit, setup.config.census_slice);
            setup.options(&word, Effort { rows, slice, whole: slice })
        })
    }
}

fn failure(refusal: Refusal) -> SweepFailure {
    match refusal {
        Refusal::Refused(why) => SweepFailure::Refused(why),
        Refusal::Moved(why) | Refusal::Error(why) => SweepFailure::Failed(why),
    }
}
