//! Any items in any widths: they are written and read back, damage is placed, and no bytes cause a panic.

mod survival;

use std::io::Read;

use proptest::prelude::*;
use trackway_core::*;
use trackway_tandem::{
    Config, Frame, Group, Lower, MemOp, Profile, Record, Style, Trace, WriteConfig, Writer, recognise,
};

fn configs() -> impl Strategy<Value = Config> {
    let rv64 = (prop::sample::select(vec![0, 32, 64]), any::<bool>())
        .prop_map(|(flen, bluespec)| config(64, flen, 64, bluespec));
    let rv32 = (prop::sample::select(vec![0, 32, 64]), prop::sample::select(vec![32, 34]), any::<bool>())
        .prop_map(|(flen, mlen, bluespec)| config(32, flen, mlen, bluespec));
    prop_oneof![rv64, rv32]
}

fn config(xlen: u32, flen: u32, mlen: u32, bluespec: bool) -> Config {
    let profile = if bluespec { Profile::Bluespec } else { Profile::Spec };
    Config { xlen, flen, mlen, profile, reset_pc: Some(0x1000), ..Config::default() }
}

/// Any item except begin and end, cut to the widths.
fn record(config: Config) -> impl Strategy<Value = Vec<Record>> {
    let xlen = move |value: u64| mask(value, config.xlen);
    let mlen = move |value: u64| mask(value, config.mlen);
    let eaddr = move |value| if config.profile == Profile::Bluespec { xlen(value) } else { mlen(value) };
    let address = prop_oneof![0u16..0x1000, 0x1000u16..0x1020];
    let incremental = address.clone();
    let or = address.clone();
    let fpr = (0x1020u16..0x1040).prop_filter("no FPRs", move |_| config.flen > 0);
    let small = any::<u64>();
    prop_oneof![
        1 => Just(vec![Record::IncrementPc]),
        4 => (address, any::<u64>())
            .prop_map(move |(address, data)| vec![Record::FullRegister { address, data: xlen(data) }]),
        2 => (if config.flen > 0 { fpr.boxed() } else { Just(0x1001).boxed() }, any::<u64>()).prop_map(move |(address, data)| {
            let width = if address < 0x1020 { config.xlen } else { config.flen };
            vec![Record::FullRegister { address, data: mask(data, width) }]
        }),
        1 => (incremental, any::<i8>()).prop_map(|(address, offset)| vec![Record::AddRegister { address, offset }]),
        1 => (or, any::<u8>()).prop_map(|(address, mask)| vec![Record::OrRegister { address, mask }]),
        1 => any::<u8>().prop_map(|mode| vec![Record::PrivilegeMode(mode)]),
        1 => any::<u64>().prop_map(move |a| vec![Record::PhysicalAddress(mlen(a))]),
        1 => any::<u64>().prop_map(move |a| vec![Record::EffectiveAddress(eaddr(a))]),
        1 => (0u8..4, any::<u64>()).prop_map(|(size, data)| vec![Record::StoreData { size, data: mask(data, 8 << size) }]),
        1 => any::<u64>().prop_map(|time| vec![Record::Mtime(time)]),
        1 => any::<u64>().prop_map(move |a| vec![Record::PcPhysicalAddress(mlen(a))]),
        2 => any::<u64>().prop_map(move |pc| vec![Record::Pc(xlen(pc))]),
        2 => (any::<u64>(), 0u8..14, 0u8..4, small, any::<u64>(), any::<Option<u8>>()).prop_map(
            move |(address, op, size, data, back, result)| memory(mlen(address), op, size, data, back, result)
        ),
        1 => Just(vec![Record::HartReset]),
        1 => Just(vec![Record::StateInitialization]),
        2 => any::<u16>().prop_map(|encoding| vec![Record::Instruction16(encoding)]),
        2 => any::<u32>().prop_map(|encoding| vec![Record::Instruction32(encoding)]),
    ]
}

/// A request, and its response if there is a result.
fn memory(address: u64, op: u8, size: u8, data: u64, back: u64, result: Option<u8>) -> Vec<Record> {
    let op = MemOp(op);
    let data = if op.sends() { mask(data, 8 << size) } else { 0 };
    let mut records = vec![Record::MemoryRequest { address, op, size, data }];
    records.extend(result.map(|result| Record::MemoryResponse {
        size,
        result: result & 0xf,
        data: op.returns().then_some(mask(back, 8 << size)),
    }));
    records
}

fn group(config: Config) -> impl Strategy<Value = Group> {
    let frame = prop::sample::select(vec![Frame::Ended, Frame::Ended, Frame::Implied, Frame::Outside]);
    (frame, prop::collection::vec(record(config), 1..6)).prop_map(|(frame, records)| Group {
        offset: 0,
        frame,
        records: records.concat(),
    })
}

fn trace() -> impl Strategy<Value = (Config, Vec<Group>)> {
    configs().prop_flat_map(|config| (Just(config), prop::collection::vec(group(config), 1..12)))
}

fn write(groups: &[Group], config: &Config) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), config).unwrap();
    groups.iter().for_each(|group| writer.write_group(group).unwrap());
    writer.into_inner().unwrap()
}

fn records(input: Input, config: &Config) -> (Vec<(u64, Record)>, Option<Error>) {
    let (records, error, _) = survival::items(input, config);
    (records, error)
}

/// Returns its bytes in pieces of odd sizes.
struct Pieces(Vec<u8>, usize);

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = out.len().min(1 + self.1 % 7).min(self.0.len() - self.1);
        out[..n].copy_from_slice(&self.0[self.1..self.1 + n]);
        self.1 += n;
        Ok(n)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn groups_write_and_read_back((config, groups) in trace()) {
        let bytes = write(&groups, &config);
        let expected: Vec<Record> = groups.iter().flat_map(Group::wire).collect();
        let (read, error) = records(Input::from_vec(bytes.clone()), &config);
        let ends_open = groups.iter().rfind(|g| g.frame != Frame::Outside).is_some_and(|g| g.frame == Frame::Implied);
        // The end of the last group cannot be implied, nor can a group's by items outside.
        if !ends_open {
            prop_assert_eq!(error, None);
        }
        let read: Vec<Record> = read.into_iter().map(|(_, record)| record).collect();
        prop_assert_eq!(&read, &expected);
        prop_assert_eq!(trackway_tandem::to_bytes(&read, &config).unwrap(), bytes);
    }

    #[test]
    fn items_come_the_same_one_by_one_and_in_groups((config, groups) in trace(), cut in any::<prop::sample::Index>()) {
        let bytes = write(&groups, &config);
        let bytes = &bytes[..bytes.len() - cut.index(bytes.len())];
        let (singly, error) = records(Input::from_vec(bytes.to_vec()), &config);
        let (groups, group_error) = survival::groups(bytes, &config);
        let together: Vec<Record> = groups.iter().flat_map(Group::wire).collect();
        let singly: Vec<Record> = singly.into_iter().map(|(_, record)| record).collect();
        prop_assert_eq!(&together[..], &singly[..together.len()]);
        prop_assert_eq!(group_error.map(|e| (e.offset, e.kind)), error.map(|e| (e.offset, e.kind)));
        if group_error.is_none() {
            prop_assert_eq!(together.len(), singly.len());
        }
    }

    #[test]
    fn a_stream_reads_like_the_whole((config, groups) in trace()) {
        let bytes = write(&groups, &config);
        let whole = records(Input::from_vec(bytes.clone()), &config);
        let piecewise = records(Input::Stream(Box::new(Pieces(bytes, 0))), &config);
        prop_assert_eq!(whole, piecewise);
    }

    #[test]
    fn a_cut_changes_nothing_before_it((config, groups) in trace(), cut in any::<prop::sample::Index>()) {
        let bytes = write(&groups, &config);
        let cut = cut.index(bytes.len());
        let (whole, _) = records(Input::from_vec(bytes.clone()), &config);
        let (part, error) = records(Input::from_vec(bytes[..cut].to_vec()), &config);
        prop_assert_eq!(&part[..], &whole[..part.len()]);
        if let Some(error) = error {
            prop_assert!(error.is_truncated(), "{}", error);
            prop_assert!(error.offset <= cut as u64);
        }
        survival::survive(&bytes[..cut], &config, Style::Verbose);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0u8..18], 0..400), config in configs()) {
        survival::survive(&bytes, &config, Style::Compact);
    }

    #[test]
    fn damage_is_survived((config, groups) in trace(), at in any::<prop::sample::Index>(), flip in 1u8..) {
        let mut bytes = write(&groups, &config);
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        survival::survive(&bytes, &config, Style::Compact);
    }

    #[test]
    fn styles_say_the_same((config, groups) in trace()) {
        // As a reader forms them: two times outside groups are two stretches.
        let (groups, _) = survival::groups(&write(&groups, &config), &config);
        survival::styles_agree(&groups, &config);
    }
}

/// After an increment in a group with a reset the pc is unknown, in any style.
#[test]
fn a_reset_that_increments_is_the_same_in_all_styles() {
    let group = |records: &[Record]| Group { frame: Frame::Ended, records: records.into(), offset: 0 };
    let instruction = Record::Instruction16(0);
    let groups = [
        group(&[Record::Pc(0)]),
        group(&[Record::HartReset, instruction, Record::IncrementPc]),
        group(&[Record::IncrementPc, instruction]),
    ];
    survival::styles_agree(&groups, &Config::default());
}

/// Sound groups of a plain run, as an encoder sends them.
fn run(config: &Config, count: u64) -> Vec<Group> {
    let mut groups = vec![Group { records: vec![Record::HartReset], ..Group::default() }];
    for n in 0..count {
        let pc = Record::Pc(0x1004 + 4 * n);
        let data = mask(n.wrapping_mul(0x9e37_79b9_7f4a_7c15), config.xlen);
        let records = match n % 4 {
            // add, lw, sd or sw, fadd.d
            0 => vec![pc, Record::Instruction32(0x0062_81b3), Record::FullRegister { address: 0x1003, data }],
            1 => vec![
                pc,
                Record::Instruction32(0x0082_a203),
                Record::FullRegister { address: 0x1004, data: mask(sign_extend(data, 32), config.xlen) },
                Record::EffectiveAddress(0x8000_0000 + 8 * n),
            ],
            2 => vec![
                pc,
                Record::Instruction32(0x0062_a423),
                Record::StoreData { size: 2, data: mask(data, 32) },
                Record::EffectiveAddress(0x8000_0000 + 8 * n),
            ],
            _ => vec![
                pc,
                Record::Instruction32(0x0273_f2d3),
                Record::FullRegister { address: 0x1025, data: mask(data, config.flen) },
                Record::FullRegister { address: 1, data: 1 },
            ],
        };
        groups.push(Group { records, ..Group::default() });
    }
    groups
}

const PROFILES: [(u32, u32, u32, bool); 8] = [
    (64, 64, 64, false),
    (64, 32, 64, true),
    (32, 32, 32, false),
    (32, 64, 32, true),
    (32, 32, 34, false),
    (32, 64, 34, false),
    (32, 32, 34, true),
    (32, 64, 34, true),
];

#[test]
fn widths_and_profiles_are_recognised() {
    for (xlen, flen, mlen, bluespec) in PROFILES {
        let written = config(xlen, flen, mlen, bluespec);
        let bytes = write(&run(&written, 40), &written);
        let found = recognise(&bytes).unwrap();
        assert_eq!((found.xlen, found.flen), (xlen, flen), "{written:?}");
        // MLEN of a Bluespec trace without memory requests has no effect and cannot be found.
        assert_eq!(found.widths().unwrap().eaddr, written.widths().unwrap().eaddr, "{written:?}");
    }
}

#[test]
fn events_go_round_in_every_profile() {
    for (xlen, flen, mlen, bluespec) in PROFILES {
        for style in [Style::Verbose, Style::Compact] {
            let config = config(xlen, flen, mlen, bluespec);
            let bytes = write(&run(&config, 60), &config);
            let mut lift = Trace::open(Input::from_vec(bytes.clone()), config).unwrap().events();
            let mut lower = Lower::new(Vec::new(), lift.meta(), WriteConfig { config, style }).unwrap();
            let mut batch = Batch::default();
            let (mut facts, mut contexts) = (Counts::of_meta(lift.meta()), Contexts::new(lift.meta()));
            while lift.fill(&mut batch).unwrap() {
                facts.add_batch(&batch, &mut contexts);
                lower.put(&batch).unwrap();
            }
            let (out, account) = lower.into_inner().unwrap();
            let ledger = Ledger::new(&facts, &account);
            assert!(!ledger.is_lossy(), "{config:?}\n{ledger}");
            // Compact and back.
            let (groups, error) = survival::groups(&out, &config);
            assert_eq!(error, None);
            assert_eq!(survival::pack(&groups, &config, Style::Verbose), bytes, "{config:?} {style:?}");
        }
    }
}

#[test]
fn damage_costs_the_group_it_is_in() {
    let config = config(64, 64, 64, true);
    let groups = run(&config, 40);
    let bytes = write(&groups, &config);
    let mut lift = Trace::open(Input::from_vec(bytes.clone()), config).unwrap().events();
    let mut batch = Batch::default();
    lift.fill(&mut batch).unwrap();
    let starts: Vec<u64> = batch.events.iter().map(|event| event.offset).collect();
    for (n, &start) in starts.iter().enumerate().skip(2).take(30) {
        let mut damaged = bytes.clone();
        // The opcode of the second item: the group cannot be read.
        damaged[start as usize + 11] = 0xee;
        let mut lift = Trace::open(Input::from_vec(damaged), config).unwrap().events();
        let mut seen = Vec::new();
        loop {
            match lift.fill(&mut batch) {
                Ok(false) => break,
                Ok(true) => {
                    seen.extend(batch.events.iter().map(|e| (e.offset, matches!(e.kind, EventKind::Gap(_)))))
                }
                Err(error) => {
                    assert_eq!(error.offset, start + 11);
                    assert!(lift.resync().unwrap());
                }
            }
        }
        let expected: Vec<(u64, bool)> = starts.iter().enumerate().map(|(m, &at)| (at, m == n)).collect();
        assert_eq!(seen, expected, "group {n}");
    }
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let mut writer = Writer::new(Vec::new(), &Config::rv32()).unwrap();
    for record in [
        Record::Pc(1 << 32),
        Record::FullRegister { address: 0x1001, data: 1 << 32 },
        Record::FullRegister { address: 0x2000, data: 0 },
        Record::EffectiveAddress(1 << 40),
        Record::StoreData { size: 0, data: 256 },
        Record::StoreData { size: 4, data: 0 },
        Record::MemoryRequest { address: 0, op: MemOp(14), size: 0, data: 0 },
        Record::MisprintedPc(0),
    ] {
        assert!(writer.write(&record).is_err(), "{record:?}");
    }
    assert_eq!(writer.position(), 0);
    assert!(Config { mlen: 34, ..Config::default() }.widths().is_err());
    assert!(Config { flen: 128, ..Config::default() }.widths().is_err());
}

/// The store data of an atomic means something else in each profile, so that a reader must find the right one, however
/// late the first atomic comes.
#[test]
fn the_profile_of_a_written_trace_is_recognised() {
    const AMOADD_W: u32 = 0x00c5_25af;
    const ADDI: u32 = 0x0015_8593;
    let word = |role, number, value| RegAccess {
        reg: Reg { class: RegClass::Int, number },
        role,
        update: RegUpdate::Set,
        value: Value::Word(value),
        known: None,
    };
    for bluespec in [false, true] {
        let config = Config { reset_pc: None, ..config(64, 64, 64, bluespec) };
        let meta = Meta::new(FormatId::new("test"), Isa::Rv64);
        let mut lower =
            Lower::new(Vec::new(), &meta, WriteConfig { config, ..WriteConfig::default() }).unwrap();
        let mut batch = Batch::default();
        for n in 0..3000 {
            let begun = batch.begin_accesses();
            batch.regs.push(word(RegRole::Destination, 11, n));
            let accesses = batch.end_accesses(begun).unwrap();
            batch.push(n, EventKind::Step(Step { accesses, ..Step::new(0x1000 + 4 * n, ADDI, 4) }));
        }
        let begun = batch.begin_accesses();
        batch.regs.extend([word(RegRole::Source, 12, 0x2222), word(RegRole::Destination, 11, 0x1111)]);
        let extra = batch.add_mem_extra(MemExtra { stored: Value::Word(0x3333), ..MemExtra::default() });
        let access = MemAccess::new(MemKind::ReadWrite, 0x4000, 4, Value::Word(0x1111));
        batch.mem.push(MemAccess { extra, ..access });
        let accesses = batch.end_accesses(begun).unwrap();
        batch.push(3000, EventKind::Step(Step { accesses, ..Step::new(0x1000 + 4 * 3000, AMOADD_W, 4) }));
        lower.put(&batch).unwrap();
        let (bytes, _) = lower.into_inner().unwrap();
        let found = recognise(&bytes[..1 << 16]).unwrap();
        assert_eq!(found.profile, config.profile);

        let mut lift = Trace::open(Input::from_vec(bytes), found).unwrap().events();
        let mut stored = Vec::new();
        while lift.fill(&mut batch).unwrap() {
            stored.extend(batch.mem.iter().map(|access| batch.mem_extra_of(access).unwrap().stored));
        }
        assert_eq!(stored, [Value::Word(0x3333)]);
    }
}

/// Found by fuzzing: increments may not be repeated, values may.
#[test]
fn a_value_that_is_written_twice_stays_so_in_both_styles() {
    let full = Record::FullRegister { address: 0x1005, data: 7 };
    let next = Record::FullRegister { address: 0x1005, data: 8 };
    let group = |records: &[Record]| Group { records: records.to_vec(), ..Group::default() };
    survival::styles_agree(&[group(&[full]), group(&[next, next])], &Config::default());
}
