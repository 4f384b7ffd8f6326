// A program with a signature, as the architectural tests have it: words that it leaves between two symbols.
#include "test.h"

    program
    no_traps

main:
    la a0, begin_signature
    li a1, 1
    li a2, 1
    li a3, 8
1:  sw a1, 0(a0)
    add a4, a1, a2
    mv a1, a2
    mv a2, a4
    addi a0, a0, 4
    addi a3, a3, -1
    bnez a3, 1b
    j pass

    .data
    .align 4
    .globl begin_signature, end_signature
begin_signature:
    .fill 8, 4, 0xdeadbeef
    .word 0xdeadbeef
end_signature:
