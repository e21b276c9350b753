//! The fleet: starts its processes, replaces those that die, and ends them all.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, pipe};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::CHILD;
use super::behaviour::FailureMode;
use super::error::DemoError;
use super::feeder::Feeder;
use super::folder::{DemoFolder, FolderLifetime};
use super::seeded_rng::SeededRng;
use super::worker_loop::WorkerSpec;
use super::worker_slot::{WorkerSlot, lifetime, slots};

/// Counts of started, crashed and hung processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FleetStats {
    pub started: u32,
    pub crashed: u32,
    pub hung: u32,
}

impl fmt::Display for FleetStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FleetStats { started, crashed, hung } = self;
        write!(f, "{started} workers started, {crashed} crashed, {hung} hung and were killed")
    }
}

/// A running demo. Dropping it removes everything that was not to be kept.
#[derive(Debug)]
pub struct Fleet {
    folder: DemoFolder,
    stop: Option<Sender<()>>,
    /// Lives as long as the fleet: when this thread ends, the kernel ends its children.
    supervisor: Option<JoinHandle<FleetStats>>,
    janitor: Option<Child>,
    /// Open while this process lives: its end tells the children.
    alive_pipe: Option<PipeWriter>,
}

impl Fleet {
    /// Creates the folder and starts all processes.
    pub fn start(folder: DemoFolder, workers: usize, seed: u64) -> Result<Fleet, DemoError> {
        let (reader, writer) = pipe().map_err(DemoError::Process)?;
        let mut fleet =
            Fleet { folder, stop: None, supervisor: None, janitor: None, alive_pipe: Some(writer) };
        // The janitor starts first: from here on it cleans up whatever fails.
        fleet.janitor = Some(fleet.start_janitor(&reader)?);
        fleet.folder.create()?;
        let database = fleet.folder.database()?;
        Feeder::open(&database, seed)?.stock()?;
        let log = fleet.folder.log();
        let log = OpenOptions::new().create(true).append(true).open(&log).map_err(DemoError::file(&log))?;
        let spawner = ProcessSpawner { folder: fleet.folder.clone(), alive_pipe: reader, log };
        let (stop, stopped) = channel();
        let supervisor = Supervisor::new(spawner, slots(workers, &database.systems()), seed);
        let thread = std::thread::Builder::new().name("fleet".into()).spawn(move || supervisor.run(&stopped));
        fleet.supervisor = Some(thread.map_err(DemoError::Process)?);
        fleet.stop = Some(stop);
        Ok(fleet)
    }

    pub fn folder(&self) -> &DemoFolder {
        &self.folder
    }

    /// Ends every worker. The folder stays until the fleet is dropped.
    pub fn halt(&mut self) -> FleetStats {
        drop(self.stop.take());
        self.supervisor.take().and_then(|supervisor| supervisor.join().ok()).unwrap_or_default()
    }

    /// Removes everything that was not to be kept; an error names what is left.
    pub fn clean_up(&mut self) -> Result<(), DemoError> {
        self.halt();
        self.folder.clean_up()
    }

    fn start_janitor(&self, alive_pipe: &PipeReader) -> Result<Child, DemoError> {
        let place = match self.folder.place {
            FolderLifetime::Temporary => "temporary",
            FolderLifetime::Kept => "kept",
        };
        let mut command = program();
        command.args([CHILD, "janitor", "--place", place, "--folder"]).arg(self.folder.path());
        let alive_pipe = alive_pipe.try_clone().map_err(DemoError::Process)?;
        // In its own process group: Ctrl-C in the terminal must not end it.
        command.stdin(alive_pipe).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        command.spawn().map_err(DemoError::Process)
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.halt();
        // The janitor removes what could not be removed here.
        let _ = self.folder.clean_up();
        drop(self.alive_pipe.take());
        if let Some(mut janitor) = self.janitor.take() {
            let _ = janitor.wait();
        }
    }
}

/// This program, even if its file was replaced meanwhile.
fn program() -> Command {
    let here = std::path::PathBuf::from("/proc/self/exe");
    let path = if here.exists() { here } else { std::env::current_exe().unwrap_or("claimtop".into()) };
    let mut command = Command::new(path);
    command.arg0("claimtop");
    command
}

/// Starts the processes of a fleet.
#[derive(Debug)]
struct ProcessSpawner {
    folder: DemoFolder,
    alive_pipe: PipeReader,
    log: File,
}

impl ProcessSpawner {
    fn worker(&self, spec: &WorkerSpec) -> io::Result<Child> {
        let WorkerSpec { slot, number, fleet, seed, lifetime } = spec;
        let mut command = self.child("worker")?;
        command.args(["--system", slot.system.as_str(), "--behaviour", slot.behaviour.as_str()]);
        let (number, fleet, seed) = (number.to_string(), fleet.to_string(), seed.to_string());
        command.args(["--number", &number, "--fleet", &fleet, "--seed", &seed]);
        command.args(["--lifetime", &format!("{}ms", lifetime.as_millis())]);
        command.spawn()
    }

    fn feeder(&self, seed: u64) -> io::Result<Child> {
        self.child("feeder")?.args(["--seed", &seed.to_string()]).spawn()
    }

    /// A child process without the terminal and its signals.
    fn child(&self, role: &str) -> io::Result<Command> {
        let mut command = program();
        let parent = std::process::id().to_string();
        command.args([CHILD, role, "--parent", &parent, "--folder"]).arg(self.folder.path());
        command.stdin(self.alive_pipe.try_clone()?).stdout(Stdio::null()).stderr(self.log.try_clone()?);
        command.process_group(0);
        Ok(command)
    }
}

/// The state of a worker slot.
#[derive(Debug)]
enum SlotState {
    Empty { until: Instant },
    Taken { child: Child, kill_at: Option<Instant> },
}

/// What to do with a worker slot.
enum SlotOutcome {
    Stays,
    Starts,
    Crashed,
    Hung,
}

impl SlotState {
    /// Checks the process; kills one that has hung for long enough.
    fn check(&mut self) -> SlotOutcome {
        match self {
            SlotState::Empty { until } if Instant::now() >= *until => SlotOutcome::Starts,
            SlotState::Empty { .. } => SlotOutcome::Stays,
            SlotState::Taken { child, kill_at } => {
                if has_ended(child) {
                    return SlotOutcome::Crashed;
                }
                if kill_at.is_some_and(|end| Instant::now() >= end) {
                    let _ = child.kill().and_then(|()| child.wait());
                    return SlotOutcome::Hung;
                }
                SlotOutcome::Stays
            }
        }
    }
}

/// How long a stopped worker stays before it is killed.
const KILL_AFTER: Duration = Duration::from_secs(25);
const INTERVAL: Duration = Duration::from_millis(200);

/// Keeps every slot filled.
struct Supervisor {
    spawner: ProcessSpawner,
    slots: Vec<(WorkerSlot, u32, SlotState)>,
    feeder: Option<Child>,
    rng: SeededRng,
    stats: FleetStats,
}

impl Supervisor {
    fn new(spawner: ProcessSpawner, slots: Vec<WorkerSlot>, seed: u64) -> Supervisor {
        let now = Instant::now();
        let slots = slots.into_iter().map(|slot| (slot, 0, SlotState::Empty { until: now })).collect();
        Supervisor { spawner, slots, feeder: None, rng: SeededRng::new(seed), stats: FleetStats::default() }
    }

    fn run(mut self, stopped: &Receiver<()>) -> FleetStats {
        loop {
            self.look();
            match stopped.recv_timeout(INTERVAL) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let running = self.slots.into_iter().filter_map(|(_, _, state)| match state {
            SlotState::Taken { child, .. } => Some(child),
            SlotState::Empty { .. } => None,
        });
        let mut all: Vec<Child> = running.chain(self.feeder).collect();
        all.iter_mut().for_each(|child| drop(child.kill()));
        all.iter_mut().for_each(|child| drop(child.wait()));
        self.stats
    }

    fn look(&mut self) {
        if self.feeder.as_mut().is_none_or(has_ended) {
            self.feeder = self.spawner.feeder(self.rng.next()).ok();
        }
        let fleet = self.slots.len();
        for number in 0..fleet {
            let (slot, generation, state) = &mut self.slots[number];
            match state.check() {
                SlotOutcome::Stays => continue,
                SlotOutcome::Starts => {
                    let lifetime = lifetime(*generation, &mut self.rng);
                    let number = u32::try_from(number + 1).unwrap_or(u32::MAX);
                    let seed = self.rng.next();
                    let spec = WorkerSpec { slot: *slot, number, fleet, seed, lifetime };
                    *generation += 1;
                    *state = start_worker(&self.spawner, &spec);
                    self.stats.started += u32::from(matches!(state, SlotState::Taken { .. }));
                    continue;
                }
                SlotOutcome::Crashed => self.stats.crashed += 1,
                SlotOutcome::Hung => self.stats.hung += 1,
            }
            *state = SlotState::Empty { until: Instant::now() + self.rng.millis(1_500, 3_000) };
        }
    }
}

/// Starts a worker; if no process can be started now, it is tried again a second later.
fn start_worker(spawner: &ProcessSpawner, spec: &WorkerSpec) -> SlotState {
    let kill_at = match spec.slot.behaviour.failure_mode() {
        FailureMode::Hangs => Some(Instant::now() + spec.lifetime + KILL_AFTER),
        FailureMode::WorksOn | FailureMode::Crashes => None,
    };
    match spawner.worker(spec) {
        Ok(child) => SlotState::Taken { child, kill_at },
        Err(_) => SlotState::Empty { until: Instant::now() + Duration::from_secs(1) },
    }
}

fn has_ended(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}
