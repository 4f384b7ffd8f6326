//! The examples of the specifications: chapter 12, section 6.6.2, the ratified text's transport chapter, and
//! golden bytes of known producers.

mod common;

use std::sync::Arc;

use trackway_core::*;
use trackway_etrace::port::{Block, Cycle, Itype};
use trackway_etrace::wire::Received;
use trackway_etrace::wire::instruction::{
    self as packet, Branches, Layout, Packet, Reported, Start, Support, map_bits, qual_status,
};
use trackway_etrace::{Config, Dialect, Encoder, Reader, ResyncMode, Writer, transport};
use trackway_image::{Image, Space};

fn golden_config() -> Config {
    let mut config = Config::new(Dialect::V2);
    config.params.iaddress_width = 64;
    config.params.nocontext = 0;
    config.params.context_width = 32;
    config.params.ecause_width = 5;
    config
}

fn both_ways(packet: Packet, config: &Config, hex: &str) {
    let layout = Layout::new(config, config.options);
    let bytes: Vec<u8> = hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    assert_eq!(packet.write(&layout, true).bytes(), bytes, "{packet:x?}");
    let exact = Received::<Packet>::read(&bytes, bytes.len() as u32 * 8, &layout).unwrap();
    assert_eq!(exact.packet, packet);
    assert_eq!(exact.write(&layout), bytes);
}

fn start(address: u64, privilege: u32) -> Packet {
    Packet::Start(Start { branch: true, privilege, address, ..Start::default() })
}

/// 64-bit address, lsb 1, 32-bit context, 2-bit privilege, 5-bit ecause, no time.
#[test]
fn golden_bytes_of_known_producers() {
    let config = golden_config();
    let address = |address: i64| {
        let field = (address as u64) >> 1 & (u64::MAX >> 1);
        Reported { address: field, ..Reported::default() }
    };
    let support = Support { enable: true, ..Support::default() };
    both_ways(Packet::Support(support), &config, "1f");
    both_ways(start(0x4000_0000, 3), &config, "73 00 00 00 00 00 00 00 20");
    let trap = packet::Trap {
        branch: true,
        privilege: 3,
        ecause: 7,
        interrupt: true,
        thaddr: true,
        address: 0x4000_0010,
        ..packet::Trap::default()
    };
    both_ways(Packet::Trap(trap), &config, "77 00 00 00 80 33 04 00 00 10");
    let trap = packet::Trap { ecause: 2, interrupt: false, thaddr: false, ..trap };
    both_ways(Packet::Trap(trap), &config, "77 00 00 00 00 01 04 00 00 10");
    both_ways(Packet::Address(address(4)), &config, "0a");
    let map = Branches { branches: 1, branch_map: 0, reported: address(4) };
    both_ways(Packet::Branches(map), &config, "05 02");
    let map = Branches { branches: 1, branch_map: 1, reported: address(-20) };
    both_ways(Packet::Branches(map), &config, "85 f6");
    let end = Support { qual_status: qual_status::ENDED_REP, ..Support::default() };
    both_ways(Packet::Support(end), &config, "4f");
}

/// The ratified text's transport chapter: 64-bit, lsb 0, full address, context 32, ecause 5.
#[test]
fn golden_bytes_of_the_transport_chapter() {
    let mut config = golden_config();
    config.params.iaddress_lsb = 0;
    config.options.full_address = true;
    let full = |address: u64| Reported { address, ..Reported::default() };
    let layout = Layout::new(&config, config.options);
    for hex in [
        "05 04 01 00 80 00",
        "32 04 00 00 02",
        "77 00 00 00 00 81 88 00 00 20",
        "bd aa aa 68 00 00 20",
        "77 00 00 00 80 33 6c 00 00 20",
        "1f 04",
        "73 00 00 00 00 91 82 00 10",
        "73 00 00 00 00 d8 00 00 40",
    ] {
        let bytes: Vec<u8> = hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
        let exact = Received::<Packet>::read(&bytes, bytes.len() as u32 * 8, &layout).unwrap();
        assert_eq!(exact.packet.write(&layout, true).bytes(), bytes, "{hex}: {:x?}", exact.packet);
    }
    both_ways(start(0x8000_01b0, 3), &config, "73 00 00 00 00 d8 00 00 40");
    both_ways(Packet::Address(full(0x8000_010c)), &config, "32 04 00 00 02");
    let support = Support { enable: true, ioptions: 0b100, ..Support::default() };
    both_ways(Packet::Support(support), &config, "1f 04");
    // Encapsulated with a 6-bit source id 1 and 2-bit type 10.
    config.framing = transport::Framing::Encap { srcid_width: 6, type_width: 2, timestamp_bytes: 0 };
    config.encoder.source = 1;
    let mut writer = Writer::new(&config);
    writer.write(&Packet::Address(full(0x8000_010c)), None).unwrap();
    assert_eq!(writer.bytes, [0x06, 0x81, 0x32, 0x04, 0x00, 0x00, 0x02]);
    let mut reader = Reader::new(Input::from_vec(writer.bytes), &config);
    let item = reader.read().unwrap().unwrap();
    assert_eq!((item.frame.source, item.frame.kind), (1, transport::Kind::Instruction));
    assert_eq!(*item.packet().unwrap(), Packet::Address(full(0x8000_010c)));
}

/// Chapter 12's code, at its addresses, with fillers where the text omits code.
fn chapter_12() -> Arc<Image> {
    let mut image = Image::default();
    let mut add = |address: u64, halves: &[u16]| {
        let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
        image.add_raw("code", address, Arc::new(bytes), Space::default()).unwrap();
    };
    add(0x8000_1188, &[0x6121, 0x8082]); // addi sp; ret
    add(0x8000_1a88, &[0x0597, 0x0000, 0x8593, 0x6505]); // auipc a1; addi a1
    // Func_2: li; begz over 0x10 taken; epilogue; ret.
    add(0x8000_10da, &[0x4781, 0xcb81]); // c.li a5,0; c.beqz a5,+0x10
    add(0x8000_10ec, &[0x60e2, 0x6442, 0x64a2, 0x853e, 0x6105, 0x8082]);
    add(0x8000_1b8a, &[0x2603, 0xf444, 0x0001]);
    // Proc_6: three branches, then the epilogue.
    add(0x8000_1116, &[0x0463, 0x02f4, 0xc81d, 0x4709, 0x0063, 0x04e4]);
    add(0x8000_115e, &[0x60e2, 0x6442, 0xc09c, 0x64a2, 0x6105, 0x8082]);
    add(0x8000_1258, &[0x0001, 0x0001]);
    // Proc_1: lw; branch taken; jal to Proc_6; its prologue; jal to Func_3; ret.
    add(0x8000_121c, &[0x441c, 0xc795]); // c.lw; c.beqz a5,+0x2c
    add(0x8000_124a, &[0x0001, 0x0001, 0x0001, 0x0001, 0x0001]);
    add(0x8000_1254, &[0xf0ef, 0xeadf]); // jal ra, Proc_6
    add(0x8000_1100, &[0x1101, 0xe822, 0xe426, 0xec06, 0x842a, 0x84ae, 0xf0ef, 0xfedf]);
    add(0x8000_10f8, &[0x1579, 0x3513, 0x0015, 0x8082]);
    add(0x8000_1110, &[0xc115, 0x0001, 0x0001]);
    Arc::new(image)
}

fn chapter_12_config() -> Config {
    let mut config = golden_config();
    config.encoder.exact = false;
    config.encoder.resync_mode = ResyncMode::Off;
    config
}

/// Encodes a path through chapter 12's code; returns its packets as text, and decodes it back.
fn packets(config: &Config, image: &Arc<Image>, path: &[u64]) -> Vec<String> {
    let memory = image.memory(&Context::default());
    let mut batch = Batch::default();
    for &pc in path {
        let (encoding, length) = memory.fetch(Isa::Rv64, pc).unwrap();
        batch.push(0, EventKind::Step(Step::new(pc, encoding, length)));
    }
    let (bytes, _) = common::encode(&batch, config);
    let found = common::decode(&bytes, config, image, 1);
    assert_eq!(found.error, None);
    let pcs: Vec<u64> = found
        .seen
        .iter()
        .map(|seen| match seen {
            trackway_testkit::random::Seen::Retired(pc, _) => *pc,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(pcs, path);
    common::raw(&bytes, config)
        .lines()
        .map(|line| line.split(' ').skip(1).collect::<Vec<_>>().join(" "))
        .collect()
}

fn field(address: u64) -> String {
    format!("address={:x}", address >> 1)
}

/// Example 2: a return is uninferable, and its target is sent as format 2.
#[test]
fn chapter_12_example_2() {
    let out =
        packets(&chapter_12_config(), &chapter_12(), &[0x8000_1188, 0x8000_118a, 0x8000_1a88, 0x8000_1a8c]);
    assert!(out[2].starts_with(&format!("2 {}", field(0x8000_1a88 - 0x8000_1188))), "{out:#?}");
}

/// Example 3: one taken branch, then a return: format 1 with a difference of 0xab0 from the branch's report.
#[test]
fn chapter_12_example_3() {
    let path = [
        0x8000_10da,
        0x8000_10dc,
        0x8000_10ec,
        0x8000_10ee,
        0x8000_10f0,
        0x8000_10f2,
        0x8000_10f4,
        0x8000_10f6,
        0x8000_1b8a,
        0x8000_1b8e,
    ];
    let out = packets(&chapter_12_config(), &chapter_12(), &path);
    // The difference is to the address reported last, here Func_2's own start: 0x80001b8a - 0x800010da.
    assert_eq!(0x8000_1b8a_u64 - 0x8000_10da, 0xab0);
    assert!(out[2].starts_with("1 branches=1 branch_map=0 address=558"), "{out:#?}");
}

/// Example 4: three branches, then a return: map 011, difference 0x148 from 0x80001110.
#[test]
fn chapter_12_example_4() {
    let path = [
        0x8000_1110,
        0x8000_1112,
        0x8000_1114,
        0x8000_1116,
        0x8000_111a,
        0x8000_111c,
        0x8000_111e,
        0x8000_115e,
        0x8000_1160,
        0x8000_1162,
        0x8000_1164,
        0x8000_1166,
        0x8000_1168,
        0x8000_1258,
        0x8000_125a,
    ];
    let out = packets(&chapter_12_config(), &chapter_12(), &path);
    // 0x80001110 is itself a branch, reported by the start packet.
    assert!(out[1].starts_with("3/0 branch=1"), "{out:#?}");
    assert!(out[2].starts_with(&format!("1 branches=3 branch_map=3 {}", field(0x148))), "{out:#?}");
}

/// Example 5: two branches, two calls and a return; the last branch follows the return at once. Its difference
/// is 0xfffffffffffffef4, from the address reported last, 0x8000121c.
#[test]
fn chapter_12_example_5() {
    let path = [
        0x8000_121c,
        0x8000_121e,
        0x8000_124a,
        0x8000_124c,
        0x8000_124e,
        0x8000_1250,
        0x8000_1252,
        0x8000_1254,
        0x8000_1100,
        0x8000_1102,
        0x8000_1104,
        0x8000_1106,
        0x8000_1108,
        0x8000_110a,
        0x8000_110c,
        0x8000_10f8,
        0x8000_10fa,
        0x8000_10fe,
        0x8000_1110,
        0x8000_1112,
        0x8000_1114,
    ];
    let out = packets(&chapter_12_config(), &chapter_12(), &path);
    let difference = 0xffff_ffff_ffff_fef4_u64 >> 1 & (u64::MAX >> 1);
    assert_eq!(0x8000_1110_u64.wrapping_sub(0x8000_121c), 0xffff_ffff_ffff_fef4);
    let expected = format!("1 branches=2 branch_map=2 address={difference:x}");
    assert!(out[2].starts_with(&expected), "{out:#?}");
    // The raw updiscon bit copies the difference's sign: 1.
    let mut raw = Vec::new();
    let reported = Reported { address: difference, ..Reported::default() };
    let config = golden_config();
    Packet::Address(reported).fields(&Layout::new(&config, config.options), &mut |name, value, _| {
        raw.push((name, value));
    });
    assert_eq!(raw[2], ("updiscon", 1));
}

/// Table 4.8 at the port: nine instructions in four blocks.
#[test]
fn table_4_8_retirement() {
    let mut encoder = Encoder::new(&chapter_12_config()).unwrap();
    let block =
        |itype, iaddr, iretire, ilastsize| Block { itype, iaddr, iretire, ilastsize, ..Block::default() };
    for (n, block) in [
        block(Itype::UNINFERABLE_CALL, 0x1000, 7, 0),
        block(Itype::NONTAKEN_BRANCH, 0x940, 3, 0),
        block(Itype::TAKEN_BRANCH, 0x946, 1, 0),
        block(Itype::NONE, 0x988, 4, 1),
    ]
    .iter()
    .enumerate()
    {
        let cycle = Cycle { blocks: &[*block], privilege: 3, cycle: n as u64, ..Cycle::default() };
        encoder.cycle(&cycle).unwrap();
    }
    encoder.finish(4).unwrap();
    let text = common::raw(&encoder.writer.bytes, &chapter_12_config());
    let names: Vec<&str> = text.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(names, ["3/3", "3/0", "2", "1", "3/3"]);
    assert!(text.contains("1 branches=2 branch_map=1 address=26"), "{text}"); // 0x98c - 0x940
}

/// The loop of 6.6.2: `looplabel` is met by falling in, and as the target of the jump at its end.
struct LoopLabel {
    image: Arc<Image>,
    config: Config,
}

const LABEL: u64 = 0x1004;
const JALR: u64 = 0x100c;

impl LoopLabel {
    fn new(exact: bool) -> Self {
        let mut image = Image::default();
        let code = [0x13u32, 0x13, 0x13, 0x0005_0067, 0x13, 0x13];
        let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        image.add_raw("loop", 0x1000, Arc::new(bytes), Space::default()).unwrap();
        let mut config = golden_config();
        config.encoder.exact = exact;
        config.encoder.resync_mode = ResyncMode::Off;
        LoopLabel { image: Arc::new(image), config }
    }

    /// Runs a path; `None` is an interrupt to 0x1010, `Some(pc)` with a notify at the given index.
    fn run(&self, path: &[Option<u64>], notify: &[usize]) -> (String, Vec<u64>, Vec<u64>) {
        let memory = self.image.memory(&Context::default());
        let mut batch = Batch::default();
        for (n, pc) in path.iter().enumerate() {
            match pc {
                Some(pc) => {
                    let (encoding, length) = memory.fetch(Isa::Rv64, *pc).unwrap();
                    batch.push(0, EventKind::Step(Step::new(*pc, encoding, length)));
                }
                None => batch.push_trap(0, trackway_core::Trap::new(TrapKind::Interrupt)),
            }
            if notify.contains(&n) {
                batch.push(0, EventKind::Mark(Mark::new(MarkKind::Notify)));
            }
        }
        let (bytes, _) = common::encode(&batch, &self.config);
        let found = common::decode(&bytes, &self.config, &self.image, 1);
        assert_eq!(found.error, None);
        let pcs = found.seen.iter().filter_map(|seen| match seen {
            trackway_testkit::random::Seen::Retired(pc, _) => Some(*pc),
            _ => None,
        });
        (common::raw(&bytes, &self.config), pcs.collect(), found.notified)
    }
}

/// 6.6.2, the four cases.
#[test]
fn section_6_6_2_cases() {
    let once: Vec<Option<u64>> = [0x1000, LABEL, 0x1008, JALR].map(Some).to_vec();
    for exact in [false, true] {
        let example = LoopLabel::new(exact);
        let check = |path: &[Option<u64>], notify: &[usize], wanted: &[&str], shunned: &[&str]| {
            let (text, pcs, notified) = example.run(path, notify);
            let expected: Vec<u64> = path.iter().flatten().copied().collect();
            assert_eq!(pcs, expected, "{text}");
            for word in wanted {
                assert!(text.contains(word), "{word}: {text}");
            }
            for word in shunned {
                assert!(!text.contains(word), "{word}: {text}");
            }
            notified
        };
        // 1: through the loop twice.
        let mut path = once.clone();
        path.extend([LABEL, 0x1008, JALR, 0x1010, 0x1014].map(Some));
        check(&path, &[], &["2 address=2 "], &["UPDISCON", "NOTIFY"]);
        // 2: trap after the second execution of the label.
        let mut path = once.clone();
        path.extend([Some(LABEL), None, Some(0x1010)]);
        check(&path, &[], &["UPDISCON"], &["NOTIFY"]);
        // 3: trap after the first execution.
        check(
            &[Some(0x1000), Some(LABEL), None, Some(0x1010)],
            &[],
            &["2 address=2 "],
            &["UPDISCON", "NOTIFY"],
        );
        // 4: the first execution is asked for; the second is reported anyway.
        let mut path = once.clone();
        path.extend([LABEL, 0x1008, JALR, 0x1010].map(Some));
        assert_eq!(check(&path, &[1, 4], &["NOTIFY"], &["UPDISCON"]), [LABEL]);
    }
}

/// 6.5.1: tracing ends at the label, in the first iteration or in the second.
#[test]
fn section_6_5_1_codes() {
    for exact in [false, true] {
        let example = LoopLabel::new(exact);
        let (text, pcs, _) = example.run(&[Some(0x1000), Some(LABEL)], &[]);
        assert_eq!(pcs, [0x1000, LABEL]);
        assert!(text.contains("ended_rep"), "{text}");
        let path = [0x1000, LABEL, 0x1008, JALR, LABEL].map(Some);
        let (text, pcs, _) = example.run(&path, &[]);
        assert_eq!(pcs, path.map(Option::unwrap));
        assert!(text.contains("ended_upd"), "{text}");
    }
}

/// 6.7.2 (table 6.6): with 12 branches the map has 15 bits, of which the 12 low ones are valid.
#[test]
fn table_6_6_map_sizes() {
    for (branches, bits) in
        [(1, 1), (2, 3), (3, 3), (4, 7), (7, 7), (8, 15), (12, 15), (15, 15), (16, 31), (31, 31)]
    {
        assert_eq!(map_bits(branches), bits);
        let config = golden_config();
        let layout = Layout::new(&config, config.options);
        let packet = Branches { branches, branch_map: 0, ..Branches::default() };
        assert_eq!(Packet::Branches(packet).write(&layout, false).field_bits, 2 + 5 + bits + 63 + 3);
    }
}
