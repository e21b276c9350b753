//! Whatever breaks while acts are done: none is done twice, and of each it is known in the end.

use super::dashboard_user::{Spectator, Times, UNCLEAR};
use super::proxy::Proxy;
use super::*;
use crate::support::Ending;
use crate::support::figures;
use crate::support::postgres::url;
use crate::support::server::{Server, USER, until};
use postgres::config::Host;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// `./tests/run --soak` asks for more of both.
fn acts() -> u64 {
    number("CLAIMTOP_ACTS", 500)
}

fn faults() -> u64 {
    number("CLAIMTOP_FAULTS", 5)
}

/// What the operators had to hear.
#[derive(Default)]
struct Heard {
    applied: AtomicU64,
    unknown: AtomicU64,
    failed: AtomicU64,
}

/// Reclaims what is stale, again and again, until there is nothing left.
fn reclaim_all(who: &Operator, source: &str, heard: &Heard) {
    let limit = (acts() / (2 * faults()).max(1)).clamp(10, 400).to_string();
    loop {
        let arguments = ["reclaim", "DB", "--set", "stale", "--limit", &limit, "--yes", "--json"];
        let run = Run::of(&who.command_at(source, &arguments).output().expect("claimtop runs"));
        if run.code == 0 && run.err.contains("0 of 0 claims will be reclaimed") {
            return;
        }
        let count = |outcome: &str| run.lines().iter().filter(|one| one["outcome"] == outcome).count() as u64;
        heard.applied.fetch_add(count("applied"), Ordering::Relaxed);
        heard.unknown.fetch_add(count("unknown"), Ordering::Relaxed);
        heard.failed.fetch_add(u64::from(run.code == 3), Ordering::Relaxed);
        assert!([0, 3, 4, 5, 6].contains(&run.code), "{run:#?}");
    }
}

/// Breaks something, and mends it; every second time where that is possible only once the screen has
/// noticed. Then the screen has to find its way back.
fn breaks(server: &Server, proxy: &Proxy, number: u64, spectator: &Spectator<'_>) {
    let broken = Instant::now();
    let until_it_is_noticed = (number / 4).is_multiple_of(2);
    let fault =
        ["a fall", "ended sessions", "a freeze", "a cut"][usize::try_from(number % 4).expect("small")];
    match fault {
        "a fall" if until_it_is_noticed => {
            server.fall();
            spectator.sees_it_lost(fault, broken);
            server.start_again();
            spectator.sees_it_back(fault, Instant::now());
        }
        "a fall" => server.restart_immediate(),
        "ended sessions" => drop(server.terminate_backends()),
        "a freeze" => {
            server.freeze();
            if until_it_is_noticed {
                spectator.sees_it_lost(fault, broken);
                server.thaw();
                spectator.sees_it_back(fault, Instant::now());
            } else {
                thread::park_timeout(Duration::from_millis(300));
                server.thaw();
            }
        }
        _ => proxy.cut(),
    }
    spectator.sees_more(server, fault, Instant::now());
}

#[test]
fn no_fault_makes_an_act_happen_twice_or_leaves_one_in_doubt_or_stops_the_screen() {
    let times = Times::default();
    for with_table in [true, false] {
        let server = Server::start();
        server.create_database("jobs", &format!("{JOBS} {}", if with_table { AUDIT } else { "" }));
        let count = acts() / 2;
        server.connect("jobs").run(&format!("{}; {UNCLEAR}", stale_jobs(count)));
        let proxy = Proxy::to(server.folder());
        let way = url(&Host::Unix(proxy.folder().into()), 5432, USER, "jobs");
        let operators: Vec<Operator> = (0..3).map(|_| Operator::of(server.url("jobs"))).collect();
        let heard = Heard::default();
        let (spectator, is_over) = (Spectator::at(&way, &times), AtomicBool::new(false));
        let done = || -> Option<u64> {
            let mut config = postgres::Config::new();
            config.host_path(server.folder()).user(USER).dbname("jobs");
            let mut client = config.connect(postgres::NoTls).ok()?;
            let row = client.query_one("SELECT count(*) FROM executor_jobs WHERE status <> 'running'", &[]);
            Some(row.ok()?.get::<_, i64>(0).unsigned_abs())
        };
        thread::scope(|scope| {
            for (at, operator) in operators.iter().enumerate() {
                let source = if at == 0 { operator.source.clone() } else { way.clone() };
                let heard = &heard;
                scope.spawn(move || reclaim_all(operator, &source, heard));
            }
            scope.spawn(|| spectator.type_on(&is_over));
            let _over = Ending(&is_over);
            for number in 0..faults().div_ceil(2) {
                let enough = number * count / faults().div_ceil(2);
                until("the next fault", || done().is_some_and(|done| done >= enough));
                breaks(&server, &proxy, number + u64::from(with_table) * 2, &spectator);
            }
        });
        spectator.leave();
        // What stayed unknown is settled by the next act.
        server.connect("jobs").run(
            "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by)
             VALUES ('00000000-0000-0000-0000-000000000001', 'run_tsa', 'running', now(), 'well')",
        );
        let next = ["extend", "DB", "00000000-0000-0000-0000-000000000001", "--json"];
        for operator in &operators {
            operator.run(&next).came_to(0, "applied");
            operator.trail_is_whole();
        }
        let mut told: Vec<String> = operators.iter().flat_map(Operator::applied).collect();
        told.retain(|address| !address.ends_with("000000000001"));
        figures::tell(&format!(
            "{count} acts, {} faults: {} heard applied, {} unknown, {} runs failed",
            faults().div_ceil(2),
            heard.applied.into_inner(),
            heard.unknown.into_inner(),
            heard.failed.into_inner()
        ));
        told.sort();
        let all = told.len() as u64;
        told.dedup();
        assert_eq!((all, told.len() as u64), (count, count), "acts in the trails, and jobs");
        let session = server.connect("jobs");
        let wrong = "SELECT count(*) FROM executor_jobs
             WHERE locked_by IS DISTINCT FROM 'well' AND (status <> 'queued' OR attempts <> 2)";
        assert_eq!(session.value(wrong).as_deref(), Some("0"));
        if with_table {
            let records = "SELECT count(DISTINCT record::jsonb ->> 'address') || ' ' || count(*)
                 FROM claimtop_audit WHERE record::jsonb ->> 'action' = 'reclaim'";
            assert_eq!(session.value(records), Some(format!("{count} {count}")));
        }
    }
    times.tell(faults());
}
