//! The password file, read by the rules of libpq.

use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::host::Host;
use super::secret::{Password, Secret};

/// The password of the first line that fits.
pub(super) fn find(file: &Path, host: &Host, database: &str, user: &str) -> Password {
    let ignored =
        |why: &str| Password::None { ignored: Some(format!("{} is ignored: {why}", file.display())) };
    let mut open = match std::fs::OpenOptions::new().read(true).open(file) {
        Ok(open) => open,
        Err(error) if error.kind() == ErrorKind::NotFound => return Password::None { ignored: None },
        Err(error) => return ignored(&format!("it cannot be read ({error})")),
    };
    match open.metadata() {
        Ok(found) if !found.is_file() => return ignored("it is not a plain file"),
        Ok(found) if found.permissions().mode() & 0o077 != 0 => {
            return ignored("others than its owner may read it; `chmod 600` it");
        }
        Ok(_) => {}
        Err(error) => return ignored(&format!("it cannot be read ({error})")),
    }
    let mut bytes = Vec::new();
    if let Err(error) = open.read_to_end(&mut bytes) {
        return ignored(&format!("it cannot be read ({error})"));
    }
    let port = host.port.to_string();
    let wanted = [host.in_pgpass(), port, database.to_owned(), user.to_owned()];
    let text = String::from_utf8_lossy(&bytes);
    match text.lines().find_map(|line| password(line, &wanted)) {
        Some(found) => Password::Known(Secret::new(found, format!("in {}", file.display()))),
        None => Password::None { ignored: None },
    }
}

/// The password of a line whose four fields fit.
fn password(line: &str, wanted: &[String; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut rest = line;
    for wanted in wanted {
        let (field, bare, after) = field(rest)?;
        if bare != "*" && field != *wanted {
            return None;
        }
        rest = after;
    }
    // The password is the last field; what follows another colon is none of it.
    let mut password = String::new();
    let mut letters = rest.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ':' => break,
            '\\' => password.extend(letters.next()),
            letter => password.push(letter),
        }
    }
    (!password.is_empty()).then_some(password)
}

/// A field without its escapes, as it is written, and what follows its colon.
fn field(text: &str) -> Option<(String, &str, &str)> {
    let mut field = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            ':' => return Some((field, &text[..at], &text[at + 1..])),
            '\\' => field.extend(letters.next().map(|(_, escaped)| escaped)),
            letter => field.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(host: &str, port: &str, database: &str, user: &str) -> [String; 4] {
        [host, port, database, user].map(str::to_owned)
    }

    #[test]
    fn fields_fit_by_name_or_star_and_escapes_are_undone() {
        let ann = wanted("db", "5432", "app", "ann");
        assert_eq!(password("db:5432:app:ann:pw", &ann).as_deref(), Some("pw"));
        assert_eq!(password("*:*:*:*:p\\:w\\\\", &ann).as_deref(), Some("p:w\\"));
        assert_eq!(password("db:5433:app:ann:pw", &ann), None);
        assert_eq!(password("# db:5432:app:ann:pw", &ann), None);
        assert_eq!(password("db:5432:app:ann", &ann), None);
        let odd = wanted("::1", "1", "a:b", "back\\slash");
        assert_eq!(password("\\:\\:1:1:a\\:b:back\\\\slash:x", &odd).as_deref(), Some("x"));
        let star = wanted("db", "1", "d", "*");
        assert_eq!(password("db:1:d:\\*:only the star", &star).as_deref(), Some("only the star"));
        assert_eq!(password("db:1:d:\\*:only the star", &wanted("db", "1", "d", "ann")), None);
    }
}
