//! The loop over common groups against lifting record by record.

mod common;

use std::io::Read;
use std::ops::ControlFlow;

use common::{Memory, filled, lines, open};
use proptest::prelude::*;
use trackway_core::{Input, Source};
use trackway_stf::{
    Config, Container, Copied, Data, EventId, Layout, Record, Register, Scan, Text16, Text32, Trace,
    WriteConfig, read,
};

/// Returns a few bytes at a time with a failure between them, so that the window of common records is never full.
struct Hesitant {
    bytes: Vec<u8>,
    at: usize,
    failed: bool,
}

impl Read for Hesitant {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.failed = !self.failed;
        if self.failed && self.at > 0 && self.at < self.bytes.len() {
            return Err(std::io::Error::other("wait"));
        }
        let len = out.len().min(3).min(self.bytes.len() - self.at);
        out[..len].copy_from_slice(&self.bytes[self.at..self.at + len]);
        self.at += len;
        Ok(len)
    }
}

/// The records of a trace, one by one.
fn scanned(file: &[u8]) -> (Copied, Vec<u8>) {
    let (mut counted, mut raw) = (Copied::default(), Vec::new());
    let mut visitor = |_: u64, record: &Record<'_>, bytes: &[u8]| {
        counted.records += 1;
        counted.markers += u64::from(record.is_marker());
        raw.extend_from_slice(bytes);
        ControlFlow::Continue(())
    };
    open(file).unwrap().records().scan(&mut visitor).unwrap();
    (counted, raw)
}

/// Offset, record and bytes of each record, and the error that ends them.
type Listed = (Vec<(u64, String, Vec<u8>)>, Option<trackway_core::Error>);

/// The records as `read` reads them.
fn read_one_by_one(file: &[u8]) -> Listed {
    let (mut records, mut layout, mut at) = (Vec::new(), Layout::default(), 0);
    while at < file.len() {
        match read(&file[at..], &layout, at as u64) {
            Ok((record, len)) => {
                layout.note(&record);
                records.push((at as u64, format!("{record:?}"), file[at..at + len].to_vec()));
                at += len;
            }
            Err(error) => return (records, Some(error)),
        }
    }
    (records, None)
}

/// The records as a visitor gets them that stops after every `most` of them.
fn visited(file: &[u8], most: usize) -> Listed {
    let (mut records, mut source) = (Vec::new(), open(file).unwrap().records());
    loop {
        let before = records.len();
        let mut visitor = |offset: u64, record: &Record<'_>, bytes: &[u8]| {
            records.push((offset, format!("{record:?}"), bytes.to_vec()));
            if records.len() - before == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        match source.scan(&mut visitor) {
            Ok(Scan::Stopped) => {}
            Ok(Scan::Ended) => return (records, None),
            Err(error) => return (records, Some(error)),
        }
    }
}

/// All events, and the number of records by name.
fn lifted(input: Input) -> (Vec<String>, trackway_core::Census) {
    match Trace::open(input, Config::default(), false) {
        Ok(trace) => {
            let mut source = trace.events(1);
            (filled(&mut source), source.census())
        }
        Err(error) => (vec![format!("error {error}")], Default::default()),
    }
}

/// Vector registers of this many bits.
const VLEN: u16 = 128;

fn bytes(isa: (u16, u16), body: &[Record<'_>]) -> Vec<u8> {
    let header = [
        Record::Identifier { magic: *b"STF" },
        Record::Version { major: 1, minor: 6 },
        Record::Isa { isa: isa.0 },
        Record::InstIem { mode: isa.1 },
        Record::TraceInfo { generator: 6, major: 1, minor: 0, patch: 0, text: Text16(b"") },
        Record::TraceInfoFeature { features: 0x20 },
        Record::VlenConfig { bits: VLEN.into() },
        Record::ForcePc { pc: 0x1000 },
        Record::EndHeader {},
    ];
    let mut bytes = Vec::new();
    header.iter().chain(body).for_each(|record| record.write(&mut bytes, &Layout::default()));
    bytes
}

/// Loads, stores, ECALL, EBREAK, exception-generating instructions of Arm, and any others.
fn opcodes() -> impl Strategy<Value = Record<'static>> {
    let wide = prop_oneof![
        4 => any::<u32>(),
        2 => Just(0x0005_3503),
        1 => prop_oneof![Just(0x73), Just(0x0010_0073), Just(0xd400_0001), Just(0xef00_0000)],
    ];
    let narrow = prop_oneof![4 => any::<u16>(), 1 => Just(0x9002), 1 => Just(0xdf00)];
    prop_oneof![
        wide.prop_map(|opcode| Record::InstOpcode32 { opcode }),
        narrow.prop_map(|opcode| Record::InstOpcode16 { opcode }),
    ]
}

fn records() -> impl Strategy<Value = Vec<Record<'static>>> {
    let sizes = prop_oneof![Just(8), Just(64), 0..300u16];
    let access =
        (any::<u64>(), sizes, any::<u16>(), 0..4u8).prop_map(|(address, size, attributes, access)| {
            Record::InstMemAccess { address, size, attributes, access }
        });
    let content = || any::<u64>().prop_map(|data| Record::InstMemContent { data });
    let target = || any::<u64>().prop_map(|pc| Record::InstPcTarget { pc });
    let rare = prop_oneof![
        target(),
        content(),
        any::<u64>().prop_map(|pc| Record::ForcePc { pc }),
        any::<u64>().prop_map(|pc| Record::EventPcTarget { pc }),
        (0..40u16, any::<u8>()).prop_map(|(number, meta)| Record::InstReg {
            register: Register { number, meta: meta & 0xf1 | 1, content: &[7; 8] }
        }),
        (any::<bool>(), 0..16u64).prop_map(|(interrupt, code)| Record::Event {
            id: EventId { interrupt, special: false, code },
            data: Data(&[1, 0, 0, 0, 0, 0, 0, 0])
        }),
        (0..4u8).prop_map(|_| Record::Event {
            id: EventId { interrupt: false, special: true, code: 1 },
            data: Data(&[3, 0, 0, 0, 0, 0, 0, 0])
        }),
        Just(Record::InstMicroop { size: 4, op: 0x1234_5678 }),
        Just(Record::Comment { text: Text32(b"here") }),
    ];
    let register = (0..40u16, any::<u8>(), 0..8usize).prop_map(|(number, meta, class)| {
        let (class, content) =
            [(1, &[7; 8][..]), (2, &[0; 8]), (3, &[9; 16]), (4, &[1; 8])][class.saturating_sub(4)];
        Record::InstReg { register: Register { number, meta: meta & 0xf0 | class, content } }
    });
    let registers = prop_oneof![
        Just(Vec::new()),
        prop::collection::vec(register.clone(), 0..4),
        prop::collection::vec(register, 0..100),
    ];
    let group = (
        registers,
        any::<bool>(),
        prop::collection::vec((access, prop::collection::vec(content(), 0..3)), 0..3),
        prop::option::weighted(0.2, target()),
        prop::option::weighted(0.1, rare),
        opcodes(),
    )
        .prop_map(|(registers, first, accesses, mut target, rare, opcode)| {
            let mut records = Vec::new();
            records.extend(target.take_if(|_| first));
            records.extend(registers);
            for (access, contents) in accesses {
                records.push(access);
                records.extend(contents);
            }
            records.extend(target);
            records.extend(rare);
            records.push(opcode);
            records
        });
    prop::collection::vec(group, 0..60).prop_map(|groups| groups.concat())
}

#[test]
fn a_fetch_fault_has_no_instruction() {
    let (riscv, arm) = ((1, 2), (2, 0x41));
    for (isa, code, expected) in
        [(riscv, 0, true), (riscv, 12, true), (riscv, 0x20, false), (arm, 0, false), (arm, 0x20, true)]
    {
        let id = EventId { interrupt: false, special: false, code };
        let opcode = if isa == riscv { 0x13 } else { 0xd503_201f };
        let body = [Record::Event { id, data: Data(&[0; 8]) }, Record::InstOpcode32 { opcode }];
        let (lines, _) = lifted(Input::from_vec(bytes(isa, &body)));
        let found = lines.iter().any(|line| line.contains("placeholder:yes"));
        assert_eq!(found, expected, "cause {code:#x}: {lines:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn groups_are_lifted_as_their_records_are(
        body in records(),
        isa in prop_oneof![3 => Just((1, 2)), 1 => Just((1, 1)), 2 => Just((2, 0x41)), 1 => Just((2, 1))],
        cut in prop::option::weighted(0.1, any::<prop::sample::Index>()),
    ) {
        let mut file = bytes(isa, &body);
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        let hesitant = Hesitant { bytes: file.clone(), at: 0, failed: false };
        let record_by_record = lifted(Input::Stream(Box::new(hesitant)));
        prop_assert_eq!(lifted(Input::from_vec(file)), record_by_record);
    }

    #[test]
    fn records_are_visited_as_they_are_read(
        body in records(),
        cut in prop::option::weighted(0.3, any::<prop::sample::Index>()),
        most in 1..30usize,
    ) {
        let (mut file, header) = (bytes((1, 2), &body), bytes((1, 2), &[]).len());
        if let Some(cut) = cut {
            file.truncate(header + cut.index(file.len() + 1 - header));
        }
        prop_assert_eq!(visited(&file, most), read_one_by_one(&file));
    }

    #[test]
    fn groups_are_copied_as_their_records_are(body in records(), chunk in 1..20u64) {
        let file = bytes((1, 2), &body);
        let memory = Memory::default();
        let config = WriteConfig { container: Container::Zstf, chunk, ..WriteConfig::default() };
        let copied = open(&file).unwrap().copy_to(memory.output(), config);
        let (counted, raw) = scanned(&file);
        prop_assert_eq!(copied, Ok(counted));
        prop_assert_eq!(scanned(&memory.bytes()), (counted, raw));
        // Threads begin at the addresses in the index; after an error, only a container can be entered again.
        let expected = lines(&file, 1);
        if !expected.iter().any(|line| line.starts_with("error")) {
            prop_assert_eq!(lines(&memory.bytes(), 2), expected);
        }
    }
}
