//! Steps that are written in the usual way, many at a time, become the trace of steps that are taken one by one.

mod common;

use common::*;
use trackway_core::*;
use trackway_stf::{Container, Lower, WriteConfig};
use trackway_testkit::random::{Numbers, Program, Rates, Walk};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// Event by event.
    Plain,
    /// Usual steps together.
    Usual,
    /// Usual steps before it is their turn.
    Ahead,
}

/// The trace and its account, of events that come in parts.
fn write(batch: &Batch, cut: usize, config: WriteConfig, way: Way) -> (Vec<u8>, String) {
    write_as(Isa::Rv64, batch, cut, config, way)
}

fn write_as(isa: Isa, batch: &Batch, cut: usize, config: WriteConfig, way: Way) -> (Vec<u8>, String) {
    let file = Memory::default();
    let mut lower = Lower::new(file.output(), Meta::new(FormatId::new("model"), isa), config).unwrap();
    if way == Way::Plain {
        lower = lower.without_shortcuts();
    }
    let mut ahead = lower.ahead().filter(|_| way == Way::Ahead);
    let parts = [&batch.events[..cut], &batch.events[cut..]];
    let parts = parts.map(|events| Batch { events: events.to_vec(), ..batch.clone() });
    let mut before = Context::default();
    for part in &parts {
        ahead.iter_mut().for_each(|ahead| ahead.write(part, &before));
        for event in &part.events {
            if let EventKind::Context(n) = event.kind {
                before.update(&part.contexts[n as usize]);
            }
        }
    }
    for part in &parts {
        match &mut ahead {
            Some(ahead) => lower.put_ahead(part, &mut **ahead).unwrap(),
            None => lower.put(part).unwrap(),
        }
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
        let (plain, account) = write(&walk.batch, cut, config, Way::Plain);
        for way in [Way::Usual, Way::Ahead] {
            let (usual, same) = write(&walk.batch, cut, config, way);
            assert!(usual == plain, "seed {seed}: {way:?} {config:?}");
            assert_eq!(account, same, "seed {seed}: {way:?} {config:?}");
        }
    }
}

/// A branch of one instruction set is not one in another.
#[test]
fn instruction_sets_may_change() {
    let sets = [Isa::A64, Isa::A32, Isa::T32];
    for seed in 0..300 {
        let numbers = &mut Numbers(seed);
        let (mut batch, mut pc) = (Batch::default(), 0x8000);
        for _ in 0..200 {
            if numbers.one_in(20) {
                let isa = Some(sets[numbers.below(3) as usize]);
                batch.push_context(0, Context { isa, ..Context::default() });
            }
            let encoding = [0x5400_0040, 0xea00_0000, 0xd65f_03c0, 0xe1a0_0000, 0x9100_0421, 0xf000_b800];
            let encoding = encoding[numbers.below(6) as usize];
            let taken = [None, Some(false)][numbers.below(2) as usize];
            batch.push(0, EventKind::Step(Step { taken, ..Step::new(pc, encoding, 4) }));
            pc += 4;
        }
        let cut = numbers.below(200) as usize;
        let config = WriteConfig { container: Container::Plain, ..WriteConfig::default() };
        let plain = write_as(Isa::A64, &batch, cut, config, Way::Plain);
        for way in [Way::Usual, Way::Ahead] {
            assert!(write_as(Isa::A64, &batch, cut, config, way) == plain, "seed {seed}: {way:?}");
        }
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
        let plain = write(&batch, 70_001, config, Way::Plain);
        for way in [Way::Usual, Way::Ahead] {
            assert!(write(&batch, 70_001, config, way) == plain, "{way:?} {config:?}");
        }
    }
}

/// Stretches as a recorder makes them of a program with loads, stores and branches, and repeats of them with other
/// addresses, data and outcomes; now and then something else happens in between.
fn folded(numbers: &mut Numbers) -> Folded {
    let mut folded = Folded::default();
    let mut stretches = Vec::new();
    for n in 0..12 {
        let mut stretch = Stretch::default();
        let (mut pc, valued) = (0x8000_0000 + 0x100 * n, numbers.one_in(2));
        let count = 1 + numbers.below(6);
        for k in 0..count {
            let is_last = k + 1 == count;
            // beq, jal, jalr, ld, sd, addi, c.addi, ecall
            let kind = numbers.below(if is_last { 16 } else { 12 });
            let (encoding, length, taken) = match kind {
                0 => (0x00b5_0463, 4, Some(false)),
                1 => (0x00b5_0463, 4, Some(true)),
                2 => (0x0080_006f, 4, Some(true)),
                3 => (0x0005_8067, 4, Some(true)),
                4..7 => (0x0005_3503, 4, None),
                7..9 => (0x00a5_3023, 4, None),
                9 => (0x0505, 2, None),
                15 => (0x0000_0073, 4, None),
                _ => (0x0015_0513, 4, None),
            };
            let mem_start = stretch.mem.len() as u32;
            for _ in 0..if kind > 3 && kind < 9 { 1 + numbers.below(3) / 2 } else { 0 } {
                let data = if valued { Value::Word(numbers.draw()) } else { Value::Unknown };
                let kind = if numbers.one_in(6) { MemKind::ReadWrite } else { MemKind::Read };
                let kind = if encoding == 0x00a5_3023 { MemKind::Write } else { kind };
                let kind = if numbers.one_in(8) { MemKind::Write } else { kind };
                let size = if numbers.one_in(20) { 16 } else { 8 };
                stretch.mem.push(MemAccess::new(kind, 16 * numbers.below(9), size, data));
            }
            let mem_len = stretch.mem.len() as u16 - mem_start as u16;
            let accesses = Accesses { mem_start, mem_len, ..Accesses::default() };
            let outcome = if kind == 15 { Outcome::Attempted } else { Outcome::Retired };
            stretch.steps.push(Step { accesses, taken, outcome, ..Step::new(pc, encoding, length) });
            pc = match taken {
                Some(true) if numbers.one_in(2) => pc + 8,
                Some(true) => 0x8000_0000 + 4 * numbers.below(64),
                _ => pc + u64::from(length),
            };
        }
        let taken = stretch.steps.last_mut().and_then(|last| last.taken.take());
        let starts = stretch.steps[0].pc.unwrap();
        stretches.push((folded.stretches.add(stretch.clone()), stretch, taken, pc, starts));
    }
    let mut at = 0;
    for n in 0..400 {
        if numbers.one_in(30) {
            let text = folded.batch.add_bytes(b"a note");
            folded.batch.push(n, EventKind::Mark(Mark { text, ..Mark::new(MarkKind::Note) }));
        }
        if numbers.one_in(20) {
            folded.batch.push(n, EventKind::Step(Step::new(0x8000_0000 + 0x100 * at, 0x13, 4)));
        }
        let (stretch, example, taken, end, _) = &stretches[at as usize];
        let next = numbers.below(12);
        // Elsewhere than it should now and then, and with an outcome that it cannot have.
        let target = if numbers.one_in(3) { *end } else { stretches[next as usize].4 };
        let taken = match numbers.below(30) {
            0 => None,
            1 => Some(false),
            2 => Some(true),
            _ if *taken == Some(true) && numbers.one_in(3) => Some(false),
            _ => *taken,
        };
        // Each access of a step adjoins the one before as it did the first time.
        for access in &example.mem {
            folded
                .words
                .push(access.address + if example.mem.len() == 1 { 16 * numbers.below(9) } else { 64 });
            if access.data != Value::Unknown {
                folded.words.push(numbers.draw());
            }
        }
        folded.push(8 * n, Repeat { stretch: *stretch, taken, target });
        at = if target == stretches[next as usize].4 { next } else { (at + 1) % 12 };
    }
    folded
}

/// Repeats are written as their events.
#[test]
fn repeats_are_written_as_their_events() {
    let mut numbers = Numbers(11);
    let meta = || Meta::new(FormatId::new("model"), Isa::Rv64);
    for n in 0..300u64 {
        let config = match n % 3 {
            0 => WriteConfig { container: Container::Plain, ..WriteConfig::default() },
            1 => WriteConfig { chunk: 1 + numbers.below(60), ..WriteConfig::default() },
            _ => WriteConfig::default(),
        };
        let folded = folded(&mut numbers);
        let mut batch = Batch::default();
        folded.unfold(&mut batch);
        let written = |fold: bool| {
            let file = Memory::default();
            let mut lower = Lower::new(file.output(), meta(), config).unwrap();
            for _ in 0..2 {
                if fold { lower.put_folded(&folded).unwrap() } else { lower.put(&batch).unwrap() }
            }
            let account = format!("{:?}", lower.finish().unwrap());
            (file.bytes(), account)
        };
        assert!(written(true) == written(false), "{n}");
    }
}
