//! Where a target comes from.

use super::*;

fn target(text: &str) -> Target {
    Target::parse_in(text, None, &Environment::of(&[])).unwrap()
}

#[test]
fn a_url_names_everything() {
    let target = target("postgresql://ann:p%40ss@db.example:5433/app?sslmode=verify-ca&connect_timeout=7");
    assert_eq!(target.label(), "postgres://ann@db.example:5433/app");
    assert_eq!((target.user(), target.database()), ("ann", "app"));
    assert_eq!(target.connect_timeout(), Duration::from_secs(7));
    assert_eq!(target.password.as_ref().unwrap().reveal(), "p@ss");
    assert!(!format!("{target:?} {:?}", target.password).contains("p@ss"));
    assert!(!target.is_loopback());
}

#[test]
fn texts_say_the_same_in_many_ways() {
    for text in [
        "postgres://ann@[::1]:7/app",
        "host=::1 port=7 user=ann dbname=app",
        " host = '::1'  port=7 user='an\\n' dbname = app ",
        "postgres:///?host=::1&port=7&user=ann&dbname=app",
    ] {
        assert_eq!(target(text).label(), "postgres://ann@[::1]:7/app", "{text}");
    }
    let several = target("postgres://ann@a,b:6/app");
    assert_eq!(several.label(), "postgres://ann@a,b:6/app");
    assert!(target("postgres://ann@%2Frun%2Fpg/app").is_loopback());
    assert_eq!(target("host=/run/pg user=ann dbname=app").label(), "postgres://ann@/app?host=/run/pg");
}

#[test]
fn the_text_goes_before_the_variables() {
    let here = Environment::of(&[
        ("PGHOST", "elsewhere"),
        ("PGPORT", "7"),
        ("PGUSER", "env"),
        ("PGPASSWORD", "canary"),
        ("PGHOSTADDR", "10.0.0.1"),
    ]);
    let target = Target::parse_in("host=db user=ann dbname=app", None, &here).unwrap();
    assert_eq!(target.label(), "postgres://ann@db:7/app");
    assert_eq!(target.password.as_ref().unwrap().reveal(), "canary");
    let commanded = Target::parse_in("host=db user=ann", Some("true"), &here).unwrap();
    assert!(commanded.password.is_none());
    assert!(!format!("{target:?}").contains("canary"));
}

#[test]
fn off_this_machine_a_server_must_prove_its_name_unless_the_text_says_otherwise() {
    let far: IpAddr = "192.0.2.1".parse().unwrap();
    let near: IpAddr = "127.0.0.1".parse().unwrap();
    let tls = |text: &str, address| {
        let target = target(text);
        let tls = target.tls(&target.hosts()[0], Some(address));
        (tls.wish, tls.check, target.warnings().len())
    };
    let full = (Encryption::Needed, Check::ChainAndName, 0);
    assert_eq!(tls("host=db", far), full);
    assert_eq!(tls("host=db", near), full);
    assert_eq!(tls("host=localhost", far), full);
    assert_eq!(tls("host=localhost", near), (Encryption::Welcome, Check::Nothing, 0));
    assert_eq!(tls("host=db sslmode=prefer", far), (Encryption::Needed, Check::Nothing, 1));
    assert_eq!(tls("host=db sslmode=allow sslrootcert=x", far), (Encryption::Needed, Check::Chain, 1));
    assert_eq!(tls("host=db sslmode=require", far), (Encryption::Needed, Check::Nothing, 0));
    assert_eq!(tls("host=db sslmode=verify-ca", far), (Encryption::Needed, Check::Chain, 0));
    assert_eq!(tls("host=db sslmode=disable", far), (Encryption::Off, Check::Nothing, 0));
    assert_eq!(tls("host=127.0.0.1 sslmode=verify-full", near), full);
}
