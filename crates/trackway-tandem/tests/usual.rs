//! Usual steps are written at once if the next one is in the same batch. One event per batch has no next one: the same
//! events, written the long way and read back for the account.

use proptest::prelude::*;
use trackway_core::*;
use trackway_tandem::{Config, Lower, Profile, Style, WriteConfig};

/// addi, add, auipc, ld, lw, lbu, flw, fld, c.lw, c.ldsp, sd, sw, sb, fsd, c.sw, beq, c.bnez, jal, c.j, jalr, ret, c.jr,
/// csrrw, lr.w, sc.w, amoadd.w, fence, ecall, mret, an illegal one, and a vector load.
const ENCODINGS: [(u32, u8); 31] = [
    (0x0015_8593, 4),
    (0x0062_81b3, 4),
    (0x0000_1597, 4),
    (0x0005_b583, 4),
    (0x0082_a203, 4),
    (0x0005_c583, 4),
    (0x0005_a587, 4),
    (0x0005_b587, 4),
    (0x4188, 2),
    (0x6582, 2),
    (0x00b5_3023, 4),
    (0x0062_a423, 4),
    (0x00b5_0023, 4),
    (0x00b5_3027, 4),
    (0xc188, 2),
    (0x00b5_0463, 4),
    (0xe191, 2),
    (0x0080_00ef, 4),
    (0xa021, 2),
    (0x0005_80e7, 4),
    (0x0000_8067, 4),
    (0x8582, 2),
    (0x3405_9573, 4),
    (0x1005_252f, 4),
    (0x18b5_262f, 4),
    (0x00c5_25af, 4),
    (0x0ff0_000f, 4),
    (0x0000_0073, 4),
    (0x3020_0073, 4),
    (0x0000_0000, 2),
    (0x0205_7007, 4),
];

/// Values that a field may hold whole, or not.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0u64..4, 2 => any::<u32>().prop_map(u64::from), 1 => any::<u64>()]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![6 => word().prop_map(Value::Word), 1 => Just(Value::Unknown)]
}

fn register() -> impl Strategy<Value = RegAccess> {
    let class = prop::sample::select(vec![
        RegClass::Int,
        RegClass::Int,
        RegClass::Int,
        RegClass::Float,
        RegClass::Csr,
        RegClass::Other,
    ]);
    // a0, a1, tp: those of the encodings.
    let number = prop::sample::select(vec![0u16, 4, 10, 11, 11, 0xc001]);
    let role = prop::sample::select(vec![
        RegRole::Destination,
        RegRole::Destination,
        RegRole::Destination,
        RegRole::Source,
        RegRole::Source,
        RegRole::State,
    ]);
    let update = prop_oneof![9 => Just(RegUpdate::Set), 1 => Just(RegUpdate::Add)];
    let known = prop_oneof![9 => Just(None), 1 => Just(Some(0xff))];
    (class, number, role, update, value(), known).prop_map(|(class, number, role, update, value, known)| {
        RegAccess { reg: Reg { class, number }, role, update, value, known }
    })
}

/// An access, its rare attributes, and whether its data is the same as that of the first register.
type Access = (MemAccess, MemExtra, bool);

fn access() -> impl Strategy<Value = Access> {
    let kinds = vec![
        MemKind::Read,
        MemKind::Read,
        MemKind::Write,
        MemKind::Write,
        MemKind::ReadWrite,
        MemKind::Suppressed,
    ];
    let size = prop::sample::select(vec![1u64, 2, 4, 4, 8, 8, 16]);
    let physical = prop_oneof![2 => Just(None), 1 => (0u64..1 << 32).prop_map(Some)];
    let stored = prop_oneof![6 => Just(Value::Unknown), 1 => value()];
    let odd = prop_oneof![9 => Just(0u8), 1 => 1u8..6];
    let parts = (prop::sample::select(kinds), word(), size, value(), physical, stored, odd, any::<bool>());
    parts.prop_map(|(kind, address, size, data, physical, stored, odd, same)| {
        let mut access = MemAccess::new(kind, address, size, data);
        match odd {
            1 => access.tagged = true,
            2 => access.range = true,
            3 => access.inferred = true,
            4 => access.unplaced = true,
            5 => access.attributes = 3,
            _ => {}
        }
        (access, MemExtra { physical, stored, operation: None }, same)
    })
}

#[derive(Clone, Debug)]
enum Part {
    Step {
        instruction: (u32, u8),
        jump: Option<u64>,
        odd: u8,
        taken: Option<bool>,
        regs: Vec<RegAccess>,
        mem: Vec<Access>,
    },
    Other(u8),
}

fn part() -> impl Strategy<Value = Part> {
    let jump = prop_oneof![6 => Just(None), 1 => word().prop_map(Some)];
    let odd = prop_oneof![12 => Just(0u8), 1 => 1u8..7];
    let mem = prop_oneof![
        4 => prop::collection::vec(access(), 0..=1),
        1 => prop::collection::vec(access(), 2),
    ];
    let step = (
        prop::sample::select(ENCODINGS.to_vec()),
        jump,
        odd,
        any::<Option<bool>>(),
        prop::collection::vec(register(), 0..3),
        mem,
    );
    prop_oneof![
        12 => step.prop_map(|(instruction, jump, odd, taken, regs, mem)| Part::Step { instruction, jump, odd, taken, regs, mem }),
        1 => (0u8..5).prop_map(Part::Other),
    ]
}

/// The events of the parts; each step leads to the next one unless it jumps.
fn events(parts: &[Part]) -> Batch {
    let mut batch = Batch::default();
    let mut pc = 0x1000u64;
    for (n, part) in parts.iter().enumerate() {
        let offset = n as u64;
        match part {
            Part::Step { instruction: (encoding, length), jump, odd, taken, regs, mem } => {
                let accesses = batch.begin_accesses();
                batch.regs.extend(regs);
                for &(access, extra, same) in mem {
                    let extra = (extra != MemExtra::default()).then(|| batch.add_mem_extra(extra)).flatten();
                    let mut access = MemAccess { extra, ..access };
                    if let (true, Some(RegAccess { value: Value::Word(value), .. })) = (same, regs.first()) {
                        access.data = Value::Word(mask(*value, 8 * access.size.min(8) as u32));
                    }
                    batch.mem.push(access);
                }
                let accesses = batch.end_accesses(accesses).unwrap();
                let extra = match odd {
                    1 => Some(StepExtra { target: Some(pc ^ 0x40), ..StepExtra::default() }),
                    2 => Some(StepExtra { physical_pc: Some(pc), ..StepExtra::default() }),
                    3 => Some(StepExtra { placeholder: true, ..StepExtra::default() }),
                    _ => None,
                };
                let extra = extra.and_then(|extra| batch.add_extra(extra));
                let mut step = Step { accesses, extra, taken: *taken, ..Step::new(pc, *encoding, *length) };
                match odd {
                    4 => step.outcome = Outcome::Attempted,
                    5 => step.pc = None,
                    6 => step.length = 0,
                    _ => {}
                }
                batch.push(offset, EventKind::Step(step));
                pc = jump.map_or(pc.wrapping_add(u64::from(*length)), |to| to & !1);
            }
            Part::Other(0) => {
                let trap = Trap {
                    cause: Some(2),
                    from: Some(pc),
                    to: Some(0x100),
                    ..Trap::new(TrapKind::Exception)
                };
                batch.push_trap(offset, trap);
                pc = 0x100;
            }
            Part::Other(1) => {
                batch.push_context(offset, Context { privilege: Some(Privilege::S), ..Context::default() });
            }
            Part::Other(2) => {
                let time = Time { kind: TimeKind::Timestamp, value: Some(offset), clock: 0 };
                batch.push(offset, EventKind::Time(time));
            }
            Part::Other(3) => batch.push_gap(offset, Gap::new(GapReason::Overflow)),
            Part::Other(_) => batch.push_trap(offset, Trap::new(TrapKind::Reset)),
        }
    }
    batch
}

/// The trace and the account of it, or an error at a place that depends on the way.
fn lower<'b>(
    batches: impl IntoIterator<Item = &'b Batch>,
    config: WriteConfig,
) -> Option<(Vec<u8>, Account)> {
    let meta = Meta::new(trackway_tandem::ID, if config.config.xlen == 32 { Isa::Rv32 } else { Isa::Rv64 });
    let mut lower = Lower::new(Vec::new(), &meta, config).unwrap();
    for batch in batches {
        lower.put(batch).ok()?;
    }
    lower.into_inner().ok()
}

/// The same, with groups that were written ahead, two batches at a time; none where there is no such writer.
fn lower_ahead(batches: &[Batch], config: WriteConfig) -> Option<Option<(Vec<u8>, Account)>> {
    let meta = Meta::new(trackway_tandem::ID, if config.config.xlen == 32 { Isa::Rv32 } else { Isa::Rv64 });
    let mut lower = Lower::new(Vec::new(), &meta, config).unwrap();
    let mut ahead = lower.ahead()?;
    for batches in batches.chunks(2) {
        batches.iter().for_each(|batch| ahead.write(batch, &Context::default()));
        for batch in batches {
            if lower.put_ahead(batch, &mut *ahead).is_err() {
                return Some(None);
            }
        }
    }
    Some(lower.into_inner().ok())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_usual_step_is_written_and_counted_as_the_long_way_does(
        parts in prop::collection::vec(part(), 1..24),
        (xlen, flen) in prop::sample::select(vec![(64, 64), (64, 0), (32, 64), (32, 32)]),
        bluespec in any::<bool>(),
        compact in any::<bool>(),
        cuts in prop::collection::vec(0usize..24, 3),
    ) {
        let profile = if bluespec { Profile::Bluespec } else { Profile::Spec };
        let config = Config { xlen, flen, mlen: xlen, profile, reset_pc: Some(0x1000), ..Config::default() };
        let style = if compact { Style::Compact } else { Style::Verbose };
        let config = WriteConfig { config, style };
        let together = events(&parts);
        let one_by_one: Vec<Batch> = together
            .events
            .iter()
            .map(|&event| Batch { events: vec![event], ..together.clone() })
            .collect();
        let usual = lower([&together], config);
        prop_assert_eq!(&usual, &lower(&one_by_one, config));
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(together.events.len())).collect();
        cuts.sort_unstable();
        let ends = cuts.iter().copied().chain([together.events.len()]);
        let mut start = 0;
        let parts: Vec<Batch> = ends
            .map(|end| {
                let events = together.events[std::mem::replace(&mut start, end)..end].to_vec();
                Batch { events, ..together.clone() }
            })
            .collect();
        let ahead = lower_ahead(&parts, config);
        prop_assert_eq!(ahead.is_none(), compact);
        prop_assert_eq!(ahead.unwrap_or(usual.clone()), usual);
    }
}
