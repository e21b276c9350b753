//! A live fleet on an embedded database, or on a server: real processes that claim, beat, finish, hang and die.
//!
//! ```text
//! the program ──► fleet (a thread) ──► workers   a worker each, done with a temperament
//!      │               └─────────────► feeder    brings work, and runs the systems' own slow recovery
//!      └─────────────────────────────► janitor   outlives us: ends what is left, removes the folder
//! ```
//!
//! All of them are this program again, under a hidden verb. Whatever happens to the first one, the
//! others end: the kernel kills them with their parent, they notice that their leash is cut, and the
//! janitor looks again.
//!
//! Knows the workers' library and its tables. Nothing is back-dated: what is stale here has become so.

mod dice;
mod error;
mod feeder;
mod fleet;
mod folder;
mod ground;
mod janitor;
mod life;
mod look;
mod parent_guard;
mod schema;
mod system_worker;
mod tally;
mod temperament;
mod thresholds;
mod worker_slot;

pub use error::DemoError;
pub use fleet::{Fleet, FleetStats};
pub use folder::{Folder, Place, Server};
pub use ground::Ground;
pub use life::Character;
pub use parent_guard::ParentGuard;
pub use tally::Tally;
pub use temperament::Temperament;
pub use worker_slot::WorkerSlot;

use std::path::Path;

/// The name of its database in its config; `demo` is a verb.
pub const SOURCE: &str = "fleet";

/// The hidden verb of the processes that a demo starts.
pub const CHILD: &str = "demo-child";

/// Works in a worker's place until its parent is gone.
pub fn work(folder: &Path, parent: u32, character: Character) -> Result<(), DemoError> {
    let leash = ParentGuard::hold(parent)?;
    system_worker::practise(&Ground::of(folder)?, leash, character)
}

/// Brings work until its parent is gone.
pub fn feed(folder: &Path, parent: u32, seed: u64) -> Result<(), DemoError> {
    let leash = ParentGuard::hold(parent)?;
    feeder::run(&Ground::of(folder)?, &leash, seed)
}

/// Waits for the program's end and cleans up after it.
pub fn tidy(folder: &Path, place: Place) -> Result<(), DemoError> {
    janitor::run(folder, place)
}
