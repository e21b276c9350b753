//! What is not dead is never touched, and what changed meanwhile is left to whoever changed it.

use crate::support::options::writable;
use claimtop::domain::recovery::{Action, Outcome};
use claimtop::profile::Library;
use claimtop::profile::format::Profile;
use claimtop::store::{Actor, Profiles};

use super::super::{act, is_moved, look};
use super::*;
use crate::support::{COORDINATION, MINUTE};

#[test]
fn a_second_time_there_is_nothing_to_do() {
    on_both(|| {
        for dead_board in DEAD_BOARDS {
            let scene = Scene::new(dead_board);
            scene.requeue(&["7"]).came_to(0, "applied");
            let before = scene.dump();
            scene.requeue(&["7"]).came_to(4, "moved");
            assert_eq!((scene.dump(), scene.trail().len()), (before, 2), "{}", dead_board.board);
        }
    });
}

#[test]
fn what_is_queued_held_or_done_is_not_touched() {
    on_both(|| {
        for dead_board in DEAD_BOARDS {
            let scene = Scene::new(dead_board);
            let before = scene.dump();
            for id in ["queued", "waits", "held", "done", "1", "2", "3", "4", "5", "nobody"] {
                let address = format!("{}/{}/{id}", dead_board.profile, dead_board.board);
                for id in [id, address.as_str()] {
                    let object =
                        scene.requeue(&[id, "--force", "--reason", "all of them"]).came_to(4, "moved");
                    assert!(object["before"].is_null() && object["after"].is_null(), "{object:#}");
                }
            }
            assert_eq!((scene.dump(), scene.trail().len()), (before, 0), "{}", dead_board.board);
        }
    });
}

#[test]
fn a_job_that_is_not_what_was_listed_is_left_alone() {
    on_both(|| {
        for dead_board in DEAD_BOARDS {
            let scene = Scene::new(dead_board);
            let token = scene.dead()[0]["seen"].as_str().expect("a token").to_owned();
            let kind = if dead_board.table == "merge_queue" { "rebase_count" } else { "attempts" };
            let change = format!("UPDATE {} SET {kind} = 6 WHERE {}", dead_board.table, scene.dead_one());
            scene.database.run(&change, []);
            let before = scene.dump();
            scene.requeue(&["7", "--seen", &token]).came_to(4, "moved");
            assert_eq!((scene.dump(), scene.trail().len()), (before, 0), "{}", dead_board.board);
            let token = scene.dead()[0]["seen"].as_str().expect("a token").to_owned();
            scene.requeue(&["7", "--seen", &token]).came_to(0, "applied");
        }
    });
}

#[test]
fn a_job_that_changes_between_the_look_and_the_act_is_left_alone() {
    on_both(|| {
        for dead_board in DEAD_BOARDS {
            let column = dead_board.becomes[1].0;
            for change in ["status = 'STATUS'", "COLUMN = COLUMN + 1", "id = 8"] {
                let scene = Scene::new(dead_board);
                let living = Profiles::Detect(Library::built_in());
                let dead = scene.database.options(Profiles::Dead(Box::new(living)), |_| {});
                let mut actor = Actor::open(writable(dead)).expect("an actor");
                let seen = look(&mut actor, "7");
                let Authorization(queued) = dead_board.becomes[0].1 else { panic!("the status comes first") };
                let change = change.replace("STATUS", queued).replace("COLUMN", column);
                scene
                    .database
                    .run(&format!("UPDATE {} SET {change} WHERE {}", dead_board.table, scene.dead_one()), []);
                let before = scene.dump();
                let outcome = act(&mut actor, &seen, Action::Requeue, &Default::default()).outcome;
                assert!(is_moved(&outcome), "{} {change}: {outcome:?}", dead_board.board);
                assert_eq!(scene.dump(), before, "{} {change}", dead_board.board);
            }
        }
    });
}

#[test]
fn no_other_act_is_done_to_the_dead() {
    on_both(|| {
        for dead_board in DEAD_BOARDS {
            let scene = Scene::new(dead_board);
            let before = scene.dump();
            for verb in ["reclaim", "release", "extend"] {
                let run = scene.run(&[verb, "--json"], &[&["7"], dead_board.said].concat());
                assert_eq!(run.code, 4, "{verb} on {}: {run:#?}", dead_board.board);
            }
            let living = Profiles::Detect(Library::built_in());
            let dead = scene.database.options(Profiles::Dead(Box::new(living)), |_| {});
            let mut actor = Actor::open(writable(dead)).expect("an actor");
            let seen = look(&mut actor, "7");
            for action in [Action::Reclaim, Action::Release, Action::Extend] {
                let outcome = act(&mut actor, &seen, action, &Default::default()).outcome;
                assert!(!matches!(outcome, Outcome::Applied), "{action} on {}", dead_board.board);
            }
            assert_eq!(scene.dump(), before, "{}", dead_board.board);
        }
    });
}

#[test]
fn a_rehearsal_shows_what_would_be_done_and_does_nothing() {
    on_both(|| {
        for dead_board in DEAD_BOARDS {
            let scene = Scene::new(dead_board);
            let before = scene.dump();
            let object = scene.requeue(&["7", "--dry-run"]).came_to(0, "applied");
            let Authorization(queued) = dead_board.becomes[0].1 else { panic!("the status comes first") };
            let rows = object["after"].as_array().expect("rows");
            let job = rows.iter().find(|row| row["table"] == dead_board.table).expect("the job");
            assert_eq!(job["row"]["status"], queued, "{object:#}");
            let shown = scene.run(&["requeue", "--dry-run"], &[&["7"], dead_board.said].concat());
            shown.says(&format!("would requeue {}/{}/7", dead_board.profile, dead_board.board));
            shown.says("UPDATE ");
            shown.says(&format!("\"{}\" ", dead_board.table));
            assert_eq!((scene.dump(), scene.trail().len()), (before, 0), "{}", dead_board.board);
        }
    });
}

#[test]
fn a_read_only_session_refuses() {
    on_both(|| {
        for dead_board in DEAD_BOARDS {
            let scene = Scene::new(dead_board);
            let before = scene.dump();
            scene.requeue(&["7", "--read-only"]).came_to(5, "refused");
            let bulk = scene.requeue(&["--set", "unknown", "--yes", "--read-only"]);
            bulk.came_to(5, "refused");
            assert_eq!(scene.dump(), before, "{}", dead_board.board);
            assert!(!scene.database.beside("state").exists(), "a read-only session made a journal");
        }
    });
}

#[test]
fn a_profile_whose_tables_could_be_anybodys_has_to_be_named() {
    on_both(|| {
        for dead_board in [&TASK, &LEASE] {
            let scene = Scene::new(dead_board);
            let before = scene.dump();
            for words in [&["7"][..], &["--set", "unknown", "--yes"]] {
                let run = scene.run(&["requeue", "--json"], words);
                let object = run.came_to(5, "refused");
                assert!(object["why"].as_str().unwrap().contains("--profile task-queue"), "{object:#}");
            }
            assert_eq!((scene.dump(), scene.trail().len()), (before, 0), "{}", dead_board.board);
            assert_eq!(scene.dead().len(), 1, "looking needs no name");
        }
    });
}

#[test]
fn a_system_that_does_not_say_what_is_dead_says_so() {
    on_both(|| {
        for system in [System::Coordination, System::Finalization] {
            let database = match system {
                System::Coordination => Database::new(COORDINATION),
                other => Database::of(other),
            };
            let scene = Scene { database, dead_board: &JOB };
            for verb in [&["requeue", "--json"][..], &["list", "--dead"]] {
                let run = scene.run(verb, if verb[0] == "requeue" { &["7"] } else { &[] });
                assert_eq!((run.code, run.out.as_str()), (3, ""), "{run:#?}");
                run.says("none of its profiles says what is dead and how to queue it again");
                assert_eq!(run.err.lines().count(), 1, "{run:#?}");
            }
        }
    });
}

/// A profile with this of its own at the end of its first board, and this of the whole.
fn parsed(board: &str, whole: &str) -> Result<Profile, String> {
    let text = format!(
        "title = 't'\n{whole}\n[[claim]]\nname = 'first'\ntable = 'jobs'\nid = 'id'\n\
         deadline = {{ never = true }}\nrequeue = {{ set = {{ status = \"'queued'\" }} }}\n{board}\n"
    );
    Profile::parse("own", &text).map_err(|error| error.to_string())
}

#[test]
fn a_profile_that_queues_again_must_say_what_is_dead_in_the_same_table() {
    let dead = "status = 'dead'";
    for (board, whole) in [
        ("", ""),
        ("[claim.backlog]\nqueued = 'x'", ""),
        (&format!("[claim.backlog]\ntable = 'graves'\ndead = \"{dead}\""), ""),
        ("", &format!("backlog = {{ table = 'graves', dead = \"{dead}\" }}")),
        ("", "backlog = { queued = 'x' }"),
    ] {
        let said = parsed(board, whole).expect_err(board);
        let sentence = "claim \"first\": requeue needs a backlog in the same table that says what is dead";
        assert!(said.contains(sentence), "{said}");
    }
    assert!(parsed(&format!("[claim.backlog]\ndead = \"{dead}\""), "").is_ok());
    assert!(parsed("", &format!("backlog = {{ dead = \"{dead}\" }}")).is_ok());
    // The backlog of the whole is the first board's.
    let second = "[[claim]]\nname = 'second'\ntable = 'more'\nid = 'id'\ndeadline = { never = true }\n\
                  requeue = { delete = true }";
    let said = parsed(second, &format!("backlog = {{ dead = \"{dead}\" }}")).expect_err(second);
    assert!(said.contains("claim \"second\": requeue needs"), "{said}");
}

#[test]
fn looking_at_the_living_is_not_changed_by_the_dead() {
    on_both(|| {
        for dead_board in DEAD_BOARDS {
            let scene = Scene::living(dead_board);
            // An instant after all that the living did, and before any of them is late.
            let now = (chrono::Utc::now().timestamp_millis() + MINUTE / 4).to_string();
            let look = || {
                let run = |verb: &[&str]| scene.run(verb, &["--now", &now]);
                let (check, list) = (run(&["check", "--json"]), run(&["list", "--json"]));
                let mut found: Json = serde_json::from_str(&check.out).expect("JSON");
                let found = found["sources"][0].take();
                let all =
                    [found["claims"].clone(), found["reasons"].clone(), found["backlog"]["queued"].clone()];
                (check.code, all, list.code, list.out, found["backlog"].clone())
            };
            let before = look();
            scene.database.run(dead_board.dead, []);
            let after = look();
            assert_eq!((before.0, &before.1, before.2, &before.3), (after.0, &after.1, after.2, &after.3));
            assert_ne!(before.4, after.4, "the backlog counts it: {}", after.4);
        }
    });
}

#[test]
fn a_job_whose_place_is_taken_stays_dead_and_says_why() {
    on_both(|| {
        let scene = Scene::new(&ENTRY);
        scene.database.run("UPDATE merge_queue SET dedupe_key = 'same' WHERE id IN (1, 7)", []);
        let before = scene.dump();
        let run = scene.requeue(&["7"]);
        assert!(matches!(run.code, 3 | 5), "{run:#?}");
        let words = run.err.to_lowercase() + &run.out.to_lowercase();
        assert!(words.contains("unique"), "{run:#?}");
        assert_eq!(scene.dump(), before);
    });
}
