//! The fleets whose pictures are taken.

use claimtop::app::Msg;
use claimtop::domain::claim::Process;

use super::super::stage::holders::{asked, kinds, never_heard_of, session, tally};
use super::super::stage::{Held, Stage, World, acts, claim, entry, job_board, lock_board, task_board};
use claimtop::domain::verdict::Set;

/// Nobody holds anything.
pub fn empty() -> World {
    World::of([task_board([]), job_board([]), lock_board([])])
}

/// Everybody works.
pub fn calm() -> World {
    let tasks = (1..=12).map(|at| claim(&format!("render-{at:03}")).held_by(&format!("worker-{at}")));
    World::of([task_board(tasks), lock_board([claim("nightly").beat("2s")])])
        .with_horizon([0, 0, 0, 1, 0, 2, 0, 0, 4, 1, 0, 0, 3, 0, 1])
}

fn troubled_tasks() -> Vec<Held> {
    let mut tasks = vec![
        claim("render-0041").held_by("worker-7").of_kind("render").lease_ran_out("1h12m"),
        claim("render-0057").held_by("worker-7").of_kind("render").lease_ran_out("11m03s"),
        claim("mail-9313").held_by("worker-12").of_kind("send_mail").lease_ran_out("2m10s"),
        claim("mail-9320").held_by("worker-12").of_kind("send_mail").beat("6m30s"),
        claim("index-77").held_by("worker-3").of_kind("reindex").runs_out_in("45s"),
        claim("index-78").held_by("worker-3").of_kind("reindex").runs_out_in("2m10s"),
        claim("index-79").held_by("worker-4").of_kind("reindex").runs_out_in("4m"),
        claim("import-2026-11-15T03:00:00Z-customers-eu-west-1")
            .held_by("session-5f0c9a1e-77aa-4c1f-9d2b-0e6f1f2a3b4c")
            .of_kind("import")
            .without_session(),
        claim("import-2").held_by("worker-21").of_kind("import").session_silent_for("25m"),
        claim("import-3").held_by("worker-22").of_kind("import").process(Process::Dead),
        claim("odd-1").held_by("worker-5").of_kind("odd").unreadable(),
    ];
    tasks.extend((1..=6).map(|at| claim(&format!("fine-{at}")).held_by("worker-1")));
    tasks
}

/// Something of everything.
pub fn busy() -> World {
    World::of([
        task_board(troubled_tasks()),
        job_board([
            claim("job-501").held_by("runner-1").of_kind("backup").taken("34m").beat("24m"),
            claim("job-502").held_by("runner-2").of_kind("backup").taken("9m").beat("9m"),
        ]),
        lock_board([
            claim("deploy-lock").held_by("ci-8").session_silent_for("41m"),
            claim("schema-lock").held_by("ci-9").beat("1s"),
        ]),
    ])
    .with_horizon([2, 1, 1, 0, 3, 0, 0, 5, 8, 2, 0, 1, 0, 0, 2, 0, 0, 0, 1, 4, 0, 0, 2])
}

/// Six hosts, one of which is silent.
pub fn one_dead_host() -> World {
    let mut held = Vec::new();
    for host in 0..6 {
        for session in 0..3 {
            let holder = format!("web-{host}-{session}");
            for task in 0..3 {
                let one = claim(&format!("mail-{host}{session}{task}")).held_by(&holder);
                let one = one.on_host(&format!("web-{host}"));
                let silent = format!("{}s", 720 + session);
                held.push(if host == 3 { one.beat(&silent).session_silent_for(&silent) } else { one });
            }
        }
    }
    held.push(claim("late-1").held_by("web-5-1").on_host("web-5").lease_ran_out("90s"));
    World::of([task_board(held)])
}

/// Far more than a screen holds, and more than was loaded.
pub fn thousands() -> World {
    let stale = (1..=400).map(|at| {
        claim(&format!("task-{at:06}")).held_by(&format!("worker-{}", at % 40)).lease_ran_out("9m")
    });
    let near = (1..=30).map(|at| claim(&format!("near-{at:02}")).runs_out_in("3m"));
    let board = task_board(stale.chain(near).collect::<Vec<_>>()).loading(200);
    World::of([board.with_beyond(Set::Healthy, 1_234_567).with_beyond(Set::Stale, 8_000)])
        .with_horizon((1..=30).map(|minute| minute * 137 % 1_000))
}

/// The lists that are loaded beside the polls.
pub fn with_lists(stage: &mut Stage) {
    let holders = vec![
        asked(session("worker-7", "25m", 3), Process::Dead, "no process 4312"),
        asked(session("worker-12", "5s", 2), Process::Alive, "pid 4312 runs since 09:00"),
        session("worker-3", "2s", 3),
        session("worker-9", "1s", 0),
        never_heard_of("session-5f0c9a1e-77aa-4c1f-9d2b-0e6f1f2a3b4c"),
    ];
    stage.tell(Msg::Holders { source: 0, holders: Ok(holders) });
    let mut late = tally("send_mail", 12, 4_310);
    (late.stale, late.orphaned, late.overrun, late.dead) = (3, 1, Some(2.4), 17);
    let mut endless = tally("odd", 1, 0);
    (endless.ttl, endless.overrun) = (None, None);
    let boards =
        vec![kinds("tasks", [late, tally("render", 2, 0), endless]), kinds("jobs", [tally("backup", 2, 1)])];
    stage.tell(Msg::Kinds { source: 0, kinds: Ok(boards), activity: Vec::new() });
    let trail = vec![
        entry(6, "reclaim", Some("applied"), "taskqueue/tasks/render-0041"),
        entry(5, "release", Some("moved"), "taskqueue/tasks/mail-9313"),
        entry(4, "extend", Some("refused"), "taskqueue/tasks/index-77"),
        entry(3, "undo", Some("applied"), "taskqueue/tasks/render-0041"),
        entry(2, "reclaim", None, "taskqueue/tasks/import-2026-11-15T03:00:00Z-customers-eu-west-1"),
        entry(1, "reclaim", Some("unknown"), "taskqueue/jobs/job-501"),
    ];
    stage.tell(acts(trail));
}

/// The busy fleet, with everything loaded.
pub fn on_duty() -> Stage {
    let mut stage = Stage::on(&busy());
    with_lists(&mut stage);
    stage
}

/// The Claims pane of a fleet, with everything that it asked for.
pub fn browsing(world: &World) -> Stage {
    let mut stage = Stage::on(world);
    stage.browse(std::slice::from_ref(world), "2");
    stage
}
