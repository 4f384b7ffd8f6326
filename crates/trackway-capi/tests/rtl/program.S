# Every kind of RV32I instruction, a trap and the way back; the end is a store to the finisher.
# riscv64-unknown-elf-gcc -march=rv32i_zicsr -mabi=ilp32 -nostdlib -nostartfiles -static -Wl,-n -Wl,-Ttext=0x80000000 -Wl,--build-id=none -Wl,-Tdata=0x80001000 program.S -o program.elf
    .globl _start
_start:
    la      t0, handler
    csrrw   zero, mtvec, t0
    la      s0, data
    li      s1, 40
    li      a0, 0x12345678
outer:
    slli    a1, a0, 13
    xor     a0, a0, a1
    srli    a1, a0, 17
    xor     a0, a0, a1
    slli    a1, a0, 5
    xor     a0, a0, a1
    srai    a2, a0, 7
    sra     a3, a0, s1
    sub     a4, a2, a3
    slt     a5, a4, a0
    sltu    a6, a4, a0
    slti    a7, a4, -9
    sltiu   t3, a4, 77
    or      t4, a5, a6
    and     t5, a4, a2
    andi    t6, a0, 0x3c
    add     t1, s0, t6
    sw      a0, 0(t1)
    sh      a2, 0(s0)
    sb      a3, 3(s0)
    sb      a4, 1(t1)
    lw      t2, 0(t1)
    lh      t2, 2(t1)
    lhu     t2, 0(t1)
    lb      t2, 1(t1)
    lbu     t2, 3(s0)
    bltu    a4, a0, 1f
    addi    a0, a0, 3
1:  bge     a2, zero, 2f
    ori     a0, a0, 1
2:  jal     ra, leaf
    ecall
    addi    s1, s1, -1
    bnez    s1, outer
    li      t0, 0x100000
    li      t1, 0x5555
    sw      t1, 0(t0)
3:  j       3b

leaf:
    auipc   t0, 0
    xori    a0, a0, 0x155
    jalr    zero, 0(ra)

    .balign 4
handler:
    csrrw   t0, mepc, zero
    addi    t0, t0, 4
    csrrw   zero, mepc, t0
    csrrw   t2, mcause, zero
    mret

    .data
data:
    .fill   32, 4, 0x5a
