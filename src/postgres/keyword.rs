//! The keywords of a connection text.

/// Those that are understood, and the variable that stands in for each.
pub(super) const KNOWN: [(&str, Option<&str>); 24] = [
    ("host", Some("PGHOST")),
    ("hostaddr", Some("PGHOSTADDR")),
    ("port", Some("PGPORT")),
    ("dbname", Some("PGDATABASE")),
    ("user", Some("PGUSER")),
    ("password", Some("PGPASSWORD")),
    ("passfile", Some("PGPASSFILE")),
    ("service", Some("PGSERVICE")),
    ("servicefile", Some("PGSERVICEFILE")),
    ("sslmode", Some("PGSSLMODE")),
    ("sslrootcert", Some("PGSSLROOTCERT")),
    ("channel_binding", Some("PGCHANNELBINDING")),
    ("target_session_attrs", Some("PGTARGETSESSIONATTRS")),
    ("connect_timeout", Some("PGCONNECT_TIMEOUT")),
    ("application_name", Some("PGAPPNAME")),
    ("fallback_application_name", None),
    ("options", Some("PGOPTIONS")),
    ("tcp_user_timeout", None),
    // Understood, and always as they are best here.
    ("client_encoding", None),
    ("keepalives", None),
    ("keepalives_idle", None),
    ("keepalives_interval", None),
    ("keepalives_count", None),
    ("gssencmode", None),
];

pub(super) fn is_known(word: &str) -> bool {
    KNOWN.iter().any(|(known, _)| *known == word)
}

/// `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Disable,
    Allow,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl Mode {
    pub(super) fn parse(text: &str) -> Result<Mode, String> {
        Ok(match text {
            "disable" => Mode::Disable,
            "allow" => Mode::Allow,
            "prefer" => Mode::Prefer,
            "require" => Mode::Require,
            "verify-ca" => Mode::VerifyCa,
            "verify-full" => Mode::VerifyFull,
            _ => {
                let all = "verify-full, verify-ca, require, prefer, allow or disable";
                return Err(format!("sslmode is none of {all}"));
            }
        })
    }
}
