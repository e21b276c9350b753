//! Ids of every kind keep their place, and do nothing to the terminal.

use claimtop::app::Msg;

use super::super::stage::holders::{kinds, session, tally};
use super::super::stage::{
    LARGE, MIDDLE, SMALL, Stage, TINY, World, acts, claim, entry, job_board, lock_board, task_board,
};
use super::{assert_aligned, picture};

fn odd_names() -> Vec<String> {
    vec![
        "任務-渲染-客戶資料-二〇二六年十一月".into(),
        "\u{1b}]52;c;aGk=\u{7}\u{1b}[2J\u{9b}31m".into(),
        "pay\u{202e}cod.exe\u{2066}x".into(),
        "zero\u{200b}width\u{feff}\u{200d}".into(),
        "e\u{301}\u{301}\u{301} combining".into(),
        "tab\there\nand\rthere".into(),
        "👩‍👩‍👧‍👦 family 🏳️‍🌈".into(),
        "  blanks at both ends  ".into(),
        String::new(),
        "x".repeat(100_000),
        "ｆｕｌｌｗｉｄｔｈ　ｉｄ".into(),
        "a/very/long/path/with/many/parts/that/goes/on/and/on/until/nobody/reads/it.tar.gz".into(),
    ]
}

fn odd_stage() -> Stage {
    let names = odd_names();
    let stale = names.iter().map(|name| claim(name).held_by(name).of_kind(name).lease_ran_out("9m"));
    let near = names.iter().map(|name| claim(&format!("{name}.")).held_by(name).runs_out_in("2m"));
    let gone = names.iter().map(|name| claim(&format!("{name}!")).held_by(name).without_session());
    let tasks = task_board(stale.chain(near).chain(gone)).named(&names[1]);
    let jobs = job_board(names.iter().map(|name| claim(name).of_kind(name).taken("40m").beat("40m")));
    let locks = lock_board(names.iter().map(|name| claim(name).session_silent_for("40m"))).named(&names[0]);
    let world = World::of([tasks, jobs, locks]).named(&names[2]).noting(&names[1]);
    let mut stage = Stage::on(&world);
    stage.browse(std::slice::from_ref(&world), "2");
    let holders = names.iter().map(|name| session(name, "20m", 2)).collect();
    stage.tell(Msg::Holders { source: 0, holders: Ok(holders) });
    let tallies = names.iter().map(|name| tally(name, 1, 1));
    stage.tell(Msg::Kinds { source: 0, kinds: Ok(vec![kinds(&names[1], tallies)]), activity: Vec::new() });
    let mut trail: Vec<_> =
        names.iter().zip(1..).map(|(name, seq)| entry(seq, name, Some(name), name)).collect();
    for (line, name) in trail.iter_mut().zip(&names) {
        (line.who, line.reason, line.images) = (name.clone(), Some(name.clone()), vec![name.clone()]);
    }
    stage.tell(acts(trail));
    stage.poll(&World::of([task_board([])]).named(&names[2]));
    stage.poll(&world);
    stage.press("1");
    stage
}

#[test]
fn odd_ids_keep_their_lines_straight_in_every_pane_and_overlay() {
    for keys in [
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "7",
        "8",
        "8 enter",
        "1 enter",
        "1 l l enter",
        "1 l r",
        "1 l l x",
        "1 j j j e",
        "1 R",
        "1 ?",
        "1 :",
        "1 /",
        "1 w",
        "3 x",
        "1 space space j space",
        "1 p",
        "1 s s s",
    ] {
        let mut stage = odd_stage().then(keys);
        for size in [SMALL, MIDDLE, LARGE, TINY, (20, 5), (61, 19)] {
            assert_aligned(&stage.draw(size), keys);
        }
        for _ in 0..3 {
            stage.press("pagedown");
            assert_aligned(&stage.draw(SMALL), keys);
        }
    }
}

#[test]
fn what_is_typed_and_pasted_keeps_its_lines_straight() {
    for keys in ["1 /", "1 :", "1 l r", "3 x"] {
        for name in odd_names() {
            let mut stage = odd_stage().then(keys);
            stage.tell(Msg::Paste(name.clone()));
            stage.write("任");
            for size in [SMALL, TINY, (20, 5)] {
                assert_aligned(&stage.draw(size), keys);
            }
        }
    }
}

#[test]
fn what_a_source_says_of_its_failure_keeps_its_lines_straight() {
    for why in odd_names() {
        let mut stage = odd_stage();
        stage.poll_fails(&why);
        stage.press("7");
        assert_aligned(&stage.draw(SMALL), &why);
        stage.tell(Msg::Notice(why.clone()));
        stage.tell(Msg::Holders { source: 0, holders: Err(why.as_str().into()) });
        stage.tell(Msg::Kinds { source: 0, kinds: Err(why.as_str().into()), activity: Vec::new() });
        stage.tell(Msg::Trail(Err(why.clone())));
        for keys in ["3", "4", "5", "8", "1"] {
            stage.press(keys);
            assert_aligned(&stage.draw(SMALL), &why);
        }
    }
}

#[test]
fn pictures_of_odd_ids() {
    let mut stage = odd_stage();
    picture("hostile_overview", &mut stage, MIDDLE);
    stage.press("2");
    picture("hostile_claims", &mut stage, MIDDLE);
    stage.press("4");
    picture("hostile_sessions", &mut stage, SMALL);
    stage.press("1 enter");
    picture("hostile_detail", &mut stage, SMALL);
}
