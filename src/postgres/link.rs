//! One connection to a server: every wait has an end.
//!
//! Nothing is ever set for a whole session and no statement has a name, so that all of it works
//! through a pooler that gives every transaction another connection of its own.
//!
//! A transaction resolves names in `pg_catalog` only: another role may have created a function or an
//! operator of the same name in a schema of the session's search path, and it would run with our rights.

mod background;
mod dial;
mod row;

use futures_util::StreamExt;
use futures_util::future::join_all;
use std::fmt;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::connect_error::ConnectError;
use super::error::PgError;
use super::target::Target;
pub use row::Row;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Reading: it never begins a transaction that may write.
    Polls,
    Acts,
}

/// The ends of all waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// After this the server stops a statement.
    pub statement: Duration,
    /// After this the server stops waiting for a row that somebody else holds.
    pub lock: Duration,
    /// After this we stop waiting for the server, which may be frozen or out of reach.
    pub answer: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// One picture of the database throughout; writes are refused.
    Reading,
    /// Every statement sees what is committed.
    Acting,
}

/// Where a transaction looks for functions, operators, types and tables that are written without a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameLookup {
    /// In `pg_catalog`; temporary tables, which only this session can create, come last.
    Catalog,
    /// In the search path of the session.
    SearchPath,
}

/// The search path of every transaction. Without `pg_temp`, temporary tables would come first.
pub const CATALOG_ONLY: &str = "SET LOCAL search_path = pg_catalog, pg_temp";

/// After this long without a statement the server ends a transaction, and with it the connection:
/// a frozen watcher must hold up no worker and no vacuum.
const IDLE: Duration = Duration::from_secs(5);

/// The same where only a picture of the data is held, which keeps nobody but the vacuum: ten thousand rows
/// are judged between two statements.
const IDLE_READING: Duration = Duration::from_secs(30);

/// How many rows are handed over at once; a thread has to be woken each time.
const AT_ONCE: usize = 64;

/// How long a request to cancel may take.
const CANCELLING: Duration = Duration::from_secs(3);

/// One of several statements that are sent together.
#[derive(Debug, Clone)]
pub enum Step {
    /// Statements without values and rows.
    Batch(String),
    /// One statement whose columns are all text, with its values.
    Query(String, Vec<Option<String>>),
}

impl Step {
    /// A question with these values.
    pub fn query(sql: &str, values: &[Option<&str>]) -> Step {
        Step::Query(sql.to_owned(), owned(values))
    }
}

/// The answers to several statements.
pub type Answers = Vec<Result<Vec<Row>, PgError>>;

/// How far the transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transaction {
    None,
    Open,
    /// A statement failed: the server would answer COMMIT with a silent rollback.
    Failed,
}

pub struct Link {
    label: String,
    purpose: Purpose,
    limits: Limits,
    names: NameLookup,
    transaction: Transaction,
    /// We asked for a TimeZone when we connected.
    sets_time_zone: bool,
    wire: Option<Wire>,
}

/// An open connection, and the task that drives it.
struct Wire {
    client: Arc<Client>,
    driver: JoinHandle<()>,
    /// Why the connection ended, once it has.
    ended: Arc<Mutex<Option<String>>>,
    connector: MakeRustlsConnect,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("to", &self.label)
            .field("purpose", &self.purpose)
            .field("limits", &self.limits)
            .field("transaction", &self.transaction)
            .field("open", &self.is_open())
            .finish()
    }
}

impl Link {
    /// Connects to the first host that answers.
    pub fn open(target: &Target, purpose: Purpose, limits: Limits) -> Result<Link, ConnectError> {
        let wire = dial::dial(target)?;
        let label = target.label().to_owned();
        let (names, transaction) = (NameLookup::Catalog, Transaction::None);
        let sets_time_zone =
            target.options().is_some_and(|options| options.to_ascii_lowercase().contains("timezone"));
        Ok(Link { label, purpose, limits, names, transaction, sets_time_zone, wire: Some(wire) })
    }

    /// A connection that is yet to be opened.
    pub fn closed(target: &Target, purpose: Purpose, limits: Limits) -> Link {
        let (names, transaction) = (NameLookup::Catalog, Transaction::None);
        let label = target.label().to_owned();
        Link { label, purpose, limits, names, transaction, sets_time_zone: false, wire: None }
    }

    /// Whether the session began with a TimeZone of our own, so that it cannot tell the server's.
    pub fn sets_time_zone(&self) -> bool {
        self.sets_time_zone
    }

    /// The same, but names are looked for in the session's own search path: for those who create tables, and
    /// for the reference workers, who are not the operator.
    pub fn by_search_path(self) -> Link {
        Link { names: NameLookup::SearchPath, ..self }
    }

    pub fn is_open(&self) -> bool {
        self.wire.as_ref().is_some_and(|wire| !wire.client.is_closed())
    }

    /// Begins a transaction with its limits and the forms of its texts, in one round trip.
    pub fn begin(&mut self, begin: Begin) -> Result<(), PgError> {
        let opening = self.opening(begin)?;
        self.transaction = Transaction::Open;
        self.batch(&opening)
    }

    /// Begins, and has the first question of the transaction answered in the same round trip.
    pub fn begin_asking(
        &mut self,
        begin: Begin,
        sql: &str,
        values: &[Option<&str>],
    ) -> Result<Vec<Row>, PgError> {
        let opening = self.opening(begin)?;
        self.transaction = Transaction::Open;
        self.query_after(&opening, sql, values)
    }

    /// The statements that a transaction begins with.
    fn opening(&self, begin: Begin) -> Result<String, PgError> {
        let mode = match (begin, self.purpose) {
            (Begin::Reading, _) => "ISOLATION LEVEL REPEATABLE READ READ ONLY",
            (Begin::Acting, Purpose::Acts) => "ISOLATION LEVEL READ COMMITTED READ WRITE",
            (Begin::Acting, Purpose::Polls) => {
                return Err(PgError::server("25006", "this connection is for reading only"));
            }
        };
        let idle = if begin == Begin::Reading { IDLE_READING } else { IDLE };
        let names = match self.names {
            NameLookup::Catalog => format!("{CATALOG_ONLY}; "),
            NameLookup::SearchPath => String::new(),
        };
        // A BEGIN without a mode cannot fail. If the mode is refused, by a standby for example, the question
        // that is on its way already fails too, instead of running outside of the transaction.
        Ok(format!(
            "BEGIN; {names}SET TRANSACTION {mode}; SET LOCAL standard_conforming_strings = on; \
             SET LOCAL statement_timeout = {}; {}; SET LOCAL idle_in_transaction_session_timeout = {}; SET LOCAL TimeZone = 'UTC'; \
             SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL IntervalStyle = 'postgres'; \
             SET LOCAL extra_float_digits = 1; SET LOCAL bytea_output = 'hex'",
            self.limits.statement.as_millis(),
            self.patience(),
            idle.as_millis(),
        ))
    }

    /// How long statements wait for what somebody else holds, as SQL: what a transaction begins with.
    pub fn patience(&self) -> String {
        format!("SET LOCAL lock_timeout = {}", self.limits.lock.as_millis())
    }

    /// Commits. An error that ends the link leaves open whether it was done.
    pub fn commit(&mut self) -> Result<(), PgError> {
        if self.transaction == Transaction::Failed {
            self.rollback()?;
            return Err(PgError::server("25P02", "a statement had failed, so that all was rolled back"));
        }
        let done = self.batch("COMMIT");
        // Refused at the last moment, the server has rolled it back.
        self.transaction = Transaction::None;
        done
    }

    pub fn rollback(&mut self) -> Result<(), PgError> {
        let done = self.batch("ROLLBACK");
        self.transaction = Transaction::None;
        done
    }

    /// Rows of a statement whose columns are all text; values are sent as text too.
    pub fn query(&mut self, sql: &str, values: &[Option<&str>]) -> Result<Vec<Row>, PgError> {
        let (sql, values) = (sql.to_owned(), owned(values));
        let rows = self.ask(|client| async move { client.query_typed(&sql, &typed(&values)).await })?;
        Ok(rows.into_iter().map(Row::new).collect())
    }

    /// The same, after statements without values that go along in the same round trip.
    pub fn query_after(
        &mut self,
        first: &str,
        sql: &str,
        values: &[Option<&str>],
    ) -> Result<Vec<Row>, PgError> {
        let (first, sql, values) = (first.to_owned(), sql.to_owned(), owned(values));
        let rows = self.ask(|client| async move {
            let typed = typed(&values);
            let (before, rows) =
                tokio::join!(biased; client.batch_execute(&first), client.query_typed(&sql, &typed));
            before.and(rows)
        })?;
        Ok(rows.into_iter().map(Row::new).collect())
    }

    /// Statements that are sent together and answered one after the other, in one round trip: the answer of each. After
    /// one that failed, the others fail too, up to one that goes back to before it.
    pub fn ask_all(&mut self, steps: Vec<Step>) -> Result<Answers, PgError> {
        let answers = self.ask(|client| async move {
            let answer = |step: Step| {
                let client = &client;
                async move {
                    match step {
                        Step::Batch(sql) => client.batch_execute(&sql).await.map(|()| Vec::new()),
                        Step::Query(sql, values) => client.query_typed(&sql, &typed(&values)).await,
                    }
                }
            };
            Ok(join_all(steps.into_iter().map(answer)).await)
        })?;
        let read = |rows: Vec<tokio_postgres::Row>| rows.into_iter().map(Row::new).collect();
        let mut all = Vec::with_capacity(answers.len());
        for answer in answers {
            let answer = answer.map_err(|error| self.explain(&error)).map(read);
            match answer {
                Err(error) if error.ends_the_link() => {
                    self.cancel_and_close();
                    return Err(error);
                }
                answer => all.push(answer),
            }
        }
        if all.last().is_some_and(Result::is_err) && self.transaction == Transaction::Open {
            self.transaction = Transaction::Failed;
        }
        Ok(all)
    }

    /// The rows of several questions, in one round trip.
    pub fn query_all(&mut self, questions: Vec<Step>) -> Result<Vec<Vec<Row>>, PgError> {
        self.ask_all(questions)?.into_iter().collect()
    }

    /// The same, as many as there are.
    pub fn query_each<const N: usize>(&mut self, questions: [Step; N]) -> Result<[Vec<Row>; N], PgError> {
        let mut answers = self.query_all(questions.into())?.into_iter();
        Ok(std::array::from_fn(|_| answers.next().unwrap_or_default()))
    }

    fn explain(&self, error: &tokio_postgres::Error) -> PgError {
        self.wire.as_ref().map_or_else(|| PgError::from(error), |wire| wire.explain(error))
    }

    /// The same row by row, each as it comes: the server still works on the others then.
    pub fn each_after(
        &mut self,
        first: &str,
        sql: &str,
        values: &[Option<&str>],
        mut each: impl FnMut(&Row),
    ) -> Result<(), PgError> {
        let (first, sql, values) = (first.to_owned(), sql.to_owned(), owned(values));
        let (give, take) = mpsc::channel::<Vec<Row>>();
        let question = |client: Arc<Client>| async move {
            let asked = client.query_typed_raw(&sql, typed(&values));
            let (before, rows) = tokio::join!(biased; client.batch_execute(&first), asked);
            before?;
            let mut some = std::pin::pin!(rows?.ready_chunks(AT_ONCE));
            while let Some(some) = some.next().await {
                let some = some.into_iter().map(|row| row.map(Row::new)).collect::<Result<_, _>>()?;
                // Nobody listens any more: then nobody needs them.
                let _ = give.send(some);
            }
            Ok(())
        };
        self.ask_while(question, || take.into_iter().flatten().for_each(|row| each(&row)))
    }

    /// The number of rows that a statement touched.
    pub fn execute(&mut self, sql: &str, values: &[Option<&str>]) -> Result<u64, PgError> {
        let (sql, values) = (sql.to_owned(), owned(values));
        self.ask(|client| async move { client.execute_typed(&sql, &typed(&values)).await })
    }

    /// Has a statement with lists of texts for its values done, after others without values that go along in
    /// the same round trip, and something else meanwhile. The lists are sent as they are: nothing in them has
    /// to be quoted.
    pub fn execute_lists(
        &mut self,
        first: &str,
        sql: &str,
        lists: Vec<Vec<String>>,
        meanwhile: impl FnOnce(),
    ) -> Result<(), PgError> {
        let (first, sql) = (first.to_owned(), sql.to_owned());
        let question = |client: Arc<Client>| async move {
            let typed: Vec<(&(dyn ToSql + Sync), Type)> =
                lists.iter().map(|list| (list as &(dyn ToSql + Sync), Type::TEXT_ARRAY)).collect();
            let (before, done) =
                tokio::join!(biased; client.batch_execute(&first), client.execute_typed(&sql, &typed));
            before.and(done).map(|_| ())
        };
        self.ask_while(question, meanwhile)
    }

    /// Several statements without values in one round trip.
    pub fn batch(&mut self, sql: &str) -> Result<(), PgError> {
        let sql = sql.to_owned();
        self.ask(|client| async move { client.batch_execute(&sql).await })
    }

    /// Ends the connection; the server is asked to stop what it still does for it.
    pub fn cancel_and_close(&mut self) {
        self.transaction = Transaction::None;
        let Some(wire) = self.wire.take() else { return };
        let Ok(runtime) = crate::background::runtime() else { return };
        runtime.spawn(async move {
            // A pooler knows the request only as long as the connection is there: first this one.
            if !wire.client.is_closed() {
                let token = wire.client.cancel_token();
                // If it cannot be cancelled, the server's own limit ends it.
                let _ = tokio::time::timeout(CANCELLING, token.cancel_query(wire.connector)).await;
            }
            wire.driver.abort();
        });
    }

    /// Has a question answered, and draws the consequences of its failure.
    fn ask<T, F>(&mut self, question: impl FnOnce(Arc<Client>) -> F) -> Result<T, PgError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, tokio_postgres::Error>> + Send + 'static,
    {
        self.ask_while(question, || ())
    }

    /// The same, while something else is done.
    fn ask_while<T, F>(
        &mut self,
        question: impl FnOnce(Arc<Client>) -> F,
        meanwhile: impl FnOnce(),
    ) -> Result<T, PgError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, tokio_postgres::Error>> + Send + 'static,
    {
        let answer = match &self.wire {
            Some(wire) => wire.wait_for(question(Arc::clone(&wire.client)), self.limits.answer, meanwhile),
            None => Err(PgError::Lost("it was closed before".into())),
        };
        match &answer {
            // What succeeds after a failure has gone back to before it.
            Ok(_) if self.transaction == Transaction::Failed => self.transaction = Transaction::Open,
            Err(error) if error.ends_the_link() => self.cancel_and_close(),
            Err(_) if self.transaction == Transaction::Open => self.transaction = Transaction::Failed,
            _ => {}
        }
        answer
    }
}

impl Wire {
    /// Waits for an answer, after something that is done meanwhile.
    fn wait_for<T, F>(&self, answer: F, limit: Duration, meanwhile: impl FnOnce()) -> Result<T, PgError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, tokio_postgres::Error>> + Send + 'static,
    {
        let answer = background::start(async move { tokio::time::timeout(limit, answer).await });
        meanwhile();
        match answer.and_then(|answer| answer.recv().ok()) {
            Some(Ok(Ok(answer))) => Ok(answer),
            Some(Ok(Err(error))) => Err(self.explain(&error)),
            Some(Err(_)) => Err(PgError::TimedOut(limit)),
            None => Err(PgError::Lost("the threads that speak with servers are gone".into())),
        }
    }

    /// A connection that ended between two statements says why only to the task that drove it.
    fn explain(&self, error: &tokio_postgres::Error) -> PgError {
        let ended = self.ended.lock().ok().and_then(|ended| ended.clone());
        match (error.is_closed(), ended) {
            (true, Some(why)) => PgError::Lost(why),
            _ => PgError::from(error),
        }
    }
}

fn owned(values: &[Option<&str>]) -> Vec<Option<String>> {
    values.iter().map(|value| value.map(str::to_owned)).collect()
}

fn typed(values: &[Option<String>]) -> Vec<(&(dyn ToSql + Sync), Type)> {
    values.iter().map(|value| (value as &(dyn ToSql + Sync), Type::TEXT)).collect()
}
