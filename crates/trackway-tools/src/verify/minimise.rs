//! From a failing trace: a snapshot of the state, and the shortest run of groups after it that still fails.

use std::collections::BTreeMap;

use trackway_core::{Batch, MemKind, RegUpdate, Result, Source, mask};
use trackway_hart::csr;
use trackway_tandem::{Config, Group, MemOp, Record, Style, Trace, WriteConfig, register};

use super::collect::Collector;
use super::options::Options;
use super::report::Report;
use super::traced::{Observation, TracedStep};
use super::verifier::{Verifier, level_of};

/// A short trace that fails as the long one does.
#[derive(Clone, Debug)]
pub struct Minimal {
    /// The trace, in the profile of the text.
    pub trace: Vec<u8>,
    /// Groups of the original that are in it.
    pub groups: u64,
    /// The report of verifying it alone, without the program.
    pub report: Report,
}

/// How far back a run of groups may begin.
const FARTHEST: u64 = 1 << 16;

/// Minimises a failing trace; `None` if it does not fail, or if no short run of it does.
///
/// `open` opens the trace anew, `prepare` loads the program into a verifier.
pub fn minimise(
    open: &mut dyn FnMut() -> Result<Box<dyn Source>>,
    options: &Options,
    prepare: &mut dyn FnMut(&mut Verifier),
) -> Result<Option<Minimal>> {
    let options = Options { stop_after: Some(1), ..options.clone() };
    let base = if options.core.is_rv32() { Config { flen: 64, ..Config::rv32() } } else { Config::default() };
    let mut verifier = Verifier::new(options.clone());
    prepare(&mut verifier);
    let mut failing = None;
    walk(&mut *open()?, &mut |n, observation| {
        verifier.observe(observation);
        if verifier.stopped() {
            failing = Some(n);
        }
        failing.is_none()
    });
    let (Some(failing), Some(found)) = (failing, verifier.report.mismatches.first().cloned()) else {
        return Ok(None);
    };
    let mut back = 0;
    while back <= failing.min(FARTHEST) {
        let first = failing - back;
        let mut verifier = Verifier::new(options.clone());
        prepare(&mut verifier);
        let mut groups = Vec::new();
        let mut snapshot = Vec::new();
        walk(&mut *open()?, &mut |n, observation| {
            if n == first {
                snapshot = verifier.snapshot();
                verifier.memory.reads = Some(Vec::new());
                verifier.model.flush();
            }
            if n >= first
                && let Observation::Step(traced) = observation
            {
                groups.push(group(traced));
            }
            verifier.observe(observation);
            n < failing
        });
        let mut memory = BTreeMap::new();
        for (address, byte) in verifier.memory.reads.take().unwrap_or_default() {
            memory.entry(address).or_insert(byte);
        }
        let count = groups.len() as u64;
        let trace = write(&base, &snapshot, &memory, &groups)?;
        // Alone: nothing but the trace.
        let mut alone = Verifier::new(Options { reset_pc: None, ..options.clone() });
        let input = trackway_core::Input::from_vec(trace.clone());
        super::verify(&mut Trace::open(input, base)?.events(), &mut alone)?;
        if alone.report.mismatches.first().is_some_and(|mismatch| mismatch.elements == found.elements) {
            return Ok(Some(Minimal { trace, groups: count, report: alone.report }));
        }
        back = 2 * back + 1;
    }
    Ok(None)
}

/// Passes the observations of a trace and their numbers to `take`, until it returns false.
fn walk(source: &mut dyn Source, take: &mut dyn FnMut(u64, Observation<'_>) -> bool) {
    let (mut collector, mut batch, mut n, mut more) = (Collector::default(), Batch::default(), 0, true);
    while more {
        match source.fill(&mut batch) {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) if matches!(source.resync(), Ok(true)) => continue,
            Err(_) => break,
        }
        for event in &batch.events {
            collector.event(event, &batch, &mut |observation| {
                more = more && take(n, observation);
                n += 1;
            });
        }
    }
    collector.finish(&mut |observation| {
        more = more && take(n, observation);
        n += 1;
    });
}

fn write(
    config: &Config,
    snapshot: &[Record],
    memory: &BTreeMap<u64, u8>,
    groups: &[Group],
) -> Result<Vec<u8>> {
    let write = WriteConfig { config: *config, style: Style::Verbose };
    let mut packer = trackway_tandem::Packer::new(Vec::new(), &write.config, write.style)?;
    let bytes = memory.iter().map(|(&address, &byte)| Record::MemoryRequest {
        address: mask(address, config.mlen),
        op: MemOp::STORE,
        size: 0,
        data: byte.into(),
    });
    let mut records = vec![Record::StateInitialization];
    records.extend(bytes);
    packer.put(&Group { records, ..Group::default() })?;
    let mut records = vec![Record::StateInitialization];
    records.extend_from_slice(snapshot);
    packer.put(&Group { records, ..Group::default() })?;
    groups.iter().try_for_each(|group| packer.put(group))?;
    packer.into_inner()
}

/// A step as a group.
fn group(traced: &TracedStep) -> Group {
    let mut records: Vec<Record> = traced.next_pc.map(Record::Pc).into_iter().collect();
    match traced.instruction {
        Some(instruction) if instruction.length == 2 => {
            records.push(Record::Instruction16(instruction.encoding as u16));
        }
        Some(instruction) => records.push(Record::Instruction32(instruction.encoding)),
        None => {}
    }
    let level = traced.privilege.and_then(level_of);
    records.extend(level.map(|level| Record::PrivilegeMode(level as u8)));
    for write in &traced.writes {
        let Some(address) = register::address(write.reg) else { continue };
        records.push(match write.update {
            RegUpdate::Set => Record::FullRegister { address, data: write.value },
            RegUpdate::Add => Record::AddRegister { address, offset: write.value as i8 },
            RegUpdate::Or => Record::OrRegister { address, mask: write.value as u8 },
        });
    }
    if let [access] = &traced.accesses[..] {
        let stored = match access.kind {
            MemKind::Write | MemKind::Suppressed => access.data,
            MemKind::ReadWrite => access.stored,
            _ => None,
        };
        let size = access.size.checked_ilog2().filter(|log| *log <= 3).map(|log| log as u8);
        if let (Some(data), Some(size)) = (stored, size) {
            records.push(Record::StoreData { size, data: mask(data, 8 << size) });
        }
        records.extend(access.physical.map(Record::PhysicalAddress));
        records.push(Record::EffectiveAddress(access.address));
    }
    records.extend(traced.physical_pc.map(Record::PcPhysicalAddress));
    Group { records, ..Group::default() }
}

impl Verifier {
    /// The state before the next observation, as items; what is unknown is left out.
    fn snapshot(&self) -> Vec<Record> {
        let state = self.model.state();
        let mut records = vec![Record::Pc(state.pc)];
        let files = [(register::GPR, &state.x, self.unknown.x), (register::FPR, &state.f, self.unknown.f)];
        for (base, file, unknown) in files {
            for (n, value) in file.iter().enumerate().filter(|(n, _)| unknown >> n & 1 == 0) {
                if base == register::FPR || n > 0 {
                    records.push(Record::FullRegister { address: base + n as u16, data: *value });
                }
            }
        }
        // Addresses before their protection: a locked entry cannot be written any more.
        let protection = (0x3b0..0x3f0).chain(0x3a0..0x3b0);
        let others = super::suspects::stored().filter(|n| !matches!(*n, csr::MISA | csr::MCONFIGPTR));
        for number in others.chain([csr::MIP]).chain(protection) {
            if let Some(data) = self.model.read_csr(number) {
                records.push(Record::FullRegister { address: number, data });
            }
        }
        records.push(Record::PrivilegeMode(state.level as u8));
        records
    }
}
