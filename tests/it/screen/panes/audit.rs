//! The Audit pane: bulks folded and unfolded, a filter, a long search, and the evidence of an act.

use claimtop::app::audit::{AuditLine, BulkLine, Extent, TrailPage, Unfolded};
use claimtop::app::message::TrailLine;
use claimtop::app::{Effect, Msg};
use claimtop::domain::audit::{ActFilter, OutcomeCounts};

use super::super::stage::{LARGE, MIDDLE, SMALL, Stage, World, entry, task_board, trail};
use super::picture;

const WIDE: (u16, u16) = (160, 45);
const NARROW: (u16, u16) = (60, 20);

fn pictures(name: &str, stage: &mut Stage) {
    for size in [WIDE, MIDDLE, SMALL, NARROW] {
        picture(name, stage, size);
    }
}

fn bulk(id: &str, counts: OutcomeCounts) -> AuditLine {
    AuditLine::Bulk(BulkLine {
        id: id.into(),
        seq: 40,
        at: "2026-11-15T11:20:31.250Z".into(),
        action: "reclaim".into(),
        source: "/srv/tasks.db".into(),
        on: Some(0),
        counts,
        holder: None,
        who: "ann".into(),
        reason: Some("INC-204: web-3 is gone".into()),
    })
}

fn act(line: TrailLine) -> AuditLine {
    AuditLine::Act(line)
}

fn lines() -> Vec<AuditLine> {
    let mixed = OutcomeCounts { applied: 52, moved: 1, refused: 13, ..OutcomeCounts::default() };
    let sweeper = BulkLine {
        holder: Some("web-5-2".into()),
        who: "sweeper (ops)".into(),
        reason: None,
        ..match bulk("0193-b2", OutcomeCounts { applied: 3, ..OutcomeCounts::default() }) {
            AuditLine::Bulk(line) => line,
            AuditLine::Act(_) => unreachable!("a bulk"),
        }
    };
    vec![
        act(entry(6, "undo", Some("applied"), "taskqueue/tasks/render-0041")),
        bulk("0193-b1", mixed),
        act(entry(5, "release", Some("moved"), "taskqueue/tasks/mail-9313")),
        AuditLine::Bulk(sweeper),
        act(entry(2, "reclaim", None, "taskqueue/tasks/import-2026-11-15T03:00:00Z-customers-eu-west-1")),
    ]
}

fn stage() -> Stage {
    in_audit(Stage::on(&World::of([task_board([])])))
}

fn in_audit(stage: Stage) -> Stage {
    let mut stage = stage.then(":");
    stage.write("audit");
    stage.press("enter");
    stage.tell(trail(lines()));
    stage
}

#[test]
fn a_bulk_is_one_line_with_its_tally() {
    pictures("audit_folded", &mut stage().then("j"));
}

#[test]
fn enter_unfolds_a_bulk_and_folds_it_again() {
    let mut stage = stage().then("j enter");
    picture("audit_unfolding", &mut stage, SMALL);
    let acts = (7..12).map(|seq| {
        let outcome = if seq == 9 { "refused" } else { "applied" };
        entry(seq, "reclaim", Some(outcome), &format!("taskqueue/tasks/mail-43{seq:02}"))
    });
    stage.tell(Msg::Unfolded { id: "0193-b1".into(), acts: Unfolded::Acts(acts.collect()) });
    pictures("audit_unfolded", &mut stage);
    assert!(stage.text().contains("and 61 more"), "{}", stage.text());
    stage.press("enter");
    assert!(!stage.text().contains("mail-4307"), "{}", stage.text());
    assert!(stage.text().contains("[+] 52 of 66 applied"), "{}", stage.text());
}

#[test]
fn a_filter_is_written_like_everywhere_else() {
    let mut stage = stage().then("/");
    picture("audit_filter_empty", &mut stage, SMALL);
    stage.write("by:ann since:2h outcome:moved");
    let filter = ActFilter::parse("by:ann since:2h outcome:moved").expect("a filter");
    // Until the trail has answered, what is shown is what was there before.
    assert!(stage.text().contains("searching ..."), "{}", stage.text());
    let counts = OutcomeCounts { moved: 1, ..OutcomeCounts::default() };
    let page = TrailPage { filter, lines: vec![bulk("0193-b1", counts)], extent: Extent::Whole };
    stage.tell(Msg::Trail(Ok(page)));
    stage.press("enter");
    pictures("audit_filtered", &mut stage);
    stage.press("esc");
    assert_eq!(stage.model.audit.filter, ActFilter::default());
}

#[test]
fn a_wrong_filter_lists_the_right_ones() {
    let mut stage = stage().then("/");
    stage.write("who:ann");
    picture("audit_filter_error", &mut stage, MIDDLE);
}

#[test]
fn a_long_search_shows_what_it_found_so_far() {
    let mut stage = stage();
    let page =
        TrailPage { lines: lines(), extent: Extent::Reading { records: 55_500 }, ..TrailPage::default() };
    stage.tell(Msg::Trail(Ok(page)));
    picture("audit_searching", &mut stage, SMALL);
    let page = TrailPage { extent: Extent::Reading { records: 500 }, ..TrailPage::default() };
    stage.tell(Msg::Trail(Ok(page)));
    assert!(stage.text().contains("searching; 500 records so far"), "{}", stage.text());
}

#[test]
fn with_several_sources_every_line_names_its_own() {
    let world = World::of([task_board([])]);
    let mut stage = in_audit(Stage::of(&[world.clone(), world.named("other.db")]));
    picture("audit_several_sources", &mut stage, WIDE);
    picture("audit_several_sources", &mut stage, LARGE);
}

#[test]
fn u_on_a_bulk_takes_all_of_it_back() {
    let effects = stage().then("j").press("u");
    let [Effect::PrepareUndo { source: 0, action_id }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(action_id, "0193-b1");
}

#[test]
fn an_entry_shows_the_evidence() {
    let mut stage = stage().then("j j enter");
    let shown = stage.text();
    for part in ["Evidence", "lease_expired, session_stale", "silent for 7m06s", "Rows before and after"] {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
}
