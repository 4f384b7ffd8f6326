//! What the tests of the program share.
#![allow(unreachable_pub)] // a test's module is its own crate's

use std::path::PathBuf;

/// A folder that is removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    /// A new one; `name` is unique among the tests of all files.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("trackway-test-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
