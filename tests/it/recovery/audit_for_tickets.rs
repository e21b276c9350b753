//! The audit trail for people: filters, a table for tickets, and one page about an incident.

use super::*;

/// Two hosts with four sessions each, one claim a session; the claims of web-3 are reclaimed as one bulk, one act is
/// undone, and one is refused.
fn incident() -> (Scene, String, String) {
    let scene = Scene::new();
    for number in 0..4 {
        for host in ["web-3", "web-9"] {
            let session = format!("{host}:{}", 4_300 + number);
            let silent = if host == "web-3" { 120 * MINUTE } else { SECOND };
            scene.session(&session, silent);
            let expires = if host == "web-3" { -60 * MINUTE } else { 60 * MINUTE };
            scene.task(&format!("{host}-task-{number}"), &session, expires);
        }
    }
    let bulk = scene.run(&[
        "reclaim",
        "DB",
        "--set",
        "stale,orphaned",
        "--yes",
        "--reason",
        "INC-204 | web-3 died",
        "--json",
    ]);
    assert_eq!(bulk.code, 0, "{bulk:#?}");
    let batch = bulk.tally()["batch"].as_str().expect("an id").to_owned();
    let one = bulk.results()[0]["action_id"].as_str().expect("an id").to_owned();
    assert_eq!(scene.run(&["undo", "DB", &one, "--reason", "too soon"]).code, 0);
    assert_eq!(scene.run(&["release", "DB", "web-9-task-0"]).code, 5);
    (scene, batch, one)
}

#[test]
fn the_list_is_filtered_by_person_time_action_outcome_and_source() {
    on_both(|| {
        let (scene, _, _) = incident();
        let count = |arguments: &[&str]| {
            let mut all = vec!["audit", "list", "--json"];
            all.extend(arguments);
            let run = scene.run(&all);
            assert_eq!(run.code, 0, "{run:#?}");
            run.lines().len()
        };
        let all = count(&[]);
        let login = scene.export()[0]["who"]["login"].as_str().expect("a login").to_owned();
        let source = scene.export()[0]["source"].as_str().expect("a source").to_owned();
        assert_eq!(all, 4 * 2 + 2 + 1);
        assert_eq!(count(&["--by", &login]), all);
        assert_eq!(count(&["--by", "operator"]), all);
        assert_eq!(count(&["--by", "sweeper"]), 0);
        assert_eq!(count(&["--since", "1h"]), all);
        assert_eq!(count(&["--until", "1h"]), 0);
        assert_eq!(count(&["--since", "2026-01-01", "--until", "2999-01-01T00:00:00Z"]), all);
        assert_eq!(count(&["--action", "undo"]), 2);
        assert_eq!(count(&["--outcome", "applied"]), 5);
        assert_eq!(count(&["--outcome", "refused"]), 1);
        assert_eq!(count(&["--source", &source]), all);
        assert_eq!(count(&["--on", &source, "--limit", "3"]), 3);
        assert_eq!(count(&["--source", "elsewhere"]), 0);
        let wrong = scene.run(&["audit", "list", "--since", "soon"]);
        assert_eq!(wrong.code, 3);
        assert!(wrong.err.contains("2026-11-18T03:17:35Z"), "{wrong:#?}");
    });
}

#[test]
fn a_table_for_a_ticket_has_one_line_an_act() {
    on_both(|| {
        let (scene, _, _) = incident();
        let run = scene.run(&["audit", "list", "--since", "1h", "--md"]);
        assert_eq!(run.code, 0, "{run:#?}");
        let lines: Vec<&str> = run.out.lines().collect();
        assert_eq!(lines.len(), 2 + 4 + 1 + 1, "{}", run.out);
        assert!(lines[0].starts_with("| Time | Who | Act | Outcome | Claim |"), "{}", lines[0]);
        let bars = |line: &str| line.replace("\\|", "").matches('|').count();
        assert!(lines.iter().all(|line| bars(line) == bars(lines[0])), "{}", run.out);
        assert!(run.out.contains("INC-204 \\| web-3 died"), "{}", run.out);
    });
}

#[test]
fn a_hostile_id_stays_in_its_cell() {
    on_both(|| {
        let scene = Scene::new();
        scene.session("w|`1", SECOND);
        let hostile = "a|b`<script>alert(1)</script>\n| x | [l](http://e.example) @ann \u{202e}";
        scene.task(hostile, "w|`1", -60 * MINUTE);
        let reason = "see <img src=x> | `x`\n# Title [l](http://e.example) @ann";
        let act = scene.run(&["reclaim", "DB", "--set", "stale,orphaned", "--yes", "--reason", reason]);
        assert_eq!(act.code, 0, "{act:#?}");
        let listed = scene.run(&["audit", "list", "--md"]);
        let report = scene.run(&["audit", "report"]);
        assert_eq!((listed.code, report.code), (0, 0), "{listed:#?} {report:#?}");
        assert_eq!(listed.out.lines().count(), 3, "{}", listed.out);
        for page in [&listed.out, &report.out] {
            // Outside of code nothing has a meaning.
            let outside: String =
                page.lines().map(|line| line.split('`').step_by(2).collect::<String>() + "\n").collect();
            for live in ["<img", "<script", "](", "http://", "@ann", "\u{202e}", "\n# Title"] {
                assert!(!outside.contains(live), "{live} in {outside}");
            }
            assert!(!page.contains('\u{202e}'));
        }
    });
}

#[test]
fn a_report_tells_causes_timeline_people_undo_and_what_was_not_done() {
    on_both(|| {
        let (scene, batch, one) = incident();
        let file = scene.database.beside("incident.md");
        let path = file.to_str().expect("UTF-8");
        assert_eq!(scene.run(&["audit", "report", "--since", "1h", "--out", path]).code, 0);
        let page = fs::read_to_string(&file).expect("a page");
        for part in [
            "- Acts: 6 (5 applied, 1 refused)",
            "- Undone: 1",
            "## Causes",
            "- **`web-3`**: 4 acts",
            "4 holders (`web-3:4300`",
            "`lease_expired` 4",
            "## Timeline",
            "4 claims, 4 holders, in",
            "| 4 applied | INC-204 \\| web-3 died |",
            "## Who did what",
            "## Undone",
            "- 1 of 4 acts of",
            "## Not done",
            "web-9-task-0",
            &batch,
        ] {
            assert!(page.contains(part), "no {part:?} in\n{page}");
        }
        let of_batch = scene.run(&["audit", "report", "--batch", &batch]);
        assert_eq!(of_batch.code, 0, "{of_batch:#?}");
        assert!(of_batch.out.contains("- Acts: 5 (5 applied)"), "{}", of_batch.out);
        let of_one = scene.run(&["audit", "report", "--batch", &one]).out;
        assert!(of_one.contains("- Acts: 2 (2 applied)") && of_one.contains("- 1 of 1 act of"), "{of_one}");
        // The page names the place in the chain up to which it tells.
        let anchor =
            page.split("--anchor ").nth(1).and_then(|rest| rest.split('`').next()).expect("an anchor");
        assert_eq!(scene.run(&["audit", "verify", "--anchor", anchor]).code, 0);
    });
}

#[test]
fn a_report_of_nothing_says_so_and_a_wrong_question_is_an_error() {
    let scene = Scene::new();
    let empty = scene.run(&["audit", "report"]);
    assert_eq!(empty.code, 0, "{empty:#?}");
    assert!(empty.out.contains("No acts are on record"), "{}", empty.out);
    let unknown = scene.run(&["audit", "report", "--batch", "nothing"]);
    assert_eq!(unknown.code, 3);
    assert!(unknown.err.contains("there is no act nothing"), "{}", unknown.err);
    let inverted = scene.run(&["audit", "report", "--since", "1h", "--until", "2h"]);
    assert_eq!(inverted.code, 3, "{inverted:#?}");
    let nowhere = scene.run(&["audit", "report", "--out", "/proc/nonexistent/x.md"]);
    assert_eq!(nowhere.code, 3);
    assert!(nowhere.err.contains("/proc/nonexistent/x.md"), "{}", nowhere.err);
}
