//! The memory accesses of real executions through data trace, together with the instruction trace: the same
//! accesses at the same instructions.
//!
//! The ordinary run takes a window of each; `TRACKWAY_SWEEP=1` takes all of them and prints the table of the
//! documentation.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use trackway_core::*;
use trackway_etrace::transport::Framing;
use trackway_etrace::{Compress, Order};
use trackway_etrace::{Config, Dialect, Lower, Plan, SupportLayout, lift_by};
use trackway_hart::linux::{self, Process};
use trackway_hart::machine::{Machine, MachineConfig};
use trackway_hart::{Program, RecordOptions, Recorder, Target};
use trackway_image::{Image, Space};
use trackway_testkit::qemu;

/// An access: number of instructions that retired before its own, kind, address, size, data read or written, data
/// that an atomic wrote.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    at: usize,
    kind: MemKind,
    address: Option<u64>,
    size: u64,
    data: Option<u64>,
    stored: Option<u64>,
}

/// A CSR that an instruction read.
type Csr = (usize, u16, Option<u64>);

#[derive(Default)]
struct Collected {
    retired: usize,
    pcs: Vec<u64>,
    accesses: Vec<Seen>,
    csrs: Vec<Csr>,
}

fn word(value: Value) -> Option<u64> {
    match value {
        Value::Word(word) => Some(word),
        _ => None,
    }
}

impl Collected {
    /// The accesses of the instruction that retires next. A read and a write of the same place are one access: some
    /// recordings, and traces without atomics, keep them apart.
    fn note(&mut self, batch: &Batch, accesses: Accesses, encoding: u32) {
        let store_conditional = encoding & 0xf800_607f == 0x1800_202f;
        let mut seen: Vec<Seen> = Vec::new();
        for access in batch.mem_of(accesses) {
            let extra = batch.mem_extra_of(access).copied().unwrap_or_default();
            let here = Seen {
                at: self.retired,
                kind: access.kind,
                address: (!access.unplaced).then_some(access.address),
                size: access.size,
                data: word(access.data),
                stored: word(extra.stored),
            };
            match seen.last_mut() {
                Some(last)
                    if (last.kind, here.kind) == (MemKind::Read, MemKind::Write)
                        && (last.address, last.size) == (here.address, here.size) =>
                {
                    (last.kind, last.stored) = (MemKind::ReadWrite, here.data);
                }
                _ => seen.push(here),
            }
        }
        if store_conditional {
            // QEMU records the comparison, too.
            for access in seen.iter_mut().filter(|access| access.kind == MemKind::ReadWrite) {
                (access.kind, access.data, access.stored) = (MemKind::Write, access.stored, None);
            }
        }
        self.accesses.extend(seen);
        let sources = batch.regs_of(accesses).iter().filter(|access| access.role == RegRole::Source);
        self.csrs.extend(
            sources
                .filter(|access| access.reg.class == RegClass::Csr)
                .map(|access| (self.retired, access.reg.number, word(access.value))),
        );
    }
}

struct Case {
    name: String,
    batches: Vec<Batch>,
    wanted: Collected,
    image: Arc<Image>,
}

fn collect(name: String, mut image: Image, window: usize, source: &mut dyn Source) -> Case {
    // Code that is not in the ELF: a reset ROM, the page that signals return through.
    let mut outside = BTreeMap::new();
    let memory = image.memory(&Context::default());
    let (mut batches, mut wanted, mut batch) = (Vec::new(), Collected::default(), Batch::default());
    while wanted.retired < window && source.fill(&mut batch).unwrap() {
        for event in &batch.events {
            if let EventKind::Step(step) = &event.kind
                && step.outcome == Outcome::Retired
            {
                wanted.note(&batch, step.accesses, step.encoding);
                wanted.pcs.extend(step.pc);
                wanted.retired += 1;
            }
            if let EventKind::Step(Step { pc: Some(pc), encoding, length, .. }) = event.kind
                && length > 0
                && memory.word(pc).is_none()
            {
                outside.insert(pc, encoding.to_le_bytes()[..usize::from(length)].to_vec());
            }
        }
        batches.push(std::mem::take(&mut batch));
    }
    for (pc, bytes) in outside {
        image.add_raw("outside", pc, Arc::new(bytes), Space::default()).unwrap();
    }
    Case { name, batches, wanted, image: Arc::new(image) }
}

fn recorded(folder: &str, name: &str, window: usize) -> Option<Case> {
    let run = qemu::Run::corpus(folder, name)?;
    let mut image = Image::default();
    image.add_elf("elf", Arc::new(run.elf.clone()), None, Space::default()).unwrap();
    Some(collect(format!("{folder}/{name}"), image, window, &mut run.events()))
}

/// A program of the corpus on the golden model, which knows data.
fn executed(name: &str, argument: Option<&str>, window: usize) -> Option<Case> {
    let run = qemu::Run::corpus("rv64gc", name)?;
    let mut image = Image::default();
    image.add_elf("elf", Arc::new(run.elf.clone()), None, Space::default()).unwrap();
    let arguments = std::iter::once(name).chain(argument).map(str::to_string);
    let process = Process::new(&Program::read(&run.elf).unwrap(), linux::Options::new(arguments)).unwrap();
    let mut recorder = Recorder::new(Target::Process(Box::new(process)), RecordOptions::default());
    Some(collect(format!("model/{name}"), image, window, &mut recorder))
}

/// A bare-metal program of ours on the golden model.
fn machine(name: &str, window: usize) -> Case {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/riscv/elf")).join(name);
    let elf = std::fs::read(path).unwrap();
    let program = Program::read(&elf).unwrap();
    let mut image = Image::default();
    image.add_elf("elf", Arc::new(elf), None, Space::default()).unwrap();
    let machine =
        Machine::new(MachineConfig::new(trackway_hart::Config::new(program.isa)), &program).unwrap();
    let mut recorder = Recorder::new(Target::Machine(Box::new(machine)), RecordOptions::default());
    collect(format!("model/{name}"), image, window, &mut recorder)
}

/// How data packets look.
#[derive(Clone, Copy, Debug)]
struct Form {
    dialect: Dialect,
    no_address: bool,
    no_data: bool,
    split: bool,
    atomics: bool,
    compress: Compress,
    order: Order,
}

fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for dialect in Dialect::ALL {
        for (no_address, no_data) in [(false, false), (true, false), (false, true)] {
            for (split, atomics) in [(false, true), (true, true), (false, false), (true, false)] {
                for compress in [Compress::Off, Compress::Xor, Compress::Difference, Compress::Both] {
                    let order =
                        if split && compress == Compress::Xor { Order::Loose } else { Order::Retired };
                    all.push(Form { dialect, no_address, no_data, split, atomics, compress, order });
                }
            }
        }
    }
    all
}

fn config(form: Form, isa: Isa) -> Config {
    let mut config = Config::new(form.dialect);
    config.support = SupportLayout::named("all").unwrap();
    config.params.iaddress_width = if isa == Isa::Rv32 { 32 } else { 64 };
    config.params.lrid_width = if form.split { 4 } else { 0 };
    config.options.no_address = form.no_address;
    config.options.no_data = form.no_data;
    config.encoder.resync_interval = Some(50);
    config.data.enable = true;
    config.data.split = form.split;
    config.data.atomics = form.atomics;
    config.data.csrs = form.atomics;
    config.data.compress = form.compress;
    config.data.latency = 10;
    config.data.order = form.order;
    // Data packets have a type, in the header or after it, or a source id of their own.
    config.framing = match (form.split, form.compress) {
        (_, Compress::Off) => Framing::Encap { srcid_width: 6, type_width: 2, timestamp_bytes: 0 },
        (true, Compress::Difference) => Framing::Ultrasoc { index_width: 8 },
        _ => Framing::Smi,
    };
    config.encoder.source = if config.framing == Framing::Smi { 0 } else { 5 };
    config.data.source = matches!(config.framing, Framing::Ultrasoc { .. }).then_some(9);
    config.check().unwrap();
    // The settings alone describe the trace.
    assert_eq!(Config::from_toml(&config.to_toml()).unwrap(), config);
    config
}

fn encode(case: &Case, config: &Config) -> Lower<Vec<u8>> {
    let isa = case.image.isa().unwrap();
    let mut lower = Lower::new(Vec::new(), config, isa, None).unwrap();
    for batch in &case.batches {
        lower.put(batch).unwrap();
    }
    lower.finish().unwrap();
    lower
}

fn decode(case: &Case, config: &Config, bytes: Vec<u8>, jobs: usize) -> Collected {
    let mut lift = lift_by(
        Input::from_vec(bytes),
        config,
        Arc::clone(&case.image),
        &Plan { part_bytes: 500, ..Plan::new(jobs) },
    )
    .unwrap();
    let memory = case.image.memory(&Context::default());
    let (mut found, mut batch) = (Collected::default(), Batch::default());
    while lift.fill(&mut batch).unwrap_or_else(|error| panic!("{}: {error}", case.name)) {
        for event in &batch.events {
            match &event.kind {
                EventKind::Run(run) => {
                    let mut at = run.start;
                    for n in 0..run.count - u32::from(run.attempted) {
                        let (encoding, length) = memory.fetch(run.isa, at).unwrap();
                        if n + 1 == run.count {
                            found.note(&batch, batch.accesses_of(run), encoding);
                        }
                        found.pcs.push(at);
                        found.retired += 1;
                        at += u64::from(length);
                    }
                }
                EventKind::Step(_) | EventKind::Gap(_) | EventKind::Foreign(_) => {
                    panic!("{}: {:?} {:?}", case.name, event, batch.gaps)
                }
                _ => {}
            }
        }
    }
    found
}

/// The same accesses at the same instructions, as far as the form has them. Data that were not recorded come back
/// as something.
fn there_and_back(case: &Case, mut form: Form, jobs: usize) {
    if case.name.contains("atomic") {
        // Without a known order, a store-conditional that failed may take the packet of the next store.
        form.order = Order::Retired;
    }
    let isa = case.image.isa().unwrap();
    let config = config(form, isa);
    let lower = encode(case, &config);
    let found = decode(case, &config, lower.into_inner(), jobs);
    let what = || format!("{} {form:?} {jobs} jobs", case.name);
    assert!(found.pcs == case.wanted.pcs, "{}: instructions", what());
    let kept = |seen: &Seen, from: &Seen| Seen {
        address: seen.address.filter(|_| !form.no_address),
        data: seen.data.filter(|_| !form.no_data && from.data.is_some()),
        stored: seen.stored.filter(|_| !form.no_data && from.stored.is_some()),
        ..*seen
    };
    assert_eq!(found.accesses.len(), case.wanted.accesses.len(), "{}", what());
    for (found, wanted) in found.accesses.iter().zip(&case.wanted.accesses) {
        assert_eq!(kept(found, wanted), kept(wanted, wanted), "{}: {found:x?} {wanted:x?}", what());
        assert!(!form.no_data || found.data.is_none());
        assert!(!form.no_address || found.address.is_none());
    }
    if form.atomics {
        let numbers = |csrs: &[Csr]| csrs.iter().map(|csr| (csr.0, csr.1)).collect::<Vec<_>>();
        if form.no_data {
            assert!(
                case.wanted.csrs.iter().all(|csr| numbers(&found.csrs).contains(&(csr.0, csr.1))),
                "{}",
                what()
            );
        } else {
            assert_eq!(found.csrs, case.wanted.csrs, "{}", what());
        }
    }
}

fn window() -> usize {
    if std::env::var_os("TRACKWAY_SWEEP").is_some() { usize::MAX } else { 3_000 }
}

/// Addresses as QEMU recorded them.
#[test]
fn recorded_accesses_in_all_forms() {
    for (folder, name) in qemu::RISCV {
        let Some(case) = recorded(folder, name, window()) else { return };
        for (n, form) in forms().into_iter().enumerate() {
            there_and_back(&case, form, 1 + n % 2);
        }
        eprintln!("{}: {} accesses", case.name, case.wanted.accesses.len());
    }
}

/// Addresses and data as the golden model executes them.
#[test]
fn executed_accesses_in_all_forms() {
    let programs = [
        "rv64-mix.elf",
        "rv64-atomic.elf",
        "rv64-privileged.elf",
        "rv64-float.elf",
        "rv32-mix.elf",
        "rv32-atomic.elf",
    ];
    let machines = programs.into_iter().map(|name| machine(name, window().min(60_000)));
    let users = [("qsortmix", Some("600")), ("fpmix", None), ("sigmt", None)];
    let users = users.into_iter().filter_map(|(name, argument)| executed(name, argument, window()));
    for case in machines.chain(users) {
        for (n, form) in forms().into_iter().enumerate() {
            there_and_back(&case, form, 1 + n % 2);
        }
        let (accesses, csrs) = (case.wanted.accesses.len(), case.wanted.csrs.len());
        eprintln!("{}: {accesses} accesses, {csrs} CSR reads", case.name);
    }
}

/// The table of the documentation: bits of data trace per access, by form and compression. `TRACKWAY_SWEEP=1`
/// prints it.
#[test]
fn compression_by_form() {
    if std::env::var_os("TRACKWAY_SWEEP").is_none() {
        eprintln!("SKIPPED: the table is made with TRACKWAY_SWEEP=1");
        return;
    }
    // Addresses of the recordings; addresses and data of the same programs on the golden model.
    let users = [("qsortmix", Some("600")), ("fpmix", None), ("sigmt", None)];
    let most = 2_000_000;
    let mut cases: Vec<Case> = vec![machine("rv64-mix.elf", most), machine("rv64-atomic.elf", most)];
    cases.extend(users.into_iter().filter_map(|(name, argument)| executed(name, argument, most)));
    let recordings: Vec<Case> =
        qemu::RISCV.iter().filter_map(|(folder, name)| recorded(folder, name, most)).collect();
    let short = |case: &Case| case.name.rsplit('/').next().unwrap().trim_end_matches(".elf").to_string();
    let line = |cases: &[Case], form: Form, name: &str| {
        let mut line = format!("| {name} |");
        for case in cases {
            let mut config = config(form, case.image.isa().unwrap());
            config.encoder.resync_interval = None;
            config.encoder.compress = !name.contains("no compression");
            let lower = encode(case, &config);
            let writer = &lower.encoder().writer;
            let per_access = writer.data_bytes as f64 * 8.0 / writer.data_packets.max(1) as f64;
            let per_instruction = writer.data_bytes as f64 * 8.0 / case.wanted.retired as f64;
            line += &format!(" {per_access:.1} ({per_instruction:.2}) |");
        }
        eprintln!("{line}");
    };
    let base = Form {
        dialect: Dialect::V2,
        no_address: false,
        no_data: false,
        split: false,
        atomics: true,
        compress: Compress::Off,
        order: Order::Retired,
    };
    for (cases, forms) in [
        (
            &cases,
            [("address and data", false, false), ("data only", true, false), ("address only", false, true)]
                .to_vec(),
        ),
        (&recordings, [("address only", false, true)].to_vec()),
    ] {
        let names: Vec<String> = cases.iter().map(short).collect();
        eprintln!("| form | {} |\n|---|{}", names.join(" | "), "---|".repeat(cases.len()));
        for (name, no_address, no_data) in forms {
            let form = Form { no_address, no_data, ..base };
            line(cases, form, &format!("{name}, no compression of packets"));
            line(cases, form, &format!("{name}, full"));
            if no_data {
                line(cases, Form { compress: Compress::Both, ..form }, &format!("{name}, differences"));
                continue;
            }
            line(cases, Form { compress: Compress::Xor, ..form }, &format!("{name}, xor"));
            line(cases, Form { compress: Compress::Difference, ..form }, &format!("{name}, differences"));
            line(cases, Form { compress: Compress::Both, ..form }, &format!("{name}, the shorter"));
            if name == "address and data" {
                line(cases, Form { compress: Compress::Both, split: true, ..form }, "the same, split loads");
                line(
                    cases,
                    Form { compress: Compress::Both, dialect: Dialect::Draft, ..form },
                    "the same, draft",
                );
            }
        }
    }
}
