//! README and book are true: every printed command works, no link is dead, every setting and key is explained.

mod commands;
mod help;
mod links;
mod page;
mod reference;
mod sandbox;
mod traceability;
