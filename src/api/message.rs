//! Requests and answers as JSON. A request with an unknown or wrong field is refused with what is wrong.

use chrono::{DateTime, SecondsFormat};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value as Json, json};

use crate::domain::time::{Moment, Span};
use crate::worker::WorkerError;
use crate::worker::task_queue::{
    ClaimOrder, HeartbeatInfo, NewTask, RegisteredWorker, Retry, STALE_AFTER, StaleWorker, Task, WorkerId,
    WorkerPresence,
};

/// The most types that one claim names, and the longest name.
const MAX_TYPES: usize = 100;
const LONGEST_NAME: usize = 255;
const LONGEST_ERROR: usize = 10_000;
const MAX_ATTEMPTS: i64 = 1_000;
/// Nobody shall lose tasks because another client is impatient.
const LEAST_SILENCE: u64 = 60;
const MOST_SILENCE: u64 = 30 * 24 * 3_600;

/// What is wrong with a request.
#[derive(Debug)]
pub(super) struct Wrong(pub(super) String);

impl From<WorkerError> for Wrong {
    fn from(error: WorkerError) -> Wrong {
        Wrong(error.to_string())
    }
}

fn wrong<T>(sentence: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong(sentence.into()))
}

/// A field that must be there, said in the specification's words.
fn needed<T>(field: Option<T>, name: &str) -> Result<T, Wrong> {
    field.ok_or_else(|| Wrong(format!("Missing required field: {name}")))
}

/// No engine keeps NUL in a text, and PostgreSQL not even in JSON.
fn without_nul(text: &str, name: &str) -> Result<(), Wrong> {
    if text.contains('\0') { wrong(format!("{name} contains a NUL character")) } else { Ok(()) }
}

fn json_without_nul(value: &Json, name: &str) -> Result<(), Wrong> {
    match value {
        Json::String(text) => without_nul(text, name),
        Json::Array(all) => all.iter().try_for_each(|one| json_without_nul(one, name)),
        Json::Object(all) => all.iter().try_for_each(|(key, one)| {
            without_nul(key, name)?;
            json_without_nul(one, name)
        }),
        Json::Null | Json::Bool(_) | Json::Number(_) => Ok(()),
    }
}

/// A whole number, however it is written: to JSON 3 and 3.0 are the same.
fn whole<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    let Some(number) = Option::<Number>::deserialize(deserializer)? else { return Ok(None) };
    // Above this a fraction has no room in the number, and neither has every integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT);
    let written = number.as_i64().or_else(|| float.and_then(|float| format!("{float:.0}").parse().ok()));
    let fits = written.and_then(|written| T::try_from(written).ok());
    fits.map(Some)
        .ok_or_else(|| D::Error::custom(format!("{number} is not a whole number in the right range")))
}

fn plain_name(text: &str, name: &str) -> Result<(), Wrong> {
    if text.is_empty() || text.len() > LONGEST_NAME {
        return wrong(format!("{name} is a text of 1 to {LONGEST_NAME} bytes"));
    }
    without_nul(text, name)
}

#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum SortBy {
    Priority,
    CreatedAt,
    Random,
}

#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum SortOrder {
    Asc,
    Desc,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimRequest {
    worker_id: Option<String>,
    task_types: Option<Vec<String>>,
    #[serde(default, deserialize_with = "whole")]
    max_attempts_remaining: Option<i64>,
    sort_by: Option<SortBy>,
    sort_order: Option<SortOrder>,
}

/// A claim that makes sense.
#[derive(Debug)]
pub(super) struct ClaimWish {
    pub(super) worker: WorkerId,
    pub(super) types: Vec<String>,
    pub(super) max_attempts_remaining: Option<i64>,
    pub(super) order: ClaimOrder,
}

impl ClaimRequest {
    pub(super) fn checked(self) -> Result<ClaimWish, Wrong> {
        let worker = WorkerId::new(&needed(self.worker_id, "worker_id")?)?;
        let types = self.task_types.unwrap_or_default();
        if types.len() > MAX_TYPES {
            return wrong(format!("task_types has at most {MAX_TYPES} names"));
        }
        types.iter().try_for_each(|name| plain_name(name, "task_types"))?;
        if self.max_attempts_remaining.is_some_and(|least| !(0..=MAX_ATTEMPTS).contains(&least)) {
            return wrong(format!("max_attempts_remaining is a number from 0 to {MAX_ATTEMPTS}"));
        }
        let order = match (self.sort_by.unwrap_or(SortBy::Priority), self.sort_order) {
            (SortBy::Priority, None | Some(SortOrder::Desc)) => ClaimOrder::Priority,
            (SortBy::Priority, Some(SortOrder::Asc)) => ClaimOrder::LowestPriority,
            // The specification's text says first in, first out; its code's default is the opposite.
            (SortBy::CreatedAt, None | Some(SortOrder::Asc)) => ClaimOrder::Creation,
            (SortBy::CreatedAt, Some(SortOrder::Desc)) => ClaimOrder::Newest,
            (SortBy::Random, _) => ClaimOrder::Random,
        };
        Ok(ClaimWish { worker, types, max_attempts_remaining: self.max_attempts_remaining, order })
    }
}

impl ClaimWish {
    /// The filters, repeated to a worker that gets nothing.
    pub(super) fn filters(&self) -> Json {
        let types = (!self.types.is_empty()).then_some(&self.types);
        json!({"task_types": types, "max_attempts_remaining": self.max_attempts_remaining})
    }
}

/// A request that says only who asks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkerRequest {
    worker_id: Option<String>,
}

impl WorkerRequest {
    pub(super) fn checked(self) -> Result<WorkerId, Wrong> {
        Ok(WorkerId::new(&needed(self.worker_id, "worker_id")?)?)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskRequest {
    task_type: Option<String>,
    params: Option<Map<String, Json>>,
    #[serde(default, deserialize_with = "whole")]
    priority: Option<i32>,
    #[serde(default, deserialize_with = "whole")]
    max_attempts: Option<i64>,
    dedupe_key: Option<String>,
}

#[derive(Debug)]
pub(super) struct TaskWish {
    task_type: String,
    params: Json,
    priority: i64,
    max_attempts: i64,
    dedupe_key: Option<String>,
}

impl TaskRequest {
    pub(super) fn checked(self) -> Result<TaskWish, Wrong> {
        let task_type = needed(self.task_type, "task_type")?;
        plain_name(&task_type, "task_type")?;
        let params = Json::Object(self.params.unwrap_or_default());
        json_without_nul(&params, "params")?;
        let max_attempts = self.max_attempts.unwrap_or(3);
        if !(1..=MAX_ATTEMPTS).contains(&max_attempts) {
            return wrong(format!("max_attempts is a number from 1 to {MAX_ATTEMPTS}"));
        }
        self.dedupe_key.iter().try_for_each(|key| plain_name(key, "dedupe_key"))?;
        let priority = i64::from(self.priority.unwrap_or(0));
        Ok(TaskWish { task_type, params, priority, max_attempts, dedupe_key: self.dedupe_key })
    }
}

impl TaskWish {
    pub(super) fn task(&self) -> NewTask<'_> {
        NewTask {
            task_type: &self.task_type,
            params: self.params.clone(),
            priority: self.priority,
            max_attempts: self.max_attempts,
            dedupe_key: self.dedupe_key.as_deref(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypeRequest {
    name: Option<String>,
    version: Option<String>,
    param_schema: Option<Map<String, Json>>,
}

#[derive(Debug)]
pub(super) struct TypeWish {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) schema: Option<Json>,
}

impl TypeRequest {
    pub(super) fn checked(self) -> Result<TypeWish, Wrong> {
        let name = needed(self.name, "name")?;
        let version = self.version.unwrap_or_else(|| "1.0.0".into());
        plain_name(&name, "name")?;
        plain_name(&version, "version")?;
        let schema = self.param_schema.map(Json::Object);
        schema.iter().try_for_each(|schema| json_without_nul(schema, "param_schema"))?;
        Ok(TypeWish { name, version, schema })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CompleteRequest {
    worker_id: Option<String>,
    #[serde(default)]
    result: Json,
}

impl CompleteRequest {
    pub(super) fn checked(self) -> Result<(WorkerId, Json), Wrong> {
        json_without_nul(&self.result, "result")?;
        Ok((WorkerId::new(&needed(self.worker_id, "worker_id")?)?, self.result))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FailRequest {
    worker_id: Option<String>,
    error: Option<String>,
    is_retryable: Option<bool>,
}

impl FailRequest {
    pub(super) fn checked(self) -> Result<(WorkerId, String, Retry), Wrong> {
        let worker = WorkerId::new(&needed(self.worker_id, "worker_id")?)?;
        let error = needed(self.error, "error")?;
        if error.len() > LONGEST_ERROR {
            return wrong(format!("error has at most {LONGEST_ERROR} bytes"));
        }
        without_nul(&error, "error")?;
        let retry = if self.is_retryable.unwrap_or(true) { Retry::Worthwhile } else { Retry::Pointless };
        Ok((worker, error, retry))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeartbeatRequest {
    worker_id: Option<String>,
    hostname: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    pid: Option<u32>,
    version: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    tasks_processed: Option<u64>,
}

impl HeartbeatRequest {
    pub(super) fn checked(self) -> Result<(WorkerId, HeartbeatInfo), Wrong> {
        let worker = WorkerId::new(&needed(self.worker_id, "worker_id")?)?;
        self.hostname.iter().try_for_each(|name| plain_name(name, "hostname"))?;
        self.version.iter().try_for_each(|name| plain_name(name, "version"))?;
        let vitals = HeartbeatInfo {
            hostname: self.hostname.unwrap_or_default(),
            pid: self.pid.unwrap_or_default(),
            version: self.version.unwrap_or_default(),
            tasks_processed: self.tasks_processed.unwrap_or_default(),
        };
        Ok((worker, vitals))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RequeueRequest {
    #[serde(default, deserialize_with = "whole")]
    silent_for_seconds: Option<u64>,
}

impl RequeueRequest {
    pub(super) fn checked(&self) -> Result<Span, Wrong> {
        let Some(seconds) = self.silent_for_seconds else { return Ok(STALE_AFTER) };
        match i64::try_from(seconds) {
            Ok(seconds) if (LEAST_SILENCE..=MOST_SILENCE).contains(&seconds.unsigned_abs()) => {
                Ok(Span::seconds(seconds))
            }
            _ => wrong(format!("silent_for_seconds is a number from {LEAST_SILENCE} to {MOST_SILENCE}")),
        }
    }
}

/// A task in the shape of the specification.
pub(super) fn task(task: &Task) -> Json {
    json!({
        "id": task.id,
        "task_type": task.task_type,
        "status": task.status.as_str(),
        "params": task.params,
        "priority": task.priority,
        "attempts": task.attempts,
        "max_attempts": task.max_attempts,
        "worker_id": task.worker_id,
        "claimed_at": task.claimed_at.and_then(time),
        "created_at": task.created_at.and_then(time),
    })
}

pub(super) fn worker(worker: &RegisteredWorker) -> Json {
    let presence = match worker.presence {
        WorkerPresence::Active => "active",
        WorkerPresence::Quiet => "quiet",
        WorkerPresence::Stale => "stale",
        WorkerPresence::Inactive => "inactive",
    };
    json!({"worker_id": worker.id, "presence": presence, "last_seen_at": worker.last_seen_at.and_then(time)})
}

pub(super) fn stale_worker(worker: &StaleWorker) -> Json {
    json!({"worker_id": worker.id, "requeued": worker.requeued})
}

/// In whole seconds, as the queue keeps them on SQLite.
fn time(moment: Moment) -> Option<String> {
    let time = DateTime::from_timestamp_micros(moment.micros())?;
    Some(time.to_rfc3339_opts(SecondsFormat::Secs, true))
}
