//! What the dashboard keeps between two starts, in the words that people type.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A list of claims by name: what it shows and how.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SavedView {
    pub filter: String,
    /// `age`, or `-age` for the other way round; empty for the worst first.
    pub sort: String,
    /// Empty for the usual ones.
    pub columns: Vec<String>,
}

/// Everything that was chosen on the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScreenState {
    pub theme: Option<String>,
    pub sort: String,
    pub columns: Vec<String>,
    pub view: BTreeMap<String, SavedView>,
}
