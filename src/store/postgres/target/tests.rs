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
