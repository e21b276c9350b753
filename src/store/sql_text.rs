//! Strings, quoted names and comments in a text of SQL: nothing in them is a name or a parameter.

/// The length of the quoted stretch at the beginning of a text, with its quotes; nothing, if it is not closed. A
/// doubled quote is part of it and, in a string with escapes, so is a quote after a backslash.
pub(super) fn quoted_length(text: &str, escapes: bool) -> Option<usize> {
    let mut letters = text.char_indices();
    let (_, quote) = letters.next()?;
    let mut letters = letters.peekable();
    while let Some((at, letter)) = letters.next() {
        if letter == '\\' && escapes {
            letters.next();
        } else if letter == quote && letters.next_if(|(_, next)| *next == quote).is_none() {
            return Some(at + letter.len_utf8());
        }
    }
    None
}

/// The length of the comment at the beginning of a text; nothing, if it is not closed. Those in `/* */` nest.
pub(super) fn comment_length(text: &str) -> Option<usize> {
    if text.starts_with("--") {
        return Some(text.find(['\n', '\r']).unwrap_or(text.len()));
    }
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(found) = text[at..].find(['/', '*']) {
        at += found;
        match text.get(at..at + 2) {
            Some("/*") => depth += 1,
            Some("*/") => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The tag of the text `$tag$ ... $tag$` that begins here, with its dollars; nothing, if none does.
pub(super) fn dollar_tag(text: &str) -> Option<&str> {
    // Every letter beyond ASCII may be part of a name.
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || !letter.is_ascii();
    let end = 1 + text.strip_prefix('$')?.find(|letter| !is_part(letter))?;
    let is_tag =
        text[end..].starts_with('$') && !text[1..].starts_with(|letter: char| letter.is_ascii_digit());
    is_tag.then(|| &text[..=end])
}

/// The length of the text in dollar quotes that begins with a tag; nothing, if it is not closed.
pub(super) fn dollar_length(text: &str, tag: &str) -> Option<usize> {
    text[tag.len()..].find(tag).map(|at| at + 2 * tag.len())
}
