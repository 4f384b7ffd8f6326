//! The state of a machine, event by event.

use super::*;
use std::sync::Arc;
use trackway_core::{GapReason, Outcome, RegAccess, RegRole, RegUpdate, SplitMix64, Value, pack, unpack};

const X: fn(u16) -> Reg = |number| Reg { class: RegClass::Int, number };
const CSR: fn(u16) -> Reg = |number| Reg { class: RegClass::Csr, number };

fn access(reg: Reg, role: RegRole, value: u64) -> RegAccess {
    RegAccess { reg, role, update: RegUpdate::Set, value: Value::Word(value), known: None }
}

/// A batch under construction, and the machine that has seen it.
struct Case {
    batch: Batch,
    machine: Machine,
    number: u64,
}

impl Case {
    fn new() -> Self {
        Case { batch: Batch::default(), machine: Machine::new(Isa::Rv64), number: 0 }
    }

    fn apply(&mut self) {
        let event = *self.batch.events.last().expect("an event was pushed");
        self.machine.apply(&self.batch, &event, self.number);
        self.number += event.kind.instructions();
    }

    fn step(&mut self, pc: u64, encoding: u32, regs: &[RegAccess]) {
        let begun = self.batch.begin_accesses();
        self.batch.regs.extend(regs);
        let accesses = self.batch.end_accesses(begun).expect("few");
        let length = if encoding & 3 == 3 { 4 } else { 2 };
        self.batch.push(0, EventKind::Step(Step { accesses, ..Step::new(pc, encoding, length) }));
        self.apply();
    }

    fn trap(&mut self, trap: Trap) {
        self.batch.push_trap(0, trap);
        self.apply();
    }

    fn gap(&mut self) {
        self.batch.push_gap(0, Gap::new(GapReason::Overflow));
        self.apply();
    }

    fn value(&self, reg: Reg) -> Option<(Option<u64>, u64, How)> {
        self.machine.registers.get(reg).map(|known| {
            let value = known.content.map(|content| match content {
                Content::Word(value, _) => value,
                Content::Bytes(_) => panic!("a wide content"),
            });
            (value, known.number, known.how)
        })
    }

    fn targets(&self) -> Vec<u64> {
        self.machine.calls.frames().map(|frame| frame.target).collect()
    }
}

const NOP: u32 = 0x13;
const CALL: u32 = 0x0100_00ef; // jal ra,.+16
const RET: u32 = 0x0000_8067;
const ADDI_A0: u32 = 0x0015_0513; // addi a0,a0,1
const ECALL: u32 = 0x73;
const MRET: u32 = 0x3020_0073;

#[test]
fn values_have_their_writers_and_readers() {
    let mut case = Case::new();
    case.step(0, ADDI_A0, &[access(X(10), RegRole::Source, 6), access(X(10), RegRole::Destination, 7)]);
    assert_eq!(case.value(X(10)), Some((Some(7), 0, How::Written)));
    // Reading the same value keeps the writer, another one replaces it.
    case.step(4, 0x00a5_8633, &[access(X(10), RegRole::Source, 7), access(X(11), RegRole::Source, 5)]);
    assert_eq!(case.value(X(10)), Some((Some(7), 0, How::Written)));
    assert_eq!(case.value(X(11)), Some((Some(5), 1, How::Seen)));
    // add a2,a1,a0 wrote a2, and the trace does not show the value.
    assert_eq!(case.value(X(12)), Some((None, 1, How::Written)));
    case.step(8, NOP, &[access(X(10), RegRole::Source, 9)]);
    assert_eq!(case.value(X(10)), Some((Some(9), 2, How::Seen)));
    // A value seen later belongs to the writer that is known without a value.
    case.step(12, 0x0006_0063, &[access(X(12), RegRole::Source, 3)]);
    assert_eq!(case.value(X(12)), Some((Some(3), 1, How::Written)));
    assert_eq!(case.value(X(0)), None);
}

#[test]
fn a_gap_forgets_registers_and_doubts_the_stack() {
    let mut case = Case::new();
    case.step(0x1000, CALL, &[access(X(1), RegRole::Destination, 0x1004)]);
    case.step(0x1010, NOP, &[]);
    assert_eq!(case.value(X(1)), Some((Some(0x1004), 0, How::Written)));
    case.gap();
    assert_eq!(case.value(X(1)), None);
    assert_eq!(case.targets(), [0x1010]);
    assert_eq!(case.machine.calls.guess, Some(Guess { number: 2, doubt: Doubt::Gap }));
    // The frame is matched by its return address all the same.
    case.step(0x1018, RET, &[]);
    case.step(0x1004, NOP, &[]);
    assert_eq!((case.targets().len(), case.machine.calls.guess), (0, None));
}

#[test]
fn calls_returns_and_tail_calls() {
    let mut case = Case::new();
    case.step(0x1000, CALL, &[]);
    case.step(0x1010, 0x0100_006f, &[]); // j .+16: a tail call keeps the frame
    case.step(0x1020, CALL, &[]);
    case.step(0x1030, RET, &[]);
    assert_eq!(case.targets(), [0x1030, 0x1010]);
    case.step(0x1024, RET, &[]);
    assert_eq!(case.targets(), [0x1010]);
    case.step(0x1004, NOP, &[]);
    assert_eq!(case.targets(), [0u64; 0]);
    // A return from before the trace began.
    case.step(0x1008, RET, &[]);
    case.step(0x5000, NOP, &[]);
    assert_eq!((case.machine.calls.depth(), case.machine.calls.guess), (0, None));
}

#[test]
fn a_return_past_several_calls_is_a_guess() {
    let mut case = Case::new();
    for pc in [0x1000, 0x1010, 0x1020, 0x1030] {
        case.step(pc, CALL, &[]);
    }
    case.step(0x1040, RET, &[]); // longjmp to the second caller
    case.step(0x1014, NOP, &[]);
    assert_eq!(case.targets(), [0x1010]);
    assert_eq!(case.machine.calls.guess, Some(Guess { number: 5, doubt: Doubt::Unwound }));
}

#[test]
fn handlers_are_frames_where_they_are_traced() {
    let mut case = Case::new();
    let syscall = |from| Trap { from: Some(from), ..Trap::new(TrapKind::Exception) };
    case.step(0x1000, CALL, &[]);
    case.step(0x1010, ECALL, &[access(X(10), RegRole::Source, 1), access(X(11), RegRole::Source, 2)]);
    case.trap(syscall(0x1010));
    case.step(0x8000, CALL, &[]);
    case.step(0x8010, MRET, &[]);
    assert_eq!(case.targets(), [0x8010, 0x8000, 0x1010]);
    case.step(0x1014, ECALL, &[]);
    assert_eq!((case.targets(), case.machine.calls.guess), (vec![0x1010], None));
    assert_eq!(case.value(X(10)), Some((Some(1), 1, How::Seen)));
    // The kernel is not traced: only the result of the call is lost.
    case.trap(syscall(0x1014));
    case.step(0x1018, NOP, &[]);
    assert_eq!(case.targets(), [0x1010]);
    assert_eq!(case.value(X(10)), None);
    assert_eq!(case.value(X(11)), Some((Some(2), 1, How::Seen)));
}

#[test]
fn csrs_that_change_by_themselves_are_forgotten() {
    let mut case = Case::new();
    let wrote = |csr, value| access(CSR(csr), RegRole::Destination, value);
    case.step(0, 0x3004_9073, &[wrote(0x300, 8)]); // csrw mstatus,s1
    case.step(4, 0x1004_9073, &[wrote(0x100, 2)]); // csrw sstatus,s1: another view of mstatus
    assert_eq!((case.value(CSR(0x300)), case.value(CSR(0x100))), (None, Some((Some(2), 1, How::Written))));
    case.step(8, 0xb000_27f3, &[access(CSR(0xb00), RegRole::Source, 77)]); // csrr a5,mcycle
    assert_eq!(case.value(CSR(0xb00)), None);
    case.step(12, 0x3054_9073, &[wrote(0x305, 0x100)]); // csrw mtvec,s1
    case.trap(Trap::new(TrapKind::Interrupt));
    assert_eq!((case.value(CSR(0x100)), case.value(CSR(0x305)).is_some()), (None, true));
}

#[test]
fn it_fits_into_a_checkpoint() {
    let mut case = Case::new();
    for n in 0..300 {
        case.step(0x1000 + 16 * n, CALL, &[access(X(1), RegRole::Destination, 0x1004 + 16 * n)]);
    }
    assert_eq!((case.machine.calls.depth(), case.machine.calls.frames().len()), (299, 128));
    let packed = pack(&case.machine).expect("it can be packed");
    assert!(packed.len() < 4096, "{}", packed.len());
    assert_eq!(unpack::<Machine>(&packed).as_ref(), Some(&case.machine));
}

/// Random events, of all kinds that a machine looks at.
fn random_events(random: &mut SplitMix64, count: usize) -> Batch {
    // addi, jal, ret, jr, nop, fadd.s, csrrw mstatus, vmv.v.i, ecall, mret, an encoding without a meaning
    const ENCODINGS: [u32; 11] = [
        0x0015_0513,
        0x0100_00ef,
        0x8082,
        0x8782,
        0x0001,
        0x00b5_7553,
        0x3005_17f3,
        0x5e00_30d7,
        0x73,
        0x3020_0073,
        0xffff_ffff,
    ];
    let mut batch = Batch::default();
    let mut pc = 0x1000;
    let pick = |random: &mut SplitMix64, list: &[u64]| list[random.below(list.len() as u64) as usize];
    let accesses = |batch: &mut Batch, random: &mut SplitMix64| {
        let begun = batch.begin_accesses();
        for _ in 0..random.below(4) {
            let (class, number) = match random.below(8) {
                0 => (RegClass::Float, random.below(3)),
                1 => (RegClass::Vector, random.below(2)),
                // mstatus, fflags, mcycle, mepc
                2 => (RegClass::Csr, pick(random, &[0x300, 0x001, 0xb00, 0x341])),
                _ => (RegClass::Int, pick(random, &[0, 1, 5, 10])),
            };
            let value = match random.below(6) {
                0 => Value::Unknown,
                1 => Value::Bytes(batch.add_bytes(&[random.below(2) as u8; 16])),
                _ => Value::Word(random.below(3)),
            };
            let role = [RegRole::Source, RegRole::Destination, RegRole::State, RegRole::Ready];
            let update = [RegUpdate::Set, RegUpdate::Set, RegUpdate::Add][random.below(3) as usize];
            let known = (random.below(5) == 0).then_some(0xff);
            let (reg, role) = (Reg { class, number: number as u16 }, role[random.below(4) as usize]);
            batch.regs.push(RegAccess { reg, role, update, value, known });
        }
        batch.end_accesses(begun).expect("few")
    };
    for _ in 0..count {
        match random.below(24) {
            0 => {
                let kind = [TrapKind::Exception, TrapKind::Interrupt, TrapKind::Return, TrapKind::Reset];
                let kind = kind[random.below(20).min(3) as usize % if random.below(9) == 0 { 4 } else { 3 }];
                let from = (random.below(2) == 0).then_some(pc);
                batch.push_trap(0, Trap { from, return_address: from, ..Trap::new(kind) });
            }
            1 if random.below(3) == 0 => batch.push_gap(0, Gap::new(GapReason::Overflow)),
            1 => batch.push_context(0, Context { pid: Some(random.below(2)), ..Context::default() }),
            2 => {
                let accesses = accesses(&mut batch, random);
                batch.push_state(0, State::Contents(accesses));
            }
            3 => {
                let kind = [TimeKind::Timestamp, TimeKind::Cycles][random.below(2) as usize];
                batch.push(0, EventKind::Time(Time { kind, value: Some(random.below(9)), clock: 0 }));
            }
            _ => {
                let encoding = ENCODINGS[random.below(ENCODINGS.len() as u64) as usize];
                let length = if encoding & 3 == 3 { 4 } else { 2 };
                let accesses = accesses(&mut batch, random);
                let mut step = Step { accesses, ..Step::new(pc, encoding, length) };
                match random.below(40) {
                    0 => step.pc = None,
                    1 => step.length = 0,
                    2 | 3 => step.outcome = Outcome::Attempted,
                    _ => {}
                }
                batch.push(0, EventKind::Step(step));
                pc += u64::from(length);
                if random.below(4) == 0 {
                    pc = 0x1000 + 2 * random.below(64);
                }
            }
        }
    }
    batch
}

/// Parts that are reduced on their own lead to the state that every event leads to.
#[test]
fn passages_lead_to_the_same_state() {
    for seed in 0..3000 {
        let mut random = SplitMix64(SplitMix64(seed).next_u64());
        let count = random.below(120) as usize;
        let batch = random_events(&mut random, count);
        let [mut whole, mut joined] = [Machine::new(Isa::Rv64), Machine::new(Isa::Rv64)];
        let (mut number, mut begun) = (0, 0);
        let mut passage = Passage::new(Isa::Rv64, Arc::default());
        for (n, event) in batch.events.iter().enumerate() {
            whole.apply(&batch, event, number);
            passage.observe(&batch, event);
            number += event.kind.instructions();
            if random.below(9) == 0 || n + 1 == batch.events.len() {
                let before = std::mem::replace(&mut passage, Passage::new(Isa::Rv64, Arc::default()));
                if before.apply(&mut joined, begun) {
                    assert_eq!(joined, whole, "seed {seed}, after event {n}");
                } else {
                    let unplaced =
                        |event: &Event| matches!(event.kind, EventKind::Step(step) if step.pc.is_none());
                    assert!(batch.events[..=n].iter().any(unplaced), "seed {seed}, event {n}");
                    joined = whole.clone();
                }
                begun = number;
            }
        }
    }
}

/// Many steps at once, as an index takes them in, lead to the same state as one by one.
#[test]
fn steps_at_once_are_steps_one_by_one() {
    let mut random = SplitMix64(7);
    let encodings = [NOP, CALL, RET, ADDI_A0, ECALL, MRET, 0x0000_0063, 0x3005_1073, 0x0000_0517, 0];
    for _ in 0..200 {
        let mut batch = Batch::default();
        let mut pc = 0x1000u64;
        for _ in 0..random.below(40) {
            let begun = batch.begin_accesses();
            for _ in 0..random.below(4) {
                let role = [RegRole::Source, RegRole::Destination, RegRole::State][random.below(3) as usize];
                let reg = if random.below(8) == 0 { CSR(0x300) } else { X(random.below(12) as u16) };
                batch.regs.push(access(reg, role, random.below(3)));
            }
            let accesses = batch.end_accesses(begun).expect("few");
            let encoding = encodings[random.below(encodings.len() as u64) as usize];
            let length = if random.below(30) == 0 { 0 } else { 4 };
            let mut step = Step { accesses, ..Step::new(pc, encoding, length) };
            if random.below(20) == 0 {
                step.pc = None;
            }
            if random.below(20) == 0 {
                step.outcome = Outcome::Attempted;
            }
            batch.push(0, EventKind::Step(step));
            pc = if random.below(4) == 0 { 0x1000 + 4 * random.below(16) } else { pc + 4 };
        }
        let (mut one_by_one, mut at_once) = (Machine::new(Isa::Rv64), Machine::new(Isa::Rv64));
        for (number, event) in batch.events.iter().enumerate() {
            one_by_one.apply(&batch, event, number as u64);
        }
        assert_eq!(at_once.steps(&batch, &batch.events, 0), batch.events.len());
        assert_eq!(at_once, one_by_one);
    }
}

/// Runs in stretches lead to the state that they lead to one by one.
#[test]
fn runs_in_stretches_are_runs_one_by_one() {
    use Exit::*;
    let exits = [Next, Branch, Jump, Call, IndirectJump, IndirectCall, Return, TrapReturn, Trap, End];
    let mut depths = 0;
    for seed in 0..300 {
        let mut random = SplitMix64(seed);
        let mut batch = Batch::default();
        let mut at = 0x1000;
        for _ in 0..200 {
            match random.below(40) {
                0 => batch
                    .push_trap(0, super::Trap { from: Some(at), ..super::Trap::new(TrapKind::Exception) }),
                1 => batch.push_trap(0, super::Trap::new(TrapKind::Return)),
                2 => batch.push_gap(0, Gap::new(GapReason::Overflow)),
                3 => batch.push(0, EventKind::Step(Step::new(at, CALL, 4))),
                _ => {}
            }
            if random.below(3) == 0 {
                at = 0x1000 + 16 * random.below(12);
            }
            let count = random.below(5) as u32;
            let accesses = match random.below(30) {
                0 => {
                    let begun = batch.begin_accesses();
                    batch.regs.push(access(X(10), RegRole::Destination, 5));
                    let accesses = batch.end_accesses(begun).expect("few");
                    batch.add_run_accesses(accesses)
                }
                _ => None,
            };
            let run = Run {
                start: at,
                end: at + 4 * u64::from(count),
                count,
                accesses,
                isa: Isa::Rv64,
                exit: exits[random.below(10) as usize],
                taken: None,
                attempted: random.below(20) == 0,
                doubtful: false,
                withdrawn: random.below(20) == 0,
            };
            batch.push(0, EventKind::Run(run));
            at = run.end;
        }
        let (mut one_by_one, mut stretches) = (Machine::new(Isa::Rv64), Machine::new(Isa::Rv64));
        let (mut number, mut from) = (0, 0);
        while from < batch.events.len() {
            let most = from + 1 + random.below(20) as usize;
            let (mut count, instructions) =
                stretches.runs(&batch.events[from..most.min(batch.events.len())], number);
            let before = number;
            if count == 0 {
                stretches.apply(&batch, &batch.events[from], number);
                count = 1;
            } else {
                assert!(count <= 20);
            }
            for event in &batch.events[from..from + count] {
                one_by_one.apply(&batch, event, number);
                number += event.kind.instructions();
            }
            assert!(count == 1 || number - before == instructions);
            assert_eq!(stretches, one_by_one, "seed {seed}, event {from}");
            from += count;
        }
        depths += one_by_one.calls.depth();
    }
    assert!(depths > 300, "{depths}");
}
