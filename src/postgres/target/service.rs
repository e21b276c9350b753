//! The service file: connection texts by name.

use std::path::PathBuf;

use super::environment::Environment;
use super::text::Pairs;
use crate::domain::visible::safe;
use crate::postgres::keyword::is_known;

/// Where Debian's libpq looks, and others do.
const OF_SYSTEM: [&str; 2] = ["/etc/postgresql-common", "/etc"];

/// The settings of a service: from the user's file, or else from the system's.
pub(super) fn find(name: &str, file: Option<&str>, here: &Environment) -> Result<Pairs, String> {
    let of_user = file.map(PathBuf::from).or_else(|| here.in_home(".pg_service.conf"));
    let of_system = match here.get("PGSYSCONFDIR") {
        Some(folder) => vec![PathBuf::from(folder)],
        None => OF_SYSTEM.map(PathBuf::from).to_vec(),
    };
    let of_system = of_system.into_iter().map(|folder| folder.join("pg_service.conf"));
    for path in of_user.into_iter().chain(of_system) {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(format!("{}: cannot be read: {error}", path.display())),
        };
        let found = section(name, &text);
        if let Some(found) = found.map_err(|(line, why)| format!("{}:{line}: {why}", path.display()))? {
            return Ok(found);
        }
    }
    let wanted = safe(name);
    Err(format!("there is no service {wanted}; write it into ~/.pg_service.conf, or set PGSERVICEFILE"))
}

/// The settings below `[name]`, or the line and nature of the first error among them.
fn section(name: &str, text: &str) -> Result<Option<Pairs>, (usize, String)> {
    let mut found: Option<Pairs> = None;
    for (number, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(title) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            if title.strip_suffix(']') == Some(name) {
                found = Some(Vec::new());
            }
            continue;
        }
        let Some(settings) = &mut found else { continue };
        // Values stay unsaid: one of them may be a password.
        let (key, value) = line.split_once('=').ok_or((number, "this is not `key=value`".to_owned()))?;
        let (key, value) = (key.trim(), value.trim());
        if !is_known(key) {
            return Err((number, format!("{} is not a known parameter", safe(key))));
        }
        if key == "service" {
            return Err((number, "a service cannot name another one".into()));
        }
        settings.push((key.into(), value.into()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_ends_where_the_next_begins_and_errors_name_their_line() {
        let file =
            "# all\n[a]\nhost=x\n\n[b]\nhost = /run\nport=6\n# no\n[c]\nservice=a\n[d]\nnonsense=canary\n";
        let b = section("b", file).unwrap().unwrap();
        assert_eq!(b, [("host".into(), "/run".into()), ("port".into(), "6".into())]);
        assert!(section("z", file).unwrap().is_none());
        assert_eq!(section("c", file).unwrap_err().0, 10);
        let (line, why) = section("d", file).unwrap_err();
        assert!(line == 12 && why.contains("nonsense") && !why.contains("canary"));
    }
}
