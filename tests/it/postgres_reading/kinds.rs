//! What the screens ask beside a poll, on every engine: kinds, the coming deadlines, pages and one claim.

use claimtop::domain::detail::{Cursor, KindTally, PageRequest};
use claimtop::profile::Profile;
use claimtop::store::{Profiles, Reader};

use crate::support::engine::on_both;
use crate::support::{Database, MINUTE, NOW};

const TABLE: &str =
    "CREATE TABLE jobs (id TEXT PRIMARY KEY, kind TEXT, state TEXT, held_by TEXT, until INTEGER,
      tries INTEGER, most INTEGER, made INTEGER)";
const PROFILE: &str = "title = 'Jobs'\n[[claim]]\nname = 'job'\nrole = 'job'\ntable = 'jobs'\n\
    held = \"c.state = 'running'\"\nid = 'id'\nkind = 'kind'\nholder = 'held_by'\nattempts = 'tries'\n\
    max_attempts = 'most'\ntime = 'unix_ms'\ndeadline = { column = 'until', lease = '30m' }\n\
    [claim.backlog]\nqueued = \"state = 'queued'\"\ndead = \"state = 'dead'\"\noldest = 'made'\n";

/// Two kinds: of one a job runs too long at its last attempt, of the other two run and some wait.
fn jobs() -> (Database, Reader) {
    let database = Database::new(TABLE);
    for (id, kind, state, minutes, tries) in [
        ("a1", "a", "running", -10, 3),
        ("b1", "b", "running", 5, 1),
        ("b2", "b", "running", 5, 3),
        ("b3", "b", "queued", 0, 0),
        ("b4", "b", "queued", 0, 0),
        ("b5", "b", "dead", 0, 3),
    ] {
        let (until, made) = (NOW + minutes * MINUTE, NOW - 7 * MINUTE);
        database.batch(&format!(
            "INSERT INTO jobs VALUES ('{id}', '{kind}', '{state}', 'w', {until}, {tries}, 3, {made})"
        ));
    }
    let profile = Profile::parse("jobs", PROFILE).expect("a profile");
    let reader = Reader::open(database.options(Profiles::Named(vec![profile]), |_| {})).expect("a reader");
    (database, reader)
}

#[test]
fn kinds_are_counted_with_their_backlog_and_last_attempts() {
    on_both(|| {
        let (_database, mut reader) = jobs();
        let mut kinds = reader.kinds().expect("kinds");
        assert_eq!(kinds.len(), 1);
        let board = kinds.remove(0);
        assert_eq!((board.profile.as_str(), board.board.as_str(), board.at_least), ("jobs", "job", false));
        let figures =
            |tally: &KindTally| (tally.running, tally.stale, tally.exhausted, tally.queued, tally.dead);
        let told: Vec<_> = board.kinds.iter().map(|tally| (tally.kind.as_deref(), figures(tally))).collect();
        assert_eq!(told, [(Some("a"), (1, 1, 1, 0, 0)), (Some("b"), (2, 0, 1, 2, 1))]);
        let oldest = board.kinds[1].oldest_queued.expect("a time").micros();
        assert_eq!(oldest, (NOW - 7 * MINUTE) * 1_000);
    });
}

#[test]
fn the_coming_deadlines_are_counted_minute_by_minute() {
    on_both(|| {
        let (_database, mut reader) = jobs();
        let horizon = reader.horizon(10).expect("a horizon");
        assert_eq!(horizon.minutes, [0, 0, 0, 0, 0, 2, 0, 0, 0, 0]);
        assert!(!horizon.at_least);
    });
}

#[test]
fn pages_go_forward_and_back_and_a_claim_has_all_its_columns() {
    on_both(|| {
        let (_database, mut reader) = jobs();
        let mut page = |from: Cursor| {
            let (profile, board) = ("jobs".to_owned(), "job".to_owned());
            reader
                .page(&PageRequest { profile, board, from, conditions: Vec::new(), rows: 2 })
                .expect("a page")
        };
        let ids = |page: &claimtop::domain::detail::Page| -> Vec<String> {
            page.claims.iter().map(|judged| judged.claim.key.text()).collect()
        };
        let first = page(Cursor::First);
        assert_eq!(
            (ids(&first), first.is_first, first.is_last),
            (vec!["a1".into(), "b1".into()], true, false)
        );
        let last = first.claims[1].mark.clone().expect("a mark");
        let second = page(Cursor::After(last));
        assert_eq!((ids(&second), second.is_last), (vec!["b2".into()], true));
        let mark = second.claims[0].mark.clone().expect("a mark");
        assert_eq!(ids(&page(Cursor::Before(mark.clone()))), ["a1", "b1"]);
        assert_eq!(ids(&page(Cursor::From(mark.clone()))), ["b2"]);
        let seen = reader.examine("jobs", "job", &mark, "b2").expect("a look").expect("a claim");
        let columns: Vec<&str> = seen.columns.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(columns, ["id", "kind", "state", "held_by", "until", "tries", "most", "made"]);
        assert_eq!(seen.judged.seen, second.claims[0].seen, "the same state has the same token");
    });
}
