//! The text that names a database, taken apart far enough to know what it is and to show it without its
//! secrets. It hides too much rather than too little.

use super::keyword;
use crate::domain::visible::is_deceptive;
use percent_encoding::percent_decode_str;

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form<'a> {
    /// The path of a file.
    Path(&'a str),
    /// A PostgreSQL URL, or `key=value` pairs.
    Postgres(&'a str),
    /// A URL of MySQL or MariaDB.
    Mysql(&'a str),
    /// An address of a kind that is not supported.
    Unsupported,
}

/// What a text hides when it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Secret {
    None,
    /// Something that may be a password, or a part of one.
    Doubtful,
    Password,
}

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub text: String,
    pub secret: Secret,
}

/// What supported addresses look like, for errors.
pub const SUPPORTED: &str = "write the path of a SQLite file, sqlite://PATH, postgres://USER@HOST/DATABASE, \
                             mysql://USER@HOST/DATABASE, or `host=HOST dbname=DATABASE`";

const HIDDEN: &str = "***";

/// Schemes of addresses that are written without `//` too.
const SCHEMES: [&str; 14] = [
    "jdbc",
    "odbc",
    "file",
    "sqlite",
    "sqlite3",
    "postgres",
    "postgresql",
    "pgsql",
    "mysql",
    "mariadb",
    "sqlserver",
    "oracle",
    "mongodb",
    "redis",
];

/// What a text is, whatever blanks stand before it.
pub fn form(text: &str) -> Form<'_> {
    let trimmed = text.trim_start_matches(is_blank);
    if url_of(trimmed, &["postgres", "postgresql"]).is_some() || is_words(trimmed) {
        return Form::Postgres(trimmed.trim_end_matches(is_blank));
    }
    if url_of(trimmed, &["mysql", "mariadb"]).is_some() {
        return Form::Mysql(trimmed.trim_end_matches(is_blank));
    }
    match url_of(trimmed, &["sqlite"]) {
        Some((_, path)) if !is_address(path) => Form::Path(path),
        Some(_) => Form::Unsupported,
        None if is_address(text) => Form::Unsupported,
        None => Form::Path(text),
    }
}

/// The text as it may be shown to anybody.
pub fn shown(text: &str) -> Shown {
    match form(text) {
        Form::Postgres(text) => match text.split_once("://") {
            Some((scheme, rest)) if !is_words(text) => url(scheme, rest),
            _ => words(text),
        },
        Form::Mysql(text) => {
            text.split_once("://").map_or_else(|| words(text), |(scheme, rest)| url(scheme, rest))
        }
        Form::Unsupported => Shown { text: unsupported(text), secret: Secret::Doubtful },
        // A path that looks as if it held a login stays a path, but nobody needs to read all of it.
        Form::Path(_) => match text.find(':').zip(text.rfind('@')) {
            Some((colon, at)) if colon < at => {
                Shown { text: format!("{}:{HIDDEN}{}", &text[..colon], &text[at..]), secret: Secret::None }
            }
            _ => Shown { text: text.into(), secret: Secret::None },
        },
    }
}

/// Whether a word is one that an address may have before a `=`.
fn is_known(word: &str) -> bool {
    keyword::is_known(word) || ["socket", "ssl-mode", "ssl-ca"].contains(&word)
}

fn is_blank(letter: char) -> bool {
    letter == ' ' || is_deceptive(letter)
}

/// The scheme and the rest of a URL with one of these schemes.
fn url_of<'a>(text: &'a str, schemes: &[&str]) -> Option<(&'a str, &'a str)> {
    let (scheme, rest) = text.split_once("://")?;
    schemes.iter().any(|known| scheme.eq_ignore_ascii_case(known)).then_some((scheme, rest))
}

/// Whether it is the `key=value` form: a known word comes first, or one that is in no file's name.
fn is_words(text: &str) -> bool {
    let first = key(text).is_some_and(|(key, _)| is_known(&key.to_ascii_lowercase()) || is_secret(key));
    first
        || text.to_ascii_lowercase().split_whitespace().any(|word| {
            ["host=", "hostaddr=", "dbname=", "user=", "password=", "service="]
                .iter()
                .any(|key| word.starts_with(key))
        })
}

/// Whether a text that is no PostgreSQL address is one of another kind.
fn is_address(text: &str) -> bool {
    let lower = text.trim_start_matches(is_blank).to_ascii_lowercase();
    let scheme = lower.split(':').next().filter(|scheme| scheme.len() < lower.len());
    let is_path = ["/", "./", "../"].iter().any(|start| lower.starts_with(start)) && !lower.starts_with("//");
    let has_login = || {
        let with_host = colon(&lower).is_some_and(|(at, _)| lower[at..].contains('@'));
        with_host || lower.find("//").is_some_and(|at| colon(&lower[at..]).is_some())
    };
    lower.contains("://")
        || ["%3a//", "%3a%2f", ":%2f", "%253a"].iter().any(|sign| lower.contains(sign))
        || scheme.is_some_and(|scheme| SCHEMES.contains(&scheme) || is_scheme(scheme) && scheme.contains('+'))
        || !is_path && (has_login() || names_a_secret(&lower))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || ['+', '.', '-'].contains(&c))
}

/// Whether a word for a secret stands before a `=` or `:`.
pub(super) fn names_a_secret(lower: &str) -> bool {
    lower.match_indices(['=', ':']).any(|(at, _)| {
        let before = lower[..at].trim_end();
        let is_outside = |(_, c): &(usize, char)| !c.is_ascii_alphanumeric() && *c != '_';
        let start = before.char_indices().rev().find(is_outside).map_or(0, |(at, c)| at + c.len_utf8());
        is_secret(&before[start..])
    })
}

fn is_secret(key: &str) -> bool {
    let key = percent_decode_str(key).decode_utf8_lossy().to_ascii_lowercase();
    ["password", "passwd", "passphrase", "pwd", "secret", "token"].iter().any(|word| key.contains(word))
        || key == "pass"
}

/// The first colon, plain or encoded however often, and its length.
fn colon(text: &str) -> Option<(usize, usize)> {
    text.char_indices().find_map(|(at, letter)| match letter {
        ':' => Some((at, 1)),
        '%' => {
            let digits = text[at + 1..].trim_start_matches("25");
            let is_colon = digits.get(..2).is_some_and(|digits| digits.eq_ignore_ascii_case("3a"));
            is_colon.then(|| (at, text.len() - at - digits.len() + 2))
        }
        _ => None,
    })
}

/// A URL: its login, its place and its parameters.
fn url(scheme: &str, rest: &str) -> Shown {
    let (place, parameters) = rest.split_at(start_of_parameters(rest));
    let (login, hosts) = match place.rsplit_once('@') {
        Some((login, hosts)) => (Some(login), hosts),
        None => (None, place),
    };
    let mut secret = Secret::None;
    let mut text = format!("{scheme}://");
    if let Some(login) = login {
        match colon(login) {
            // Parameters, and an @ behind them that makes all of it look like a login.
            found if login[..found.map_or(login.len(), |(at, _)| at)].contains(['?', '&', '=']) => {
                return Shown { text: text + HIDDEN, secret: Secret::Doubtful };
            }
            Some((at, length)) if at + length < login.len() => {
                secret = Secret::Password;
                text += &format!("{}:{HIDDEN}@", &login[..at]);
            }
            _ => text += &format!("{login}@"),
        }
    }
    match doubtful_from(hosts) {
        Some(at) => {
            // A port that is none, or a colon in a name: the rest may be a password, parameters and all.
            text += &format!("{}:{HIDDEN}", &hosts[..at]);
            return Shown { text, secret: secret.max(Secret::Doubtful) };
        }
        None => text += hosts,
    }
    let Some(parameters) = parameters.strip_prefix('?') else { return Shown { text, secret } };
    let hidden: Vec<String> = parameters
        .split('&')
        .map(|parameter| {
            let (one, hides) = pair(parameter.split_once('='), parameter);
            secret = secret.max(hides);
            one
        })
        .collect();
    Shown { text: format!("{text}?{}", hidden.join("&")), secret }
}

/// Where the parameters of a URL begin. A question mark before an @ may belong to a password.
fn start_of_parameters(rest: &str) -> usize {
    let begins = |at: &usize| {
        let after = &rest[at + 1..];
        let key = after.split_once('=').map(|(key, _)| percent_decode_str(key).decode_utf8_lossy());
        let key = key.map(|key| key.to_ascii_lowercase());
        !after.contains('@') || key.is_some_and(|key| is_known(&key) || is_secret(&key))
    };
    rest.match_indices('?').map(|(at, _)| at).find(begins).unwrap_or(rest.len())
}

/// Where hosts with their ports, and the database after them, stop looking like that.
fn doubtful_from(hosts: &str) -> Option<usize> {
    let (authority, path) = hosts.split_at(hosts.find('/').unwrap_or(hosts.len()));
    let mut at = 0;
    for host in authority.split(',') {
        // The address in brackets has colons of its own.
        let name = host.find(']').filter(|_| host.starts_with('[')).map_or(0, |end| end + 1);
        if let Some((colon, length)) = colon(&host[name..]) {
            let port = &host[name + colon + length..];
            if !port.is_empty() && port.parse::<u16>().is_err() {
                return Some(at + name + colon);
            }
        }
        at += host.len() + 1;
    }
    let odd = colon(path).map(|(at, _)| at).into_iter().chain(path.find('@')).min();
    odd.map(|at| authority.len() + at)
}

/// `key=value` as it may be shown; a text that is none is hidden.
fn pair(pair: Option<(&str, &str)>, whole: &str) -> (String, Secret) {
    match pair {
        Some((key, "")) if is_known(&key.to_ascii_lowercase()) || is_secret(key) => {
            (whole.into(), Secret::None)
        }
        Some((key, _)) if is_secret(key) => (format!("{key}={HIDDEN}"), Secret::Password),
        Some((key, value)) if is_known(&key.to_ascii_lowercase()) && !is_suspicious(value) => {
            (format!("{key}={value}"), Secret::None)
        }
        Some((key, _)) if is_known(&key.to_ascii_lowercase()) => {
            (format!("{key}={HIDDEN}"), Secret::Doubtful)
        }
        None if whole.is_empty() => (String::new(), Secret::None),
        // A key that is not known may be the rest of a password.
        Some(_) | None => (HIDDEN.into(), Secret::Doubtful),
    }
}

/// Whether a value may hold a password although its key is for something else.
fn is_suspicious(value: &str) -> bool {
    let value = percent_decode_str(value).decode_utf8_lossy().to_ascii_lowercase();
    let has_login = || value.find(':').zip(value.rfind('@')).is_some_and(|(colon, at)| colon < at);
    value.contains("://") || has_login() || names_a_secret(&value)
}

/// `key=value` pairs: a value ends at a space, or at its quote.
fn words(text: &str) -> Shown {
    let (mut all, mut secret) = (Vec::new(), Secret::None);
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let Some((name, value)) = key(rest) else {
            all.push(HIDDEN.to_owned());
            secret = secret.max(Secret::Doubtful);
            break;
        };
        let length = length_of_value(value);
        let (one, hides) = pair(Some((name, &value[..length])), &format!("{name}="));
        all.push(one);
        secret = secret.max(hides);
        rest = value[length..].trim_start();
    }
    Shown { text: all.join(" "), secret }
}

/// The first key, and what follows its `=`.
fn key(text: &str) -> Option<(&str, &str)> {
    let (key, after) = text.split_once('=')?;
    let key = key.trim_end();
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_key.then(|| (key, after.trim_start()))
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

/// An address of another kind: its scheme, and the rest only where it is harmless.
fn unsupported(text: &str) -> String {
    let text = text.trim_matches(is_blank);
    let (outer, inner) = match text.split_once(':') {
        Some((outer, inner)) if outer.eq_ignore_ascii_case("jdbc") => (&text[..outer.len() + 1], inner),
        _ => ("", text),
    };
    let Some((scheme, rest)) = inner.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) else {
        return format!("{outer}{HIDDEN}");
    };
    let is_harmless = |c: char| c.is_ascii_alphanumeric() || ['.', '_', '/', '-'].contains(&c);
    match rest.strip_prefix("//") {
        Some(place) if place.chars().all(is_harmless) => text.into(),
        Some(_) => format!("{outer}{scheme}://{HIDDEN}"),
        None => format!("{outer}{scheme}:{HIDDEN}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_way_to_write_a_password_shows_it() {
        for way in [
            "postgres://u:canary@h/d",
            "postgres://u:can@ry/canary@h/d?x=1",
            "postgres://h/d?user=u&password=canary&sslmode=require",
            "postgres://h/d?pass%77ord=canary",
            "postgres://u:can?canary@h/d",
            "postgres://u:canary@h/d?user=x@y",
            "postgres://u%3Acanary@h/d",
            "postgres://u%253acanary@h/d",
            "host=h password=canary user=u",
            "host=h password = 'canary with canary' user=u",
            "host=h password='canary\\' canary'",
            "host=h password='canary never closed",
            "password=canary password=canary",
            "PASSWORD=canary\\ canary host=h",
            "host=h sslpassword=canary",
        ] {
            let shown = shown(way);
            assert_eq!(shown.secret, Secret::Password, "{way}");
            assert!(!shown.text.contains("canary") && !shown.text.contains("ry@"), "{}", shown.text);
        }
        for doubtful in [
            "postgres://u:canary",
            "postgres://u:canary/d?user=canary",
            "postgres:///u:canary",
            "postgres://h/d?x=canary",
            "postgres://h/d?canary",
            "postgres://h/d?password=&canary=",
            "host=h canary",
            "host=h user=u:canary@x",
            "dbname=postgres://u:canary@h/d",
            "mysql://u:canary@h/d",
            "jdbc:postgresql://h/d?canary",
            "u:canary@h/d",
            "//u:canary@h/d",
            "postgres//u:canary",
            "Server=h;Password=canary",
        ] {
            let shown = shown(doubtful);
            assert!(shown.secret != Secret::None && !shown.text.contains("canary"), "{}", shown.text);
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for harmless in [
            "postgres://u@h/d?sslmode=require",
            "postgres://h:5/d?user=a@b",
            "postgres://u@[::1]:7,h,h2:6/d",
            "postgres://u@%2Frun%2Fpg:5432/d",
            "host=h user=u",
            "postgres://u:@h/d",
            "/a/b.db",
            "a b.db",
            "mysql://db.example/app",
        ] {
            assert_eq!(shown(harmless).text, harmless);
        }
        assert_eq!(shown("postgres://u:p@h/d?user=x@y").text, "postgres://u:***@h/d?user=x@y");
        assert_eq!(shown("jdbc:postgresql://h/d?x=1").text, "jdbc:postgresql://***");
        assert_eq!(shown("host = h  user=u").text, "host=h user=u");
    }

    #[test]
    fn files_and_servers_are_told_apart() {
        for path in ["a.db", "./a:b.db", "/x y/a.db", "C.db", "a:b.db", "/password=x"] {
            assert_eq!(form(path), Form::Path(path));
        }
        assert_eq!(form("sqlite:///tmp/a.db"), Form::Path("/tmp/a.db"));
        assert_eq!(form("SQLite://a.db"), Form::Path("a.db"));
        for server in ["postgres://h/d", "  PostgreSQL://h/d", "host = h", "dbname=a user=b"] {
            assert_eq!(form(server), Form::Postgres(server.trim()));
        }
        for other in ["file:a.db", "sqlite:a.db", "postgres:a", "mysql:h", "postgres%3a//h", "a+b:c"] {
            assert_eq!(form(other), Form::Unsupported, "{other}");
        }
    }
}
