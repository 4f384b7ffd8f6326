//! Every special form of control transfer, as an assembler writes it, one test per group.

use trackway_core::Isa;
use trackway_isa::arm::t32::{in_it_block, it_length};
use trackway_isa::{Control, Disassembler, Flow, Switch, flow};

const PC: u64 = 0x1000;

/// How it is classified, with the target as a distance.
fn classify(isa: Isa, encoding: u32) -> (Control, Option<i64>, bool, Switch) {
    let flow = flow(isa, PC, encoding);
    let distance = flow.target.map(|target| target.wrapping_sub(PC) as i64);
    (flow.control, distance, flow.conditional, flow.switch)
}

fn a64(encoding: u32) -> (Control, Option<i64>) {
    let (control, distance, conditional, switch) = classify(Isa::A64, encoding);
    assert_eq!(conditional, control == Control::Branch);
    assert_eq!(switch == Switch::ByTarget, control == Control::TrapReturn);
    (control, distance)
}

#[test]
fn a64_direct() {
    assert_eq!(a64(0x1400_0002), (Control::Jump, Some(8))); // b .+8
    assert_eq!(a64(0x17ff_ffff), (Control::Jump, Some(-4))); // b .-4
    assert_eq!(a64(0x1600_0000), (Control::Jump, Some(-0x0800_0000))); // b, farthest back
    assert_eq!(a64(0x95ff_ffff), (Control::Call, Some(0x07ff_fffc))); // bl, farthest on
    assert_eq!(a64(0x54ff_ffe0), (Control::Branch, Some(-4))); // b.eq .-4
    assert_eq!(a64(0xb400_0040), (Control::Branch, Some(8))); // cbz x0, .+8
    assert_eq!(a64(0x35ff_ffe1), (Control::Branch, Some(-4))); // cbnz w1, .-4
    assert_eq!(a64(0x3608_0043), (Control::Branch, Some(8))); // tbz w3, #1, .+8
    assert_eq!(a64(0xb7ff_ffe3), (Control::Branch, Some(-4))); // tbnz x3, #63, .-4
}

#[test]
fn a64_bc_cond() {
    assert_eq!(a64(0x5400_0050), (Control::Branch, Some(8))); // bc.eq .+8
    assert_eq!(a64(0x54ff_fff1), (Control::Branch, Some(-4))); // bc.ne .-4
}

#[test]
fn a64_compare_and_branch() {
    for condition in [0, 1, 2, 3, 6, 7] {
        let cc = condition << 21;
        assert_eq!(a64(0x7401_0040 | cc), (Control::Branch, Some(8))); // cb<cc> w0, w1, .+8
        assert_eq!(a64(0xf401_3fe0 | cc), (Control::Branch, Some(-4))); // cb<cc> x0, x1, .-4
        assert_eq!(a64(0x7401_8040 | cc), (Control::Branch, Some(8))); // cbb<cc>
        assert_eq!(a64(0x7401_ffe0 | cc), (Control::Branch, Some(-4))); // cbh<cc>
        assert_eq!(a64(0x7501_8040 | cc), (Control::Branch, Some(8))); // cb<cc> w0, #3, .+8
        assert_eq!(a64(0xf51f_bfe0 | cc), (Control::Branch, Some(-4))); // cb<cc> x0, #63, .-4
    }
    // Not allocated: conditions 4 and 5, width 1, 64-bit bytes and halfwords, bit 14 of the immediate form.
    for word in [0x7481_0040, 0x74a1_0040, 0x7401_4040, 0xf401_8040, 0xf401_c040, 0x7500_4040, 0x7581_0040] {
        assert_eq!(a64(word), (Control::Sequential, None), "{word:#x}");
    }
}

#[test]
fn a64_indirect() {
    assert_eq!(a64(0xd61f_0200), (Control::IndirectJump, None)); // br x16
    assert_eq!(a64(0xd63f_0020), (Control::IndirectCall, None)); // blr x1
    assert_eq!(a64(0xd65f_03c0), (Control::Return, None)); // ret
    assert_eq!(a64(0xd65f_0000), (Control::Return, None)); // ret x0
}

#[test]
fn a64_pointer_authentication() {
    assert_eq!(a64(0xd71f_0801), (Control::IndirectJump, None)); // braa x0, x1
    assert_eq!(a64(0xd71f_0c1f), (Control::IndirectJump, None)); // brab x0, sp
    assert_eq!(a64(0xd61f_081f), (Control::IndirectJump, None)); // braaz x0
    assert_eq!(a64(0xd61f_0c1f), (Control::IndirectJump, None)); // brabz x0
    assert_eq!(a64(0xd73f_0801), (Control::IndirectCall, None)); // blraa x0, x1
    assert_eq!(a64(0xd73f_0c01), (Control::IndirectCall, None)); // blrab x0, x1
    assert_eq!(a64(0xd63f_081f), (Control::IndirectCall, None)); // blraaz x0
    assert_eq!(a64(0xd63f_0c1f), (Control::IndirectCall, None)); // blrabz x0
    assert_eq!(a64(0xd65f_0bff), (Control::Return, None)); // retaa
    assert_eq!(a64(0xd65f_0fff), (Control::Return, None)); // retab
}

#[test]
fn a64_pointer_authentication_with_lr() {
    assert_eq!(a64(0x5500_001f), (Control::Return, None)); // retaasppc .
    assert_eq!(a64(0x5500_01ff), (Control::Return, None)); // retaasppc .-60
    assert_eq!(a64(0x5520_001f), (Control::Return, None)); // retabsppc .
    assert_eq!(a64(0xd65f_0be2), (Control::Return, None)); // retaasppcr x2
    assert_eq!(a64(0xd65f_0fe2), (Control::Return, None)); // retabsppcr x2
    // Signing and authenticating alone: no transfer.
    for word in [0xdac1_a3fe, 0xdac1_83fe, 0xf380_009f, 0xf3a0_00bf, 0xd503_24ff] {
        assert_eq!(a64(word), (Control::Sequential, None), "{word:#x}");
    }
}

#[test]
fn a64_exception_return() {
    assert_eq!(a64(0xd69f_03e0), (Control::TrapReturn, None)); // eret
    assert_eq!(a64(0xd69f_0bff), (Control::TrapReturn, None)); // eretaa
    assert_eq!(a64(0xd69f_0fff), (Control::TrapReturn, None)); // eretab
    assert_eq!(a64(0xd6bf_03e0), (Control::TrapReturn, None)); // drps
}

#[test]
fn a64_barriers_waits_and_transactions() {
    assert_eq!(a64(0xd503_3fdf), (Control::Isb, None)); // isb
    assert_eq!(a64(0xd503_30df), (Control::Isb, None)); // isb #0
    // dsb sy, dmb ish, sb, csdb, clrex, tsb csync, psb csync: barriers that end no run.
    for word in [0xd503_3f9f, 0xd503_3bbf, 0xd503_30ff, 0xd503_229f, 0xd503_3f5f, 0xd503_225f, 0xd503_223f] {
        assert_eq!(a64(word), (Control::Sequential, None), "{word:#x}");
    }
    assert_eq!(a64(0xd503_205f), (Control::Wait, None)); // wfe
    assert_eq!(a64(0xd503_207f), (Control::Wait, None)); // wfi
    assert_eq!(a64(0xd503_1003), (Control::Wait, None)); // wfet x3
    assert_eq!(a64(0xd503_103f), (Control::Wait, None)); // wfit xzr
    // sev, sevl, yield, nop.
    for word in [0xd503_209f, 0xd503_20bf, 0xd503_203f, 0xd503_201f] {
        assert_eq!(a64(word), (Control::Sequential, None), "{word:#x}");
    }
    assert_eq!(a64(0xd523_3065), (Control::TransactionStart, None)); // tstart x5
    // tcommit, ttest x5, tcancel #1.
    for word in [0xd503_307f, 0xd523_3165, 0xd460_0020] {
        assert_eq!(a64(word), (Control::Sequential, None), "{word:#x}");
    }
}

#[test]
fn a64_what_traps() {
    assert_eq!(a64(0xd400_0001), (Control::SystemCall, None)); // svc #0
    assert_eq!(a64(0xd400_0002), (Control::SystemCall, None)); // hvc #0
    assert_eq!(a64(0xd41f_ffe3), (Control::SystemCall, None)); // smc #0xffff
    assert_eq!(a64(0xd420_0000), (Control::Breakpoint, None)); // brk #0
    assert_eq!(a64(0xd440_0000), (Control::Breakpoint, None)); // hlt #0
    assert_eq!(a64(0x0000_dead), (Control::Undefined, None)); // udf #0xdead
}

fn a32(encoding: u32) -> (Control, Option<i64>, bool, Switch) {
    classify(Isa::A32, encoding)
}

const STAY: Switch = Switch::Stay;
const BY_TARGET: Switch = Switch::ByTarget;

#[test]
fn a32_direct() {
    assert_eq!(a32(0xea00_0000), (Control::Jump, Some(8), false, STAY)); // b .+8
    assert_eq!(a32(0xeaff_fffe), (Control::Jump, Some(0), false, STAY)); // b .
    assert_eq!(a32(0x1aff_fffd), (Control::Branch, Some(-4), true, STAY)); // bne .-4
    assert_eq!(a32(0xeb00_0001), (Control::Call, Some(12), false, STAY)); // bl .+12
    assert_eq!(a32(0x0b00_0001), (Control::Call, Some(12), true, STAY)); // bleq .+12
    assert_eq!(a32(0xfa00_0000), (Control::Call, Some(8), false, Switch::To(Isa::T32))); // blx .+8
    assert_eq!(a32(0xfb00_0000), (Control::Call, Some(10), false, Switch::To(Isa::T32))); // blx .+10
}

#[test]
fn a32_targets_wrap_at_32_bits() {
    assert_eq!(flow(Isa::A32, 0, 0xeaff_fffd).target, Some(0xffff_fffc)); // b .-4
    assert_eq!(flow(Isa::A32, 0xffff_fffc, 0xea00_0000).target, Some(4)); // b .+8
    assert_eq!(flow(Isa::T32, 0, 0xe7fc).target, Some(0xffff_fffc)); // b .-4
}

#[test]
fn a32_branch_and_exchange() {
    assert_eq!(a32(0xe12f_ff1e), (Control::Return, None, false, BY_TARGET)); // bx lr
    assert_eq!(a32(0x112f_ff1e), (Control::Return, None, true, BY_TARGET)); // bxne lr
    assert_eq!(a32(0xe12f_ff13), (Control::IndirectJump, None, false, BY_TARGET)); // bx r3
    assert_eq!(a32(0xe12f_ff23), (Control::IndirectJump, None, false, BY_TARGET)); // bxj r3
    assert_eq!(a32(0xe12f_ff33), (Control::IndirectCall, None, false, BY_TARGET)); // blx r3
}

#[test]
fn a32_loads_to_pc() {
    assert_eq!(a32(0xe8bd_8010), (Control::Return, None, false, BY_TARGET)); // pop {r4, pc}
    assert_eq!(a32(0x08bd_8010), (Control::Return, None, true, BY_TARGET)); // popeq {r4, pc}
    assert_eq!(a32(0xe89d_a800), (Control::IndirectJump, None, false, BY_TARGET)); // ldm sp, {fp, sp, pc}
    assert_eq!(a32(0xe890_8002), (Control::IndirectJump, None, false, BY_TARGET)); // ldm r0, {r1, pc}
    assert_eq!(a32(0xe8bd_0010).0, Control::Sequential); // pop {r4}
    assert_eq!(a32(0xe92d_8010).0, Control::Sequential); // push {r4, pc}
    assert_eq!(a32(0xe49d_f004), (Control::Return, None, false, BY_TARGET)); // pop {pc}
    assert_eq!(a32(0xe59f_f004), (Control::IndirectJump, None, false, BY_TARGET)); // ldr pc, [pc, #4]
    assert_eq!(a32(0xe79f_f103), (Control::IndirectJump, None, false, BY_TARGET)); // ldr pc, [pc, r3, lsl #2]
    assert_eq!(a32(0xe58f_f004).0, Control::Sequential); // str pc, [pc, #4]
    assert_eq!(a32(0xe5df_f004).0, Control::Sequential); // ldrb with pc: unpredictable, no transfer
}

#[test]
fn a32_data_processing_to_pc() {
    assert_eq!(a32(0xe1a0_f00e), (Control::Return, None, false, BY_TARGET)); // mov pc, lr
    assert_eq!(a32(0xe1a0_f003), (Control::IndirectJump, None, false, BY_TARGET)); // mov pc, r3
    assert_eq!(a32(0x908f_f103), (Control::IndirectJump, None, true, BY_TARGET)); // addls pc, pc, r3, lsl #2
    assert_eq!(a32(0xe3a0_f000), (Control::IndirectJump, None, false, BY_TARGET)); // mov pc, #0
    assert_eq!(a32(0xe28f_f004), (Control::IndirectJump, None, false, BY_TARGET)); // add pc, pc, #4
    // cmp, tst, teq, cmn with all ones where Rd would be; msr; movw and movt.
    for word in [0xe15f_f000, 0xe35f_f000, 0xe110_f000, 0xe130_f000, 0xe170_f000, 0xe129_f000, 0xe328_f000] {
        assert_eq!(a32(word).0, Control::Sequential, "{word:#x}");
    }
    assert_eq!((a32(0xe30f_0fff).0, a32(0xe34f_0fff).0), (Control::Sequential, Control::Sequential));
    assert_eq!(a32(0xe000_0f91).0, Control::Sequential); // mul r0, r1, pc
}

#[test]
fn a32_exception_return() {
    assert_eq!(a32(0xe1b0_f00e).0, Control::TrapReturn); // movs pc, lr
    assert_eq!(a32(0xe25e_f004).0, Control::TrapReturn); // subs pc, lr, #4
    assert_eq!(a32(0xe8fd_8001).0, Control::TrapReturn); // ldm sp!, {r0, pc}^
    assert_eq!(a32(0xe8dd_0001).0, Control::Sequential); // ldm sp, {r0}^
    assert_eq!(a32(0xf8bd_0a00).0, Control::TrapReturn); // rfeia sp!
    assert_eq!(a32(0xf91d_0a00).0, Control::TrapReturn); // rfedb sp
    assert_eq!(a32(0xe160_006e).0, Control::TrapReturn); // eret
    assert_eq!(a32(0xf8cd_0510).0, Control::Sequential); // srs
}

#[test]
fn a32_barriers_waits_and_traps() {
    assert_eq!(a32(0xf57f_f06f).0, Control::Isb); // isb
    assert_eq!(a32(0xee07_0f95).0, Control::Isb); // mcr p15, 0, r0, c7, c5, 4
    for word in [0xf57f_f04f, 0xf57f_f05f, 0xee07_0f9a, 0xee07_0fba] {
        assert_eq!(a32(word).0, Control::Sequential, "{word:#x}"); // dsb, dmb and their old forms
    }
    assert_eq!((a32(0xe320_f003).0, a32(0xe320_f002).0), (Control::Wait, Control::Wait)); // wfi, wfe
    assert_eq!((a32(0xe320_f000).0, a32(0xe320_f004).0), (Control::Sequential, Control::Sequential)); // nop, sev
    assert_eq!(a32(0xef00_0000), (Control::SystemCall, None, false, STAY)); // svc
    assert_eq!((a32(0xe140_0070).0, a32(0xe160_0070).0), (Control::SystemCall, Control::SystemCall)); // hvc, smc
    assert_eq!((a32(0xe120_0070).0, a32(0xe100_0070).0), (Control::Breakpoint, Control::Breakpoint)); // bkpt, hlt
    assert_eq!(a32(0xe7f0_00f0).0, Control::Undefined); // udf
}

/// First halfword in the low half, as it lies in memory; a single halfword is itself.
fn t32(first: u32, second: Option<u32>) -> (Control, Option<i64>, bool, Switch) {
    let encoding = first | second.unwrap_or(0) << 16;
    let length = if second.is_some() { 4 } else { 2 };
    assert_eq!(flow(Isa::T32, PC, encoding).length, length, "{encoding:#x}");
    classify(Isa::T32, encoding)
}

#[test]
fn t32_direct() {
    assert_eq!(t32(0xe000, None), (Control::Jump, Some(4), false, STAY)); // b.n .+4
    assert_eq!(t32(0xe7fe, None), (Control::Jump, Some(0), false, STAY)); // b.n .
    assert_eq!(t32(0xd1fd, None), (Control::Branch, Some(-2), true, STAY)); // bne.n .-2
    assert_eq!(t32(0xb108, None), (Control::Branch, Some(6), true, STAY)); // cbz r0, .+6
    assert_eq!(t32(0xbbf8, None), (Control::Branch, Some(130), true, STAY)); // cbnz r0, .+130
    assert_eq!(t32(0xf000, Some(0xb800)), (Control::Jump, Some(4), false, STAY)); // b.w .+4
    assert_eq!(t32(0xf7ff, Some(0xbffe)), (Control::Jump, Some(0), false, STAY)); // b.w .
    assert_eq!(t32(0xf43f, Some(0xaffe)), (Control::Branch, Some(0), true, STAY)); // beq.w .
    assert_eq!(t32(0xf000, Some(0xf800)), (Control::Call, Some(4), false, STAY)); // bl .+4
    assert_eq!(t32(0xf7ff, Some(0xfffe)), (Control::Call, Some(0), false, STAY)); // bl .
    assert_eq!(t32(0xf000, Some(0xe800)), (Control::Call, Some(4), false, Switch::To(Isa::A32))); // blx .+4
    // From a halfword that is not a multiple of 4, BLX counts from the word below.
    let blx = flow(Isa::T32, 0x1002, 0xe800_f000);
    assert_eq!((blx.target, blx.switch), (Some(0x1004), Switch::To(Isa::A32)));
    // BLX with bit 0 set is undefined.
    assert_eq!(t32(0xf000, Some(0xe801)).0, Control::Sequential);
}

#[test]
fn t32_indirect() {
    assert_eq!(t32(0x4770, None), (Control::Return, None, false, BY_TARGET)); // bx lr
    assert_eq!(t32(0x4718, None), (Control::IndirectJump, None, false, BY_TARGET)); // bx r3
    assert_eq!(t32(0x4798, None), (Control::IndirectCall, None, false, BY_TARGET)); // blx r3
    assert_eq!(t32(0xf3c3, Some(0x8f00)), (Control::IndirectJump, None, false, BY_TARGET)); // bxj r3
    assert_eq!(t32(0x46f7, None), (Control::Return, None, false, STAY)); // mov pc, lr
    assert_eq!(t32(0x469f, None), (Control::IndirectJump, None, false, STAY)); // mov pc, r3
    assert_eq!(t32(0x449f, None), (Control::IndirectJump, None, false, STAY)); // add pc, r3
    assert_eq!(t32(0xe8df, Some(0xf000)), (Control::IndirectJump, None, false, STAY)); // tbb [pc, r0]
    assert_eq!(t32(0xe8df, Some(0xf010)), (Control::IndirectJump, None, false, STAY)); // tbh [pc, r0, lsl #1]
    // ldrexd, and mov to a register that is not the pc.
    assert_eq!(t32(0xe8d0, Some(0x017f)).0, Control::Sequential);
    assert_eq!(t32(0x4603, None).0, Control::Sequential);
}

#[test]
fn t32_loads_to_pc() {
    assert_eq!(t32(0xbd10, None), (Control::Return, None, false, BY_TARGET)); // pop {r4, pc}
    assert_eq!(t32(0xbc10, None).0, Control::Sequential); // pop {r4}
    assert_eq!(t32(0xe8bd, Some(0x8100)), (Control::Return, None, false, BY_TARGET)); // pop.w {r8, pc}
    assert_eq!(t32(0xe890, Some(0x8002)), (Control::IndirectJump, None, false, BY_TARGET)); // ldmia r0, {r1, pc}
    assert_eq!(t32(0xe910, Some(0x8002)), (Control::IndirectJump, None, false, BY_TARGET)); // ldmdb r0, {r1, pc}
    assert_eq!(t32(0xe8bd, Some(0x4100)).0, Control::Sequential); // pop.w {r8, lr}
    assert_eq!(t32(0xf85d, Some(0xfb04)), (Control::Return, None, false, BY_TARGET)); // pop.w {pc}
    assert_eq!(t32(0xf8d3, Some(0xf004)), (Control::IndirectJump, None, false, BY_TARGET)); // ldr.w pc, [r3, #4]
    assert_eq!(t32(0xf853, Some(0xfc04)), (Control::IndirectJump, None, false, BY_TARGET)); // ldr.w pc, [r3, #-4]
    assert_eq!(t32(0xf853, Some(0xf022)), (Control::IndirectJump, None, false, BY_TARGET)); // ldr.w pc, [r3, r2, lsl #2]
    assert_eq!(t32(0xf8df, Some(0xf004)), (Control::IndirectJump, None, false, BY_TARGET)); // ldr.w pc, [pc, #4]
    assert_eq!(t32(0xf85f, Some(0xf104)), (Control::IndirectJump, None, false, BY_TARGET)); // ldr.w pc, [pc, #-260]
    assert_eq!(t32(0xf893, Some(0xf004)).0, Control::Sequential); // pld [r3, #4]
}

#[test]
fn t32_exception_return() {
    assert_eq!(t32(0xe9bd, Some(0xc000)).0, Control::TrapReturn); // rfeia sp!
    assert_eq!(t32(0xe81d, Some(0xc000)).0, Control::TrapReturn); // rfedb sp
    assert_eq!(t32(0xf3de, Some(0x8f00)).0, Control::TrapReturn); // eret
    assert_eq!(t32(0xf3de, Some(0x8f04)).0, Control::TrapReturn); // subs pc, lr, #4
    assert_eq!(t32(0xe98d, Some(0xc010)).0, Control::Sequential); // srsia sp
}

#[test]
fn t32_barriers_waits_and_traps() {
    assert_eq!(t32(0xf3bf, Some(0x8f6f)).0, Control::Isb); // isb
    assert_eq!(t32(0xee07, Some(0x0f95)).0, Control::Isb); // mcr p15, 0, r0, c7, c5, 4
    assert_eq!(t32(0xf3bf, Some(0x8f4f)).0, Control::Sequential); // dsb
    assert_eq!(t32(0xf3bf, Some(0x8f5f)).0, Control::Sequential); // dmb
    assert_eq!((t32(0xbf30, None).0, t32(0xbf20, None).0), (Control::Wait, Control::Wait)); // wfi, wfe
    assert_eq!(t32(0xf3af, Some(0x8003)).0, Control::Wait); // wfi.w
    assert_eq!(t32(0xf3af, Some(0x8002)).0, Control::Wait); // wfe.w
    assert_eq!((t32(0xbf00, None).0, t32(0xbf40, None).0), (Control::Sequential, Control::Sequential)); // nop, sev
    assert_eq!(t32(0xdf00, None).0, Control::SystemCall); // svc
    assert_eq!(t32(0xf7e0, Some(0x8000)).0, Control::SystemCall); // hvc
    assert_eq!(t32(0xf7f0, Some(0x8000)).0, Control::SystemCall); // smc
    assert_eq!((t32(0xbe00, None).0, t32(0xba80, None).0), (Control::Breakpoint, Control::Breakpoint)); // bkpt, hlt
    assert_eq!(t32(0xde00, None).0, Control::Undefined); // udf
    assert_eq!(t32(0xf7f0, Some(0xa000)).0, Control::Undefined); // udf.w
    assert_eq!(t32(0xf3ef, Some(0x8000)).0, Control::Sequential); // mrs: no branch with condition 15
}

#[test]
fn t32_it_blocks() {
    // it, itt, ite, ittt, iteee with every first condition; hints are not IT.
    for condition in 0..15 {
        let it = 0xbf00 | condition << 4;
        assert_eq!(it_length(it | 0b1000), Some(1));
        assert_eq!((it_length(it | 0b0100), it_length(it | 0b1100)), (Some(2), Some(2)));
        assert_eq!((it_length(it | 0b0010), it_length(it | 0b0001)), (Some(3), Some(4)));
        assert_eq!(it_length(it), None);
    }
    let jump = in_it_block(flow(Isa::T32, PC, 0xe000));
    assert_eq!((jump.control, jump.conditional, jump.target), (Control::Branch, true, Some(PC + 4)));
    let ret = in_it_block(flow(Isa::T32, PC, 0x4770));
    assert_eq!((ret.control, ret.conditional), (Control::Return, true));
}

#[test]
fn text_is_capstones() {
    let mut text = Disassembler::default();
    assert_eq!(text.text(Isa::A64, 0x1000, 0x5400_0040), "b.eq #0x1008");
    assert_eq!(text.text(Isa::A64, 0x1000, 0xd65f_03c0), "ret");
    assert_eq!(text.text(Isa::A32, 0x1000, 0xe8bd_8010), "pop {r4, pc}");
    assert_eq!(text.text(Isa::T32, 0x1000, 0xbd10), "pop {r4, pc}");
    assert_eq!(text.text(Isa::T32, 0x1000, 0xf800_f000), "bl #0x1004");
    assert_eq!(text.text(Isa::A64, 0x1000, 0x0300_0000), ".inst 0x03000000");
    assert_eq!(text.text(Isa::T32, 0x1000, 0xb700), ".inst.n 0xb700");
}

#[test]
fn other_sets_are_not_known() {
    assert_eq!(trackway_isa::arm::flow(Isa::Rv64, 0, 0x8082), Flow::sequential(0));
}
