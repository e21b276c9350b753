//! No code reads a sentence that a person is meant to read: what it says is data somewhere.

use super::all_sources;

/// Where messages of others are read because they say it in no other way, and why.
const MAY_READ: [(&str, &str); 7] = [
    ("cli/man.rs", "clap writes the manual as text"),
    ("config.rs", "TOML errors are text, also those that our own types report through the parser"),
    ("liveness/proc_stat.rs", "the kernel writes /proc as text"),
    ("postgres/error.rs", "a cause of an error often repeats its message"),
    ("store/postgres/indexes.rs", "EXPLAIN answers in text"),
    ("postgres/link/dial.rs", "the driver tells failed connections apart by their text only"),
    ("store/sqlite/plan.rs", "EXPLAIN QUERY PLAN answers in text"),
];

const LOOKING: [&str; 14] = [
    "contains",
    "starts_with",
    "ends_with",
    "split",
    "split_once",
    "rsplit",
    "rsplit_once",
    "splitn",
    "strip_prefix",
    "strip_suffix",
    "trim_start_matches",
    "trim_end_matches",
    "find",
    "replace",
];

/// What sentences are called in this crate.
const SENTENCES: [&str; 12] = [
    "why", "said", "sentence", "message", "error", "hint", "notice", "problem", "refusal", "moved",
    "outcome", "advice",
];

#[test]
fn no_code_reads_a_sentence() {
    let mut wrong = Vec::new();
    for (path, text) in all_sources() {
        let name = path.display().to_string();
        if name.ends_with("tests.rs") || MAY_READ.iter().any(|(file, _)| *file == name) {
            continue;
        }
        let tests = text.find("#[cfg(test)]").unwrap_or(text.len());
        wrong.extend(
            statements(&text[..tests])
                .iter()
                .filter(|line| reads_a_sentence(line))
                .map(|line| format!("{name}: {}", line.trim())),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The lines of code, with a chain of methods on one line, wherever it was broken.
fn statements(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        match lines.last_mut() {
            Some(last) if line.trim_start().starts_with('.') => last.push_str(line.trim()),
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

#[test]
fn every_exception_is_a_file_that_needs_it() {
    let sources = all_sources();
    for (file, _) in MAY_READ {
        let text = sources.iter().find(|(path, _)| path.display().to_string() == file);
        let text = &text.unwrap_or_else(|| panic!("there is no {file}")).1;
        assert!(statements(text).iter().any(|line| reads_a_sentence(line)), "{file} reads no sentence");
    }
}

#[test]
fn what_reads_a_sentence_is_recognised() {
    for wrong in [
        r#"if why.contains(x) {"#,
        r#"let (said, fix) = error.to_string().split_once(x);"#,
        r#"self.message.starts_with(start)"#,
        r#"text.split("; --")"#,
        r#"text.strip_prefix("would, but ")"#,
        r#"name.starts_with(&format!("board {name} "))"#,
        r#"if format!("{error}").contains("gone") {"#,
        "let is_gone = error\n    .to_string()\n    .contains(word);",
        "event.message().starts_with(word)",
    ] {
        assert!(statements(wrong).iter().any(|line| reads_a_sentence(line)), "{wrong}");
    }
    for right in [
        r#"reasons.contains(reason)"#,
        r#"sql.contains(":until")"#,
        r#"sql.split("; ")"#,
        r#"text.split(' ')"#,
        r#"complain("it is so: no")"#,
        r#"place.split_once('/')"#,
        r#"declared.ends_with("with time zone")"#,
    ] {
        assert!(!reads_a_sentence(right), "{right}");
    }
}

/// Whether a line looks for something in a text that is called like a sentence, or for a part of a sentence.
fn reads_a_sentence(line: &str) -> bool {
    LOOKING.iter().any(|method| {
        let call = format!(".{method}(");
        line.match_indices(&call).any(|(at, _)| {
            let (before, argument) = (&line[..at], &line[at + call.len()..]);
            let is_sql = before.ends_with("sql");
            is_sentence(before) || !is_sql && literal(argument).is_some_and(is_of_a_sentence)
        })
    })
}

/// Whether what stands before a method is called like a sentence, or made one just before.
fn is_sentence(before: &str) -> bool {
    let made = [".to_string()", ".why()", ".cause()", ".said()", ".message()", ".sentence()"];
    let made = made.iter().any(|end| before.ends_with(end)) || is_formatted(before);
    let name = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    made || SENTENCES.contains(&name)
}

/// Whether what stands before a method is a `format!` that writes nothing but one value: its sentence.
fn is_formatted(before: &str) -> bool {
    let argument = before.rfind("format!(").and_then(|at| before[at..].strip_prefix("format!(\"{"));
    argument.is_some_and(|argument| argument.ends_with("}\")"))
}

/// The literal with which an argument begins, be it made with `format!`.
fn literal(argument: &str) -> Option<&str> {
    let argument = argument.strip_prefix("&format!(").unwrap_or(argument);
    argument.strip_prefix('"')?.split('"').next()
}

/// Words with a space, or the punctuation between two thoughts. The names of some types have spaces as well.
fn is_of_a_sentence(text: &str) -> bool {
    if text.ends_with("time zone") {
        return false;
    }
    text.contains(' ') && text.chars().any(|c| c.is_ascii_lowercase())
        || text.starts_with("; ")
        || text == ": "
}
