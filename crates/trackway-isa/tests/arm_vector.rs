//! Elements of predicated vector accesses, and exceptions that an instruction can take.
//!
//! Words and text by LLVM; a comparison of 188,869 random words of these groups with its text found no difference.

use trackway_core::Privilege;
use trackway_isa::arm::memory::{Count, Elements, access_bytes, elements};
use trackway_isa::arm::{ExceptionType, can_take};

#[test]
fn elements_of_every_group() {
    use Count::{Fixed, Vectors};
    let (near, apart) = (true, false);
    let table = [
        (0xa400_4020, "ld1b {z0.b},p0/z,[x1,x0]", 1, Vectors(1, 1), near),
        (0xa540_a000, "ld1w {z0.s},p0/z,[x0]", 4, Vectors(1, 4), near),
        (0xa400_6020, "ldff1b {z0.b},p0/z,[x1,x0]", 1, Vectors(1, 1), near),
        (0xa480_a000, "ld1sw {z0.d},p0/z,[x0]", 4, Vectors(1, 8), near),
        (0xa460_c020, "ld4b {z0.b-z3.b},p0/z,[x1,x0]", 4, Vectors(1, 1), near),
        (0xa400_2000, "ld1rqb {z0.b},p0/z,[x0]", 1, Fixed(16), near),
        (0xa520_2000, "ld1row {z0.s},p0/z,[x0]", 4, Fixed(8), near),
        (0x8472_a7bb, "ld1rb {z27.h},p1/z,[x29,#50]", 1, Fixed(1), near),
        (0x8500_4020, "ld1w {z0.s},p0/z,[x1,z0.s,uxtw]", 4, Vectors(1, 4), apart),
        (0xc580_c020, "ldnt1d {z0.d},p0/z,[z1.d,x0]", 8, Vectors(1, 8), apart),
        (0xe400_4020, "st1b {z0.b},p0,[x1,x0]", 1, Vectors(1, 1), near),
        (0xe580_a020, "st1d {z0.d},p0,[x1,z0.d]", 8, Vectors(1, 8), apart),
        (0xa501_8000, "ld1w {z0.q},p0/z,[x0,x1,lsl #2]", 4, Vectors(1, 16), near),
        (0xa510_2000, "ld1w {z0.q},p0/z,[x0]", 4, Vectors(1, 16), near),
        (0xa581_8000, "ld1d {z0.q},p0/z,[x0,x1,lsl #3]", 8, Vectors(1, 16), near),
        (0xa590_2000, "ld1d {z0.q},p0/z,[x0]", 8, Vectors(1, 16), near),
        (0xa4a1_8000, "ld2q {z0.q,z1.q},p0/z,[x0,x1,lsl #4]", 32, Vectors(1, 16), near),
        (0xa521_8000, "ld3q {z0.q-z2.q},p0/z,[x0,x1,lsl #4]", 48, Vectors(1, 16), near),
        (0xa5a1_8000, "ld4q {z0.q-z3.q},p0/z,[x0,x1,lsl #4]", 64, Vectors(1, 16), near),
        (0xa490_e000, "ld2q {z0.q,z1.q},p0/z,[x0]", 32, Vectors(1, 16), near),
        (0xa510_e000, "ld3q {z0.q-z2.q},p0/z,[x0]", 48, Vectors(1, 16), near),
        (0xa590_e000, "ld4q {z0.q-z3.q},p0/z,[x0]", 64, Vectors(1, 16), near),
        (0xc400_a000, "ld1q {z0.q},p0/z,[z0.d,x0]", 16, Vectors(1, 16), apart),
        (0xe501_4000, "st1w {z0.q},p0,[x0,x1,lsl #2]", 4, Vectors(1, 16), near),
        (0xe500_e000, "st1w {z0.q},p0,[x0]", 4, Vectors(1, 16), near),
        (0xe5c1_4000, "st1d {z0.q},p0,[x0,x1,lsl #3]", 8, Vectors(1, 16), near),
        (0xe5c0_e000, "st1d {z0.q},p0,[x0]", 8, Vectors(1, 16), near),
        (0xe461_0000, "st2q {z0.q,z1.q},p0,[x0,x1,lsl #4]", 32, Vectors(1, 16), near),
        (0xe4a1_0000, "st3q {z0.q-z2.q},p0,[x0,x1,lsl #4]", 48, Vectors(1, 16), near),
        (0xe4e1_0000, "st4q {z0.q-z3.q},p0,[x0,x1,lsl #4]", 64, Vectors(1, 16), near),
        (0xe440_0000, "st2q {z0.q,z1.q},p0,[x0]", 32, Vectors(1, 16), near),
        (0xe480_0000, "st3q {z0.q-z2.q},p0,[x0]", 48, Vectors(1, 16), near),
        (0xe4c0_0000, "st4q {z0.q-z3.q},p0,[x0]", 64, Vectors(1, 16), near),
        (0xe420_2000, "st1q {z0.q},p0,[z0.d,x0]", 16, Vectors(1, 16), apart),
        (0xa001_0000, "ld1b {z0.b,z1.b},pn8/z,[x0,x1]", 1, Vectors(2, 1), near),
        (0xa001_a000, "ld1h {z0.h-z3.h},pn8/z,[x0,x1,lsl #1]", 2, Vectors(4, 2), near),
        (0xa040_4000, "ld1w {z0.s,z1.s},pn8/z,[x0]", 4, Vectors(2, 4), near),
        (0xa040_e001, "ldnt1d {z0.d-z3.d},pn8/z,[x0]", 8, Vectors(4, 8), near),
        (0xa021_8000, "st1b {z0.b-z3.b},pn8,[x0,x1]", 1, Vectors(4, 1), near),
        (0xa060_4001, "stnt1w {z0.s,z1.s},pn8,[x0]", 4, Vectors(2, 4), near),
        (0xa140_6000, "ld1d {z0.d,z8.d},pn8/z,[x0]", 8, Vectors(2, 8), near),
        (0xa160_a000, "st1h {z0.h,z4.h,z8.h,z12.h},pn8,[x0]", 2, Vectors(4, 2), near),
        (0xe1df_0000, "ld1q {za0h.q[w12,0]},p0/z,[x0]", 16, Vectors(1, 16), near),
        (0xe0ff_8000, "st1d {za0v.d[w12,0]},p0,[x0]", 8, Vectors(1, 8), near),
    ];
    for (word, text, bytes, count, contiguous) in table {
        assert_eq!(elements(word), Some(Elements { bytes, count, contiguous }), "{text}");
        assert_eq!(access_bytes(word), None, "{text}");
    }
    let others = [
        (0x8580_4020, "ldr z0,[x1]"),
        (0xe580_0020, "str p0,[x1]"),
        (0xe100_0004, "ldr za[w12,4],[x0,#4,mul vl]"),
        (0xe11f_8020, "ldr zt0,[x1]"),
        (0x8402_c020, "prfb pldl1keep,p0,[x1,x2]"),
        (0x8477_7780, "prfd pldl1keep,p5,[x28,z23.s,sxtw #3]"),
        (0xa080_0000, "smopa za0.s,p0/m,p0/m,z0.b,z0.b"),
        (0xf940_0020, "ldr x0,[x1]"),
    ];
    for (word, text) in others {
        assert_eq!(elements(word), None, "{text}");
    }
    let structures = elements(0xa460_c020).unwrap();
    assert_eq!((structures.most(16), structures.most(256)), (64, 1024));
}

#[test]
fn classes_that_an_instruction_can_take() {
    const NOP: u32 = 0xd503_201f;
    let table = [
        (0xd400_0001, "svc #0", &[0x15, 0x0d, 0x0e][..], &[0x00, 0x16, 0x17, 0x18, 0x24, 0x3c][..]),
        (0xd400_0002, "hvc #0", &[0x16, 0x00], &[0x15, 0x17]),
        (0xd400_0003, "smc #0", &[0x17, 0x00], &[0x15, 0x16]),
        (0xd420_0000, "brk #0", &[0x3c, 0x0e], &[0x15, 0x00, 0x0d, 0x24]),
        (
            NOP,
            "nop",
            &[0x0d, 0x0e, 0x30, 0x32],
            &[0x00, 0x01, 0x15, 0x18, 0x20, 0x21, 0x22, 0x24, 0x2f, 0x3c],
        ),
        (0xd503_207f, "wfi", &[0x01], &[0x18, 0x24]),
        (0xd503_233f, "paciasp", &[0x09, 0x0d], &[0x00, 0x18]),
        (0xd69f_03e0, "eret", &[0x1a, 0x0e], &[0x24, 0x15]),
        (0xd65f_0bff, "retaa", &[0x1c, 0x09], &[0x1a]),
        (0xf940_0020, "ldr x0,[x1]", &[0x24, 0x25, 0x34], &[0x26, 0x07, 0x20, 0x15, 0x27]),
        (0xf940_03e0, "ldr x0,[sp]", &[0x26, 0x24], &[0x07]),
        (0x3dc0_0020, "ldr q0,[x1]", &[0x07, 0x24], &[0x2c, 0x19]),
        (0xf980_0020, "prfm pldl1keep,[x1]", &[0x00], &[0x24, 0x25]),
        (0xd50b_7420, "dc zva,x0", &[0x24, 0x18], &[0x27]),
        (0x1e62_2820, "fadd d0,d1,d2", &[0x07, 0x2c], &[0x24, 0x19]),
        (0xa540_a000, "ld1w {z0.s},p0/z,[x0]", &[0x19, 0x1d, 0x24], &[0x2c, 0x15]),
        (0xd518_1000, "msr sctlr_el1,x0", &[0x18, 0x00], &[0x15, 0x24]),
        (0x1902_0440, "cpyfp [x0]!,[x2]!,x2!", &[0x27, 0x24], &[0x15]),
        (0x8b02_0020, "add x0,x1,x2", &[0x0d, 0x0e], &[0x24, 0x07, 0x18, 0x15, 0x03, 0x38]),
    ];
    for (word, text, can, cannot) in table {
        for class in can {
            assert!(can_take(word, *class), "{text}: {class:#x}");
        }
        for class in cannot {
            assert!(!can_take(word, *class), "{text}: {class:#x}");
        }
    }
}

#[test]
fn exception_types_by_instruction_and_levels() {
    use ExceptionType::*;
    use Privilege::{El0, El1, El2, El3};
    let synchronous = |class| Synchronous(Some(class));
    let of = |number, word| ExceptionType::of(number, word, (Some(El0), Some(El1)));
    let at = |number, from, to| ExceptionType::of(number, None, (Some(from), Some(to)));
    assert_eq!([of(0, None), of(1, None), of(4, None), of(14, None)], [Reset, DebugHalt, SError, Irq]);
    assert_eq!([of(15, None), of(3, None)], [Fiq, Synchronous(None)]);
    for (word, class) in [(0xd400_0001, 0x15), (0xd400_0002, 0x16), (0xd400_0003, 0x17)] {
        assert_eq!(of(2, Some(word)), synchronous(class));
    }
    for (from, to, class) in [(El0, El1, 0x15), (El0, El2, 0x15), (El1, El2, 0x16), (El2, El3, 0x17)] {
        assert_eq!(at(2, from, to), synchronous(class));
    }
    for (number, lower) in [(11, 0x20), (12, 0x24), (6, 0x30), (7, 0x34)] {
        assert_eq!([at(number, El0, El1), at(number, El1, El1)], [lower, lower + 1].map(synchronous));
    }
    assert_eq!(of(6, Some(0xd420_0000)), synchronous(0x3c));
    assert_eq!([of(10, None), of(10, Some(0xf940_03e0))], [0x22, 0x26].map(synchronous));
    assert_eq!([of(3, Some(0xd518_1000)), of(3, Some(0xd503_207f))], [0x18, 0x01].map(synchronous));
}
