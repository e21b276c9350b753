//! A connection text without its secrets. Rather too much is hidden than too little.

use percent_encoding::percent_decode_str;

use super::keyword::is_known;

/// The text with every password as `***`: neither `user:secret@` nor `password=secret`.
pub fn without_password(text: &str) -> String {
    match text.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{}", without_parameters(&without_login(rest))),
        None => without_words(text),
    }
}

/// Whether the text holds a password.
pub fn has_password(text: &str) -> bool {
    without_password(text) != text
}

fn without_login(rest: &str) -> String {
    // An @ among the parameters is none of the login.
    let begins = |at: &usize| rest[at + 1..].split_once('=').is_some_and(|(key, _)| is_known(key));
    let end = rest.match_indices('?').map(|(at, _)| at).find(begins).unwrap_or(rest.len());
    let (place, parameters) = rest.split_at(end);
    // The last @: a password may hold one, or a slash.
    let Some((login, host)) = place.rsplit_once('@') else { return rest.into() };
    match login.split_once(':') {
        Some((user, secret)) if !secret.is_empty() => format!("{user}:***@{host}{parameters}"),
        _ => rest.into(),
    }
}

fn without_parameters(rest: &str) -> String {
    let Some((path, parameters)) = rest.split_once('?') else { return without_words(rest) };
    let hidden = parameters.split('&').map(|parameter| match parameter.split_once('=') {
        Some((key, value)) if is_secret(key) && !value.is_empty() => format!("{key}=***"),
        _ => parameter.into(),
    });
    format!("{path}?{}", hidden.collect::<Vec<String>>().join("&"))
}

fn is_secret(key: &str) -> bool {
    percent_decode_str(key).decode_utf8_lossy().to_ascii_lowercase().contains("password")
}

/// `key=value` pairs: a value ends at a space, or at its quote.
fn without_words(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let Some(start) = lower.find("password").map(|at| at + "password".len()) else { return text.into() };
    let (before, after) = text.split_at(start);
    let Some(value) = after.trim_start().strip_prefix('=').map(str::trim_start) else {
        return format!("{before}{}", without_words(after));
    };
    let length = length_of_value(value);
    if length == 0 {
        return format!("{before}={}", without_words(value));
    }
    format!("{before}=***{}", without_words(&value[length..]))
}

fn length_of_value(value: &str) -> usize {
    let quoted = value.starts_with('\'');
    let mut escaped = false;
    for (at, letter) in value.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\'' if quoted && at > 0 => return at + 1,
            letter if letter.is_whitespace() && !quoted => return at,
            _ => {}
        }
    }
    value.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_way_to_write_a_password_shows_it() {
        let ways = [
            "postgres://u:canary@h/d",
            "postgres://u:can@ry/canary@h/d?x=1",
            "postgres://h/d?user=u&password=canary&sslmode=require",
            "postgres://h/d?pass%77ord=canary",
            "postgres://u:can?canary@h/d",
            "postgres://u:canary@h/d?user=x@y",
            "host=h password=canary user=u",
            "host=h password = 'canary with canary' user=u",
            "host=h password='canary\\' canary'",
            "host=h password='canary never closed",
            "password=canary password=canary",
            "PASSWORD=canary\\ canary host=h",
            "host=h sslpassword=canary",
        ];
        for way in ways {
            let shown = without_password(way);
            assert!(has_password(way), "{way}");
            assert!(!shown.contains("canary") && !shown.contains("ry@"), "{shown}");
        }
        assert_eq!(without_password("postgres://u:p@h/d?user=x@y"), "postgres://u:***@h/d?user=x@y");
        for harmless in [
            "postgres://u@h/d?sslmode=require",
            "postgres://h:5/d?user=a@b",
            "host=h user=u",
            "postgres://u:@h/d",
            "/a/b.db",
        ] {
            assert!(!has_password(harmless), "{harmless}");
        }
    }
}
