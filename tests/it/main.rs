//! One binary for all integration tests: the promises, on real files and the real program.

mod agreement;
mod documents;
mod failures;
mod hostile;
mod invented;
mod layers;
mod support;
mod verdicts;
mod watching;
