//! A connection text, taken apart. No message quotes a value: one of them may be a password.

use percent_encoding::percent_decode_str;
use std::str::Chars;

use crate::domain::visible::safe;
use crate::postgres::address;
use crate::postgres::keyword::is_known;

pub(super) type Pairs = Vec<(String, String)>;

/// The parameters of a URL or of `key=value` pairs.
pub(super) fn pairs(text: &str) -> Result<Pairs, String> {
    let pairs = match of_url(text) {
        Some(pairs) => pairs?,
        None => of_words(text)?,
    };
    if pairs.iter().any(|(key, value)| key == "dbname" && value.contains("://")) {
        return Err("dbname holds a whole address; write that address alone".into());
    }
    match pairs.iter().find(|(key, _)| !is_known(key)) {
        // After a quote or an & in the wrong place a key may be half a password.
        Some((key, _)) if address::names_a_secret(&text.to_ascii_lowercase()) || !is_word(key) => {
            Err("a parameter is not known; leave it out, and check the quotes and the &".into())
        }
        Some((key, _)) => Err(format!("{} is not a parameter that claimtop knows; leave it out", safe(key))),
        None => Ok(pairs),
    }
}

fn is_word(key: &str) -> bool {
    key.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

/// None if it is no URL.
fn of_url(text: &str) -> Option<Result<Pairs, String>> {
    let (scheme, rest) = text.split_once("://")?;
    let ours = ["postgres", "postgresql"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    ours.then(|| url(rest))
}

fn url(rest: &str) -> Result<Pairs, String> {
    let mut pairs = Vec::new();
    let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (login, hosts) = match authority.rsplit_once('@') {
        Some((login, hosts)) => (login, hosts),
        None => ("", authority),
    };
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let (names, ports) = split_hosts(hosts)?;
    for (key, value) in [("user", user), ("password", password), ("dbname", database)] {
        let value = decoded(value)?;
        if key != "password" && value.contains(':') {
            // It may be a password that came into the wrong place.
            return Err(format!("the {key} of the URL holds a ':'; write `{key}=...` if that is meant"));
        }
        pairs.push((key.to_owned(), value));
    }
    pairs.push(("host".into(), decoded(&names)?));
    pairs.push(("port".into(), ports));
    for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
        let (key, value) =
            parameter.split_once('=').ok_or("a parameter of the URL has no value".to_owned())?;
        match (decoded(key)?, decoded(value)?) {
            // JDBC's word for it, which libpq takes too.
            (key, value) if key == "ssl" && value == "true" => {
                pairs.push(("sslmode".into(), "require".into()));
            }
            pair => pairs.push(pair),
        }
    }
    pairs.retain(|(_, value)| !value.is_empty());
    Ok(pairs)
}

/// The hosts of a URL and their ports, each as a list.
fn split_hosts(hosts: &str) -> Result<(String, String), String> {
    let (mut names, mut ports) = (Vec::new(), Vec::new());
    for host in hosts.split(',') {
        let (name, port) = match host.strip_prefix('[') {
            Some(rest) => {
                let (name, after) =
                    rest.split_once(']').ok_or("a [ of the URL is never closed".to_owned())?;
                (name, after.strip_prefix(':').unwrap_or(after))
            }
            None => host.split_once(':').unwrap_or((host, "")),
        };
        names.push(name);
        ports.push(port);
    }
    let any = ports.iter().any(|port| !port.is_empty());
    let ports = if any { ports.join(",") } else { String::new() };
    let names = if names.iter().all(|name| name.is_empty()) { String::new() } else { names.join(",") };
    Ok((names, ports))
}

fn decoded(text: &str) -> Result<String, String> {
    let wrong = || "a %xx of the URL is not UTF-8".to_owned();
    let text = percent_decode_str(text).decode_utf8().map_err(|_| wrong())?;
    if text.contains('\0') {
        return Err("a value of the URL holds a zero byte".into());
    }
    Ok(text.into_owned())
}

fn of_words(text: &str) -> Result<Pairs, String> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (key, after) = rest
            .split_once('=')
            .ok_or("a word is not `key=value`; write a URL, or values with spaces in '...'".to_owned())?;
        let key = key.trim_end();
        if key.is_empty() || key.contains(char::is_whitespace) {
            return Err("a word is not `key=value`; write a URL, or values with spaces in '...'".into());
        }
        let mut letters = after.trim_start().chars();
        let value = value(&mut letters)?;
        pairs.push((key.to_owned(), value));
        rest = letters.as_str().trim_start();
    }
    Ok(pairs)
}

/// A value, quoted or not, with its escapes undone.
fn value(letters: &mut Chars<'_>) -> Result<String, String> {
    let mut value = String::new();
    let quoted = letters.as_str().starts_with('\'');
    if quoted {
        letters.next();
    }
    loop {
        match letters.next() {
            None if quoted => return Err("a ' is never closed".into()),
            None => return Ok(value),
            Some('\'') if quoted => return Ok(value),
            Some(letter) if letter.is_whitespace() && !quoted => return Ok(value),
            Some('\\') => value.extend(letters.next()),
            Some(letter) => value.push(letter),
        }
    }
}
