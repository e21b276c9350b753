//! Paths, the checks before them, and the answers.

use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json as Body, Router};
use hyper::StatusCode;
use hyper::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use serde_json::{Value as Json, json};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::timeout::TimeoutLayer;

use super::api_keys::ApiKeys;
use super::message::{
    ClaimRequest, CompleteRequest, FailRequest, HeartbeatRequest, RequeueRequest, TaskRequest, TypeRequest,
    WorkerRequest, Wrong, stale_worker, task, worker,
};
use super::queue_pool::{NoAnswer, QueuePool};
use super::rate_limit::RateLimit;
use crate::worker::WorkerError;
use crate::worker::task_queue::{Completion, Enqueued, FailureOutcome, SettleRefusal, TaskClaim, TaskFilter};

/// The largest body of a request.
const MAX_BODY_BYTES: usize = 256 * 1024;
/// The longest time from the head of a request to its answer: a body that comes slower is cut off.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(45);
const API_KEY: &str = "x-api-key";
const OPENAPI: &str = include_str!("../../assets/api/openapi.json");

/// What requests are answered with.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    pub(crate) queue: QueuePool,
    pub(crate) keys: Arc<RwLock<ApiKeys>>,
    pub(crate) limit: Arc<RateLimit>,
    /// Where errors go that a client is not told.
    pub(crate) log: fn(&str),
}

pub(crate) fn router(api: Api) -> Router {
    let with_key = Router::new()
        .route("/api/tasks", post(create))
        .route("/api/tasks/claim", post(claim))
        .route("/api/tasks/{id}", get(one))
        .route("/api/tasks/{id}/claim", post(claim_one))
        .route("/api/tasks/{id}/complete", post(complete))
        .route("/api/tasks/{id}/fail", post(fail))
        .route("/api/task-types", post(register_type))
        .route("/api/workers", get(workers))
        .route("/api/workers/heartbeat", post(heartbeat))
        .route("/api/workers/sign-off", post(sign_off))
        .route("/api/workers/requeue-stale", post(requeue_stale))
        .route_layer(from_fn_with_state(api.clone(), authenticate));
    let header = |name, value| SetResponseHeaderLayer::overriding(name, HeaderValue::from_static(value));
    Router::new()
        .route("/healthz", get(|| async { "alive\n" }))
        .route("/api/openapi.json", get(openapi))
        .merge(with_key)
        .method_not_allowed_fallback(|| async {
            ErrorAnswer::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not support the method")
        })
        .fallback(|| async { ErrorAnswer::new(StatusCode::NOT_FOUND, "no such path; see /api/openapi.json") })
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, REQUEST_TIMEOUT))
        .layer(CatchPanicLayer::new())
        .layer(header(CACHE_CONTROL, "no-store"))
        .layer(header(X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .with_state(api)
}

/// An answer that is no success.
#[derive(Debug)]
struct ErrorAnswer {
    status: StatusCode,
    error: String,
    message: Option<String>,
    retry_after: Option<Duration>,
}

impl ErrorAnswer {
    fn new(status: StatusCode, error: impl Into<String>) -> ErrorAnswer {
        ErrorAnswer { status, error: error.into(), message: None, retry_after: None }
    }
}

impl IntoResponse for ErrorAnswer {
    fn into_response(self) -> Response {
        let mut object = json!({"success": false, "error": self.error});
        if let Some(message) = self.message {
            object["message"] = message.into();
        }
        let mut response = (self.status, Body(object)).into_response();
        if let Some(wait) = self.retry_after {
            // In whole seconds, rounded up: whoever comes a moment too early is refused again.
            let seconds = wait.as_secs_f64().ceil().max(1.0);
            if let Ok(value) = HeaderValue::from_str(&format!("{seconds:.0}")) {
                response.headers_mut().insert(RETRY_AFTER, value);
            }
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<Wrong> for ErrorAnswer {
    fn from(Wrong(sentence): Wrong) -> ErrorAnswer {
        ErrorAnswer::new(StatusCode::BAD_REQUEST, sentence)
    }
}

impl From<JsonRejection> for ErrorAnswer {
    fn from(rejection: JsonRejection) -> ErrorAnswer {
        let status = match rejection.status() {
            StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
            status => status,
        };
        ErrorAnswer::new(status, rejection.body_text())
    }
}

impl From<PathRejection> for ErrorAnswer {
    fn from(_: PathRejection) -> ErrorAnswer {
        ErrorAnswer::new(StatusCode::BAD_REQUEST, "the id of a task is a number")
    }
}

impl From<SettleRefusal> for ErrorAnswer {
    fn from(refusal: SettleRefusal) -> ErrorAnswer {
        let status = match refusal {
            SettleRefusal::NotFound => StatusCode::NOT_FOUND,
            SettleRefusal::OtherWorkers { .. } => StatusCode::FORBIDDEN,
            SettleRefusal::WrongState { .. } => StatusCode::CONFLICT,
        };
        ErrorAnswer::new(status, refusal.to_string())
    }
}

type Answer = Result<Response, ErrorAnswer>;
type Read<T> = Result<Body<T>, JsonRejection>;
type Id = Result<Path<i64>, PathRejection>;

fn ok(object: Json) -> Answer {
    Ok(Body(object).into_response())
}

/// Lets a request pass that has a known key and has not asked too often.
async fn authenticate(State(api): State<Api>, request: Request, next: Next) -> Response {
    let refused = |error: &str| ErrorAnswer::new(StatusCode::UNAUTHORIZED, error).into_response();
    let Some(sent) = sent_key(request.headers()) else {
        return refused("send an API key: Authorization: Bearer KEY, or X-API-Key: KEY");
    };
    let name = {
        // Whoever replaces the keys cannot fail half-way.
        let keys = api.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.name(sent).map(str::to_owned)
    };
    let Some(name) = name else { return refused("this API key is not known") };
    if let Err(wait) = api.limit.take(&name, Instant::now()) {
        let problem = ErrorAnswer::new(StatusCode::TOO_MANY_REQUESTS, "too many requests with this API key");
        return ErrorAnswer { retry_after: Some(wait), ..problem }.into_response();
    }
    next.run(request).await
}

/// The key of either header. If there are both they have to agree: one of them is wrong otherwise.
fn sent_key(headers: &HeaderMap) -> Option<&str> {
    let key = headers.get(API_KEY).map(|value| value.to_str().unwrap_or_default());
    let bearer = headers.get(AUTHORIZATION).map(|value| {
        let (scheme, key) = value.to_str().unwrap_or_default().split_once(' ').unwrap_or_default();
        if scheme.eq_ignore_ascii_case("bearer") { key.trim() } else { "" }
    });
    match (key, bearer) {
        (Some(key), Some(bearer)) => (key == bearer).then_some(key),
        (key, bearer) => key.or(bearer),
    }
}

impl Api {
    async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn crate::worker::task_queue::Operations) -> Result<T, WorkerError>
        + Send
        + 'static,
    ) -> Result<T, ErrorAnswer> {
        let busy = |error: &str| ErrorAnswer {
            retry_after: Some(Duration::from_secs(1)),
            ..ErrorAnswer::new(StatusCode::SERVICE_UNAVAILABLE, error)
        };
        self.queue.run(work).await.map_err(|why| match why {
            NoAnswer::Full => busy("too many requests wait; nothing was done"),
            NoAnswer::Failed(WorkerError::Invalid(sentence)) => {
                ErrorAnswer::new(StatusCode::BAD_REQUEST, sentence)
            }
            NoAnswer::Failed(error @ WorkerError::Busy { .. }) => busy(&error.to_string()),
            NoAnswer::Failed(error) => {
                (self.log)(&error.to_string());
                self.unexpected(&error)
            }
            NoAnswer::Gone => ErrorAnswer::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error"),
        })
    }

    /// A client learns whether to try again, and nothing about the database.
    fn unexpected(&self, error: &WorkerError) -> ErrorAnswer {
        match error {
            #[cfg(feature = "postgres")]
            WorkerError::Unknown(_) => ErrorAnswer::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "whether it was done is not known: look at the task before you repeat it",
            ),
            #[cfg(feature = "postgres")]
            WorkerError::Connect(_) => ErrorAnswer {
                retry_after: Some(Duration::from_secs(5)),
                ..ErrorAnswer::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "the database does not answer; nothing was done",
                )
            },
            _ => ErrorAnswer::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error"),
        }
    }
}

async fn claim(State(api): State<Api>, body: Read<ClaimRequest>) -> Answer {
    let wish = body?.0.checked()?;
    let filters = wish.filters();
    let claimed = api
        .ask(move |queue| {
            let types: Vec<&str> = wish.types.iter().map(String::as_str).collect();
            let wanted = TaskFilter {
                types: &types,
                max_attempts_remaining: wish.max_attempts_remaining,
                order: wish.order,
            };
            queue.claim(&wish.worker, &wanted)
        })
        .await?;
    answer_to_claim(claimed, &filters)
}

async fn claim_one(State(api): State<Api>, id: Id, body: Read<WorkerRequest>) -> Answer {
    let (Path(id), worker) = (id?, body?.0.checked()?);
    let claimed = api.ask(move |queue| queue.claim_by_id(&worker, id)).await?;
    match claimed {
        TaskClaim::Nothing => {
            Err(ErrorAnswer::new(StatusCode::NOT_FOUND, SettleRefusal::NotFound.to_string()))
        }
        claimed => answer_to_claim(claimed, &Json::Null),
    }
}

fn answer_to_claim(claimed: TaskClaim, filters: &Json) -> Answer {
    let message = claimed.message();
    match claimed {
        TaskClaim::Task(claimed) => ok(json!({"success": true, "task": task(&claimed), "message": message})),
        TaskClaim::Nothing => {
            let nothing = json!({"success": false, "message": message, "filters": filters});
            Ok((StatusCode::NOT_FOUND, Body(nothing)).into_response())
        }
        TaskClaim::LostRace { .. } => Err(ErrorAnswer {
            message: Some("Race condition detected, please retry".into()),
            ..ErrorAnswer::new(StatusCode::CONFLICT, message)
        }),
    }
}

async fn create(State(api): State<Api>, body: Read<TaskRequest>) -> Answer {
    let wish = body?.0.checked()?;
    let added = api
        .ask(move |queue| {
            let added = queue.enqueue(&wish.task())?;
            let found = match added {
                Enqueued::Added(id) | Enqueued::Duplicate(id) => queue.task(id)?,
                Enqueued::UnknownType => None,
            };
            Ok((added, found))
        })
        .await?;
    let (status, message) = match added.0 {
        Enqueued::Added(_) => (StatusCode::CREATED, "Task created successfully"),
        Enqueued::Duplicate(_) => (StatusCode::OK, "A task with this dedupe_key exists already"),
        Enqueued::UnknownType => {
            let error = "this task_type is not registered: POST /api/task-types registers it";
            return Err(ErrorAnswer::new(StatusCode::NOT_FOUND, error));
        }
    };
    let object = json!({"success": true, "task": added.1.as_ref().map(task), "message": message});
    Ok((status, Body(object)).into_response())
}

async fn one(State(api): State<Api>, id: Id) -> Answer {
    let Path(id) = id?;
    match api.ask(move |queue| queue.task(id)).await? {
        Some(found) => ok(json!({"success": true, "task": task(&found)})),
        None => Err(SettleRefusal::NotFound.into()),
    }
}

async fn complete(State(api): State<Api>, id: Id, body: Read<CompleteRequest>) -> Answer {
    let (Path(id), (worker, result)) = (id?, body?.0.checked()?);
    match api.ask(move |queue| queue.complete(&worker, id, &result)).await? {
        Completion::Completed { attempts } => {
            ok(json!({"success": true, "status": "completed", "attempts": attempts}))
        }
        Completion::Refused(refusal) => Err(refusal.into()),
    }
}

async fn fail(State(api): State<Api>, id: Id, body: Read<FailRequest>) -> Answer {
    let (Path(id), (worker, error, retry)) = (id?, body?.0.checked()?);
    match api.ask(move |queue| queue.fail(&worker, id, &error, retry)).await? {
        FailureOutcome::Retried { attempts } => {
            ok(json!({"success": true, "status": "pending", "attempts": attempts}))
        }
        FailureOutcome::Failed { attempts } => {
            ok(json!({"success": true, "status": "failed", "attempts": attempts}))
        }
        FailureOutcome::Refused(refusal) => Err(refusal.into()),
    }
}

async fn register_type(State(api): State<Api>, body: Read<TypeRequest>) -> Answer {
    let wish = body?.0.checked()?;
    let id =
        api.ask(move |queue| queue.register_type(&wish.name, &wish.version, wish.schema.as_ref())).await?;
    Ok((StatusCode::CREATED, Body(json!({"success": true, "id": id}))).into_response())
}

async fn workers(State(api): State<Api>) -> Answer {
    let all = api.ask(|queue| queue.workers()).await?;
    ok(json!({"success": true, "workers": all.iter().map(worker).collect::<Vec<_>>()}))
}

async fn heartbeat(State(api): State<Api>, body: Read<HeartbeatRequest>) -> Answer {
    let (worker, vitals) = body?.0.checked()?;
    api.ask(move |queue| queue.heartbeat(&worker, &vitals)).await?;
    ok(json!({"success": true}))
}

async fn sign_off(State(api): State<Api>, body: Read<WorkerRequest>) -> Answer {
    let worker = body?.0.checked()?;
    match api.ask(move |queue| queue.sign_off(&worker)).await? {
        true => ok(json!({"success": true})),
        false => Err(ErrorAnswer::new(StatusCode::NOT_FOUND, "no worker with this id has reported in")),
    }
}

async fn requeue_stale(State(api): State<Api>, body: Read<RequeueRequest>) -> Answer {
    let silent_for = body?.0.checked()?;
    let stale = api.ask(move |queue| queue.check_stale_workers(silent_for)).await?;
    let requeued: usize = stale.iter().map(|worker| worker.requeued.len()).sum();
    let workers: Vec<Json> = stale.iter().map(stale_worker).collect();
    ok(json!({"success": true, "requeued": requeued, "workers": workers}))
}

async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}
