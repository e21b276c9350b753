//! A cause as a sentence.

use std::fmt;

use super::{Cause, Dimension, Trouble};
use crate::domain::visible::visible;

impl Cause {
    /// "web-3", "hosts web-3, web-4", "everything".
    pub fn name(&self) -> String {
        let names: Vec<String> = self.names.iter().map(|name| visible(name)).collect();
        match (self.by, names.as_slice()) {
            (Dimension::Everything, _) => "everything".into(),
            (Dimension::Host, [one]) => one.clone(),
            (by, [one]) => format!("{} {one}", by.as_str()),
            (by, several) => format!("{}s {}", by.as_str(), several.join(", ")),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let since = self.since.map(|at| at.rfc3339()).unwrap_or_default();
        let clock = since.get(11..19).unwrap_or_default();
        let (name, claims) = (self.name(), self.claims.len());
        match self.trouble {
            Trouble::Silent => {
                write!(f, "{name} silent since {clock}, {} holder{}", self.holders, plural(self.holders))?;
                if let Some(spread) = self.spread {
                    write!(f, " within {spread}")?;
                }
                write!(f, ": {claims} claim{}", plural(claims))
            }
            Trouble::Hanging => write!(
                f,
                "{name} hangs since {clock}: {claims} of {} claims, {} holder{} alive",
                self.of,
                self.holders,
                plural(self.holders)
            ),
        }
    }
}
