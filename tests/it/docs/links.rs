//! No link is dead, and every page is in the book.

use std::path::{Component, Path, PathBuf};

use super::page::{Page, root};

/// A path without `..`, from the root of the project.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(normal.pop(), "{} leads out of the project", path.display()),
            Component::Normal(part) => normal.push(part),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    normal
}

/// What is wrong with a link of a page.
fn problem(page: &Page, link: &str) -> Option<String> {
    if link.starts_with("https://") {
        return None;
    }
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let folder = page.path.parent().unwrap_or(Path::new(""));
    let target = if file.is_empty() { page.path.clone() } else { normal(&folder.join(file)) };
    if !root().join(&target).exists() {
        return Some(format!("{}: there is no {}", page.name(), target.display()));
    }
    // A book is copied elsewhere, without what is around it.
    if page.path.starts_with("docs") && !target.starts_with("docs") {
        return Some(format!("{}: {link} leads out of the book", page.name()));
    }
    let missing = anchor.filter(|anchor| !Page::read(&target).anchors().iter().any(|known| known == anchor));
    missing.map(|anchor| format!("{}: {} has no heading {anchor}", page.name(), target.display()))
}

#[test]
fn no_link_is_dead() {
    let dead: Vec<String> = Page::all()
        .iter()
        .flat_map(|page| page.links().into_iter().filter_map(|link| problem(page, &link)).collect::<Vec<_>>())
        .collect();
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

#[test]
fn every_page_of_docs_is_in_the_book() {
    let summary = Page::read(Path::new("docs/SUMMARY.md")).links();
    let pages = Page::all().into_iter().filter(|page| page.path.starts_with("docs"));
    for page in pages.filter(|page| !page.path.ends_with("SUMMARY.md")) {
        let name = page.path.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(summary.contains(&name), "{} is not in docs/SUMMARY.md", page.name());
    }
}

#[test]
fn the_readme_stays_short() {
    let text = Page::read(Path::new("README.md")).text;
    // The table of systems is folded.
    let folded = text.split("<details>").skip(1).map(|rest| rest.split("</details>").next().unwrap_or(rest));
    let lines = text.lines().count() - folded.map(|part| part.lines().count()).sum::<usize>();
    assert!(lines <= 200, "the README has {lines} lines; move some to docs/");
}
