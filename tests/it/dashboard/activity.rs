//! The Jobs pane of a system that keeps a history: what each holder did lately.

use claimtop::reference::System;

use super::pty::Start;
use crate::support::Database;

#[test]
fn the_jobs_pane_shows_which_processor_is_active() {
    let database = Database::new(System::Finalization.sqlite());
    let attempt = |processor: &str, ago: &str| {
        database.run(
            "INSERT INTO tasker_finalization_attempts (task_uuid, processor_id, claimed, message, attempted_at)
             VALUES ('t', ?1, 1, 'Claim extended', strftime('%Y-%m-%d %H:%M:%f', 'now', ?2))",
            (processor, ago),
        );
    };
    attempt("long-gone", "-2 hours");
    attempt("processor-7", "-1 second");
    let mut pty = Start::claimtop(&database.beside("state")).with(database.path()).run();
    pty.wait("LIVE 1");
    pty.press("5", "ACTIVITY BY HOLDER");
    pty.wait("processor-7");
    // A second one becomes active while the pane is shown.
    attempt("processor-8", "-1 second");
    pty.wait("processor-8");
    assert!(!pty.screen().contains("long-gone"), "{}", pty.screen());
    pty.quit();
}
