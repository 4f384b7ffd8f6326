/* A Linux program without a C library, self-checking: files, memory, time, signals. Exit code 0 is success, else the
 * number of the failed check. Runs on RV32 and RV64. */
typedef unsigned long word;
typedef unsigned char byte;

static long call(long n, long a, long b, long c, long d, long e, long f) {
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    register long a4 __asm__("a4") = e;
    register long a5 __asm__("a5") = f;
    register long a7 __asm__("a7") = n;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7) : "memory");
    return a0;
}
#define CALL0(n) call(n, 0, 0, 0, 0, 0, 0)
#define CALL1(n, a) call(n, (long)(a), 0, 0, 0, 0, 0)
#define CALL2(n, a, b) call(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define CALL3(n, a, b, c) call(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL4(n, a, b, c, d) call(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

enum {
    DUP = 23, FCNTL = 25, OPENAT = 56, CLOSE = 57, LSEEK = 62, READ = 63, WRITE = 64, WRITEV = 66, EXIT = 93, UNAME = 160,
    SIGALTSTACK = 132, SIGACTION = 134, SIGPROCMASK = 135, SIGPENDING = 136, TGKILL = 131, GETPID = 172, GETTID = 178,
    BRK = 214, MUNMAP = 215, MMAP = 222, MPROTECT = 226, GETRANDOM = 278,
};

static int test;
static void check(int good) {
    test++;
    if (!good) {
        CALL1(EXIT, test);
        for (;;) {}
    }
}

static word length(const char *text) {
    word n = 0;
    while (text[n]) n++;
    return n;
}
static void print(const char *text) { CALL3(WRITE, 1, text, length(text)); }

void *memset(void *to, int value, word n) {
    for (word i = 0; i < n; i++) ((byte *)to)[i] = value;
    return to;
}
void *memcpy(void *to, const void *from, word n) {
    for (word i = 0; i < n; i++) ((byte *)to)[i] = ((const byte *)from)[i];
    return to;
}

struct action { void (*handler)(int, int *, void *); word flags; unsigned long long mask; };

static volatile int signals, last_signal;
static volatile word fault;
static byte *page;

/* On a fault: remember where, and make the page accessible so that the access is done again. */
static void on_fault(int signal, int *info, void *context) {
    (void)context;
    last_signal = signal;
    signals++;
    fault = *(word *)((byte *)info + (sizeof(word) == 8 ? 16 : 12));
    CALL3(MPROTECT, page, 4096, 3);
}

/* On an illegal instruction or breakpoint: step over it in the saved pc. */
static void on_trap(int signal, int *info, void *context) {
    (void)info;
    last_signal = signal;
    signals++;
    word offset = (5 * sizeof(word) + 128 + 15) & ~15ul;
    *(word *)((byte *)context + offset) += 4;
}

static void on_signal(int signal, int *info, void *context) {
    (void)info, (void)context;
    last_signal = signal;
    signals++;
}

static long handle(int signal, void (*handler)(int, int *, void *), word flags) {
    struct action action = {handler, flags, 0};
    return CALL4(SIGACTION, signal, &action, 0, 8);
}

static int run(word *stack) {
    word argc = stack[0];
    char **argv = (char **)(stack + 1);
    check(argc >= 1 && argv[argc] == 0);
    /* The auxiliary vector is behind the environment: page size, and random bytes. */
    word *at = stack + argc + 2;
    while (*at) at++;
    word page_size = 0, random = 0;
    for (at++; at[0]; at += 2) {
        if (at[0] == 6) page_size = at[1];
        if (at[0] == 25) random = at[1];
    }
    check(page_size == 4096 && random != 0);

    /* Heap. */
    word heap = CALL1(BRK, 0);
    check((word)CALL1(BRK, heap + 8192) == heap + 8192);
    memset((void *)heap, 0x5a, 8192);
    check(((byte *)heap)[8191] == 0x5a);
    check((word)CALL1(BRK, heap) == heap);

    /* Mappings, permissions, faults. */
    long mapped = call(MMAP, 0, 8192, 3, 0x22, -1, 0);
    check(mapped > 0 || mapped < -4096);
    page = (byte *)mapped;
    check(page[0] == 0 && page[8191] == 0);
    page[0] = 1;
    check(handle(11, on_fault, 4) == 0);
    check(CALL3(MPROTECT, page, 4096, 1) == 0);
    check(page[0] == 1);
    *(volatile byte *)(page + 5) = 7;
    check(signals == 1 && last_signal == 11 && fault == (word)page + 5 && page[5] == 7);
    check(CALL3(MPROTECT, page, 4096, 0) == 0);
    check(*(volatile byte *)(page + 5) == 7 && signals == 2);
    check(CALL2(MUNMAP, page + 4096, 4096) == 0);

    /* Traps as signals. */
    check(handle(4, on_trap, 4) == 0 && handle(5, on_trap, 4) == 0);
    __asm__ volatile(".word 0xffffffff");
    check(signals == 3 && last_signal == 4);
    __asm__ volatile(".option push\n.option norvc\nebreak\n.option pop");
    check(signals == 4 && last_signal == 5);

    /* Signals to ourselves: blocked, pending, delivered, on a stack of their own. */
    unsigned long long mask = 1ull << 9, pending = 0;
    check(handle(10, on_signal, 4) == 0);
    check(CALL4(SIGPROCMASK, 0, &mask, 0, 8) == 0);
    long pid = CALL0(GETPID);
    check(CALL3(TGKILL, pid, CALL0(GETTID), 10) == 0);
    check(signals == 4);
    check(CALL2(SIGPENDING, &pending, 8) == 0 && pending == mask);
    check(CALL4(SIGPROCMASK, 1, &mask, 0, 8) == 0);
    check(signals == 5 && last_signal == 10);
    static byte alternate[16384];
    struct { void *sp; int flags; word size; } stack_t = {alternate, 0, sizeof alternate};
    check(CALL2(SIGALTSTACK, &stack_t, 0) == 0);
    check(handle(10, on_signal, 4 | 0x08000000) == 0);
    check(CALL3(TGKILL, pid, CALL0(GETTID), 10) == 0 && signals == 6);

    /* Floating point survives a handler. */
    double value = 1.5;
    __asm__ volatile("fmv.d fs0, %0" : : "f"(value) : "fs0");
    check(CALL3(TGKILL, pid, CALL0(GETTID), 10) == 0 && signals == 7);
    __asm__ volatile("fmv.d %0, fs0" : "=f"(value));
    check(value == 1.5);

    /* Files. */
    check(call(OPENAT, -100, (long)"no such file", 0, 0, 0, 0) == -2);
    check(CALL3(WRITE, 99, "x", 1) == -9);
    check(CALL1(CLOSE, 99) == -9);
    long copy = CALL1(DUP, 1);
    check(copy > 2);
    check(CALL3(WRITE, copy, "linux: ", 7) == 7);
    check(CALL1(CLOSE, copy) == 0);
    struct { const char *base; word length; } pieces[2] = {{"pas", 3}, {"sed\n", 4}};
    check(CALL3(WRITEV, 1, pieces, 2) == 7);
    check(CALL3(WRITE, 1, (void *)8, 4) == -14);
    byte bytes[16];
    check(CALL3(READ, 0, bytes, sizeof bytes) >= 0);
    check(CALL3(GETRANDOM, bytes, sizeof bytes, 0) == sizeof bytes);

    /* Time does not go back. */
    long long before[2], after[2];
    int gettime = sizeof(word) == 8 ? 113 : 403;
    check(CALL2(gettime, 1, before) == 0 && CALL2(gettime, 1, after) == 0);
    check(after[0] > before[0] || (after[0] == before[0] && after[1] >= before[1]));

    char name[6 * 65];
    check(CALL1(UNAME, name) == 0 && name[0] == 'L');
    check(CALL0(2000) == -38);
    if (argc > 1) print(argv[1]);
    return 0;
}

__attribute__((used)) static void begin(word *stack) {
    CALL1(EXIT, run(stack));
    for (;;) {}
}

__asm__(".globl _start\n_start:\n.option push\n.option norelax\nla gp, __global_pointer$\n.option pop\nmv a0, sp\ncall begin\n");
