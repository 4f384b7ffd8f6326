//! `trackway record --qemu`: QEMU runs ahead of the recorder, waits where there is no room, and a recorder that is killed
//! leaves nothing but its partial file.

mod common;

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Folder, program, qemu_plugin, repo, stdout, text, trackway};
use trackway_testkit::skipped;

/// Instructions that the program executes, about: several buffers of the plugin.
const LEAST: u64 = 1_000_000;

fn record(plugin: &Path, words: &[&str]) -> Command {
    let mut command = program();
    command.env("TRACKWAY_QEMU_PLUGIN", plugin).args(["record", "--qemu", "user"]).args(words);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// A program of the corpus that executes for a while.
fn long_program(folder: &Folder, name: &str) -> Option<String> {
    let packed = trackway_testkit::corpus()?.join(format!("qemu/aarch64/{name}.elf.zst"));
    let elf = folder.file(name);
    let bytes = zstd::decode_all(std::fs::File::open(packed).expect("a program")).expect("zstd");
    std::fs::write(&elf, bytes).expect("a file");
    std::fs::set_permissions(&elf, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    Some(elf)
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(name: &str, pid: &str) {
    assert!(Command::new("kill").args([name, pid]).status().expect("kill runs").success(), "{name} {pid}");
}

/// The process of QEMU.
fn guest(recorder: &Child) -> String {
    let find = || {
        text(&Command::new("pgrep").args(["-P", &recorder.id().to_string()]).output().expect("pgrep").stdout)
    };
    // Before it is QEMU it is asked for its version.
    let is_guest = |pid: &str| {
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.contains("folder=")
    };
    wait_until("QEMU starts", || find().lines().any(is_guest));
    find().lines().find(|pid| is_guest(pid)).expect("one").to_string()
}

/// The folder with the buffers of a guest.
fn buffers(guest: &str) -> String {
    let command = std::fs::read_to_string(format!("/proc/{guest}/cmdline")).expect("a command");
    let rest = command.split("folder=").nth(1).expect("a folder");
    rest.split([',', '\0']).next().expect("a path").to_string()
}

fn pcs(file: &str) -> String {
    stdout(&["dump", file, "--as", "pcs", "--attempted"])
}

/// A recorder that does not get on does not keep QEMU from its end, and loses nothing.
#[test]
fn qemu_runs_ahead_of_a_recorder_that_is_stopped() {
    let Some(plugin) = qemu_plugin() else { return };
    let folder = Folder::new("qemu-ahead");
    let Some(elf) = long_program(&folder, "minigzip") else { return };
    let input = trackway_testkit::corpus().expect("it is there").join("qemu/inputs/t6k");
    let input = std::fs::read(input).expect("an input");
    let [whole, ahead] = ["whole.zstf", "ahead.zstf"].map(|name| folder.file(name));
    let run = |out: &str| {
        record(plugin, &["--deterministic", "-o", out, &elf]).stdin(Stdio::piped()).spawn().expect("it runs")
    };
    let feed = |child: &mut Child| child.stdin.take().expect("piped").write_all(&input).expect("written");
    let end = |child: Child| {
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    };
    let mut child = run(&whole);
    feed(&mut child);
    end(child);
    // The program waits for its input, which it is not passed before the recorder is stopped.
    let mut child = run(&ahead);
    let (own, guest) = (child.id().to_string(), guest(&child));
    signal("-STOP", &own);
    feed(&mut child);
    // Its exit code was not asked for yet.
    let is_over =
        || std::fs::read_to_string(format!("/proc/{guest}/stat")).is_ok_and(|stat| stat.contains(") Z "));
    wait_until("QEMU ends while its recorder is stopped", is_over);
    signal("-CONT", &own);
    end(child);
    let (whole, ahead) = (pcs(&whole), pcs(&ahead));
    assert!(whole.lines().count() > 200_000 && whole == ahead);
}

/// Where memory has room for a few buffers only, QEMU waits for the recorder.
#[test]
fn qemu_waits_where_there_is_no_room() {
    let Some(plugin) = qemu_plugin() else { return };
    let folder = Folder::new("qemu-no-room");
    let Some(elf) = long_program(&folder, "qsortmix") else { return };
    let [whole, small] = ["whole.zstf", "small.zstf"].map(|name| folder.file(name));
    let words = |out| ["--deterministic", "-o", out, &elf, "--", "1000"];
    let output = record(plugin, &words(&whole)).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // A /dev/shm of its own that has room for four buffers.
    let script = "mount -t tmpfs -o size=1100k none /dev/shm || exit 77; exec \"$@\"";
    let run = |words: &[&str]| {
        let inner = record(plugin, words);
        Command::new("unshare")
            .args(["-m", "timeout", "60", "sh", "-c", script, "sh"])
            .arg(inner.get_program())
            .args(inner.get_args())
            .env("TRACKWAY_QEMU_PLUGIN", plugin)
            .stdin(Stdio::null())
            // As in the first one: the kind of stdout changes what the program executes.
            .stdout(Stdio::null())
            .output()
    };
    let Ok(output) = run(&words(&small)) else { return skipped("unshare is not installed") };
    let said = text(&output.stderr);
    if output.status.code() == Some(77) || said.contains("unshare failed") {
        return skipped("/dev/shm cannot be mounted again (needs root)");
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
    let whole = pcs(&whole);
    assert!(whole.lines().count() as u64 > LEAST && whole == pcs(&small));
    // After its window it runs on, also where it was waiting.
    let output = run(&[&["--to", "300000"][..], &words(&small)].concat()).expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(pcs(&small).lines().eq(whole.lines().take(300_000)));
}

/// A recorder that is killed leaves the partial file, and the guest, which then runs on, removes the buffers.
#[test]
fn a_recorder_that_is_killed_leaves_its_partial_file_only() {
    let Some(plugin) = qemu_plugin() else { return };
    let folder = Folder::new("qemu-killed-outright");
    let out = folder.file("out.stf");
    let elf = repo("programs/qemu/guest-aarch64.elf");
    let mut child = record(plugin, &["-o", &out, &elf, "--", "forever"]).spawn().expect("it runs");
    let guest = guest(&child);
    let (buffers, partial) = (buffers(&guest), format!("{out}.partial"));
    wait_until("it is written", || std::fs::metadata(&partial).is_ok_and(|found| found.len() > 1 << 20));
    assert!(Path::new(&buffers).exists());
    child.kill().expect("killed");
    child.wait().expect("it ends");
    wait_until("the buffers are removed", || !Path::new(&buffers).exists());
    assert!(Path::new(&format!("/proc/{guest}")).exists(), "the guest runs on");
    signal("-KILL", &guest);
    let left: Vec<String> = std::fs::read_dir(&folder.0)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(left, ["out.stf.partial"]);
    // It is cut where it was.
    let found = trackway(&["stats", &partial, "--format", "stf"]);
    assert!(text(&found.stdout).contains("instructions"), "{}", text(&found.stderr));
}
