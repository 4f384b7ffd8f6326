//! Compiling programs against the library as a user does.

use std::path::{Path, PathBuf};
use std::process::Command;

use trackway_testkit::skipped;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

/// A folder for the files of a test.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("capi-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The static library, which is built with the tests.
pub(crate) fn library() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let folders = own.ancestors().skip(1).take(2);
    folders.map(|folder| folder.join("libtrackway_c.a")).find(|path| path.exists())
}

/// Runs a command; its exit code and everything that it printed.
pub(crate) fn run(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// Compiles a file, or this text; `None` where there is no compiler.
pub(crate) fn compile(name: &str, source: &str, text: Option<&str>, flags: &[&str]) -> Option<PathBuf> {
    if Command::new("cc").arg("--version").output().is_err() {
        skipped("there is no C compiler: apt-get install gcc");
        return None;
    }
    let folder = scratch(name);
    let mut source = PathBuf::from(source);
    if let Some(text) = text {
        source = folder.join(source);
        std::fs::write(&source, text).unwrap();
    }
    let program = folder.join(name);
    let library = library().expect("libtrackway_c.a is built with the tests");
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"])
        .arg("-I")
        .arg(root().join("crates/trackway-capi/include"))
        .arg(source)
        .arg(library)
        .args(["-lpthread", "-ldl", "-lm"])
        .args(flags)
        .arg("-o")
        .arg(&program);
    let (code, text) = run(&mut cc);
    assert_eq!(code, Some(0), "{text}");
    Some(program)
}

/// The segments of a program as they are in memory from `base` on.
pub(crate) fn flat(elf: &[u8], base: u64) -> Vec<u8> {
    let program = trackway_hart::Program::read(elf).unwrap();
    let mut bytes = Vec::new();
    for segment in program.segments.iter().filter(|segment| segment.physical >= base) {
        let at = (segment.physical - base) as usize;
        bytes.resize(bytes.len().max(at + segment.bytes().len()), 0);
        bytes[at..at + segment.bytes().len()].copy_from_slice(segment.bytes());
    }
    bytes
}
