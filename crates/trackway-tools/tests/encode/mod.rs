//! A trace encoder on the golden model's machine, as hardware would have it: groups straight from effects.

use std::path::{Path, PathBuf};

use trackway_core::Input;
use trackway_hart::machine::{Machine, MachineConfig, Status};
use trackway_hart::{AccessKind, Config as Core, Effects, Extensions, Program};
use trackway_isa::riscv::{Class, Extension};
use trackway_tandem::{Config, Group, Packer, Profile, Record, Style, Trace, register};
use trackway_tools::verify::{Options, Range, Report, Verifier, verify};

/// The self-checking programs.
pub(crate) fn programs() -> Vec<PathBuf> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/riscv/elf"));
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// A program with its machine and the parameters of its trace.
pub(crate) struct Subject {
    pub(crate) program: Program,
    pub(crate) machine: MachineConfig,
    pub(crate) config: Config,
}

pub(crate) fn subject(path: &Path, profile: Profile) -> Subject {
    let program = Program::read(&std::fs::read(path).unwrap()).unwrap();
    let mut core = Core::new(program.isa);
    if path.to_string_lossy().contains("aligned") {
        core.extensions = Extensions::ALL.with(Extension::C, false);
    }
    let machine = MachineConfig::new(core);
    let base = if core.is_rv32() { Config { flen: 64, ..Config::rv32() } } else { Config::default() };
    let config = Config { profile, reset_pc: Some(machine.core.reset_pc), ..base };
    Subject { program, machine, config }
}

/// Runs the program and returns the groups that an encoder emits.
pub(crate) fn record(subject: &Subject, limit: usize) -> Vec<Group> {
    let mut machine = Machine::new(subject.machine, &subject.program).unwrap();
    let mut effects = Effects::new();
    let mut groups = vec![Group { records: vec![Record::HartReset], ..Group::default() }];
    let mut mip = machine.hart.mip();
    while machine.status() == Status::Running && groups.len() < limit {
        let x = machine.hart.state().x;
        let level = machine.hart.state().level;
        let taken = machine.step(&mut effects);
        let records =
            group(subject, &effects, &x, taken.is_some(), machine.hart.state().level != level, &machine);
        groups.push(Group { records, ..Group::default() });
        // A change of the pending interrupts is recorded as by the Flute core.
        if machine.hart.mip() != mip {
            mip = machine.hart.mip();
            let change = Record::FullRegister { address: 0x344, data: mip };
            groups.push(Group { records: vec![Record::StateInitialization, change], ..Group::default() });
        }
    }
    groups
}

fn group(
    subject: &Subject,
    fx: &Effects,
    x: &[u64; 32],
    trapped: bool,
    moved: bool,
    machine: &Machine,
) -> Vec<Record> {
    let bluespec = subject.config.profile == Profile::Bluespec;
    let mut records = vec![Record::Pc(fx.next_pc)];
    match fx.length {
        2 => records.push(Record::Instruction16(fx.encoding as u16)),
        4 => records.push(Record::Instruction32(fx.encoding)),
        _ => {}
    }
    let returns = fx.inst.is_some_and(|inst| inst.op.name().ends_with("ret"));
    if trapped || moved || returns {
        records.push(Record::PrivilegeMode(machine.hart.state().level as u8));
    }
    let full = |address, data| Record::FullRegister { address, data };
    records.extend(fx.x.map(|(n, value)| full(register::GPR + u16::from(n), value)));
    records.extend(fx.f.map(|(n, value)| full(register::FPR + u16::from(n), value)));
    if let Some(access) = fx.memory.iter().next() {
        let size = access.size.ilog2() as u8;
        let class = fx.inst.map(|inst| inst.op.class());
        let operand = fx.inst.map_or(0, |inst| x[usize::from(inst.rs2)]);
        let cut = |value: u64| trackway_core::mask(value, 8 * u32::from(access.size));
        let data = match (access.kind, class) {
            (AccessKind::Amo, _) if bluespec => Some(cut(operand)),
            (AccessKind::Amo, _) => Some(access.stored),
            (AccessKind::Store, _) => Some(access.data),
            (AccessKind::Load, Some(Class::LoadReserved(_))) if bluespec => Some(0),
            _ => None,
        };
        records.extend(data.map(|data| Record::StoreData { size, data }));
        if !bluespec {
            records.push(Record::PhysicalAddress(access.physical));
        }
        records.push(Record::EffectiveAddress(access.address));
    }
    if !bluespec && fx.length > 0 && !trapped {
        records.push(Record::PcPhysicalAddress(fx.physical_pc));
    }
    let mut csrs = fx.csrs.iter().map(|(number, value)| full(number, value)).collect::<Vec<_>>();
    csrs.dedup();
    // One value per register: where a trap and an instruction both wrote, the last counts.
    let mut seen = Vec::new();
    for record in csrs.into_iter().rev() {
        if let Record::FullRegister { address, .. } = record
            && !seen.contains(&address)
        {
            seen.push(address);
            records.push(record);
        }
    }
    records
}

/// The bytes of groups.
pub(crate) fn bytes(groups: &[Group], config: &Config, style: Style) -> Vec<u8> {
    let mut packer = Packer::new(Vec::new(), config, style).unwrap();
    groups.iter().for_each(|group| packer.put(group).unwrap());
    packer.into_inner().unwrap()
}

/// The machine's devices: first address and size.
pub(crate) const DEVICES: [(u64, u64); 4] =
    [(0x10_0000, 0x1000), (0x200_0000, 0x1_0000), (0xc00_0000, 0x400_0000), (0x1000_0000, 0x1000)];

pub(crate) fn options(subject: &Subject) -> Options {
    let range = |start: u64, size: u64| Range { start, end: start + size };
    Options {
        mmio: DEVICES.map(|(start, size)| range(start, size)).to_vec(),
        map: vec![range(0x1000, 0xf000), range(0x8000_0000, 128 << 20)],
        // The boot ROM is not in the ELF file.
        trusted: vec![Range { start: 0x1000, end: 0x2000 }],
        ..Options::new(subject.machine.core)
    }
}

pub(crate) fn verify_bytes(subject: &Subject, bytes: Vec<u8>, options: Options) -> Report {
    let mut verifier = Verifier::new(options);
    verifier.memory.load_program(&subject.program, 0);
    let mut lift = Trace::open(Input::from_vec(bytes), subject.config).unwrap().events();
    verify(&mut lift, &mut verifier).unwrap();
    verifier.report
}
