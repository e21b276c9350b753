//! Keys and their commands: the defaults, changed by the config.

use crokey::KeyCombination;
use std::collections::BTreeMap;

use super::actions::{ACTIONS, Command};

/// Keys by command, and commands by key.
#[derive(Debug, Clone)]
pub struct Keymap {
    bound: Vec<(KeyCombination, Command)>,
}

impl Keymap {
    /// The table's keys, with those of the config in their place.
    pub fn with(changes: &BTreeMap<String, Vec<String>>) -> Result<Keymap, String> {
        if let Some(unknown) = changes.keys().find(|name| ACTIONS.iter().all(|spec| spec.name != **name)) {
            return Err(format!("keys: there is no command {unknown:?}; `claimtop` lists them with ?"));
        }
        let mut bound: Vec<(KeyCombination, Command)> = Vec::new();
        for spec in ACTIONS {
            let table = || spec.keys.iter().map(|key| (*key).to_owned()).collect();
            let keys: Vec<String> = changes.get(spec.name).cloned().unwrap_or_else(table);
            for key in keys {
                let combination =
                    parse(&key).map_err(|why| format!("keys.{}: {key:?} is no key: {why}", spec.name))?;
                if let Some((_, other)) = bound.iter().find(|(known, _)| *known == combination) {
                    let other = other.spec().name;
                    return Err(format!("keys: {key:?} is used by both {other} and {}", spec.name));
                }
                bound.push((combination, spec.command));
            }
        }
        Ok(Keymap { bound })
    }

    pub fn command(&self, key: KeyCombination) -> Option<Command> {
        self.bound.iter().find(|(known, _)| *known == key).map(|(_, command)| *command)
    }

    /// The keys of a command, as they are shown.
    pub fn keys(&self, command: Command) -> Vec<String> {
        self.bound.iter().filter(|(_, other)| *other == command).map(|(key, _)| shown(*key)).collect()
    }

    /// The first of them.
    pub fn key(&self, command: Command) -> String {
        self.keys(command).into_iter().next().unwrap_or_default()
    }
}

impl Default for Keymap {
    fn default() -> Keymap {
        // The table has no conflict; a test checks it.
        Keymap::with(&BTreeMap::new()).unwrap_or(Keymap { bound: Vec::new() })
    }
}

fn parse(key: &str) -> Result<KeyCombination, String> {
    let mut letters = key.chars();
    if let (Some(letter), None) = (letters.next(), letters.next()) {
        // `R` is written as it is typed.
        return Ok(normal(crossterm::event::KeyEvent::new(
            crossterm::event::KeyCode::Char(letter),
            crossterm::event::KeyModifiers::NONE,
        )));
    }
    let parsed: KeyCombination = crokey::parse(key).map_err(|error| error.to_string())?;
    let crokey::OneToThree::One(code) = parsed.codes else { return Ok(parsed) };
    Ok(normal(crossterm::event::KeyEvent::new(code, parsed.modifiers)))
}

/// Terminals disagree on whether `R` comes with the shift key and whether tab with it is backtab.
pub fn normal(key: crossterm::event::KeyEvent) -> KeyCombination {
    use crossterm::event::{KeyCode, KeyModifiers};
    let mut key = key;
    match key.code {
        KeyCode::Char(letter) => {
            let upper = key.modifiers.contains(KeyModifiers::SHIFT) && letter.is_ascii_lowercase();
            key.code = KeyCode::Char(if upper { letter.to_ascii_uppercase() } else { letter });
            key.modifiers.remove(KeyModifiers::SHIFT);
        }
        KeyCode::BackTab => key.modifiers.remove(KeyModifiers::SHIFT),
        _ => {}
    }
    KeyCombination { codes: crokey::OneToThree::One(key.code), modifiers: key.modifiers }
}

fn shown(key: KeyCombination) -> String {
    use crossterm::event::KeyCode;
    let crokey::OneToThree::One(code) = key.codes else { return key.to_string() };
    let name = match code {
        KeyCode::Char(' ') => "space".into(),
        KeyCode::Char(letter) => letter.to_string(),
        KeyCode::BackTab => "⇧tab".into(),
        KeyCode::Up => "↑".into(),
        KeyCode::Down => "↓".into(),
        KeyCode::Left => "←".into(),
        KeyCode::Right => "→".into(),
        KeyCode::Enter => "⏎".into(),
        other => other.to_string().to_lowercase(),
    };
    if key.modifiers.contains(crossterm::event::KeyModifiers::CONTROL) { format!("^{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    fn changed(name: &str, key: &str) -> BTreeMap<String, Vec<String>> {
        BTreeMap::from([(name.to_owned(), vec![key.to_owned()])])
    }

    #[test]
    fn the_table_has_every_command_once_and_no_conflict() {
        let map = Keymap::with(&BTreeMap::new()).unwrap();
        for spec in ACTIONS {
            // Some have a name alone, for the palette.
            assert_eq!(map.keys(spec.command).len(), spec.keys.len(), "{}", spec.name);
            assert_eq!(spec.command.spec().name, spec.name, "{} stands twice", spec.name);
        }
    }

    #[test]
    fn a_key_can_be_given_to_another_command_and_a_conflict_is_said() {
        let map = Keymap::with(&changed("reclaim", "ctrl-r")).unwrap();
        let key = |letter, modifiers| normal(KeyEvent::new(KeyCode::Char(letter), modifiers));
        assert_eq!(map.command(key('r', KeyModifiers::CONTROL)), Some(Command::Reclaim));
        assert_eq!(map.command(key('r', KeyModifiers::NONE)), None);
        let why = Keymap::with(&changed("reclaim", "x")).unwrap_err();
        assert!(why.contains("reclaim") && why.contains("release"), "{why}");
        assert!(Keymap::with(&changed("recliam", "r")).unwrap_err().contains("recliam"));
        assert!(Keymap::with(&changed("reclaim", "hyper-9")).unwrap_err().contains("hyper-9"));
    }

    #[test]
    fn upper_case_is_the_same_with_and_without_the_shift_key() {
        let map = Keymap::default();
        for modifiers in [KeyModifiers::NONE, KeyModifiers::SHIFT] {
            let key = normal(KeyEvent::new(KeyCode::Char('R'), modifiers));
            assert_eq!(map.command(key), Some(Command::ReclaimAll));
        }
        let key = normal(KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT));
        assert_eq!(map.command(key), Some(Command::PreviousPane));
    }
}
