//! Cleanup that the database itself runs with pg_cron: is it scheduled, did it run, did it fail, does it hang.

use super::server::CheckedServer;
use super::{DoctorCheck, DoctorTarget};
use crate::domain::time::{Moment, Span};
use crate::store::postgres::{PgError, Row};

/// The wrappers that executor jobs schedules: they reclaim before they wake the workers.
const WRAPPERS: &str = "process_orchestrator_jobs|wake_execution_engine|fetch_executor_job|runtime_tick";

/// A reclaim that runs longer than this hangs: it is one statement on indexed rows.
const HANGING: &str = "1 minute";

/// A job is late once it has missed this many of its turns, and at least [`LATE`].
const MISSED: i64 = 3;
const LATE: Span = Span::minutes(2);

pub(super) fn check(server: &mut CheckedServer, target: &DoctorTarget) -> Result<Vec<DoctorCheck>, PgError> {
    let now = target.options.frozen_at.map(Moment::rfc3339);
    let now = now.as_deref();
    let mut checks = Vec::new();
    if is_installed(server, "job")? {
        checks.extend(jobs(server, now)?);
    }
    checks.extend(hanging(server, now)?);
    Ok(checks)
}

/// Whether a table is the extension's own. Any schema can have that name; the extension's tables belong to it or to a
/// superuser.
fn is_installed(server: &mut CheckedServer, table: &str) -> Result<bool, PgError> {
    let sql = "SELECT (c.relkind = 'r' AND (o.rolsuper OR EXISTS (SELECT FROM pg_depend AS d
             WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')))::text
         FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
         JOIN pg_roles AS o ON o.oid = c.relowner WHERE n.nspname = 'cron' AND c.relname = $1::text";
    Ok(server.value(sql, &[Some(table)])?.as_deref() == Some("true"))
}

fn jobs(server: &mut CheckedServer, now: Option<&str>) -> Result<Vec<DoctorCheck>, PgError> {
    // A job may call a function of the system that cleans up among other things. A wrapper is recognised by its name;
    // whether it still reclaims is in its text.
    let sql = format!(
        "SELECT j.schedule, j.command, j.active::text, j.jobid::text,
                (j.command ~* '(reclaim|stale|cleanup|release|sweep)' OR calls.it)::text
         FROM cron.job AS j, LATERAL (SELECT EXISTS (
           SELECT FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
           WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
             AND strpos(lower(j.command), lower(p.proname)) > 0
             AND p.prosrc ~* '(reclaim|stale|cleanup|sweep)') AS it) AS calls
         WHERE calls.it OR j.command ~* '(reclaim|stale|cleanup|release|sweep|{WRAPPERS})'
         ORDER BY 5 DESC, j.active DESC, j.jobid LIMIT 5"
    );
    let rows = server.ask(&sql, &[])?;
    let Some(first) = rows.first() else {
        return Ok(vec![DoctorCheck::warning(
            "cron",
            "pg_cron is there, but no job of it looks like a cleanup",
            "schedule the system's own cleanup with cron.schedule, or run `claimtop sweep`",
        )]);
    };
    let get = |at: usize| first.get(at).unwrap_or("?");
    let (schedule, command) = (get(0), get(1));
    let message = format!("{schedule}: {command}");
    if get(4) != "true" {
        return Ok(vec![DoctorCheck::warning(
            "cron",
            format!("pg_cron wakes the workers at {message}, but that reclaims nothing"),
            "call reclaim_stale_jobs() in it first (`claimtop init --wrapper`), or run `claimtop sweep`",
        )]);
    }
    if get(2) != "true" {
        return Ok(vec![DoctorCheck::warning(
            "cron",
            format!("pg_cron's job is switched off: {message}"),
            "cron.alter_job(..., active := true)",
        )]);
    }
    let mut checks = vec![DoctorCheck::ok("cron", format!("pg_cron cleans up at {message}"))];
    if is_installed(server, "job_run_details")? {
        checks.push(last_run(server, (get(3), schedule), now)?);
    }
    Ok(checks)
}

/// The last runs of a job: when, and whether they failed.
fn last_run(
    server: &mut CheckedServer,
    (job, schedule): (&str, &str),
    now: Option<&str>,
) -> Result<DoctorCheck, PgError> {
    let sql = "SELECT d.status, d.return_message, d.start_time::text, coalesce($2::text, now()::text),
                (SELECT max(good.start_time)::text FROM cron.job_run_details AS good
                 WHERE good.jobid = d.jobid AND good.status = 'succeeded')
         FROM cron.job_run_details AS d WHERE d.jobid = ($1::text)::bigint AND d.start_time IS NOT NULL
         ORDER BY d.start_time DESC LIMIT 1";
    let rows = server.ask(sql, &[Some(job), now])?;
    Ok(rows.first().map_or_else(never_ran, |row| judge_run(row, schedule)))
}

fn never_ran() -> DoctorCheck {
    DoctorCheck::warning(
        "cron runs",
        "pg_cron's job has never run, or its runs are not recorded (cron.log_run)",
        "look whether the scheduler runs in this database (cron.database_name) and read the server's log",
    )
}

fn judge_run(row: &Row, schedule: &str) -> DoctorCheck {
    let at = |column: usize| row.get(column).and_then(Moment::parse);
    let ago = |moment: Option<Moment>| Some(at(3)?.since(moment?).max(Span::ZERO));
    let started = ago(at(2));
    let since = started.map_or_else(|| "at an unknown time".into(), |ago| format!("{ago} ago"));
    let good =
        ago(at(4)).map_or_else(|| "it never succeeded".into(), |ago| format!("it last succeeded {ago} ago"));
    if row.get(0) == Some("failed") {
        let said = row.get(1).unwrap_or("without a message");
        return DoctorCheck::warning(
            "cron runs",
            format!("the last run, {since}, failed: {said}; {good}"),
            "call the job's command by hand to see why; SELECT * FROM cron.job_run_details",
        );
    }
    let allowed = interval(schedule).map(|every| Span::micros(every.as_micros() * MISSED).max(LATE));
    if let (Some(started), Some(allowed)) = (started, allowed)
        && started > allowed
    {
        return DoctorCheck::warning(
            "cron runs",
            format!("the last run was {since}, too long for a job at {schedule}"),
            "look whether the pg_cron launcher is running (pg_stat_activity, the server's log)",
        );
    }
    DoctorCheck::ok("cron runs", format!("the last run was {since}; {good}"))
}

/// How often a schedule comes, for those that repeat by seconds or minutes.
fn interval(schedule: &str) -> Option<Span> {
    let words: Vec<&str> = schedule.split_whitespace().collect();
    match words[..] {
        [number, "second" | "seconds"] => Some(Span::seconds(number.parse().ok()?)),
        [minute, hour, "*", "*", "*"] => match (minute, hour) {
            ("*", "*") => Some(Span::minutes(1)),
            (minute, "*") => match minute.strip_prefix("*/") {
                Some(every) => Some(Span::minutes(every.parse().ok()?)),
                None => Some(Span::minutes(60)),
            },
            (_, hour) => match hour.strip_prefix("*/") {
                Some(every) => Some(Span::minutes(60 * every.parse::<i64>().ok()?)),
                None => Some(Span::minutes(24 * 60)),
            },
        },
        _ => None,
    }
}

/// A reclaim that does not end keeps all others from running.
fn hanging(server: &mut CheckedServer, now: Option<&str>) -> Result<Vec<DoctorCheck>, PgError> {
    let sql = format!(
        "SELECT pid::text, date_trunc('second', at - query_start)::text,
                coalesce(wait_event_type || ' ' || wait_event, 'nothing')
         FROM pg_stat_activity, coalesce(($1::text)::timestamptz, now()) AS at
         WHERE query ~* '(reclaim_stale_jobs|{WRAPPERS})' AND state <> 'idle' AND pid <> pg_backend_pid()
           AND query_start < at - interval '{HANGING}' ORDER BY query_start LIMIT 1"
    );
    let rows = server.ask(&sql, &[now])?;
    let hanging = |row: &Row| {
        let get = |at: usize| row.get(at).unwrap_or("?");
        DoctorCheck::warning(
            "reclaim",
            format!("a reclaim hangs: process {} has run it for {} and waits for {}", get(0), get(1), get(2)),
            format!("SELECT pg_cancel_backend({}); pg_blocking_pids({0}) says who blocks it", get(0)),
        )
    };
    Ok(rows.first().map(hanging).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::interval;
    use crate::domain::time::Span;

    #[test]
    fn schedules_of_pg_cron_are_intervals() {
        for (schedule, minutes) in [
            ("* * * * *", Some(1)),
            ("*/5 * * * *", Some(5)),
            ("7 * * * *", Some(60)),
            ("0 */6 * * *", Some(360)),
            ("0 3 * * *", Some(1440)),
            ("0 3 * * 1", None),
            ("$ * * * *", Some(60)),
            ("@reboot", None),
        ] {
            assert_eq!(interval(schedule), minutes.map(Span::minutes), "{schedule}");
        }
        assert_eq!(interval("30 seconds"), Some(Span::seconds(30)));
    }
}
