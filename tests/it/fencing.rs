//! Systems that do not fence late workers: what is said of an act there, and what a sweep leaves.

use serde_json::Value as Json;
use std::process::{Child, Command, Output, Stdio};

use crate::support::engine::on_both;
use crate::support::{Database, json, lines, stderr, stdout};

const SENTENCE: &str = "a late worker could finish this job a second time";

/// The tables of Delayed Job, whose locks name a host and a process, and which fences nobody.
const TABLES: &str = "CREATE TABLE delayed_jobs (id INTEGER PRIMARY KEY, priority INTEGER, attempts INTEGER,
    handler TEXT, last_error TEXT, run_at DATETIME, locked_at DATETIME, failed_at DATETIME, locked_by TEXT, queue TEXT)";

/// A process that lives until its input is closed.
struct Worker(Child);

impl Worker {
    fn start() -> Worker {
        let child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        Worker(child.expect("a process"))
    }

    fn end(mut self) -> u32 {
        self.stop();
        self.0.id()
    }

    fn stop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Scene {
    database: Database,
}

impl Scene {
    /// A database whose config has these lines for the source.
    fn new(source: &str) -> Scene {
        let scene = Scene { database: Database::new(TABLES) };
        let config = format!("[source.here]\nat = {:?}\n{source}", scene.database.source());
        std::fs::write(scene.database.beside("config.toml"), config).expect("a config");
        scene
    }

    /// A job that a process of this host has held for an hour longer than it may.
    fn job(&self, id: u32, pid: u32) {
        // Whole hours would look like another zone.
        let at = |minutes| {
            let at = chrono::Utc::now() - chrono::TimeDelta::minutes(minutes);
            at.format("%Y-%m-%d %H:%M:%S").to_string()
        };
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        self.database.run(
            "INSERT INTO delayed_jobs (id, priority, attempts, handler, run_at, locked_at, locked_by)
             VALUES (?1, 0, 0, 'mail', ?2, ?3, ?4)",
            (id, at(370), at(310), format!("host:{host} pid:{pid}")),
        );
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = crate::support::command(arguments);
        command.arg("--config").arg(self.database.beside("config.toml"));
        command.env("XDG_STATE_HOME", self.database.beside("state")).env_remove("HOME").stdin(Stdio::null());
        command.env("PGCONNECT_TIMEOUT", "60");
        command.output().expect("claimtop runs")
    }

    fn held(&self) -> Vec<String> {
        self.database.texts("SELECT id FROM delayed_jobs WHERE locked_by IS NOT NULL ORDER BY id")
    }
}

fn summary(swept: &Output) -> Json {
    let last = stdout(swept).lines().last().map(str::to_owned).unwrap_or_default();
    serde_json::from_str(&last).unwrap_or_else(|_| panic!("{swept:?}"))
}

const NOBODY: u32 = 1 << 21;

#[test]
fn the_risk_is_said_by_acts_lists_and_the_doctor() {
    on_both(|| {
        let scene = Scene::new("");
        scene.job(1, NOBODY);
        scene.job(2, NOBODY);
        let listed = lines(&scene.run(&["list", "--json", "here"]));
        assert_eq!(listed[0]["fenced"], false, "{listed:#?}");
        let said = stdout(&scene.run(&["doctor", "here"]));
        assert!(said.contains(SENTENCE), "{said}");
        let told = scene.run(&["reclaim", "here", "1", "--dry-run"]);
        assert!(stdout(&told).contains(&format!("warning: {SENTENCE}")), "{told:?}");
        let done = scene.run(&["reclaim", "here", "1"]);
        assert!(stdout(&done).contains(&format!("warning: {SENTENCE}")), "{done:?}");
        let done = json(&scene.run(&["reclaim", "here", "2", "--json"]));
        assert_eq!((&done["outcome"], &done["fenced"]), (&"applied".into(), &false.into()), "{done:#}");
        assert_eq!(done["warning"], SENTENCE);
        assert!(scene.held().is_empty());
    });
}

#[test]
fn a_bulk_says_once_how_many_are_at_risk() {
    on_both(|| {
        let scene = Scene::new("");
        (1..4).for_each(|id| scene.job(id, NOBODY));
        let done = scene.run(&["reclaim", "here", "--set", "stale", "--yes"]);
        assert_eq!(stderr(&done).matches(SENTENCE).count(), 1, "{done:?}");
        assert!(stderr(&done).contains(&format!("3 of 3: {SENTENCE}")), "{done:?}");
    });
}

#[test]
fn where_the_config_says_that_holders_run_here_an_act_asks_the_kernel() {
    on_both(|| {
        let scene = Scene::new("holders_on = \"this-host\"\n");
        scene.job(1, Worker::start().end());
        let done = json(&scene.run(&["reclaim", "here", "1", "--json"]));
        assert_eq!((&done["outcome"], &done["fenced"]), (&"applied".into(), &false.into()), "{done:#}");
        assert_eq!(done["warning"], Json::Null, "nobody is left who could be late");
    });
}

#[test]
fn a_holder_that_lives_here_keeps_its_claim() {
    on_both(|| {
        let scene = Scene::new("holders_on = \"this-host\"\n");
        let alive = Worker::start();
        scene.job(1, alive.0.id());
        // Locked after the worker began.
        let now = chrono::Utc::now().format("%Y-%m-%d %H:%M:%S%.6f").to_string();
        scene.database.run("UPDATE delayed_jobs SET locked_at = ?1", [now]);
        let done = scene.run(&["reclaim", "here", "1"]);
        assert_eq!(done.status.code(), Some(5), "{done:?}");
        assert!(stdout(&done).contains("is alive"), "{done:?}");
        assert_eq!(scene.held(), ["1"]);
    });
}

#[test]
fn a_sweep_leaves_what_a_late_worker_could_finish_and_counts_it() {
    on_both(|| {
        let scene = Scene::new("");
        (1..4).for_each(|id| scene.job(id, NOBODY));
        let swept = scene.run(&["sweep", "here", "--once", "--json"]);
        assert_eq!(swept.status.code(), Some(5), "{swept:?}");
        let summary = summary(&swept);
        assert_eq!((&summary["applied"], &summary["unfenced"]), (&0.into(), &3.into()), "{summary:#}");
        assert_eq!(stderr(&swept).matches(SENTENCE).count(), 1, "{swept:?}");
        assert!(stderr(&swept).contains("job: 3 claims left"), "{swept:?}");
        assert_eq!(scene.held(), ["1", "2", "3"]);
    });
}

#[test]
fn the_config_lets_a_sweep_take_them() {
    on_both(|| {
        let scene = Scene::new("[source.here.sweep]\nunfenced = true\n");
        (1..4).for_each(|id| scene.job(id, NOBODY));
        let swept = scene.run(&["sweep", "here", "--once", "--json"]);
        assert_eq!(swept.status.code(), Some(0), "{swept:?}");
        let summary = summary(&swept);
        assert_eq!((&summary["applied"], &summary["unfenced"]), (&3.into(), &0.into()), "{summary:#}");
        assert!(scene.held().is_empty());
    });
}

/// A second system that fences nobody, whose board has the same name.
const OTHER: &str =
    "CREATE TABLE django_dbq_job (id TEXT PRIMARY KEY, created DATETIME, modified DATETIME, name TEXT,
    state TEXT, next_task TEXT, queue_name TEXT, priority INTEGER, workspace TEXT, run_after DATETIME)";

#[test]
fn the_config_lets_a_sweep_take_those_of_single_boards() {
    on_both(|| {
        for (named, delayed, others) in [
            ("[\"delayed-job/job\"]", 0, 3),
            ("[\"django-db-queue/job\"]", 3, 0),
            ("[\"job\"]", 0, 0),
            ("[\"lock\", \"nobody/job\"]", 3, 3),
            ("[]", 3, 3),
        ] {
            let scene = Scene::new(&format!("[source.here.sweep]\nunfenced = {named}\n"));
            let database = &scene.database;
            database.either(OTHER, &OTHER.replace("DATETIME", "timestamptz"));
            (1..4).for_each(|id| scene.job(id, NOBODY));
            let old = (chrono::Utc::now() - chrono::TimeDelta::minutes(310))
                .format("%Y-%m-%d %H:%M:%S")
                .to_string();
            for id in 1..4 {
                database.run(
                    "INSERT INTO django_dbq_job VALUES (?1, ?2, ?2, 'mail', 'PROCESSING', 'x', 'q', 1, '{}', ?2)",
                    (id.to_string(), &old),
                );
            }
            let swept = scene.run(&["sweep", "here", "--once", "--json"]);
            let left = database.number("SELECT count(*) FROM django_dbq_job WHERE state = 'PROCESSING'");
            assert_eq!((scene.held().len(), left), (delayed, others), "{named}: {swept:?}");
            let summary = summary(&swept);
            assert_eq!(summary["unfenced"], delayed as i64 + others, "{named}: {summary:#}");
            // What is left is told with the setting that would take it.
            let is_told = stderr(&swept).contains("`unfenced = [\"job\"]` for the sweep of this source");
            assert_eq!(is_told, delayed as i64 + others > 0, "{swept:?}");
        }
    });
}

#[test]
fn a_setting_that_names_no_boards_is_an_error() {
    let scene = Scene::new("[source.here.sweep]\nunfenced = \"job\"\n");
    let refused = scene.run(&["sweep", "here", "--once"]);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    assert!(stderr(&refused).contains("expected true, false or a list of boards"), "{refused:?}");
}

#[test]
fn a_sweep_takes_the_claim_of_a_holder_that_is_proven_dead() {
    on_both(|| {
        let scene = Scene::new("holders_on = \"this-host\"\n");
        scene.job(1, Worker::start().end());
        scene.job(2, Worker::start().end());
        // Nobody can say where this one ran.
        scene.job(3, NOBODY);
        scene.database.run("UPDATE delayed_jobs SET locked_by = 'somebody' WHERE id = 3", []);
        let swept = scene.run(&["sweep", "here", "--once", "--json"]);
        let summary = summary(&swept);
        assert_eq!((&summary["applied"], &summary["unfenced"]), (&2.into(), &1.into()), "{summary:#}");
        assert_eq!(scene.held(), ["3"]);
    });
}
