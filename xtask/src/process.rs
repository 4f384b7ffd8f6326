//! Programs that tasks run, and files that they lay out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, target, tree};

/// All files below a folder.
pub(crate) fn every_file(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in tree::entries(folder) {
        if path.is_dir() { found.extend(every_file(&path)) } else { found.push(path) }
    }
    found
}

/// Copies a folder with everything in it.
pub(crate) fn copy_all(from: &Path, to: &Path) -> Outcome {
    every_file(from).iter().try_for_each(|path| {
        let inside = path.strip_prefix(from).map_err(|error| error.to_string())?;
        copy(path, &to.join(inside))
    })
}

/// Copies a file; folders are made.
pub(crate) fn copy(from: &Path, to: &Path) -> Outcome {
    make_folder(to.parent().unwrap_or(to))?;
    fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
}

/// Writes a file; folders are made.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Outcome {
    make_folder(path.parent().unwrap_or(path))?;
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(path: &Path) -> Outcome {
    fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// A path as text.
pub(crate) fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Runs a script in `folder`; returns what it prints.
pub(crate) fn shell(script: &str, folder: &Path) -> Result<String, String> {
    ended(Command::new("sh").args(["-c", script]).current_dir(folder), script)
}

/// Runs a program that has to succeed.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Outcome {
    output(program, arguments).map(drop)
}

/// Runs a program that has to succeed; returns what it prints.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Result<String, String> {
    ended(Command::new(program).args(arguments), &format!("{program} {}", arguments.join(" ")))
}

/// A program of crates.io: the one on the path, or one of our own in `target`.
pub(crate) fn tool(name: &str, package: &str) -> Result<String, String> {
    if Command::new(name).arg("--version").output().is_ok() {
        return Ok(name.into());
    }
    let root = target().join("tools");
    let program = root.join("bin").join(name);
    if !program.exists() {
        eprintln!("== installing {package}");
        command("cargo", &["install", "--locked", "--quiet", "--root", &text(&root), package])?;
    }
    Ok(text(&program))
}

fn ended(command: &mut Command, name: &str) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
