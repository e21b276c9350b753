//! Filters that the database answers, against the definition: every claim is listed without a filter and tested
//! one by one.

use claimtop::domain::board_id::BoardId;
use claimtop::domain::claim_list::{ListRequest, Matching, Others, Start, Stretch, Troubled};
use claimtop::domain::filter::{Condition, Filter, Pattern, Sense, Test};
use claimtop::domain::snapshot::Judged;
use claimtop::domain::time::{Moment, Span};
use claimtop::domain::verdict::{Reason, Set};
use claimtop::store::{Listed, Reader};

use super::random::Random;

const FILTERS: usize = 12;

/// Lists random filters of all kinds, and compares what comes with what should.
pub fn compare_filters(reader: &mut Reader, random: &mut Random, when: &str) {
    let boards = reader.poll().expect("a poll").into_iter().flat_map(|snapshot| snapshot.boards);
    // What a busy machine makes a burden is remembered, and may be behind the list.
    if !boards.into_iter().all(|board| board.gaps.is_exact()) {
        return;
    }
    let all = listed(reader, &Filter::default(), when);
    for _ in 0..FILTERS {
        let filter = filter(random, &all);
        let taken = |claim: &&Listed| filter.takes(&board(claim), &claim.judged, claim.now);
        let mut expected: Vec<String> = all.iter().filter(taken).map(address).collect();
        let mut found: Vec<String> = listed(reader, &filter, when).iter().map(address).collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{filter:?}, {when}");
        compare_parts(reader, &filter, &all, &format!("{filter:?}, {when}"));
    }
    compare_parts(reader, &Filter::default(), &all, when);
}

/// The one list of a screen, part by part and in both directions, has every claim once: those in trouble worst
/// first, and it counts them.
fn compare_parts(reader: &mut Reader, filter: &Filter, all: &[Listed], when: &str) {
    let taken = |claim: &&Listed| filter.takes(&board(claim), &claim.judged, claim.now);
    let mut expected: Vec<String> = all.iter().filter(taken).map(address).collect();
    let request = ListRequest { filter: filter.clone(), worst: Some(1_000), others: None };
    let part = reader.list_part(&request).unwrap_or_else(|error| panic!("{error}: {when}"));
    let worst = part.worst.expect("the worst");
    assert!(worst.is_all, "{when}");
    let rank = |judged: &Judged| {
        (judged.verdict.headline(), judged.verdict.deadline.map_or(i64::MAX, Moment::micros))
    };
    assert!(worst.claims.iter().map(|claim| rank(&claim.judged)).is_sorted(), "{when}");
    if let Some(Matching { total: Some(total), .. }) = part.matching {
        assert_eq!(total as usize, expected.len(), "{when}");
    }
    let forward = others(reader, filter, Start::First, when);
    let mut backward = others(reader, filter, Start::Last, when);
    backward.reverse();
    assert_eq!(forward, backward, "{when}");
    // Several claims may have the same id.
    let mut found: Vec<String> = worst.claims.iter().map(|claim| name(&claim.board, &claim.judged)).collect();
    found.extend(forward);
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "{when}");
}

/// The healthy claims from one end to the other, in the order in which they come.
fn others(reader: &mut Reader, filter: &Filter, from: Start, when: &str) -> Vec<String> {
    let is_backward = from == Start::Last;
    let (mut all, mut from) = (Vec::new(), Some(from));
    while let Some(start) = from {
        let stretch = Stretch { from: start, rows: 3, troubled: Troubled::Elsewhere };
        let request = ListRequest { filter: filter.clone(), worst: None, others: Some(stretch) };
        let part = reader.list_part(&request).unwrap_or_else(|error| panic!("{error}: {when}"));
        let Others { claims, before, after, .. } = part.others.expect("others");
        let names = claims.iter().map(|claim| name(&claim.board, &claim.judged));
        if is_backward {
            all.extend(names.rev());
        } else {
            all.extend(names);
        }
        from = if is_backward { before } else { after }.map(Start::At);
    }
    all
}

fn name(board: &BoardId, judged: &Judged) -> String {
    format!("{}/{}/{}", board.profile(), board.board(), judged.claim.key.address())
}

fn listed(reader: &mut Reader, filter: &Filter, when: &str) -> Vec<Listed> {
    let mut all = Vec::new();
    let done = reader.list(filter, |claim| {
        all.push(claim);
        true
    });
    done.unwrap_or_else(|error| panic!("{error}: {filter:?}, {when}"));
    all
}

fn board(claim: &Listed) -> BoardId {
    BoardId::new(&claim.profile, &claim.board)
}

fn address(claim: &Listed) -> String {
    name(&board(claim), &claim.judged)
}

/// Up to three conditions about what is there, and about what is not.
fn filter(random: &mut Random, all: &[Listed]) -> Filter {
    let mut filter = Filter::default();
    for _ in 0..=random.below(3) {
        let sense = if random.chance(4) { Sense::IsNot } else { Sense::Is };
        filter.conditions.push(Condition { sense, test: test(random, all) });
    }
    if random.chance(4) {
        filter.sets = vec![*random.pick(&Set::ALL), *random.pick(&Set::ALL)];
    }
    filter
}

fn test(random: &mut Random, all: &[Listed]) -> Test {
    let spans = [0, 1, 60, 299, 300, 600, 1_800, 3_600, 7_200];
    let span = |random: &mut Random| Span::seconds(*random.pick(&spans));
    match random.below(9) {
        0 => Test::Id((0..=random.below(2)).map(|_| id(random, all)).collect()),
        1 | 2 => Test::Holder(patterns(random, all, |claim| claim.judged.claim.holder.clone())),
        3 => Test::Kind(patterns(random, all, |claim| claim.judged.claim.kind.clone())),
        4 => Test::Board(patterns(random, all, |claim| Some(claim.board.clone()))),
        5 => Test::In(vec![*random.pick(&Set::ALL)]),
        6 => Test::For((0..3).map(|_| *random.pick(&Reason::ALL)).collect()),
        7 if random.chance(2) => Test::YoungerThan(span(random)),
        7 => Test::OlderThan(span(random)),
        _ => {
            let id = id(random, all);
            Test::Text(part(random, &id))
        }
    }
}

fn id(random: &mut Random, all: &[Listed]) -> String {
    match random.below(4) {
        _ if all.is_empty() => "key-1".into(),
        0 => ["nobody", "7", "", "a/b", "\\N", "\\x{ff}", "key-1,key-2"][random.below(7) as usize].into(),
        1 => address(random.pick(all)),
        _ => random.pick(all).judged.claim.key.text(),
    }
}

fn patterns(random: &mut Random, all: &[Listed], name: impl Fn(&Listed) -> Option<String>) -> Vec<Pattern> {
    let one = |random: &mut Random| {
        let known = (!all.is_empty()).then(|| name(random.pick(all))).flatten();
        let name = known.unwrap_or_else(|| "holder-%_".into());
        match random.below(4) {
            0 => Pattern::Like(format!("{}*", part(random, &name))),
            1 => Pattern::Like(format!("*{}*", part(random, &name))),
            2 => Pattern::Has(part(random, &name).to_uppercase()),
            _ => Pattern::Is(name),
        }
    };
    (0..=random.below(3)).map(|_| one(random)).collect()
}

/// A part of a text.
fn part(random: &mut Random, text: &str) -> String {
    let letters: Vec<char> = text.chars().take(20).collect();
    let from = random.below(letters.len() as u64 + 1) as usize;
    let length = random.below((letters.len() - from) as u64 + 1) as usize;
    letters[from..from + length].iter().collect()
}
