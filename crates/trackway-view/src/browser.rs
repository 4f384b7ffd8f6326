//! Opening a browser. Its command line is visible to everybody on the machine, so it has no token: the browser opens a
//! file that only this user can read, and which leads to the link.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use trackway_tools::markup::escape;

use crate::guard::Guard;

/// The file is removed once its link was used, at the latest after this many seconds.
const PATIENCE: u64 = 120;

/// Opens a browser with a link of its own.
///
/// # Errors
/// There is no browser, or no place for the file.
pub fn open(guard: &Arc<Guard>) -> io::Result<()> {
    let program = program().ok_or(io::ErrorKind::NotFound)?;
    let link = guard.link()?;
    let name = format!("trackway-view-{}.html", guard.secret()?);
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let file = folder.join(name);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={0}\"><a href=\"{0}\">Trackway</a>\n",
        escape(&link)
    );
    options.open(&file)?.write_all(page.as_bytes())?;
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = command.spawn();
    let guard = Arc::clone(guard);
    std::thread::spawn(move || {
        for _ in 0..PATIENCE {
            if !guard.is_unused(&link) {
                break;
            }
            std::thread::sleep(Duration::from_secs(1));
        }
        // Somebody else may have cleaned up.
        let _ = std::fs::remove_file(&file);
    });
    started.map(drop)
}

/// The program that opens files, where there is a screen.
fn program() -> Option<&'static [&'static str]> {
    if cfg!(target_os = "macos") {
        return Some(&["open"]);
    }
    if cfg!(windows) {
        return Some(&["explorer"]);
    }
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")).then_some(&["xdg-open"])
}
