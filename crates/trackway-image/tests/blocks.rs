//! The block table against a slow walker that has no tables: every address, every instruction set.

use std::sync::Arc;

use proptest::prelude::*;
use trackway_core::{Context, Isa};
use trackway_image::{Block, Blocks, Cursor, Image, Mapping, Memory, Segment, Space, Waypoints};
use trackway_isa::arm::t32;
use trackway_isa::{Control, Flow, Switch, flow};

const SETS: [Isa; 5] = [Isa::A64, Isa::A32, Isa::T32, Isa::Rv32, Isa::Rv64];

/// The longest run that the table has in one piece.
const LONGEST: u32 = 4095;

fn segment(address: u64, bytes: Vec<u8>) -> Segment {
    Segment::new(address, Arc::new(bytes)).expect("it fits")
}

fn table(memory: Memory, isa: Isa, waypoints: Waypoints) -> Arc<Blocks> {
    Arc::new(Blocks::new(Arc::new(memory), isa, waypoints))
}

fn a64(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn halves(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// One instruction without tables; IT blocks are left to the tests that know where they are.
fn decode(memory: &Memory, isa: Isa, pc: u64) -> Option<Flow> {
    let (encoding, length) = memory.fetch(isa, pc)?;
    let flow = flow(isa, pc, encoding);
    if flow.length == length {
        Some(flow)
    } else {
        Some(Flow { control: Control::Undefined, ..Flow::sequential(length) })
    }
}

/// The run from `pc`: the addresses of its instructions, and the flow of the last.
fn walk(memory: &Memory, isa: Isa, waypoints: Waypoints, pc: u64) -> (Vec<u64>, Option<Flow>) {
    let (mut starts, mut at) = (Vec::new(), pc);
    let mut last = None;
    while let Some(flow) = decode(memory, isa, at) {
        starts.push(at);
        at += u64::from(flow.length);
        last = Some(flow);
        if waypoints.ends(flow.control) {
            break;
        }
    }
    (starts, last)
}

/// The whole run by the table, joined where it comes in pieces.
fn whole(cursor: &mut Cursor, pc: u64) -> Option<(Block, u32)> {
    let mut block = cursor.at(pc)?;
    let mut count = block.count;
    while block.control == Control::Sequential
        && let Some(next) = cursor.at(block.end)
    {
        block = next;
        count += block.count;
    }
    assert!(count == cursor.at(pc)?.count || count > LONGEST, "cut without a reason: {pc:#x}");
    Some((block, count))
}

/// A glance shows the block that was looked up last.
fn glance<const GRANULE: u32>(cursor: &Cursor, block: &Block) {
    let runs = cursor.glances::<GRANULE>();
    let slot = runs.slot(block.start);
    let run = runs.run(slot);
    let found = (runs.address(slot), runs.address(slot + run.length()), run.count(), run.shape().control());
    assert_eq!(found, (block.start, block.end, block.count, block.control));
    if run.shape().stays() && block.control.is_direct() {
        assert_eq!(Some(runs.address(slot.wrapping_add(run.distance()))), block.target);
    }
    for outside in [block.start + 1, runs.address(0).wrapping_sub(4), runs.end()] {
        assert_eq!(runs.run(runs.slot(outside)).shape().control(), Control::Sequential);
    }
}

/// Every address around and in `memory`: what the table says is what the walker finds.
fn compare(memory: Memory, isa: Isa, waypoints: Waypoints, addresses: impl Iterator<Item = u64>) {
    let granule = if matches!(isa, Isa::A64 | Isa::A32) { 4 } else { 2 };
    let blocks = table(memory.clone(), isa, waypoints);
    let mut cursor = blocks.cursor();
    for pc in addresses {
        let (starts, last) = walk(&memory, isa, waypoints, pc);
        let Some((block, count)) = whole(&mut cursor, pc) else {
            assert!(starts.is_empty() || pc % granule != 0, "{isa} {pc:#x}: the table has no run");
            continue;
        };
        assert_eq!(pc % granule, 0, "{isa} {pc:#x}");
        let last = last.expect("the table has a run");
        assert_eq!(count as usize, starts.len(), "{isa} {pc:#x}");
        assert_eq!(Some(&block.last), starts.last(), "{isa} {pc:#x}");
        assert_eq!(block.end, block.last + u64::from(last.length), "{isa} {pc:#x}");
        if waypoints.ends(last.control) {
            if isa == Isa::T32 && block.conditional && !last.conditional {
                // An IT instruction comes before it: other tests cover that.
                continue;
            }
            let found = (block.control, block.target, block.conditional, block.switch);
            assert_eq!(found, (last.control, last.target, last.conditional, last.switch), "{isa} {pc:#x}");
        } else {
            assert_eq!(block.control, Control::Sequential, "{isa} {pc:#x}");
        }
        let first = cursor.at(pc).expect("it was there");
        match granule {
            4 => glance::<2>(&cursor, &first),
            _ => glance::<1>(&cursor, &first),
        }
        let usual = first.control.is_direct() && first.switch == Switch::Stay;
        match cursor.near(pc) {
            Some(near) => {
                let found =
                    (near.end(), near.count(), near.control(), near.conditional(), Some(near.target()));
                assert!(usual, "{isa} {pc:#x}");
                assert_eq!(found, (first.end, first.count, first.control, first.conditional, first.target));
            }
            None => {
                let far = first.target.is_some_and(|target| target.abs_diff(pc) > 1 << 27);
                assert!(!usual || far, "{isa} {pc:#x}");
            }
        }
        for address in (pc..first.end.min(pc + 64)).chain([first.last, first.end]) {
            let expected = starts.iter().position(|start| *start == address && *start < first.end);
            let found = cursor.position(pc, address).map(|n| n as usize);
            assert_eq!(found, expected, "{isa} {address:#x} in the run from {pc:#x}");
        }
    }
}

const ALL: Waypoints = Waypoints { isb: true, wait: true, transaction: true, trap: true };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Random bytes in random places, with holes, odd addresses and pieces of different files side by side.
    #[test]
    fn agrees_with_a_walker(
        pieces in prop::collection::vec((0u64..0x2400, prop::collection::vec(any::<u8>(), 1..600)), 1..8),
        waypoints in prop::sample::select(vec![Waypoints::TRANSFERS, Waypoints::ETRACE, Waypoints::ete(true), ALL]),
    ) {
        let segments: Vec<Segment> =
            pieces.into_iter().map(|(offset, bytes)| segment(0x10_0000 + offset, bytes)).collect();
        for isa in SETS {
            compare(Memory::new(segments.clone()), isa, waypoints, 0xf_ffe0..0x10_2700);
        }
    }

    /// Code-like halfwords: many wide and narrow instructions and few transfers, so that runs are long.
    #[test]
    fn agrees_on_long_mixed_runs(
        wide in prop::collection::vec(any::<(bool, u16)>(), 1500..3000),
        start in 0u64..8,
    ) {
        let (mut riscv, mut thumb) = (Vec::new(), Vec::new());
        for (is_wide, any) in wide {
            // addi with any fields, c.li; add.w with r0 to r7, movs.
            if is_wide {
                riscv.extend([0x0013 | any & 0x0f80, any]);
                thumb.extend([0xeb00 | any & 7, any & 0x0707]);
            } else {
                riscv.push(0x4001 | any & 0x1ffc);
                thumb.push(0x2000 | any & 0x07ff);
            }
        }
        let at = 0x1f_f000 + 2 * start;
        for (isa, code) in [(Isa::Rv64, riscv), (Isa::Rv32, thumb.clone()), (Isa::T32, thumb)] {
            let end = at + 2 * code.len() as u64;
            let memory = Memory::new([segment(at, halves(&code))]);
            compare(memory, isa, Waypoints::TRANSFERS, (at - 2..at + 300).chain(end - 300..end + 2));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Parts that are made one by one are those of whole pages, also where long runs are cut.
    #[test]
    fn parts_are_those_of_whole_pages(
        stretches in prop::collection::vec((0usize..9000, prop::collection::vec(any::<u8>(), 0..40)), 1..5),
        start in 0u64..0x1100,
        step in 1usize..5000,
    ) {
        // Long runs of 0x11, which transfers control in no set, and anything between them.
        let code: Vec<u8> =
            stretches.into_iter().flat_map(|(plain, any)| [vec![0x11; 4 * plain], any].concat()).collect();
        let (at, length) = (0x10_0000 + 2 * start, code.len() + 8);
        let memory = Memory::new([segment(at, code)]);
        for isa in SETS {
            let made = || Arc::new(Blocks::new(Arc::new(memory.clone()), isa, ALL));
            let (all, parts) = (made(), made());
            all.fill();
            let (mut all, mut parts) = (all.cursor(), parts.cursor());
            let mut offset = 0;
            for _ in 0..length.min(3000) {
                offset = (offset + step) % length;
                let pc = at + offset as u64;
                prop_assert_eq!(parts.at(pc), all.at(pc), "{:?} at {:#x}", isa, pc);
            }
        }
    }
}

#[test]
fn runs_longer_than_an_entry_come_in_pieces() {
    for isa in SETS {
        // 5000 A64 and A32 words, or 10000 halfwords, that transfer control in no set: all 0x11.
        let memory = Memory::new([segment(0x8000, vec![0x11; 20_000])]);
        let edges = (0x8000..0x8010).chain(0x8ff8..0x9008).chain(0xce10..0xce22);
        compare(memory, isa, Waypoints::TRANSFERS, edges);
    }
}

#[test]
fn a_run_crosses_pages_files_and_holes() {
    let nops = |n: usize| a64(&vec![0xd503_201f; n]);
    let mut end = nops(3);
    end.extend(a64(&[0xd65f_03c0]));
    let memory = Memory::new([segment(0xff8, nops(1026)), segment(0x2000, end), segment(0x3000, nops(2))]);
    let blocks = table(memory, Isa::A64, Waypoints::ete(false));
    let mut cursor = blocks.cursor();
    let block = cursor.at(0xff8).expect("code");
    assert_eq!((block.count, block.end, block.control), (1030, 0x2010, Control::Return));
    assert_eq!(cursor.position(0xff8, 0x2000), Some(1026));
    let cut = cursor.at(0x3000).expect("code");
    assert_eq!((cut.count, cut.end, cut.control), (2, 0x3008, Control::Sequential));
    assert_eq!(cursor.at(0x3008), None);
}

#[test]
fn an_instruction_cut_by_a_hole_is_not_there() {
    // c.nop, then the first half of a wide instruction.
    let memory = Memory::new([segment(0x1000, halves(&[0x0001, 0x0013]))]);
    let blocks = table(memory, Isa::Rv64, Waypoints::ETRACE);
    let mut cursor = blocks.cursor();
    assert_eq!(cursor.at(0x1000).map(|block| (block.count, block.end)), Some((1, 0x1002)));
    assert_eq!(cursor.at(0x1002), None);
}

#[test]
fn starts_in_the_middle_of_an_instruction() {
    // lui a0, 0x45054 holds c.li a0, 1 in its second half: both are runs, and they are different ones.
    let memory = Memory::new([segment(0x1000, halves(&[0x0537, 0x4505, 0x8082]))]);
    let blocks = table(memory, Isa::Rv64, Waypoints::ETRACE);
    let mut cursor = blocks.cursor();
    assert_eq!(cursor.at(0x1000).map(|block| block.count), Some(2));
    assert_eq!(cursor.at(0x1002).map(|block| block.count), Some(2));
    assert_eq!(cursor.position(0x1000, 0x1002), None);
    assert_eq!(cursor.position(0x1000, 0x1004), Some(1));
    assert_eq!(cursor.position(0x1002, 0x1004), Some(1));
}

#[test]
fn targets_too_far_for_an_entry_are_found() {
    // jalr x0, 16(x0) at the top of the address space: absolute, not relative.
    let memory = Memory::new([segment(0xffff_ffff_0000_0000, a64(&[0x0000_0013, 0x0100_0067]))]);
    let blocks = table(memory, Isa::Rv64, Waypoints::ETRACE);
    let block = blocks.cursor().at(0xffff_ffff_0000_0000).expect("code");
    assert_eq!((block.count, block.control, block.target), (2, Control::Jump, Some(16)));
    // b .-4 at address 0 in A32 goes to the top of 32 bits; blx there changes the set too.
    let memory = Memory::new([segment(0, a64(&[0xeaff_fffd, 0xfaff_ff00]))]);
    let blocks = table(memory, Isa::A32, Waypoints::ete(true));
    let mut cursor = blocks.cursor();
    assert_eq!(cursor.at(0).and_then(|block| block.target), Some(0xffff_fffc));
    let blx = cursor.at(4).expect("code");
    assert_eq!(blx.target, Some(0xffff_fc0c));
    assert_eq!(blx.switch, trackway_isa::Switch::To(Isa::T32));
}

#[test]
fn code_at_the_very_top_of_memory() {
    let memory = Memory::new([segment(0xffff_ffff_ffff_fff8, a64(&[0xd503_201f, 0x1400_0002]))]);
    let blocks = table(memory, Isa::A64, Waypoints::ete(true));
    let block = blocks.cursor().at(0xffff_ffff_ffff_fff8).expect("code");
    assert_eq!((block.count, block.end, block.target), (2, 0, Some(4)));
}

#[test]
fn waypoints_decide_where_runs_end() {
    // svc, dsb, isb, wfi, tstart x0, brk, ret
    let code =
        a64(&[0xd400_0001, 0xd503_3f9f, 0xd503_3fdf, 0xd503_207f, 0xd523_3060, 0xd420_0000, 0xd65f_03c0]);
    let ends = |waypoints| {
        let blocks = table(Memory::new([segment(0x1000, code.clone())]), Isa::A64, waypoints);
        let (mut cursor, mut pc, mut ends) = (blocks.cursor(), 0x1000, Vec::new());
        while let Some(block) = cursor.at(pc) {
            ends.push((block.count, block.control));
            pc = block.end;
        }
        ends
    };
    use Control::{Breakpoint, Isb, Return, SystemCall, TransactionStart, Wait};
    assert_eq!(ends(Waypoints::TRANSFERS), [(7, Return)]);
    assert_eq!(ends(Waypoints::ete(false)), [(3, Isb), (2, TransactionStart), (2, Return)]);
    assert_eq!(ends(Waypoints::ete(true)), [(3, Isb), (1, Wait), (1, TransactionStart), (2, Return)]);
    assert_eq!(ends(Waypoints::ETRACE), [(1, SystemCall), (5, Breakpoint), (1, Return)]);
}

#[test]
fn it_blocks_make_transfers_conditional() {
    // itee eq; moveq; movne; b.n (in the block); b.n (after it); ite ne; popne {pc}; bxeq lr; bx lr
    let code = halves(&[0xbf0e, 0x2001, 0x2002, 0xe7fe, 0xe7fe, 0xbf14, 0xbd00, 0x4770, 0x4770]);
    // The second half of ldr.w r11, [r0, #0xf08] looks like an IT; bx lr after it is not conditional.
    let fake = halves(&[0x2000, 0xf8d0, 0xbf08, 0x4770]);
    let memory = Memory::new([segment(0x1000, code), segment(0x2000, fake)]);
    let blocks = table(memory, Isa::T32, Waypoints::ete(true));
    let mut cursor = blocks.cursor();
    let mut at =
        |pc| cursor.at(pc).map(|block| (block.last, block.control, block.conditional)).expect("code");
    assert_eq!(at(0x1000), (0x1006, Control::Branch, true));
    assert_eq!(at(0x1008), (0x1008, Control::Jump, false));
    assert_eq!(at(0x100a), (0x100c, Control::Return, true));
    assert_eq!(at(0x100e), (0x100e, Control::Return, true));
    assert_eq!(at(0x1010), (0x1010, Control::Return, false));
    assert_eq!(at(0x2000), (0x2006, Control::Return, false));
}

/// Our own Arm program: both sets, by its mapping symbols, with IT blocks followed as they come.
#[test]
fn arm_mix_by_its_mapping_symbols() {
    let file = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/arm-mix/arm-mix.elf"));
    let mut image = Image::default();
    image
        .add_elf("arm-mix", Arc::new(file.expect("it is in the repository")), None, Space::default())
        .unwrap();
    let memory = image.memory(&Context::default());
    let code = memory.segments().iter().find(|segment| segment.executable).expect("it has code");
    let end = code.address + code.bytes().len() as u64;
    let (mut pc, mut conditional) = (0x10000, 0);
    let mut seen = [0; 3];
    while pc < end {
        let isa = match image.mapping(pc) {
            Some(Mapping::Code(Some(isa))) => isa,
            _ => {
                (pc, conditional) = (pc + 2, 0);
                continue;
            }
        };
        let (encoding, length) = memory.fetch(isa, pc).expect("code");
        let mut flow = flow(isa, pc, encoding);
        if isa == Isa::T32 {
            if conditional > 0 {
                flow = t32::in_it_block(flow);
            }
            conditional = t32::it_length(encoding).filter(|_| length == 2).unwrap_or(conditional.max(1) - 1);
        }
        if Waypoints::ete(true).ends(flow.control) {
            let blocks = image.blocks(&Context::default(), isa, Waypoints::ete(true));
            let block = blocks.cursor().at(pc).expect("code");
            assert_eq!((block.count, block.control), (1, flow.control), "{isa} {pc:#x}");
            assert_eq!((block.conditional, block.target), (flow.conditional, flow.target), "{isa} {pc:#x}");
            assert_eq!(block.switch, flow.switch, "{isa} {pc:#x}");
            seen[usize::from(isa == Isa::T32)] += 1;
            seen[2] += usize::from(isa == Isa::T32 && flow.conditional && flow.control != Control::Branch);
        }
        pc += u64::from(length);
    }
    assert!(seen[0] > 50 && seen[1] > 50 && seen[2] >= 3, "{seen:?}");
}

#[test]
fn threads_share_a_table() {
    let words: Vec<u32> =
        (0..40_000u32).map(|n| if n % 7 == 6 { 0x5400_0040 } else { 0xd503_201f }).collect();
    let blocks = table(Memory::new([segment(0x1_0000, a64(&words))]), Isa::A64, Waypoints::ete(true));
    let follow = || {
        let (mut cursor, mut pc, mut count) = (blocks.cursor(), 0x1_0000, 0);
        while let Some(block) = cursor.at(pc) {
            count += block.count;
            pc = block.end;
        }
        count
    };
    let counts: Vec<u32> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(follow)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(counts, [40_000; 4]);
}

#[test]
fn a_cursor_goes_back_and_forth_between_files() {
    // Two files far apart that jump to each other, as a program and its library do.
    let there = (0x100_0000 / 4) as u32;
    let segments = [
        segment(0x1000, a64(&[0xd503_201f, 0x1400_0000 | (there - 1)])),
        segment(0x100_1000, a64(&[0xd503_201f, 0x1400_0000 | ((1 << 26) - there - 1)])),
        segment(0x4000_0000, a64(&[0xd65f_03c0])),
    ];
    let blocks = table(Memory::new(segments), Isa::A64, Waypoints::ete(true));
    let (mut cursor, mut pc) = (blocks.cursor(), 0x1000);
    for round in 0..100 {
        let block = cursor.at(pc).expect("code");
        assert_eq!((block.start, block.count), (if round % 2 == 0 { 0x1000 } else { 0x100_1000 }, 2));
        pc = block.target.expect("direct");
        assert_eq!(cursor.at(0x4000_0000).map(|block| block.control), Some(Control::Return));
        assert_eq!(cursor.clone().at(0x2000_0000), None);
    }
}

#[test]
fn huge_dumps_cost_what_is_touched() {
    struct Huge(Vec<u8>);
    impl AsRef<[u8]> for Huge {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    impl trackway_core::Buffer for Huge {}
    // 256 MiB of zeros: UDF in A64, so one run over all of it; only two pages of it are asked for.
    let huge = Arc::new(Huge(vec![0; 256 << 20]));
    let memory = Memory::new([Segment::new(0x4000_0000, huge).expect("it fits")]);
    let blocks = table(memory, Isa::A64, Waypoints::TRANSFERS);
    let mut cursor = blocks.cursor();
    assert_eq!(cursor.at(0x4000_0000).map(|block| block.count > 1000), Some(true));
    assert_eq!(cursor.at(0x4fff_fffc).map(|block| (block.count, block.end)), Some((1, 0x5000_0000)));
    assert_eq!(cursor.at(0x5000_0000), None);
}
