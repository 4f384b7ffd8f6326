// A core as a program sees it: instructions that it has, control registers with their values after reset and the bits that
// can be set and cleared, and what traps leave. The presets of the model print what the described core prints.
#include "dump.h"

#if __riscv_xlen == 64
#define SX "sd "
#define LX "ld "
#define XB "8"
#else
#define SX "sw "
#define LX "lw "
#define XB "4"
#endif

// t1, cause, value, then the place after the instruction that is tried.
ux saved[4];

// Cores that only have vectored traps round the address down.
__attribute__((naked, aligned(256), used)) static void trap(void) {
    asm("la t0, saved\n"
        "csrr t1, mcause\n" SX "t1, 1*" XB "(t0)\n"
        "csrr t1, mtval\n" SX "t1, 2*" XB "(t0)\n"
        "csrw mepc, ra\n"
        "li t1, 0x1800\n"
        "csrs mstatus, t1\n"
        "mret");
}

// Instructions that are made here: up to three and a return.
u32 __attribute__((aligned(8))) made[4];

static ux call(u32 a, u32 b, u32 c, ux argument) {
    made[0] = a, made[1] = b, made[2] = c, made[3] = 0x8067;
    saved[1] = 99;
    asm volatile("fence.i");
    register ux a0 asm("a0") = argument;
    register ux code asm("t2") = (ux)made;
    asm volatile("jalr ra, t2" : "+r"(a0) : "r"(code) : "ra", "t0", "t1", "memory");
    return a0;
}

#define NOP 0x13
#define CSRRW(rd, rs, number) (0x1073u | (rd) << 7 | (rs) << 15 | (u32)(number) << 20)
#define CSRR(rd, number) (0x2073u | (rd) << 7 | (u32)(number) << 20)

// Without UXL, SXL and the fields of a hypervisor.
#define STATUS ((ux)0xffffff00ffffffffull)

static const struct {
    const char *name;
    u16 number;
    // Reset: the value is that of the reset, not a left-over. Ones: instead of all of them.
    u8 reset;
    ux ones;
} registers[] = {
    {"misa", 0x301, 1, 0},
    {"mvendorid", 0xf11, 1, 0},
    {"marchid", 0xf12, 0, 0},
    {"mimpid", 0xf13, 0, 0},
    {"mhartid", 0xf14, 1, 0},
    {"mconfigptr", 0xf15, 1, 0},
    {"mstatus", 0x300, 0, STATUS},
    {"mtvec", 0x305, 0, ~(ux)0 - 2},
    {"mtvec direct", 0x305, 0, ~(ux)3},
    {"mscratch", 0x340, 1, ~(ux)0},
    {"mepc", 0x341, 1, ~(ux)1},
    {"mcause", 0x342, 1, 11},
    {"mtval", 0x343, 0, ~(ux)0},
    {"medeleg", 0x302, 1, ~(ux)0},
    {"mideleg", 0x303, 0, ~(ux)0},
    {"mie", 0x304, 1, ~(ux)0},
    {"mcounteren", 0x306, 1, ~(ux)0},
    {"mcountinhibit", 0x320, 1, 5},
    {"menvcfg", 0x30a, 0, 1},
    {"sstatus", 0x100, 0, STATUS},
    {"stvec", 0x105, 1, ~(ux)0 - 2},
    {"sie", 0x104, 1, ~(ux)0},
    {"sscratch", 0x140, 1, ~(ux)0},
    {"sepc", 0x141, 1, ~(ux)1},
    {"scause", 0x142, 1, 11},
    {"stval", 0x143, 1, ~(ux)0},
    {"scounteren", 0x106, 1, ~(ux)0},
    {"senvcfg", 0x10a, 1, 1},
    {"satp", 0x180, 1, __riscv_xlen == 64 ? (ux)0x8abcdull << 44 | 0xfff : 0xdeadbeef},
    {"pmpcfg0", 0x3a0, 1, 0x0f},
    {"pmpcfg3", 0x3a3, 1, 0x0f},
    {"pmpaddr0", 0x3b0, 1, (ux)0x3fffffffffffffull},
    {"pmpaddr15", 0x3bf, 1, (ux)0x3fffffffffffffull},
    {"fcsr", 0x003, 0, 0},
    {"cycle", 0xc00, 0, 0},
    {"instret", 0xc02, 0, 0},
    {"hpmcounter3", 0xc03, 0, 0},
    {"mcycle", 0xb00, 0, 0},
    {"vstart", 0x008, 0, 0},
#if __riscv_xlen == 32
    {"mstatush", 0x310, 1, 0},
    {"pmpcfg1", 0x3a1, 1, 0x0f},
#endif
};

static const struct {
    const char *name;
    u32 encoding;
} instructions[] = {
    {"mul", 0x02000033}, {"lr.w", 0x1005202f}, {"amoadd.w", 0x0005202f}, {"fadd.s", 0x00000053},
    {"fadd.d", 0x02000053}, {"c.nop", 0x00010001}, {"c.flw or c.ld", 0x00016108}, {"sh1add", 0x20002033},
    {"andn", 0x40007033}, {"clmul", 0x0a001033}, {"bset", 0x28001033}, {"fence.i", 0x0000100f},
    {"czero.eqz", 0x0e005033}, {"xperm8", 0x28004033}, {"aes32 or aes64", 0x32000033},
    {"sinval.vma", 0x16000073}, {"vsetvli", 0x00007057}, {"nothing", 0xffffffff}, {"zero", 0},
    {"a custom one", 0x0000000b},
};

static void cause(void) {
    if (saved[1] == 99) {
        print(" fine");
    } else {
        hex(saved[1], 2);
        word(saved[2]);
    }
}

int main(void) {
    asm volatile("csrw mtvec, %0" : : "r"(trap));
    for (u32 i = 0; i < sizeof registers / sizeof *registers; i++) {
        u32 number = registers[i].number;
        print(registers[i].name);
        ux reset = call(CSRR(10, number), NOP, NOP, 0);
        if (saved[1] != 99) {
            cause();
        } else if (registers[i].reset) {
            word(reset);
        } else {
            print(" there");
        }
        if (saved[1] == 99 && registers[i].ones) {
            // csrrw t0, N, a0; csrr a0, N; csrw N, t0
            word(call(CSRRW(5, 10, number), CSRR(10, number), CSRRW(0, 5, number), registers[i].ones));
            word(call(CSRRW(5, 10, number), CSRR(10, number), CSRRW(0, 5, number), 0));
        }
        put('\n');
    }
    for (u32 i = 0; i < sizeof instructions / sizeof *instructions; i++) {
        print(instructions[i].name);
        call(instructions[i].encoding, NOP, NOP, (ux)saved);
        cause();
        put('\n');
    }
    // Loads and stores with a0: misaligned, nowhere, and a jump to an odd halfword.
    static const struct {
        const char *name;
        u32 encoding;
        ux address;
    } accesses[] = {
        {"lw, misaligned", 0x00052283, (ux)saved + 1},   {"sw, misaligned", 0x00052023, (ux)made - 7},
        {"lw, nowhere", 0x00052283, 0x0a000004},         {"sw, nowhere", 0x00052023, 0x0a000004},
        {"ebreak", 0x00100073, 0},                       {"ecall", 0x00000073, 0},
    };
    for (u32 i = 0; i < sizeof accesses / sizeof *accesses; i++) {
        print(accesses[i].name);
        call(accesses[i].encoding, NOP, NOP, accesses[i].address);
        cause();
        put('\n');
    }
    finish(0);
}
