//! Input from a number: the same number, the same input.

/// A small generator (splitmix64).
pub struct Random(u64);

/// Pieces that have broken programs before.
pub const PIECES: [&str; 48] = [
    "",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\0",
    "\u{1b}[2J",
    "\u{1b}]52;c;aGk=\u{7}",
    "\u{9b}2J",
    "\u{7f}",
    "\u{85}",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{200d}",
    "\u{feff}",
    "\u{ad}",
    "\u{301}",
    "\u{e0041}",
    "\u{fe0f}",
    "\u{2028}",
    "\u{a0}",
    "\u{3000}",
    "\u{430}",
    "\u{ff41}",
    "\u{1f469}\u{200d}\u{1f680}",
    "\u{10ffff}",
    "\u{fffd}",
    "\\",
    "\\u{1b}",
    "\"",
    "'",
    "]",
    "[#abcdef012345]",
    "\u{2026}",
    "{",
    "}",
    "[",
    "=",
    "://",
    "@",
    ":",
    "%3a",
    "%00",
    "%",
    "9223372036854775808",
    "-1",
    "\u{4efb}\u{52d9}",
];

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678_9abc_def1))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit.max(1)).expect("a limit")).expect("below it")
    }

    pub fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Any character, those that do harm more often than chance would have it.
    pub fn letter(&mut self) -> char {
        let range =
            self.pick(&[(0, 0x20), (0x20, 0x7f), (0x20, 0x7f), (0x7f, 0xff), (0x2000, 0x70), (0, 0x11_0000)]);
        let (start, length): (u32, u32) = range;
        let code = start + u32::try_from(self.below(usize::try_from(length).expect("small"))).expect("small");
        char::from_u32(code).unwrap_or('\u{fffd}')
    }

    /// A text of a few characters, and now and then a long one.
    pub fn text(&mut self) -> String {
        let length = if self.one_in(20) { self.below(300) } else { self.below(12) };
        let mut text = String::new();
        for _ in 0..length {
            match self.below(4) {
                0 => text.push_str(self.pick(&PIECES)),
                1 => text.push_str(self.pick(&["task", "-", "1", "a", "worker", "7"])),
                _ => text.push(self.letter()),
            }
        }
        text
    }

    /// The same text with a few changes.
    pub fn changed(&mut self, text: &str) -> String {
        let mut letters: Vec<char> = text.chars().collect();
        for _ in 0..=self.below(4) {
            let at = self.below(letters.len() + 1);
            let end = (at + self.below(8)).min(letters.len());
            match self.below(6) {
                0 => letters.insert(at, self.letter()),
                1 => drop(letters.drain(at..end)),
                2 => letters.truncate(at.max(letters.len() / 2)),
                3 => {
                    let again: Vec<char> = letters[at..end].to_vec();
                    letters.splice(at..at, again);
                }
                4 => {
                    let piece: Vec<char> = self.pick(&PIECES).chars().collect();
                    letters.splice(at..at, piece);
                }
                _ if at < letters.len() => letters[at] = self.letter(),
                _ => {}
            }
        }
        letters.into_iter().collect()
    }

    /// The same bytes with a few changes.
    pub fn changed_bytes(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            let end = (at + self.below(64)).min(bytes.len());
            let byte = u8::try_from(self.below(256)).expect("a byte");
            match self.below(6) {
                0 => bytes.insert(at, byte),
                1 => drop(bytes.drain(at..end)),
                2 => bytes.truncate(at),
                3 => {
                    let again = bytes[at..end].to_vec();
                    bytes.splice(at..at, again);
                }
                4 => {
                    let piece = self.pick(&PIECES).bytes().collect::<Vec<u8>>();
                    bytes.splice(at..at, piece);
                }
                _ if at < bytes.len() => bytes[at] = byte,
                _ => {}
            }
        }
        bytes
    }
}
