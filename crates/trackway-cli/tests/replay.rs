//! `replay`: a small client of the protocol, and sessions of a real gdb where it is installed.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use common::{Folder, piped, program, repo, stdout, text, trackway};
use serde_json::Value as Json;

/// A client of the remote protocol on stdio.
struct Client {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Client {
    fn new(args: &[&str]) -> Self {
        let mut child = program()
            .arg("replay")
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let to = child.stdin.take().expect("piped");
        let from = BufReader::new(child.stdout.take().expect("piped"));
        let mut client = Client { child, to, from };
        let supported = client.ask("qSupported:swbreak+;hwbreak+;vContSupported+");
        assert!(supported.contains("ReverseStep+") && supported.contains("ReverseContinue+"), "{supported}");
        client
    }

    /// Sends a packet; returns the answer.
    fn ask(&mut self, packet: &str) -> String {
        let sum = packet.bytes().fold(0u8, u8::wrapping_add);
        write!(self.to, "${packet}#{sum:02x}").unwrap();
        self.to.flush().unwrap();
        let (mut skipped, mut answer) = (Vec::new(), Vec::new());
        self.from.read_until(b'$', &mut skipped).unwrap();
        self.from.read_until(b'#', &mut answer).unwrap();
        self.from.read_exact(&mut [0; 2]).unwrap();
        self.to.write_all(b"+").unwrap();
        answer.pop();
        expand(&answer)
    }

    /// Register `xN` in the answer to `g`, in which the pc is the first; `None` if it is unavailable.
    fn register(&mut self, number: usize) -> Option<u64> {
        self.numbered(number + 1)
    }

    fn numbered(&mut self, number: usize) -> Option<u64> {
        let all = self.ask("g");
        let digits = &all[16 * number..16 * number + 16];
        (!digits.contains('x')).then(|| u64::from_str_radix(digits, 16).unwrap().swap_bytes())
    }

    fn pc(&mut self) -> u64 {
        self.numbered(0).expect("an address")
    }

    fn monitor(&mut self, command: &str) -> String {
        let hex: String = command.bytes().map(|byte| format!("{byte:02x}")).collect();
        let sum = format!("qRcmd,{hex}").bytes().fold(0u8, u8::wrapping_add);
        write!(self.to, "$qRcmd,{hex}#{sum:02x}").unwrap();
        let mut shown = String::new();
        loop {
            let (mut skipped, mut answer) = (Vec::new(), Vec::new());
            self.from.read_until(b'$', &mut skipped).unwrap();
            self.from.read_until(b'#', &mut answer).unwrap();
            self.from.read_exact(&mut [0; 2]).unwrap();
            self.to.write_all(b"+").unwrap();
            answer.pop();
            let answer = expand(&answer);
            match answer.strip_prefix('O').filter(|rest| *rest != "K") {
                None => return shown,
                Some(hex) => {
                    let digits = hex.as_bytes().chunks(2);
                    let byte =
                        |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
                    shown += &text(&digits.map(byte).collect::<Vec<u8>>());
                }
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.to.write_all(b"$k#6b");
        let _ = self.child.wait();
    }
}

/// Repetitions are `x*n` on the wire.
fn expand(answer: &[u8]) -> String {
    let mut out = String::new();
    let mut bytes = answer.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'*' => {
                let count = bytes.next().unwrap() - 29;
                let last = out.chars().next_back().unwrap();
                out.extend(std::iter::repeat_n(last, count.into()));
            }
            _ => out.push(byte.into()),
        }
    }
    out
}

fn sort() -> [String; 3] {
    [repo("testdata/stf/sort/trace.stf"), "--elf".into(), repo("programs/riscv/sort.elf")]
}

fn strs(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

/// Numbers of instructions that match, by `find`.
fn found(args: &[&str]) -> Vec<u64> {
    let object: Json = serde_json::from_str(&stdout(&[&["find"], args, &["--json"]].concat())).unwrap();
    object["matches"].as_array().unwrap().iter().map(|one| one["instruction"].as_u64().unwrap()).collect()
}

/// The number in `* 1: 239 of 297: …`.
fn number(place: &str) -> u64 {
    let place = place.lines().find(|line| line.starts_with('*')).unwrap();
    place.split(": ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn steps_go_both_ways() {
    let sort = sort();
    let mut client = Client::new(&strs(&sort));
    let pcs = stdout(&["dump", &sort[0], "--as", "pcs"]);
    let pcs: Vec<u64> = pcs.lines().map(|line| u64::from_str_radix(line, 16).unwrap()).collect();
    for (n, pc) in pcs.iter().take(40).enumerate() {
        assert_eq!(client.pc(), *pc, "forwards at {n}");
        assert!(client.ask("vCont;s:1").starts_with("T05"), "{n}");
    }
    for n in (0..40).rev() {
        assert!(client.ask("bs").starts_with("T05"), "{n}");
        assert_eq!(client.pc(), pcs[n], "backwards at {n}");
    }
    assert!(client.ask("bs").contains("replaylog:begin"));
    assert!(client.ask("vCont;c").contains("replaylog:end"));
    assert!(client.ask("bc").contains("replaylog:begin"));
}

/// Stops at watched memory, both ways, are the accesses that `find` finds.
#[test]
fn watchpoints_stop_at_every_access() {
    let sort = sort();
    let stores = found(&[&sort[0], "--mem", "0x11150:8", "--class", "store"]);
    let accesses = found(&[&sort[0], "--mem", "0x11150:8"]);
    assert!(stores.len() > 5 && accesses.len() > stores.len());
    for (kind, name, wanted) in [(2, "watch", &stores), (4, "awatch", &accesses)] {
        let mut client = Client::new(&strs(&sort));
        assert_eq!(client.ask(&format!("Z{kind},11150,8")), "OK");
        for at in wanted {
            let stop = client.ask("vCont;c");
            assert!(stop.contains(&format!("{name}:")) && stop.contains("11150"), "{stop}");
            assert_eq!(number(&client.monitor("where")), *at);
            client.ask("vCont;s:1");
        }
        assert!(client.ask("vCont;c").contains("replaylog:end"));
        for at in wanted.iter().rev() {
            assert!(client.ask("bc").contains(&format!("{name}:")));
            assert_eq!(number(&client.monitor("where")), *at + 1);
            client.ask("bs");
        }
        assert!(client.ask("bc").contains("replaylog:begin"));
        assert_eq!(client.ask(&format!("z{kind},11150,8")), "OK");
        assert!(client.ask("vCont;c").contains("replaylog:end"));
    }
}

/// A long way is searched on several threads: they stop where one does.
#[test]
fn stops_do_not_depend_on_threads() {
    let folder = Folder::new("replay-threads");
    let (trace, elf) = (folder.file("mix.zstf"), repo("programs/riscv/elf/rv64-mix.elf"));
    stdout(&["record", &elf, "-o", &trace, "-q"]);
    // The rarest place and the rarest written word, so that ways between them are long.
    let dump = stdout(&["dump", &trace, "--as", "pcs"]);
    let pcs: Vec<u64> = dump.lines().map(|line| u64::from_str_radix(line, 16).unwrap()).collect();
    assert!(pcs.len() > 100_000);
    for pc in [pcs[0], pcs[pcs.len() / 2], pcs[pcs.len() - 1]] {
        let wanted: Vec<u64> = (0..).zip(&pcs).filter(|(_, one)| **one == pc).map(|(n, _)| n).collect();
        for jobs in ["1", "3"] {
            let mut client = Client::new(&[&trace, "--elf", &elf, "-j", jobs]);
            client.monitor("goto end");
            assert_eq!(client.ask(&format!("Z0,{pc:x},2")), "OK");
            for at in wanted.iter().rev().take(3) {
                assert!(client.ask("bc").contains("swbreak:"), "{pc:#x} with -j {jobs}");
                assert_eq!(number(&client.monitor("where")), *at, "{pc:#x} with -j {jobs}");
            }
            client.monitor("goto 0");
            for at in wanted.iter().filter(|at| **at > 0).take(3) {
                assert!(client.ask("vCont;c").contains("swbreak:"), "{pc:#x} with -j {jobs}");
                assert_eq!(number(&client.monitor("where")), *at, "{pc:#x} with -j {jobs}");
            }
        }
    }
    // Code that never runs.
    let mut client = Client::new(&[&trace, "--elf", &elf, "-j", "3"]);
    client.monitor("goto end");
    assert_eq!(client.ask("Z0,7ffffffe,2"), "OK");
    assert!(client.ask("bc").contains("replaylog:begin"));
}

/// Registers and memory at many points are those of `state`, in a trace that is long enough for checkpoints.
#[test]
fn points_are_those_of_state() {
    let folder = Folder::new("replay-state");
    let (trace, elf) = (folder.file("mix.stf"), repo("programs/riscv/elf/rv64-mix.elf"));
    stdout(&["record", &elf, "-o", &trace, "-q"]);
    let mut client = Client::new(&[&trace, "--elf", &elf]);
    let place = client.monitor("goto 0");
    let total: u64 = place.split(" of ").nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
    for n in 0..12 {
        let at = (total - 1) * n / 11;
        client.monitor(&format!("goto {at}"));
        let stack = client.register(2);
        let mem = format!("{:#x}:8", stack.unwrap_or(0x8000_0000));
        let state =
            stdout(&["state", &trace, "--elf", &elf, "--at", &at.to_string(), "--mem", &mem, "--json"]);
        let state: Json = serde_json::from_str(&state).unwrap();
        assert_eq!(state["pc"], format!("{:#x}", client.pc()), "{at}");
        for register in 1..32 {
            let known = state["registers"].as_array().unwrap().iter();
            let known = known.filter(|one| one["register"] == format!("x{register}"));
            let known = known.filter(|one| one.get("known_bits").is_none());
            let value = known.map(|one| one["value"].as_str().map(str::to_string)).next().flatten();
            let ours = client.register(register).map(|value| format!("{value:#x}"));
            assert_eq!(ours, value, "x{register} at {at}");
        }
        let bytes: String =
            state["memory"].as_array().unwrap().iter().filter_map(|one| one["bytes"].as_str()).collect();
        let read = client.ask(&format!("m{:x},8", stack.unwrap_or(0x8000_0000)));
        let is_known = bytes.len() == 16;
        assert!(if is_known { read == bytes } else { read.starts_with('E') || bytes.starts_with(&read) });
    }
}

/// `.bss` is zero before its first write, as the program says; after its end nothing is known.
#[test]
fn bss_starts_as_zero() {
    let folder = Folder::new("replay-bss");
    let (trace, elf) = (folder.file("mix.stf"), repo("programs/riscv/elf/rv64-mix.elf"));
    stdout(&["record", &elf, "-o", &trace, "-q"]);
    let mut client = Client::new(&[&trace, "--elf", &elf]);
    client.monitor("goto 0");
    // The array `numbers`, whose bytes are not in the file.
    assert_eq!(client.ask("m800020b0,8"), "0".repeat(16));
    assert!(client.ask("m80007000,8").starts_with('E'), "after the segment");
    let state = stdout(&["state", &trace, "--elf", &elf, "--at", "0", "--mem", "0x80006ffc:8", "--json"]);
    let state: Json = serde_json::from_str(&state).unwrap();
    let origins: Vec<&str> =
        state["memory"].as_array().unwrap().iter().map(|one| one["how"].as_str().unwrap()).collect();
    assert_eq!(origins, ["image", "untouched"], "{state}");
}

/// Without values there are steps, breakpoints and the call stack; registers and data are unavailable.
#[test]
fn flow_formats_have_control_flow() {
    let folder = Folder::new("replay-flow");
    let [stf, _, elf] = sort();
    let trace = folder.file("sort.etrace");
    stdout(&["convert", &stf, &trace, "--elf", &elf, "-q"]);
    let mut client = Client::new(&[&trace, "--elf", &elf]);
    let sum = 0x10136;
    assert_eq!(client.ask(&format!("Z0,{sum:x},2")), "OK");
    assert!(client.ask("vCont;c").contains("swbreak:"));
    assert_eq!((client.pc(), client.register(2), client.register(10)), (sum, None, None));
    // One by one, as lldb reads them: the pc and x0 are known, others are errors.
    assert_eq!((client.ask("p0"), client.ask("p1")), ("3601010000000000".into(), "0".repeat(16)));
    assert!(client.ask("p2").starts_with('E') && client.ask("pffff").starts_with('E'));
    // The code is the program's; its data may have changed, and the trace does not show it.
    assert_eq!(client.ask("m10136,2"), "8142");
    assert!(client.ask("m11150,8").starts_with('E'));
    // A watchpoint could never stop: it is not supported.
    assert_eq!(client.ask("Z2,11150,8"), "E16");
    assert!(client.monitor("bt").contains("<sum> called by 251"), "{}", client.monitor("bt"));
    let back = client.monitor("finish");
    assert!(back.contains("<_start+0x1c>"), "{back}");
    let next = client.monitor("next");
    assert!(next.contains("<_start+"), "{next}");
    assert!(client.monitor("why a0").contains("<"), "by encodings");
}

/// The code of a snapshot is in its dump of memory, over the program, which says that it is read-only.
#[test]
fn code_below_a_dump_can_be_read() {
    let (trace, elf) = (repo("testdata/ete/crash"), repo("programs/aarch64/crash.elf"));
    let mut client = Client::new(&[&trace, "--elf", &elf]);
    let shown = client.monitor("mem 0x400144:4");
    assert!(shown.contains("61 02 40 f9") && shown.contains("from the program"), "ldr x1, [x19]: {shown}");
    let shown = client.monitor("mem 0x402000:4");
    assert!(shown.contains("unknown"), "{shown}");
}

/// The instruction that is executed next can be read without a program: `x/i $pc`.
#[test]
fn the_next_instruction_can_be_read() {
    let mut client = Client::new(&[&sort()[0]]);
    // Without it gdb does not ask for steps of RISC-V, but guesses where they end.
    assert!(client.ask("qXfer:features:read:target.xml:0,200").contains("<osabi>none</osabi>"));
    assert_eq!((client.ask("m100e8,4"), client.ask("m100ea,2")), ("17150000".into(), "0000".into()));
    assert!(client.ask("m100ec,4").starts_with('E'));
    client.ask("vCont;s:1");
    assert_eq!(client.ask("m100ec,4"), "0335850b");
    // Its code is a dump of memory, which may have changed.
    let mut client = Client::new(&[&repo("testdata/ete/count")]);
    assert_eq!(client.ask("m80000,4"), "60008052");
    assert!(client.ask("m80004,4").starts_with('E'));
}

#[test]
fn sources_are_threads() {
    let ete = repo("testdata/ete/count");
    let mut client = Client::new(&[&ete]);
    let places = client.monitor("where");
    assert!(places.lines().count() >= 1 && places.starts_with("* 1"), "{places}");
    let info: Json = serde_json::from_str(&stdout(&["info", &ete, "--json"])).unwrap();
    let sources = info["sources"].as_array().map_or(1, Vec::len).max(1);
    let threads = client.ask("qfThreadInfo");
    assert_eq!(threads.trim_start_matches('m').split(',').count(), sources, "{threads}");
}

/// A trace that ends in the middle of an item is debugged up to there.
#[test]
fn a_truncated_trace() {
    let folder = Folder::new("replay-cut");
    let [whole, _, elf] = sort();
    let trace = folder.file("cut.stf");
    std::fs::write(&trace, &std::fs::read(&whole).unwrap()[..6000]).unwrap();
    let mut client = Client::new(&[&trace, "--elf", &elf]);
    let mut at = found(&[&whole, "--pc", "0x10122"]);
    at.retain(|number| *number < 160);
    assert!(at.len() > 2);
    assert_eq!(client.ask("Z0,10122,4"), "OK");
    for number in &at {
        assert!(client.ask("vCont;c").contains("swbreak"));
        assert!(client.monitor("where").starts_with(&format!("* 1: {number} of 160: ")));
    }
    assert!(client.ask("vCont;c").contains("replaylog:end"));
    assert!(client.ask("bc").contains("swbreak"));
    let why = trackway(&["why", &trace, "--at", "20", "--reg", "t3", "--depth", "1"]);
    assert!(text(&why.stdout).contains("ld t3,8(t0)") && text(&why.stderr).contains("truncated"), "{why:?}");
}

#[test]
fn nothing_can_be_written() {
    let sort = sort();
    let mut client = Client::new(&strs(&sort));
    assert!(client.ask("M11150,1:00").starts_with('E'));
    assert!(client.ask(&format!("G{}", "0".repeat(64))).starts_with('E'));
    assert_eq!(client.ask("vFile:open:2f6574632f706173737764,0,0"), "");
    for command in ["shell ls", "!ls", "source /etc/passwd", "save /tmp/x", "python print(1)"] {
        assert!(client.monitor(command).contains("not a command"), "{command}");
    }
    let folder = Folder::new("replay-closed");
    let target = folder.file("written");
    for command in [format!("bt > {target}"), format!("gaps | tee {target}"), format!("where {target}")] {
        client.monitor(&command);
    }
    assert!(!std::path::Path::new(&target).exists());
    assert!(client.monitor("goto sym:nowhere").contains("nowhere"));
    assert!(client.monitor("why x99").contains("a register, ADDR or ADDR:LEN"));
}

/// Whatever is sent, it ends without a panic.
#[test]
fn garbage_is_survived() {
    let sort = sort();
    let mut seed = 7u64;
    let mut random = || {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (seed >> 33) as u8
    };
    for round in 0..60 {
        let mut bytes = Vec::new();
        for _ in 0..20 {
            let letters = b"gGmMcsbZzvqHTk,;:0123456789abcdef*}";
            let packet: Vec<u8> =
                (0..random() % 24)
                    .map(|_| {
                        if round % 3 == 0 { random() } else { letters[usize::from(random()) % letters.len()] }
                    })
                    .collect();
            let sum = packet.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
            bytes.push(b'$');
            bytes.extend(&packet);
            bytes.extend(format!("#{sum:02x}+").bytes());
        }
        let args: Vec<&str> = ["replay"].into_iter().chain(strs(&sort)).collect();
        let output = piped(&args, &bytes);
        assert!(output.status.code().is_some_and(|code| code != 101), "{round}: {}", text(&output.stderr));
    }
}

#[test]
fn a_debugger_may_come_back_to_a_port() {
    let sort = sort();
    let mut child = program()
        .arg("replay")
        .args(&sort)
        .args(["--port", "0"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address =
        line.trim().strip_prefix("(gdb) target remote ").unwrap_or_else(|| panic!("{line}")).to_string();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let port: u16 = address.rsplit(':').next().unwrap().parse().unwrap();
    assert!(
        std::net::TcpStream::connect(("::1", port)).is_err(),
        "only the loopback address of IPv4 listens"
    );
    for end in ["$D#44", "$k#6b"] {
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        stream.write_all(b"$?#3f").unwrap();
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer[..2], *b"+$");
        stream.write_all(format!("+{end}").as_bytes()).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    }
    assert!(child.wait().unwrap().success());
}

/// A session of gdb; `None` where it is not installed.
fn gdb(elf: &str, trace: &[&str], commands: &[&str]) -> Option<String> {
    let is_there = Command::new("gdb-multiarch").arg("--version").stdout(Stdio::null()).status();
    if !is_there.is_ok_and(|status| status.success()) {
        trackway_testkit::skipped("gdb-multiarch is not installed");
        return None;
    }
    let server = [&[env!("CARGO_BIN_EXE_trackway"), "replay"], trace].concat().join(" ");
    let mut gdb = Command::new("gdb-multiarch");
    gdb.args(["-nx", "-batch", "-ex", "set confirm off", "-ex", "set pagination off"]);
    gdb.args(["-ex", &format!("file {elf}"), "-ex", &format!("target remote | {server}")]);
    for command in commands {
        gdb.args(["-ex", command]);
    }
    gdb.env("TRACKWAY_CACHE", env!("CARGO_TARGET_TMPDIR"));
    let output = gdb.output().expect("it runs");
    Some(text(&output.stdout))
}

/// The lines that begin with one of the wanted texts are in this order.
fn in_order(shown: &str, wanted: &[&str]) {
    let mut rest = shown;
    for part in wanted {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is missing or too early in:\n{shown}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn gdb_goes_back_to_the_write() {
    let [trace, _, elf] = sort();
    let commands = [
        "break sum",
        "continue",
        "info registers pc a0",
        "watch *(long*)0x11150",
        "reverse-continue",
        "x/i $pc",
        "reverse-continue",
        "x/i $pc",
        "stepi",
        "p *(long*)0x11150",
        "p $sp",
    ];
    let Some(shown) = gdb(&elf, &[&trace, "--elf", &elf], &commands) else { return };
    in_order(
        &shown,
        &[
            "Breakpoint 1, 0x0000000000010136 in sum ()",
            "0x10136 <sum>",
            "0x11148",
            "Hardware watchpoint 2: *(long*)0x11150",
            "Old value = 1",
            "New value = 0",
            "<sort+26>:\tsd\tt2,8(t0)",
            "Hardware watchpoint 2",
            "<sort+22>:\tsd\tt3,0(t0)",
            "$1 = 0",
            "$2 = <unavailable>",
        ],
    );
}

/// Lines of the source, with gdb's own stack: step, next and finish, and all of them in reverse.
#[test]
fn gdb_steps_by_lines() {
    let folder = Folder::new("replay-lines");
    let (trace, elf) = common::recorded(&folder);
    let commands = [
        "break 58",
        "continue",
        "step",
        "bt",
        "finish",
        "reverse-next",
        "reverse-next",
        "next",
        "p list[9]",
        "break fib if n == 8",
        "reverse-continue",
        "bt",
        "reverse-finish",
        "x/i $pc",
    ];
    let Some(shown) = gdb(&elf, &[&trace, "--elf", &elf], &commands) else { return };
    in_order(
        &shown,
        &[
            "Breakpoint 1, program () at calls.c:58",
            "hash_of_the_numbers (list=list@entry=",
            "#1  0x",
            "in program () at calls.c:58",
            "Value returned is",
            "Breakpoint 1, program () at calls.c:58",
            "calls.c",
            "Breakpoint 1, program () at calls.c:58",
            "$2 = 34",
            "Breakpoint 2, fib (n=",
            "#1  0x",
            "=> 0x",
        ],
    );
}

/// A source of several moves when it is named: by a step, by `monitor thread`, or with the scheduler locked.
#[test]
fn gdb_moves_the_thread_that_is_chosen() {
    let trace = repo("testdata/tarmac/two-cores/trace.tarmac");
    let commands = [
        "thread 2",
        "stepi",
        "info threads",
        "set scheduler-locking on",
        "thread 1",
        "continue",
        "info threads",
        "thread 2",
        "reverse-continue",
        "info threads",
    ];
    let Some(shown) = gdb(&repo("programs/aarch64/sort.elf"), &[&trace], &commands) else { return };
    in_order(
        &shown,
        &[
            "(core.cpu0 at 0)",
            "* 2",
            "(core.cpu1 at 1)",
            "(core.cpu0 at 5)",
            "(core.cpu1 at 1)",
            "(core.cpu0 at 5)",
            "* 2",
            "(core.cpu1 at 0)",
        ],
    );
}

/// Memory says where it comes from, and gaps are counted from 0, as positions are.
#[test]
fn monitor_commands_answer() {
    let sort = sort();
    let mut client = Client::new(&strs(&sort));
    client.monitor("goto sym:sum");
    assert!(client.monitor("mem 0x11150").contains("written by"));
    assert!(client.monitor("mem 0x10136:2").contains("from the program; the trace never touched it"));
    assert!(client.monitor("mem 0x7000000000").contains("8 bytes unknown: the trace never touched it"));
    assert!(client.monitor("bt").lines().nth(1).unwrap().contains("<sum> called by 251"));
    assert_eq!(number(&client.monitor("where")), 252);
    client.monitor("caller");
    assert_eq!(number(&client.monitor("where")), 251);
    let damaged = repo("testdata/ete/count");
    let mut client = Client::new(&[&damaged, "--source", "ETE_1"]);
    let gaps = client.monitor("gaps");
    let count: usize = gaps.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(gaps.lines().count(), 1 + count, "{gaps}");
    if count > 0 {
        assert!(gaps.contains("gap:0 before"), "{gaps}");
    }
}

/// A64 with values, from a Tarmac log: registers are there, and steps go both ways.
#[test]
fn gdb_on_arm() {
    let tarmac = repo("testdata/tarmac/loop-fast-models/trace.tarmac");
    let pcs = stdout(&["dump", &tarmac, "--as", "pcs"]);
    let pcs: Vec<&str> = pcs.lines().map(|line| line.trim_start_matches('0')).collect();
    let commands = ["stepi", "stepi", "stepi", "info registers pc", "reverse-stepi", "info registers pc"];
    let Some(shown) = gdb(&repo("programs/aarch64/sort.elf"), &[&tarmac], &commands) else { return };
    in_order(&shown, &[&format!("pc             0x{}", pcs[3]), &format!("pc             0x{}", pcs[2])]);
    let ete = repo("testdata/ete/count");
    let commands = ["info threads", "stepi", "info registers x0", "reverse-continue"];
    let Some(shown) = gdb(&repo("programs/aarch64/sort.elf"), &[&ete], &commands) else { return };
    in_order(
        &shown,
        &[
            "* 1",
            "ETE_0 at 0",
            "ETE_1 at 0",
            "0x0000000000080004",
            "<unavailable>",
            "No more reverse-execution history",
        ],
    );
}

#[test]
fn a_stream_and_a_wrong_option_are_refused() {
    let output = trackway(&["replay", "-"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert_eq!(trackway(&["replay", &sort()[0], "--port", "1", "--unix", "x"]).status.code(), Some(2));
}
