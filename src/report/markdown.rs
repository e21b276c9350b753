//! Markdown for tickets: no text of a database can become a link, a mention, HTML or a column.

use crate::domain::visible::{safe, visible};

/// A string of a database as code: inside it only the backtick and, in a table, the pipe are special.
pub fn code(text: &str) -> String {
    format!("`{}`", visible(text).replace('`', "\\u{60}").replace('|', "\\|"))
}

/// A sentence as plain text.
pub fn text(sentence: &str) -> String {
    let mut out = String::with_capacity(sentence.len());
    for c in safe(sentence).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Some renderers take this for a mention of a person or ticket, even after a backslash.
            '@' => out.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '#' | '|' | '~' | '!' | '$' => {
                out.extend(['\\', c]);
            }
            c => out.push(c),
        }
    }
    // Renderers turn bare addresses into links.
    out.replace("://", "&#58;//").replace("mailto:", "mailto&#58;").replace("www.", "www&#46;")
}

/// One line of a table.
pub fn row<S: AsRef<str>>(cells: impl IntoIterator<Item = S>) -> String {
    let mut line = String::from("|");
    for cell in cells {
        line.push(' ');
        line.push_str(cell.as_ref());
        line.push_str(" |");
    }
    line.push('\n');
    line
}

/// The first two lines of a table.
pub fn heading(names: &[&str]) -> String {
    row(names) + &row(names.iter().map(|_| "---"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_id_stays_in_its_cell_and_means_nothing() {
        let shown = code("a|b`c\n<script>@ann");
        assert_eq!(shown, "`a\\|b\\u{60}c\\n<script>@ann`");
        assert_eq!(shown.matches('`').count(), 2);
        assert_eq!(code("x\\|y"), "`x\\\\\\|y`");
    }

    #[test]
    fn a_sentence_is_text_and_nothing_else() {
        let shown = text("see [x](http://e.example) <b> @ann #12 `c` | www.e.example\n# no");
        for live in ["](", "http://", "<b>", "@ann", " #12", "`c`", " | ", "www.", "\n"] {
            assert!(!shown.contains(live), "{live} in {shown}");
        }
    }
}
