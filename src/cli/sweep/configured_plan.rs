//! The settings for sweeping one source, from the command line and the config.

use std::sync::Arc;

use super::arguments::SweepTerms;
use crate::cli::recovery::{ActFailure, OpenPurpose, audited_actor};
use crate::cli::setup::SharedSetup;
use crate::config::SweepLimits;
use crate::domain::fencing::UnfencedBoards;
use crate::domain::time::Span;
use crate::exit::Exit;
use crate::poller::Opener;
use crate::recovery::AuditedActor;
use crate::recovery::trail::Trail;
use crate::store::Effort;
use crate::sweep::{Brakes, SourcePlan, SweepError, SweepFailure, SweepMode, SweepOptions, SweepSets};

pub(crate) struct ConfiguredPlan {
    setup: SharedSetup,
    word: String,
    every: Option<Span>,
    terms: Arc<SweepTerms>,
    mode: SweepMode,
}

impl ConfiguredPlan {
    pub(crate) fn new(
        setup: &SharedSetup,
        word: &str,
        every: Option<Span>,
        terms: &Arc<SweepTerms>,
        mode: SweepMode,
    ) -> ConfiguredPlan {
        let (setup, terms) = (setup.clone(), Arc::clone(terms));
        ConfiguredPlan { setup, word: word.to_owned(), every, terms, mode }
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

    fn mode(&self) -> SweepMode {
        self.mode
    }

    fn options(&self) -> SweepOptions {
        let limits = self.limits();
        SweepOptions {
            mode: self.mode,
            wanted: SweepSets::of(&self.terms.set),
            board: self.terms.board.clone(),
            brakes: Brakes {
                max: limits.max.unwrap_or_default(),
                max_share: limits.max_share.map_or(0, |share| share.0),
                share_above: limits.share_above.unwrap_or_default(),
                per_day: limits.per_day.unwrap_or_default(),
            },
            vouched: self.setup.current().named_profiles(&self.word),
            sighted_for: limits.sighted_for,
            unfenced: limits.unfenced.unwrap_or(UnfencedBoards::None),
            trail: Trail::default_folder().unwrap_or_default(),
        }
    }

    fn open(&self) -> Result<AuditedActor, SweepFailure> {
        let purpose = match self.mode {
            SweepMode::Act => OpenPurpose::Act,
            SweepMode::Rehearse => OpenPurpose::Rehearse,
        };
        audited_actor(&self.setup.current(), &self.word, purpose).map_err(|why| failure(&why))
    }

    fn explain(&self, error: SweepError) -> SweepFailure {
        match error {
            SweepError::Recovery(error) => failure(&error.into()),
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

fn failure(why: &ActFailure) -> SweepFailure {
    match why.exit() {
        Exit::Refused => SweepFailure::Refused(why.to_string()),
        _ => SweepFailure::Failed(why.to_string()),
    }
}
