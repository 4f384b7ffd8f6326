// What every program shares: start, result, trap vector.
//
// gp holds the number of the running test. A program passes by reaching `pass`; a failing test goes to
// `fail` with its number in gp. The result is written to `tohost` (HTIF: 1 is success, odd others are
// failures) and to the test finisher at 0x100000 (0x5555 is success, 0x3333 with a code above a failure).

#if __riscv_xlen == 64
#define LX ld
#define LXU lwu
#define SX sd
#define XB 8
#define WORDX .dword
#else
#define LX lw
#define LXU lw
#define SX sw
#define XB 4
#define WORDX .word
#endif

#define FINISHER 0x100000

// A test that begins: its number, for `fail`.
.macro test number
    li gp, \number
.endm

// Fails unless a register has this value.
.macro expect register, value
    li t6, \value
    bne \register, t6, fail
.endm

.macro program
    .section .text.start, "ax"
    .globl _start
_start:
    la t0, trap
    csrw mtvec, t0
    la sp, _stack
    li gp, 0
    j main

    .text
    .globl pass
    .globl fail
fail:
    // 2 * number + 1 for HTIF, number in the upper half for the finisher.
    slli t0, gp, 1
    ori t0, t0, 1
    slli t1, gp, 16
    li t2, 0x3333
    or t1, t1, t2
    bnez gp, finish
    li t0, 3
    li t1, 0x13333
    j finish
pass:
    li t0, 1
    li t1, 0x5555
finish:
    la t2, tohost
    SX t0, 0(t2)
    li t2, FINISHER
    sw t1, 0(t2)
1:  j 1b

    .section .tohost, "aw"
    .align 6
    .globl tohost
tohost: .dword 0
    .align 6
    .globl fromhost
fromhost: .dword 0
    .text
.endm

// Where a program has no trap of its own to expect.
.macro no_traps
    .text
    .align 2
trap:
    j fail
.endm
