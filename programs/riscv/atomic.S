// Every atomic: LR and SC, and the read-modify-write operations with all orderings.
#include "test.h"

    program
    no_traps

// rd gets the old value, memory the new one.
.macro amo op, old, operand, new
    li a0, \old
    li a1, \operand
    SX a0, 0(s0)
    SX a0, 8(s0)
    \op a2, a1, (s0)
    li a3, \old
    bne a2, a3, fail
    LX a4, 0(s0)
    li a3, \new
    bne a4, a3, fail
    LX a4, 8(s0)                    // nothing behind it
    bne a4, a0, fail
    SX a0, 0(s0)
    \op\().aqrl x0, a1, (s0)
    LX a4, 0(s0)
    bne a4, a3, fail
    SX a0, 0(s0)
    mv a2, s0
    \op\().aq a2, a1, (a2)          // the address register is the destination
    li a3, \old
    bne a2, a3, fail
    SX a0, 0(s0)
    \op\().rl a1, a1, (s0)          // so is the operand
    bne a1, a3, fail
.endm

main:
    la s0, cell
#if __riscv_xlen == 32
    test 1
    amo amoswap.w, 5, -7, -7
    test 2
    amo amoadd.w, 0x7fffffff, 2, -0x7fffffff
    test 3
    amo amoxor.w, 0x0ff0, 0x00ff, 0x0f0f
    test 4
    amo amoand.w, 0x0ff0, 0x00ff, 0x00f0
    test 5
    amo amoor.w, 0x0ff0, 0x00ff, 0x0fff
    test 6
    amo amomin.w, 3, -3, -3
    amo amomin.w, -3, 3, -3
    test 7
    amo amomax.w, 3, -3, 3
    amo amomax.w, -3, 3, 3
    test 8
    amo amominu.w, 3, -3, 3
    amo amominu.w, -3, 3, 3
    test 9
    amo amomaxu.w, 3, -3, -3
    amo amomaxu.w, -3, 3, -3
#else
// On RV64 a word operation leaves the upper half of memory alone and extends the sign.
.macro amow op, old, operand, loaded, new
    li a0, \old
    li a1, \operand
    sd a0, 0(s0)
    \op a2, a1, (s0)
    expect a2, \loaded
    ld a4, 0(s0)
    expect a4, \new
.endm
    test 1
    amow amoswap.w, 0x11111111ffffff05, -7, 0xffffffffffffff05, 0x11111111fffffff9
    test 2
    amow amoadd.w, 0x111111117fffffff, 2, 0x7fffffff, 0x1111111180000001
    test 3
    amow amoxor.w, 0x1111111180000ff0, 0xff, 0xffffffff80000ff0, 0x1111111180000f0f
    test 4
    amow amoand.w, 0x1111111100000ff0, 0x2222222200ff00ff, 0x0ff0, 0x11111111000000f0
    test 5
    amow amoor.w, 0x1111111100000ff0, 0xff, 0x0ff0, 0x1111111100000fff
    test 6
    amow amomin.w, 0x1111111100000003, -3, 3, 0x11111111fffffffd
    amow amomin.w, 0x11111111fffffffd, 0x100000003, -3, 0x11111111fffffffd
    test 7
    amow amomax.w, 0x1111111100000003, -3, 3, 0x1111111100000003
    amow amomax.w, 0x11111111fffffffd, 3, -3, 0x1111111100000003
    test 8
    amow amominu.w, 0x1111111100000003, -3, 3, 0x1111111100000003
    amow amominu.w, 0x11111111fffffffd, 3, -3, 0x1111111100000003
    test 9
    amow amomaxu.w, 0x1111111100000003, -3, 3, 0x11111111fffffffd
    amow amomaxu.w, 0x11111111fffffffd, 3, -3, 0x11111111fffffffd
    test 21
    amo amoswap.d, 5, -7, -7
    test 22
    amo amoadd.d, 0x7fffffffffffffff, 2, 0x8000000000000001
    test 23
    amo amoxor.d, 0x0ff0000000000ff0, 0x00ff, 0x0ff0000000000f0f
    test 24
    amo amoand.d, 0x0ff0, 0x00ff, 0x00f0
    test 25
    amo amoor.d, 0x0ff0, 0x00ff, 0x0fff
    test 26
    amo amomin.d, 3, -3, -3
    amo amomin.d, -3, 3, -3
    test 27
    amo amomax.d, 3, -3, 3
    amo amomax.d, -3, 3, 3
    test 28
    amo amominu.d, 3, -3, 3
    amo amominu.d, -3, 3, 3
    test 29
    amo amomaxu.d, 3, -3, -3
    amo amomaxu.d, -3, 3, -3
#endif

// A pair that succeeds.
    test 40
    li a0, 0x12345678
    sw a0, 0(s0)
    lr.w a1, (s0)
    bne a0, a1, fail
    addi a1, a1, 1
    sc.w a2, a1, (s0)
    bnez a2, fail
    lw a3, 0(s0)
    bne a3, a1, fail
// Without a reservation: fails, and does not store.
    test 41
    sc.w a2, a0, (s0)
    beqz a2, fail
    lw a3, 0(s0)
    bne a3, a1, fail
// At another address: fails.
    test 42
    lr.w.aq a1, (s0)
    addi s1, s0, 1024
    sc.w.rl a2, a0, (s1)
    beqz a2, fail
// The reservation is used up by a store-conditional that failed.
    test 43
    sc.w a2, a0, (s0)
    beqz a2, fail
// A loop that adds, as compilers write it.
    test 44
    li a4, 100
    sw x0, 0(s0)
1:  lr.w.aqrl a1, (s0)
    addi a1, a1, 3
    sc.w.aqrl a2, a1, (s0)
    bnez a2, 1b
    addi a4, a4, -1
    bnez a4, 1b
    lw a1, 0(s0)
    expect a1, 300
// LR extends the sign.
    test 45
    li a0, -5
    sw a0, 0(s0)
    lr.w a1, (s0)
    bne a0, a1, fail
#if __riscv_xlen == 64
    test 46
    li a0, 0x0123456789abcdef
    sd a0, 0(s0)
    lr.d a1, (s0)
    bne a0, a1, fail
    not a1, a1
    sc.d a2, a1, (s0)
    bnez a2, fail
    ld a3, 0(s0)
    bne a3, a1, fail
    sc.d a2, a1, (s0)
    beqz a2, fail
#endif
    j pass

    .data
    .align 12
cell:
    .space 2048
