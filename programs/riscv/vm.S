// Virtual memory: Sv32, or Sv39, Sv48 and Sv57 by MODE (8, 9, 10).
//
// RAM is mapped to itself for the supervisor by one large page; what is tested is mapped at WINDOW, by
// entries of the last table.
#include "test.h"
#include "modes.h"

#define V 1
#define R 2
#define W 4
#define X 8
#define U 0x10
#define G 0x20
#define A 0x40
#define D 0x80

#define WINDOW 0x40000000
#define LARGE 0x60000000            // a large page of its own

    program
    trap_handlers

// Maps a page of the window.
.macro map index, physical, flags
    la t0, \physical
    srli t0, t0, 12
    slli t0, t0, 10
    ori t0, t0, (\flags) & 0x7ff
    la t1, last + \index * XB
    SX t0, 0(t1)
    sfence.vma
.endm

// An entry of a table that points to the next one, or to a page.
.macro entry table, index, physical, flags
    la t0, \physical
    srli t0, t0, 12
    slli t0, t0, 10
    ori t0, t0, (\flags) & 0x7ff
    la t1, \table
    li t2, \index * XB
    add t1, t1, t2
    SX t0, 0(t1)
.endm

// The address of a page of the window, into a0.
.macro window index
    li a0, WINDOW + \index * 4096
.endm

// A page fault in this level, with the right address.
.macro faults level, cause, instruction:vararg
    raises_in \level, \cause, \instruction
    bne s9, a0, fail
.endm

main:
    open_memory
    li s7, 0
    la t0, supervisor_trap
    csrw stvec, t0
    li t0, SUM | MXR | MPRV
    csrc mstatus, t0

#if __riscv_xlen == 32
    entry root, 512, _start, V | R | W | X | A | D
    entry root, 256, last, V
    entry root, 384, _start, V | R | A | D
    li a0, 1 << 31
#else
#if MODE == 10
    entry root, 0, third, V
    entry third, 0, second, V
    entry second, 2, _start, V | R | W | X | A | D
    entry second, 1, first, V
#elif MODE == 9
    entry root, 0, second, V
    entry second, 2, _start, V | R | W | X | A | D
    entry second, 1, first, V
#else
    entry root, 2, _start, V | R | W | X | A | D
    entry root, 1, first, V
#endif
    entry first, 0, last, V
    entry first, 256, _start, V | R | A | D
    li a0, MODE
    slli a0, a0, 60
#endif
    test 1                          // the mode takes
    la a1, root
    srli a1, a1, 12
    or a0, a0, a1
    csrw satp, a0
    csrr a1, satp
    bne a0, a1, fail
    mv s5, a0
#if __riscv_xlen == 64
    li a2, 5                        // a mode that does not exist: nothing is written
    slli a2, a2, 60
    csrw satp, a2
    csrr a1, satp
    bne a0, a1, fail
#endif
    sfence.vma

// Reads and writes go to the page.
    test 2
    map 0, page_a, V | R | W | A | D
    window 0
    completes_in S_LEVEL, lw a1, 0(a0)
    expect a1, 0x1111
    li a2, 0x2222
    completes_in S_LEVEL, sw a2, 8(a0)
    la a3, page_a
    lw a1, 8(a3)
    bne a1, a2, fail
    completes_in S_LEVEL, amoadd.w a1, a2, (a0)
    lw a1, 0(a3)
    expect a1, 0x3333
    completes_in S_LEVEL, lw a1, 0(a3)      // the large page
    expect a1, 0x3333
    li a2, 0x1111
    sw a2, 0(a3)

// Another page at the same address, after a fence of any kind.
    test 3
    map 0, page_b, V | R | W | A | D
    completes_in S_LEVEL, lw a1, 0(a0)
    expect a1, 0x4444
    map 0, page_a, V | R | W | A | D
    sfence.vma a0
    completes_in S_LEVEL, lw a1, 0(a0)
    expect a1, 0x1111
    map 0, page_b, V | R | W | A | D
    sfence.vma a0, x0
    sfence.vma x0, x0
    completes_in S_LEVEL, lw a1, 0(a0)
    expect a1, 0x4444

// Not valid, and reserved combinations.
    test 4
    map 1, page_a, R | W | X | A | D
    window 1
    faults S_LEVEL, 13, lw a1, 0(a0)
    faults S_LEVEL, 15, sw a1, 0(a0)
    map 1, page_a, V | W | A | D
    faults S_LEVEL, 13, lw a1, 0(a0)
    map 1, page_a, V | W | X | A | D
    faults S_LEVEL, 15, sw a1, 0(a0)
    map 1, page_a, V                // a pointer in the last table
    faults S_LEVEL, 13, lw a1, 0(a0)
    addi a0, a0, 100                // the exact address
    faults S_LEVEL, 13, lw a1, 0(a0)

// Permissions.
    test 5
    map 2, page_a, V | R | A | D
    window 2
    completes_in S_LEVEL, lw a1, 0(a0)
    faults S_LEVEL, 15, sw a1, 0(a0)
#ifdef EXTRA                        // QEMU 7.2 calls it a load
    faults S_LEVEL, 15, amoadd.w a1, a1, (a0)
#endif
    map 2, page_a, V | X | A | D
    faults S_LEVEL, 13, lw a1, 0(a0)
    li t0, MXR
    csrs mstatus, t0
    completes_in S_LEVEL, lw a1, 0(a0)
    expect a1, 0x1111
    faults S_LEVEL, 15, sw a1, 0(a0)
    li t0, MXR
    csrc mstatus, t0

// User pages.
    test 6
    map 3, page_a, V | R | W | U | A | D
    window 3
    faults S_LEVEL, 13, lw a1, 0(a0)
    faults S_LEVEL, 15, sw a1, 0(a0)
    li t0, SUM
    csrs mstatus, t0
    completes_in S_LEVEL, lw a1, 0(a0)
    expect a1, 0x1111
    completes_in S_LEVEL, sw a1, 4(a0)
    li t0, SUM
    csrc mstatus, t0

// User code runs in user pages only.
    test 7
    map 4, code, V | X | R | U | A | D
    window 4
    resume 1f
    li t6, MPP
    csrc mstatus, t6
    csrw mepc, a0
    mret
1:  expect s8, 8                    // its ecall
    addi a1, a0, 4
    bne s10, a1, fail
    expect a7, 66
    test 8                          // not for the supervisor, even with SUM
    li t0, SUM | SPP
    csrs mstatus, t0
    resume 1f
    li t6, MPP
    csrc mstatus, t6
    li t6, S_LEVEL << 11
    csrs mstatus, t6
    csrw mepc, a0
    mret
1:  expect s8, 12
    bne s9, a0, fail
    bne s10, a0, fail
    li t0, SUM | SPP
    csrc mstatus, t0
    test 9                          // no execution without X, none of supervisor pages by the user
    map 4, code, V | R | U | A | D
    resume 1f
    li t6, MPP
    csrc mstatus, t6
    csrw mepc, a0
    mret
1:  expect s8, 12
    bne s9, a0, fail
    map 4, code, V | R | X | A | D
    resume 1f
    li t6, MPP
    csrc mstatus, t6
    csrw mepc, a0
    mret
1:  expect s8, 12

// An instruction over the end of a page: the second half has no page.
    test 10
    map 4, straddle, V | R | X | U | A | D
    map 5, page_a, 0
    li a0, WINDOW + 5 * 4096 - 2
    resume 1f
    li t6, MPP
    csrc mstatus, t6
    csrw mepc, a0
    mret
1:  expect s8, 12
    bne s10, a0, fail
    addi a1, a0, 2
    bne s9, a1, fail
    map 5, straddle_end, V | R | X | U | A | D
    resume 1f
    li t6, MPP
    csrc mstatus, t6
    csrw mepc, a0
    mret
1:  expect s8, 8
    expect a7, 77

// Large pages: one that is aligned, one that is not.
    test 11
    li a0, LARGE
    la a1, page_a
    la a2, _start
    sub a1, a1, a2
    add a0, a0, a1
    completes_in S_LEVEL, lw a1, 0(a0)
    expect a1, 0x1111
    faults S_LEVEL, 15, sw a1, 0(a0)
#if __riscv_xlen == 32
    entry root, 384, page_a, V | R | A | D
#else
    entry first, 256, page_a, V | R | A | D
#endif
    sfence.vma
    faults S_LEVEL, 13, lw a1, 0(a0)

// Accessed and dirty: set by the hardware, or a fault.
    test 12
    map 6, page_a, V | R | W
    window 6
    la s2, last + 6 * XB
    resume 2f
    enter S_LEVEL, 1f
1:  lw a1, 0(a0)
    ecall
2:  li a2, 13
    beq s8, a2, 3f                  // it traps: then for stores too, and the entry is as it was
    expect s8, 9
    LX a1, 0(s2)
    andi a1, a1, A | D
    expect a1, A
    completes_in S_LEVEL, sw a1, 4(a0)
    LX a1, 0(s2)
    andi a1, a1, A | D
    expect a1, A | D
    j 4f
3:  LX a1, 0(s2)
    andi a1, a1, A | D
    bnez a1, fail
    map 6, page_a, V | R | W | A
    completes_in S_LEVEL, lw a1, 0(a0)
    faults S_LEVEL, 15, sw a1, 0(a0)
4:

#if __riscv_xlen == 64
// Addresses must be sign-extended.
    test 13
    window 0
    li a1, 1
#if MODE == 10
    slli a1, a1, 57
#elif MODE == 9
    slli a1, a1, 48
#else
    slli a1, a1, 39
#endif
    or a0, a0, a1
    faults S_LEVEL, 13, lw a1, 0(a0)
    faults S_LEVEL, 15, sw a1, 0(a0)
#endif

// Machine mode translates nothing, but with MPRV.
    test 14
    window 0
#ifdef EXTRA                        // QEMU has a device there
    raises 5, lw a1, 0(a0)
#endif
    li t0, MPP
    csrc mstatus, t0
    li t0, MPRV | S_LEVEL << 11
    csrs mstatus, t0
    lw a1, 0(a0)
    li t0, MPRV
    csrc mstatus, t0
    expect a1, 0x4444
    window 1
    li t0, MPP
    csrc mstatus, t0
    li t0, MPRV | S_LEVEL << 11
    csrs mstatus, t0
    raises 13, lw a1, 0(a0)
    li t0, MPRV
    csrc mstatus, t0

// Page faults can be delegated.
    test 15
    li t0, 0xb000
    csrw medeleg, t0
    window 1
    resume 2f
    enter S_LEVEL, 1f
1:  lw a1, 0(a0)
2:  expect s6, 1
    expect s8, 13
    bne s9, a0, fail
    resume 2f
    enter S_LEVEL, 1f
1:  sw a1, 0(a0)
2:  expect s6, 1
    expect s8, 15
    resume 2f
    enter S_LEVEL, 1f
1:  jr a0
2:  expect s6, 1
    expect s8, 12
    bne s10, a0, fail
    csrw medeleg, x0

// The user reads user pages, and no others.
    test 17
    map 4, code, V | X | R | U | A | D
    window 4
    addi a0, a0, 8                  // reader
    li a5, WINDOW + 3 * 4096
    li a6, 0
    resume 1f
    li t6, MPP
    csrc mstatus, t6
    csrw mepc, a0
    mret
1:  expect s8, 8
    expect a6, 0x1111
    li a5, WINDOW
    resume 1f
    li t6, MPP
    csrc mstatus, t6
    csrw mepc, a0
    mret
1:  expect s8, 13
    bne s9, a5, fail
    bne s10, a0, fail

// Switched off again.
    test 16
    csrw satp, x0
    sfence.vma
    la a0, page_a
    completes_in S_LEVEL, lw a1, 0(a0)
    expect a1, 0x1111
    j pass

// User code: a7 = 66, ecall.
    .align 12
code:
    .option push
    .option norvc
    li a7, 66
    ecall
reader:
    lw a6, 0(a5)
    ecall
    .align 12
straddle:
    .space 4094
    .2byte 0x0893                   // li a7,77: its first half
straddle_end:
    .2byte 0x04d0
    ecall
    .align 12
    .option pop

    .data
    .align 12
page_a: .word 0x1111
    .align 12
page_b: .word 0x4444
    .bss
    .align 12
root:   .space 4096
third:  .space 4096
second: .space 4096
first:  .space 4096
last:   .space 4096
