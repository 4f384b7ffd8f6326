// Every floating-point instruction: F, D and Zfh, in all rounding modes, with flags, NaN boxing and state.
#include "test.h"

    program
    no_traps
    .option arch, +zfh

// A row is three operands and a result of 64 bits each, the rounding mode and the flags.
#define ROW 40

.macro rows number, table
    test \number
    la s0, \table
.endm

// Mode into frm, flags cleared.
.macro begin
1:  lw t0, 32(s0)
    bltz t0, 2f
    fsrm t0
    fsflags x0
.endm

// Flags, next row.
.macro end
    frflags t1
    lw t2, 36(s0)
    bne t1, t2, fail
    addi s0, s0, ROW
    j 1b
2:
.endm

// fa3 is the result, with all of its 64 bits.
.macro same_float
    la s1, room
    fsd fa3, 0(s1)
    lw t3, 0(s1)
    lw t4, 24(s0)
    bne t3, t4, fail
    lw t3, 4(s1)
    lw t4, 28(s0)
    bne t3, t4, fail
.endm

// a0 is the result.
.macro same_int
    LX t4, 24(s0)
    bne a0, t4, fail
.endm

.macro float1 load, op, number, table
    rows \number, \table
    begin
    \load fa0, 0(s0)
    \op fa3, fa0
    same_float
    end
.endm

.macro exact1 load, op, number, table
    float1 \load, \op, \number, \table
.endm

.macro plain2 load, op, number, table
    rows \number, \table
    begin
    \load fa0, 0(s0)
    \load fa1, 8(s0)
    \op fa3, fa0, fa1
    same_float
    end
.endm

.macro float2 load, op, number, table
    plain2 \load, \op, \number, \table
// The modes in the encoding, against frm set to something else.
    rows \number, \table
    begin
    \load fa0, 0(s0)
    \load fa1, 8(s0)
    li t1, 3
    fsrm t1
    bnez t0, 3f
    \op fa3, fa0, fa1, rne
    j 7f
3:  addi t0, t0, -1
    bnez t0, 4f
    \op fa3, fa0, fa1, rtz
    j 7f
4:  addi t0, t0, -1
    bnez t0, 5f
    \op fa3, fa0, fa1, rdn
    j 7f
5:  addi t0, t0, -1
    bnez t0, 6f
    \op fa3, fa0, fa1, rup
    j 7f
6:  \op fa3, fa0, fa1, rmm
7:  same_float
    end
.endm

.macro float3 load, op, number, table
    rows \number, \table
    begin
    \load fa0, 0(s0)
    \load fa1, 8(s0)
    \load fa2, 16(s0)
    \op fa3, fa0, fa1, fa2
    same_float
    end
.endm

.macro compare2 load, op, number, table
    rows \number, \table
    begin
    \load fa0, 0(s0)
    \load fa1, 8(s0)
    \op a0, fa0, fa1
    same_int
    end
.endm

.macro compare1 load, op, number, table
    rows \number, \table
    begin
    \load fa0, 0(s0)
    \op a0, fa0
    same_int
    end
.endm

.macro to_int load, op, number, table
    compare1 \load, \op, \number, \table
.endm

.macro from_int load, op, number, table
    rows \number, \table
    begin
    LX a0, 0(s0)
    \op fa3, a0
    same_float
    end
.endm

.macro from_int_exact load, op, number, table
    from_int \load, \op, \number, \table
.endm

main:
// Off at reset: enable, and see it become dirty.
    test 900
    li t0, 0x6000
    csrc mstatus, t0
    li t1, 0x2000
    csrs mstatus, t1
    csrr t2, mstatus
    and t2, t2, t0
    bne t2, t1, fail                // initial
    fmv.w.x fa0, x0
    csrr t2, mstatus
    and t2, t2, t0
    bne t2, t0, fail                // dirty
#if __riscv_xlen == 64
    csrr t2, mstatus
    bgez t2, fail                   // SD
#else
    csrr t2, mstatus
    bgez t2, fail
#endif

#if __riscv_xlen == 64
#include "float-64.inc"
#else
#include "float-32.inc"
#endif

// fcsr and its parts; upper bits read as zero.
    test 910
    li a0, -1
    csrw fcsr, a0
    csrr a0, fcsr
    expect a0, 0xff
    csrr a0, frm
    expect a0, 7
    csrr a0, fflags
    expect a0, 31
    fsrmi 2
    frcsr a0
    expect a0, 0x5f
    fsflagsi 5
    frcsr a0
    expect a0, 0x45
    csrrwi a1, fcsr, 0
    expect a1, 0x45
    frcsr a0
    bnez a0, fail

// Flags accrue.
    test 911
    la s1, room
    li a0, 1
    fcvt.s.w fa0, a0
    fmv.w.x fa1, x0
    fdiv.s fa2, fa0, fa1            // divide by zero
    li a0, 3
    fcvt.s.w fa1, a0
    fdiv.s fa2, fa0, fa1            // inexact
    frflags a0
    expect a0, 9

// Moves keep bits; narrower values are boxed, and one that is not boxed is a NaN.
    test 912
    fsflags x0
    li a0, 0x7f800001               // signalling: a move does not look
    fmv.w.x fa0, a0
    fmv.x.w a1, fa0
    bne a0, a1, fail
    fsd fa0, 0(s1)
    lw a2, 4(s1)
    expect a2, -1
    li a0, 0xffff8000
    fmv.w.x fa0, a0
    fmv.x.w a1, fa0
    expect a1, -0x8000
    li a0, 0x8001
    fmv.h.x fa0, a0
    fmv.x.h a1, fa0
    expect a1, -0x7fff
    fsd fa0, 0(s1)
    lw a2, 0(s1)
    expect a2, -0x7fff
    lw a2, 4(s1)
    expect a2, -1
    test 913
    sw x0, 0(s1)
    li a0, 0x3ff00000
    sw a0, 4(s1)
    fld fa0, 0(s1)                  // 1.0, no boxed single
    fclass.s a0, fa0
    expect a0, 0x200
    fadd.s fa1, fa0, fa0
    fmv.x.w a0, fa1
    expect a0, 0x7fc00000
    fsgnj.s fa1, fa0, fa0
    fmv.x.w a0, fa1
    expect a0, 0x7fc00000
    fclass.h a0, fa0
    expect a0, 0x200
    fsw fa0, 8(s1)                  // a store takes the low bits as they are
    lw a0, 8(s1)
    bnez a0, fail
    frflags a0
    bnez a0, fail
#if __riscv_xlen == 64
    test 914
    li a0, 0x7ff0000000000001
    fmv.d.x fa0, a0
    fmv.x.d a1, fa0
    bne a0, a1, fail
#endif

// Loads and stores of all sizes, and the compressed ones.
    .option push
    .option norvc
    test 920
    li a0, 0x89abcdef
    sw a0, 0(s1)
    li a1, 0x01234567
    sw a1, 4(s1)
    fld fa0, 0(s1)
    fsd fa0, 16(s1)
    lw a2, 20(s1)
    bne a1, a2, fail
    flw fa0, 0(s1)
    fsw fa0, 24(s1)
    lw a2, 24(s1)
    expect a2, -0x76543211
    flh fa0, 4(s1)
    fsh fa0, 30(s1)
    lhu a2, 30(s1)
    expect a2, 0x4567
    .option pop
    .option push
    .option rvc
    test 921
    mv s2, sp
    mv sp, s1
    c.fld fa0, 0(s1)
    c.fsd fa0, 40(s1)
    lw a2, 44(s1)
    bne a1, a2, fail
    c.fldsp fs11, 40(sp)
    c.fsdsp fs11, 48(sp)
    lw a2, 52(sp)
    bne a1, a2, fail
#if __riscv_xlen == 32
    c.flw fa0, 4(s1)
    c.fsw fa0, 60(s1)
    lw a2, 60(s1)
    bne a1, a2, fail
    c.flwsp fs11, 4(sp)
    c.fswsp fs11, 64(sp)
    lw a2, 64(sp)
    bne a1, a2, fail
#endif
    mv sp, s2
    .option pop
    j pass

    .data
    .align 4
room:
    .space 256
