//! How the events of `check --watch`, `sweep` and `serve --sweep` are combined.

use serde::Deserialize;

use crate::domain::time::Span;

/// The settings of one place; an unset value comes from the next weaker place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventSettings {
    /// More events of one kind than this become one event.
    pub batch_above: Option<usize>,
    /// How long events are collected before they are written.
    pub batch_every: Option<Span>,
    /// Whether events about single claims are written.
    pub single: Option<bool>,
}

impl EventSettings {
    pub const USUAL: EventSettings =
        EventSettings { batch_above: Some(50), batch_every: Some(Span::ZERO), single: Some(true) };

    /// These settings, with the others for unset values.
    pub fn or(self, others: EventSettings) -> EventSettings {
        EventSettings {
            batch_above: self.batch_above.or(others.batch_above),
            batch_every: self.batch_every.or(others.batch_every),
            single: self.single.or(others.single),
        }
    }
}
