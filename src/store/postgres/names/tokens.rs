//! SQL cut into tokens as PostgreSQL does it, with `standard_conforming_strings` on.

use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// A name or a keyword, in lower case.
    Authorization {
        text: String,
        at: Range<usize>,
    },
    /// A name in quotes, as it is meant.
    Quoted {
        text: String,
        at: Range<usize>,
    },
    Operator {
        text: String,
        at: Range<usize>,
    },
    /// `::`
    Cast,
    /// A string.
    Text,
    /// A number, or a value that is sent along by number.
    Value,
    Symbol(char),
}

impl Token {
    /// What it names, if it is a name.
    pub fn name(&self) -> Option<(&str, Range<usize>)> {
        match self {
            Token::Authorization { text, at } | Token::Quoted { text, at } => Some((text, at.clone())),
            _ => None,
        }
    }
}

/// Cuts a text; an error where PostgreSQL could read it otherwise.
pub fn tokens(sql: &str) -> Result<Vec<Token>, String> {
    let mut all = Vec::new();
    let mut at = 0;
    // A string that goes on after a line break keeps the escapes of its first part.
    let mut escapes = false;
    while let Some(first) = sql[at..].chars().next() {
        let rest = &sql[at..];
        let (token, length) = match first {
            ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c' => (None, 1),
            '-' if rest.starts_with("--") => (None, rest.find(['\n', '\r']).unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => (None, comment(rest)?),
            '\'' if escapes => return Err("a string with escapes must be written in one part".into()),
            '\'' => (Some(Token::Text), quoted(rest, '\'', false)?.1),
            '"' => {
                let (text, length) = quoted(rest, '"', false)?;
                (Some(Token::Quoted { text, at: at..at + length }), length)
            }
            '$' => dollar(rest)?,
            ':' if rest.starts_with("::") => (Some(Token::Cast), 2),
            '0'..='9' => (Some(Token::Value), number(rest)),
            _ if starts_name(first) => named(rest, at)?,
            _ if is_operator(first) => {
                let length = operator(rest);
                (Some(Token::Operator { text: rest[..length].to_owned(), at: at..at + length }), length)
            }
            _ => (Some(Token::Symbol(first)), first.len_utf8()),
        };
        if token.is_some() {
            escapes = token == Some(Token::Text) && matches!(first, 'e' | 'E');
        }
        all.extend(token);
        at += length;
    }
    Ok(all)
}

fn starts_name(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_' || !letter.is_ascii()
}

fn is_operator(letter: char) -> bool {
    "+-*/<>=~!@#%^&|`?".contains(letter)
}

/// The length of a name.
fn word(text: &str) -> usize {
    let is_part = |letter: char| starts_name(letter) || letter.is_ascii_digit() || letter == '$';
    text.find(|letter| !is_part(letter)).unwrap_or(text.len())
}

fn number(text: &str) -> usize {
    let digits = |text: &str| text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let whole = digits(text);
    let fraction = text[whole..].strip_prefix('.').map_or(0, |rest| 1 + digits(rest));
    whole + fraction
}

/// Several signs may be one operator; a comment ends it.
fn operator(text: &str) -> usize {
    let end = text.find(|letter| !is_operator(letter)).unwrap_or(text.len());
    let comment = ["--", "/*"].iter().filter_map(|start| text[..end].find(start)).min();
    comment.unwrap_or(end).max(1)
}

/// A name, or a string with a letter before it.
fn named(rest: &str, at: usize) -> Result<(Option<Token>, usize), String> {
    let length = word(rest);
    let text = &rest[..length];
    let after = &rest[length..];
    if after.starts_with('\'') && length == 1 && "eEbBxXnN".contains(text) {
        let escapes = text.eq_ignore_ascii_case("e");
        return Ok((Some(Token::Text), length + quoted(after, '\'', escapes)?.1));
    }
    if text.eq_ignore_ascii_case("u") && (after.starts_with("&'") || after.starts_with("&\"")) {
        return Err("names and strings with Unicode escapes (U&) cannot be used here".into());
    }
    let text = text.chars().map(|letter| letter.to_ascii_lowercase()).collect();
    Ok((Some(Token::Authorization { text, at: at..at + length }), length))
}

/// What is between quotes, and the length with them.
fn quoted(text: &str, quote: char, escapes: bool) -> Result<(String, usize), String> {
    let mut inside = String::new();
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter == '\\' && escapes {
            letters.next();
        } else if letter == quote && letters.peek().is_some_and(|(_, next)| *next == quote) {
            letters.next();
            inside.push(quote);
        } else if letter == quote {
            return Ok((inside, at + 1));
        } else {
            inside.push(letter);
        }
    }
    Err(format!("a {quote} is not closed"))
}

/// Comments nest.
fn comment(text: &str) -> Result<usize, String> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(found) = text[at..].find(['/', '*']) {
        at += found;
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return Ok(at);
            }
        } else {
            at += 1;
        }
    }
    Err("a comment is not closed".into())
}

/// `$tag$ ... $tag$`, or `$1`.
fn dollar(text: &str) -> Result<(Option<Token>, usize), String> {
    let tag = word(&text[1..]);
    let tag = text[1..=tag].split('$').next().unwrap_or_default();
    let is_tag = !tag.starts_with(|letter: char| letter.is_ascii_digit());
    let mark = format!("${tag}$");
    if is_tag && text.starts_with(&mark) {
        let end = text[mark.len()..].find(&mark).ok_or_else(|| format!("a {mark} is not closed"))?;
        return Ok((Some(Token::Text), end + 2 * mark.len()));
    }
    let digits = text[1..].find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len() - 1);
    Ok((Some(Token::Value), 1 + digits))
}
