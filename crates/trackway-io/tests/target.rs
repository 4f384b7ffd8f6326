//! Outputs appear whole or not at all.

use std::fs;
use std::path::PathBuf;

use trackway_io::Target;

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("trackway-target-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn write(target: &Target, text: &str) {
    let mut output = target.create().unwrap();
    output.as_write().write_all(text.as_bytes()).unwrap();
    output.as_write().flush().unwrap();
}

#[test]
fn a_file_appears_at_the_end() {
    let folder = Folder::new("file");
    let path = folder.0.join("out.stf");
    fs::write(&path, "before").unwrap();
    let target = Target::new(&path);
    write(&target, "after");
    assert_eq!(fs::read_to_string(&path).unwrap(), "before");
    assert_eq!(fs::read_to_string(target.staged().unwrap()).unwrap(), "after");
    assert_eq!(target.staged().unwrap(), folder.0.join("out.stf.partial"));
    target.commit().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "after");
    assert_eq!(folder.names(), ["out.stf"]);
    assert_eq!(target.staged(), None);
}

#[test]
fn without_a_commit_nothing_changes() {
    let folder = Folder::new("dropped");
    let path = folder.0.join("out.stf");
    fs::write(&path, "before").unwrap();
    let target = Target::new(&path);
    write(&target, "after");
    target.write_beside("toml", b"settings").unwrap();
    assert_eq!(folder.names(), ["out.stf", "out.stf.partial", "out.stf.partial.toml"]);
    drop(target);
    assert_eq!(folder.names(), ["out.stf"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "before");
}

#[test]
fn files_beside_it_come_along() {
    let folder = Folder::new("beside");
    let target = Target::new(folder.0.join("out.etrace"));
    write(&target, "trace");
    target.write_beside("toml", b"first").unwrap();
    target.write_beside("toml", b"settings").unwrap();
    target.commit().unwrap();
    assert_eq!(folder.names(), ["out.etrace", "out.etrace.toml"]);
    assert_eq!(fs::read_to_string(folder.0.join("out.etrace.toml")).unwrap(), "settings");
}

#[test]
fn a_folder_appears_at_the_end() {
    let folder = Folder::new("folder");
    let path = folder.0.join("out.ete");
    for round in ["one", "two"] {
        let target = Target::new(&path);
        let staged = target.create_folder("main.ini").unwrap();
        fs::write(staged.join("main.ini"), round).unwrap();
        fs::write(staged.join("trace.bin"), round).unwrap();
        target.commit().unwrap();
        assert_eq!(folder.names(), ["out.ete"]);
        assert_eq!(fs::read_to_string(path.join("main.ini")).unwrap(), round);
        // Other files in it stay.
        fs::write(path.join("notes"), "mine").unwrap();
    }
    assert_eq!(fs::read_to_string(path.join("notes")).unwrap(), "mine");
    let target = Target::new(&path);
    target.create_folder("main.ini").unwrap();
    drop(target);
    assert_eq!(folder.names(), ["out.ete"]);
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_the_mode_is_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("links");
    let (real, link) = (folder.0.join("real"), folder.0.join("link"));
    fs::create_dir(&real).unwrap();
    fs::write(real.join("out"), "before").unwrap();
    fs::set_permissions(real.join("out"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real/out", &link).unwrap();
    // A link that leads to nothing yet is followed too.
    symlink("real/new", folder.0.join("dangling")).unwrap();
    for name in ["link", "dangling"] {
        let target = Target::new(folder.0.join(name));
        write(&target, "after");
        target.commit().unwrap();
        assert!(fs::symlink_metadata(folder.0.join(name)).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(folder.0.join(name)).unwrap(), "after");
    }
    assert_eq!(fs::metadata(&link).unwrap().permissions().mode() & 0o777, 0o640);
}

/// The memory that looks like a folder of devices has plain files, which appear whole.
#[cfg(target_os = "linux")]
#[test]
fn shared_memory_holds_plain_files() {
    let path = std::path::PathBuf::from(format!("/dev/shm/trackway-target-{}", std::process::id()));
    let target = Target::new(&path);
    assert!(!target.is_stream() && Target::new("/dev/shm/../null").is_stream());
    if !std::path::Path::new("/dev/shm").is_dir() {
        return;
    }
    write(&target, "whole");
    assert!(target.staged().is_some() && !path.exists());
    target.commit().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
    fs::remove_file(&path).unwrap();
}

#[cfg(unix)]
#[test]
fn devices_and_pipes_are_written_directly() {
    let folder = Folder::new("direct");
    let target = Target::new("/dev/null");
    write(&target, "gone");
    assert_eq!(target.staged(), None);
    target.write_beside("toml", b"settings").unwrap();
    target.commit().unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    let pipe = folder.0.join("pipe");
    if !std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
        return;
    }
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    let target = Target::new(&pipe);
    write(&target, "through");
    target.commit().unwrap();
    assert_eq!(reader.join().unwrap(), "through");
    assert!(!fs::metadata(&pipe).unwrap().is_file());
}

#[test]
fn a_failure_names_the_output() {
    let folder = Folder::new("failure");
    let target = Target::new(folder.0.join("none/out"));
    let error = target.create().expect_err("there is no such folder");
    assert_eq!(error.path, folder.0.join("none/out"));
    assert!(target.failure().is_some());
    let target = Target::new(&folder.0);
    assert!(target.create().is_err(), "a folder is not replaced by a file");
}
