# Sorts eight numbers and sums them: calls, a nested loop, loads and stores, a system call.
    .section .text
    .globl _start
_start:
    la      a0, numbers
    li      a1, 8
    call    sort
    la      a0, numbers
    li      a1, 8
    call    sum
    addi    a7, zero, 93        # exit, with the sum as its code
    ecall

# Bubble sort of a1 doublewords at a0.
    .globl sort
sort:
    addi    a1, a1, -1
    blez    a1, 3f
    mv      t0, a0
    mv      t1, a1
1:  ld      t2, 0(t0)
    ld      t3, 8(t0)
    bge     t3, t2, 2f
    sd      t3, 0(t0)
    sd      t2, 8(t0)
2:  addi    t0, t0, 8
    addi    t1, t1, -1
    bnez    t1, 1b
    j       sort
3:  ret

# Sum of a1 doublewords at a0.
    .globl sum
sum:
    li      t0, 0
1:  ld      t1, 0(a0)
    add     t0, t0, t1
    addi    a0, a0, 8
    addi    a1, a1, -1
    bnez    a1, 1b
    mv      a0, t0
    ret

    .data
    .balign 8
numbers:
    .dword 7, 3, 11, 2, 5, 13, 1, 0
