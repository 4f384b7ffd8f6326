/* A program for tests of `record --qemu`: threads, signals, faults, code made at run time, fork and exec. It needs no
 * library; the first argument says what it does. Its exit code is 0 where all went as expected. */
typedef unsigned long word;

#if defined __aarch64__
#define CALL(n, a, b, c, d, e, f) \
    register word r asm("x0") = (a); register word r1 asm("x1") = (b); register word r2 asm("x2") = (c); \
    register word r3 asm("x3") = (d); register word r4 asm("x4") = (e); register word r5 asm("x5") = (f); \
    register word r8 asm("x8") = (n); \
    asm volatile("svc 0" : "+r"(r) : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r8) : "memory")
#elif defined __riscv
#define CALL(n, a, b, c, d, e, f) \
    register word r asm("a0") = (a); register word r1 asm("a1") = (b); register word r2 asm("a2") = (c); \
    register word r3 asm("a3") = (d); register word r4 asm("a4") = (e); register word r5 asm("a5") = (f); \
    register word r8 asm("a7") = (n); \
    asm volatile("ecall" : "+r"(r) : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r8) : "memory")
#else
#define CALL(n, a, b, c, d, e, f) \
    register word r asm("r0") = (a); register word r1 asm("r1") = (b); register word r2 asm("r2") = (c); \
    register word r3 asm("r3") = (d); register word r4 asm("r4") = (e); register word r5 asm("r5") = (f); \
    register word r8 asm("r7") = (n); \
    asm volatile("svc 0" : "+r"(r) : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r8) : "memory")
#endif

#if defined __arm__
enum { EXIT = 1, WRITE = 4, EXECVE = 11, GETPID = 20, WAITID = 280, CLONE = 120, YIELD = 158, SIGACTION = 174, MMAP = 192,
       EXIT_GROUP = 248, TGKILL = 268, SETITIMER = 104 };
#else
enum { EXIT = 93, WRITE = 64, EXECVE = 221, GETPID = 172, WAITID = 95, CLONE = 220, YIELD = 124, SIGACTION = 134, MMAP = 222,
       EXIT_GROUP = 94, TGKILL = 131, SETITIMER = 103 };
#endif

static word call(word n, word a, word b, word c, word d, word e, word f) {
    CALL(n, a, b, c, d, e, f);
    return r;
}

static void say(const char *text) {
    word length = 0;
    while (text[length]) length++;
    call(WRITE, 1, (word)text, length, 0, 0, 0);
}

static int same(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

/* Four threads that add to one number under a lock. */

#define FLAGS "0x50f00" /* VM, FS, FILES, SIGHAND, THREAD, SYSVSEM */
void spawn(void *stack, void (*function)(word), word argument);
asm(".text\n.globl spawn\n.type spawn, %function\nspawn:\n"
#if defined __aarch64__
    "stp x1, x2, [x0, #-16]!\nmov x1, x0\nmovz x0, #0x0f00\nmovk x0, #5, lsl #16\nmov x2, #0\nmov x3, #0\nmov x4, #0\nmov x8, #220\nsvc 0\n"
    "cbz x0, 1f\nret\n1: ldp x1, x0, [sp], #16\nblr x1\nmov x8, #93\nsvc 0\n"
#elif defined __riscv
#if __riscv_xlen == 64
    "addi a0, a0, -16\nsd a1, 0(a0)\nsd a2, 8(a0)\n"
#else
    "addi a0, a0, -16\nsw a1, 0(a0)\nsw a2, 8(a0)\n"
#endif
    "mv a1, a0\nli a0, " FLAGS "\nli a2, 0\nli a3, 0\nli a4, 0\nli a7, 220\necall\nbeqz a0, 1f\nret\n1:\n"
#if __riscv_xlen == 64
    "ld a1, 0(sp)\nld a0, 8(sp)\n"
#else
    "lw a1, 0(sp)\nlw a0, 8(sp)\n"
#endif
    "addi sp, sp, 16\njalr a1\nli a7, 93\necall\n"
#else
    "push {r4, r7, lr}\nstmdb r0!, {r1, r2}\nmov r1, r0\nldr r0, =" FLAGS "\nmov r2, #0\nmov r3, #0\nmov r4, #0\nmov r7, #120\nsvc 0\n"
    "cmp r0, #0\nbeq 1f\npop {r4, r7, pc}\n1: pop {r1, r2}\nmov r0, r2\nblx r1\nmov r7, #1\nsvc 0\n.ltorg\n"
#endif
);

static int lock, done;
static volatile word total;
static char stacks[4][8192] __attribute__((aligned(16)));

static void work(word times) {
    for (word n = 0; n < times; n++) {
        while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) call(YIELD, 0, 0, 0, 0, 0, 0);
        total++;
        __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    }
    __atomic_add_fetch(&done, 1, __ATOMIC_RELEASE);
}

static int threads(void) {
    for (word n = 0; n < 4; n++) spawn(stacks[n] + sizeof stacks[n], work, 1000 * (n + 1));
    while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < 4) call(YIELD, 0, 0, 0, 0, 0, 0);
    return total != 10000;
}

/* A signal to ourselves, one from a timer, and a fault that the handler mends. */

static volatile word page;
static volatile int signals[32];

static void handler(int signal) {
    signals[signal & 31]++;
    if (signal == 11) call(MMAP, page, 4096, 3, 0x32, -1ul, 0);
}

static void handle(int signal) {
    word action[5] = {(word)handler, 0, 0, 0, 0};
    call(SIGACTION, signal, (word)action, 0, 8, 0, 0);
}

static int signalled(void) {
    handle(10);
    word self = call(GETPID, 0, 0, 0, 0, 0, 0);
    for (int n = 0; n < 3; n++) call(TGKILL, self, self, 10, 0, 0, 0);
    handle(14);
    word timer[4] = {0, 0, 0, 5000};
    call(SETITIMER, 0, (word)timer, 0, 0, 0, 0);
    while (!signals[14]);
    return signals[10] != 3 || signals[14] != 1;
}

static int faults(void) {
    handle(11);
    page = 0x20000000;
    for (int n = 0; n < 5; n++, page += 8192) {
        if (n & 1) *(volatile word *)page = n;
        else if (*(volatile word *)page != 0) return 1;
    }
    return signals[11] != 5;
}

/* Code made at run time, and changed; a store into the page of the code that stores. */

static void barrier(word at) {
#if defined __aarch64__
    asm volatile("dc cvau, %0\ndsb ish\nic ivau, %0\ndsb ish\nisb" ::"r"(at) : "memory");
#elif defined __riscv
    (void)at;
    asm volatile("fence.i" ::: "memory");
#else
    call(0xf0002, at, at + 64, 0, 0, 0, 0);
#endif
}

static int jit(void) {
#if defined __aarch64__
    unsigned code[] = {0x91000400, 0xf9008020, 0xd65f03c0}; /* add x0, x0, #1; str x0, [x1, #256]; ret */
    unsigned step = 1u << 10;
#elif defined __riscv
    unsigned code[] = {0x00150513, 0x10a5a023, 0x00008067}; /* addi a0, a0, 1; sw a0, 256(a1); ret */
    unsigned step = 1u << 20;
#else
    unsigned code[] = {0xe2800001, 0xe5810100, 0xe12fff1e}; /* add r0, r0, #1; str r0, [r1, #256]; bx lr */
    unsigned step = 1;
#endif
    word at = call(MMAP, 0, 4096, 7, 0x22, -1ul, 0);
    word sum = 0;
    for (int n = 0; n < 8; n++) {
        for (int k = 0; k < 3; k++) ((volatile unsigned *)at)[k] = code[k] + (k ? 0 : n * step);
        barrier(at);
        for (int k = 0; k < 4; k++) sum = ((word(*)(word, word))at)(sum, at);
    }
    return sum != 4 * 36;
}

/* A child that does some work, and calls of exec that fail. */

static int forked(char **arguments) {
    word pid = call(CLONE, 17, 0, 0, 0, 0, 0);
    if (pid == 0) {
        for (total = 0; total < 500;) total++;
        call(EXIT_GROUP, total == 500 ? 7 : 8, 0, 0, 0, 0, 0);
    }
    static int info[32];
    call(WAITID, 1, pid, (word)info, 4, 0, 0);
    int status = info[sizeof(word) == 8 ? 6 : 5];
    word none[1] = {0};
    long absent = call(EXECVE, (word) "/nowhere/at-all", (word)arguments, (word)none, 0, 0, 0);
    say(absent == -2 ? "exec failed as expected\n" : "exec failed otherwise\n");
    return status != 7 || absent != -2;
}

#if defined __arm__
__attribute__((target("thumb"), noinline)) static word narrow(word n) {
    word sum = 0;
    while (n) sum += n-- * 3;
    return sum;
}
#endif

static int plain(void) {
    volatile word sum = 0;
    for (word n = 0; n < 1000; n++) sum += n * n;
#if defined __arm__
    if (narrow(10) != 165) return 1;
#endif
    say("plain\n");
    return sum != 332833500;
}

void begin(word *stack) {
    char **arguments = (char **)(stack + 1);
    const char *what = stack[0] > 1 ? arguments[1] : "plain";
    int result = 99;
    if (same(what, "plain")) result = plain();
    if (same(what, "threads")) result = threads();
    if (same(what, "signals")) result = signalled();
    if (same(what, "faults")) result = faults();
    if (same(what, "jit")) result = jit();
    if (same(what, "fork")) result = forked(arguments);
    if (same(what, "exec")) result = call(EXECVE, (word)arguments[0], (word)arguments, 0, 0, 0, 0) != -8ul;
    if (same(what, "crash")) *(volatile word *)16 = 1;
    if (same(what, "forever"))
        for (volatile word n = 0;; n++);
    call(EXIT_GROUP, result, 0, 0, 0, 0, 0);
}

asm(".text\n.globl _start\n.type _start, %function\n_start:\n"
#if defined __aarch64__
    "mov x0, sp\nbl begin\n"
#elif defined __riscv
    "mv a0, sp\njal begin\n"
#else
    "mov r0, sp\nbl begin\n"
#endif
);
