//! Recovery: acts that can be trusted, their record, and their undo.

pub mod trail;
