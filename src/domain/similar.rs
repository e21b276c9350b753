//! The name that somebody most likely meant.

/// The most similar of the known names, if one is similar enough to be meant.
pub fn similar<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let likeness = |other: &str| strsim::normalized_damerau_levenshtein(&name, &other.to_lowercase());
    let scored = known.into_iter().map(|other| (likeness(other), other));
    let best = scored.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (best.0 >= ALIKE).then_some(best.1)
}

/// Three letters of ten may differ.
const ALIKE: f64 = 0.7;

/// `; did you mean x?`, or nothing.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    similar(name, known).map(|near| format!("; did you mean {near}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::similar;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let keys = ["held", "holder", "claimed_at", "beat_at"];
        assert_eq!(similar("hodler", keys), Some("holder"));
        assert_eq!(similar("claimedat", keys), Some("claimed_at"));
        assert_eq!(similar("Holder", keys), Some("holder"));
        assert_eq!(similar("payload", keys), None);
    }
}
