//! Whose process it is: hosts, and what the operator says of them.

use super::test_processes::NUMBERS;
use super::*;

fn own() -> Row {
    row(i64::from(std::process::id()))
}

fn this_host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[track_caller]
fn assert_unknown(finding: &ProcessFinding, words: &str) {
    assert_eq!(finding.process, Process::Unknown, "{}", finding.evidence);
    assert!(finding.evidence.contains(words), "{words:?} in {:?}", finding.evidence);
}

#[test]
fn a_process_elsewhere_is_unknown_even_if_the_number_lives_here() {
    let row = own().host(&this_host());
    assert_unknown(&row.found_with(Some(HoldersOn::Elsewhere)), "elsewhere");
}

#[test]
fn another_host_is_unknown_whatever_the_operator_says() {
    for holders_on in [None, Some(HoldersOn::ThisHost), Some(HoldersOn::HostColumn)] {
        let finding = own().host("another-host\u{7}").found_with(holders_on);
        assert_unknown(&finding, "another-host\\u{7}");
    }
}

#[test]
fn our_own_name_is_known_in_any_case() {
    for name in [this_host(), this_host().to_uppercase()] {
        for holders_on in [None, Some(HoldersOn::ThisHost), Some(HoldersOn::HostColumn)] {
            assert_found(&own().host(&name).found_with(holders_on), Process::Alive, "process");
        }
    }
}

#[test]
fn our_own_name_is_known_with_and_without_its_domain() {
    let name = this_host();
    let other_form = match name.split_once('.') {
        Some((short, _)) => short.to_owned(),
        None => format!("{name}.Example.com"),
    };
    assert_found(&own().host(&other_form).found_with(Some(HoldersOn::HostColumn)), Process::Alive, "process");
}

#[test]
fn localhost_is_every_host_and_so_none() {
    for name in ["localhost", "LocalHost", "localhost.localdomain", "127.0.0.1"] {
        assert_unknown(&own().host(name).found_with(Some(HoldersOn::HostColumn)), "the row names the host");
    }
}

#[test]
fn a_row_without_host_is_unknown_unless_the_holders_are_said_to_be_here() {
    for row in [own(), own().host(""), own().host("  ")] {
        assert_unknown(&row.found_with(None), "set holders_on");
        assert_unknown(&row.found_with(Some(HoldersOn::HostColumn)), "names no host");
        assert_found(&row.found_with(Some(HoldersOn::ThisHost)), Process::Alive, "process");
    }
}

#[test]
fn nobody_is_called_dead_unless_the_operator_said_where_the_holders_run() {
    let _free = NUMBERS.read();
    let gone = row(Being::alive().reap()).host(&this_host());
    assert_found(&gone.found_with(None), Process::Unknown, "holders_on is not set");
    assert_found(&gone.found_with(Some(HoldersOn::HostColumn)), Process::Dead, "no process");
    assert_found(&gone.found_with(Some(HoldersOn::ThisHost)), Process::Dead, "no process");
    assert_unknown(&gone.found_with(Some(HoldersOn::Elsewhere)), "elsewhere");
}
