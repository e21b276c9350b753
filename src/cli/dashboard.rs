//! `claimtop [SOURCE]...`: the dashboard.

use rustix::fs::{Access as Mode, access};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use super::output::complain;
use super::record;
use super::setup::Setup;
use crate::app::keymap::Keymap;
use crate::app::model::{Model, ModelSettings, Tone};
use crate::app::source::{Access, SourceView};
use crate::config::{Config, MouseUse, SourceConfig};
use crate::domain::saved_view::ScreenState;
use crate::exit::Exit;
use crate::poller::Opener;
use crate::recording::{Recording, is_recording};
use crate::recovery::trail::Trail;
use crate::runtime::{self, ProberMaker, ReplayFeed, SourceAccess, StateFile, WriteOpener, WriteOpeners};
use crate::store::{Effort, NoWriteAccess, clock};
use crate::terminal::Mouse;
use crate::ui::Theme;
use crate::ui::theme::{Depth, Palette};

pub(super) fn run(setup: &Setup, words: &[String]) -> Exit {
    let setup = &setup.silent();
    let words: Vec<String> =
        if words.is_empty() { setup.config.source.keys().cloned().collect() } else { words.to_vec() };
    if let [only] = &words[..]
        && is_recording(Path::new(only))
    {
        return replay(setup, Path::new(only));
    }
    // A source that cannot be opened shows its error beside the others. If none can be opened, the dashboard does not
    // start.
    let problems: Vec<Option<String>> = words.iter().map(|word| problem(setup, word)).collect();
    if !words.is_empty() && problems.iter().all(Option::is_some) {
        return problems
            .into_iter()
            .flatten()
            .map(|sentence| complain(&sentence))
            .fold(Exit::Fine, Exit::and);
    }
    let (mut views, mut feeds) = (Vec::new(), Vec::new());
    for word in &words {
        let (view, feed) = feed(setup, word);
        views.push(view);
        feeds.push(feed);
    }
    if let Err(sentence) = expect_terminal() {
        return complain(sentence);
    }
    let keymap = match Keymap::with(&setup.config.keys()) {
        Ok(keymap) => keymap,
        Err(sentence) => return complain(&sentence),
    };
    let config = &setup.config;
    let settings = ModelSettings { interval: config.interval, bell: config.bell };
    let mut model = Model::new(views, settings, keymap, clock());
    for (source, word) in words.iter().enumerate() {
        model
            .confirmed_profiles
            .extend(setup.named_profiles(word).into_iter().map(|profile| (source, profile)));
    }
    if let Err(sentence) = model.offer_views(&config.view) {
        return complain(&sentence);
    }
    let state_file = Trail::default_folder().map(|trail| StateFile::beside(&trail));
    let mut theme = config.theme;
    match state_file.as_ref().map_or_else(|| Ok(ScreenState::default()), StateFile::load) {
        Ok(state) => {
            theme = state.theme.as_deref().and_then(Palette::named).unwrap_or(theme);
            if let Err(why) = model.restore(state) {
                model.notify(Tone::Refused, format!("what was saved is not all understood: {why}"));
            }
        }
        Err(why) => model.notify(Tone::Refused, why),
    }
    ended(runtime::run(model, feeds, themed(theme), mouse(config), state_file))
}

/// `claimtop FILE`, where the file is a recording.
fn replay(setup: &Setup, path: &Path) -> Exit {
    let opened = Recording::open(path).and_then(ReplayFeed::new);
    let opened = opened.and_then(|feed| feed.replay().map(|replay| (feed, replay)));
    let (feed, replay) = match opened {
        Ok(opened) => opened,
        Err(error) => return complain(&error.to_string()),
    };
    if let Err(sentence) = expect_terminal() {
        return complain(sentence);
    }
    let config = &setup.config;
    let keymap = match Keymap::with(&config.keys()) {
        Ok(keymap) => keymap,
        Err(sentence) => return complain(&sentence),
    };
    let settings = ModelSettings { interval: config.interval, bell: config.bell };
    let mut model = Model::new(feed.views(), settings, keymap, clock());
    model.replay = replay;
    ended(runtime::replay(model, feed, themed(config.theme), mouse(config)))
}

fn expect_terminal() -> Result<(), &'static str> {
    if std::io::stdout().is_terminal() && std::io::stdin().is_terminal() {
        return Ok(());
    }
    Err(
        "the dashboard needs a terminal, and standard input or output is none; `claimtop list SOURCE` prints the claims, \
         `claimtop check SOURCE` counts them; --help lists all",
    )
}

fn themed(palette: Palette) -> Theme {
    let variable = |name: &str| std::env::var(name).ok();
    Theme::new(palette, Depth::of(variable("NO_COLOR").as_deref(), variable("COLORTERM").as_deref()))
}

fn mouse(config: &Config) -> Mouse {
    match config.mouse {
        MouseUse::On => Mouse::Program,
        MouseUse::Off => Mouse::Terminal,
    }
}

fn ended(ran: std::io::Result<()>) -> Exit {
    match ran {
        Ok(()) => Exit::Fine,
        Err(error) => complain(&format!("the terminal failed: {error}")),
    }
}

fn effort(setup: &Setup) -> Effort {
    Effort {
        rows: setup.config.row_limit,
        slice: setup.config.census_slice,
        whole: setup.config.census_slice,
    }
}

/// Why a source cannot be watched, if that is known without waiting: a file that does not exist, for example.
fn problem(setup: &Setup, word: &str) -> Option<String> {
    match setup.options(word, effort(setup)) {
        Err(error) => Some(error.to_string()),
        Ok(options) => options.file().filter(|path| !path.exists()).map(|path| {
            format!(
                "{}: there is no such file, and no such verb; check the path, or start the application that creates it \
                 (--help lists the verbs)",
                path.display()
            )
        }),
    }
}

/// A source to watch. Its own thread finds out whether it can be opened.
fn feed(setup: &Setup, word: &str) -> (SourceView, SourceAccess) {
    let effort = effort(setup);
    let options = setup.options(word, effort).ok();
    let file = options.as_ref().and_then(|options| options.file());
    let label = setup.label(word);
    let server = options.as_ref().filter(|_| file.is_none()).map(|options| options.name());
    let (reach, writing) = if matches!(setup.write_access(word, effort), Err(NoWriteAccess::ReadOnly)) {
        (Access::ReadOnly("asked for with --read-only or in the config".into()), None)
    } else if file.is_some_and(|path| path.exists() && access(path, Mode::WRITE_OK).is_err()) {
        (Access::ReadOnly("you may not write this file".into()), None)
    } else {
        (
            Access::Write,
            Some(WriteOpeners {
                claims: writer(setup, word, effort),
                dead: writer(&setup.of_the_dead(), word, effort),
            }),
        )
    };
    let engine = setup.source(word).engine();
    let (own, name) = (setup.clone(), word.to_owned());
    let open: Opener = Arc::new(move || own.options(&name, effort));
    let (own, name) = (setup.of_the_dead(), word.to_owned());
    let dead: Opener = Arc::new(move || own.options(&name, effort));
    let (own, name) = (setup.clone(), word.to_owned());
    let probers: ProberMaker = Arc::new(move || own.prober(own.settings_for(&name).as_deref()));
    let is_named = setup.config.named(word).is_some();
    let shown = server.clone().filter(|_| !is_named).unwrap_or_else(|| label.clone());
    let mut view = SourceView::new(shown, engine, reach);
    view.in_commands = setup.in_commands(word);
    view.place = server.filter(|_| is_named);
    let configured = setup.config.settings_for(word).and_then(|name| setup.config.source.get(name));
    view.badge = configured.and_then(SourceConfig::source_label);
    view.confirmation = setup.config.confirmation(word);
    let identity = record::identity(setup, word);
    (view, SourceAccess { label, identity, open, dead, probers, writing })
}

/// Checks permission whenever a connection is opened to act.
fn writer(setup: &Setup, word: &str, effort: Effort) -> WriteOpener {
    let (setup, word) = (setup.clone(), word.to_owned());
    Arc::new(move || {
        setup.write_access(&word, effort).map_err(|why| match why {
            NoWriteAccess::ReadOnly => format!("{} is open read-only in this session", setup.label(&word)),
            NoWriteAccess::Store(error) => error.to_string(),
        })
    })
}
