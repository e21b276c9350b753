//! Which server, and how to prove who we are.

#[derive(Debug, Clone)]
pub struct Target;

impl Target {
    pub fn label(&self) -> &str {
        ""
    }
}
