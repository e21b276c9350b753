//! Words of a command that a person may copy into a shell.

/// The word as a POSIX shell takes it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_reads_the_word_back() {
        assert_eq!(quoted("jobs.db"), "jobs.db");
        assert_eq!(quoted("my jobs.db"), "'my jobs.db'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("postgres://a@h/db?sslmode=off"), "'postgres://a@h/db?sslmode=off'");
        assert_eq!(quoted(""), "''");
    }
}
