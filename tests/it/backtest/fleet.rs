//! An invented fleet with its whole truth: who held what, every heartbeat, every death.

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;

/// A small generator of its own, so that a seed means the same fleet everywhere.
pub(super) struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low + 1).unsigned_abs()).cast_signed()
    }

    fn one_in(&mut self, number: u64) -> bool {
        self.next().is_multiple_of(number)
    }
}

/// How a holding ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Its holder finished it.
    Finished,
    /// The system took it from a dead holder; another one got it, or it waits.
    Reclaimed,
}

/// One holder that had one task.
#[derive(Debug, Clone)]
pub(super) struct Holding {
    pub task: String,
    pub session: usize,
    pub start: i64,
    pub beats: Vec<i64>,
    pub end: i64,
    pub how: End,
}

impl Holding {
    pub fn is_held(&self, now: i64) -> bool {
        self.start <= now && now < self.end
    }

    pub fn last_beat(&self, now: i64) -> i64 {
        self.beats[self.beats.partition_point(|beat| *beat <= now) - 1]
    }
}

pub(super) struct Fleet {
    dice: Dice,
    pub has_registry: bool,
    /// The heartbeats of every session, and when it died.
    sessions: Vec<Vec<i64>>,
    deaths: Vec<Option<i64>>,
    pub holdings: Vec<Holding>,
    pub every: i64,
    pub end: i64,
}

/// The system takes back what a dead holder has after this long.
pub(super) const RECOVERY: i64 = 16 * MINUTE;

impl Fleet {
    pub fn new(seed: u64, minutes: i64, every: i64) -> Fleet {
        let mut fleet = Fleet {
            dice: Dice(seed),
            has_registry: true,
            sessions: Vec::new(),
            deaths: Vec::new(),
            holdings: Vec::new(),
            every: every * SECOND,
            end: minutes * MINUTE,
        };
        for _ in 0..24 {
            let death = fleet.dice.one_in(3).then(|| fleet.dice.between(5 * MINUTE, fleet.end));
            fleet.live(death);
        }
        for session in 0..24 {
            for lane in 0..3 {
                fleet.work(session, lane);
            }
        }
        fleet
    }

    /// One session that beats every ten seconds until it dies, polled every 2 seconds for half an hour.
    pub fn of_one_session(last_beat: i64, holdings: Vec<Holding>) -> Fleet {
        Fleet {
            dice: Dice(0),
            has_registry: true,
            sessions: vec![(0..=last_beat).step_by(10).map(|second| second * SECOND).collect()],
            deaths: vec![Some(last_beat * SECOND)],
            holdings,
            every: 2 * SECOND,
            end: 30 * MINUTE,
        }
    }

    /// The instants of all polls.
    pub fn polls(&self) -> impl Iterator<Item = i64> + use<> {
        self.polls_between(1, self.end)
    }

    /// The instants of the polls that see a holding.
    pub fn polls_of(&self, holding: &Holding) -> impl Iterator<Item = i64> + use<> {
        self.polls_between(holding.start, self.end.min(holding.end - 1))
    }

    fn polls_between(&self, start: i64, end: i64) -> impl Iterator<Item = i64> + use<> {
        let every = self.every;
        let first = ((start + every - 1) / every).max(1);
        (first..).map(move |number| number * every).take_while(move |at| *at <= end)
    }

    pub fn session_beat(&self, session: usize, now: i64) -> i64 {
        let beats = &self.sessions[session];
        beats[beats.partition_point(|beat| *beat <= now) - 1]
    }

    /// The next heartbeat of a session after an instant.
    pub fn next_session_beat(&self, session: usize, after: i64) -> Option<i64> {
        let beats = &self.sessions[session];
        beats.get(beats.partition_point(|beat| *beat <= after)).copied()
    }

    /// A session that beats every ten seconds, with a pause now and then.
    fn live(&mut self, death: Option<i64>) {
        let until = death.unwrap_or(self.end + 5 * MINUTE);
        let mut beats = vec![0];
        while beats[beats.len() - 1] < until {
            let pause = self.dice.one_in(150);
            let gap = if pause {
                self.dice.between(MINUTE, 9 * MINUTE)
            } else {
                self.dice.between(9 * SECOND, 11 * SECOND)
            };
            beats.push(beats[beats.len() - 1] + gap);
        }
        if death.is_some() {
            beats.pop();
        }
        // Nobody works on while it pauses and then dies.
        let last = beats[beats.len() - 1];
        self.sessions.push(beats);
        self.deaths.push(death.map(|death| death.min(last + 10 * SECOND)));
    }

    /// One task after the other.
    fn work(&mut self, session: usize, lane: usize) {
        let mut now = self.dice.between(0, 30 * SECOND);
        let mut number = 0;
        while now < self.end {
            if self.deaths[session].is_some_and(|death| now >= death) {
                return;
            }
            let task = format!("job-{session}-{lane}-{number}");
            now = self.hold(task, session, now) + self.dice.between(1, 5 * SECOND);
            number += 1;
        }
    }

    /// Holds a task until it is finished, or taken from a dead session. Returns when.
    fn hold(&mut self, task: String, session: usize, start: i64) -> i64 {
        let life = self.dice.between(30 * SECOND, 25 * MINUTE);
        let mut beats = vec![start];
        loop {
            let gap = match self.dice.one_in(20) {
                true => self.dice.between(40 * SECOND, 14 * MINUTE),
                false => self.dice.between(28 * SECOND, 32 * SECOND),
            };
            let next = beats[beats.len() - 1] + gap;
            if next >= start + life {
                break;
            }
            beats.push(next);
        }
        // A holder that pauses does nothing, and a while later everything again.
        let finished = self.awake(session, start + life);
        for beat in &mut beats[1..] {
            *beat = self.awake(session, *beat);
        }
        // What falls into a pause comes after what follows the pause at once.
        beats.sort_unstable();
        beats.dedup();
        beats.retain(|beat| *beat < finished);
        match self.deaths[session].filter(|death| *death < finished) {
            None => {
                self.holdings.push(Holding {
                    task,
                    session,
                    start,
                    beats,
                    end: finished,
                    how: End::Finished,
                });
                finished
            }
            Some(death) => {
                beats.retain(|beat| *beat <= death);
                let end = (death + RECOVERY).max(beats[beats.len() - 1] + RECOVERY);
                let again = self.dice.one_in(2);
                self.holdings.push(Holding {
                    task: task.clone(),
                    session,
                    start,
                    beats,
                    end,
                    how: End::Reclaimed,
                });
                if again && let Some(next) = self.living() {
                    let life = self.dice.between(30 * SECOND, 2 * MINUTE);
                    let finished = self.awake(next, end + life);
                    let beats = vec![end];
                    self.holdings.push(Holding {
                        task,
                        session: next,
                        start: end,
                        beats,
                        end: finished,
                        how: End::Finished,
                    });
                }
                end
            }
        }
    }

    /// The instant, or a while after the pause of the session that it lies in.
    fn awake(&self, session: usize, at: i64) -> i64 {
        let beats = &self.sessions[session];
        let next = beats.partition_point(|beat| *beat <= at);
        match beats.get(next) {
            Some(next_beat) if next_beat - beats[next - 1] > 20 * SECOND => {
                self.awake(session, next_beat + 40 * SECOND)
            }
            _ => at,
        }
    }

    /// A session that never dies.
    fn living(&self) -> Option<usize> {
        self.deaths.iter().position(Option::is_none)
    }
}
