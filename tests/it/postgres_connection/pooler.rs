//! Through a pooler that gives every transaction another connection.

use super::server::{Kind, Pooler, Server};
use super::{LIMITS, cell, open};
use claimtop::store::postgres::{Begin, Limits, Link, Purpose, Target};
use std::time::Duration;

#[test]
fn many_links_share_few_connections_and_leave_nothing_behind() {
    let server = Server::start(Kind::Plain);
    let pooler = Pooler::start(&server, 2);
    let target = Target::parse(&pooler.target(), None).unwrap();
    std::thread::scope(|scope| {
        for number in 1..=6_u64 {
            let target = &target;
            scope.spawn(move || {
                let limits = Limits { statement: Duration::from_millis(50_000 + number), ..LIMITS };
                let mut link = Link::open(target, Purpose::Acts, limits).unwrap();
                for round in 0..20 {
                    let begin = if round % 2 == 0 { Begin::Reading } else { Begin::Acting };
                    link.begin(begin).unwrap();
                    let asked =
                        "SELECT current_setting('statement_timeout'), current_setting('TimeZone'), $1";
                    let rows = link.query(asked, &[Some("value")]).unwrap();
                    assert_eq!(rows[0].get(0), Some(format!("{}ms", 50_000 + number).as_str()));
                    assert_eq!((rows[0].get(1), rows[0].get(2)), (Some("UTC"), Some("value")));
                    link.commit().unwrap();
                }
            });
        }
    });
    let mut direct = open(&server.socket()).unwrap();
    let usual = "SELECT current_setting('statement_timeout') || current_setting('lock_timeout')
                 || current_setting('IntervalStyle') || current_setting('default_transaction_read_only')";
    let before = cell(&mut direct, usual);
    let mut pooled = open(&pooler.target()).unwrap();
    assert_eq!(cell(&mut pooled, usual), before);
    assert_eq!(cell(&mut pooled, "SELECT count(*)::text FROM pg_prepared_statements"), "0");
    let theirs = "SELECT (count(*) <= 2)::text FROM pg_stat_activity WHERE datname = 'app' AND pid <> pg_backend_pid()";
    assert_eq!(cell(&mut direct, theirs), "true");
}
