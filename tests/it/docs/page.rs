//! A page of Markdown: its fenced blocks, headings and links.

use std::fs;
use std::path::{Path, PathBuf};

/// One file, by its path from the root of the project.
pub struct Page {
    pub path: PathBuf,
    pub text: String,
}

/// Text between two fences.
pub struct Block {
    /// Where its content begins.
    pub line: usize,
    /// The words after the opening fence.
    pub info: Vec<String>,
    pub lines: Vec<String>,
}

impl Block {
    pub fn has(&self, word: &str) -> bool {
        self.info.iter().any(|info| info == word)
    }

    pub fn is(&self, language: &str) -> bool {
        self.info.first().is_some_and(|first| first == language)
    }
}

/// The root of the project.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Page {
    pub fn read(path: &Path) -> Page {
        let text = fs::read_to_string(root().join(path))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Page { path: path.to_owned(), text }
    }

    /// The pages of the root, and those of the book.
    pub fn all() -> Vec<Page> {
        let mut pages: Vec<Page> = ["", "docs"].into_iter().flat_map(pages_in).collect();
        pages.sort_by(|one, other| one.path.cmp(&other.path));
        pages
    }

    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for (number, line) in self.text.lines().enumerate() {
            match (line.trim_start().strip_prefix("```"), &mut open) {
                (Some(info), None) => {
                    let info =
                        info.split([' ', ',']).filter(|word| !word.is_empty()).map(String::from).collect();
                    open = Some(Block { line: number + 2, info, lines: Vec::new() });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some(block)) => block.lines.push(line.to_owned()),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a block is not closed", self.name());
        blocks
    }

    /// The text outside of blocks, line by line.
    pub fn prose(&self) -> Vec<&str> {
        let mut is_inside = false;
        let mut prose = Vec::new();
        for line in self.text.lines() {
            if line.trim_start().starts_with("```") {
                is_inside = !is_inside;
            } else if !is_inside {
                prose.push(line);
            }
        }
        prose
    }

    /// Where links and pictures lead.
    pub fn links(&self) -> Vec<String> {
        let target = |rest: &str| rest.split(')').next().unwrap_or_default().to_owned();
        self.prose().iter().flat_map(|line| line.split("](").skip(1).map(target)).collect()
    }

    /// The names by which headings can be linked to.
    pub fn anchors(&self) -> Vec<String> {
        let headings = self.prose().into_iter().filter(|line| line.starts_with('#'));
        headings.map(|heading| anchor(heading.trim_start_matches('#').trim())).collect()
    }
}

fn pages_in(folder: &str) -> Vec<Page> {
    let entries = fs::read_dir(root().join(folder)).expect("a folder");
    let names = entries.map(|entry| PathBuf::from(folder).join(entry.expect("an entry").file_name()));
    names
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .map(|path| Page::read(&path))
        .collect()
}

/// As GitHub and mdBook make it: lower case, dashes for spaces, no other signs.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}
