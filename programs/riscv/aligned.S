// A core without compressed instructions: instruction addresses are multiples of four, else they trap.
#include "test.h"
#include "modes.h"

    program
    trap_handlers

main:
    open_memory
    li s7, 0
    test 1
    csrr a0, misa
    andi a0, a0, 4                  // C
    bnez a0, fail
    csrw mepc, x0
    test 2                          // the jump traps, not its target
    resume 2f
    la a0, target + 2
1:  jalr a1, 0(a0)
    j fail
2:  bnez s8, fail                   // cause 0
    bne s9, a0, fail
    la a2, 1b
    bne s10, a2, fail
    test 3                          // and keeps its link register as it was
    li a1, 99
    resume 2f
    jalr a1, 0(a0)
2:  expect a1, 99
    test 4
    resume 2f
    la a0, target
1:  .4byte 0x0020006f               // jal x0,.+2
2:  bnez s8, fail
    la a2, 1b
    bne s10, a2, fail
#ifdef EXTRA                        // QEMU 7.2 gives the address of the jump
    addi a2, a2, 2
    bne s9, a2, fail
#endif
    test 5                          // a branch only where it is taken
    resume 2f
    .4byte 0x00001163               // bne x0,x0,.+2
1:  .4byte 0x00000163               // beq x0,x0,.+2
2:  bnez s8, fail
    la a2, 1b
    bne s10, a2, fail
    test 6                          // the low bit of the sum is dropped before
    la a0, target
    jalr a1, 1(a0)
    test 7                          // compressed encodings are illegal
    resume 2f
1:  .4byte 0x00010001
2:  expect s8, 2
    j pass
    .align 2
target:
    jr a1
