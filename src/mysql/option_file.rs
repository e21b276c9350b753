//! `~/.my.cnf`, read by the rules of MySQL's own clients: the groups `[client]`, `[client-server]` and
//! `[client-mariadb]`, with the suffix of `MYSQL_GROUP_SUFFIX` as well, and what `!include` and `!includedir` name.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What the file says, and why its password was not taken.
#[derive(Debug, Default)]
pub(super) struct OptionFile {
    options: BTreeMap<String, String>,
    pub ignored: Option<String>,
}

/// Files that include files, as deep as MySQL's own clients follow.
const DEPTH: usize = 10;

const GROUPS: [&str; 3] = ["client", "client-server", "client-mariadb"];

impl OptionFile {
    /// Reads it; a file that is not there says nothing.
    pub(super) fn read(path: &Path, suffix: Option<&str>) -> OptionFile {
        let plain = GROUPS.map(str::to_owned).to_vec();
        let suffixed = suffix.map(|suffix| GROUPS.map(|group| format!("{group}{suffix}")).to_vec());
        let mut read = OptionFile::default();
        // The groups with a suffix are more specific, wherever they stand.
        for groups in std::iter::once(plain).chain(suffixed) {
            read.add(path, &groups, 0);
        }
        read
    }

    fn add(&mut self, path: &Path, groups: &[String], depth: usize) {
        let Ok(mut file) = std::fs::OpenOptions::new().read(true).open(path) else { return };
        let is_private = file.metadata().is_ok_and(|found| found.permissions().mode() & 0o077 == 0);
        let mut bytes = Vec::new();
        if depth > DEPTH || file.read_to_end(&mut bytes).is_err() {
            return;
        }
        for line in lines(&String::from_utf8_lossy(&bytes), groups) {
            match line {
                Line::Include(word) => {
                    included(path, &word).iter().for_each(|file| self.add(file, groups, depth + 1));
                }
                Line::IncludeDir(word) => {
                    folder(path, &word).iter().for_each(|file| self.add(file, groups, depth + 1));
                }
                Line::Option(name, _) if name == "password" && !is_private => {
                    let path = path.display();
                    self.ignored = Some(format!(
                        "the password in {path} is ignored: others than its owner may read it; `chmod 600` it"
                    ));
                }
                Line::Option(name, value) => {
                    self.options.insert(name, value);
                }
            }
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }
}

/// A line that says something.
enum Line {
    Option(String, String),
    Include(String),
    IncludeDir(String),
}

/// Relative to the file that names it.
fn included(by: &Path, word: &str) -> Vec<PathBuf> {
    vec![by.parent().unwrap_or(Path::new("")).join(word)]
}

/// The files of a folder whose names end in `.cnf`, in a fixed order.
fn folder(by: &Path, word: &str) -> Vec<PathBuf> {
    let entries = included(by, word).into_iter().filter_map(|folder| std::fs::read_dir(folder).ok());
    let mut files: Vec<PathBuf> = entries.flatten().flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "cnf"));
    files.sort();
    files
}

/// The options of these groups, in their order. Names may be written with `_` for `-`.
fn lines(text: &str, groups: &[String]) -> Vec<Line> {
    let mut found = Vec::new();
    let mut is_ours = false;
    for line in text.lines().map(str::trim) {
        if let Some(word) = line.strip_prefix("!includedir") {
            found.push(Line::IncludeDir(word.trim().to_owned()));
        } else if let Some(word) = line.strip_prefix("!include") {
            found.push(Line::Include(word.trim().to_owned()));
        } else if let Some(group) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            is_ours = groups.iter().any(|ours| ours == group.trim());
        } else if let (true, false, Some((name, value))) =
            (is_ours, line.starts_with(['#', ';']), line.split_once('='))
        {
            let name = name.trim().replace('_', "-").to_ascii_lowercase();
            found.push(Line::Option(name, unquoted(value.trim())));
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

    fn write(path: PathBuf, mode: u32, text: &str) -> PathBuf {
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn only_the_groups_of_all_clients_count_and_the_last_value_of_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let text = "user=nobody\n[mysqld]\nuser=mysql\n[client]\n# a comment\nuser = ann\nhost=db\nssl_ca=/a b.pem\n\
                    host=\"db2\" \npassword='it''s#\\\\x'\n[client-mariadb]\nport=7\n[mysql]\nuser=bob\n";
        let found = OptionFile::read(&write(folder.path().join("my.cnf"), 0o600, text), None);
        for (name, value) in [
            ("user", "ann"),
            ("host", "db2"),
            ("ssl-ca", "/a b.pem"),
            ("password", "it''s#\\x"),
            ("port", "7"),
        ] {
            assert_eq!(found.get(name), Some(value), "{name}");
        }
    }

    #[test]
    fn other_files_are_included_and_a_suffix_names_further_groups() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("d")).unwrap();
        write(at("d/b.cnf"), 0o600, "[client]\nhost=b\nuser=b\n");
        write(at("d/a.cnf"), 0o600, "[client]\nhost=a\n[client-prod]\nhost=prod\n");
        write(at("d/c.txt"), 0o600, "[client]\nhost=c\n");
        // It names itself: that ends somewhere.
        write(at("more"), 0o644, "[client]\nport=9\npassword=open\n!include my.cnf\n");
        let file = write(at("my.cnf"), 0o600, "!include more\n!includedir d\n[client]\nuser=own\n");
        let found = OptionFile::read(&file, None);
        assert_eq!(
            (found.get("host"), found.get("user"), found.get("port")),
            (Some("b"), Some("own"), Some("9"))
        );
        assert_eq!(found.get("password"), None);
        assert!(found.ignored.unwrap().contains("more is ignored"));
        assert_eq!(OptionFile::read(&file, Some("-prod")).get("host"), Some("prod"));
        assert_eq!(OptionFile::read(&at("none"), None).get("host"), None);
    }
}
