//! Files, filters and `/proc`: whatever is in them, the answer is a value or an error that says where.

use super::fuzz;
use claimtop::app::query::Query;
use claimtop::config::Config;
use claimtop::liveness::proc_stat::{ProcStat, ProcStatus, boot_time, ticks_per_second};
use claimtop::profile::format::{Engine, Profile, ProfileError};
use std::fs;

const CONFIG: &str = include_str!("../../../config.example.toml");
const SECRETS: &str =
    "[source.a]\nat = 'postgres://ann:canary-6fd1@h/d'\npassword_command = 'echo canary-6fd1'\n";

const PROFILES: [&str; 5] = [
    include_str!("../../../assets/profiles/coordination.toml"),
    include_str!("../../../assets/profiles/executor-jobs.toml"),
    include_str!("../../../assets/profiles/merge-queue.toml"),
    include_str!("../../../assets/profiles/finalization.toml"),
    include_str!("../../../assets/profiles/task-queue.toml"),
];

#[test]
fn config_files() {
    let all: String = CONFIG
        .lines()
        .map(|line| line.strip_prefix("#: ").unwrap_or(line))
        .flat_map(|line| [line, "\n"])
        .collect();
    fuzz("a broken config is an error at its line, without its values", 20, |random| {
        let seed = if random.one_in(2) { SECRETS } else { &all };
        let text = random.changed(seed);
        match Config::parse(&text) {
            Ok(_) => {}
            Err((line, what)) => {
                assert!(
                    (1..=text.lines().count() + 1).contains(&line) && !what.is_empty(),
                    "{line} {what}: {text}"
                );
                assert!(!what.contains("canary-6fd1"), "{what}: {text}");
            }
        }
    });
}

#[test]
fn profiles() {
    fuzz("a broken profile is an error that names its line or its claim", 50, |random| {
        let seed = random_profile(random);
        let text = random.changed(seed);
        let problem = match Profile::parse("fuzzed", &text) {
            Ok(profile) => match profile.on(random.pick(&[Engine::Sqlite, Engine::Postgres])) {
                Ok(_) => return,
                Err(problem) => problem,
            },
            Err(problem) => problem,
        };
        for problem in problem.each() {
            match problem {
                ProfileError::Syntax { name, line, what } => {
                    assert!(name == "fuzzed" && *line >= 1 && !what.is_empty(), "{line} {what}");
                }
                ProfileError::Invalid { name, problem } => assert!(name == "fuzzed" && !problem.is_empty()),
                ProfileError::Several(_) => panic!("several inside of several: {problem}"),
            }
        }
    });
}

fn random_profile(random: &mut super::Random) -> &'static str {
    random.pick(&PROFILES)
}

#[test]
fn filters() {
    const SEEDS: [&str; 4] = [
        "text holder:w7 kind=run_tsa age>10m set:stale !cli",
        "age<1h !set:healthy",
        "holder=a kind:b",
        "board:x !",
    ];
    fuzz("a filter is a filter or an error, and means the same when it is read again", 2, |random| {
        let seed = random.pick(&SEEDS);
        let text = if random.one_in(4) { random.text() } else { random.changed(seed) };
        match Query::parse(&text) {
            Ok(query) => assert_eq!(Query::parse(&query.text).as_ref(), Ok(&query), "{text:?}"),
            Err(what) => assert!(!what.is_empty(), "{text:?}"),
        }
    });
}

#[test]
fn proc_files() {
    let read = |name: &str| fs::read(format!("/proc/self/{name}")).unwrap_or_default();
    let (stat, status, auxv) = (read("stat"), read("status"), read("auxv"));
    let boot = fs::read("/proc/stat").unwrap_or_default();
    let known = ProcStat::parse(&stat);
    fuzz("/proc is understood or not, and a command's name forges nothing", 2, |random| {
        let _ = ProcStat::parse(&random.changed_bytes(&stat));
        let _ = ProcStatus::parse(&random.changed_bytes(&status));
        let _ = ticks_per_second(&random.changed_bytes(&auxv));
        if random.one_in(50) {
            let _ = boot_time(&random.changed_bytes(&boot));
        }
        // A process may call itself anything of up to 15 bytes; the kernel writes it in brackets.
        let open = stat.iter().position(|byte| *byte == b'(').expect("a bracket");
        let close = stat.iter().rposition(|byte| *byte == b')').expect("a bracket");
        let mut name = random.text().into_bytes();
        name.truncate(15);
        let forged = [&stat[..=open], &name, &stat[close..]].concat();
        let found = ProcStat::parse(&forged);
        let facts = |stat: &Option<ProcStat>| stat.as_ref().map(|stat| (stat.state, stat.kind, stat.start));
        assert_eq!(facts(&found), facts(&known), "{name:?}");
    });
}
