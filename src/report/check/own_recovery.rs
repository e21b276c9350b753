//! The lines about what a merge queue's own recovery would do now.

use std::fmt::Write as _;

use crate::domain::recovery_preview::RecoveryPreview;
use crate::domain::visible::safe;

/// What the system's own recovery would do, if anything.
pub(super) fn write(out: &mut String, preview: &RecoveryPreview) {
    let counts = [(preview.entries_reclaimed, "entry", "entries"), (preview.locks_cleaned, "lock", "locks")];
    let parts: Vec<String> = counts
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }))
        .collect();
    // Writing to a String cannot fail.
    if !parts.is_empty() {
        let _ = writeln!(out, "  recovery  the system itself would reclaim {} now", parts.join(" and "));
    }
    for entry in &preview.held_back {
        let _ = writeln!(out, "  recovery  entry {} is held back: {}", safe(&entry.id), safe(&entry.why));
    }
}
