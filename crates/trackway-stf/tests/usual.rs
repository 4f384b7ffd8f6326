//! Steps that are written in the usual way, many at a time, become the trace of steps that are taken one by one.

mod common;

use common::*;
use trackway_core::*;
use trackway_stf::{Container, Lower, WriteConfig};
use trackway_testkit::random::{Numbers, Program, Rates, Walk};

/// The trace and its account, of events that come in parts.
fn write(batch: &Batch, cut: usize, config: WriteConfig, one_by_one: bool) -> (Vec<u8>, String) {
    let file = Memory::default();
    let mut lower = Lower::new(file.output(), Meta::new(FormatId::new("model"), Isa::Rv64), config).unwrap();
    if one_by_one {
        lower = lower.without_shortcuts();
    }
    for events in [&batch.events[..cut], &batch.events[cut..]] {
        lower.put(&Batch { events: events.to_vec(), ..batch.clone() }).unwrap();
    }
    let account = format!("{:?}", lower.finish().unwrap());
    (file.bytes(), account)
}

/// Gives steps registers, memory accesses, targets and outcomes, of which some are missing or odd.
fn dress(numbers: &mut Numbers, batch: &mut Batch) {
    let pcs: Vec<Option<u64>> = batch
        .events
        .iter()
        .map(|event| if let EventKind::Step(step) = &event.kind { step.pc } else { None })
        .collect();
    let mut events = std::mem::take(&mut batch.events);
    for (n, event) in events.iter_mut().enumerate() {
        let EventKind::Step(step) = &mut event.kind else { continue };
        let begun = batch.begin_accesses();
        for _ in 0..numbers.below(3) {
            let value = if numbers.one_in(8) { Value::Unknown } else { Value::Word(numbers.draw()) };
            let role = [RegRole::Source, RegRole::Destination, RegRole::State, RegRole::Ready]
                [numbers.below(4) as usize];
            let class = match numbers.below(12) {
                0 => RegClass::Pc,
                1 => RegClass::Csr,
                2 => RegClass::Float,
                3 if numbers.one_in(4) => RegClass::Vector,
                4 if numbers.one_in(4) => RegClass::Other,
                _ => RegClass::Int,
            };
            let reg = Reg { class, number: numbers.below(32) as u16 };
            let update = if numbers.one_in(40) { RegUpdate::Add } else { RegUpdate::Set };
            let known = numbers.one_in(40).then_some(7);
            batch.regs.push(RegAccess { reg, role, update, value, known });
        }
        for _ in 0..numbers.below(3) {
            let data = if numbers.one_in(6) { Value::Unknown } else { Value::Word(numbers.below(256)) };
            let kind = [MemKind::Read, MemKind::Write][numbers.below(2) as usize];
            let mut access = MemAccess::new(kind, 0x9000 + numbers.below(2) * 8, 8, data);
            match numbers.below(40) {
                0 => access.attributes = 1 << 16,
                1 => access.attributes = 5,
                2 => access.tagged = true,
                3 => access.unplaced = true,
                4 => access.kind = MemKind::ReadWrite,
                5 => (access.size, access.data) = (16, Value::Bytes(batch.add_bytes(&[1; 16]))),
                6 => (access.size, access.data) = (16, Value::Unknown),
                _ => {}
            }
            batch.mem.push(access);
        }
        step.accesses = batch.end_accesses(begun).unwrap();
        if step.taken == Some(true) && numbers.one_in(2) {
            let target = pcs.get(n + 1).copied().flatten();
            let micro_ops =
                if numbers.one_in(20) { batch.add_bytes(&[1, 2, 3, 4, 5]) } else { Span::default() };
            step.extra = batch.add_extra(StepExtra { target, micro_ops, ..StepExtra::default() });
        }
        match numbers.below(60) {
            0 => step.length = 0,
            1 => step.pc = None,
            2 => step.taken = None,
            _ => {}
        }
    }
    batch.events = events;
}

#[test]
fn the_usual_way_writes_the_same_trace() {
    for seed in 0..1500 {
        let numbers = &mut Numbers(seed);
        let count = 4 + numbers.below(60) as usize;
        let program = Program::new(numbers, 0x8000, count);
        let rates = Rates {
            exception: if numbers.one_in(3) { 30 } else { 0 },
            interrupt: if numbers.one_in(3) { 30 } else { 0 },
            privilege: numbers.one_in(3),
            context: if numbers.one_in(3) { 30 } else { 0 },
            ..Rates::default()
        };
        let steps = 20 + numbers.below(400) as usize;
        let mut walk = Walk::new(numbers, &program, steps, rates);
        dress(numbers, &mut walk.batch);
        let container = if numbers.one_in(2) { Container::Plain } else { Container::Zstf };
        let config = WriteConfig { container, chunk: 1 + numbers.below(50), ..WriteConfig::default() };
        let cut = numbers.below(walk.batch.events.len() as u64) as usize;
        let (usual, account) = write(&walk.batch, cut, config, false);
        let (plain, same) = write(&walk.batch, cut, config, true);
        assert!(usual == plain, "seed {seed}: {config:?}");
        assert_eq!(account, same, "seed {seed}: {config:?}");
    }
}

/// As above, beyond the groups that wait for the header, and over the end of chunks.
#[test]
fn long_traces_are_the_same_too() {
    let mut batch = Batch::default();
    for n in 0..150_000u64 {
        let begun = batch.begin_accesses();
        if n % 3 == 0 {
            batch.mem.push(MemAccess::new(MemKind::Write, 0x9000 + n, 8, Value::Word(n)));
        }
        let accesses = batch.end_accesses(begun).unwrap();
        batch.push(0, EventKind::Step(Step { accesses, ..Step::new(0x8000_0000 + 4 * n, 0x13, 4) }));
    }
    for (container, chunk) in [(Container::Plain, 1), (Container::Zstf, 1000), (Container::Zstf, 65_536)] {
        let config = WriteConfig { container, chunk, ..WriteConfig::default() };
        let (usual, plain) = (write(&batch, 70_001, config, false), write(&batch, 70_001, config, true));
        assert!(usual == plain, "{config:?}");
    }
}
