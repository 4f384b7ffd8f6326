// Sorts a table, with the accesses that a trace format has to tell apart: pairs, vectors, exclusives,
// post-indexed stores, and two system calls. No C library.
    .text
    .globl _start
_start:
    adr     x0, table
    mov     x1, #(table_end - table) / 8
    bl      sort
    adr     x0, table
    mov     x1, #(table_end - table) / 8
    bl      checksum
    adr     x2, total
1:  ldxr    x3, [x2]                // an atomic add
    add     x3, x3, x0
    stxr    w4, x3, [x2]
    cbnz    w4, 1b
    adr     x5, table               // copies 32 bytes by vectors
    adr     x6, copy
    ldp     q0, q1, [x5]
    stp     q0, q1, [x6]
    mov     x0, #1                  // write(1, "sorted\n", 7)
    adr     x1, message
    mov     x2, #7
    mov     x8, #64
    svc     #0
    mov     x0, #0                  // exit_group(0)
    mov     x8, #94
    svc     #0

// x0: table, x1: entries. Bubble sort, until a pass swaps nothing.
sort:
    stp     x29, x30, [sp, #-16]!
    mov     x29, sp
2:  mov     x2, x0
    sub     x3, x1, #1
    mov     w6, #0
3:  ldp     x4, x5, [x2]
    cmp     x4, x5
    b.ls    4f
    stp     x5, x4, [x2]
    mov     w6, #1
4:  add     x2, x2, #8
    subs    x3, x3, #1
    b.ne    3b
    tbnz    w6, #0, 2b
    ldp     x29, x30, [sp], #16
    ret

// x0: table, x1: entries. The sum of entry × place, by a call through a register.
checksum:
    str     x30, [sp, #-16]!
    mov     x9, x0
    mov     x10, #0
    mov     x11, #0
    adr     x12, step
5:  blr     x12
    cmp     x11, x1
    b.lo    5b
    mov     x0, x10
    ldr     x30, [sp], #16
    ret
step:
    ldr     x13, [x9], #8
    add     x11, x11, #1
    madd    x10, x13, x11, x10
    ret

message:
    .ascii  "sorted\n"

    .data
    .balign 16
table:
    .quad   9, 3, 7, 1, 8, 2, 6, 4
table_end:
copy:
    .space  32
total:
    .quad   0
