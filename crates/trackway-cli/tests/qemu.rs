//! `trackway record --qemu` from outside, under the QEMU that is installed, beside the simple plugin of the corpus.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::{Folder, program, qemu_plugin, repo, stdout, text, trackway};
use trackway_testkit::skipped;

/// The guests that are built into the tree: QEMU's word for each.
const ARCHITECTURES: [&str; 4] = ["aarch64", "arm", "riscv64", "riscv32"];

fn guest(architecture: &str) -> String {
    repo(&format!("programs/qemu/guest-{architecture}.elf"))
}

/// The command for a recording.
fn record(folder: &Path, words: &[&str]) -> Command {
    let mut command = program();
    command.env("TRACKWAY_QEMU_PLUGIN", folder).args(["record", "--qemu", "user"]).args(words);
    command.stdin(Stdio::null());
    command
}

/// Records, and expects this exit code.
fn recorded(folder: &Path, words: &[&str], code: i32) -> Output {
    let output = record(folder, words).output().expect("it runs");
    assert_eq!(output.status.code(), Some(code), "{words:?}: {}", text(&output.stderr));
    output
}

/// The value of a field of an event line.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

fn number(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a number")
}

fn events(file: &str) -> Vec<String> {
    stdout(&["dump", file, "--as", "events"]).lines().map(str::to_string).collect()
}

fn pcs(file: &str, elf: &str) -> Vec<u64> {
    let lines = stdout(&["dump", file, "--as", "pcs", "--attempted", "--elf", elf]);
    lines.lines().map(|line| u64::from_str_radix(line, 16).expect("hex")).collect()
}

/// Steps by thread. Between two steps of a thread that do not follow there is a trap or a gap.
fn threads(events: &[String]) -> BTreeMap<u64, Vec<(u64, bool)>> {
    let mut found: BTreeMap<u64, Vec<(u64, bool)>> = BTreeMap::new();
    let (mut tid, mut follows, mut explained) = (0, None, true);
    for line in events {
        let kind = line.split(' ').nth(1).unwrap_or_default();
        match kind {
            "context" => tid = field(line, "tid").map_or(tid, number),
            "gap" | "trap" => explained = true,
            "step" => {
                let pc = number(field(line, "pc").expect("a pc"));
                assert!(explained || follows == Some(pc), "{line} does not follow");
                let end = pc + number(field(line, "length").expect("a length"));
                let target =
                    line.split("target:").nth(1).map(|rest| number(rest.split([',', ')']).next().unwrap()));
                follows = target.or(Some(end));
                explained = false;
                found.entry(tid).or_default().push((pc, line.contains("outcome=attempted")));
            }
            _ => {}
        }
    }
    found
}

/// The recording of the same command by the simple plugin of the corpus: pcs, and accesses as numbers of instructions,
/// addresses, stores, sizes.
type Judged = (Vec<u64>, Vec<(u64, u64, bool, u64)>);

fn judged(
    folder: &Folder,
    judge: &str,
    architecture: &str,
    command: &[&str],
    input: Option<&Path>,
) -> Judged {
    let out = folder.file("judge");
    let stdin = input.map_or(Stdio::null(), |path| std::fs::File::open(path).expect("an input").into());
    let done = Command::new(format!("qemu-{architecture}"))
        .env_clear()
        .args(["-seed", "1", "-plugin", &format!("{judge},out={out}")])
        .args(command)
        .stdin(stdin)
        .output()
        .expect("QEMU runs");
    assert!(done.status.success(), "{}", text(&done.stderr));
    let read = |end: &str| std::fs::read(format!("{out}.{end}")).expect("the judge wrote it");
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(std::array::from_fn(|n| bytes[at + n]));
    let pcs = read("pc").as_chunks::<8>().0.iter().map(|pc| u64::from_le_bytes(*pc)).collect();
    let memory = read("mem")
        .as_chunks::<24>()
        .0
        .iter()
        .map(|record| (word(record, 0), word(record, 8), record[16] == 1, u64::from(record[17])))
        .collect();
    (pcs, memory)
}

/// Accesses in the shape of [`judged`].
fn accesses(events: &[String]) -> Vec<(u64, u64, bool, u64)> {
    let mut found = Vec::new();
    let steps = events.iter().filter(|line| line.split(' ').nth(1) == Some("step"));
    for (index, line) in steps.enumerate() {
        for access in field(line, "accesses").unwrap_or_default().split("mem(").skip(1) {
            let of = |name: &str| {
                let rest = access.split(&format!("{name}:")).nth(1).expect("a field");
                rest.split([',', ')']).next().expect("a value").to_string()
            };
            found.push((index as u64, number(&of("address")), of("kind") == "write", number(&of("size"))));
        }
    }
    found
}

/// A program of the corpus, unpacked under this name.
fn unpack(corpus: &Path, part: &str, name: &str, elf: &str) {
    let bytes = std::fs::File::open(corpus.join(format!("{part}/{name}.elf.zst"))).expect("a program");
    std::fs::write(elf, zstd::decode_all(bytes).expect("zstd")).expect("a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(elf, mode).expect("a mode");
}

/// The corpus and its judge, built.
fn corpus(folder: &Folder) -> Option<(PathBuf, String)> {
    let corpus = trackway_testkit::corpus()?.join("qemu");
    let judge = folder.file("libtrc1.so");
    let built = Command::new("cc")
        .args(["-O2", "-shared", "-fPIC", "-w", "-o", &judge])
        .arg(corpus.join("src/trc.c"))
        .status();
    if !built.is_ok_and(|status| status.success()) {
        skipped("cc cannot build the judge");
        return None;
    }
    Some((corpus, judge))
}

/// Every program of the corpus but Lua, which asks for the time: the same pcs and accesses as the simple plugin
/// records, in the same folder with the same kind of stdout; and the flow formats, made while it runs, decode to them.
fn agrees(name: &str, arguments: &[&str], input: Option<&str>, proved: bool) {
    let Some(plugin) = qemu_plugin() else { return };
    let folder = Folder::new(&format!("qemu-corpus-{name}"));
    let Some((corpus, judge)) = corpus(&folder) else { return };
    for (part, architecture) in [("aarch64", "aarch64"), ("rv64gc", "riscv64")] {
        let elf = folder.file(&format!("{architecture}-{name}"));
        unpack(&corpus, part, name, &elf);
        let input = input.map(|input| corpus.join("inputs").join(input));
        let command: Vec<&str> = std::iter::once(&*elf).chain(arguments.iter().copied()).collect();
        let (theirs, memory) = judged(&folder, &judge, architecture, &command, input.as_deref());
        assert!(theirs.len() > 200_000);
        let flow = if part == "aarch64" { "ete" } else { "te" };
        for end in ["stf", flow] {
            let out = folder.file(&format!("{architecture}.{end}"));
            let mut words = vec!["--deterministic", "-o", &out, &elf, "--"];
            words.extend(arguments);
            let mut command = record(plugin, &words);
            if let Some(input) = &input {
                command.stdin(std::fs::File::open(input).expect("an input"));
            }
            let output = command.output().expect("it runs");
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            let ours = pcs(&out, &elf);
            // An exception of ETE has the address of a faulting load, and not the load itself.
            if end != "ete" || name != "sigmt" {
                assert!(ours == theirs, "{architecture} {name} {end}: {} {}", ours.len(), theirs.len());
            }
            if end == "stf" {
                let events = events(&out);
                threads(&events);
                assert!(accesses(&events) == memory, "{architecture} {name}: other accesses");
            }
        }
        if !proved {
            continue;
        }
        let targets: &[&str] =
            if part == "aarch64" { &["astf", "ete", "zstf"] } else { &["te", "tv", "zstf"] };
        for end in targets {
            let (from, to) = (folder.file(&format!("{architecture}.stf")), folder.file(&format!("to.{end}")));
            stdout(&["convert", &from, &to, "--prove", "--elf", &elf, "-q"]);
        }
    }
}

#[test]
fn qsortmix_as_the_simple_plugin_has_it() {
    agrees("qsortmix", &["600"], None, false);
}

#[test]
fn sigmt_as_the_simple_plugin_has_it() {
    agrees("sigmt", &[], None, true);
}

#[test]
fn minigzip_as_the_simple_plugin_has_it() {
    agrees("minigzip", &[], Some("t6k"), true);
}

#[test]
fn fpmix_as_the_simple_plugin_has_it() {
    agrees("fpmix", &[], None, false);
}

#[test]
fn bzip2_as_the_simple_plugin_has_it() {
    agrees("bzip2", &["-1", "-c"], Some("t3k"), false);
}

/// Lua makes the seed of its tables from the time in seconds: both recordings run at the same time, until they had the
/// same second.
#[test]
fn lua_as_the_simple_plugin_has_it_in_the_same_second() {
    let Some(plugin) = qemu_plugin() else { return };
    let folder = Folder::new("qemu-corpus-lua");
    let Some((corpus, judge)) = corpus(&folder) else { return };
    let script = corpus.join("src/bench.lua").display().to_string();
    for (part, architecture) in [("aarch64", "aarch64"), ("rv64gc", "riscv64")] {
        let (elf, out) =
            (folder.file(&format!("{architecture}-lua")), folder.file(&format!("{architecture}.stf")));
        unpack(&corpus, part, "lua", &elf);
        let agreed = (0..20).any(|_| {
            let words = ["--deterministic", "-o", &out, &elf, "--", &script];
            let ours = record(plugin, &words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
            let (theirs, memory) = judged(&folder, &judge, architecture, &[&elf, &script], None);
            let ours = ours.expect("it runs").wait_with_output().expect("it ends");
            assert_eq!(ours.status.code(), Some(0), "{}", text(&ours.stderr));
            pcs(&out, &elf) == theirs && accesses(&events(&out)) == memory
        });
        assert!(agreed, "{architecture}: never the same");
    }
}

#[test]
fn four_threads_are_consistent_and_counted_as_qemu_counts() {
    let Some(plugin) = qemu_plugin() else { return };
    let folder = Folder::new("qemu-threads");
    for architecture in ARCHITECTURES {
        let (out, log) = (folder.file("threads.stf"), folder.file("threads.log"));
        let elf = guest(architecture);
        let mut command = record(plugin, &["-o", &out, &elf, "--", "threads"]);
        // One line for each instruction that begins, with the number of its CPU.
        command.env("QEMU_SINGLESTEP", "1").env("QEMU_LOG", "exec,nochain").env("QEMU_LOG_FILENAME", &log);
        let output = command.output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let (mut theirs, mut last): (BTreeMap<String, usize>, Option<String>) = Default::default();
        for line in std::fs::read_to_string(&log).expect("a log").lines() {
            // A block that did not begin after all is taken back.
            let stopped = line.starts_with("Stopped execution of TB chain");
            let of = |line: &str| {
                line.strip_prefix("Trace ").and_then(|rest| rest.split(':').next().map(str::to_string))
            };
            match of(line) {
                Some(cpu) => {
                    *theirs.entry(cpu.clone()).or_default() += 1;
                    last = Some(cpu);
                }
                None if stopped => *last.take().and_then(|cpu| theirs.get_mut(&cpu)).expect("a block") -= 1,
                None => {}
            }
        }
        let ours = threads(&events(&out));
        assert_eq!(ours.len(), 5, "{architecture}");
        let mut counts: Vec<usize> = ours.values().map(Vec::len).collect();
        let mut expected: Vec<usize> = theirs.into_values().collect();
        counts.sort_unstable();
        expected.sort_unstable();
        assert_eq!(counts, expected, "{architecture}");
        let said = text(&output.stderr);
        assert!(said.contains("in 5 threads"), "{said}");
        // The recording begins where the program does, which is in the first thread.
        let bytes = std::fs::read(&elf).expect("a program");
        let entry = u64::from(u32::from_le_bytes(std::array::from_fn(|n| bytes[0x18 + n])));
        assert_eq!(pcs(&out, &elf)[0], entry, "{architecture}");
        recorded(plugin, &["--threads", "first", "-o", &out, &elf, "--", "threads"], 0);
        assert_eq!(threads(&events(&out)).len(), 1, "{architecture}");
        assert_eq!(pcs(&out, &elf)[0], entry, "{architecture}");
    }
}

#[test]
fn signals_and_faults() {
    let Some(plugin) = qemu_plugin() else { return };
    let folder = Folder::new("qemu-signals");
    for architecture in ARCHITECTURES {
        let (out, elf) = (folder.file("signals.stf"), guest(architecture));
        recorded(plugin, &["-o", &out, &elf, "--", "signals"], 0);
        let signals = events(&out);
        assert_eq!(threads(&signals).len(), 1);
        // Three signals to itself after a system call, and one of a timer; each returns.
        let gaps = signals.iter().filter(|line| line.contains(" gap ")).count();
        assert!((7..=8).contains(&gaps), "{architecture}: {gaps} gaps");
        let sent = signals.iter().filter(|line| line.contains("text='tgkill%28")).count();
        assert_eq!(sent, 3, "{architecture}");

        recorded(plugin, &["-o", &out, &elf, "--", "faults"], 0);
        let faults = events(&out);
        threads(&faults);
        // A fault is a step that did not retire, a trap and a gap; after the handler it is executed again.
        let calls = |line: &str| {
            line.contains("0xd4000001") || line.contains("encoding=0xef") || line.contains("encoding=0x73 ")
        };
        let steps: Vec<&String> = faults.iter().filter(|line| line.contains(" step ")).collect();
        let faulting: Vec<&str> = steps
            .iter()
            .filter(|line| line.contains("outcome=attempted") && !calls(line))
            .map(|line| field(line, "pc").expect("a pc"))
            .collect();
        assert_eq!(faulting.len(), 5, "{architecture}: {faulting:?}");
        for pc in faulting {
            let retired = |line: &&&String| field(line, "pc") == Some(pc) && line.contains("outcome=retired");
            assert!(steps.iter().any(|line| retired(&line)), "{architecture} {pc}");
        }
    }
}

#[test]
fn code_made_at_run_time_is_recorded_by_content() {
    let Some(plugin) = qemu_plugin() else { return };
    let folder = Folder::new("qemu-jit");
    for architecture in ARCHITECTURES {
        let (out, elf) = (folder.file("jit.stf"), guest(architecture));
        recorded(plugin, &["-o", &out, &elf, "--", "jit"], 0);
        let events = events(&out);
        let steps = threads(&events).into_values().next().expect("a thread");
        let mut encodings: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        for line in events.iter().filter(|line| line.contains(" step ")) {
            let known = encodings.entry(number(field(line, "pc").expect("a pc"))).or_default();
            let encoding = field(line, "encoding").expect("an encoding");
            if !known.contains(&encoding) {
                known.push(encoding);
            }
        }
        // The first instruction of the page is changed eight times, and executed four times each.
        let (at, _) = encodings.iter().find(|(_, known)| known.len() == 8).expect("changed code");
        for offset in [0, 4, 8] {
            let count = steps.iter().filter(|(pc, _)| *pc == at + offset).count();
            assert_eq!(count, 32, "{architecture} {offset}: one that QEMU begins twice counts once");
        }
    }
}

#[test]
fn a_child_has_a_stream_of_its_own_and_a_failed_exec_returns() {
    let Some(plugin) = qemu_plugin() else { return };
    let folder = Folder::new("qemu-fork");
    for architecture in ARCHITECTURES {
        let (out, elf) = (folder.file("fork.stf"), guest(architecture));
        let output = recorded(plugin, &["-o", &out, &elf, "--", "fork"], 0);
        assert_eq!(text(&output.stdout), "exec failed as expected\n");
        let events = events(&out);
        let threads = threads(&events);
        assert_eq!(threads.len(), 2, "{architecture}");
        assert!(threads.values().all(|steps| steps.len() > 100), "{architecture}");
        let contexts =
            events.iter().filter_map(|line| field(line, "pid")).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(contexts.len(), 2, "{architecture}: {contexts:?}");
        let said = |text: &str| events.iter().any(|line| line.contains(text));
        assert!(said("text='clone%20%3d%200"), "{architecture}: the child returns from clone");
        assert!(events.iter().any(|line| line.contains("text='execve%28") && line.contains("%3d%20-2")));
        // Without binfmt_misc the host cannot start a program of another architecture.
        recorded(plugin, &["-o", &out, &elf, "--threads", "first", "--", "fork"], 0);
        assert_eq!(self::threads(&self::events(&out)).len(), 1);
    }
}

#[test]
fn a_program_that_crashes_is_recorded_to_its_last_instruction() {
    let Some(plugin) = qemu_plugin() else { return };
    let folder = Folder::new("qemu-crash");
    for architecture in ARCHITECTURES {
        let (out, elf) = (folder.file("crash.stf"), guest(architecture));
        let output = recorded(plugin, &["-o", &out, &elf, "--", "crash"], 1);
        assert!(text(&output.stderr).contains("was ended by signal 11"), "{}", text(&output.stderr));
        let events = events(&out);
        let last = threads(&events).into_values().next().and_then(|steps| steps.last().copied());
        assert!(last.is_some_and(|(_, attempted)| attempted), "{architecture}: the store did not retire");
        let note = "text='signal%2011%20ended%20the%20program";
        assert!(events.iter().any(|line| line.contains(note)), "{architecture}: {:?}", events.last());
        assert_eq!(trackway(&["check", &out]).status.code(), Some(0));
    }
}

#[test]
fn a_killed_guest_and_a_killed_recorder_leave_a_legal_file() {
    let Some(plugin) = qemu_plugin() else { return };
    let folder = Folder::new("qemu-killed");
    let elf = guest("aarch64");
    for (victim, code, note) in
        [("guest", 1, "signal%209%20ended"), ("recorder", 130, "recording%20was%20interrupted")]
    {
        let out = folder.file(&format!("{victim}.stf"));
        let child = record(plugin, &["-o", &out, &elf, "--", "forever"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let partial = format!("{out}.partial");
        // Until something was written.
        while std::fs::metadata(&partial).map_or(0, |found| found.len()) < 1 << 20 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let own = child.id().to_string();
        let guests = Command::new("pgrep").args(["-P", &own]).output().expect("pgrep runs");
        let guests = text(&guests.stdout);
        let (signal, pid) =
            if victim == "guest" { ("-KILL", guests.trim()) } else { ("-TERM", own.as_str()) };
        assert!(Command::new("kill").args([signal, pid]).status().expect("kill runs").success());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(code), "{victim}: {}", text(&output.stderr));
        let tail = stdout(&["dump", &out, "--as", "events", "--from", "end-2"]);
        assert!(tail.contains(note), "{victim}: {tail}");
        assert_eq!(trackway(&["check", &out]).status.code(), Some(0), "{victim}");
    }
}

/// A disk of 8 MiB, gone at the end.
struct Disk(String);

impl Disk {
    fn mount(folder: &Folder) -> Option<Self> {
        let path = folder.file("disk");
        std::fs::create_dir(&path).expect("a folder");
        let options = ["-t", "tmpfs", "-o", "size=8m", "none", &path];
        let mounted = Command::new("mount").args(options).stderr(Stdio::null()).status();
        if !mounted.is_ok_and(|status| status.success()) {
            skipped("a small disk cannot be mounted (needs root)");
            return None;
        }
        Some(Disk(path))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_leaves_a_legal_file() {
    let Some(plugin) = qemu_plugin() else { return };
    let folder = Folder::new("qemu-full");
    let Some(disk) = Disk::mount(&folder) else { return };
    for (architecture, end) in [("aarch64", "stf"), ("riscv64", "tv")] {
        let (out, elf) = (format!("{}/full.{end}", disk.0), guest(architecture));
        let output = recorded(plugin, &["-o", &out, &elf, "--", "forever"], 5);
        let said = text(&output.stderr);
        assert!(said.contains("instructions recorded, then the disk was full"), "{end}: {said}");
        assert_eq!(trackway(&["check", &out]).status.code(), Some(0), "{end}");
        let tail = stdout(&["dump", &out, "--as", "events", "--from", "end-2"]);
        // Tandem has no notes.
        assert!(end == "tv" || tail.contains("the%20disk%20was%20full%20after"), "{end}: {tail}");
        let left: Vec<_> = std::fs::read_dir(&disk.0).expect("the disk").flatten().collect();
        assert!(left.iter().all(|entry| entry.path().to_string_lossy().starts_with(&out)), "{left:?}");
        assert!(!left.iter().any(|entry| entry.path().to_string_lossy().contains("partial")), "{left:?}");
        left.iter().for_each(|entry| std::fs::remove_file(entry.path()).expect("removed"));
    }
}

#[test]
fn windows_parts_and_samples() {
    let Some(plugin) = qemu_plugin() else { return };
    let folder = Folder::new("qemu-windows");
    for architecture in ["aarch64", "riscv64"] {
        let (whole, part, elf) = (folder.file("whole.stf"), folder.file("part.stf"), guest(architecture));
        let base = ["--deterministic", "-o"];
        let run = |out: &str, more: &[&str]| {
            let words: Vec<&str> =
                base.iter().copied().chain([out, &elf]).chain(more.iter().copied()).collect();
            recorded(plugin, &words, 0)
        };
        run(&whole, &[]);
        let all = pcs(&whole, &elf);
        let output = run(&part, &["--from", "100", "--to", "300"]);
        assert_eq!(text(&output.stdout), "plain\n", "it runs on after its window");
        assert!(pcs(&part, &elf) == all[100..300], "{architecture}");
        run(&part, &["--start", "sym:begin", "--stop-after", "50"]);
        let first = all.iter().position(|pc| *pc == pcs(&part, &elf)[0]).expect("it is in the whole");
        assert!(first > 0 && pcs(&part, &elf) == all[first..first + 50], "{architecture}");
        let output = run(&part, &["--limit", "40"]);
        assert!(
            text(&output.stderr).contains("was stopped after 40 instructions"),
            "{}",
            text(&output.stderr)
        );
        assert!(pcs(&part, &elf) == all[..40]);
        run(&part, &["--sample", "10/100"]);
        let sampled: Vec<u64> = all.chunks(100).flat_map(|some| some.iter().take(10)).copied().collect();
        assert!(pcs(&part, &elf) == sampled, "{architecture}");
        let gap = "gap reason=filtered";
        assert!(events(&part).iter().filter(|line| line.contains(gap)).count() > 10);
        run(&part, &["--skip-libs"]);
        assert!(pcs(&part, &elf) == all, "a static program has no libraries");
        run(&part, &["--no-mem"]);
        assert!(!events(&part).iter().any(|line| line.contains("mem(")));
        let none = record(plugin, &["-o", &part, "--from", "pc:0x2", &elf]).output().expect("it runs");
        assert_eq!(none.status.code(), Some(2), "{}", text(&none.stderr));
    }
}

/// A file, or the files of a folder in order.
fn whole(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    if path.is_file() {
        return vec![(PathBuf::new(), std::fs::read(path).expect("a file"))];
    }
    let mut files: Vec<_> = std::fs::read_dir(path)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .map(|file| (file.file_name().expect("a name").into(), std::fs::read(&file).expect("a file")))
        .collect();
    files.sort();
    files
}

#[test]
fn two_deterministic_runs_are_the_same_bytes() {
    let Some(plugin) = qemu_plugin() else { return };
    let folder = Folder::new("qemu-same");
    for architecture in ARCHITECTURES {
        for end in ["stf", if architecture.starts_with("riscv") { "te" } else { "ete" }] {
            let elf = guest(architecture);
            let files = ["a", "b"].map(|name| {
                let out = folder.file(&format!("{name}.{end}"));
                recorded(plugin, &["--deterministic", "-o", &out, &elf, "--", "faults"], 0);
                whole(Path::new(&out))
            });
            assert!(files[0] == files[1], "{architecture} {end}");
        }
    }
    let out = folder.file("threads.stf");
    let output = recorded(plugin, &["--deterministic", "-o", &out, &guest("aarch64"), "--", "threads"], 0);
    assert!(text(&output.stderr).contains("not deterministic"), "{}", text(&output.stderr));
}

#[test]
fn every_output_and_the_live_pipe() {
    let Some(plugin) = qemu_plugin() else { return };
    let folder = Folder::new("qemu-outputs");
    for (architecture, ends) in [
        ("aarch64", &["stf", "zstf", "astf", "ete"][..]),
        ("arm", &["stf", "ete"]),
        ("riscv64", &["stf", "zstf", "te", "tv"]),
        ("riscv32", &["stf", "te", "tv"]),
    ] {
        let elf = guest(architecture);
        let mut first = Vec::new();
        for end in ends {
            let out = folder.file(&format!("{architecture}.{end}"));
            recorded(plugin, &["--deterministic", "-o", &out, &elf], 0);
            let ours = pcs(&out, &elf);
            assert!(ours.len() > 5000);
            if first.is_empty() {
                first = ours;
            } else {
                assert!(ours == first, "{architecture} {end}");
            }
        }
    }
    // ASTF holds AArch64 only.
    let arm = guest("arm");
    let refused = recorded(plugin, &["-o", &folder.file("arm.astf"), &arm], 2);
    assert!(text(&refused.stderr).contains("does not hold a32 instructions"), "{}", text(&refused.stderr));
    // The program's own output goes to stderr where stdout has the trace.
    let output = recorded(plugin, &["-o", "-", "--into", "stf", &guest("riscv64")], 0);
    assert!(text(&output.stderr).contains("plain\n"));
    let stats = common::piped(&["stats", "-"], &output.stdout);
    assert_eq!(stats.status.code(), Some(0), "{}", text(&stats.stderr));
    assert!(text(&stats.stdout).contains("6183"), "{}", text(&stats.stdout));
    // A stream of ETE has no registers with it; what is assumed without them fits.
    let elf = guest("aarch64");
    let count = |words: &[&str], bytes: &[u8]| {
        let stats = common::piped(&[&["stats", "-", "--elf", &elf], words].concat(), bytes);
        assert_eq!(stats.status.code(), Some(0), "{}", text(&stats.stderr));
        text(&stats.stdout).lines().find(|line| line.contains("total")).map(str::to_string)
    };
    let [stf, ete] = ["stf", "ete"].map(|into| {
        count(&[], &recorded(plugin, &["--deterministic", "-o", "-", "--into", into, &elf], 0).stdout)
    });
    assert!(stf.is_some() && stf == ete, "{stf:?} {ete:?}");
}

/// `check` accepts recordings, also with the read that QEMU makes of a conditional store.
#[test]
fn recordings_pass_check() {
    let Some(plugin) = qemu_plugin() else { return };
    let folder = Folder::new("qemu-check");
    let Some((corpus, _)) = corpus(&folder) else { return };
    for (part, architecture) in [("aarch64", "aarch64"), ("rv64gc", "riscv64")] {
        let (elf, out) = (folder.file(architecture), folder.file(&format!("{architecture}.stf")));
        unpack(&corpus, part, "sigmt", &elf);
        recorded(plugin, &["-o", &out, &elf], 0);
        let checked = trackway(&["check", &out]);
        assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stdout));
    }
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let Some(plugin) = qemu_plugin() else { return };
    let folder = Folder::new("qemu-refused");
    let (out, elf, config) = (folder.file("x.stf"), guest("riscv64"), folder.file("machine.toml"));
    std::fs::write(&config, "[machine]\nisa = 'rv64gc'\n").expect("a file");
    for (words, reason) in [
        (&["--isa", "rv64gc"][..], "--isa is for the golden model"),
        (&["--core", "spike"], "--core is for the golden model"),
        (&["--no-regs"], "--no-regs is for the golden model"),
        (&["--bios", &elf], "--bios"),
        (&["--write-dtb", &out], "--write-dtb"),
        (&["--config", &config], "machine does not apply"),
        (&["--from", "50", "--to", "50"], "nothing lies between 50 and 50"),
        (&["--to", "0"], "nothing lies between 0 and 0"),
        (&["--from", "sym:begin", "--to", "1"], "the window holds no instruction"),
    ] {
        let said = text(&recorded(plugin, &[words, &["-o", &out, &elf]].concat(), 2).stderr);
        assert!(said.contains(reason) && !Path::new(&out).exists(), "{words:?}: {said}");
    }
    let model = trackway(&["record", "--from", "9", "--to", "5", "-o", &out, &elf]);
    assert_eq!(model.status.code(), Some(2), "{}", text(&model.stderr));
}

#[test]
fn what_is_missing_is_said() {
    let folder = Folder::new("qemu-missing");
    let (out, elf) = (folder.file("x.stf"), guest("aarch64"));
    let run = |path: &str, plugin: &str, words: &[&str]| {
        let output = program()
            .args(["record", "--qemu", "user", "-o", &out])
            .args(words)
            .env("PATH", path)
            .env("TRACKWAY_QEMU_PLUGIN", plugin)
            .output()
            .expect("it runs");
        (output.status.code(), text(&output.stderr))
    };
    let (code, said) = run("/nowhere", "/nowhere", &[&elf]);
    assert!(code == Some(2) && said.contains("apt-get install qemu-user"), "{said}");
    // A QEMU without plugins, as Debian 13 has it.
    let fake = folder.file("qemu-aarch64");
    std::fs::write(&fake, "#!/bin/sh\necho 'qemu-aarch64 version 10.0.2 (Debian)'\n").expect("a file");
    std::fs::set_permissions(&fake, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    let path = format!("{}:/bin:/usr/bin", folder.0.display());
    let (code, said) = run(&path, "/nowhere", &[&elf]);
    assert!(code == Some(2) && said.contains("has no -plugin") && said.contains("10.0.2"), "{said}");
    let (code, said) = run(&path, "/nowhere", &[&repo("programs/qemu/guest.c")]);
    assert!(code == Some(3) && said.contains("not an ELF file"), "{said}");
    if qemu_plugin().is_none() {
        return;
    }
    let (code, said) = run("/bin:/usr/bin", "/nowhere", &[&elf]);
    assert!(code == Some(2) && said.contains("libtrackway_qemu_api1.so"), "{said}");
    let (code, said) = run("/bin:/usr/bin", "/nowhere", &["--plugin", "/nowhere/x.so", &elf]);
    assert!(code == Some(2) && said.contains("/nowhere/x.so"), "{said}");
    let other = trackway(&["record", "-o", &out, "--sample", "1/2", &elf]);
    assert_eq!(other.status.code(), Some(2), "an option of QEMU without it");
}
