//! The demo's thresholds: its workers live for seconds, so claims are judged in seconds.

use std::path::Path;
use std::time::Duration;

use super::error::DemoError;
use super::folder::DemoServer;

/// How long the systems allow a claim to be held.
pub(super) const CLAIM: Duration = Duration::from_secs(6);
pub(super) const JOB: Duration = Duration::from_secs(8);
pub(super) const MERGE: Duration = Duration::from_secs(8);
/// The lease of sessions that fail early: their claims are orphaned long before they expire.
pub(super) const LONG_CLAIM: Duration = Duration::from_secs(40);

/// The types of jobs.
pub(super) const JOB_KINDS: [&str; 5] =
    ["protect_document_v2", "run_tsa", "build_artifact", "submit_anchor_polygon", "document.protected"];

const LIMITS: &str = r#"holders_on = "this-host"

[source.fleet.limits]
lease        = "8s"
warn_before  = "3500ms"
silent_after = "6s"
orphan_after = "5s"

"#;

const MERGES: &str = r#"# Merges, in whatever state.
[source.fleet.board.entry]
ttl = "8s"

[source.fleet.board.entry.kind.claimed]
ttl = "8s"

"#;

/// The config for a demo in this folder, with its database there or on a server.
pub(super) fn config(folder: &Path, server: Option<&DemoServer>) -> Result<String, DemoError> {
    let quoted = |path: &Path| match path.to_str() {
        Some(text) => Ok(toml::Value::from(text).to_string()),
        None => Err(DemoError::NotText(path.into())),
    };
    let profile = |name: &str| quoted(&folder.join("profiles").join(name));
    let mut text =
        "# The thresholds of a claimtop demo: its workers live in seconds.\n\n[source.fleet]\n".to_owned();
    let tasks = profile(TASK_PROFILE)?;
    match server {
        None => text.push_str(&format!(
            "at = {}\nprofiles = [\"coordination\", \"executor-jobs\", {}, \"finalization\", {tasks}]\n\
             {LIMITS}{MERGES}",
            quoted(&folder.join("demo.db"))?,
            profile(MERGE_PROFILE)?,
        )),
        Some(server) => {
            text.push_str(&format!("at = {}\n", toml::Value::from(server.at.as_str())));
            if let Some(command) = &server.password_command {
                text.push_str(&format!("password_command = {}\n", toml::Value::from(command.as_str())));
            }
            text.push_str(&format!("profiles = [\"executor-jobs\", \"finalization\", {tasks}]\n{LIMITS}"));
        }
    }
    text.push_str("# Jobs by type.\n");
    for kind in JOB_KINDS {
        text.push_str(&format!("[source.fleet.board.job.kind.\"{kind}\"]\nttl = \"{}s\"\n\n", JOB.as_secs()));
    }
    Ok(text)
}

const MERGE_PROFILE: &str = "merge-queue.toml";
const TASK_PROFILE: &str = "task-queue.toml";
/// The lock's length in the built-in profile: an agent's sign of life is the lock's end minus this.
const USUAL_LOCK: &str = "l.expires_at - 300";
/// The database contains only tables of the demo, so acts need no confirmation of the profile.
const GENERIC: &str = "generic = true\n";

/// Profiles for this demo that differ from the built-in ones.
pub(super) fn profiles() -> [(&'static str, String); 2] {
    let merge = include_str!("../../assets/profiles/merge-queue.toml");
    let tasks = include_str!("../../assets/profiles/task-queue.toml");
    [
        (MERGE_PROFILE, merge.replace(USUAL_LOCK, &format!("l.expires_at - {}", MERGE.as_secs()))),
        (TASK_PROFILE, tasks.replace(GENERIC, "")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn the_config_is_one_and_quotes_its_folder() {
        let text = config(Path::new("/tmp/a \"b\"\\c"), None).unwrap();
        let config = Config::parse(&text).unwrap();
        assert_eq!(config.source["fleet"].at.0, "/tmp/a \"b\"\\c/demo.db");
        assert_eq!(config.source["fleet"].board["job"].kind.len(), JOB_KINDS.len());
    }

    #[test]
    fn the_profiles_differ_from_the_built_in_ones_where_they_must() {
        let [(_, merge), (_, tasks)] = profiles();
        assert!(merge.contains("l.expires_at - 8") && !merge.contains(USUAL_LOCK));
        assert!(!tasks.contains("generic"));
    }
}
