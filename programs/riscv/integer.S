// Every integer instruction: I, M, Zba, Zbb, Zbc, Zbs (Zicond in the extra program), C, Zifencei.
#include "test.h"

    program
    no_traps

#ifdef EXTRA
// Zicond is newer than the assembler.
.macro czero.eqz rd, rs1, rs2
    .insn r 0x33, 5, 7, \rd, \rs1, \rs2
.endm
.macro czero.nez rd, rs1, rs2
    .insn r 0x33, 7, 7, \rd, \rs1, \rs2
.endm
#endif

// Over all pairs, with a destination of its own and with each source as destination.
.macro binary op, number, expected
    test \number
    la s0, pairs
    la s1, \expected
    li s2, PAIRS
1:  LX a0, 0(s0)
    LX a1, XB(s0)
    LX a3, 0(s1)
    \op a2, a0, a1
    bne a2, a3, fail
    mv a4, a0
    \op a4, a4, a1
    bne a4, a3, fail
    mv a5, a1
    \op a5, a0, a5
    bne a5, a3, fail
    \op x0, a0, a1
    bnez x0, fail
    addi s0, s0, 2 * XB
    addi s1, s1, XB
    addi s2, s2, -1
    bnez s2, 1b
.endm

.macro unary op, number, expected
    test \number
    la s0, values
    la s1, \expected
    li s2, VALUES
1:  LX a0, 0(s0)
    LX a3, 0(s1)
    \op a2, a0
    bne a2, a3, fail
    \op a0, a0
    bne a0, a3, fail
    addi s0, s0, XB
    addi s1, s1, XB
    addi s2, s2, -1
    bnez s2, 1b
.endm

.macro immediate op, imm, number, expected
    test \number
    la s0, values
    la s1, \expected
    li s2, VALUES
1:  LX a0, 0(s0)
    LX a3, 0(s1)
    \op a2, a0, \imm
    bne a2, a3, fail
    \op a0, a0, \imm
    bne a0, a3, fail
    addi s0, s0, XB
    addi s1, s1, XB
    addi s2, s2, -1
    bnez s2, 1b
.endm

// A load gives this value.
.macro load op, offset, value
    \op a1, \offset(s0)
    expect a1, \value
.endm

// A branch that must be taken, or must not.
.macro taken op, a, b
    li a0, \a
    li a1, \b
    \op a0, a1, 1f
    j fail
1:
.endm
.macro not_taken op, a, b
    li a0, \a
    li a1, \b
    \op a0, a1, fail
.endm

main:
#if __riscv_xlen == 64
#include "integer-64.inc"
#else
#include "integer-32.inc"
#endif

    .option push
    .option norvc
// Upper immediates.
    test 700
    lui a0, 0xfffff
    expect a0, -4096
    lui a0, 0x7ffff
    expect a0, 0x7ffff000
    test 701
    auipc a0, 0
1:  la a1, 1b
    addi a1, a1, -4
    bne a0, a1, fail
    test 702
2:  auipc a0, 0xfffff
    la a1, 2b
    li a2, 4096
    sub a1, a1, a2
    bne a0, a1, fail

// Branches, both ways.
    test 710
    taken beq, 5, 5
    not_taken beq, 5, -5
    taken bne, 5, -5
    not_taken bne, 5, 5
    taken blt, -1, 0
    not_taken blt, 0, -1
    not_taken blt, 7, 7
    taken bge, 0, -1
    taken bge, 7, 7
    not_taken bge, -1, 0
    taken bltu, 0, -1
    not_taken bltu, -1, 0
    taken bgeu, -1, 0
    taken bgeu, 7, 7
    not_taken bgeu, 0, -1
    test 711                        // backwards
    j 2f
1:  j 3f
2:  beq x0, x0, 1b
    j fail
3:

// Jumps: link register, low bit of the target ignored, source and destination the same.
    test 720
    jal a0, 1f
2:  j fail
1:  la a1, 2b
    bne a0, a1, fail
    test 721
    la a0, 1f
    jalr a0, 1(a0)
2:  j fail
1:  la a1, 2b
    bne a0, a1, fail
    test 722
    la a0, 1f
    jalr x0, 0(a0)
    j fail
1:  la a0, 1f + 2044
    jalr ra, -2044(a0)
    j fail
1:

// Loads: sizes and extension, offsets of both signs.
    test 730
    la s0, bytes
    load lb, 0, -128
    load lbu, 0, 128
    load lb, 1, 0x12
    load lh, 0, 0x1280
    load lhu, 2, 0xf356
    load lh, 2, -0xcaa
    load lw, 0, -0xca9ed80
    addi s0, s0, 1000
    load lw, -996, 0x21436587
#if __riscv_xlen == 64
    addi s0, s0, -1000
    load lwu, 0, 0xf3561280
    load ld, 0, 0x21436587f3561280
#endif

// Stores.
    test 731
    la s0, room
    li a0, -1
    SX a0, 0(s0)
    SX a0, 8(s0)
    li a0, 0x12345678
    sb a0, 1(s0)
    lw a1, 0(s0)
    expect a1, -0x8701
    sh a0, 2(s0)
    lw a1, 0(s0)
    expect a1, 0x567878ff
    sw a0, 4(s0)
    lw a1, 4(s0)
    expect a1, 0x12345678
    lw a1, 8(s0)
    expect a1, -1
#if __riscv_xlen == 64
    li a0, 0x0123456789abcdef
    sd a0, 8(s0)
    lw a1, 8(s0)
    expect a1, 0xffffffff89abcdef
    lw a1, 12(s0)
    expect a1, 0x01234567
#endif

// Fences do nothing here; hints neither.
    test 740
    fence
    fence rw, w
    fence.tso
    .4byte 0x0100000f               // pause
    fence.i
    .4byte 0x0000a033               // slt x0,x1,x0: a hint
    lui x0, 1
#ifdef EXTRA                        // Zawrs is newer than QEMU 7.2; without a reservation they do not wait
    .4byte 0x00d00073               // wrs.nto
    .4byte 0x01d00073               // wrs.sto
#endif
    bnez x0, fail

// Self-modifying code after fence.i.
    test 741
    la a0, patched
    lw a1, replacement
    call patched
    expect a2, 1
    sw a1, 0(a0)
    fence.i
    call patched
    expect a2, 2
    j compressed
    .align 2
patched:
    li a2, 1
    ret
replacement:
    li a2, 2
    .option pop

compressed:
    .option push
    .option rvc
// Every compressed instruction.
    test 800
    la s0, bytes
    c.lw a1, 4(s0)
    expect a1, 0x21436587
    la s1, room
    c.sw a1, 60(s1)
    lw a2, 60(s1)
    bne a1, a2, fail
    test 801
    mv s2, sp
    mv sp, s1
    c.lwsp a3, 60(sp)
    bne a3, a1, fail
    c.swsp a0, 64(sp)
    c.addi4spn a4, sp, 64
    lw a5, 0(a4)
    sub a0, a0, a5                  // the same low word
    slli a0, a0, __riscv_xlen - 32
    bnez a0, fail
    c.addi16sp sp, -64
    addi a4, s1, -64
    bne sp, a4, fail
    c.addi16sp sp, 496
    mv sp, s2
    test 802
    c.nop
    c.li a0, -32
    expect a0, -32
    c.li a0, 31
    c.addi a0, -32
    expect a0, -1
    c.lui a0, 31
    expect a0, 0x1f000
    c.lui a0, 0xfffe0
    expect a0, -0x20000
    test 803
    li a0, -16
    c.srli a0, 3
#if __riscv_xlen == 64
    expect a0, 0x1ffffffffffffffe
#else
    expect a0, 0x1ffffffe
#endif
    li a0, -16
    c.srai a0, 3
    expect a0, -2
    li a0, 3
    c.slli a0, 29
    expect a0, 3 << 29
    li a0, 0x1234
    c.andi a0, -16
    expect a0, 0x1230
    test 804
    li a0, 0xf0
    li a1, 0x3c
    c.and a0, a1
    expect a0, 0x30
    c.or a0, a1
    expect a0, 0x3c
    li a1, 0xff
    c.xor a0, a1
    expect a0, 0xc3
    c.sub a0, a1
    expect a0, -0x3c
    c.mv a2, a0
    expect a2, -0x3c
    c.add a2, a1
    expect a2, 0xc3
    test 805
    c.j 1f
    j fail
1:  li a0, 0
    c.beqz a0, 1f
    j fail
1:  c.bnez a0, 2f
    li a0, 1
    c.bnez a0, 1f
2:  j fail
1:  c.beqz a0, 2b
    la a0, 1f
    c.jr a0
    j fail
1:  la a0, 1f
    c.jalr a0
2:  j fail
1:  la a1, 2b
    bne ra, a1, fail
    test 806
#if __riscv_xlen == 64
    la s1, room
    li a1, 0x0123456789abcdef
    c.sd a1, 248(s1)
    c.ld a2, 248(s1)
    bne a1, a2, fail
    mv s2, sp
    mv sp, s1
    c.sdsp a1, 504(sp)
    c.ldsp a3, 504(sp)
    mv sp, s2
    bne a1, a3, fail
    c.addiw a1, 1
    expect a1, 0xffffffff89abcdf0
    li a2, 0x80000000
    c.addw a1, a2
    expect a1, 0x9abcdf0
    c.subw a2, a1
    expect a2, 0x76543210
    c.slli a2, 63
    bnez a2, fail
#else
    c.jal 1f
2:  j fail
1:  la a1, 2b
    bne ra, a1, fail
#endif
    test 807                        // hints
    .2byte 0x0005                   // c.nop 1
    .2byte 0x4005                   // c.li x0,1
    .2byte 0x6005                   // c.lui x0,1
    .2byte 0x800a                   // c.mv x0,sp
    .2byte 0x900a                   // c.add x0,sp
    .2byte 0x0006                   // c.slli x0,1
    .2byte 0x0101                   // c.addi sp,0
    bnez x0, fail
    .option pop

// The zero register takes nothing.
    test 900
    li a0, 77
    add x0, a0, a0
    la a1, bytes
    lw x0, 0(a1)
    jal x0, 1f
1:  bnez x0, fail
    j pass

    .data
    .align 3
bytes:
    .byte 0x80, 0x12, 0x56, 0xf3, 0x87, 0x65, 0x43, 0x21
    .align 4
room:
    .space 1024
