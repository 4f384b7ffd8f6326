// Privilege levels and traps, for the programs that test them.
//
// A test sets s7 to where it goes on, and does what must trap. The handlers put cause, value, pc and status
// into s8 to s11 and go on at s7, in machine mode. s6 says which level took the trap: 3 machine, 1
// supervisor (whose handler comes back through an ecall).

#define MPP 0x1800
#define MPIE 0x80
#define MIE 0x8
#define SPP 0x100
#define SPIE 0x20
#define SIE 0x2
#define MPRV 0x20000
#define SUM 0x40000
#define MXR 0x80000
#define TVM 0x100000
#define TW 0x200000
#define TSR 0x400000

#define U_LEVEL 0
#define S_LEVEL 1
#define M_LEVEL 3

#define CLINT 0x2000000
#define MTIMECMP (CLINT + 0x4000)
#define PLIC 0xc000000
#define UART 0x10000000
#define NOWHERE 0x0a000000          // no memory and no device

#if __riscv_xlen == 64
#define INTERRUPT 0x8000000000000000
#else
#define INTERRUPT 0x80000000
#endif

.macro trap_handlers
    .text
    .align 2
trap:
    csrr t6, mcause
    li t5, 9
    bne t6, t5, 1f
    li t5, 1
    beq s6, t5, 2f                  // the supervisor's handler comes back
1:  csrr s8, mcause
    csrr s9, mtval
    csrr s10, mepc
    csrr s11, mstatus
    li s6, 3
    bgez s8, 2f
    li t6, MPIE                     // an interrupt is still pending: do not enable it on return
    csrc mstatus, t6
2:  beqz s7, fail
    csrw mepc, s7
    li s7, 0
    li t6, MPP
    csrs mstatus, t6
    mret

    .align 2
supervisor_trap:
    csrr s8, scause
    csrr s9, stval
    csrr s10, sepc
    csrr s11, sstatus
    li s6, 1
    ecall
    j fail
.endm

// Where the test goes on after its trap.
.macro resume label
    li s6, 0
    la s7, \label
.endm

// Goes to a label in a lower level. Uses t5 and t6.
.macro enter level, label
    li t6, MPP
    csrc mstatus, t6
    li t6, \level << 11
    csrs mstatus, t6
    la t6, \label
    csrw mepc, t6
    mret
.endm

// One instruction must raise this exception in machine mode.
.macro raises cause, instruction:vararg
    resume 2f
1:  \instruction
    j fail
2:  expect s8, \cause
    la t6, 1b
    bne s10, t6, fail
.endm

// One instruction must raise this exception in this level, taken by machine mode.
.macro raises_in level, cause, instruction:vararg
    resume 2f
    enter \level, 1f
1:  \instruction
    j fail
2:  expect s6, 3
    expect s8, \cause
    la t6, 1b
    bne s10, t6, fail
    li t6, MPP                      // where it came from
    and t5, s11, t6
    li t6, \level << 11
    bne t5, t6, fail
.endm

// One instruction must complete in this level.
.macro completes_in level, instruction:vararg
    resume 2f
    enter \level, 1f
1:  \instruction
    ecall
    j fail
2:  expect s8, 8 + \level
.endm

// All of memory for the lower levels.
.macro open_memory
    li t0, -1
    csrw pmpaddr0, t0
    li t0, 0x1f
    csrw pmpcfg0, t0
.endm
