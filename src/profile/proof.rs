//! What was proven of the built-in profiles, by the workers of the real libraries or by statements on their tables:
//! the results of `./tests/systems --record`.

/// One line for each system and engine: a tick or a cross for each step of the proof.
const RESULTS: &str = include_str!("../../assets/proof.tsv");

/// The proof of one profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    lines: Vec<Vec<&'static str>>,
}

impl Proof {
    pub fn of(profile: &str) -> Option<Proof> {
        let cells = RESULTS.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
        let lines: Vec<_> = cells.filter(|cells| cells.get(1) == Some(&profile)).collect();
        (!lines.is_empty()).then_some(Proof { lines })
    }

    /// The databases that it was tried on.
    pub fn engines(&self) -> String {
        self.joined(2, |engine| if engine == "sqlite" { "SQLite" } else { "PostgreSQL" })
    }

    /// The versions of the system.
    pub fn versions(&self) -> Vec<&'static str> {
        self.column(3)
    }

    /// Whether the library itself ran, and whether every step went well.
    pub fn describe(&self) -> String {
        let how = self.joined(4, |how| if how == "library" { "real library" } else { "schema only" });
        let is_whole = self.lines.iter().flatten().all(|cell| *cell != "✗");
        if is_whole { how } else { format!("{how}, in part") }
    }

    fn column(&self, at: usize) -> Vec<&'static str> {
        self.lines.iter().filter_map(|cells| cells.get(at).copied()).collect()
    }

    /// Each value of a column once, in order.
    fn joined(&self, at: usize, name: impl Fn(&str) -> &'static str) -> String {
        let mut once: Vec<&str> = Vec::new();
        for value in self.column(at).into_iter().map(name) {
            if !once.contains(&value) {
                once.push(value);
            }
        }
        once.join(", ")
    }
}
