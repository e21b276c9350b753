//! The parsers on texts that kernels write, and on texts that none would.

use super::*;

const REST: &str =
    "6211 6211 1373 0 -1 4227084 1108 0 5 0 1 0 0 0 20 0 1 0 620650 0 0 18446744073709551615 0\n";

fn stat(command: &str, state: &str) -> Option<ProcStat> {
    ProcStat::parse(format!("4312 ({command}) {state} {REST}").as_bytes())
}

#[test]
fn a_plain_line_is_read() {
    let expected =
        ProcStat { command: "sleep".into(), state: ProcState::Running, kind: ProcKind::User, start: 620_650 };
    assert_eq!(stat("sleep", "S"), Some(expected));
}

#[test]
fn a_command_may_hold_brackets_spaces_and_line_breaks() {
    for command in [") Z 1 (", "a) R 1\n(b", "((", "))", "", " ", "tmux: server", "\n\n"] {
        let read = stat(command, "S").expect(command);
        assert_eq!((read.command.as_str(), read.state, read.start), (command, ProcState::Running, 620_650));
    }
}

#[test]
fn a_command_that_is_no_text_is_still_a_command() {
    let line = [b"7 (a\xff\xfe) S ", REST.as_bytes()].concat();
    assert_eq!(ProcStat::parse(&line).map(|stat| stat.command), Some("a\u{fffd}\u{fffd}".into()));
}

#[test]
fn states_are_told_apart() {
    for (letter, state) in [
        ("R", ProcState::Running),
        ("D", ProcState::Running),
        ("I", ProcState::Running),
        ("T", ProcState::Stopped),
        ("t", ProcState::Stopped),
        ("Z", ProcState::Zombie),
        ("X", ProcState::Zombie),
    ] {
        assert_eq!(stat("sleep", letter).map(|stat| stat.state), Some(state), "{letter}");
    }
}

#[test]
fn a_main_thread_that_ended_first_does_not_end_the_process() {
    let line = format!("4312 (python3) Z {}", REST.replace(" 20 0 1 0 ", " 20 0 2 0 "));
    assert_eq!(ProcStat::parse(line.as_bytes()).map(|stat| stat.state), Some(ProcState::Running));
}

#[test]
fn a_kernel_thread_is_told_from_a_process() {
    let line = format!("2 (kthreadd) S {}", REST.replace("4227084", "2129984"));
    assert_eq!(ProcStat::parse(line.as_bytes()).map(|stat| stat.kind), Some(ProcKind::Kernel));
}

#[test]
fn malformed_lines_are_refused_and_never_guessed() {
    let whole = format!("4312 (sleep) S {REST}");
    for end in 0..whole.find(" 620650").unwrap() {
        assert_eq!(ProcStat::parse(&whole.as_bytes()[..end]), None, "cut at {end}");
    }
    for text in ["", ")", "(", ")(", "1 (x", "1 x) S 1", "1 (x) 9 1 1", "(a)", "\0\0\0"] {
        assert_eq!(ProcStat::parse(text.as_bytes()), None, "{text}");
    }
    assert_eq!(stat("sleep", "SLEEPING"), None);
    assert_eq!(ProcStat::parse(whole.replace("620650", "-1").as_bytes()), None);
    assert_eq!(ProcStat::parse(whole.replace("620650", "99999999999999999999").as_bytes()), None);
}

#[test]
fn a_status_names_the_process_of_a_thread_and_the_inner_number() {
    let read = |text: &str| ProcStatus::parse(text.as_bytes());
    assert_eq!(read("Name:\tx\nTgid:\t7\nNSpid:\t7\n"), Some(ProcStatus { leader: 7, inner: None }));
    assert_eq!(read("Name:\tx\nTgid:\t7\n"), Some(ProcStatus { leader: 7, inner: None }));
    assert_eq!(read("Tgid:\t7\nNSpid:\t7\t3\t1\n"), Some(ProcStatus { leader: 7, inner: Some(1) }));
    for text in ["", "Tgid:", "Tgid:\tx", "Name:\tTgid: 7\n", "Tgid:\t7\nNSpid:\t7\tx\n"] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn the_boot_time_is_a_line_of_its_own() {
    let expected = Moment::from_micros(1_794_795_272_000_000);
    assert_eq!(boot_time(b"cpu 1 2\nbtime 1794795272\nprocesses 9\n"), expected);
    for text in ["", "btime", "btime x", "btime -", "xbtime 1794795272", "btime 9223372036854775807"] {
        assert_eq!(boot_time(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn the_ticks_come_from_the_auxiliary_vector() {
    let vector = |words: &[usize]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
    assert_eq!(ticks_per_second(&vector(&[6, 4096, 17, 250, 0, 0])), Some(250));
    // A value of 17 is no entry of type 17.
    assert_eq!(ticks_per_second(&vector(&[6, 17, 3, 100, 0, 0])), None);
    assert_eq!(ticks_per_second(&vector(&[17, 0])), None);
    assert_eq!(ticks_per_second(&vector(&[17])), None);
    assert_eq!(ticks_per_second(b""), None);
}

#[test]
fn a_start_that_no_calendar_holds_is_none() {
    let boot = Moment::from_micros(1_794_795_272_000_000).unwrap();
    assert_eq!(moment_of(boot, 250, 100), Some(boot.plus(Span::millis(2_500))));
    assert_eq!(moment_of(boot, 250, 0), None);
    assert_eq!(moment_of(boot, u64::MAX, 100), None);
    assert_eq!(moment_of(Moment::LATEST, 100, 100), None);
}
