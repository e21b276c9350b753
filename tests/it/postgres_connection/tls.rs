//! Which certificates are believed under which `sslmode`.

use super::server::{CANARY, Kind, Server};
use super::{cell, open, refusal};

const ENCRYPTED: &str = "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()";

#[test]
fn a_certificate_is_checked_as_far_as_sslmode_asks() {
    let server = Server::start(Kind::Tls);
    let (right, other, own) = (server.file("ca.crt"), server.file("other.crt"), server.file("srv.crt"));
    let to = |host: &str, rest: &str| {
        format!("host={host} port={} user=ann password={CANARY} dbname=app {rest}", server.port)
    };
    // The certificate is for `localhost`, not for its number.
    let good = [
        ("localhost", format!("sslmode=verify-full sslrootcert={right}")),
        ("localhost", format!("sslmode=verify-full sslrootcert={own}")),
        ("127.0.0.1", format!("sslmode=verify-ca sslrootcert={right}")),
        ("127.0.0.1", format!("sslmode=require sslrootcert={right}")),
        ("127.0.0.1", "sslmode=require".into()),
        ("127.0.0.1", "sslmode=prefer".into()),
        ("127.0.0.1", String::new()),
    ];
    for (host, rest) in good {
        let mut link = open(&to(host, &rest)).unwrap_or_else(|error| panic!("{host} {rest}: {error}"));
        assert_eq!(cell(&mut link, ENCRYPTED), "true", "{host} {rest}");
    }
    assert_eq!(cell(&mut open(&to("127.0.0.1", "sslmode=disable")).unwrap(), ENCRYPTED), "false");

    let bad = [
        ("localhost", format!("sslmode=verify-full sslrootcert={other}")),
        ("localhost", "sslmode=verify-full".into()),
        ("localhost", "sslmode=verify-full sslrootcert=system".into()),
        ("127.0.0.1", format!("sslmode=verify-full sslrootcert={right}")),
        ("127.0.0.1", format!("sslmode=verify-ca sslrootcert={other}")),
        ("127.0.0.1", "sslmode=verify-ca".into()),
        ("127.0.0.1", format!("sslmode=require sslrootcert={other}")),
        ("127.0.0.1", "sslmode=verify-ca sslrootcert=/nonexistent.crt".into()),
    ];
    for (host, rest) in bad {
        let said = refusal(&to(host, &rest));
        assert!(said.contains("cert"), "{rest}: {said}");
    }
}

#[test]
fn a_server_without_tls_gets_no_password_where_encryption_is_needed() {
    let server = Server::start(Kind::Plain);
    let to = |mode: &str| {
        format!("host=localhost port={} user=ann password={CANARY} dbname=app sslmode={mode}", server.port)
    };
    for mode in ["require", "verify-ca", "verify-full"] {
        let roots = if mode == "require" { "" } else { " sslrootcert=/etc/ssl/certs/ca-certificates.crt" };
        let said = refusal(&format!("{}{roots}", to(mode)));
        assert!(said.contains("the server has no TLS"), "{said}");
    }
    for mode in ["disable", "allow", "prefer"] {
        assert_eq!(cell(&mut open(&to(mode)).unwrap(), ENCRYPTED), "false");
    }
}
