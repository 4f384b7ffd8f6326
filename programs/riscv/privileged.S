// Machine, supervisor and user level: control registers, every exception but page faults, delegation,
// interrupts and their priorities, physical memory protection.
#include "test.h"
#include "modes.h"

    program
    trap_handlers

.macro illegal_in level, instruction:vararg
    raises_in \level, 2, \instruction
.endm

main:
    open_memory
    li s7, 0
    la t0, supervisor_trap
    csrw stvec, t0

// What is fixed.
    test 1
    csrr a0, misa
    andi a1, a0, 1 << 8             // I
    beqz a1, fail
    srli a0, a0, __riscv_xlen - 2
    expect a0, __riscv_xlen / 32
    csrr a0, mvendorid
    csrr a0, marchid
    csrr a0, mimpid
    csrr a0, mhartid
    bnez a0, fail
    raises 2, csrw mvendorid, x0
    raises 2, csrw mhartid, x0
    raises 2, csrrs x0, cycle, a1
    csrrs x0, cycle, x0             // reads only
    csrrsi x0, cycle, 0
    raises 2, csrrwi x0, time, 0
    raises 2, csrr x0, 0x5c0        // no such register

// What is free, and what is not.
    test 2
    li a0, -1
    csrw mscratch, a0
    csrr a1, mscratch
    bne a0, a1, fail
    csrrw a1, mscratch, x0
    bne a0, a1, fail
    csrr a1, mscratch
    bnez a1, fail
    csrrsi a1, mscratch, 21
    bnez a1, fail
    csrrci a1, mscratch, 4
    expect a1, 21
    csrrci a1, mscratch, 0
    expect a1, 17
    li a2, 1
    csrrc a1, mscratch, a2
    expect a1, 17
    csrrs a1, mscratch, a2
    expect a1, 16
    csrr a1, mscratch
    expect a1, 17
    test 3
#ifdef EXTRA                        // QEMU 7.2 keeps the low bit
    csrw mepc, a0
    csrr a1, mepc
    expect a1, -2                   // with compressed instructions
    csrw sepc, a0
    csrr a1, sepc
    expect a1, -2
#endif
    csrw sscratch, a0
    csrr a1, sscratch
    expect a1, -1
    csrw mcause, x0
    csrr a1, mcause
    bnez a1, fail
    test 4                          // delegation: not of machine calls, not of machine interrupts
    csrw medeleg, a0
#ifdef EXTRA                        // QEMU 7.2 lets them be delegated
    csrr a1, medeleg
    li a2, 1 << 11
    and a1, a1, a2
    bnez a1, fail
#endif
    csrr a1, medeleg
    li a2, 0xb109                   // misaligned fetch, breakpoint, user call, page faults
    and a1, a1, a2
    bne a1, a2, fail
    csrw medeleg, x0
    csrw mideleg, a0
    csrr a1, mideleg
    andi a1, a1, 0x222
    expect a1, 0x222
    csrw mideleg, x0
    test 5                          // sstatus is a part of mstatus
    li a0, SUM | MXR | SPP | SPIE | SIE
    csrw sstatus, x0
    csrs sstatus, a0
    csrr a1, mstatus
    and a1, a1, a0
    bne a1, a0, fail
    csrc mstatus, a0
    csrr a1, sstatus
    and a1, a1, a0
    bnez a1, fail
    li a0, MPP
    csrs mstatus, a0
    csrr a1, sstatus
    and a1, a1, a0
    bnez a1, fail
    test 6                          // counters can be written; the lower levels see them
    csrw minstret, x0
    csrr a0, minstret
    li a1, 100000000                // emulators may count host cycles
    bgtu a0, a1, fail
    csrr a0, instret
    bgtu a0, a1, fail
#if __riscv_xlen == 32
    csrw minstreth, x0
    csrr a0, minstreth
    bnez a0, fail
    csrr a0, mcycleh
    csrr a0, cycleh
    csrr a0, timeh
    csrr a0, mstatush
#endif
    csrw mhpmcounter3, x0
    csrw mhpmevent3, x0
    csrr a0, hpmcounter3

// Exceptions in machine mode.
    test 10
    raises 2, .2byte 0, 0
    raises 2, .4byte 0xffffffff
    raises 2, .4byte 0x00000057 | 1 << 31 | 7 << 12 | 1 << 25   // reserved
    test 11
    .option push
    .option norvc
    raises 3, ebreak
    .option pop
    .option push
    .option rvc
    raises 3, c.ebreak
    .option pop
    test 12
    raises 11, ecall
    test 13
    li a0, NOWHERE
    raises 5, lw a1, 0(a0)
    bne s9, a0, fail
    raises 5, lbu a1, 7(a0)
    addi a0, a0, 7
    bne s9, a0, fail
    li a0, NOWHERE
    raises 7, sw a1, 0(a0)
    bne s9, a0, fail
#ifdef EXTRA                        // QEMU 7.2 calls it a load
    raises 7, amoadd.w a1, a1, (a0)
#endif
    test 14
    resume 1f
    li a0, NOWHERE
    jr a0
1:  expect s8, 1
    bne s9, a0, fail
    bne s10, a0, fail
    test 15                         // an instruction that faults does nothing
    la a0, room
    addi a0, a0, 2
    li a1, 55
    raises 4, lr.w a1, (a0)
    bne s9, a0, fail
    expect a1, 55
#ifdef EXTRA                        // QEMU 7.2 calls it a load, and looks at the reservation first
    raises 6, amoswap.w a1, a1, (a0)
    bne s9, a0, fail
    raises 6, sc.w a1, a1, (a0)
    expect a1, 55
#endif

// Trap and return: the stack of enables and levels.
    test 20
    li a0, MIE | MPIE
    csrc mstatus, a0
    li a0, MPIE
    csrs mstatus, a0
    raises 11, ecall
    andi a0, s11, MIE | MPIE        // MIE was 0: MPIE is 0, MIE is 0
    bnez a0, fail
    li a0, MPP
    and a1, s11, a0
    bne a1, a0, fail
    csrr a1, mstatus                // mret gave MIE what MPIE was, and set MPIE
    andi a1, a1, MIE | MPIE
    expect a1, MPIE
    and a1, s11, a0
    csrr a1, mstatus                // and left user level in MPP
    and a1, a1, a0
    bnez a1, fail

// Calls from the lower levels.
    test 21
    raises_in U_LEVEL, 8, ecall
    raises_in S_LEVEL, 9, ecall
    .option push
    .option norvc
    raises_in U_LEVEL, 3, ebreak
    .option pop

// What the lower levels may not do.
    test 22
    illegal_in U_LEVEL, csrr a0, mstatus
    illegal_in U_LEVEL, csrr a0, sstatus
    illegal_in U_LEVEL, csrw sscratch, x0
    illegal_in S_LEVEL, csrr a0, mscratch
    illegal_in S_LEVEL, csrr a0, pmpcfg0
    illegal_in U_LEVEL, mret
    illegal_in S_LEVEL, mret
    illegal_in U_LEVEL, sret
    illegal_in U_LEVEL, sfence.vma
    completes_in S_LEVEL, csrr a0, sscratch
    completes_in S_LEVEL, sfence.vma

// Counters, as far as they are let through.
    test 23
    csrw mcounteren, x0
    csrw scounteren, x0
    illegal_in S_LEVEL, csrr a0, cycle
    li a0, 7
    csrw mcounteren, a0
    completes_in S_LEVEL, csrr a0, cycle
    illegal_in U_LEVEL, csrr a0, instret
    li a0, 5
    csrw scounteren, a0
    completes_in U_LEVEL, csrr a0, instret
    completes_in U_LEVEL, csrr a0, cycle
    illegal_in U_LEVEL, csrr a0, time

// Traps that machine mode asks for.
    test 24
    li a0, TVM
    csrs mstatus, a0
    illegal_in S_LEVEL, sfence.vma
    illegal_in S_LEVEL, csrr a0, satp
    li a0, TVM
    csrc mstatus, a0
    completes_in S_LEVEL, csrr a0, satp
    li a0, TSR
    csrs mstatus, a0
    illegal_in S_LEVEL, sret
    li a0, TSR
    csrc mstatus, a0
    li a0, TW
    csrs mstatus, a0
    illegal_in S_LEVEL, wfi
    li a0, TW
    csrc mstatus, a0

// Floating point switched off.
    test 25
    li a0, 0x6000
    csrc mstatus, a0
    raises 2, fmv.w.x fa0, x0
    raises 2, flw fa0, 0(sp)
    raises 2, csrr a0, fcsr
    li a0, 0x2000
    csrs mstatus, a0
    fmv.w.x fa0, x0
    li a0, 5                        // a reserved rounding mode
    csrw frm, a0
    raises 2, fadd.s fa0, fa0, fa0
    raises 2, .4byte 0x0000d053     // fadd.s with mode 5
    fsgnj.s fa0, fa0, fa0           // has none
    csrw frm, x0

// From supervisor to user and back.
    test 30
    li a0, SPP | SPIE | SIE
    csrc mstatus, a0
    li a0, SPIE
    csrs mstatus, a0
    la a0, 3f
    csrw sepc, a0
    resume 4f
    enter S_LEVEL, 2f
2:  sret
    j fail
3:  ecall
4:  expect s8, 8
    andi a0, s11, SPP | SPIE | SIE
    expect a0, SPIE | SIE

// Delegated exceptions.
    test 31
    li a0, 1 << 8 | 1 << 2 | 1 << 3 | 1 << 5
    csrw medeleg, a0
    resume 2f
    enter U_LEVEL, 1f
1:  ecall
2:  expect s6, 1
    expect s8, 8
    la a0, 1b
    bne s10, a0, fail
    andi a0, s11, SPP
    bnez a0, fail
    resume 2f
    enter S_LEVEL, 1f
1:  .2byte 0, 0
2:  expect s6, 1
    expect s8, 2
    andi a0, s11, SPP
    beqz a0, fail
    li a2, NOWHERE
    resume 2f
    enter U_LEVEL, 1f
1:  lw a0, 0(a2)
2:  expect s6, 1
    expect s8, 5
    bne s9, a2, fail
    raises 2, .2byte 0, 0           // never away from machine mode
    expect s6, 3
    raises_in S_LEVEL, 9, ecall     // not delegated
    csrw medeleg, x0

// Interrupts: software, through the interruptor.
    test 40
    li a0, MIE
    csrc mstatus, a0
    li s0, CLINT
    csrw mie, x0
    li a0, 8
    csrw mie, a0
    li a1, 1
    sw a1, 0(s0)
1:  csrr a1, mip                    // pending, not taken
    andi a1, a1, 8
    beqz a1, 1b
    wfi                             // wakes without being taken
    resume 2f
    csrsi mstatus, MIE
    nop
    nop
    j fail
2:  li a0, INTERRUPT | 3
    bne s8, a0, fail
    andi a0, s11, MPIE
    beqz a0, fail
    csrci mstatus, MIE
    test 41                         // taken in a lower level although the enable is clear
    resume 2f
    enter U_LEVEL, 1f
1:  j 1b
2:  li a0, INTERRUPT | 3
    bne s8, a0, fail
    test 42                         // the line is the device's, not ours
    csrw mip, x0
    csrr a1, mip
    andi a1, a1, 8
    beqz a1, fail
    sw x0, 0(s0)
1:  csrr a1, mip
    andi a1, a1, 8
    bnez a1, 1b

// The timer.
    test 43
    li s1, MTIMECMP
    li a0, 0x80
    csrw mie, a0
    sw x0, 0(s1)
    sw x0, 4(s1)
1:  csrr a1, mip
    andi a1, a1, 0x80
    beqz a1, 1b
    resume 2f
    csrsi mstatus, MIE
    nop
    nop
    j fail
2:  li a0, INTERRUPT | 7
    bne s8, a0, fail
    csrci mstatus, MIE
    test 44                         // software goes before the timer
    li a0, 0x88
    csrw mie, a0
    li a1, 1
    sw a1, 0(s0)
1:  csrr a1, mip
    andi a1, a1, 8
    beqz a1, 1b
    resume 2f
    csrsi mstatus, MIE
    nop
    nop
    j fail
2:  li a0, INTERRUPT | 3
    bne s8, a0, fail
    csrci mstatus, MIE
    test 45                         // vectored
    la a0, vectors
    ori a0, a0, 1
    csrw mtvec, a0
    csrr a1, mtvec
    bne a0, a1, fail
    li s5, 0
    resume 2f
    csrsi mstatus, MIE
    nop
    nop
    j fail
2:  expect s5, 3
    csrci mstatus, MIE
    raises 11, ecall                // exceptions go to the base
    expect s5, 0
    la a0, trap
    csrw mtvec, a0
    sw x0, 0(s0)
    li a1, -1
    sw a1, 4(s1)
    sw a1, 0(s1)
1:  csrr a1, mip
    andi a1, a1, 0x88
    bnez a1, 1b

// Supervisor interrupts, not delegated and delegated.
.macro supervisor_interrupt bits, number
    li a0, \bits
    csrs mip, a0
    csrr a1, mip
    and a1, a1, a0
    bne a1, a0, fail
    resume 2f
    csrsi mstatus, MIE
    nop
    nop
    j fail
2:  li a0, INTERRUPT | \number
    bne s8, a0, fail
    csrci mstatus, MIE
    li a0, 0x222
    csrc mip, a0
.endm
    test 46
    li a0, 0x222
    csrw mie, a0
    supervisor_interrupt 0x200, 9
    supervisor_interrupt 0x2, 1
    supervisor_interrupt 0x20, 5
    supervisor_interrupt 0x22, 1    // software before timer
#ifdef EXTRA                        // QEMU 7.2 takes the lowest number
    supervisor_interrupt 0x222, 9   // external before both
    supervisor_interrupt 0x220, 9
#endif
    test 47                         // delegated: not in machine mode, but in the lower levels
    li a0, 0x222
    csrw mideleg, a0
    li a0, 0x200
    csrs mip, a0
    csrsi mstatus, MIE
    nop
    nop
    csrci mstatus, MIE
    csrr a1, sip                    // now visible
    and a1, a1, a0
    bne a1, a0, fail
    resume 2f
    li a0, SIE
    csrc mstatus, a0
    enter U_LEVEL, 1f
1:  j 1b
2:  expect s6, 1
    li a0, INTERRUPT | 9
    bne s8, a0, fail
    test 48                         // in supervisor mode only where enabled there
    li a0, SIE
    csrc mstatus, a0
    completes_in S_LEVEL, nop
    resume 2f
    enter S_LEVEL, 1f
1:  csrsi sstatus, SIE
    nop
    nop
    ecall
2:  expect s6, 1
    li a0, INTERRUPT | 9
    bne s8, a0, fail
    li a0, 0x222
    csrc mip, a0
    csrw mideleg, x0
    csrw mie, x0

// External interrupts: the serial port has room to send, and says so through the interrupt controller.
    test 49
    csrci mstatus, MIE
    li s0, PLIC
    li s1, UART
    li s2, PLIC + 0x200000          // threshold and claim
    li a0, 1
    sw a0, 4 * 10(s0)               // priority of input 10
    li a0, 1 << 10
    li a1, PLIC + 0x2000
    sw a0, 0(a1)                    // enabled for machine mode
    sw x0, 0(s2)
    li a0, 2
    sb a0, 1(s1)                    // room to send
    li a0, 0x888
    csrw mie, a0
1:  csrr a1, mip
    li a2, 0x800
    and a1, a1, a2
    beqz a1, 1b
    resume 2f
    csrsi mstatus, MIE
    nop
    nop
    j fail
2:  li a0, INTERRUPT | 11
    bne s8, a0, fail
    csrci mstatus, MIE
    lw a0, 4(s2)                    // claim
    expect a0, 10
    csrr a1, mip                    // taken: no longer pending
    li a2, 0x800
    and a1, a1, a2
    bnez a1, fail
    lbu a1, 2(s1)
    sb x0, 1(s1)
    sw a0, 4(s2)                    // complete
    lw a0, 4(s2)
    bnez a0, fail
    csrw mie, x0

// Loads and stores as another level sees them: MPRV.
    test 50
    la s2, secret
    srli a0, s2, 2                  // a page that no lower level may touch: 4 KiB, naturally aligned
    ori a0, a0, 0x1ff
    csrw pmpaddr0, a0
    li a0, -1
    csrw pmpaddr1, a0
    li a0, 0x1f18
    csrw pmpcfg0, a0
    sfence.vma
    lw a0, 0(s2)                    // machine mode may
    expect a0, 1234
    li a0, MPP
    csrc mstatus, a0
    li a0, MPRV
    csrs mstatus, a0
    raises 5, lw a0, 0(s2)
    bne s9, s2, fail
    li a0, MPP
    csrc mstatus, a0
    raises 7, sw a0, 0(s2)
    li a0, MPRV
    csrc mstatus, a0
#ifdef EXTRA                        // QEMU 7.2 leaves it
    test 51                         // a return to a lower level clears it
    li a0, MPRV
    csrs mstatus, a0
    raises_in U_LEVEL, 8, ecall
    li a0, MPRV
    and a1, s11, a0
    bnez a1, fail
#endif

// Physical memory protection.
    test 52
    raises_in U_LEVEL, 5, lw a0, 0(s2)
    raises_in S_LEVEL, 7, sw a0, 0(s2)
#ifdef EXTRA                        // QEMU 7.2 calls it a load
    raises_in S_LEVEL, 7, amoadd.w a0, a0, (s2)
#endif
    test 53                         // execute
    resume 2f
    li t6, MPP
    csrc mstatus, t6
    csrw mepc, s2
    mret
2:  expect s8, 1
    bne s9, s2, fail
    test 54                         // read only
    li a0, 0x1f19
    csrw pmpcfg0, a0
    sfence.vma
    completes_in U_LEVEL, lw a0, 0(s2)
    expect a0, 1234
    raises_in U_LEVEL, 7, sw a0, 0(s2)
    test 55                         // top of range: the page, from its end below
    li a0, 0x1f0800                 // entry 0 off, entry 1 none of [pmpaddr0, pmpaddr1), entry 2 all
    csrw pmpcfg0, x0
    srli a1, s2, 2
    csrw pmpaddr0, a1
    addi a1, a1, 0x400
    csrw pmpaddr1, a1
    li a1, -1
    csrw pmpaddr2, a1
    csrw pmpcfg0, a0
    sfence.vma
    raises_in U_LEVEL, 5, lw a0, 0(s2)
    li a3, 4096
    add a3, s2, a3
    completes_in U_LEVEL, lw a0, 0(a3)
    addi a3, s2, -4
    completes_in U_LEVEL, lw a0, 0(a3)
    test 56                         // four bytes
    csrw pmpcfg0, x0
    srli a1, s2, 2
    addi a1, a1, 1
    csrw pmpaddr0, a1
    li a1, -1
    csrw pmpaddr1, a1
    li a0, 0x1f10
    csrw pmpcfg0, a0
    sfence.vma
    completes_in U_LEVEL, lw a0, 0(s2)
    raises_in U_LEVEL, 5, lw a0, 4(s2)
    completes_in U_LEVEL, lw a0, 8(s2)
    test 57                         // nothing matches: the lower levels may nothing, machine mode all
    csrw pmpcfg0, x0
    csrw pmpaddr0, x0
    li a0, 0x18
    csrw pmpcfg0, a0
    sfence.vma
    resume 2f
    enter U_LEVEL, 1f
1:  j fail
2:  expect s8, 1
    test 58                         // locked: machine mode too, and for good
    csrw pmpcfg0, x0
    srli a0, s2, 2
    ori a0, a0, 0x1ff
    csrw pmpaddr0, a0
    li a0, 0x98
    csrw pmpcfg0, a0
    sfence.vma
    raises 5, lw a0, 0(s2)
    raises 7, sw a0, 0(s2)
    csrw pmpcfg0, x0
    csrr a0, pmpcfg0
    andi a0, a0, 0xff
    expect a0, 0x98
    csrr a1, pmpaddr0
    csrw pmpaddr0, x0
    csrr a0, pmpaddr0
    bne a0, a1, fail
    j pass

// The vectors tell which of them was used.
    .align 8
vectors:
    .option push
    .option norvc
    j 1f
    j 2f
    j 2f
    j 3f
    .rept 12
    j 2f
    .endr
    .option pop
1:  li s5, 0
    j trap
2:  li s5, -1
    j trap
3:  li s5, 3
    j trap

    .data
    .align 12
    .word 1, 2, 3, 4
    .align 12
secret:
    .word 1234
    .align 12
room:
    .space 4096
