//! The queues that live on PostgreSQL: arrays, lists of words, JSON and times without a zone.

use super::profile_path;
use crate::support::postgres::PgDatabase;
use serde_json::{Value as Json, json};

fn look(name: &str, schema: &str) -> (Json, Vec<Json>) {
    let database = PgDatabase::new(schema);
    let profile = profile_path(name);
    let (source, _) = database.check_with(&["--profile", &profile]);
    assert_eq!(source["ok"], true, "{source:#}");
    (source, database.list(&["--profile", &profile]))
}

fn brief(claims: &[Json]) -> Vec<Json> {
    claims.iter().map(|claim| json!([claim["id"], claim["holder"], claim["verdict"]])).collect()
}

#[test]
fn river_names_the_last_of_its_clients() {
    let (source, claims) = look(
        "river",
        "CREATE TYPE river_job_state AS ENUM ('available', 'cancelled', 'completed', 'discarded', 'pending',
           'retryable', 'running', 'scheduled');
         CREATE TABLE river_job (id bigserial PRIMARY KEY, state river_job_state NOT NULL DEFAULT 'available',
           attempt smallint NOT NULL DEFAULT 0, max_attempts smallint NOT NULL DEFAULT 25, attempted_at timestamptz,
           created_at timestamptz, scheduled_at timestamptz DEFAULT '2026-11-15 11:59:00+00', priority smallint
           DEFAULT 1, args jsonb, attempted_by text[], errors jsonb[], kind text NOT NULL);
         CREATE UNLOGGED TABLE river_leader (elected_at timestamptz, expires_at timestamptz, leader_id text,
           name text PRIMARY KEY);
         INSERT INTO river_job (state, attempted_at, attempted_by, kind) VALUES
           ('running', '2026-11-15 10:59:00+00', '{a,b}', 'sort'), ('running', '2026-11-15 11:59:00+00', '{c}', 'sort'),
           ('available', NULL, NULL, 'sort');
         INSERT INTO river_leader VALUES ('2026-11-15 11:59:55+00', '2026-11-15 12:00:10+00', 'c', 'default');",
    );
    assert_eq!(
        brief(&claims),
        [json!(["1", "b", "stale"]), json!(["2", "c", "healthy"]), json!(["default", "c", "healthy"])]
    );
    assert_eq!(
        (&source["backlog"]["queued"], &source["backlog"]["oldest_queued_s"]),
        (&json!(1), &json!(60))
    );
}

#[test]
fn oban_writes_times_without_a_zone_and_errors_as_an_array_of_json() {
    let (_, claims) = look(
        "oban",
        "CREATE TYPE oban_job_state AS ENUM ('available', 'scheduled', 'executing', 'retryable', 'completed',
           'discarded', 'cancelled');
         CREATE TABLE oban_jobs (id bigserial PRIMARY KEY, state oban_job_state NOT NULL DEFAULT 'available',
           queue text, worker text, args jsonb, errors jsonb[] NOT NULL DEFAULT '{}', attempt int DEFAULT 0,
           max_attempts int DEFAULT 20, attempted_at timestamp(6), attempted_by text[], scheduled_at timestamp(6),
           priority int DEFAULT 0);
         INSERT INTO oban_jobs (state, worker, attempted_at, attempted_by, errors) VALUES
           ('executing', 'Mail', '2026-11-15 10:00:00', '{node1,uuid}', ARRAY['{\"error\": \"no route\"}'::jsonb]),
           ('executing', 'Mail', '2026-11-15 11:30:00', NULL, '{}');",
    );
    assert_eq!(brief(&claims), [json!(["1", "node1", "stale"]), json!(["2", null, "healthy"])]);
    assert_eq!(claims[0]["error"], "no route");
}

#[test]
fn procrastinate_starts_jobs_by_events_and_prunes_workers() {
    let (source, claims) = look(
        "procrastinate",
        "CREATE TYPE procrastinate_job_status AS ENUM ('todo', 'doing', 'succeeded', 'failed', 'cancelled', 'aborted');
         CREATE TYPE procrastinate_job_event_type AS ENUM ('deferred', 'started', 'deferred_for_retry', 'failed');
         CREATE TABLE procrastinate_workers (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
           last_heartbeat timestamptz NOT NULL);
         CREATE TABLE procrastinate_jobs (id bigserial PRIMARY KEY, queue_name text, task_name text, priority int,
           lock text, queueing_lock text, args jsonb, status procrastinate_job_status NOT NULL DEFAULT 'todo',
           scheduled_at timestamptz, attempts int NOT NULL DEFAULT 0, abort_requested boolean NOT NULL DEFAULT false,
           worker_id bigint REFERENCES procrastinate_workers(id) ON DELETE SET NULL);
         CREATE TABLE procrastinate_events (id bigserial PRIMARY KEY, job_id bigint NOT NULL,
           type procrastinate_job_event_type, at timestamptz DEFAULT now());
         INSERT INTO procrastinate_workers (last_heartbeat) VALUES ('2026-11-15 11:59:55+00'), ('2026-11-15 11:59:00+00');
         INSERT INTO procrastinate_jobs (task_name, status, worker_id) VALUES
           ('mail', 'doing', 1), ('mail', 'doing', 2), ('mail', 'doing', NULL), ('mail', 'todo', NULL);
         INSERT INTO procrastinate_events (job_id, type, at)
           SELECT n, 'started', '2026-11-15 11:58:00+00' FROM generate_series(1, 3) AS n;",
    );
    let mut found = brief(&claims);
    found.sort_by_key(ToString::to_string);
    let expected =
        [json!(["1", "1", "healthy"]), json!(["2", "2", "orphaned"]), json!(["3", null, "orphaned"])];
    assert_eq!(found, expected);
    assert_eq!(source["sessions"], json!({"total": 2, "alive": 1, "stale": 1}));
}

#[test]
fn solid_queue_joins_its_jobs_and_its_processes() {
    let (source, claims) = look(
        "solid-queue",
        "CREATE TABLE solid_queue_jobs (id bigserial PRIMARY KEY, queue_name varchar, class_name varchar, arguments text,
           priority int DEFAULT 0, created_at timestamp(6));
         CREATE TABLE solid_queue_processes (id bigserial PRIMARY KEY, kind varchar, last_heartbeat_at timestamp(6),
           supervisor_id bigint, pid int, hostname varchar, created_at timestamp(6));
         CREATE TABLE solid_queue_claimed_executions (id bigserial PRIMARY KEY, job_id bigint, process_id bigint,
           created_at timestamp(6));
         CREATE TABLE solid_queue_ready_executions (id bigserial PRIMARY KEY, job_id bigint, queue_name varchar,
           priority int, created_at timestamp(6));
         CREATE TABLE solid_queue_failed_executions (id bigserial PRIMARY KEY, job_id bigint, error text,
           created_at timestamp(6));
         INSERT INTO solid_queue_jobs (class_name, created_at) VALUES ('A', '2026-11-15 11:00:00'), ('B', '2026-11-15 11:30:00');
         INSERT INTO solid_queue_processes (last_heartbeat_at, pid) VALUES ('2026-11-15 11:59:00', 7), ('2026-11-15 11:54:00', 8);
         INSERT INTO solid_queue_claimed_executions (job_id, process_id, created_at) VALUES
           (1, 1, '2026-11-15 11:50:00'), (2, 2, '2026-11-15 11:50:00');
         INSERT INTO solid_queue_ready_executions (job_id) VALUES (2);",
    );
    assert_eq!(brief(&claims), [json!(["2", "2", "orphaned"]), json!(["1", "1", "healthy"])]);
    assert_eq!((&claims[1]["kind"], &source["backlog"]["queued"]), (&json!("A"), &json!(1)));
}
