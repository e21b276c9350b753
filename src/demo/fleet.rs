//! The fleet: its processes started, replaced when they die, and ended.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, pipe};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::CHILD;
use super::dice::Dice;
use super::error::DemoError;
use super::feeder::Feeder;
use super::folder::{Folder, Place};
use super::life::Character;
use super::temperament::WorkerFate;
use super::worker_slot::{WorkerSlot, lifetime, posts};

/// What happened to the processes.
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

/// A demo that runs; when it is dropped nothing of it is left but what was to be kept.
#[derive(Debug)]
pub struct Fleet {
    folder: Folder,
    stop: Option<Sender<()>>,
    /// Lives as long as the fleet: the kernel ends its children when it ends.
    keeper: Option<JoinHandle<FleetStats>>,
    janitor: Option<Child>,
    /// Open while we live.
    leash: Option<PipeWriter>,
}

impl Fleet {
    /// Furnishes the folder and starts everybody.
    pub fn start(folder: Folder, workers: usize, seed: u64) -> Result<Fleet, DemoError> {
        let (reader, writer) = pipe().map_err(DemoError::Process)?;
        let mut fleet = Fleet { folder, stop: None, keeper: None, janitor: None, leash: Some(writer) };
        // First: whatever fails from here on, the folder is looked after.
        fleet.janitor = Some(fleet.start_janitor(&reader)?);
        fleet.folder.furnish()?;
        let ground = fleet.folder.ground()?;
        Feeder::open(&ground, seed)?.stock()?;
        let log = fleet.folder.log();
        let log = OpenOptions::new().create(true).append(true).open(&log).map_err(DemoError::file(&log))?;
        let hatchery = ProcessSpawner { folder: fleet.folder.clone(), leash: reader, log };
        let (stop, stopped) = channel();
        let keeper = Keeper::new(hatchery, posts(workers, &ground.systems()), seed);
        let thread = std::thread::Builder::new().name("fleet".into()).spawn(move || keeper.run(&stopped));
        fleet.keeper = Some(thread.map_err(DemoError::Process)?);
        fleet.stop = Some(stop);
        Ok(fleet)
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Ends every worker; the folder stays until the fleet is dropped.
    pub fn halt(&mut self) -> FleetStats {
        drop(self.stop.take());
        self.keeper.take().and_then(|keeper| keeper.join().ok()).unwrap_or_default()
    }

    /// Removes what was not to be kept, and says if something stays.
    pub fn leave(&mut self) -> Result<(), DemoError> {
        self.halt();
        self.folder.leave()
    }

    fn start_janitor(&self, leash: &PipeReader) -> Result<Child, DemoError> {
        let place = match self.folder.place {
            Place::Temporary => "temporary",
            Place::Kept => "kept",
        };
        let mut command = program();
        command.args([CHILD, "janitor", "--place", place, "--folder"]).arg(self.folder.path());
        let leash = leash.try_clone().map_err(DemoError::Process)?;
        // In a group of its own: what ends ours from the terminal must not end it.
        command.stdin(leash).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        command.spawn().map_err(DemoError::Process)
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.halt();
        // The janitor removes what we cannot.
        let _ = self.folder.leave();
        drop(self.leash.take());
        if let Some(mut janitor) = self.janitor.take() {
            let _ = janitor.wait();
        }
    }
}

/// This very program, also when its file was replaced meanwhile.
fn program() -> Command {
    let here = std::path::PathBuf::from("/proc/self/exe");
    let path = if here.exists() { here } else { std::env::current_exe().unwrap_or("claimtop".into()) };
    let mut command = Command::new(path);
    command.arg0("claimtop");
    command
}

/// Where processes come from.
#[derive(Debug)]
struct ProcessSpawner {
    folder: Folder,
    leash: PipeReader,
    log: File,
}

impl ProcessSpawner {
    fn worker(&self, character: &Character) -> io::Result<Child> {
        let Character { post, number, fleet, seed, lifetime } = character;
        let mut command = self.child("worker")?;
        command.args(["--system", post.system.as_str(), "--temperament", post.temperament.as_str()]);
        let (number, fleet, seed) = (number.to_string(), fleet.to_string(), seed.to_string());
        command.args(["--number", &number, "--fleet", &fleet, "--seed", &seed]);
        command.args(["--lifetime", &format!("{}ms", lifetime.as_millis())]);
        command.spawn()
    }

    fn feeder(&self, seed: u64) -> io::Result<Child> {
        self.child("feeder")?.args(["--seed", &seed.to_string()]).spawn()
    }

    /// It sees neither the terminal nor its signals.
    fn child(&self, role: &str) -> io::Result<Command> {
        let mut command = program();
        let parent = std::process::id().to_string();
        command.args([CHILD, role, "--parent", &parent, "--folder"]).arg(self.folder.path());
        command.stdin(self.leash.try_clone()?).stdout(Stdio::null()).stderr(self.log.try_clone()?);
        command.process_group(0);
        Ok(command)
    }
}

/// Who sits at a post.
#[derive(Debug)]
enum SlotState {
    Empty { until: Instant },
    Taken { child: Child, dies_by: Option<Instant> },
}

/// What becomes of a seat.
enum SlotOutcome {
    Stays,
    Starts,
    Crashed,
    Hung,
}

impl SlotState {
    /// Whoever has hung for long enough is ended here.
    fn outlook(&mut self) -> SlotOutcome {
        match self {
            SlotState::Empty { until } if Instant::now() >= *until => SlotOutcome::Starts,
            SlotState::Empty { .. } => SlotOutcome::Stays,
            SlotState::Taken { child, dies_by } => {
                if has_ended(child) {
                    return SlotOutcome::Crashed;
                }
                if dies_by.is_some_and(|end| Instant::now() >= end) {
                    let _ = child.kill().and_then(|()| child.wait());
                    return SlotOutcome::Hung;
                }
                SlotOutcome::Stays
            }
        }
    }
}

/// How long the stopped stay before they are killed.
const HUNG_FOR: Duration = Duration::from_secs(25);
const LOOKS: Duration = Duration::from_millis(200);

/// Keeps every post filled.
struct Keeper {
    hatchery: ProcessSpawner,
    posts: Vec<(WorkerSlot, u32, SlotState)>,
    feeder: Option<Child>,
    dice: Dice,
    toll: FleetStats,
}

impl Keeper {
    fn new(hatchery: ProcessSpawner, posts: Vec<WorkerSlot>, seed: u64) -> Keeper {
        let now = Instant::now();
        let posts = posts.into_iter().map(|post| (post, 0, SlotState::Empty { until: now })).collect();
        Keeper { hatchery, posts, feeder: None, dice: Dice::new(seed), toll: FleetStats::default() }
    }

    fn run(mut self, stopped: &Receiver<()>) -> FleetStats {
        loop {
            self.look();
            match stopped.recv_timeout(LOOKS) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let seated = self.posts.into_iter().filter_map(|(_, _, seat)| match seat {
            SlotState::Taken { child, .. } => Some(child),
            SlotState::Empty { .. } => None,
        });
        let mut all: Vec<Child> = seated.chain(self.feeder).collect();
        all.iter_mut().for_each(|child| drop(child.kill()));
        all.iter_mut().for_each(|child| drop(child.wait()));
        self.toll
    }

    fn look(&mut self) {
        if self.feeder.as_mut().is_none_or(has_ended) {
            self.feeder = self.hatchery.feeder(self.dice.next()).ok();
        }
        let fleet = self.posts.len();
        for number in 0..fleet {
            let (post, generation, seat) = &mut self.posts[number];
            match seat.outlook() {
                SlotOutcome::Stays => continue,
                SlotOutcome::Starts => {
                    let lifetime = lifetime(*generation, &mut self.dice);
                    let number = u32::try_from(number + 1).unwrap_or(u32::MAX);
                    let seed = self.dice.next();
                    let character = Character { post: *post, number, fleet, seed, lifetime };
                    *generation += 1;
                    *seat = sit(&self.hatchery, &character);
                    self.toll.started += u32::from(matches!(seat, SlotState::Taken { .. }));
                    continue;
                }
                SlotOutcome::Crashed => self.toll.crashed += 1,
                SlotOutcome::Hung => self.toll.hung += 1,
            }
            *seat = SlotState::Empty { until: Instant::now() + self.dice.millis(1_500, 3_000) };
        }
    }
}

/// Where no process can be started now, perhaps one can be a little later.
fn sit(hatchery: &ProcessSpawner, character: &Character) -> SlotState {
    let dies_by = match character.post.temperament.fate() {
        WorkerFate::Hangs => Some(Instant::now() + character.lifetime + HUNG_FOR),
        WorkerFate::WorksOn | WorkerFate::Crashes => None,
    };
    match hatchery.worker(character) {
        Ok(child) => SlotState::Taken { child, dies_by },
        Err(_) => SlotState::Empty { until: Instant::now() + Duration::from_secs(1) },
    }
}

fn has_ended(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}
