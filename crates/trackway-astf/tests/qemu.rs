//! Real executions (QEMU, AArch64) through the event model into ASTF and back.

mod ledger;

use trackway_astf::{Level, Lower, ReadConfig, Storage, Trace, WriteConfig};
use trackway_core::*;
use trackway_testkit::output::Shared;
use trackway_testkit::qemu::Run;

use std::collections::BTreeMap;

fn to_astf(run: &Run, config: WriteConfig) -> (Vec<u8>, Ledger) {
    let mut source = run.events();
    let out = Shared::default();
    let lower = Lower::new(Box::new(out.clone()), source.meta().clone(), config).unwrap();
    let mut sink = Counting::new(Box::new(lower), source.meta());
    let mut batch = Batch::default();
    while source.fill(&mut batch).unwrap() {
        sink.put(&batch).unwrap();
    }
    let ledger = sink.finish().unwrap();
    let bytes = out.take();
    ledger::assert_exact(&ledger, &bytes);
    (bytes, ledger)
}

/// Findings by rule.
fn findings(bytes: &[u8]) -> BTreeMap<&'static str, u64> {
    let trace = Trace::open(Input::from_vec(bytes.to_vec()), ReadConfig::default()).unwrap();
    let mut rules = BTreeMap::new();
    let (_, damage) = trace.check(&mut |finding| *rules.entry(finding.rule.name).or_default() += 1);
    assert_eq!(damage, None);
    rules
}

/// Every byte that an instruction reads and writes: the same however its accesses are cut.
type Touched = (Vec<u64>, Vec<u64>);

fn touched(accesses: impl Iterator<Item = (bool, bool, u64, u64)>) -> Touched {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for (read, write, address, size) in accesses {
        for at in address..address + size {
            if read {
                reads.push(at);
            }
            if write {
                writes.push(at);
            }
        }
    }
    reads.sort_unstable();
    writes.sort_unstable();
    (reads, writes)
}

/// Parts that follow each other within a page are one access (ASTF 4.5.2).
fn merged(accesses: &[MemAccess], pc: u64) {
    for pair in accesses.windows(2) {
        let follows = pair[0].address + pair[0].size == pair[1].address && pair[0].kind == pair[1].kind;
        let same_page = (pair[1].address + pair[1].size - 1) / 4096 == pair[0].address / 4096;
        assert!(!follows || !same_page, "{pc:#x}: {pair:?} is one access");
    }
}

fn compare(run: &Run, bytes: Vec<u8>) {
    let mut source = Trace::open(Input::from_vec(bytes), ReadConfig::default()).unwrap().events();
    let mut batch = Batch::default();
    let (mut index, mut mem) = (0usize, 0usize);
    while source.fill(&mut batch).unwrap() {
        for event in &batch.events {
            let EventKind::Step(step) = event.kind else { continue };
            let pc = run.pcs[index];
            assert_eq!(step.pc, Some(pc), "{}: instruction {index}", run.name);
            assert_eq!(step.encoding, run.code[&pc].0);
            let first = mem;
            while run.mem.get(mem).is_some_and(|access| access.index == index as u64) {
                mem += 1;
            }
            let of_qemu = &run.mem[first..mem];
            // STXR and STLXR: QEMU compares and swaps; the load half is not an access of the instruction.
            let exclusive = step.encoding & 0x3fe0_0000 == 0x0800_0000;
            let expected = touched(
                of_qemu
                    .iter()
                    .filter(|access| access.store || !exclusive)
                    .map(|access| (!access.store, access.store, access.address, access.size.into())),
            );
            let got = touched(batch.mem_of(step.accesses).iter().map(|access| {
                let read = matches!(access.kind, MemKind::Read | MemKind::ReadWrite);
                let write = matches!(access.kind, MemKind::Write | MemKind::ReadWrite);
                (read, write, access.address, access.size)
            }));
            assert_eq!(got, expected, "{}: instruction {index} at {pc:#x}", run.name);
            merged(batch.mem_of(step.accesses), pc);
            index += 1;
        }
    }
    assert_eq!((index, mem), (run.pcs.len(), run.mem.len()), "{}", run.name);
}

#[test]
fn user_programs_are_basic_and_keep_pcs_and_accesses() {
    // DC ZVA has no recorded address, and check reports exactly that.
    let programs = [("bzip2", 6), ("fpmix", 0), ("lua", 2), ("minigzip", 127), ("qsortmix", 0), ("sigmt", 0)];
    for (name, without_address) in programs {
        let Some(run) = Run::corpus("aarch64", name) else { return };
        let config = WriteConfig { storage: Storage::Raw, ..WriteConfig::default() };
        let (bytes, _) = to_astf(&run, config);
        let trace = Trace::open(Input::from_vec(bytes.clone()), ReadConfig::default()).unwrap();
        assert_eq!(trace.header.level(), Level::Basic, "{name}");
        let mut expected = BTreeMap::new();
        if without_address > 0 {
            expected.insert("astf.ea-missing", without_address);
        }
        assert_eq!(findings(&bytes), expected, "{name}");
        compare(&run, bytes);
    }
}

#[test]
fn the_bare_program_is_basic_plus() {
    let Some(run) = Run::corpus("bare", "aarch64-traps") else { return };
    let config = WriteConfig { storage: Storage::Raw, ..WriteConfig::default() };
    let (bytes, ledger) = to_astf(&run, config);
    let trace = Trace::open(Input::from_vec(bytes.clone()), ReadConfig::default()).unwrap();
    assert_eq!(trace.header.level(), Level::BasicPlus);
    assert_eq!(findings(&bytes), BTreeMap::new());
    // The last HVC turns the machine off: no handler is in the recording.
    assert_eq!(ledger.count(Fate::Invented, Fact::TrapHandlers), 1, "{ledger}");
    assert_eq!(ledger.count(Fate::Dropped, Fact::Traps), 0, "{ledger}");
    compare(&run, bytes);
}

#[test]
fn faulting_loads_have_no_address_and_a_context_follows() {
    let Some(run) = Run::corpus("aarch64", "sigmt") else { return };
    let config = WriteConfig { storage: Storage::Raw, ..WriteConfig::default() };
    let (bytes, _) = to_astf(&run, config);
    let mut source = Trace::open(Input::from_vec(bytes), ReadConfig::default()).unwrap().events();
    let (mut faults, mut gaps) = (0, 0);
    let mut batch = Batch::default();
    while source.fill(&mut batch).unwrap() {
        gaps += batch.gaps.len();
        for event in &batch.events {
            let EventKind::Step(step) = event.kind else { continue };
            let call = step.encoding >> 24 == 0xd4;
            if step.outcome == Outcome::Attempted && !call {
                assert_eq!(step.accesses.mem_len, 0);
                faults += 1;
            }
        }
    }
    assert_eq!(faults, 20);
    assert!(gaps >= 20, "every signal breaks the flow: {gaps}");
}
