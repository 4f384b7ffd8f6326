//! The trace unit of ETE.

use std::sync::Arc;

use trackway::ete::encode::EncodeConfig;
use trackway::ete::{Lower, Options, lift_input};
use trackway::events::{
    Batch, EventKind, FormatId, Gap, GapReason, Input, Isa, Meta, Outcome, Sink, Step, Trap, TrapKind,
};
use trackway::image::{Image, Space};
use trackway_testkit::random::Numbers;

const BASE: u64 = 0x40_0000;
/// b.eq +8; nop; b.ne -8; nop; bl +12; nop; b -24; nop; ret (the function's); svc at the end.
const CODE: [u32; 11] = [
    0xd503_201f,
    0x5400_0040,
    0xd503_201f,
    0x54ff_ffc1,
    0x9400_0003,
    0x17ff_fffb,
    0xd503_201f,
    0xd503_201f,
    0xd65f_03c0,
    0xd400_0001,
    0xd503_201f,
];

/// Encodes a random walk with random registers, and proves the result.
pub fn ete_encode(data: &[u8]) {
    let Some(&[a, b, c, d, e, ..]) = data.first_chunk::<8>() else { return };
    let numbers = &mut Numbers(u64::from_le_bytes([a, b, c, 0, 0, 0, 0, 0]));
    let batch = walk(numbers, d & 1 == 1);
    let mut config = EncodeConfig::default();
    let registers = &mut config.units[0].registers;
    let configr = [0, 0x1000, 0x10, 0x1010][usize::from(e & 3)];
    registers.put(&[("TRCCONFIGR", 0xc1 | configr), ("TRCSYNCPR", 8)]);
    if e & 4 != 0 {
        let first = BASE + u64::from(d & 0x1c);
        registers.put(&[("TRCVIIECTLR", 0x1_0000), ("TRCACVR0", first), ("TRCACVR1", first + 12)]);
    }
    let mut image = Image::default();
    let bytes: Vec<u8> = CODE.iter().flat_map(|word| word.to_le_bytes()).collect();
    image.add_raw("code", BASE, Arc::new(bytes), Space::default()).expect("good code");
    let image = Arc::new(image);
    let meta = Meta::new(FormatId::new("events"), Isa::A64);
    let Ok(mut lower) = Lower::new(&meta, &config, vec![Arc::clone(&image)], Vec::new()) else { return };
    lower.put(&batch).expect("memory does not fail");
    let account = lower.finish().expect("memory does not fail");
    let unit = lower.unit(0).expect("one source").config().clone();
    let bytes: Vec<u8> = lower.into_inner().into_iter().next().unwrap_or_default();
    crate::assert_proved(&meta, &batch, &account, &image, || {
        let input = Input::from_vec(bytes.clone());
        Box::new(lift_input(unit.clone(), input, Arc::clone(&image), &Options::default()))
    });
}

/// Goes through the code at random.
fn walk(numbers: &mut Numbers, gaps: bool) -> Batch {
    let (mut batch, mut at, mut back) = (Batch::default(), 0, None);
    for _ in 0..200 {
        let pc = BASE + 4 * at as u64;
        let mut step = Step::new(pc, CODE[at], 4);
        let taken = numbers.one_in(2);
        let next = match CODE[at] {
            0x5400_0040 if taken => at + 2,
            0x54ff_ffc1 if taken => at - 2,
            0x9400_0003 => {
                back = Some(at + 1);
                at + 3
            }
            0x17ff_fffb => 0,
            0xd65f_03c0 => back.take().unwrap_or(9),
            _ => at + 1,
        };
        step.taken = match CODE[at] {
            0x5400_0040 | 0x54ff_ffc1 => Some(taken),
            0x9400_0003 | 0x17ff_fffb | 0xd65f_03c0 => Some(true),
            _ => None,
        };
        if CODE[at] == 0xd400_0001 {
            // The call leads to code that is not traced: the walk ends.
            step.outcome = Outcome::Attempted;
            batch.push(0, EventKind::Step(step));
            batch.push_trap(0, Trap { from: Some(pc), ..Trap::new(TrapKind::Exception) });
            break;
        }
        batch.push(0, EventKind::Step(step));
        if gaps && numbers.one_in(30) {
            batch.push_gap(0, Gap::new(GapReason::Filtered));
        }
        at = next.min(CODE.len() - 1);
        if at == CODE.len() - 1 {
            break;
        }
    }
    batch
}
