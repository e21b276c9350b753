//! `~/.my.cnf`, read by the rules of MySQL's own clients: the group `[client]`.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What the file says, and why its password was not taken.
#[derive(Debug, Default)]
pub(super) struct OptionFile {
    options: BTreeMap<String, String>,
    pub ignored: Option<String>,
}

impl OptionFile {
    /// Reads it; a file that is not there says nothing.
    pub(super) fn read(path: &Path) -> OptionFile {
        let Ok(mut file) = std::fs::OpenOptions::new().read(true).open(path) else {
            return OptionFile::default();
        };
        let is_private = file.metadata().is_ok_and(|found| found.permissions().mode() & 0o077 == 0);
        let mut bytes = Vec::new();
        if file.read_to_end(&mut bytes).is_err() {
            return OptionFile::default();
        }
        let mut read = OptionFile { options: options(&String::from_utf8_lossy(&bytes)), ignored: None };
        if !is_private && read.options.remove("password").is_some() {
            let path = path.display();
            read.ignored = Some(format!(
                "the password in {path} is ignored: others than its owner may read it; `chmod 600` it"
            ));
        }
        read
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }
}

/// The options of `[client]`; of two with one name the last counts. Names may be written with `_` for `-`.
fn options(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut is_ours = false;
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';', '!']) {
            continue;
        }
        if let Some(group) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            is_ours = group.trim() == "client";
            continue;
        }
        if let (true, Some((name, value))) = (is_ours, line.split_once('=')) {
            found.insert(name.trim().replace('_', "-").to_ascii_lowercase(), unquoted(value.trim()));
        }
    }
    found
}

/// Without its quotes, its comment and its escapes.
fn unquoted(value: &str) -> String {
    let quote = value.chars().next().filter(|first| ['\'', '"'].contains(first));
    let inner = match quote {
        Some(quote) => value[1..].rfind(quote).map_or(&value[1..], |end| &value[1..=end]),
        None => value.split(" #").next().unwrap_or_default().trim_end(),
    };
    let mut text = String::with_capacity(inner.len());
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match (letter, letters.as_str().chars().next()) {
            ('\\', Some(next @ ('\\' | '"' | '\''))) => {
                letters.next();
                text.push(next);
            }
            ('\\', Some('s')) => {
                letters.next();
                text.push(' ');
            }
            _ => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_group_of_all_clients_counts_and_the_last_value_of_a_name() {
        let text = "user=nobody\n[mysqld]\nuser=mysql\n[client]\n# a comment\nuser = ann\nhost=db\nssl_ca=/a b.pem\n\
                    host=\"db2\" \npassword='it''s#\\\\x'\n[mysql]\nuser=bob\n";
        let found = options(text);
        for (name, value) in
            [("user", "ann"), ("host", "db2"), ("ssl-ca", "/a b.pem"), ("password", "it''s#\\x")]
        {
            assert_eq!(found.get(name).map(String::as_str), Some(value), "{name}");
        }
    }
}
