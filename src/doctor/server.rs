//! A server: its version, its clock, and what keeps vacuum from cleaning up after the workers.

use std::time::Duration;

use super::{DoctorCheck, DoctorTarget, cron, role_privileges};
use crate::domain::time::{Moment, Span};
use crate::profile::format::{Engine, Profile};
use crate::profile::rules::rules;
use crate::store::postgres::installed::compared as compared_with;
use crate::store::postgres::{Begin, Limits, Link, PgError, Purpose, Row, Target};
use crate::store::{Fit, Options, StoreError, clock, fits};

/// Clocks that differ by more than this make verdicts wrong.
const CLOCK_NOISE: Span = Span::seconds(2);
/// How much longer than the server's own timeout we wait for an answer.
const GRACE: Duration = Duration::from_secs(1);

/// A server that answers.
pub(super) struct CheckedServer {
    link: Link,
}

/// A table of claims or holders, and what acts do to it.
pub(super) struct CheckedTable {
    /// Its name in SQL.
    pub sql: String,
    /// The columns that acts set.
    pub sets: Vec<String>,
    pub deletes: bool,
    /// Whether it contains the claims, or only their holders.
    pub has_claims: bool,
}

/// Adds the checks of a server that accepts the login.
pub(super) fn check(
    at: &Target,
    options: &Options,
    checks: &mut Vec<DoctorCheck>,
) -> Result<CheckedServer, StoreError> {
    let answer = options.poll_timeout + GRACE;
    let limits = Limits { statement: options.poll_timeout, lock: options.busy_timeout, answer };
    let mut server = CheckedServer { link: Link::open(at, Purpose::Polls, limits)? };
    let sql = "SELECT current_setting('server_version'), pg_is_in_recovery()::text, clock_timestamp()::text,
                      (clock_timestamp() - coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time()))::text, current_user::text";
    let asked = clock();
    let rows = server.ask(sql, &[]).map_err(|error| StoreError::Unreachable {
        source_name: at.label().into(),
        why: error.to_string().into(),
    })?;
    let middle = asked.plus(Span::micros(clock().since(asked).as_micros() / 2));
    let get = |at: usize| rows.first().and_then(|row| row.get(at)).unwrap_or_default().to_owned();
    checks.push(DoctorCheck::ok("reachable", format!("it lets {} in", get(4))));
    checks.push(DoctorCheck::ok("postgres", format!("PostgreSQL {}", get(0))));
    if get(1) == "true" {
        checks.push(DoctorCheck::warning(
            "standby",
            format!("this is a standby, {} behind: every act is refused here", get(3)),
            "name its primary if acts are wanted",
        ));
    }
    checks.extend(Moment::parse(&get(2)).map(|theirs| offset(theirs.since(middle))));
    Ok(server)
}

pub(super) fn offset(offset: Span) -> DoctorCheck {
    if offset.abs() <= CLOCK_NOISE {
        return DoctorCheck::ok("server clock", "it agrees with ours; the server's decides");
    }
    DoctorCheck::warning(
        "server clock",
        format!("it is {offset} off ours; the server's decides"),
        "compare both with a time server (timedatectl, chronyc tracking)",
    )
}

impl CheckedServer {
    /// One query in its own read-only transaction.
    pub(super) fn ask(&mut self, sql: &str, values: &[Option<&str>]) -> Result<Vec<Row>, PgError> {
        self.read(|link| link.query(sql, values))
    }

    /// Several queries in one read-only transaction.
    pub(super) fn read<T>(
        &mut self,
        ask: impl FnOnce(&mut Link) -> Result<T, PgError>,
    ) -> Result<T, PgError> {
        self.link.begin(Begin::Reading)?;
        let answer = ask(&mut self.link);
        let ended = self.link.rollback();
        answer.and_then(|answer| ended.map(|()| answer))
    }

    /// The first value of the first row.
    pub(super) fn value(&mut self, sql: &str, values: &[Option<&str>]) -> Result<Option<String>, PgError> {
        Ok(self.ask(sql, values)?.first().and_then(|row| row.get(0).map(str::to_owned)))
    }

    /// The checks of the tables that fit.
    pub(super) fn tables(&mut self, target: &DoctorTarget) -> Vec<DoctorCheck> {
        let Ok(found) = fits(&target.options, target.profiles.clone()) else { return Vec::new() };
        let tables = tables(&found, &target.profiles, Engine::Postgres);
        let mut checks = Vec::new();
        let looks: [(&'static str, TableCheck); 3] = [
            ("row security", role_privileges::hidden),
            ("vacuum", vacuum),
            ("audit table", role_privileges::audit_table),
        ];
        for (name, look) in looks {
            match look(self, &tables) {
                Ok(more) => checks.extend(more),
                Err(error) => checks.push(unclear(name, &error)),
            }
        }
        match cron::check(self, target) {
            Ok(more) => checks.extend(more),
            Err(error) => checks.push(unclear("cron", &error)),
        }
        match transactions(self, target) {
            Ok(more) => checks.push(more),
            Err(error) => checks.push(unclear("transactions", &error)),
        }
        match installed(self, target) {
            Ok(more) => checks.extend(more),
            Err(error) => checks.push(unclear("recovery", &error)),
        }
        match role_privileges::acting(self, &tables, target.session) {
            Ok(more) => checks.extend(more),
            Err(error) => checks.push(unclear("acting", &error)),
        }
        checks
    }
}

type TableCheck = fn(&mut CheckedServer, &[CheckedTable]) -> Result<Vec<DoctorCheck>, PgError>;

fn unclear(name: &'static str, error: &PgError) -> DoctorCheck {
    DoctorCheck::warning(
        name,
        format!("cannot be told: {error}"),
        "try again, or ask as a role that may look",
    )
}

/// The tables of all boards that fit and of their registries, each once.
pub(super) fn tables(found: &[Fit], profiles: &[Profile], engine: Engine) -> Vec<CheckedTable> {
    let mut all: Vec<CheckedTable> = Vec::new();
    for (fit, profile) in found.iter().zip(profiles) {
        let Ok(profile) = profile.clone().on(engine) else { continue };
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
            let claims = named("from").map(|sql| CheckedTable {
                sql,
                sets: acts.iter().flat_map(|act| act.set.keys().cloned()).collect(),
                deletes: acts.iter().any(|act| act.delete),
                has_claims: true,
            });
            let registry = named("session").map(|sql| CheckedTable {
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

/// Dead rows slow down every poll, and only vacuum removes them.
fn vacuum(server: &mut CheckedServer, tables: &[CheckedTable]) -> Result<Vec<DoctorCheck>, PgError> {
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
            checks.push(DoctorCheck::warning(
                "vacuum",
                format!("autovacuum is off for {name}, where {dead} rows are dead"),
                format!("turn it on (ALTER TABLE {} RESET (autovacuum_enabled), autovacuum = on)", table.sql),
            ));
        } else if row.get(3) == Some("true") {
            checks.push(DoctorCheck::warning(
                "vacuum",
                format!("{name}: {dead} dead rows beside {live} living ones"),
                format!("end long transactions, then VACUUM {};", table.sql),
            ));
        }
    }
    if checks.is_empty() {
        checks.push(DoctorCheck::ok("vacuum", "autovacuum keeps up with the claims"));
    }
    Ok(checks)
}

/// A transaction that stays open keeps dead rows in every table.
fn transactions(server: &mut CheckedServer, target: &DoctorTarget) -> Result<DoctorCheck, PgError> {
    let now = target.options.frozen_at.map(Moment::rfc3339);
    let sql = "SELECT count(*)::text, (max(at - xact_start))::text,
             (array_agg(pid || ' (' || coalesce(nullif(application_name, ''), usename::text, '?') || ')'
                        ORDER BY xact_start))[1]
         FROM pg_stat_activity, coalesce(($1::text)::timestamptz, now()) AS at
         WHERE xact_start < at - interval '10 minutes' AND pid <> pg_backend_pid()";
    let rows = server.ask(sql, &[now.as_deref()])?;
    let get = |at: usize| rows.first().and_then(|row| row.get(at)).unwrap_or_default().to_owned();
    Ok(if get(0) == "0" {
        DoctorCheck::ok("transactions", "none that this role can see is older than 10 minutes")
    } else {
        DoctorCheck::warning(
            "transactions",
            format!("{} older than 10 minutes; the oldest, of process {}, for {}", get(0), get(2), get(1)),
            "end it in its application, or by pg_terminate_backend; set idle_in_transaction_session_timeout",
        )
    })
}

/// The system's own recovery functions in the database, compared with the rules used here.
fn installed(server: &mut CheckedServer, target: &DoctorTarget) -> Result<Vec<DoctorCheck>, PgError> {
    let (mut checks, mut compared) = (Vec::new(), 0);
    for profile in &target.profiles {
        for board in profile.boards.iter().filter(|board| !board.recovered_by.is_empty()) {
            let exists =
                "SELECT count(*)::text FROM pg_proc WHERE proname = ANY (string_to_array($1::text, ','))";
            if server.value(exists, &[Some(&board.recovered_by.join(","))])?.as_deref() == Some("0") {
                continue;
            }
            compared += 1;
            let rules = rules(board, profile.registry(board), &target.options.operator);
            for found in server.read(|link| compared_with(link, board, &rules))? {
                let fix = format!("for this source in the config: {}", found.fix);
                checks.push(DoctorCheck::warning("recovery", found.said, fix));
            }
        }
    }
    if checks.is_empty() && compared > 0 {
        checks.push(DoctorCheck::ok("recovery", "the system's own functions follow the same rules"));
    }
    Ok(checks)
}
