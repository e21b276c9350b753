//! Numbers that change with nearly every poll, as small differences: heartbeats, leases, sessions.
//!
//! A number is a LEB128 varint; a signed one is zigzag-encoded first. The changes of a frame are in the order of their
//! ids. Each is the number `step * 8 + field`, where the step leads from the id before, then the signed difference to the
//! value before.

use std::collections::BTreeMap;

use crate::domain::detail::Horizon;

/// A value that `changes` of a frame can move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    ClaimBeat = 0,
    ClaimUntil = 1,
    SessionBeat = 2,
    SessionStale = 3,
    /// The claim enters or leaves the worst claims of its board: +1 or -1.
    ClaimWorst = 4,
}

impl Field {
    const ALL: [Field; 5] =
        [Field::ClaimBeat, Field::ClaimUntil, Field::SessionBeat, Field::SessionStale, Field::ClaimWorst];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moved {
    pub id: i64,
    pub field: Field,
    pub by: i64,
}

/// The two values of a claim (heartbeat, lease) or of a session (heartbeat, end), and whether it is among the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Moving {
    pub beat: Option<i64>,
    pub end: Option<i64>,
    pub worst: bool,
}

/// Reads numbers from a blob; `None` at its end, or where it is damaged.
pub(super) struct Numbers<'a>(pub &'a [u8]);

impl Numbers<'_> {
    pub(super) fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        self.unsigned().map(|zigzag| (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
    }
}

pub(super) fn push(blob: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        blob.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    blob.push(value as u8);
}

pub(super) fn push_signed(blob: &mut Vec<u8>, value: i64) {
    push(blob, ((value << 1) ^ (value >> 63)).cast_unsigned());
}

/// The changes of a frame as a blob; they are sorted by their ids.
pub(super) fn changes_blob(all: &mut [Moved]) -> Vec<u8> {
    all.sort_by_key(|moved| moved.id);
    let (mut blob, mut before) = (Vec::new(), 0);
    for moved in all {
        push(&mut blob, (moved.id - before).cast_unsigned() << 3 | moved.field as u64);
        push_signed(&mut blob, moved.by);
        before = moved.id;
    }
    blob
}

/// The changes of one frame; nothing if the blob is damaged.
pub(super) fn changes(blob: &[u8]) -> Option<Vec<Moved>> {
    let mut numbers = Numbers(blob);
    let (mut all, mut id) = (Vec::new(), 0_i64);
    while !numbers.0.is_empty() {
        let head = numbers.unsigned()?;
        let field = *Field::ALL.get((head & 7) as usize)?;
        id = id.checked_add_unsigned(head >> 3)?;
        all.push(Moved { id, field, by: numbers.signed()? });
    }
    Some(all)
}

/// All moving values of a keyframe. Ids and values are differences to those before.
pub(super) fn keyframe(all: &BTreeMap<i64, Moving>) -> Vec<u8> {
    let mut blob = Vec::new();
    let (mut id, mut beat, mut end) = (0, 0, 0);
    for (at, moving) in all {
        let flags = u64::from(moving.beat.is_some())
            | u64::from(moving.end.is_some()) << 1
            | u64::from(moving.worst) << 2;
        push(&mut blob, (at - id).cast_unsigned() << 3 | flags);
        id = *at;
        for (value, before) in [(moving.beat, &mut beat), (moving.end, &mut end)] {
            if let Some(value) = value {
                push_signed(&mut blob, value - *before);
                *before = value;
            }
        }
    }
    blob
}

pub(super) fn read_keyframe(blob: &[u8]) -> Option<BTreeMap<i64, Moving>> {
    let mut numbers = Numbers(blob);
    let mut all = BTreeMap::new();
    let (mut id, mut beat, mut end) = (0_i64, 0_i64, 0_i64);
    while !numbers.0.is_empty() {
        let head = numbers.unsigned()?;
        id = id.checked_add_unsigned(head >> 3)?;
        let mut next = |is_there: bool, before: &mut i64| -> Option<Option<i64>> {
            if !is_there {
                return Some(None);
            }
            *before = before.checked_add(numbers.signed()?)?;
            Some(Some(*before))
        };
        let beat = next(head & 1 != 0, &mut beat)?;
        let end = next(head & 2 != 0, &mut end)?;
        all.insert(id, Moving { beat, end, worst: head & 4 != 0 });
    }
    Some(all)
}

/// The deadlines of the coming minutes: the numbers of minutes and of moments, whether there may be more, then every count
/// that is not zero, after the number of zeros before it.
pub(super) fn horizon_blob(horizon: &Horizon) -> Vec<u8> {
    let mut blob = Vec::new();
    let sizes = [horizon.minutes.len() as u64, horizon.moments.len() as u64, u64::from(horizon.at_least)];
    sizes.into_iter().for_each(|size| push(&mut blob, size));
    let mut zeros = 0;
    for count in horizon.minutes.iter().chain(&horizon.moments) {
        match count {
            0 => zeros += 1,
            count => {
                push(&mut blob, zeros);
                push(&mut blob, *count);
                zeros = 0;
            }
        }
    }
    blob
}

pub(super) fn read_horizon(blob: &[u8]) -> Option<Horizon> {
    // No more than a damaged file may ask for.
    let size = |count: u64| usize::try_from(count).ok().filter(|count| *count <= 10_000);
    let mut numbers = Numbers(blob);
    let (minutes, moments) = (size(numbers.unsigned()?)?, size(numbers.unsigned()?)?);
    let at_least = numbers.unsigned()? != 0;
    let mut all = vec![0; minutes + moments];
    let mut at = 0_usize;
    while !numbers.0.is_empty() {
        at = at.checked_add(size(numbers.unsigned()?)?)?;
        *all.get_mut(at)? = numbers.unsigned()?;
        at += 1;
    }
    let moments = all.split_off(minutes);
    Some(Horizon { minutes: all, moments, at_least })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn changes_are_read_as_they_were_written(
            all in prop::collection::vec((0_i64..1 << 50, 0_usize..5, any::<i64>()), 0..50)
        ) {
            let mut all: Vec<Moved> =
                all.into_iter().map(|(id, field, by)| Moved { id, field: Field::ALL[field], by }).collect();
            let blob = changes_blob(&mut all);
            prop_assert_eq!(changes(&blob), Some(all));
        }

        #[test]
        fn a_keyframe_is_read_as_it_was_written(
            all in prop::collection::btree_map(
                0_i64..1 << 50,
                (prop::option::of(-1_i64 << 60..1 << 60), prop::option::of(-1_i64 << 60..1 << 60), any::<bool>()),
                0..50,
            )
        ) {
            let all: BTreeMap<i64, Moving> =
                all.into_iter().map(|(id, (beat, end, worst))| (id, Moving { beat, end, worst })).collect();
            prop_assert_eq!(read_keyframe(&keyframe(&all)), Some(all));
        }

        #[test]
        fn a_horizon_is_read_as_it_was_written(
            minutes in prop::collection::vec(prop_oneof![Just(0), any::<u64>()], 0..40),
            moments in prop::collection::vec(prop_oneof![Just(0), any::<u64>()], 0..40),
            at_least in any::<bool>(),
        ) {
            let horizon = Horizon { minutes, moments, at_least };
            prop_assert_eq!(read_horizon(&horizon_blob(&horizon)), Some(horizon));
        }

        #[test]
        fn damaged_blobs_are_refused_and_never_panic(blob in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = (changes(&blob), read_keyframe(&blob), read_horizon(&blob));
        }
    }
}
