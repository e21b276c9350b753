//! Disks that are full or cannot be written: refused, and the database is what it was.

use super::*;

/// What can be mounted only where root may have a namespace of its own.
fn can_mount() -> bool {
    let tried = Command::new("unshare").args(["-m", "true"]).output();
    let can = am_root() && tried.is_ok_and(|output| output.status.success());
    if !can {
        println!("skipped: this needs root and a mount namespace of its own");
    }
    can
}

/// Runs a script in a private mount namespace, with an empty folder to mount something on.
fn in_a_world(scene: &Scene, script: &str) -> Run {
    for name in ["room", "out"] {
        fs::create_dir_all(scene.database.beside(name)).expect("a folder");
    }
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]);
    command.env("ROOM", scene.database.beside("room")).env("OUT", scene.database.beside("out"));
    command.env("DB", scene.database.path()).env("STATE", scene.state());
    command.env("CLAIMTOP", env!("CARGO_BIN_EXE_claimtop")).env("XDG_CONFIG_HOME", "/proc/nonexistent");
    command.env("XDG_STATE_HOME", scene.state());
    Run::of(&command.output().expect("unshare runs"))
}

/// A database that its application has closed, so that a copy of the file is all of it.
fn closed(journal_mode: &str, claims: usize) -> Scene {
    let scene = Scene::new();
    scene.session("worker-1", SECOND);
    scene.tasks(claims);
    scene.slow_tasks();
    scene.database.connection.pragma_update(None, "journal_mode", "DELETE").expect("one file");
    scene.database.connection.pragma_update(None, "journal_mode", journal_mode).expect("a mode");
    let _: (i64, i64, i64) = scene
        .database
        .connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .expect("a checkpoint");
    scene
}

/// How many claims the database holds that the script has left in the folder `out`.
fn left(scene: &Scene) -> i64 {
    let connection = rusqlite::Connection::open(scene.database.beside("out/tasks.db")).expect("a database");
    let check: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a check");
    assert_eq!(check, "ok");
    connection.query_row("SELECT count(*) FROM task_claims", [], |row| row.get(0)).expect("a count")
}

/// `$FREE` kilobytes stay free beside the database.
const FULL: &str = "mount -t tmpfs -o size=4m tmpfs \"$ROOM\" && cp \"$DB\" \"$ROOM/tasks.db\" || exit 99
    head -c $((FREE * 1024)) /dev/zero > \"$ROOM/spare\"; cat /dev/zero > \"$ROOM/filler\" 2>/dev/null
    rm \"$ROOM/spare\"
    \"$CLAIMTOP\" reclaim --json \"$ROOM/tasks.db\" $WHAT; code=$?
    rm \"$ROOM/filler\"; cp \"$ROOM\"/tasks.db* \"$OUT/\"; exit $code";

#[test]
fn a_full_disk_refuses_the_act_and_keeps_the_rows() {
    if !can_mount() {
        return;
    }
    for (mode, free) in [("DELETE", 0), ("WAL", 0), ("WAL", 36)] {
        let scene = closed(mode, 3);
        let run = in_a_world(&scene, &format!("FREE={free}; WHAT=task-0001\n{FULL}"));
        assert_eq!(run.code, 5, "{mode}, {free} kB free: {run:#?}");
        assert_eq!(run.object()["outcome"], "refused");
        assert_eq!(left(&scene), 3, "{mode}, {free} kB free");
        for record in scene.export() {
            assert_ne!(record["outcome"], "applied", "{record}");
        }
        assert_eq!(scene.run(&["audit", "verify"]).code, 0);
    }
}

#[test]
fn a_disk_that_fills_up_keeps_every_row_that_was_not_reclaimed() {
    if !can_mount() {
        return;
    }
    // How many are done in a transaction depends on the machine: one fits, and all of them do not.
    const CLAIMS: usize = 6_000;
    let scene = closed("WAL", CLAIMS);
    let run = in_a_world(&scene, &format!("FREE=640; WHAT='--set stale --yes'\n{FULL}"));
    assert_eq!(run.code, 5, "{run:#?}");
    let applied = run.lines().iter().filter(|line| line["outcome"] == "applied").count();
    assert!(applied > 0 && applied < CLAIMS, "{applied} of {CLAIMS} before the disk was full");
    let rest = i64::try_from(CLAIMS - applied).expect("a count");
    assert_eq!(left(&scene), rest);
    // It stops at the first transaction that finds no room: the next ones would find none either.
    let tally = run.tally();
    let count = |name: &str| usize::try_from(tally[name].as_u64().expect(name)).expect("a count");
    assert_eq!((count("wanted"), count("applied")), (CLAIMS, applied), "{tally}");
    assert_eq!(applied + count("refused") + count("not_tried"), CLAIMS, "{tally}");
    assert!(count("not_tried") > 0 && count("refused") <= CLAIMS / 3, "{tally}");
    assert!(tally["stopped"].as_str().is_some_and(|why| why.contains("full")), "{tally}");
    let recorded = scene.export().iter().filter(|record| record["outcome"] == "applied").count();
    assert_eq!(recorded, applied);
}

#[test]
fn no_room_for_the_journal_is_no_act() {
    if !can_mount() {
        return;
    }
    let script = "mount -t tmpfs -o size=64k tmpfs \"$ROOM\" || exit 99
        cat /dev/zero > \"$ROOM/filler\" 2>/dev/null
        XDG_STATE_HOME=\"$ROOM\" exec \"$CLAIMTOP\" reclaim --json \"$DB\" task-1";
    let scene = Scene::stale();
    let bytes = scene.bytes();
    let run = in_a_world(&scene, script);
    run.came_to(5, "refused");
    run.says("no room for the audit journal");
    scene.assert_untouched(&bytes, "an act without a journal");
}

#[test]
fn a_journal_on_a_read_only_disk_is_no_act() {
    if !can_mount() {
        return;
    }
    let script = "mount -t tmpfs -o ro tmpfs \"$ROOM\" || exit 99
        XDG_STATE_HOME=\"$ROOM\" exec \"$CLAIMTOP\" reclaim --json \"$DB\" task-1";
    let scene = Scene::stale();
    let bytes = scene.bytes();
    let run = in_a_world(&scene, script);
    run.came_to(5, "refused");
    run.says("read-only file system");
    scene.assert_untouched(&bytes, "an act without a journal");
}

#[test]
fn a_database_on_a_read_only_disk_is_refused() {
    if !can_mount() {
        return;
    }
    let script = "mount -t tmpfs tmpfs \"$ROOM\" && cp \"$DB\" \"$ROOM/tasks.db\" || exit 99
        mount -o remount,ro \"$ROOM\" && exec \"$CLAIMTOP\" reclaim --json \"$ROOM/tasks.db\" task-0001";
    let run = in_a_world(&closed("DELETE", 3), script);
    run.came_to(5, "refused");
    run.says("its file system is read-only");
}

#[test]
fn a_journal_folder_without_permission_is_no_act() {
    let scene = Scene::stale();
    scene.database.connection.pragma_update(None, "journal_mode", "DELETE").expect("one file");
    scene.open_to_all();
    chmod(&scene.database.path(), 0o666);
    fs::create_dir(scene.state()).expect("a folder");
    chmod(&scene.state(), 0o555);
    let bytes = scene.bytes();
    let output = scene.as_nobody(&["reclaim", "--json", "DB", "task-1"]).output().expect("claimtop runs");
    let run = Run::of(&output);
    run.came_to(5, "refused");
    run.says("no permission for the audit journal");
    scene.assert_untouched(&bytes, "an act without a journal");
    chmod(&scene.state(), 0o755);
}

/// Needs no root: files may not grow beyond a limit.
#[test]
fn a_journal_that_takes_no_more_stops_a_bulk_at_once() {
    let scene = closed("DELETE", 3_000);
    let limit = "trap '' XFSZ; ulimit -f 400; exec \"$@\"";
    let program = env!("CARGO_BIN_EXE_claimtop");
    let mut command = Command::new("sh");
    command.args(["-c", limit, "sh", program, "reclaim", "--set", "stale", "--yes", "--json"]);
    command.arg(scene.database.path()).env("XDG_STATE_HOME", scene.state()).env("XDG_CONFIG_HOME", "/none");
    let run = Run::of(&command.output().expect("sh runs"));
    assert_eq!(run.code, 5, "{}", run.err);
    let tally = run.tally();
    let count = |name: &str| tally[name].as_i64().expect(name);
    assert!(count("applied") > 0 && count("not_tried") > 0, "{tally}");
    assert_eq!(count("applied") + count("refused") + count("not_tried"), 3_000, "{tally}");
    assert_eq!(scene.number("SELECT count(*) FROM task_claims"), 3_000 - count("applied"));
    assert!(tally["stopped"].as_str().is_some_and(|why| why.contains("record")), "{tally}");
    assert_eq!(scene.run(&["audit", "verify"]).code, 0);
}
