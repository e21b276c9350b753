//! Whether a claim is judged by its own row alone.

use crate::store::server::Watch;

/// Whether a claim whose row has not changed says what it said, but for the time that has passed: nothing is joined,
/// selected from elsewhere, or asked of a function that could.
pub(super) fn rests_on_its_row(watch: &Watch) -> bool {
    watch.registry.is_none()
        && !watch.board.moves()
        && watch.reader.rests_on(&watch.table.sql, looks_nowhere_else)
}

/// Whether an expression selects nothing, and every word before an opening bracket is one that reads only what
/// it is given.
fn looks_nowhere_else(sql: &str) -> bool {
    const KNOWN: [&str; 13] = [
        "in", "and", "or", "not", "any", "case", "when", "then", "else", "coalesce", "greatest", "least",
        "extract",
    ];
    let sql = sql.to_lowercase();
    !sql.contains("select")
        && sql.match_indices('(').all(|(at, _)| {
            let before = sql[..at].trim_end();
            let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '"');
            let word = before.rsplit(|letter| !is_part(letter)).next().unwrap_or_default();
            word.is_empty() || KNOWN.contains(&word)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_expressions_that_can_look_nowhere_else_are_known() {
        for sql in [
            "(c.\"id\")::text, null",
            "status in ('running')",
            "(coalesce (c.a, c.b))::text",
            "a and (b or (c))",
        ] {
            assert!(looks_nowhere_else(sql), "{sql}");
        }
        for sql in [
            "is_alive(c.id)",
            "(SELECT 1)",
            "exists (select 1)",
            "(ops.\"is alive\"(c.id))",
            "(random())::text",
            "c.a + f (1)",
        ] {
            assert!(!looks_nowhere_else(sql), "{sql}");
        }
    }
}
