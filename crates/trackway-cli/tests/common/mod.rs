//! Items that the tests of the program share.
#![allow(dead_code, unreachable_pub)] // each test file is a crate of its own and uses a part of it

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// The program; indexes that it makes are not the user's.
pub fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_trackway"));
    program.env("TRACKWAY_CACHE", env!("CARGO_TARGET_TMPDIR"));
    program
}

/// Runs the program.
pub fn trackway(args: &[&str]) -> Output {
    program().args(args).output().expect("it runs")
}

/// Runs the program with `stdin` to read.
pub fn piped(args: &[&str], stdin: &[u8]) -> Output {
    let mut child = program()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut pipe = child.stdin.take().expect("piped");
    std::thread::scope(|scope| {
        // A reader that has enough closes the pipe; one that writes much is not to wait for it.
        scope.spawn(move || drop(pipe.write_all(stdin)));
        child.wait_with_output().expect("it ends")
    })
}

/// Bytes that the program wrote, as text.
pub fn text(written: &[u8]) -> String {
    String::from_utf8_lossy(written).into_owned()
}

/// The program's stdout; it must succeed.
pub fn stdout(args: &[&str]) -> String {
    let output = trackway(args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The sample program, recorded: the trace and the program's file.
pub fn recorded(folder: &Folder) -> (String, String) {
    let (trace, elf) = (folder.file("calls.stf"), repo("programs/riscv/elf/rv64-calls.elf"));
    stdout(&["record", &elf, "-o", &trace, "-q"]);
    (trace, elf)
}

/// A copy of a file in which a text is another of the same length.
pub fn replace_text(file: &str, copy: &str, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let mut bytes = std::fs::read(file).expect("a file");
    let places: Vec<usize> =
        (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from.as_bytes())).collect();
    assert!(!places.is_empty(), "{from}");
    places.into_iter().for_each(|at| bytes[at..at + to.len()].copy_from_slice(to.as_bytes()));
    std::fs::write(copy, bytes).expect("a copy");
}

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

/// A file of the repository.
pub fn repo(path: &str) -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../").to_string() + path
}

/// Names of functions that would break a careless writer.
pub const HOSTILE: [&str; 6] = [
    "a\n1: 2 b:3\n\nfn=evi",
    "</script>\"';{}\\1) x",
    "(1) 7:7:7 x;y z:9 #",
    "12: 5 fib:7 even:9",
    "\t# \x7f\x01\x02 ;;;; :1",
    "!CSProfile:1:1 [a @",
];

/// The sample program, recorded, in which `hash_of_the_numbers` has this name instead.
pub fn recorded_as(folder: &Folder, name: &str) -> (String, String) {
    let ((trace, elf), copy) = (recorded(folder), folder.file("calls.elf"));
    replace_text(&elf, &copy, "hash_of_the_numbers", &format!("{name:x<19}"));
    (trace, copy)
}

/// Builds our plugin, or the empty one that it is measured against, for a version of QEMU's API.
pub fn build_plugin(source: &str, api: u32, out: &Path) {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_string());
    let mut command = Command::new(rustc);
    command.args(["--edition", "2024", "--crate-type", "cdylib", "-C", "opt-level=3", "-C", "panic=abort"]);
    for version in 2..=api {
        // Each feature stands for the version and those before it, but 2 for itself.
        if version > 2 || api == 2 {
            command.args(["--cfg", &format!("feature=\"api{version}\"")]);
        }
    }
    let built = command.arg("-o").arg(out).arg(repo(source)).output().expect("rustc runs");
    assert!(built.status.success() && built.stderr.is_empty(), "{}", text(&built.stderr));
}

/// The folder with our plugin for API 1; none, and said so, where no QEMU of that API is installed.
pub fn qemu_plugin() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let version = Command::new("qemu-aarch64").arg("--version").output().ok()?;
        if !text(&version.stdout).contains("version 7.") {
            return None;
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("plugin-{}", std::process::id()));
        std::fs::create_dir_all(&folder).ok()?;
        build_plugin("plugin/qemu/src/lib.rs", 1, &folder.join("libtrackway_qemu_api1.so"));
        Some(folder)
    });
    if built.is_none() {
        trackway_testkit::skipped("no QEMU 7 with plugins (Debian 12: qemu-user)");
    }
    built.as_deref()
}

/// An ELF file with these instructions at this address.
pub fn elf(machine: u16, address: u64, code: &[u32]) -> Vec<u8> {
    let size = 4 * code.len() as u64;
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    bytes.extend([2, machine].iter().flat_map(|half| half.to_le_bytes()));
    bytes.extend(1u32.to_le_bytes());
    bytes.extend([address, 64, 0].iter().flat_map(|wide| wide.to_le_bytes()));
    bytes.extend(0u32.to_le_bytes());
    bytes.extend([64u16, 56, 1, 0, 0, 0].iter().flat_map(|half| half.to_le_bytes()));
    bytes.extend([1u32, 5].iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend([120, address, address, size, size, 8].iter().flat_map(|wide| wide.to_le_bytes()));
    bytes.extend(code.iter().flat_map(|word| word.to_le_bytes()));
    bytes
}
