@ Runs both halves and ends. Nothing here needs a C library.
    .syntax unified
    .text
    .arm
    .global _start
    .type _start, %function
_start:
    mov     r0, #12
    bl      a32_fib
    mov     r4, r0
    mov     r0, #12
    blx     t32_fib
    cmp     r0, r4
    bne     fail
    mov     r0, #1071
    ldr     r1, =462
    blx     t32_gcd
    cmp     r0, #21
    bne     fail
    ldr     r0, =list
    mov     r1, #1
    bl      a32_walk
    mov     r4, r0
    ldr     r0, =list
    mov     r1, #1
    blx     t32_walk
    cmp     r0, r4
    moveq   r0, #0
    beq     done
fail:
    mov     r0, #1
done:
    mov     r7, #1
    svc     #0
1:  b       1b
    .ltorg

    .global __aeabi_idiv
    .type __aeabi_idiv, %function
__aeabi_idiv:
    sdiv    r0, r0, r1
    bx      lr
    .global __aeabi_idivmod
    .type __aeabi_idivmod, %function
__aeabi_idivmod:
    sdiv    r2, r0, r1
    mls     r1, r2, r1, r0
    mov     r0, r2
    mov     pc, lr

    .thumb
    .global forms
    .type forms, %function
forms:                              @ never run: forms that the compiler does not write
    ite     ne
    wfine
    bxeq    lr
    cbz     r0, 2f
    tbb     [pc, r1]
    .byte   (2f - .) / 2, (3f - .) / 2
2:  it      ne
    popne   {r4, pc}
    tbh     [pc, r1, lsl #1]
3:  isb
    ldr.w   pc, [r3, r2, lsl #2]
    add     pc, r3
    mov     pc, lr
    it      cs
    bcs.w   2b
    bxj     r1
    subs    pc, lr, #4
    udf     #1

    .data
    .align 2
list:
    .word   1f, a32_add, 5
1:  .word   2f, t32_sub, 900
2:  .word   3f, a32_sub, 40
3:  .word   0, t32_add, 20000
