//! Files that are no database, or none that can be used.

use super::{COORDINATION, MANY_CLAIMS, Scratch, refused, run, says, sentence};
use rusqlite::Connection;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;

#[test]
fn a_missing_file_is_named() {
    says(&refused(&Scratch::new().at("nowhere.db")), &["no such file"]);
}

#[test]
fn looking_for_a_missing_file_does_not_create_it() {
    let scratch = Scratch::new();
    run(&["check"], &[&scratch.at("nowhere.db")]);
    run(&["list"], &[&scratch.at("nowhere.db")]);
    assert!(!scratch.at("nowhere.db").exists());
}

#[test]
fn a_directory_is_called_one() {
    let scratch = Scratch::new();
    says(&refused(scratch.folder.path()), &["directory", "name the database file"]);
}

#[test]
fn an_empty_file_is_called_empty() {
    says(&refused(&Scratch::new().file("tasks.db", "")), &["empty"]);
}

#[test]
fn a_text_file_is_no_database() {
    let scratch = Scratch::new();
    let text = "these are notes about tasks\n".repeat(400);
    says(&refused(&scratch.file("notes.txt", &text)), &["not a SQLite database"]);
    says(&refused(&scratch.file("short.txt", "notes")), &["not a SQLite database"]);
}

#[test]
fn a_fifo_is_refused_without_waiting_for_a_writer() {
    let scratch = Scratch::new();
    let fifo = scratch.at("tasks.db");
    let made = Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs");
    assert!(made.success());
    says(&refused(&fifo), &["not a regular file"]);
}

/// The files of a database as they are when its writer is killed in the middle of a large transaction.
fn killed_while_writing(scratch: &Scratch) -> std::path::PathBuf {
    let (busy, left) = (scratch.at("busy.db"), scratch.at("tasks.db"));
    let writer = Connection::open(&busy).expect("a database");
    writer.execute_batch(COORDINATION).expect("its tables");
    writer.execute_batch(MANY_CLAIMS).expect("its claims");
    // Few pages fit into memory, so most of them are written before the commit.
    writer.pragma_update(None, "journal_mode", "DELETE").expect("a journal");
    writer.pragma_update(None, "cache_size", 2).expect("a small cache");
    writer.execute_batch("BEGIN; UPDATE task_claims SET expires_at = expires_at + 1").expect("a change");
    std::fs::copy(&busy, &left).expect("the database");
    std::fs::copy(scratch.at("busy.db-journal"), scratch.at("tasks.db-journal")).expect("the journal");
    left
}

#[test]
fn a_file_whose_writer_was_killed_names_its_journal_until_somebody_opens_it() {
    let scratch = Scratch::new();
    let left = killed_while_writing(&scratch);
    let before = std::fs::read(&left).expect("the file");
    says(&refused(&left), &["a program was killed while it wrote", "tasks.db-journal", "let a worker open"]);
    assert!(scratch.at("tasks.db-journal").exists() && std::fs::read(&left).expect("the file") == before);
    let worker = Connection::open(&left).expect("a worker");
    let count: i64 =
        worker.query_row("SELECT count(*) FROM task_claims", [], |row| row.get(0)).expect("rows");
    assert!(count > 0 && !scratch.at("tasks.db-journal").exists());
    assert_ne!(run(&["check"], &[&left]).status.code(), Some(3));
}

/// Overwrites a stretch of a file that nobody has open.
fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = std::fs::OpenOptions::new().write(true).open(path).expect("the file");
    file.seek(SeekFrom::Start(at)).expect("a place in it");
    file.write_all(bytes).expect("written");
}

/// The pages of a table's own tree, and the size of a page.
fn pages(path: &Path, table: &str) -> (Vec<u64>, u64) {
    let connection = Connection::open(path).expect("the database");
    let mut statement = connection.prepare("SELECT pageno FROM dbstat WHERE name = ?1").expect("dbstat");
    let numbers = statement.query_map([table], |row| row.get::<_, i64>(0)).expect("pages");
    let numbers = numbers.map(|number| number.expect("a page").unsigned_abs()).collect();
    let size: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0)).expect("a size");
    (numbers, size.unsigned_abs())
}

#[test]
fn damaged_pages_of_a_table_are_reported_and_never_counted_around() {
    let scratch = Scratch::new();
    let path = scratch.database("tasks.db", &format!("{COORDINATION}{MANY_CLAIMS}"));
    let (numbers, size) = pages(&path, "task_claims");
    assert!(numbers.len() > 20, "{numbers:?}");
    for number in numbers.iter().skip(5).take(6) {
        // The header of the page and the middle of its cells.
        overwrite(&path, (number - 1) * size, &[0xa5; 64]);
        overwrite(&path, (number - 1) * size + size / 2, &[0xa5; 256]);
    }
    says(&refused(&path), &["damaged", "integrity_check", "copy"]);
}

#[test]
fn a_damaged_root_page_is_reported() {
    let scratch = Scratch::new();
    let path = scratch.database("tasks.db", &format!("{COORDINATION}{MANY_CLAIMS}"));
    let (numbers, size) = pages(&path, "sessions");
    overwrite(&path, (numbers[0] - 1) * size, &vec![0xff; usize::try_from(size).expect("a size")]);
    says(&refused(&path), &["damaged"]);
}

#[test]
fn a_truncated_file_is_reported() {
    let scratch = Scratch::new();
    let path = scratch.database("tasks.db", &format!("{COORDINATION}{MANY_CLAIMS}"));
    let whole = std::fs::metadata(&path).expect("the file").len();
    // In the middle, with and without a whole last page, and in the header itself.
    for left in [whole / 2 / 4096 * 4096, whole / 2 / 4096 * 4096 - 1000, 4096, 600, 50] {
        let file = std::fs::OpenOptions::new().write(true).open(&path).expect("the file");
        file.set_len(left).expect("truncated");
        let said = refused(&path);
        let known = ["damaged", "not a SQLite database"];
        assert!(known.iter().any(|word| said.contains(word)), "{left} bytes left: {said}");
    }
}

#[test]
fn every_sentence_about_a_file_says_what_to_do() {
    let scratch = Scratch::new();
    let fifo = scratch.at("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    let bad = [
        scratch.at("nowhere.db"),
        scratch.folder.path().to_owned(),
        scratch.file("empty.db", ""),
        scratch.file("notes.txt", "these are notes about tasks\n"),
        fifo,
        scratch.database("shop.db", "CREATE TABLE customers (id)"),
        scratch.database("new.db", "PRAGMA user_version = 7;"),
    ];
    // What is wrong comes first, what to do after a semicolon.
    let silent: Vec<String> = bad
        .iter()
        .map(|path| sentence(&run(&["check"], &[path])))
        .filter(|said| !said.contains("; "))
        .collect();
    assert!(silent.is_empty(), "these give no advice: {silent:#?}");
}
