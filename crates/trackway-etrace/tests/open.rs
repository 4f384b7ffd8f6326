//! Traces as files: the program they need, and settings that do not fit.

use std::path::{Path, PathBuf};

use trackway_core::*;
use trackway_etrace::{FORMAT, IMPDEF};
use trackway_format::{Error, Format, Opened, Opening, Program, Settings, Writing};
use trackway_io::{File, Target};

const SORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/riscv/sort.elf");
const MIX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/riscv/elf/rv64-mix.elf");
const MIX32: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/riscv/elf/rv32-mix.elf");

fn opening(file: File, settings: Settings, elf: &[&str]) -> Opening {
    Opening {
        file,
        settings,
        program: Program { elf: elf.iter().map(|path| path.to_string()).collect(), ..Program::default() },
        threads: 1,
        part: None,
        force: false,
        strict: false,
        source: None,
        cancel: Cancel::default(),
    }
}

/// Opens bytes with settings.
fn open(bytes: &[u8], toml: &str, elf: &[&str]) -> Result<Box<dyn Opened>, Error> {
    let settings = Settings { path: None, table: toml.parse().unwrap() };
    FORMAT.open(opening(File::from_input(Input::from_vec(bytes.to_vec()))?, settings, elf))
}

/// Opens a file with the settings beside it.
fn open_file(path: &Path, elf: &[&str]) -> Result<Box<dyn Opened>, Error> {
    let settings = Settings::beside_trace(path)?.unwrap_or_default();
    FORMAT.open(opening(File::open(path)?, settings, elf))
}

/// Event lines, and errors by their text, past damage where possible.
fn lines(opened: &mut dyn Opened) -> Vec<String> {
    let mut events = opened.events().unwrap();
    let (mut batch, mut lines) = (Batch::default(), Vec::new());
    loop {
        match events.fill(&mut batch) {
            Ok(true) => {
                for event in &batch.events {
                    let mut line = String::new();
                    batch.write_line(event, &mut line);
                    lines.push(line);
                }
            }
            Ok(false) => return lines,
            Err(error) => {
                lines.push(format!("error {error}"));
                if !events.resync().unwrap() {
                    lines.push("end".into());
                    return lines;
                }
            }
        }
    }
}

fn findings(opened: &mut dyn Opened) -> Vec<String> {
    let mut findings = Vec::new();
    opened.check(&mut |finding| findings.push(format!("{} {}", finding.rule.name, finding.message))).unwrap();
    findings
}

fn refusal(opened: Result<Box<dyn Opened>, Error>) -> String {
    match opened {
        Err(Error::Config(text)) => text,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("not refused"),
    }
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("trackway-etrace-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// c.li a0, 3; 1: c.addi a0, -1; bne a0, x0, 1b; c.nop, with loads of another program at other addresses.
fn steps() -> Batch {
    let mut batch = Batch::default();
    batch.push(0, EventKind::Step(Step::new(0x4000, 0x450d, 2)));
    for round in 0..3 {
        batch.push(0, EventKind::Step(Step::new(0x4002, 0x157d, 2)));
        let branch = Step { taken: Some(round < 2), ..Step::new(0x4004, 0xfe05_1fe3, 4) };
        batch.push(0, EventKind::Step(branch));
    }
    batch.push(0, EventKind::Step(Step::new(0x4008, 0x0001, 2)));
    batch
}

fn write(path: &Path, batch: &Batch, toml: &str, elf: &[&str]) -> Result<(), Error> {
    let program = Program { elf: elf.iter().map(|path| path.to_string()).collect(), ..Program::default() };
    let settings = Settings { path: None, table: toml.parse().unwrap() };
    let target = Target::new(path);
    let writing = Writing { target: target.clone(), settings: &settings, program: &program, threads: 1 };
    let mut sink = FORMAT.create(writing, &Meta::new(FormatId::new("test"), Isa::Rv64))?;
    sink.put(batch)?;
    sink.finish()?;
    drop(sink);
    target.commit()?;
    Ok(())
}

/// Issue: 3/0 at an address without code, then 3/3, 3/1, 3/0 or the end.
#[test]
fn executing_where_there_is_no_code_is_a_gap() {
    let start = b"\x41\x1f\x45\x73\x00\x00\x00\x24";
    let gap = "gap reason=no-code from=0x90000000";
    let followers: [&[u8]; 4] =
        [b"\x41\x4f", b"", b"\x45\x73\x00\x00\x00\x24\x41\x4f", b"\x46\x77\x04\x80\x04\x00\x00"];
    for after in followers {
        let lines = lines(&mut *open(&[start, after].concat(), "", &[SORT]).unwrap());
        assert!(lines.iter().any(|line| line.contains(gap)), "{lines:?}");
        assert!(!lines.iter().any(|line| line.starts_with("error")), "{lines:?}");
    }
    // A report that leads on from there cannot be followed, and nothing else can be.
    let lines = lines(&mut *open(&[&start[..], b"\x41\x0a"].concat(), "", &[SORT]).unwrap());
    assert!(lines.iter().any(|line| line.contains(gap)), "{lines:?}");
    let last = &lines[lines.len() - 2..];
    assert!(
        last[0].contains("1 of 1 synchronisation addresses lie outside the program: wrong ELF"),
        "{last:?}"
    );
    assert_eq!(last[1], "end");
}

#[test]
fn assumed_settings_are_named() {
    let opened = open(b"\x41\x1f", "", &[SORT]).unwrap();
    let note = opened.meta().notes.iter().find(|(name, _)| name == "assumed settings").unwrap();
    assert!(note.1.contains("dialect v2, framing smi, iaddress_width 64, iaddress_lsb 1"), "{}", note.1);
    let opened = open(b"\x41\x1f", "dialect = 'v2'", &[SORT]).unwrap();
    assert!(!opened.meta().notes.iter().any(|(name, _)| name == "assumed settings"));
}

/// Code that no program has is written beside the trace, found where both are moved, and copied with it.
#[test]
fn a_trace_brings_its_code() {
    let folder = Folder::new("code");
    let path = folder.0.join("a.etrace");
    write(&path, &steps(), "", &[]).unwrap();
    let wanted = lines(&mut *open_file(&path, &[]).unwrap());
    assert_eq!(wanted.iter().filter(|line| line.contains("taken=yes")).count(), 2, "{wanted:?}");
    assert!(!wanted.iter().any(|line| line.contains("gap")), "{wanted:?}");

    let moved = folder.0.join("elsewhere");
    std::fs::create_dir(&moved).unwrap();
    for name in ["a.etrace", "a.etrace.toml", "a.etrace.code.elf"] {
        std::fs::rename(folder.0.join(name), moved.join(name)).unwrap();
    }
    assert_eq!(lines(&mut *open_file(&moved.join("a.etrace"), &[]).unwrap()), wanted);

    let (settings, program) = (Settings::default(), Program::default());
    let target = Target::new(folder.0.join("b.etrace"));
    let writing = Writing { target: target.clone(), settings: &settings, program: &program, threads: 1 };
    open_file(&moved.join("a.etrace"), &[]).unwrap().copy_to(writing).unwrap();
    target.commit().unwrap();
    std::fs::remove_dir_all(&moved).unwrap();
    assert_eq!(lines(&mut *open_file(&folder.0.join("b.etrace"), &[]).unwrap()), wanted);
}

/// Instructions that differ from the program named lie over it.
#[test]
fn code_that_the_program_does_not_have_lies_over_it() {
    let folder = Folder::new("overlay");
    let path = folder.0.join("a.etrace");
    write(&path, &steps(), "", &[SORT]).unwrap();
    let lines = lines(&mut *open_file(&path, &[]).unwrap());
    assert_eq!(lines.iter().filter(|line| line.contains("taken=yes")).count(), 2, "{lines:?}");
}

#[test]
fn another_program_is_refused() {
    let folder = Folder::new("identity");
    let path = folder.0.join("a.etrace");
    write(&path, &steps(), "", &[SORT]).unwrap();
    assert!(open_file(&path, &[SORT]).is_ok());
    let text = refusal(open_file(&path, &[MIX]));
    assert!(text.contains("the program is not the one this trace was made from"), "{text}");
    let text = refusal(open_file(&path, &[MIX32]));
    assert!(text.contains("the program is rv32; this trace is of a core with 64 bits"), "{text}");
    let text = refusal(open(b"\x41\x1f", "iaddress_width = 64", &[MIX32]));
    assert!(text.contains("addresses in this trace have 64 bits"), "{text}");
    match write(&path, &steps(), "", &[MIX32]) {
        Err(Error::Config(text)) => assert!(text.contains("the program is rv32"), "{text}"),
        other => panic!("{other:?}"),
    }
}

/// An implicit exception omits the handler's address: without a trap vector the reason is said in words.
#[test]
fn a_handler_that_nothing_names_is_said() {
    let folder = Folder::new("vector");
    let path = folder.0.join("a.etrace");
    let mut batch = steps();
    batch.push(0, EventKind::Step(Step { outcome: Outcome::Attempted, ..Step::new(0x400a, 0x0000_0073, 4) }));
    let call =
        Trap { cause: Some(8), from: Some(0x400a), to: Some(0x8000), ..Trap::new(TrapKind::Exception) };
    batch.push_trap(0, call);
    batch.push(0, EventKind::Step(Step::new(0x8000, 0x0001, 2)));
    batch.push(0, EventKind::Step(Step::new(0x8002, 0x0001, 2)));
    let vector = "[[trap_vector]]\nbase = 0x8000\n";
    let toml = format!("iaddress_width = 64\noptions = ['implicit_exception']\n{vector}");
    write(&path, &batch, &toml, &[]).unwrap();
    let found = lines(&mut *open_file(&path, &[]).unwrap());
    assert!(found.iter().any(|line| line.contains("run start=0x8000")), "{found:?}");
    let beside = folder.0.join("a.etrace.toml");
    let mut settings: toml::Table = std::fs::read_to_string(&beside).unwrap().parse().unwrap();
    settings.insert("trap_vector".into(), toml::Value::Array(Vec::new()));
    std::fs::write(&beside, settings.to_string()).unwrap();
    let found = lines(&mut *open_file(&path, &[]).unwrap());
    assert!(found.iter().any(|line| line.contains("no trap vector for cause 8")), "{found:?}");
}

/// The same packets with another program: it contradicts them.
#[test]
fn check_follows_the_program() {
    let folder = Folder::new("check");
    let path = folder.0.join("a.etrace");
    write(&path, &steps(), "", &[]).unwrap();
    assert_eq!(findings(&mut *open_file(&path, &[]).unwrap()), [""; 0]);
    let found = findings(&mut *open_file(&path, &[SORT]).unwrap());
    assert!(found.contains(&"etrace.code no code at 0x4000".to_string()), "{found:?}");
    // c.nop in the place of the branch, and a jump after it.
    let mut other = Batch::default();
    for (pc, encoding) in
        [(0x4000, 0x450d), (0x4002, 0x157d), (0x4004, 1), (0x4006, 1), (0x4008, 1), (0x400a, 0x8082)]
    {
        other.push(0, EventKind::Step(Step::new(pc, encoding, 2)));
    }
    let plain = folder.0.join("b.etrace");
    write(&plain, &other, "", &[]).unwrap();
    let code = folder.0.join("b.etrace.code.elf");
    let found = findings(&mut *open_file(&path, &[code.to_str().unwrap()]).unwrap());
    assert!(found.iter().any(|text| text.starts_with("etrace.program ")), "{found:?}");
}

/// Trap packets of the draft have no thaddr: read as version 2, their handlers are elsewhere.
#[test]
fn the_wrong_dialect_is_noticed() {
    let mut batch = steps();
    for _ in 0..3 {
        let trap = Trap { cause: Some(7), to: Some(0x4000), ..Trap::new(TrapKind::Interrupt) };
        batch.push_trap(0, trap);
        let again = steps();
        batch.events.extend(again.events);
    }
    let folder = Folder::new("dialect");
    for (own, other) in [("draft-1.1.1", "v2"), ("v2", "draft-1.1.1")] {
        let path = folder.0.join("a.etrace");
        write(&path, &batch, &format!("dialect = '{own}'\niaddress_width = 64"), &[]).unwrap();
        assert!(!lines(&mut *open_file(&path, &[]).unwrap()).iter().any(|line| line.starts_with("error")));
        let sidecar = folder.0.join("a.etrace.toml");
        let text = std::fs::read_to_string(&sidecar).unwrap().replace(own, other);
        std::fs::write(&sidecar, text).unwrap();
        let lines = lines(&mut *open_file(&path, &[]).unwrap());
        let wanted = format!("the packets are those of dialect {own}, and the settings say {other}");
        assert!(lines[0].contains(&wanted), "{lines:?}");
        let found = findings(&mut *open_file(&path, &[]).unwrap());
        assert!(found.iter().any(|text| text.contains(&wanted)), "{found:?}");
    }
}

/// Addresses and values need no program.
#[test]
fn a_data_trace_is_shown_without_a_program() {
    let mut batch = Batch::default();
    let begun = batch.begin_accesses();
    batch.mem.push(MemAccess::new(MemKind::Read, 0x9000, 4, Value::Word(7)));
    let accesses = batch.end_accesses(begun).unwrap();
    let load = Step { accesses, ..Step::new(0x4000, 0x0005_2503, 4) }; // lw a0, 0(a0)
    batch.push(0, EventKind::Step(load));
    batch.push(0, EventKind::Step(Step::new(0x4004, 0x0001, 2)));
    let folder = Folder::new("data");
    let path = folder.0.join("a.etrace");
    write(&path, &batch, "iaddress_width = 64\n[data]", &[]).unwrap();
    let sidecar = folder.0.join("a.etrace.toml");
    let text = std::fs::read_to_string(&sidecar).unwrap();
    let text: Vec<_> = text.lines().filter(|line| !line.starts_with("program")).collect();
    std::fs::write(&sidecar, text.join("\n")).unwrap();
    let lines = lines(&mut *open_file(&path, &[]).unwrap());
    assert!(lines.iter().any(|line| line.contains("gap reason=no-code")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("0x9000") && line.contains('7')), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("error")), "{lines:?}");
}

/// A filter on the implementation-defined signal, which comes with the events.
#[test]
fn the_impdef_signal_comes_with_events() {
    let mut batch = Batch::default();
    for (n, event) in steps().events.into_iter().enumerate() {
        if n == 1 || n == 4 {
            let data = batch.add_bytes(&u32::from(n == 1).to_le_bytes());
            batch.push(0, EventKind::Foreign(Foreign { format: trackway_etrace::ID, code: IMPDEF, data }));
        }
        batch.events.push(event);
    }
    let folder = Folder::new("impdef");
    let path = folder.0.join("a.etrace");
    let toml = "iaddress_width = 64\nfilter_impdef = 1\nifilters = [0]\n[[filter]]\nimpdef_mask = 1\nimpdef_value = 1";
    write(&path, &batch, toml, &[]).unwrap();
    let events = &mut *open_file(&path, &[]).unwrap();
    let mut source = events.events().unwrap();
    let (mut batch, mut count) = (Batch::default(), 0);
    while source.fill(&mut batch).unwrap() {
        count += batch.instructions();
    }
    assert_eq!(count, 3);
}
