//! SQL cut into tokens as PostgreSQL does it, with `standard_conforming_strings` on.

use std::ops::Range;

use crate::store::sql_text::{comment_length, dollar_length, dollar_tag, quoted_length};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or a keyword, in lower case.
    Word { text: String, at: Range<usize> },
    /// A name in quotes, as it is meant.
    Quoted { text: String, at: Range<usize> },
    /// One or more signs, such as `<=`.
    Operator { text: String, at: Range<usize> },
    /// `::`
    Cast,
    /// A string.
    Text,
    /// A number, or a value that is sent along by number.
    Value,
    /// Any other letter.
    Symbol(char),
}

impl Token {
    /// What it names, if it is a name.
    pub(super) fn name(&self) -> Option<(&str, Range<usize>)> {
        match self {
            Token::Word { text, at } | Token::Quoted { text, at } => Some((text, at.clone())),
            _ => None,
        }
    }
}

/// Cuts a text; an error where PostgreSQL could read it otherwise.
pub(super) fn tokens(sql: &str) -> Result<Vec<Token>, String> {
    let mut all = Vec::new();
    let mut at = 0;
    // A string that goes on after a line break keeps the escapes of its first part.
    let mut escapes = false;
    while let Some(first) = sql[at..].chars().next() {
        let rest = &sql[at..];
        let (token, length) = match first {
            ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c' => (None, 1),
            '-' | '/' if rest.starts_with("--") || rest.starts_with("/*") => {
                (None, comment_length(rest).ok_or("a comment is not closed")?)
            }
            '\'' if escapes => return Err("a string with escapes must be written in one part".into()),
            '\'' => (Some(Token::Text), quoted(rest, false)?),
            '"' => {
                let length = quoted(rest, false)?;
                let text = rest[1..length - 1].replace("\"\"", "\"");
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
        return Ok((Some(Token::Text), length + quoted(after, escapes)?));
    }
    if text.eq_ignore_ascii_case("u") && (after.starts_with("&'") || after.starts_with("&\"")) {
        return Err("names and strings with Unicode escapes (U&) cannot be used here".into());
    }
    let text = text.chars().map(|letter| letter.to_ascii_lowercase()).collect();
    Ok((Some(Token::Word { text, at: at..at + length }), length))
}

/// The length of what is between quotes, with them.
fn quoted(text: &str, escapes: bool) -> Result<usize, String> {
    let quote = text.chars().next().unwrap_or_default();
    quoted_length(text, escapes).ok_or_else(|| format!("a {quote} is not closed"))
}

/// `$tag$ ... $tag$`, or `$1`.
fn dollar(text: &str) -> Result<(Option<Token>, usize), String> {
    if let Some(tag) = dollar_tag(text) {
        let length = dollar_length(text, tag).ok_or_else(|| format!("a {tag} is not closed"))?;
        return Ok((Some(Token::Text), length));
    }
    let digits = text[1..].find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len() - 1);
    Ok((Some(Token::Value), 1 + digits))
}
