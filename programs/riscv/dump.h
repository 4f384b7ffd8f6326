// Programs that dump results: every line is a name and what the instruction left, in hexadecimal, on the serial port.
// The expected output is in dump/, made by QEMU; the program itself only fails on a trap that it did not expect.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned long ux;

volatile u64 __attribute__((section(".tohost"), aligned(64))) tohost, __attribute__((section(".tohost"), aligned(64))) fromhost;

static void put(char c) { *(volatile u8 *)0x10000000 = (u8)c; }

static void print(const char *text) {
    while (*text) put(*text++);
}

static void hex(u64 value, int digits) {
    put(' ');
    while (digits-- > 0) put("0123456789abcdef"[value >> (4 * digits) & 15]);
}

static void word(ux value) { hex(value, 2 * sizeof value); }

static void __attribute__((noreturn)) finish(u32 failed) {
    tohost = failed ? failed << 1 | 1 : 1;
    *(volatile u32 *)0x100000 = failed ? failed << 16 | 0x3333 : 0x5555;
    for (;;) {}
}

__attribute__((naked, section(".text.start"), used)) void _start(void) {
    asm("la sp, _stack\n"
        "la t0, unexpected\n"
        "csrw mtvec, t0\n"
        "li t0, 0x2000\n"
        "csrs mstatus, t0\n"
        "j main");
}

__attribute__((used, aligned(4))) static void unexpected(void) {
    ux cause, pc, value;
    asm volatile("csrr %0, mcause\ncsrr %1, mepc\ncsrr %2, mtval" : "=r"(cause), "=r"(pc), "=r"(value));
    print("unexpected trap");
    word(cause), word(pc), word(value);
    put('\n');
    finish(1);
}

// Operands: ends of ranges, and bits without a pattern.
static const u64 operands[] = {
    0, 1, 0xffffffffffffffff, 0x8000000080000000, 0x0123456789abcdef, 0xfedcba9876543210, 0x00ff00ff5a5aa5a5, 0xc3d2e1f010325476,
};
#define COUNT (sizeof operands / sizeof *operands)

#define BINARY(insn) do { \
    print(#insn); \
    for (u32 i = 0; i < COUNT; i++) for (u32 j = 0; j < COUNT; j++) { \
        ux result; \
        asm volatile(#insn " %0, %1, %2" : "=r"(result) : "r"((ux)operands[i]), "r"((ux)operands[j])); \
        word(result); \
    } \
    put('\n'); \
} while (0)

#define UNARY(insn) do { \
    print(#insn); \
    for (u32 i = 0; i < COUNT; i++) { \
        ux result; \
        asm volatile(#insn " %0, %1" : "=r"(result) : "r"((ux)operands[i])); \
        word(result); \
    } \
    put('\n'); \
} while (0)

#define BINARY_WITH(insn, number) do { \
    print(#insn " " #number); \
    for (u32 i = 0; i < COUNT; i++) for (u32 j = 0; j < COUNT; j++) { \
        ux result; \
        asm volatile(#insn " %0, %1, %2, " #number : "=r"(result) : "r"((ux)operands[i]), "r"((ux)operands[j])); \
        word(result); \
    } \
    put('\n'); \
} while (0)

#define UNARY_WITH(insn, number) do { \
    print(#insn " " #number); \
    for (u32 i = 0; i < COUNT; i++) { \
        ux result; \
        asm volatile(#insn " %0, %1, " #number : "=r"(result) : "r"((ux)operands[i])); \
        word(result); \
    } \
    put('\n'); \
} while (0)
