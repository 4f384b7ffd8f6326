// Counts down from three, calling a function each time round; then a system call.
    .text
    .global _start
_start:
    mov     w0, #3
again:
    bl      work
    subs    w0, w0, #1
    b.ne    again
    svc     #7
stop:
    b       stop
work:
    nop
    ret
