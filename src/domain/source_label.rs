//! A word of the user's own for a source, such as `prod`, and its colour.

use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLabel {
    pub text: String,
    pub colour: LabelColour,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelColour {
    Red,
    Yellow,
    Green,
    Blue,
    Magenta,
    #[default]
    Cyan,
}
