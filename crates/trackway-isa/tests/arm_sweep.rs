//! The whole 32-bit space, sampled densely, against capstone's groups: every difference is explained.
//!
//! `TRACKWAY_SWEEP=1` samples forty times as many words.

mod judge;

use std::collections::BTreeMap;

use judge::{Engines, explained};
use trackway_core::Isa;
use trackway_isa::{Flow, arm, flow, riscv};

const PC: u64 = 0x0010_0000;

/// Encodings of every kind of transfer, whose neighbours by one and two bits are looked at too.
const A64: &[u32] = &[
    0x1400_0002,
    0x9400_0002,
    0x5400_0040,
    0x5400_0050,
    0xb400_0040,
    0x3500_0040,
    0x3608_0043,
    0xb7f8_0043,
    0x7401_0040,
    0xf4c1_0040,
    0x7401_8040,
    0x7401_c040,
    0x7501_8040,
    0xd61f_0200,
    0xd63f_0020,
    0xd65f_03c0,
    0xd71f_0801,
    0xd61f_081f,
    0xd73f_0801,
    0xd63f_081f,
    0xd65f_0bff,
    0x5500_001f,
    0x5520_001f,
    0xd65f_0be2,
    0xd69f_03e0,
    0xd69f_0bff,
    0xd6bf_03e0,
    0xd503_3fdf,
    0xd503_205f,
    0xd503_1003,
    0xd523_3065,
    0xd400_0001,
];
const A32: &[u32] = &[
    0xea00_0000,
    0x1aff_fffd,
    0xeb00_0001,
    0xfa00_0000,
    0xe12f_ff1e,
    0xe12f_ff23,
    0xe12f_ff33,
    0xe8bd_8010,
    0xe89d_a800,
    0xe49d_f004,
    0xe59f_f004,
    0xe79f_f103,
    0xe1a0_f00e,
    0x908f_f103,
    0xe3a0_f000,
    0xe1b0_f00e,
    0xe25e_f004,
    0xe8fd_8001,
    0xf8bd_0a00,
    0xe160_006e,
    0xf57f_f06f,
    0xe320_f003,
    0xe7f0_00f0,
    0xe15f_f000,
];
/// First halfword low.
const T32: &[u32] = &[
    0xe000,
    0xd1fd,
    0xb108,
    0xbbf8,
    0x4770,
    0x4798,
    0x46f7,
    0x449f,
    0xbd10,
    0xdf00,
    0xbf30,
    0xb800_f000,
    0xaffe_f43f,
    0xf800_f000,
    0xe800_f000,
    0x8f00_f3c3,
    0xf000_e8df,
    0xf010_e8df,
    0x8100_e8bd,
    0x8002_e890,
    0x8002_e910,
    0xfb04_f85d,
    0xf004_f8d3,
    0xf022_f853,
    0xf004_f8df,
    0xf104_f85f,
    0xc000_e9bd,
    0xc000_e81d,
    0x8f00_f3de,
    0x8f6f_f3bf,
    0x8003_f3af,
    0x8000_f7e0,
    0xa000_f7f0,
];

fn words(forms: &[u32], stride: u64) -> impl Iterator<Item = u32> {
    let near = forms.iter().flat_map(|form| {
        (0..32).flat_map(move |a| {
            (0..=a).map(move |b| if a == b { form ^ 1 << a } else { form ^ 1 << a ^ 1 << b })
        })
    });
    let dense = if std::env::var_os("TRACKWAY_SWEEP").is_some() { 40 } else { 1 };
    let all = (0..1_u64 << 32).step_by((stride / dense) as usize | 1).map(|word| word as u32);
    forms.iter().copied().chain(near).chain(all)
}

fn sweep(isa: Isa, forms: &[u32]) -> BTreeMap<&'static str, (u64, u32)> {
    let mut engines = Engines::default();
    let mut reasons = BTreeMap::new();
    let (mut known, mut open, mut transfers) = (0, 0, 0);
    for word in words(forms, 2_003) {
        let flow = flow(isa, PC, word);
        let Some(groups) = engines.groups(isa, PC, word) else { continue };
        known += 1;
        transfers += u64::from(flow.control.is_transfer());
        if groups.agrees(&flow) {
            continue;
        }
        match explained(isa, word, &flow, &groups) {
            Some(reason) => reasons.entry(reason).or_insert((0, word)).0 += 1,
            None => {
                open += 1;
                if open < 40 {
                    eprintln!("{isa} {word:08x} ours {flow:x?}, capstone {groups:x?}");
                }
            }
        }
    }
    eprintln!("{isa}: {known} words that capstone knows, {transfers} transfers; {reasons:#x?}");
    assert_eq!(open, 0);
    assert!(known > 50_000 && transfers > 5_000);
    reasons
}

const EXCEPTIONS: &str = "capstone has no group for returns from exceptions";
const UNPREDICTABLE: &str = "UNPREDICTABLE: it may not write the pc";

/// The reasons found are those listed, no more and no fewer.
fn only(isa: Isa, forms: &[u32], reasons: &[&str]) {
    let found = sweep(isa, forms);
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), reasons);
}

#[test]
fn a64() {
    only(Isa::A64, A64, &["capstone has no group for BC.cond", EXCEPTIONS]);
}

#[test]
fn a32() {
    only(Isa::A32, A32, &[UNPREDICTABLE, EXCEPTIONS]);
}

#[test]
fn t32() {
    only(Isa::T32, T32, &[UNPREDICTABLE, "capstone has no group for BXNS and BLXNS", EXCEPTIONS]);
}

/// The quick look that table builders take never calls a transfer plain, in any set.
#[test]
fn plain_is_sequential() {
    type Look = fn(u32) -> bool;
    let sets: [(Isa, Look); 5] = [
        (Isa::A64, arm::a64::is_plain),
        (Isa::A32, arm::a32::is_plain),
        (Isa::T32, arm::t32::is_plain),
        (Isa::Rv32, riscv::is_plain),
        (Isa::Rv64, riscv::is_plain),
    ];
    for (isa, is_plain) in sets {
        let forms = [A64, A32, T32].concat();
        let mut plain = 0;
        for word in words(&forms, 1_009).chain(0..=0xffff) {
            if is_plain(word) {
                plain += 1;
                let flow = flow(isa, PC, word);
                assert_eq!(flow, Flow::sequential(flow.length), "{isa} {word:08x}");
                assert!(flow.length == 2 || flow.length == 4, "{isa} {word:08x}");
            }
        }
        assert!(plain > 1_000_000, "{isa}: {plain}");
    }
}
