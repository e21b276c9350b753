//! SIGKILL at any point of an act: nothing is half done, nothing is without its record, and what
//! became of it is found out.

use super::*;
use crate::support::engine::{Engine, engine};
use crate::support::server::until;
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Stdio};

/// How often each test kills; the soak run asks for more. A server takes longer for each.
fn kills() -> u64 {
    let asked = std::env::var("CLAIMTOP_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    match engine() {
        Engine::Sqlite => asked,
        Engine::Postgres => asked.div_ceil(4),
    }
}

/// Where each kill came: the figures say whether the interesting moments were met at all.
#[derive(Debug, Default)]
struct Figures {
    kills: u64,
    acts: u64,
    before_any_intent: u64,
    torn: u64,
    open: u64,
    open_and_applied: u64,
    ended_first: u64,
}

/// Numbers that look random; which moments they meet is up to the machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Kills the child once a file has grown by `bytes`, and a number of looks later.
fn kill_at(file: &Path, mut child: Child, bytes: u64, looks: u64) -> bool {
    let length = || fs::metadata(file).map_or(0, |file| file.len());
    let from = length();
    let mut left = looks;
    let mut ended = false;
    // It ends by itself if the file never gets so far.
    while !ended && left > 0 {
        if length() >= from + bytes {
            left -= 1;
        }
        ended = child.try_wait().expect("its state").is_some();
        std::thread::yield_now();
    }
    let _ = child.kill();
    child.wait().expect("its end");
    ended
}

fn spawn(scene: &Scene, arguments: &[&str]) -> Child {
    let mut command = scene.command(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("claimtop runs")
}

/// What the trail says of each act: its intent, and its outcomes.
fn acts(trail: &[Json]) -> BTreeMap<String, (Option<Json>, Vec<String>)> {
    let mut acts: BTreeMap<String, (Option<Json>, Vec<String>)> = BTreeMap::new();
    for record in trail {
        let (intent, outcomes) = acts.entry(text(&record["action_id"])).or_default();
        match text(&record["stage"]).as_str() {
            "intent" => *intent = Some(record.clone()),
            _ => outcomes.push(text(&record["outcome"])),
        }
    }
    acts
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_else(|| panic!("no text: {json}")).to_owned()
}

fn task_of(record: &Json) -> String {
    text(&record["address"]).rsplit('/').next().expect("an id").to_owned()
}

/// Whether the rows are as the act leaves them: a reclaim takes the claim away, an undo puts it back.
fn is_done(intent: &Json, held: &BTreeSet<String>) -> bool {
    held.contains(&task_of(intent)) == (intent["action"] == "undo")
}

/// The file is whole. A server has to hear first that nobody listens any more: till then it goes on.
fn assert_sound(scene: &Scene) {
    let Some(server) = scene.database.server() else {
        return assert_eq!(scene.text("PRAGMA integrity_check"), "ok");
    };
    let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                  AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
    until("the end of the killed one's session", || server.value(others).as_deref() == Some("0"));
}

fn one_kill(number: u64, with_table: bool, dice: &mut Dice, figures: &mut Figures) {
    const CLAIMS: usize = 200;
    let scene = Scene::new();
    scene.session("worker-1", SECOND);
    scene.tasks(CLAIMS);
    scene.task("next", "worker-1", 60 * MINUTE);
    if with_table {
        assert_eq!(scene.run(&["audit", "init", "DB"]).code, 0);
    }
    // The log of the database grows with the commit, the journal before it and after it.
    let by_log = dice.below(2) == 1 && engine() == Engine::Sqlite;
    let log = || PathBuf::from(format!("{}-wal", scene.database.path().display()));
    let file = if by_log { log() } else { scene.journal() };
    let most = if by_log { 40_000 } else { 110_000 };
    let most_looks = 1 << dice.below(if by_log { 9 } else { 14 });
    let looks = 1 + dice.below(most_looks);
    let some = format!("task-{:04}", dice.below(CLAIMS as u64));
    let mut earlier = None;
    let ended = match number % 4 {
        0 | 1 => {
            let child = spawn(&scene, &["reclaim", "DB", "--set", "stale", "--yes"]);
            kill_at(&file, child, dice.below(most), looks)
        }
        2 => kill_at(&file, spawn(&scene, &["reclaim", "DB", &some]), dice.below(3), looks),
        _ => {
            let object = scene.run(&["reclaim", "DB", &some, "--json"]).came_to(0, "applied");
            let action = text(&object["action_id"]);
            let ended = kill_at(&file, spawn(&scene, &["undo", "DB", &action]), dice.below(3), looks);
            earlier = Some(action);
            ended
        }
    };
    figures.kills += 1;
    figures.ended_first += u64::from(ended);

    assert_sound(&scene);
    let verified = scene.run(&["audit", "verify", "--json"]);
    assert_eq!(verified.code, 0, "{verified:#?}");
    assert_eq!(verified.lines()[0]["whole"], true);
    figures.torn += u64::from(verified.lines()[0]["findings"] != serde_json::json!([]));

    let held: BTreeSet<String> = scene.held().into_iter().collect();
    let trail = acts(&scene.export());
    figures.before_any_intent += u64::from(trail.is_empty());
    let intended: BTreeSet<String> =
        trail.values().filter_map(|(intent, _)| intent.as_ref()).map(task_of).collect();
    for number in 0..CLAIMS {
        let task = format!("task-{number:04}");
        assert!(held.contains(&task) || intended.contains(&task), "{task} went without a record");
    }
    let mut open = BTreeMap::new();
    for (action, (intent, outcomes)) in &trail {
        let Some(intent) = intent else { panic!("{action} has an outcome and no intent") };
        match outcomes.as_slice() {
            [] => drop(open.insert(action.clone(), is_done(intent, &held))),
            // An act that was undone later is not what the rows show any more.
            [outcome] if Some(action) != earlier.as_ref() => {
                assert_eq!(outcome == "applied", is_done(intent, &held), "{intent}");
            }
            [_] => {}
            several => panic!("{action} came to {several:?}"),
        }
    }
    figures.acts += trail.len() as u64;
    figures.open += u64::from(!open.is_empty());
    figures.open_and_applied += u64::from(open.values().any(|done| *done));
    let listed = scene.run(&["audit", "list", "--open", "--json"]).lines();
    let listed: BTreeSet<String> = listed.iter().map(|entry| text(&entry["record"]["action_id"])).collect();
    assert_eq!(listed, open.keys().cloned().collect());

    // The next act, whatever it is, finds out about those before it.
    scene.run(&["extend", "DB", "next", "--json"]).came_to(0, "applied");
    assert_eq!(scene.run(&["audit", "verify"]).code, 0);
    let settled = acts(&scene.export());
    let mut unknown = 0;
    for (action, done) in &open {
        let is_undo = settled[action].0.as_ref().is_some_and(|intent| intent["action"] == "undo");
        // Without a record in the database a missing row proves nothing: the row that a reclaim deletes, or that
        // an undo was about to bring back.
        let is_proof = with_table || engine() == Engine::Postgres || *done == is_undo;
        let expected = if *done { "applied" } else { "refused" };
        let expected: &[&str] = if is_proof { &[expected] } else { &[] };
        assert_eq!(settled[action].1, expected, "{action} after a kill at {looks} looks");
        unknown += usize::from(!is_proof);
    }
    assert_eq!(scene.run(&["audit", "list", "--open", "--json"]).lines().len(), unknown);
    if with_table {
        let applied = settled.values().filter(|(_, outcomes)| outcomes.contains(&"applied".into()));
        assert_eq!(
            scene.number("SELECT count(*) FROM claimtop_audit"),
            i64::try_from(applied.count()).expect("a count")
        );
    }
}

fn kill_them(with_table: bool) {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ u64::from(with_table));
    let mut figures = Figures::default();
    // A busy machine may let every process end before its kill: then some more are tried.
    let mut number = 0;
    while number < kills() || (figures.ended_first == figures.kills && number < 10 * kills()) {
        one_kill(number, with_table, &mut dice, &mut figures);
        number += 1;
    }
    println!("kills on {:?}, with the table {with_table}: {figures:?}", engine());
    assert!(figures.ended_first < figures.kills, "not one kill came in time: {figures:?}");
}

#[test]
fn killed_acts_are_whole_or_not_at_all_and_on_record() {
    on_both(|| kill_them(false));
}

#[test]
fn killed_acts_are_whole_or_not_at_all_where_the_database_keeps_the_record_too() {
    on_both(|| kill_them(true));
}
