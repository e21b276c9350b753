//! `--keep DIR`: what stays, and what is never overwritten.

use super::*;

#[test]
fn what_is_kept_can_be_looked_at_later() {
    let mut demo = Demo::kept(&["--for", "3s"]);
    let (status, said) = demo.end();
    assert_eq!(status.code(), Some(0));
    assert!(said.contains("config.toml"), "{said}");
    eventually("no process is left", || processes(&demo.folder).is_empty().then_some(()));
    assert_eq!(demo.check().len(), 5);
    assert!(!demo.list().is_empty());
    let done: i64 =
        demo.look().query_row("SELECT count(*) FROM executor_jobs", [], |row| row.get(0)).unwrap();
    assert!(done > 0);
}

#[test]
fn what_is_there_already_is_left_alone() {
    for name in ["demo.db", "config.toml"] {
        let around = tempfile::tempdir().unwrap();
        fs::write(around.path().join(name), "mine").unwrap();
        let keep = around.path().to_str().unwrap();
        let output = demo(around.path(), &["--for", "1s", "--keep", keep]).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(name) && said.contains("already"), "{said}");
        assert_eq!(fs::read(around.path().join(name)).unwrap(), b"mine");
        assert_eq!(fs::read_dir(around.path()).unwrap().count(), 1);
    }
}

#[test]
fn a_kept_folder_survives_the_death_of_its_demo() {
    let mut demo = Demo::kept(&[]);
    eventually("workers are there", || (processes(&demo.folder).len() > 12).then_some(()));
    demo.signal(Signal::KILL);
    demo.end();
    eventually("no process is left", || processes(&demo.folder).is_empty().then_some(()));
    assert!(demo.folder.join("demo.db").exists() && demo.folder.join("config.toml").exists());
    assert_eq!(demo.check().len(), 5);
}
