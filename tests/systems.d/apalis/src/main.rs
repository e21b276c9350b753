//! The worker of apalis, on either engine.

use apalis::prelude::*;
use apalis_postgres::{PgPool, PostgresStorage};
use apalis_sqlite::{SqlitePool, SqliteStorage};
use std::io::Write;
use std::time::Duration;

fn variable(name: &str) -> String {
    std::env::var(name).expect(name)
}

fn write(word: &str) {
    let mut log = std::fs::File::options().append(true).open(variable("LOG")).expect("the log");
    writeln!(log, "{word}").expect("a line");
}

async fn job(_: u32) -> Result<(), BoxDynError> {
    write("started");
    while std::fs::exists(variable("HOLD"))? {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    write("done");
    Ok(())
}

/// A name of its own: one that is registered cannot be taken again for a while.
fn name() -> String {
    format!("worker-{}", std::process::id())
}

async fn on_sqlite(verb: &str) {
    let pool = SqlitePool::connect(&variable("DATABASE")).await.expect("the database");
    let mut storage = SqliteStorage::new(&pool);
    match verb {
        "setup" => SqliteStorage::setup(&pool).await.expect("the tables"),
        "enqueue" => storage.push(1u32).await.expect("a job"),
        _ => WorkerBuilder::new(name()).backend(storage).build(job).run().await.expect("a worker"),
    }
}

async fn on_postgres(verb: &str) {
    let pool = PgPool::connect(&variable("DATABASE")).await.expect("the database");
    let mut storage = PostgresStorage::new(&pool);
    match verb {
        "setup" => PostgresStorage::setup(&pool).await.expect("the tables"),
        "enqueue" => storage.push(1u32).await.expect("a job"),
        _ => WorkerBuilder::new(name()).backend(storage).build(job).run().await.expect("a worker"),
    }
}

#[tokio::main]
async fn main() {
    let verb = std::env::args().nth(1).expect("a verb");
    match variable("ENGINE").as_str() {
        "sqlite" => on_sqlite(&verb).await,
        _ => on_postgres(&verb).await,
    }
}
