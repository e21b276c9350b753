//! Sets of rows, by rowid.

use roaring::RoaringTreemap;

/// A compact set of rowids.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowSet(RoaringTreemap);

/// Rowids are signed; flipping the sign bit keeps their order among unsigned numbers.
const SIGN: u64 = 1 << 63;

fn code(rowid: i64) -> u64 {
    (rowid as u64) ^ SIGN
}

/// Rows in any order. Sorted first: building a set in order costs a fraction.
impl From<Vec<i64>> for RowSet {
    fn from(mut rows: Vec<i64>) -> RowSet {
        rows.sort_unstable();
        rows.dedup();
        // In order and without repetition it cannot fail.
        RowSet(RoaringTreemap::from_sorted_iter(rows.into_iter().map(code)).unwrap_or_default())
    }
}

impl RowSet {
    pub fn insert(&mut self, rowid: i64) {
        self.0.insert(code(rowid));
    }

    pub fn remove(&mut self, rowid: i64) {
        self.0.remove(code(rowid));
    }

    pub fn contains(&self, rowid: i64) -> bool {
        self.0.contains(code(rowid))
    }

    pub fn len(&self) -> u64 {
        self.0.len()
    }

    pub fn add_all(&mut self, other: &RowSet) {
        self.0 |= &other.0;
    }

    pub fn remove_all(&mut self, other: &RowSet) {
        self.0 -= &other.0;
    }

    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        self.0.iter().map(|code| (code ^ SIGN) as i64)
    }
}
