//! Words of a command line that a person may copy.

use super::visible::{is_deceptive, visible};

/// A word that a shell reads as one, whatever is in it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._/:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    if word.chars().any(is_deceptive) {
        // Nobody could type what cannot be seen: shown, not to be copied.
        return format!("'{}'", visible(word));
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
