//! `claimtop [SOURCE]...`: the dashboard.

use rustix::fs::{Access as Mode, access};
use std::io::IsTerminal;
use std::sync::Arc;

use super::output::complain;
use super::setup::Setup;
use crate::app::keymap::Keymap;
use crate::app::model::{Model, Settings};
use crate::app::source::{Access, SourceView};
use crate::config::MouseUse;
use crate::exit::Exit;
use crate::poller::Opener;
use crate::runtime::{self, Feed, ProberMaker, WriteOpener, WriteOpeners};
use crate::store::{Effort, NoWriteAccess, clock};
use crate::terminal::Mouse;
use crate::ui::Theme;
use crate::ui::theme::Depth;

pub fn run(setup: &Setup, words: &[String]) -> Exit {
    let setup = &setup.silent();
    let words: Vec<String> =
        if words.is_empty() { setup.config.source.keys().cloned().collect() } else { words.to_vec() };
    let (mut views, mut feeds) = (Vec::new(), Vec::new());
    for word in &words {
        match feed(setup, word) {
            Ok((view, feed)) => {
                views.push(view);
                feeds.push(feed);
            }
            Err(sentence) => return complain(&sentence),
        }
    }
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return complain(
            "the dashboard needs a terminal, and this is none; `claimtop list SOURCE` prints the claims, \
             `claimtop check SOURCE` counts them; --help lists all",
        );
    }
    let keymap = match Keymap::with(&setup.config.keys()) {
        Ok(keymap) => keymap,
        Err(sentence) => return complain(&sentence),
    };
    let config = &setup.config;
    let settings = Settings { interval: config.interval, bell: config.bell };
    let mut model = Model::new(views, settings, keymap, clock());
    for (source, word) in words.iter().enumerate() {
        model.vouched.extend(setup.named_profiles(word).into_iter().map(|profile| (source, profile)));
    }
    let variable = |name: &str| std::env::var(name).ok();
    let depth = Depth::of(variable("NO_COLOR").as_deref(), variable("COLORTERM").as_deref());
    let mouse = match config.mouse {
        MouseUse::On => Mouse::Program,
        MouseUse::Off => Mouse::Terminal,
    };
    match runtime::run(model, feeds, Theme::new(config.theme, depth), mouse) {
        Ok(()) => Exit::Fine,
        Err(error) => complain(&format!("the terminal failed: {error}")),
    }
}

/// A source ready to be watched; a file that was never there is an error at once.
fn feed(setup: &Setup, word: &str) -> Result<(SourceView, Feed), String> {
    let effort = Effort {
        rows: setup.config.row_limit,
        slice: setup.config.census_slice,
        whole: setup.config.census_slice,
    };
    let options = setup.options(word, effort).map_err(|error| error.to_string())?;
    let file = options.file();
    if let Some(path) = file.filter(|path| !path.exists()) {
        return Err(format!(
            "{}: there is no such file, and no such verb; check the path, or start the application that creates it \
             (--help lists the verbs)",
            path.display()
        ));
    }
    let label = setup.label(word);
    let server = file.is_none().then(|| options.name());
    let (reach, writing) = if matches!(setup.write_access(word, effort), Err(NoWriteAccess::ReadOnly)) {
        (Access::ReadOnly("asked for with --read-only or in the config".into()), None)
    } else if file.is_some_and(|path| access(path, Mode::WRITE_OK).is_err()) {
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
    view.place = server.filter(|_| is_named);
    Ok((view, Feed { label, open, dead, probers, writing }))
}

/// Asks for permission whenever a connection is opened to act.
fn writer(setup: &Setup, word: &str, effort: Effort) -> WriteOpener {
    let (setup, word) = (setup.clone(), word.to_owned());
    Arc::new(move || {
        setup.write_access(&word, effort).map_err(|why| match why {
            NoWriteAccess::ReadOnly => format!("{} is open read-only in this session", setup.label(&word)),
            NoWriteAccess::Store(error) => error.to_string(),
        })
    })
}
