//! State and causes at random points, against the golden model that ran the program.
//!
//! The model runs to the point and every register, CSR and byte that the state claims is compared with it. Every writer
//! that `why` names is looked up in a list of all writes that the model made, which knows nothing of encodings.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use trackway::events::{
    Batch, Context, EventKind, FormatId, Isa, MemAccess, MemKind, Meta, Reg, RegClass, Source, Step,
    TrapKind, Value,
};
use trackway::format::{Program as Files, Settings, Writing};
use trackway::io::Target as Output;
use trackway::machine::{Content, How};
use trackway::{FORMATS, Indexing, Options, Trace, by_id};
use trackway_hart::machine::{Machine, MachineConfig, Status};
use trackway_hart::{AccessKind, Config, Effects, Extensions, Program, RecordOptions, Recorder, Target};
use trackway_isa::riscv::Extension;
use trackway_testkit::random::Numbers;
use trackway_tools::past::{self, Cause, End, Location, Origin, Past, Why};

const LIMIT: u64 = 30_000;

fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/riscv/elf");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn machine(path: &Path) -> Machine {
    let program = Program::read(&std::fs::read(path).unwrap()).unwrap();
    let mut core = Config::new(program.isa);
    if path.to_string_lossy().contains("aligned") {
        core.extensions = Extensions::ALL.with(Extension::C, false);
    }
    let config = MachineConfig { ram: 1 << 20, ..MachineConfig::new(core) };
    let mut machine = Machine::new(config, &program).unwrap();
    machine.leave_rom();
    machine
}

/// A run of the program.
fn recorder(path: &Path, limit: u64) -> Recorder {
    let options = RecordOptions { limit, ..RecordOptions::default() };
    Recorder::new(Target::Machine(Box::new(machine(path))), options)
}

/// Records the program into a file of that format.
fn record(path: &Path, format: &'static str, folder: &Path) -> PathBuf {
    write(path, &mut recorder(path, LIMIT), 1, format, folder)
}

/// Writes a run of the program into a file of that format, several times over.
fn write(path: &Path, source: &mut dyn Source, times: usize, format: &'static str, folder: &Path) -> PathBuf {
    let file = folder.join(path.file_name().unwrap()).with_extension(format);
    let files = Files { elf: vec![path.display().to_string()], ..Files::default() };
    let target = Output::new(&file);
    let mut settings = Settings::default();
    // One block of .xz cannot be entered.
    settings.set("astf", "container", "raw");
    let writing = Writing { target: target.clone(), settings: &settings, program: &files, threads: 1 };
    let format = by_id(FORMATS, FormatId::new(format)).unwrap();
    let mut sink = format.create(writing, source.meta()).unwrap();
    let (mut batch, mut all) = (Batch::default(), Vec::new());
    while source.fill(&mut batch).unwrap() {
        all.push(batch.clone());
    }
    for batch in std::iter::repeat_n(&all, times).flatten() {
        sink.put(batch).unwrap();
    }
    sink.finish().unwrap();
    target.commit().unwrap();
    file
}

/// All writes that the model made, by register and by byte, with the numbers of the instructions; and its steps.
#[derive(Default)]
struct Writes {
    registers: HashMap<Reg, Vec<u64>>,
    bytes: HashMap<u64, Vec<u64>>,
    loads: Vec<(u64, u64, u64)>,
    /// The number that each instruction of the model has in the trace.
    executed: Vec<Option<u64>>,
}

/// Number, address and length of the instructions of a trace; STF has one more for every interrupt, which is left out.
fn steps_of(trace: &mut Trace) -> Vec<(u64, Option<u64>, u8)> {
    let mut source = trace.events().unwrap();
    let mut batch = Batch::default();
    let mut steps: Vec<(u64, Option<u64>, u8)> = Vec::new();
    while source.fill(&mut batch).unwrap() {
        let mut number = batch.first_instruction;
        for event in &batch.events {
            match event.kind {
                EventKind::Step(step) => steps.push((number, step.pc, step.length)),
                EventKind::Trap(n)
                    if batch.traps[n as usize].kind == TrapKind::Interrupt
                        && steps.last().is_some_and(|(at, _, length)| *length == 0 && at + 1 == number) =>
                {
                    steps.pop();
                }
                _ => {}
            }
            number += event.kind.instructions();
        }
    }
    steps
}

impl Writes {
    /// The model's writes, by the numbers of the trace.
    fn of(path: &Path, steps: &[(u64, Option<u64>, u8)]) -> Writes {
        let mut machine = machine(path);
        let mut fx = Effects::new();
        let mut all = Writes::default();
        let isa = machine.hart.config().isa;
        let mut steps = steps.iter().peekable();
        while machine.status() == Status::Running {
            let pc = machine.hart.state().pc;
            let taken = machine.step(&mut fx);
            if taken.is_some_and(|taken| taken.interrupt) {
                continue;
            }
            // Tandem has no instruction where the fetch faulted.
            let same =
                |step: &&&(u64, Option<u64>, u8)| step.1 == Some(pc) && (fx.length > 0) == (step.2 > 0);
            let Some(&&(number, ..)) = steps.peek().filter(same) else {
                assert!(
                    fx.length == 0 || steps.peek().is_none(),
                    "{path:?}: {pc:#x}, not {:?}",
                    steps.peek()
                );
                if steps.peek().is_none() {
                    break;
                }
                all.executed.push(None);
                continue;
            };
            steps.next();
            all.executed.push(Some(number));
            let mut written = Vec::new();
            written.extend(fx.x.map(|(number, _)| Reg { class: RegClass::Int, number: number.into() }));
            written.extend(fx.f.map(|(number, _)| Reg { class: RegClass::Float, number: number.into() }));
            // The encoding says the same as the model did.
            if taken.is_none() {
                let known = trackway_isa::registers(isa, fx.encoding).expect("it ran");
                let named = known.destinations().filter(|reg| reg.class != RegClass::Csr);
                assert!(named.eq(written.iter().copied()), "{:08x}: {known:?} {written:?}", fx.encoding);
                if let Some((csr, _)) = fx.csr_read {
                    assert!(known.sources().any(|reg| reg == Reg { class: RegClass::Csr, number: csr }));
                }
                let is_csr = fx.inst.is_some_and(|inst| inst.csr_access().1);
                if is_csr {
                    let csr = fx.inst.map(|inst| inst.imm as u16).unwrap();
                    assert!(known.destinations().any(|reg| reg == Reg { class: RegClass::Csr, number: csr }));
                }
            }
            for (csr, _) in fx.csrs.iter() {
                written.push(Reg { class: RegClass::Csr, number: csr });
            }
            for reg in written {
                all.registers.entry(reg).or_default().push(number);
            }
            for access in fx.memory.iter() {
                if access.kind != AccessKind::Load {
                    for byte in 0..u64::from(access.size) {
                        all.bytes.entry(access.address + byte).or_default().push(number);
                    }
                }
                all.loads.push((number, access.address, access.size.into()));
            }
        }
        all
    }

    /// The last write before instruction `at`.
    fn last(list: Option<&Vec<u64>>, at: u64) -> Option<u64> {
        let list = list?;
        list[..list.partition_point(|number| *number < at)].last().copied()
    }
}

/// Points of a trace, in order.
fn points(numbers: &mut Numbers, count: u64, wanted: usize) -> Vec<u64> {
    let mut points: Vec<u64> = (0..wanted).map(|_| numbers.below(count)).collect();
    points.sort_unstable();
    points.dedup();
    points
}

#[test]
fn an_index_changes_no_state_in_any_format() {
    let folder = Folder::new("indexed");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mix, sort) = (root.join("programs/riscv/elf/rv64-mix.elf"), root.join("programs/aarch64/sort.elf"));
    let mut numbers = Numbers(18);
    for (id, distance) in [("stf", 4000), ("tandem", 4000), ("etrace", 4000), ("astf", 500), ("ete", 500)] {
        let (elf, file) = if let "astf" | "ete" = id {
            let mut run = Trace::open(root.join("testdata/astf/sort.astf")).unwrap();
            (&sort, write(&sort, &mut *run.events().unwrap(), 200, id, &folder.0))
        } else {
            (&mix, write(&mix, &mut recorder(&mix, 100_000), 1, id, &folder.0))
        };
        let open = |index| {
            let format = Some(FormatId::new(id));
            let options = Options { format, index, ..Trace::options() };
            options.elf(elf.display().to_string()).open(&file).unwrap()
        };
        let (mut trace, mut plain) = (open(Indexing::Beside), open(Indexing::Off));
        let (index, health) = trace.make_index(Some(distance), |_, _| {}).unwrap();
        let part = index.sources.values().next().unwrap().clone();
        let machines = part.checkpoints.iter().filter(|one| one.machine.is_some()).count();
        assert!(machines > 3, "{id}: {machines} of {} checkpoints have a machine", part.checkpoints.len());
        trace.set_index(index).unwrap();
        let what = [
            Location::Reg(Reg { class: RegClass::Int, number: 10 }),
            Location::Mem { address: 0x8000_1000, length: 16 },
        ];
        for at in points(&mut numbers, health.counts.instructions, 40) {
            let shown = [&mut trace, &mut plain].map(|trace| {
                let point = past::at(trace, at).unwrap().expect("it has that many instructions");
                let mut past = Past::new(trace).unwrap();
                let bytes = past::memory(&mut past, at, 0x8000_1000, 32, None).unwrap();
                let causes = what.map(|what| past::why(&mut past, at, what, 3).unwrap());
                (point.machine, point.next, bytes, causes)
            });
            assert!(shown[0] == shown[1], "{id} before {at}");
        }
    }
}

/// The same address is other memory in another address space.
#[test]
fn another_address_space_ends_the_search() {
    let folder = Folder::new("spaces");
    for (later, is_other) in [(2, true), (1, false)] {
        let mut batch = Batch::default();
        let process = |pid| Context { pid: Some(pid), tid: Some(pid), ..Context::default() };
        batch.push_context(0, process(1));
        // sw a0,0(a1) and nop.
        let begun = batch.begin_accesses();
        batch.mem.push(MemAccess::new(MemKind::Write, 0x2000, 4, Value::Word(7)));
        let accesses = batch.end_accesses(begun).unwrap();
        batch.push(0, EventKind::Step(Step { accesses, ..Step::new(0x1000, 0x00a5_a023, 4) }));
        batch.push_context(0, process(later));
        batch.push(0, EventKind::Step(Step::new(0x1004, 0x13, 4)));
        let file = folder.0.join(format!("{later}.stf"));
        let (target, settings, files) = (Output::new(&file), Settings::default(), Files::default());
        let writing = Writing { target: target.clone(), settings: &settings, program: &files, threads: 1 };
        let format = by_id(FORMATS, FormatId::new("stf")).unwrap();
        let mut sink = format.create(writing, &Meta::new(FormatId::new("test"), Isa::Rv64)).unwrap();
        sink.put(&batch).unwrap();
        sink.finish().unwrap();
        target.commit().unwrap();

        let mut trace = Trace::open(&file).unwrap();
        let mut past = Past::new(&mut trace).unwrap();
        let bytes = past::memory(&mut past, 2, 0x2000, 4, None).unwrap();
        let what = Location::Mem { address: 0x2000, length: 4 };
        let causes = past::why(&mut past, 2, what, 1).unwrap().causes;
        let origin = if is_other { Origin::Space(1) } else { Origin::Written(0) };
        let cause = if is_other { Cause::End(End::Context(1)) } else { Cause::Node(0) };
        assert_eq!((bytes.len(), bytes[0].origin), (1, origin));
        assert_eq!(causes, [(what, cause)]);
    }
}

/// A claim of the state.
enum Claim {
    Register(Reg, u64, u64),
    Byte(u64, u8),
}

#[test]
fn the_state_at_a_thousand_points_is_that_of_the_model() {
    let folder = Folder::new("state");
    let (mut compared, mut points_seen, mut csrs, mut bytes) = (0u64, 0, 0u64, 0u64);
    for (n, path) in programs().iter().enumerate() {
        let mut numbers = Numbers(n as u64 + 1);
        let translated = path.to_string_lossy().contains("-sv");
        for format in ["stf", "tv"] {
            let id = if format == "tv" { "tandem" } else { format };
            let file = record(path, id, &folder.0);
            let mut trace = Trace::options().elf(path.display().to_string()).open(&file).unwrap();
            let writes = Writes::of(path, &steps_of(&mut trace));
            let mut claims: HashMap<u64, Vec<Claim>> = HashMap::new();
            for executed in points(&mut numbers, writes.executed.len() as u64, 24) {
                let Some(at) = writes.executed[executed as usize] else { continue };
                let point = past::at(&mut trace, at).unwrap().expect("it has that many instructions");
                let list = claims.entry(executed).or_default();
                for (reg, known) in point.machine.registers.iter() {
                    if let Some(Content::Word(value, mask)) = known.content {
                        list.push(Claim::Register(reg, value, mask));
                    }
                    // Who wrote it: the model agrees.
                    if known.how == How::Written && reg.class != RegClass::Csr {
                        let writer = Writes::last(writes.registers.get(&reg), at);
                        assert_eq!(writer, Some(known.number), "{path:?} {format} before {at}: {reg}");
                    }
                }
                let near = writes.loads.partition_point(|load| load.0 < at);
                if near > 0 && !translated {
                    let (_, address, size) =
                        writes.loads[near - 1 - numbers.below(near.min(50) as u64) as usize];
                    let (address, length) = (address.wrapping_sub(4), size + 8);
                    let mut past = Past::new(&mut trace).unwrap();
                    for piece in past::memory(&mut past, at, address, length, None).unwrap() {
                        for (n, byte) in piece.content.iter().flatten().enumerate() {
                            list.push(Claim::Byte(piece.address + n as u64, *byte));
                            let writer = Writes::last(writes.bytes.get(&(piece.address + n as u64)), at);
                            if let Origin::Written(number) = piece.origin {
                                assert_eq!(writer, Some(number), "{path:?} before {at}");
                            }
                        }
                    }
                }
                points_seen += 1;
            }
            let (registers, status, memory) = compare(path, &claims);
            compared += registers;
            csrs += status;
            bytes += memory;
        }
    }
    eprintln!("{points_seen} points: {compared} registers, {csrs} CSRs, {bytes} bytes compared");
    assert!(points_seen >= 1000 && compared > 20_000 && csrs > 1_000 && bytes > 5_000);
}

/// Runs the model and compares it with the claims before each instruction; returns how much was compared.
fn compare(path: &Path, claims: &HashMap<u64, Vec<Claim>>) -> (u64, u64, u64) {
    let mut machine = machine(path);
    let mut fx = Effects::new();
    let (mut registers, mut csrs, mut bytes) = (0, 0, 0);
    let mut number = 0;
    while machine.status() == Status::Running && number < LIMIT {
        let state = machine.hart.state().clone();
        let here = claims.get(&number);
        let found: Vec<Option<u64>> =
            here.into_iter().flatten().map(|claim| value(&machine, claim)).collect();
        if machine.step(&mut fx).is_some_and(|taken| taken.interrupt) {
            continue;
        }
        for (claim, found) in here.into_iter().flatten().zip(found) {
            let at = format!("{path:?} before {number}, pc {:#x}", state.pc);
            match *claim {
                Claim::Register(reg, value, mask) => {
                    let found = found.unwrap_or_else(|| panic!("{at}: {reg} does not exist"));
                    assert_eq!(value & mask, found & mask, "{at}: {reg}");
                    if reg.class == RegClass::Csr { csrs += 1 } else { registers += 1 }
                }
                Claim::Byte(address, byte) => {
                    // Devices have no content to compare.
                    if let Some(found) = found {
                        assert_eq!(u64::from(byte), found, "{at}: byte at {address:#x}");
                        bytes += 1;
                    }
                }
            }
        }
        number += 1;
    }
    (registers, csrs, bytes)
}

/// The model's value of what is claimed.
fn value(machine: &Machine, claim: &Claim) -> Option<u64> {
    let state = machine.hart.state();
    match *claim {
        Claim::Register(reg, ..) => match reg.class {
            RegClass::Int => Some(state.x[usize::from(reg.number)]),
            RegClass::Float => Some(state.f[usize::from(reg.number)]),
            _ => machine.hart.read_csr(reg.number),
        },
        Claim::Byte(address, _) => {
            let ram = machine.system.ram();
            ram.bytes()
                .get(usize::try_from(address.checked_sub(ram.base())?).ok()?)
                .map(|byte| u64::from(*byte))
        }
    }
}

#[test]
fn every_writer_is_the_last_one_of_the_model() {
    let folder = Folder::new("why");
    let (mut nodes, mut ends, mut points_seen) = (0, 0, 0);
    for (n, path) in programs().iter().enumerate() {
        let mut numbers = Numbers(n as u64 + 77);
        let file = record(path, "stf", &folder.0);
        let mut trace = Trace::options().elf(path.display().to_string()).open(&file).unwrap();
        let writes = Writes::of(path, &steps_of(&mut trace));
        for executed in points(&mut numbers, writes.executed.len() as u64, 45) {
            let Some(at) = writes.executed[executed as usize] else { continue };
            let near = writes.loads.partition_point(|load| load.0 < at);
            let what = match (numbers.below(5), near) {
                (0, 1..) => {
                    let (_, address, length) =
                        writes.loads[near - 1 - numbers.below(near.min(50) as u64) as usize];
                    Location::Mem { address, length }
                }
                (1, _) => Location::Reg(Reg { class: RegClass::Float, number: numbers.below(32) as u16 }),
                _ => Location::Reg(Reg { class: RegClass::Int, number: 1 + numbers.below(31) as u16 }),
            };
            let why = past::why(&mut Past::new(&mut trace).unwrap(), at, what, 12).unwrap();
            let context = format!("{path:?} before {at}: {what:?}");
            ends += check(&writes, &why, at, &why.causes, what, &context);
            for node in &why.nodes {
                nodes += 1;
                for input in &node.inputs {
                    ends += check(&writes, &why, node.number, &input.causes, input.what, &context);
                }
            }
            points_seen += 1;
        }
    }
    eprintln!("{points_seen} points: {nodes} instructions, {ends} ends");
    assert!(points_seen >= 1000 && nodes > 1_500 && ends > 1_000);
}

/// Checks the causes of what was asked for before instruction `at`; returns how many have no writer.
fn check(
    writes: &Writes,
    why: &Why,
    at: u64,
    causes: &[(Location, Cause)],
    asked: Location,
    context: &str,
) -> u64 {
    let mut ends = 0;
    let mut covered = 0;
    for (what, cause) in causes {
        let lists: Vec<Option<&Vec<u64>>> = match *what {
            Location::Reg(reg) => vec![writes.registers.get(&reg)],
            Location::Mem { address, length } => {
                covered += length;
                (address..address + length).map(|byte| writes.bytes.get(&byte)).collect()
            }
        };
        for list in lists {
            let last = Writes::last(list, at);
            match cause {
                Cause::Node(place) => {
                    let is_csr = matches!(what, Location::Reg(Reg { class: RegClass::Csr, .. }));
                    // A CSR has other views, which the model's list has under their own names.
                    assert!(
                        last == Some(why.nodes[*place].number) || is_csr,
                        "{context}: {what:?} before {at} was written by {last:?}, not {}",
                        why.nodes[*place].number
                    );
                }
                Cause::End(End::Start | End::Image) => {
                    assert_eq!(last, None, "{context}: {what:?} before {at}")
                }
                Cause::End(End::Shown(n)) => {
                    assert!(last.is_none_or(|last| last < *n), "{context}: {what:?}")
                }
                Cause::End(_) => ends += 1,
            }
            ends += u64::from(matches!(cause, Cause::End(_)));
        }
    }
    if let Location::Mem { length, .. } = asked {
        assert_eq!(covered, length, "{context}: every byte has an answer");
    } else {
        assert_eq!(causes.len(), 1, "{context}: {asked:?} before {at}");
    }
    ends
}

/// A folder that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("trackway-past-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A call is on the stack before the first instruction of the function, and gone after the return.
#[test]
fn a_function_is_on_the_stack_from_its_first_instruction_to_its_return() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/stf/sort/trace.stf");
    let innermost = |number| {
        let point = past::at(&mut Trace::open(&file).unwrap(), number).unwrap().unwrap();
        point.machine.calls.frames().next().map(|frame| (frame.target, frame.number))
    };
    // 251 calls `sum` at 0x10136, and 294 returns.
    assert_eq!([251, 252, 294, 295].map(innermost), [None, Some((0x10136, 251)), Some((0x10136, 251)), None]);
}
