//! The password file, read by the rules of libpq.

use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::host::Host;
use super::secret::{Password, PasswordText};

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
    let wanted: [&dyn Fn(&str) -> bool; 4] =
        [&|name| host.is_called(name), &|name| name == port, &|name| name == database, &|name| name == user];
    let text = String::from_utf8_lossy(&bytes);
    match text.lines().find_map(|line| password(line, &wanted)) {
        Some(found) => Password::Known(PasswordText::new(found, format!("in {}", file.display()))),
        None => Password::None { ignored: None },
    }
}

/// The password of a line whose four fields fit.
fn password(line: &str, wanted: &[&dyn Fn(&str) -> bool; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut rest = line;
    for is_wanted in wanted {
        let (field, bare, after) = field(rest)?;
        if bare != "*" && !is_wanted(&field) {
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

    fn found(line: &str, wanted: [&str; 4]) -> Option<String> {
        let [host, port, database, user] = wanted;
        password(
            line,
            &[&|name| name == host, &|name| name == port, &|name| name == database, &|name| name == user],
        )
    }

    #[test]
    fn fields_fit_by_name_or_star_and_escapes_are_undone() {
        let ann = ["db", "5432", "app", "ann"];
        assert_eq!(found("db:5432:app:ann:pw", ann).as_deref(), Some("pw"));
        assert_eq!(found("*:*:*:*:p\\:w\\\\", ann).as_deref(), Some("p:w\\"));
        assert_eq!(found("db:5433:app:ann:pw", ann), None);
        assert_eq!(found("# db:5432:app:ann:pw", ann), None);
        assert_eq!(found("db:5432:app:ann", ann), None);
        let odd = ["::1", "1", "a:b", "back\\slash"];
        assert_eq!(found("\\:\\:1:1:a\\:b:back\\\\slash:x", odd).as_deref(), Some("x"));
        let only = "db:1:d:\\*:only the star";
        assert_eq!(found(only, ["db", "1", "d", "*"]).as_deref(), Some("only the star"));
        assert_eq!(found(only, ["db", "1", "d", "ann"]), None);
    }

    #[test]
    fn a_socket_goes_by_its_folder_or_as_localhost() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pass");
        let hosts = Host::list(Some("/run/pg"), None, None).unwrap();
        for (line, known) in [("localhost:*:*:*:x", true), ("/run/pg:*:*:*:x", true), ("/run:*:*:*:x", false)]
        {
            std::fs::write(&file, line).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
            assert_eq!(matches!(find(&file, &hosts[0], "d", "u"), Password::Known(_)), known, "{line}");
        }
    }
}
