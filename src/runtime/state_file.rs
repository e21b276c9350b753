//! The file that keeps the choices made on the screen. It is not part of any database, so a read-only session can
//! save its views as well.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::domain::saved_view::ScreenState;
use crate::domain::visible::safe;

#[derive(Debug, Clone)]
pub struct StateFile {
    path: PathBuf,
}

impl StateFile {
    /// The file beside the folder of the trail.
    pub fn beside(trail: &Path) -> StateFile {
        StateFile { path: trail.with_file_name("dashboard.toml") }
    }

    /// What an earlier session saved; the default if there is none; an error sentence if it cannot be read.
    pub fn load(&self) -> Result<ScreenState, String> {
        let failed = |why: String| {
            let path = safe(&self.path.to_string_lossy());
            format!("{path} cannot be read, and is left as it is until something is saved: {why}")
        };
        match fs::read_to_string(&self.path) {
            Ok(text) => toml::from_str(&text).map_err(|error| failed(safe(error.message()))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(ScreenState::default()),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// Saves it for the next start, in full or not at all, readable by its owner only.
    pub fn keep(&self, state: &ScreenState) -> io::Result<()> {
        let text = toml::to_string(state).map_err(io::Error::other)?;
        let folder = self.path.parent().unwrap_or(&self.path);
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let new = self.path.with_extension(format!("{}.new", std::process::id()));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&new, &self.path));
        if written.is_err() {
            // A partial temporary file is useless.
            let _ = fs::remove_file(&new);
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::saved_view::SavedView;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_is_kept_comes_back_and_nobody_else_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::beside(&folder.path().join("claimtop/audit"));
        assert_eq!(file.load(), Ok(ScreenState::default()));
        let view = SavedView {
            filter: "kind=\"send mail\" age>1h".into(),
            sort: "-age".into(),
            columns: vec!["id".into()],
        };
        let state = ScreenState {
            theme: Some("light".into()),
            sort: "left".into(),
            columns: vec!["id".into(), "why".into()],
            view: [("mail".to_owned(), view)].into(),
        };
        file.keep(&state).unwrap();
        assert_eq!(file.load(), Ok(state));
        let mode = fs::metadata(folder.path().join("claimtop/dashboard.toml")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path().join("claimtop")).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn a_damaged_file_is_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::beside(&folder.path().join("audit"));
        for text in ["sort = ", "colour = 1", "\u{1b}[2J", "view = 3"] {
            fs::write(folder.path().join("dashboard.toml"), text).unwrap();
            let said = file.load().unwrap_err();
            assert!(said.contains("dashboard.toml cannot be read") && !said.contains('\u{1b}'), "{said}");
        }
    }
}
