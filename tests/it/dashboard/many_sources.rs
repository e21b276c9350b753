//! Two hundred sources on one screen: all are polled, by a few threads.

use std::fs;

use super::Scene;
use super::pty::Start;
use crate::support::MINUTE;
use crate::support::server::until;

const SOURCES: usize = 200;

#[test]
fn two_hundred_sources_are_polled_by_a_few_threads() {
    let healthy = Scene::new();
    healthy.session("worker-1", 0);
    healthy.task("task", "worker-1", 60 * MINUTE);
    let folder = healthy.database.beside("sources");
    fs::create_dir(&folder).expect("a folder");
    let mut config = String::new();
    for number in 0..SOURCES {
        let path = folder.join(format!("queue-{number:03}.db"));
        healthy.database.connection.execute("VACUUM INTO ?1", [path.to_str()]).expect("a copy");
        config.push_str(&format!("[source.queue-{number:03}]\nat = {path:?}\n"));
    }
    let missing = folder.join("queue-150.db");
    fs::remove_file(&missing).expect("a source that is gone");
    let file = folder.join("config.toml");
    fs::write(&file, config).expect("a config");
    let pty =
        Start::claimtop(&healthy.database.beside("state")).with("--config").with(&file).size(160, 45).run();
    // One claim of every source that is there.
    pty.wait("of 199");
    // On a busy machine the first polls take long, and look like those of sources that do not answer.
    let threads = format!("/proc/{}/task", pty.pid().as_raw_nonzero());
    until("at most 16 threads", || fs::read_dir(&threads).expect("its threads").count() <= 16);
    pty.quit();
}
