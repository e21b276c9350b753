//! The token that stands for a claim as it was seen: `list --json` prints it, and `--seen` takes it.

use sha2::{Digest, Sha256};
use std::fmt;

/// Twelve bytes of the digest of a row.
pub type RowDigest = [u8; 12];

/// The digest of everything that was fed to the hash.
pub fn row_digest(hash: Sha256) -> RowDigest {
    let whole = hash.finalize();
    std::array::from_fn(|at| whole[at])
}

/// Stands for the state in which a claim was seen: its row, and its session's where the verdict rests on that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenToken {
    pub claim: RowDigest,
    pub session: Option<RowDigest>,
}

impl SeenToken {
    pub fn parse(text: &str) -> Option<SeenToken> {
        let digests = text.strip_prefix('c')?;
        let (claim, session) = match digests.split_once("-s") {
            Some((claim, session)) => (claim, Some(session)),
            None => (digests, None),
        };
        let session = session.map(|session| digest(session).ok_or(())).transpose().ok()?;
        Some(SeenToken { claim: digest(claim)?, session })
    }

    /// Whether a claim that has this token is still what it was when it had the other. A verdict that has come to
    /// rest on the session since adds that session to the token.
    pub fn continues(&self, was: &SeenToken) -> bool {
        self.claim == was.claim && (was.session.is_none() || self.session == was.session)
    }

    /// The token of the claim's own row.
    pub fn without_session(self) -> SeenToken {
        SeenToken { session: None, ..self }
    }
}

impl fmt::Display for SeenToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let write = |f: &mut fmt::Formatter<'_>, digest: &RowDigest| {
            digest.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
        };
        f.write_str("c")?;
        write(f, &self.claim)?;
        match &self.session {
            Some(session) => f.write_str("-s").and_then(|()| write(f, session)),
            None => Ok(()),
        }
    }
}

fn digest(text: &str) -> Option<RowDigest> {
    let mut digest = RowDigest::default();
    if text.len() != 2 * digest.len() || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_printed_and_nothing_else_is_one() {
        let one = SeenToken { claim: [7; 12], session: None };
        let both = SeenToken { claim: [7; 12], session: Some([0xab; 12]) };
        for token in [one, both] {
            assert_eq!(SeenToken::parse(&token.to_string()), Some(token));
        }
        let (text, upper) = (both.to_string(), one.to_string().replace("07", "0A"));
        for wrong in ["", "c", "c0", &text[1..], &text[..text.len() - 1], &format!("{text}-s"), &upper, "c+7"]
        {
            assert_eq!(SeenToken::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_session_may_be_added_and_nothing_else_may_change() {
        let one = SeenToken { claim: [1; 12], session: None };
        let with = SeenToken { session: Some([2; 12]), ..one };
        assert!(one.continues(&one) && with.continues(&one) && with.continues(&with));
        assert!(!one.continues(&with));
        assert!(!SeenToken { session: Some([3; 12]), ..one }.continues(&with));
        assert!(!SeenToken { claim: [4; 12], ..with }.continues(&one));
    }
}
