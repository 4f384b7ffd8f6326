// Goes through exception levels without an operating system: from EL1 to EL0, back by system calls, a data abort,
// an undefined instruction and an interrupt, and on again by ERET. Begins at EL1.
    .text
    .globl _start
_start:
    adr     x0, vectors
    msr     vbar_el1, x0
    adr     x0, user
    msr     elr_el1, x0
    mov     x0, #0                  // EL0, interrupts on
    msr     spsr_el1, x0
    eret

user:
    mov     x1, #3
1:  svc     #7                      // counts calls in x0
    subs    x1, x1, #1
    b.ne    1b
    adr     x2, data
    ldp     x3, x4, [x2]
    add     x3, x3, x4
    str     x3, [x2, #16]
    mov     x5, #0
    ldr     x6, [x5]                // nothing is there: stepped over by the handler
    udf     #0                      // likewise
    wfi                             // until an interrupt comes
    mov     x8, #93
    svc     #0                      // ends at EL1
    b       .

    .balign 2048
vectors:
    .space  0x400
    mrs     x10, esr_el1            // synchronous, from EL0
    lsr     x10, x10, #26
    cmp     x10, #0x15
    b.eq    call
    mrs     x10, elr_el1
    add     x10, x10, #4
    msr     elr_el1, x10
    eret
    .balign 128
    add     x9, x9, #1              // interrupt, from EL0
    eret
call:
    cmp     x8, #93
    b.eq    end
    add     x0, x0, #1
    eret
end:
    b       .

    .data
    .balign 16
data:
    .dword  40, 2, 0
