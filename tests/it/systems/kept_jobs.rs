//! No act of a built-in profile loses a job, however often it was tried: reclaim, release, requeue, and the undo of each.
//!
//! `kept_jobs.toml` says what makes a row of each board held, or dead; everything else of the row is made up here by the
//! types of its columns.

use super::{Fixture, Tables, fixtures};
use crate::support::engine::Engine;
use crate::support::figures;
use crate::support::options::writable;
use claimtop::domain::recovery::{Action, Authorization, Outcome};
use claimtop::profile::format::{Board, Profile};
use claimtop::profile::{Library, format};
use claimtop::reference::System;
use claimtop::store::{Actor, Filter, Options, Order, Profiles, Reader, Seen, Undo};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Attempts of a job that may be tried three times: none, some, all, and more than that.
const TRIED: [usize; 4] = [0, 1, 3, 4];
const MOST: usize = 3;

/// What the file says of a board. `{n}` stands for the number of the row, OLD for a time long ago and SOON for one ahead.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    /// Columns with their values as SQL.
    #[serde(default)]
    held: BTreeMap<String, String>,
    #[serde(default)]
    dead: BTreeMap<String, String>,
    /// Columns that are not required and get a value nevertheless.
    #[serde(default)]
    fill: Vec<String>,
    /// The columns of attempts and of their maximum.
    #[serde(default)]
    attempts: Vec<String>,
    /// The database itself refuses more attempts than the maximum.
    #[serde(default)]
    is_checked: bool,
    /// Tables that `init` does not make.
    tables: Option<String>,
    /// Rows of other tables.
    #[serde(default)]
    also: Vec<String>,
    /// How many jobs there are; otherwise one for each row.
    jobs: Option<String>,
}

struct Column {
    name: String,
    kind: String,
    is_required: bool,
    is_key: bool,
    is_enum: bool,
}

#[test]
fn no_act_loses_a_job() {
    let rows = all_rows();
    let (mut acts, mut boards, mut broken) = (0, 0, Vec::new());
    for fixture in fixtures().into_iter().chain(reference()) {
        let profile = fixture.usual_profile().on(fixture.spoken()).expect("a valid profile");
        for scene in scenes(&fixture, &profile, &rows) {
            // All that are wrong are told, not only the first.
            match scene.try_acts() {
                Ok(done) => acts += done,
                Err(loss) => broken.push(loss),
            }
            boards += 1;
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n\n"));
    figures::tell(&format!(
        "{acts} acts of built-in profiles and their undos on {boards} boards lost no job"
    ));
}

/// Acts that lose jobs: a check that has never failed proves nothing.
#[test]
fn an_act_that_loses_a_job_is_caught() {
    let rows = all_rows();
    let delete = "delete = true";
    let only_tired = "set = { status = \"'Pending'\", lock_by = \"NULL\" }\n\
                      also = [\"DELETE FROM {table} WHERE id = :id AND attempts >= max_attempts\"]";
    let mut caught = 0;
    for (system, act, loses) in [
        ("litequeue", delete, "1 job became 0"),
        ("pg-boss", delete, "4 jobs became 3"),
        // The row of the claim goes, and nobody puts the job into the queue again.
        ("solid-queue", delete, "1 job became 0"),
        ("apalis", only_tired, "4 jobs became 3"),
        ("apalis-postgres", only_tired, "4 jobs became 3"),
    ] {
        for fixture in fixtures().into_iter().filter(|fixture| fixture.system == system) {
            let sound = Library::built_in().find(&fixture.profile).expect("a built-in profile");
            let mut broken: toml::Table = sound.text.parse().expect("TOML");
            let act: toml::Table = act.replace("{table}", &sound.boards[0].table).parse().expect("TOML");
            let engine = fixture.spoken().as_str();
            let on_engine =
                broken["claim"][0].get_mut("on").and_then(|on| on.get_mut(engine)?.as_table_mut());
            on_engine.map(|keys| keys.remove("reclaim"));
            broken["claim"][0]["reclaim"] = toml::Value::Table(act);
            let text = toml::to_string(&broken).expect("TOML");
            let profile = Profile::parse(&fixture.profile, &text).expect("a profile that can be read");
            let profile = profile.on(fixture.spoken()).expect("a valid profile");
            let scene = scenes(&fixture, &profile, &rows).into_iter().next().expect("its reclaim");
            let loss = scene.try_acts().expect_err("the act loses a job");
            assert!(loss.contains(loses), "{system}: {loss}");
            caught += 1;
        }
    }
    assert!(caught >= 3, "{caught}");
}

fn all_rows() -> BTreeMap<String, Rows> {
    let path = super::folder("it/systems/kept_jobs.toml");
    toml::from_str(&std::fs::read_to_string(path).expect("rows")).expect("rows")
}

/// Every act of every board of a profile.
fn scenes<'a>(
    fixture: &'a Fixture,
    profile: &'a Profile,
    rows: &'a BTreeMap<String, Rows>,
) -> Vec<Scene<'a>> {
    let mut scenes = Vec::new();
    for board in &profile.boards {
        let name = format!("{}/{}", profile.name, board.name);
        let described =
            rows.get(&format!("{name} on {}", fixture.spoken().as_str())).or_else(|| rows.get(&name));
        for action in [Action::Reclaim, Action::Release, Action::Requeue] {
            if act(board, action).is_some() {
                let rows = described.unwrap_or_else(|| panic!("kept_jobs.toml says nothing of {name}"));
                scenes.push(Scene { fixture, profile, board, rows, action });
            }
        }
    }
    scenes
}

/// The tables that `init` makes, but for those of coordination, which has no jobs.
fn reference() -> Vec<Fixture> {
    let systems = [System::ExecutorJobs, System::MergeQueue, System::Finalization, System::TaskQueue];
    let fixture = |system: System, engine: Engine| {
        let sql = match engine {
            Engine::Sqlite => system.sqlite().to_owned(),
            Engine::Postgres => system.postgres()?.to_owned(),
        };
        Some(Fixture { system: system.as_str().into(), profile: system.as_str().into(), engine, sql })
    };
    let engines = crate::support::engine::engines();
    systems
        .iter()
        .flat_map(|system| engines.iter().filter_map(move |engine| fixture(*system, *engine)))
        .collect()
}

fn act(board: &Board, action: Action) -> Option<&format::Act> {
    match action {
        Action::Reclaim => board.reclaim.as_ref(),
        Action::Release => board.release.as_ref(),
        Action::Requeue => board.requeue.as_ref(),
        Action::Extend => None,
    }
}

struct Scene<'a> {
    fixture: &'a Fixture,
    profile: &'a Profile,
    board: &'a Board,
    rows: &'a Rows,
    action: Action,
}

impl Scene<'_> {
    /// Acts on every row and takes each act back; how many acts there were, or which one lost a job.
    fn try_acts(&self) -> Result<usize, String> {
        let Scene { fixture, board, action, .. } = self;
        let name = format!("{action} of {}/{} ({:?})", fixture.system, board.name, fixture.engine);
        let tables = fixture.tables();
        self.rows.tables.iter().for_each(|sql| tables.run(sql));
        // A table with room for one row only, such as a lock, has one.
        let tried: &[usize] = match (self.rows.attempts.is_empty(), self.rows.is_checked) {
            (true, _) => &TRIED[..1],
            (false, true) => &TRIED[..3],
            (false, false) => &TRIED,
        };
        tried.iter().enumerate().for_each(|(at, attempts)| self.insert(&tables, at + 1, *attempts));
        let (before, contents) = (self.jobs(&tables), tables.contents());
        let expect_kept = |address: &str| match self.jobs(&tables) {
            after if after == before => Ok(()),
            after => {
                let jobs = if before == 1 { "1 job".into() } else { format!("{before} jobs") };
                Err(format!("{name}: {address}: {jobs} became {after}: {:#?}", tables.contents()))
            }
        };
        let mut actor = Actor::open(writable(self.options(&tables))).expect(&name);
        let addresses = self.addresses(&tables);
        assert_eq!(addresses.len(), tried.len(), "{name}: {addresses:?} in {contents:#?}");
        for address in &addresses {
            let mut found = actor.find(address, None).expect(&name);
            assert_eq!(found.len(), 1, "{name}: {address}");
            let (seen, word) = (found.remove(0), word());
            let acted = perform(&mut actor, &seen, *action, &word, &name);
            expect_kept(address)?;
            let undo = Undo::For { action_id: "undo", address, authorization: &word };
            let undone = actor.undo(&acted, undo, &mut |_| Ok(())).expect(&name);
            if undone.outcome != Outcome::Applied || tables.contents() != contents {
                return Err(format!(
                    "{name}: the undo of {address}: {:?}: {:#?}",
                    undone.outcome,
                    tables.contents()
                ));
            }
        }
        for address in &addresses {
            let seen = actor.find(address, None).expect(&name).remove(0);
            perform(&mut actor, &seen, *action, &word(), &name);
            expect_kept(address)?;
        }
        Ok(addresses.len() * 2)
    }

    fn jobs(&self, tables: &Tables) -> u64 {
        let each = format!("SELECT count(*) FROM {}", self.board.table);
        let counted = tables.texts(self.rows.jobs.as_ref().unwrap_or(&each)).remove(0);
        counted.parse().expect("a number")
    }

    fn options(&self, tables: &Tables) -> Options {
        let living = Profiles::Named(vec![self.profile.clone()]);
        let profiles = match self.action {
            Action::Requeue => Profiles::Dead(Box::new(living)),
            Action::Reclaim | Action::Release | Action::Extend => living,
        };
        tables.options_now(profiles)
    }

    fn addresses(&self, tables: &Tables) -> Vec<String> {
        let mut found = Vec::new();
        let mut reader = Reader::open(self.options(tables)).expect("a reader");
        let listed = reader.list(&Filter::default(), |listed| {
            if listed.board == self.board.name {
                let key = listed.judged.claim.key.address();
                found.push(format!("{}{key}", claimtop::store::prefix(&listed.profile, &listed.board)));
            }
            true
        });
        listed.expect("a list");
        found
    }

    fn insert(&self, tables: &Tables, n: usize, attempts: usize) {
        let mut told = match self.action {
            Action::Requeue => self.rows.dead.clone(),
            Action::Reclaim | Action::Release | Action::Extend => self.rows.held.clone(),
        };
        for (column, count) in self.rows.attempts.iter().zip([attempts, MOST]) {
            told.insert(column.clone(), count.to_string());
        }
        for column in tables.columns(&self.board.table) {
            let is_wanted = column.is_required || column.is_key || self.rows.fill.contains(&column.name);
            let is_told = told.keys().any(|name| name.eq_ignore_ascii_case(&column.name));
            if is_wanted && !is_told {
                let value = column.value(n, self.fixture.engine);
                told.insert(column.name, value);
            }
        }
        let names: Vec<String> = told.keys().map(|name| format!("{name:?}")).collect();
        let values: Vec<&str> = told.values().map(String::as_str).collect();
        let (names, values) = (names.join(", "), values.join(", "));
        let row = format!("INSERT INTO {} ({names}) VALUES ({values})", self.board.table);
        for sql in self.rows.also.iter().chain([&row]) {
            tables.run(&self.filled(sql, n, attempts));
        }
    }

    fn filled(&self, sql: &str, n: usize, attempts: usize) -> String {
        let (old, soon) = match self.fixture.engine {
            Engine::Sqlite => ("'2026-10-03 04:17:00'", "'2040-01-01 00:00:00'"),
            Engine::Postgres => ("now() - interval '40 days 17 minutes'", "now() + interval '17 minutes'"),
        };
        let counted = sql.replace("{n}", &n.to_string()).replace("{attempts}", &attempts.to_string());
        counted.replace("OLD", old).replace("SOON", soon)
    }
}

fn word() -> Authorization {
    Authorization { force: true, reason: Some("a test".into()), ..Authorization::default() }
}

fn perform(
    actor: &mut Actor,
    seen: &Seen,
    action: Action,
    word: &Authorization,
    name: &str,
) -> Vec<claimtop::store::Change> {
    let word = Authorization { holder: seen.judged.claim.holder.clone(), ..word.clone() };
    let order = Order { action, authorization: &word, action_id: "act", dry_run: false };
    let acted = actor.act(seen, &order, &mut |_| Ok(())).expect(name);
    assert_eq!(acted.outcome, Outcome::Applied, "{name}: {}", seen.address());
    acted.changes
}

impl Column {
    /// Something that fits the type, different in every row if it is part of the key.
    fn value(&self, n: usize, engine: Engine) -> String {
        let kind = self.kind.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
        let number = if self.is_key { n } else { 1 };
        match engine {
            _ if self.is_enum => format!("(enum_range(NULL::{}))[1]", self.kind),
            _ if kind.ends_with("[]") => "'{}'".into(),
            Engine::Postgres if kind == "uuid" => format!("'00000000-0000-0000-0000-{number:012}'::uuid"),
            Engine::Postgres if kind == "bytea" => r"'\x7b7d'::bytea".into(),
            Engine::Postgres if kind == "interval" => "'15 minutes'".into(),
            Engine::Sqlite if kind.contains("blob") => "x'7b7d'".into(),
            Engine::Sqlite if kind.contains("bool") => "0".into(),
            _ if has(&["bool"]) => "false".into(),
            _ if has(&["date", "timestamp"]) => "OLD".into(),
            _ if has(&["json"]) => "'{}'".into(),
            _ if has(&["int", "num", "dec", "real", "float", "double"]) => number.to_string(),
            _ if self.is_key => format!("'x{n}'"),
            _ => "'x'".into(),
        }
    }
}

impl Tables {
    fn options_now(&self, profiles: Profiles) -> Options {
        Options { frozen_at: None, ..self.options(profiles) }
    }

    /// The first column of every row.
    fn texts(&self, sql: &str) -> Vec<String> {
        self.cells(sql).into_iter().map(|mut row| row.remove(0)).collect()
    }

    /// Every cell as text.
    fn cells(&self, sql: &str) -> Vec<Vec<String>> {
        match self {
            Tables::File(_) => {
                let connection = rusqlite::Connection::open(self.source()).expect("a database");
                let mut statement = connection.prepare(sql).expect(sql);
                let width = statement.column_count();
                let row = |row: &rusqlite::Row<'_>| {
                    (0..width)
                        .map(|at| row.get_ref(at).map(|cell| crate::support::text(cell).unwrap_or_default()))
                        .collect()
                };
                statement.query_map([], row).expect(sql).collect::<Result<_, _>>().expect(sql)
            }
            Tables::Server(server) => {
                let rows = server.query(sql).into_iter();
                rows.map(|row| row.into_iter().map(Option::unwrap_or_default).collect()).collect()
            }
        }
    }

    fn columns(&self, table: &str) -> Vec<Column> {
        let sql = match self {
            Tables::File(_) => format!(
                "SELECT name, type, CASE WHEN \"notnull\" AND dflt_value IS NULL THEN 'true' END, CASE WHEN pk THEN 'true' END, NULL
                 FROM pragma_table_xinfo('{table}') WHERE hidden = 0"
            ),
            Tables::Server(_) => format!(
                "SELECT attname, format_type(atttypid, atttypmod), (attnotnull AND NOT atthasdef)::text,
                   EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = attrelid AND indisprimary AND attnum = ANY (indkey))::text,
                   (SELECT (typtype = 'e')::text FROM pg_type t WHERE t.oid = atttypid)
                 FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''"
            ),
        };
        let column = |row: Vec<String>| Column {
            name: row[0].clone(),
            kind: row[1].clone(),
            is_required: row[2] == "true",
            is_key: row[3] == "true",
            is_enum: row[4] == "true",
        };
        self.cells(&sql).into_iter().map(column).collect()
    }

    /// Every row of every table.
    fn contents(&self) -> Vec<String> {
        let tables = match self {
            Tables::File(_) => self.texts(
                "SELECT '\"' || name || '\"' FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY 1",
            ),
            Tables::Server(_) => self.texts(
                "SELECT format('%I.%I', nspname, relname) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
                 WHERE relkind IN ('r', 'p') AND nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema' ORDER BY 1",
            ),
        };
        let mut all = Vec::new();
        for table in tables {
            let mut rows = match self {
                Tables::File(_) => self.cells(&format!("SELECT * FROM {table}")),
                Tables::Server(_) => self.cells(&format!("SELECT t::text FROM {table} AS t")),
            };
            rows.sort();
            all.extend(rows.into_iter().map(|row| format!("{table}: {row:?}")));
        }
        all
    }
}
