//! What a statement beside an act does to which rows, by its text.

use crate::store::sql_text::{comment_length, quoted_length};

/// A statement on the rows of one table. Whatever is more complicated has none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BesideText<'a> {
    pub verb: StatementVerb,
    pub table: String,
    /// What its condition calls the table.
    pub alias: String,
    /// Which rows it changes.
    pub condition: &'a str,
    set: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementVerb {
    Insert,
    Update,
    Delete,
    /// It reads, and perhaps locks, rows that have to be there.
    Select,
}

/// A word, a quoted name or a sign outside of all brackets.
#[derive(Debug, Clone, Copy)]
struct TopWord<'a> {
    text: &'a str,
    at: usize,
}

impl TopWord<'_> {
    fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }
}

/// What would make it more than a statement on some rows of one table.
const MORE: [&str; 12] = [
    "IGNORE",
    "LOW_PRIORITY",
    "QUICK",
    "DELAYED",
    "DUPLICATE",
    "RETURNING",
    "LIMIT",
    "USING",
    "JOIN",
    "INTO",
    "PARTITION",
    "UNION",
];

impl<'a> BesideText<'a> {
    pub(super) fn of(sql: &'a str) -> Option<BesideText<'a>> {
        let words = top_words(sql)?;
        let first = words.first()?;
        let verb = match () {
            () if first.is("INSERT") => StatementVerb::Insert,
            () if first.is("UPDATE") => StatementVerb::Update,
            () if first.is("DELETE") => StatementVerb::Delete,
            () if first.is("SELECT") => StatementVerb::Select,
            () => return None,
        };
        let is_more = |word: &TopWord<'_>| {
            let is_its = verb == StatementVerb::Insert && word.is("INTO")
                || verb == StatementVerb::Select && !word.is("INTO");
            !is_its && (word.text == ";" || MORE.iter().any(|more| word.is(more)))
        };
        if words.iter().any(is_more) {
            return None;
        }
        let find = |wanted: &str| words.iter().position(|word| word.is(wanted));
        let end = find("WHERE");
        let condition = end.map_or("TRUE", |at| &sql[words[at].at + "WHERE".len()..]);
        let (named, set) = match verb {
            StatementVerb::Select => (&words[..0], ""),
            StatementVerb::Insert => {
                (words.get(2..3).filter(|_| words.get(1).is_some_and(|word| word.is("INTO")))?, "")
            }
            StatementVerb::Update => {
                let set = find("SET")?;
                let last = end.map_or(sql.len(), |at| words[at].at);
                (words.get(1..set)?, &sql[words[set].at..last])
            }
            StatementVerb::Delete => {
                let named = words.get(2..end.unwrap_or(words.len()))?;
                (words.get(1).filter(|word| word.is("FROM")).map(|_| named)?, "")
            }
        };
        let (table, alias) = match named {
            [] => (String::new(), String::new()),
            [table] => (unquoted(table.text), last_part(&unquoted(table.text))),
            [table, alias] => (unquoted(table.text), unquoted(alias.text)),
            [table, word, alias] if word.is("AS") => (unquoted(table.text), unquoted(alias.text)),
            _ => return None,
        };
        Some(BesideText { verb, table, alias, condition, set })
    }

    /// Whether it mentions a column where it sets some.
    pub(super) fn may_set(&self, column: &str) -> bool {
        let mut words = self.set.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|word| word.eq_ignore_ascii_case(column))
    }
}

fn unquoted(name: &str) -> String {
    name.replace(['"', '`'], "")
}

fn last_part(name: &str) -> String {
    name.rsplit('.').next().unwrap_or(name).to_owned()
}

/// The words of a statement outside of brackets; nothing, if it is not closed.
fn top_words(sql: &str) -> Option<Vec<TopWord<'_>>> {
    let (mut words, mut depth, mut at) = (Vec::new(), 0_usize, 0);
    while let Some(letter) = sql[at..].chars().next() {
        let rest = &sql[at..];
        let is_comment = rest.starts_with("--") || rest.starts_with("/*");
        let length = match letter {
            '-' | '/' if is_comment => comment_length(rest)?,
            '\'' => quoted_length(rest, false)?,
            '(' => {
                depth += 1;
                1
            }
            ')' => {
                depth = depth.checked_sub(1)?;
                1
            }
            _ if is_name(letter) => name_length(rest)?,
            _ => letter.len_utf8(),
        };
        let is_word = is_name(letter) || matches!(letter, ',' | ';');
        if depth == 0 && is_word {
            words.push(TopWord { text: &rest[..length], at });
        }
        at += length;
    }
    (depth == 0).then_some(words)
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '"' | '`' | '@')
}

/// A name with its dots and quotes.
fn name_length(text: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        at += match letter {
            '"' | '`' => quoted_length(&text[at..], false)?,
            '.' => 1,
            _ if is_name(letter) || letter == '$' => letter.len_utf8(),
            _ => break,
        };
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_on_rows_of_one_table_is_understood() {
        for (sql, verb, table, alias, condition) in [
            (
                "INSERT INTO task_logs (a) VALUES (:id)",
                StatementVerb::Insert,
                "task_logs",
                "task_logs",
                "TRUE",
            ),
            ("UPDATE t SET x = (SELECT 1 FROM u WHERE 1)", StatementVerb::Update, "t", "t", "TRUE"),
            (
                "update \"db\".t AS j SET x = ':a' WHERE j.id = :id",
                StatementVerb::Update,
                "db.t",
                "j",
                " j.id = :id",
            ),
            ("DELETE FROM `t` WHERE id = 1 -- WHERE", StatementVerb::Delete, "t", "t", " id = 1 -- WHERE"),
            (
                "SELECT 1 FROM locks WHERE n = 'x' FOR UPDATE",
                StatementVerb::Select,
                "",
                "",
                " n = 'x' FOR UPDATE",
            ),
        ] {
            let text = BesideText::of(sql).expect(sql);
            assert_eq!(
                (text.verb, &*text.table, &*text.alias, text.condition),
                (verb, table, alias, condition),
                "{sql}"
            );
        }
    }

    #[test]
    fn whatever_is_more_than_that_is_not() {
        for sql in [
            "DROP TABLE t",
            "CALL p()",
            "REPLACE INTO t VALUES (1)",
            "INSERT IGNORE INTO t VALUES (1)",
            "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE x = 1",
            "UPDATE t, u SET t.x = 1",
            "UPDATE t JOIN u ON t.a = u.a SET t.x = 1",
            "UPDATE t SET x = 1 LIMIT 1",
            "DELETE t FROM t JOIN u",
            "DELETE FROM t USING u",
            "SELECT 1 INTO @x",
            "DELETE FROM t; DELETE FROM u",
            "WITH a AS (SELECT 1) DELETE FROM t",
            "UPDATE t SET x = ('",
        ] {
            assert_eq!(BesideText::of(sql), None, "{sql}");
        }
    }
}
