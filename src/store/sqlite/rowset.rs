//! Sets of rows, by rowid.

use roaring::{RoaringBitmap, RoaringTreemap};

/// A compact set of rowids.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RowSet(RoaringTreemap);

/// Rowids are signed; flipping the sign bit keeps their order among unsigned numbers.
const SIGN: u64 = 1 << 63;

fn code(rowid: i64) -> u64 {
    (rowid as u64) ^ SIGN
}

/// Rows in any order, as they come out of an index.
impl From<Vec<i64>> for RowSet {
    fn from(mut rows: Vec<i64>) -> RowSet {
        if let Some(dense) = dense(&rows) {
            return RowSet(dense);
        }
        rows.sort_unstable();
        rows.dedup();
        // In order and without repetition it cannot fail.
        RowSet(RoaringTreemap::from_sorted_iter(rows.into_iter().map(code)).unwrap_or_default())
    }
}

/// The set by way of a plain bitmap, if the rows lie close enough together for that: it costs a
/// fraction of sorting them.
fn dense(rows: &[i64]) -> Option<RoaringTreemap> {
    const BYTES_PER_ROW: u64 = 512;
    let first = rows.iter().map(|rowid| code(*rowid)).min()?;
    let last = rows.iter().map(|rowid| code(*rowid)).max()?;
    let start = first & !7;
    let bytes = (last - start) / 8 + 1;
    if first >> 32 != last >> 32 || bytes > rows.len() as u64 * BYTES_PER_ROW {
        return None;
    }
    let mut bits = vec![0_u8; usize::try_from(bytes).ok()?];
    for rowid in rows {
        let at = code(*rowid) - start;
        *bits.get_mut(usize::try_from(at / 8).ok()?)? |= 1 << (at % 8);
    }
    // The cast keeps the lower half on purpose: the upper one is the key.
    let bitmap = RoaringBitmap::from_lsb0_bytes(start as u32, &bits);
    Some(RoaringTreemap::from_bitmaps([((first >> 32) as u32, bitmap)]))
}

impl RowSet {
    pub(super) fn insert(&mut self, rowid: i64) {
        self.0.insert(code(rowid));
    }

    pub(super) fn remove(&mut self, rowid: i64) {
        self.0.remove(code(rowid));
    }

    pub(super) fn contains(&self, rowid: i64) -> bool {
        self.0.contains(code(rowid))
    }

    pub(super) fn len(&self) -> u64 {
        self.0.len()
    }

    pub(super) fn add_all(&mut self, other: &RowSet) {
        self.0 |= &other.0;
    }

    /// Keeps those that are in both.
    pub(super) fn keep_all(&mut self, other: &RowSet) {
        self.0 &= &other.0;
    }

    pub(super) fn remove_all(&mut self, other: &RowSet) {
        self.0 -= &other.0;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        self.0.iter().map(|code| (code ^ SIGN) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn rows_come_back_as_they_went_in_however_they_lie() {
        let lists: [Vec<i64>; 6] = [
            Vec::new(),
            vec![7],
            (0..3_000).map(|n| (n * 7_919) % 100_003).collect(),
            vec![i64::MIN, -1, 0, 1, i64::MAX],
            (0..2_000).map(|n| n * 5_000_000).collect(),
            (-500..500).chain(u32::MAX as i64 - 500..u32::MAX as i64 + 500).collect(),
        ];
        for rows in lists {
            let expected: BTreeSet<i64> = rows.iter().copied().collect();
            let set = RowSet::from(rows);
            assert_eq!(set.len(), expected.len() as u64);
            assert!(set.iter().eq(expected));
        }
    }
}
