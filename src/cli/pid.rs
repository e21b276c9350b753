//! `claimtop pid`: the holders of a source and whether their processes run.

use super::output::{complain, print};
use super::setup::Setup;
use crate::domain::detail::Holder;
use crate::exit::Exit;
use crate::report::holders::{line, table};
use crate::store::Reader;
use crate::store::StoreError;

pub(super) fn run(setup: &Setup, word: &str, session: Option<&str>) -> Exit {
    let mut setup = setup.clone();
    setup.check_pid = true;
    let holders = match holders(&setup, word, session) {
        Ok(holders) => holders,
        Err(error) => return complain(&error.to_string()),
    };
    match session {
        Some(session) if holders.is_empty() => {
            return complain(&format!("{}: there is no session {session}", setup.label(word)));
        }
        _ => {}
    }
    if setup.json {
        let lines: String = holders.iter().map(|holder| line(&setup.label(word), holder) + "\n").collect();
        print(&lines);
    } else if holders.is_empty() {
        print("no system in this source registers its holders\n");
    } else {
        print(&table(&holders));
    }
    Exit::Fine
}

fn holders(setup: &Setup, word: &str, session: Option<&str>) -> Result<Vec<Holder>, StoreError> {
    Reader::open(setup.options(word, setup.effort())?)?.holders(session)
}
