//! A server: which one it is, whether its clock agrees with ours, what keeps it from cleaning up
//! behind the workers.

use std::time::Duration;

use super::{Check, DoctorTarget, rights};
use crate::domain::time::{Moment, Span};
use crate::profile::format::{Engine, Profile};
use crate::profile::rules::rules;
use crate::store::postgres::installed::compared as compared_with;
use crate::store::postgres::{Begin, Limits, Link, Options, PgError, Purpose, Row};
use crate::store::{Fit, Options as AnyOptions, StoreError, clock, fits};

/// Clocks that differ by more than this make verdicts wrong.
const CLOCK_NOISE: Span = Span::seconds(2);
/// How much longer than the server we wait before we give it up.
const GRACE: Duration = Duration::from_secs(1);

/// A server that answers.
pub struct Server {
    link: Link,
}

/// A table of claims or holders, and what acts do to it.
pub struct Table {
    /// As SQL names it.
    pub sql: String,
    /// The columns that acts set.
    pub sets: Vec<String>,
    pub deletes: bool,
    /// Whether it holds the claims, or only who holds them.
    pub has_claims: bool,
}

/// Adds what can be said of a server that lets us in.
pub fn look(options: &Options, checks: &mut Vec<Check>) -> Result<Server, StoreError> {
    let answer = options.poll_timeout + GRACE;
    let limits = Limits { statement: options.poll_timeout, lock: options.busy_timeout, answer };
    let mut server = Server { link: Link::open(&options.target, Purpose::Polls, limits)? };
    let sql = "SELECT current_setting('server_version'), pg_is_in_recovery()::text, clock_timestamp()::text,
                      (clock_timestamp() - coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time()))::text, current_user::text";
    let asked = clock();
    let rows = server.ask(sql, &[]).map_err(|error| StoreError::Unreachable {
        source_name: options.target.label().into(),
        why: error.to_string().into(),
    })?;
    let middle = asked.plus(Span::micros(clock().since(asked).as_micros() / 2));
    let get = |at: usize| rows.first().and_then(|row| row.get(at)).unwrap_or_default().to_owned();
    checks.push(Check::ok("reachable", format!("it lets {} in", get(4))));
    checks.push(Check::ok("postgres", format!("PostgreSQL {}", get(0))));
    if get(1) == "true" {
        checks.push(Check::warning(
            "standby",
            format!("this is a standby, {} behind: every act is refused here", get(3)),
            "name its primary if acts are wanted",
        ));
    }
    checks.extend(Moment::parse(&get(2)).map(|theirs| offset(theirs.since(middle))));
    Ok(server)
}

fn offset(offset: Span) -> Check {
    if offset.abs() <= CLOCK_NOISE {
        return Check::ok("server clock", "it agrees with ours; the server's decides");
    }
    Check::warning(
        "server clock",
        format!("it is {offset} off ours; the server's decides"),
        "compare both with a time server (timedatectl, chronyc tracking)",
    )
}

impl Server {
    /// One question in a transaction of its own, which only reads.
    pub fn ask(&mut self, sql: &str, values: &[Option<&str>]) -> Result<Vec<Row>, PgError> {
        self.look(|link| link.query(sql, values))
    }

    /// Several questions in one transaction, which only reads.
    pub fn look<T>(&mut self, ask: impl FnOnce(&mut Link) -> Result<T, PgError>) -> Result<T, PgError> {
        self.link.begin(Begin::Reading)?;
        let answer = ask(&mut self.link);
        let ended = self.link.rollback();
        answer.and_then(|answer| ended.map(|()| answer))
    }

    /// Several questions in a transaction of their own, which only reads.
    fn inside<T>(&mut self, ask: impl FnOnce(&mut Link) -> Result<T, PgError>) -> Result<T, PgError> {
        self.link.begin(Begin::Reading)?;
        let answer = ask(&mut self.link);
        let ended = self.link.rollback();
        answer.and_then(|answer| ended.map(|()| answer))
    }

    /// The first value of the first row.
    pub fn value(&mut self, sql: &str, values: &[Option<&str>]) -> Result<Option<String>, PgError> {
        Ok(self.ask(sql, values)?.first().and_then(|row| row.get(0).map(str::to_owned)))
    }

    /// What can be said of the tables that fit.
    pub fn tables(&mut self, patient: &DoctorTarget) -> Vec<Check> {
        let Ok(found) = fits(&patient.options, patient.profiles.clone()) else { return Vec::new() };
        let tables = tables(&found, &patient.profiles);
        let mut checks = Vec::new();
        let looks: [(&'static str, Look); 4] = [
            ("row security", rights::hidden),
            ("vacuum", vacuum),
            ("cron", |server, _| cron(server)),
            ("audit table", rights::audit_table),
        ];
        for (name, look) in looks {
            match look(self, &tables) {
                Ok(more) => checks.extend(more),
                Err(error) => checks.push(unclear(name, &error)),
            }
        }
        match transactions(self, patient) {
            Ok(more) => checks.push(more),
            Err(error) => checks.push(unclear("transactions", &error)),
        }
        match installed(self, patient) {
            Ok(more) => checks.extend(more),
            Err(error) => checks.push(unclear("recovery", &error)),
        }
        match rights::acting(self, &tables, patient.session) {
            Ok(more) => checks.extend(more),
            Err(error) => checks.push(unclear("acting", &error)),
        }
        checks
    }
}

type Look = fn(&mut Server, &[Table]) -> Result<Vec<Check>, PgError>;

fn unclear(name: &'static str, error: &PgError) -> Check {
    Check::warning(name, format!("cannot be told: {error}"), "try again, or ask as a role that may look")
}

/// The tables of all boards that fit, and of their registries, each once.
fn tables(found: &[Fit], profiles: &[Profile]) -> Vec<Table> {
    let mut all: Vec<Table> = Vec::new();
    for (fit, profile) in found.iter().zip(profiles) {
        let Ok(profile) = profile.clone().on(Engine::Postgres) else { continue };
        for board in &fit.boards {
            let named = |field: &str| {
                let column = board.columns.iter().find(|(name, _)| *name == field);
                column.and_then(|(_, sql)| sql.as_deref()?.split(" AS ").next().map(str::to_owned))
            };
            let Some(written) = profile.boards.iter().find(|written| written.name == board.name) else {
                continue;
            };
            let acts = [&written.reclaim, &written.release, &written.extend, &written.requeue];
            let acts: Vec<_> = acts.into_iter().flatten().collect();
            let claims = named("from").map(|sql| Table {
                sql,
                sets: acts.iter().flat_map(|act| act.set.keys().cloned()).collect(),
                deletes: acts.iter().any(|act| act.delete),
                has_claims: true,
            });
            let registry = named("session").map(|sql| Table {
                sql,
                sets: Vec::new(),
                deletes: false,
                has_claims: false,
            });
            for table in claims.into_iter().chain(registry) {
                match all.iter_mut().find(|known| known.sql == table.sql) {
                    Some(known) => {
                        known.sets.extend(table.sets);
                        known.deletes |= table.deletes;
                        known.has_claims |= table.has_claims;
                    }
                    None => all.push(table),
                }
            }
        }
    }
    for table in &mut all {
        table.sets.sort();
        table.sets.dedup();
    }
    all
}

/// Dead rows make every look slower, and nothing but vacuum takes them away.
fn vacuum(server: &mut Server, tables: &[Table]) -> Result<Vec<Check>, PgError> {
    let mut checks = Vec::new();
    for table in tables {
        let sql = "SELECT coalesce(s.n_dead_tup, 0)::text, coalesce(s.n_live_tup, 0)::text,
                 (current_setting('autovacuum') = 'off'
                  OR coalesce(c.reloptions::text ILIKE '%autovacuum_enabled=false%'
                              OR c.reloptions::text ILIKE '%autovacuum_enabled=off%', false))::text,
                 (coalesce(s.n_dead_tup, 0) > 10000 AND s.n_dead_tup > s.n_live_tup)::text
             FROM pg_class c LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid WHERE c.oid = ($1::text)::regclass";
        let rows = server.ask(sql, &[Some(&table.sql)])?;
        let Some(row) = rows.first() else { continue };
        let name = table.sql.replace('"', "");
        let (dead, live) = (row.get(0).unwrap_or("0"), row.get(1).unwrap_or("0"));
        if row.get(2) == Some("true") {
            checks.push(Check::warning(
                "vacuum",
                format!("autovacuum is off for {name}, where {dead} rows are dead"),
                format!("turn it on (ALTER TABLE {} RESET (autovacuum_enabled), autovacuum = on)", table.sql),
            ));
        } else if row.get(3) == Some("true") {
            checks.push(Check::warning(
                "vacuum",
                format!("{name}: {dead} dead rows beside {live} living ones"),
                format!("end long transactions, then VACUUM {};", table.sql),
            ));
        }
    }
    if checks.is_empty() {
        checks.push(Check::ok("vacuum", "autovacuum keeps up with the claims"));
    }
    Ok(checks)
}

/// A transaction that stays open keeps dead rows in every table.
fn transactions(server: &mut Server, patient: &DoctorTarget) -> Result<Check, PgError> {
    let now = match &patient.options {
        AnyOptions::Postgres(options) => options.frozen_at.map(Moment::rfc3339),
        AnyOptions::Sqlite(_) => None,
    };
    let sql = "SELECT count(*)::text, (max(at - xact_start))::text,
             (array_agg(pid || ' (' || coalesce(nullif(application_name, ''), usename::text, '?') || ')'
                        ORDER BY xact_start))[1]
         FROM pg_stat_activity, coalesce(($1::text)::timestamptz, now()) AS at
         WHERE xact_start < at - interval '10 minutes' AND pid <> pg_backend_pid()";
    let rows = server.ask(sql, &[now.as_deref()])?;
    let get = |at: usize| rows.first().and_then(|row| row.get(at)).unwrap_or_default().to_owned();
    Ok(if get(0) == "0" {
        Check::ok("transactions", "none that this role can see is older than 10 minutes")
    } else {
        Check::warning(
            "transactions",
            format!("{} older than 10 minutes; the oldest, of process {}, for {}", get(0), get(2), get(1)),
            "end it in its application, or by pg_terminate_backend; set idle_in_transaction_session_timeout",
        )
    })
}

/// The system's own recovery, where it is a function in the database: line by line against these rules.
fn installed(server: &mut Server, patient: &DoctorTarget) -> Result<Vec<Check>, PgError> {
    let AnyOptions::Postgres(options) = &patient.options else { return Ok(Vec::new()) };
    let (mut checks, mut compared) = (Vec::new(), 0);
    for profile in &patient.profiles {
        for board in profile.boards.iter().filter(|board| !board.recovered_by.is_empty()) {
            let exists =
                "SELECT count(*)::text FROM pg_proc WHERE proname = ANY (string_to_array($1::text, ','))";
            if server.value(exists, &[Some(&board.recovered_by.join(","))])?.as_deref() == Some("0") {
                continue;
            }
            compared += 1;
            let rules = rules(board, profile.registry(board), &options.operator);
            for found in server.inside(|link| compared_with(link, board, &rules))? {
                let fix = format!("for this source in the config: {}", found.fix);
                checks.push(Check::warning("recovery", found.said, fix));
            }
        }
    }
    if checks.is_empty() && compared > 0 {
        checks.push(Check::ok("recovery", "the system's own functions follow the same rules"));
    }
    Ok(checks)
}

/// What the database itself calls at its times, where it can.
fn cron(server: &mut Server) -> Result<Vec<Check>, PgError> {
    // Anybody may have a schema of that name; the extension's own table belongs to it or to a superuser.
    let is_there = "SELECT (c.relkind = 'r' AND (o.rolsuper OR EXISTS (SELECT FROM pg_depend AS d
             WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')))::text
         FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
         JOIN pg_roles AS o ON o.oid = c.relowner WHERE n.nspname = 'cron' AND c.relname = 'job'";
    if server.value(is_there, &[])?.as_deref() != Some("true") {
        return Ok(Vec::new());
    }
    // A job may call a function of the system that does it among other things.
    let sql = "SELECT j.schedule, j.command, j.active::text FROM cron.job AS j
         WHERE j.command ~* '(reclaim|stale|cleanup|release|sweep)' OR EXISTS (
           SELECT FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
           WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
             AND strpos(lower(j.command), lower(p.proname)) > 0
             AND p.prosrc ~* '(reclaim|stale|cleanup|sweep)')
         ORDER BY j.active DESC, j.jobid LIMIT 5";
    let rows = server.ask(sql, &[])?;
    let Some(first) = rows.first() else {
        return Ok(vec![Check::warning(
            "cron",
            "pg_cron is there, but no job of it looks like a cleanup",
            "schedule the system's own cleanup with cron.schedule, or run `claimtop sweep`",
        )]);
    };
    let said = format!("{}: {}", first.get(0).unwrap_or("?"), first.get(1).unwrap_or("?"));
    Ok(vec![if first.get(2) == Some("true") {
        Check::ok("cron", format!("pg_cron cleans up at {said}"))
    } else {
        Check::warning(
            "cron",
            format!("pg_cron's job is switched off: {said}"),
            "cron.alter_job(..., active := true)",
        )
    }])
}
