// Options of the privileged architecture: who may do what, and what is left in registers and page tables.
// Zicbom and Zicboz below M, Sstc, Svinval, Svnapot, Svpbmt, Svadu, Smstateen, Sscofpmf, Zkr, and Smepmp at the end, as its
// rules cannot be taken back.
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

// t1, cause, value, pc, then what a level that was entered leaves as it was: sp, ra, s0 to s11.
ux saved[18];
enum { CAUSE = 1, VALUE, PC };

// In machine mode a trap skips its instruction, or returns where the fetch itself faulted. From other levels it goes back to
// whoever entered them.
__attribute__((naked, aligned(4), used)) static void trap(void) {
    asm("csrw mscratch, t0\n"
        "la t0, saved\n"
        SX "t1, 0(t0)\n"
        "csrr t1, mcause\n" SX "t1, 1*" XB "(t0)\n"
        "csrr t1, mtval\n" SX "t1, 2*" XB "(t0)\n"
        "csrr t1, mepc\n" SX "t1, 3*" XB "(t0)\n"
        "csrr t1, mstatus\n"
        "slli t1, t1, %0\n" "srli t1, t1, %1\n"
        "addi t1, t1, -3\n"
        "bnez t1, 2f\n"
        LX "t1, 1*" XB "(t0)\n"
        "addi t1, t1, -1\n"
        "beqz t1, 1f\n"
        LX "t1, 3*" XB "(t0)\n"
        "addi t1, t1, 4\n"
        "csrw mepc, t1\n"
        LX "t1, 0(t0)\n"
        "csrr t0, mscratch\n"
        "mret\n"
        "1: csrw mepc, ra\n"
        "mret\n"
        "2: " LX "sp, 4*" XB "(t0)\n" LX "ra, 5*" XB "(t0)\n"
        LX "s0, 6*" XB "(t0)\n" LX "s1, 7*" XB "(t0)\n" LX "s2, 8*" XB "(t0)\n" LX "s3, 9*" XB "(t0)\n"
        LX "s4, 10*" XB "(t0)\n" LX "s5, 11*" XB "(t0)\n" LX "s6, 12*" XB "(t0)\n" LX "s7, 13*" XB "(t0)\n"
        LX "s8, 14*" XB "(t0)\n" LX "s9, 15*" XB "(t0)\n" LX "s10, 16*" XB "(t0)\n" LX "s11, 17*" XB "(t0)\n"
        "li t1, 0x1800\n"
        "csrs mstatus, t1\n"
        "csrw mepc, ra\n"
        "mret\n"
        : : "i"(__riscv_xlen - 13), "i"(__riscv_xlen - 2));
}

__attribute__((naked)) static void enter(ux mpp, void (*code)(ux), ux argument) {
    asm("la t0, saved\n"
        SX "sp, 4*" XB "(t0)\n" SX "ra, 5*" XB "(t0)\n"
        SX "s0, 6*" XB "(t0)\n" SX "s1, 7*" XB "(t0)\n" SX "s2, 8*" XB "(t0)\n" SX "s3, 9*" XB "(t0)\n"
        SX "s4, 10*" XB "(t0)\n" SX "s5, 11*" XB "(t0)\n" SX "s6, 12*" XB "(t0)\n" SX "s7, 13*" XB "(t0)\n"
        SX "s8, 14*" XB "(t0)\n" SX "s9, 15*" XB "(t0)\n" SX "s10, 16*" XB "(t0)\n" SX "s11, 17*" XB "(t0)\n"
        "li t1, 0x1880\n"
        "csrc mstatus, t1\n"
        "csrs mstatus, a0\n"
        "csrw mepc, a1\n"
        "mv a0, a2\n"
        "mret");
}

#define M 3
#define S 1
#define U 0

static void run(ux level, void (*code)(ux), ux argument) {
    saved[CAUSE] = 99;
    if (level == M) code(argument);
    else enter(level << 11, code, argument);
}

// The cause of the trap; calls from U and S, 8 and 9, say that the code came to its end.
static void outcome(ux level, void (*code)(ux), ux argument) {
    run(level, code, argument);
    put(' ');
    put("us?m"[level]);
    ux cause = saved[CAUSE];
    if (cause == 8 || cause == 9 || cause == 99) print(":ok");
    else {
        put(':');
        put(cause >> (__riscv_xlen - 1) ? 'i' : 'e');
        put("0123456789abcdef"[cause & 15]);
    }
}

// Code for any level: one instruction, and a call where a level was entered.
#define CODE(name, ...) __attribute__((naked, aligned(4))) static void name(ux a0) { \
    asm(".option push\n.option norvc\n" __VA_ARGS__ "\n.option pop\n" \
        "la t0, saved\n" \
        "li t1, 0\n" \
        "j finished"); \
}

// Machine mode returns; the others call.
__attribute__((naked, used)) static void finished(void) asm("finished");
__attribute__((naked, used)) static void finished(void) {
    asm("la t0, machine\n"
        "lw t0, 0(t0)\n"
        "bnez t0, 1f\n"
        "ecall\n"
        "1: ret");
}
u32 machine;

static void show(const char *name, void (*code)(ux), ux argument) {
    print(name);
    machine = 1;
    outcome(M, code, argument);
    machine = 0;
    outcome(S, code, argument);
    outcome(U, code, argument);
    put('\n');
}

#define WRITE(csr, value) asm volatile("csrw " csr ", %0" : : "r"((ux)(value)) : "memory")
#define SET(csr, value) asm volatile("csrs " csr ", %0" : : "r"((ux)(value)) : "memory")
#define CLEAR(csr, value) asm volatile("csrc " csr ", %0" : : "r"((ux)(value)) : "memory")
#define READ(csr) ({ ux v_; asm volatile("csrr %0, " csr : "=r"(v_)); v_; })

#define FIOM 1
#define CBIE 0x30
#define CBCFE 0x40
#define CBZE 0x80

static u64 __attribute__((aligned(4096))) page[512];

CODE(inval, "cbo.inval (a0)")
CODE(clean, "cbo.clean (a0)")
CODE(flush, "cbo.flush (a0)")
CODE(zero, "cbo.zero (a0)")

static void blocks(void) {
    static const ux settings[] = { 0, 0x10, 0x30, CBCFE, CBZE, CBIE | CBCFE | CBZE };
    for (u32 m = 0; m < 6; m++) for (u32 s = 0; s < 6; s++) {
        WRITE("menvcfg", settings[m]);
        WRITE("senvcfg", settings[s]);
        print("envcfg");
        hex(READ("menvcfg") & 0xf1, 2), hex(READ("senvcfg") & 0xf1, 2);
        put('\n');
        show("inval", inval, (ux)page);
        show("clean", clean, (ux)page);
        show("flush", flush, (ux)page);
        show("zero", zero, (ux)page);
    }
}

// The upper half of menvcfg.
#if __riscv_xlen == 64
#define UPPER "menvcfg"
#define BIT(n) (1ul << (n))
#else
#define UPPER "menvcfgh"
#define BIT(n) (1ul << ((n) - 32))
#endif
#define STCE BIT(63)
#define PBMTE BIT(62)
#define ADUE BIT(61)

CODE(read_timer, "csrr t0, stimecmp")
CODE(write_timer, "csrw stimecmp, a0")
CODE(nothing, "nop")

static void set_timer(u64 value) {
    WRITE("stimecmp", value);
#if __riscv_xlen == 32
    WRITE("stimecmph", value >> 32);
#endif
}

static void timer(void) {
    for (u32 setting = 0; setting < 4; setting++) {
        WRITE(UPPER, setting & 1 ? STCE : 0);
        WRITE("mcounteren", setting & 2 ? 2 : 0);
        print("sstc"), hex(setting, 1), put('\n');
        show("read", read_timer, 0);
        show("write", write_timer, -1);
    }
    WRITE(UPPER, STCE);
    set_timer(-1);
    print("stip"), hex(READ("mip") & 0x20, 2);
    set_timer(0);
    hex(READ("mip") & 0x20, 2);
    CLEAR("mip", 0x20);
    hex(READ("mip") & 0x20, 2);
    SET("mie", 0x20);
    outcome(S, nothing, 0);
    outcome(U, nothing, 0);
    set_timer(-1);
    outcome(S, nothing, 0);
    CLEAR("mie", 0x20);
    // Without it the bit is software's.
    WRITE(UPPER, 0);
    SET("mip", 0x20);
    hex(READ("mip") & 0x20, 2);
    CLEAR("mip", 0x20);
    hex(READ("mip") & 0x20, 2);
    put('\n');
}

CODE(sinval, "sinval.vma zero, zero")
CODE(sfence_w, "sfence.w.inval")
CODE(sfence_ir, "sfence.inval.ir")

static void invalidation(void) {
    for (u32 tvm = 0; tvm < 2; tvm++) {
        if (tvm) SET("mstatus", 0x100000);
        print("svinval"), hex(tvm, 1), put('\n');
        show("sinval.vma", sinval, 0);
        // QEMU lets U do these.
        print("fences");
        outcome(S, sfence_w, 0), outcome(S, sfence_ir, 0);
        put('\n');
    }
    CLEAR("mstatus", 0x100000);
}

CODE(load, LX "t0, 0(a0)")
CODE(store, SX "zero, 0(a0)")

#if __riscv_xlen == 64
static u64 __attribute__((aligned(4096))) root[512], middle[512], leaves[512];
static u64 __attribute__((aligned(65536))) large[8192];
#define V 1
#define RWX 0xe
#define AD 0xc0
#define AREA 0x4000000000ul // where the pages of the tests are: entry 256 is not canonical in Sv39, 0 to 255 are
#define FENCE asm volatile("sfence.vma" : : : "memory")

static u64 entry(const void *to, u64 bits) { return (u64)to >> 12 << 10 | bits; }

static void area(u32 n, u64 value) {
    leaves[n] = value;
    FENCE;
}

static void paging(void) {
    root[2] = entry((void *)0x80000000, V | RWX | AD);
    root[0] = entry(middle, V);
    middle[0] = entry(leaves, V);
    WRITE("satp", 8ul << 60 | (u64)root >> 12);
    FENCE;
    // Svnapot: 64 KiB, and what is reserved.
    for (u32 n = 0; n < 8192; n++) large[n] = n;
    for (u32 n = 0; n < 16; n++) leaves[16 + n] = 1ul << 63 | entry((u8 *)large + 0x8000, V | RWX | AD);
    FENCE;
    print("svnapot");
    for (u32 n = 0; n < 16; n += 5) {
        ux got;
        ux at = 0x10000 + 0x1000 * n + 8 * n;
        SET("mstatus", 0x20800); // MPRV with S
        asm volatile("ld %0, 0(%1)" : "=r"(got) : "r"(at));
        CLEAR("mstatus", 0x21800);
        hex(got, 4);
    }
    for (u32 low = 0; low < 16; low++) {
        area(16, 1ul << 63 | (u64)large >> 12 << 10 | (u64)low << 10 | V | RWX | AD);
        outcome(S, load, 0x10000);
    }
    put('\n');
    print("napot above");
    middle[1] = 1ul << 63 | entry((void *)0x80000000, V | RWX | AD) | 8ul << 10;
    outcome(S, load, 0x200000);
    middle[1] = 1ul << 63 | entry(leaves, V);
    FENCE;
    outcome(S, load, 0x200000);
    put('\n');
    // Svpbmt: on and off, in a leaf and above it.
    for (u32 on = 0; on < 2; on++) {
        WRITE("menvcfg", on ? PBMTE : 0);
        print("svpbmt"), hex(on, 1);
        // QEMU takes 3 for a type.
        for (u64 type = 0; type < 3; type++) {
            area(0, type << 61 | entry(page, V | RWX | AD));
            outcome(S, load, 0);
        }
        for (u64 type = 0; type < 4; type++) {
            middle[1] = type << 61 | entry(leaves, V);
            area(0, entry(page, V | RWX | AD));
            outcome(S, load, 0x200000);
        }
        put('\n');
    }
    // Other upper bits are reserved.
    print("reserved");
    for (u32 bit = 54; bit < 59; bit++) {
        area(0, 1ul << bit | entry(page, V | RWX | AD));
        outcome(S, load, 0);
    }
    put('\n');
    // Svadu: bits set by the walk, or faults.
    for (u32 on = 0; on < 2; on++) {
        WRITE("menvcfg", on ? ADUE : 0);
        print("svadu"), hex(on, 1);
        area(1, entry(page, V | RWX));
        outcome(S, load, 0x1000);
        hex(leaves[1] & 0xff, 2);
        outcome(S, store, 0x1000);
        hex(leaves[1] & 0xff, 2);
        area(1, entry(page, V | RWX | 0x40));
        outcome(S, store, 0x1000);
        hex(leaves[1] & 0xff, 2);
        area(1, entry(page, V | 2 | 0x40));
        outcome(S, store, 0x1000);
        hex(leaves[1] & 0xff, 2);
        put('\n');
    }
    // Cache blocks: managing one needs what a load needs, zeroing one what a store does.
    WRITE("menvcfg", ADUE | CBIE | CBCFE | CBZE);
    WRITE("senvcfg", CBIE | CBCFE | CBZE);
    static const u64 kinds[] = { 0, V | 2, V | 6, V | 8, V | 0x12, V | 0x16, V | 2 | AD, V | 6 | AD };
    for (u32 n = 0; n < 8; n++) {
        print("cbo"), hex(kinds[n], 2);
        area(2, kinds[n] | entry(page, 0));
        outcome(S, clean, 0x2000);
        hex(saved[VALUE], 4);
        hex(leaves[2] & 0xff, 2);
        outcome(S, zero, 0x2000);
        hex(leaves[2] & 0xff, 2);
        put('\n');
    }
    WRITE("satp", 0);
    WRITE("menvcfg", 0);
    FENCE;
}
#endif

CODE(read_envcfg, "csrr t0, senvcfg")
CODE(read_stateen, "csrr t0, sstateen0")
CODE(read_stateen3, "csrr t0, sstateen3")

static void state_enable(void) {
#if __riscv_xlen == 64
#define STATEEN(n) "mstateen" n
#else
#define STATEEN(n) "mstateen" n "h"
#endif
    for (u32 setting = 0; setting < 4; setting++) {
        WRITE(STATEEN("0"), (setting & 1 ? BIT(63) : 0) | (setting & 2 ? BIT(62) : 0));
        WRITE(STATEEN("3"), setting & 1 ? BIT(63) : 0);
        print("smstateen"), hex(READ(STATEEN("0")) / BIT(62), 1), hex(READ(STATEEN("3")) / BIT(62), 1), put('\n');
        show("senvcfg", read_envcfg, 0);
        show("sstateen0", read_stateen, 0);
        show("sstateen3", read_stateen3, 0);
    }
}

CODE(poll, "csrrw t0, seed, zero")
CODE(peek, "csrrs t0, seed, zero")

static void seed(void) {
    for (u32 setting = 0; setting < 4; setting++) {
        WRITE("mseccfg", setting << 8);
        print("zkr"), hex(READ("mseccfg"), 3), put('\n');
        show("poll", poll, 0);
        show("peek", peek, 0);
    }
    ux value;
    asm volatile("csrrw %0, seed, zero" : "=r"(value));
    print("opst"), hex(value >> 30 & 3, 1), put('\n');
    WRITE("mseccfg", 0);
}

CODE(overflowed, "csrr t0, scountovf")

static void counters(void) {
#if __riscv_xlen == 64
#define EVENT3 "mhpmevent3"
#define EVENT4 "mhpmevent4"
#else
#define EVENT3 "mhpmevent3h"
#define EVENT4 "mhpmevent4h"
#endif
    WRITE("mcountinhibit", -8);
    WRITE("mcounteren", -1); // QEMU asks it in M as well
    WRITE("mhpmevent3", 0);
    WRITE(EVENT3, BIT(63));
    WRITE(EVENT4, BIT(62) | BIT(61) | BIT(60));
    print("sscofpmf"), hex(READ(EVENT3) / BIT(60), 1), hex(READ(EVENT4) / BIT(60), 1);
    hex(READ("scountovf"), 8);
    WRITE(EVENT4, BIT(63));
    hex(READ("scountovf"), 8);
    put('\n');
    show("scountovf", overflowed, 0);
    WRITE(EVENT3, 0);
    WRITE(EVENT4, 0);
    // LCOFI is a bit like the others.
    WRITE("mideleg", -1);
    WRITE("mie", -1);
    SET("mip", 0x2000);
    print("lcofi"), hex(READ("mideleg") & 0x2222, 4), hex(READ("mie") & 0x2aaa, 4), hex(READ("sie") & 0x2aaa, 4);
    hex(READ("mip") & 0x2000, 4), hex(READ("sip") & 0x2000, 4);
    CLEAR("sip", 0x2000);
    hex(READ("mip") & 0x2000, 4);
    WRITE("mideleg", 0);
    WRITE("mie", 0x2000);
    SET("mip", 0x2000);
    outcome(S, nothing, 0);
    CLEAR("mip", 0x2000);
    outcome(U, nothing, 0);
    put('\n');
    // A counter of cycles that overflows, once.
    WRITE("mhpmcounter3", -100);
#if __riscv_xlen == 32
    WRITE("mhpmcounter3h", -1);
#endif
    WRITE("mhpmevent3", 1);
    WRITE("mcountinhibit", 0);
    for (u32 n = 0; n < 1u << 24 && !(READ("mip") & 0x2000); n++) {}
    WRITE("mcountinhibit", -8);
    print("overflow"), hex(READ("mip") & 0x2000, 4), hex(READ(EVENT3) / BIT(60), 1), hex(READ("scountovf"), 8);
    outcome(U, nothing, 0);
    CLEAR("mip", 0x2000);
    WRITE("mie", 0);
    put('\n');
}

extern char text_end[] asm("tohost");

CODE(jump, "mv t2, ra\njalr ra, 0(a0)\nmv ra, t2")

// Entry 0 is the page of the tests, then code, data and devices.
static void protect(u32 code, u32 data) {
    WRITE("pmpaddr0", (ux)page >> 2 | 0x1ff);
    WRITE("pmpaddr1", 0x80000000u >> 2);
    WRITE("pmpaddr2", (ux)text_end >> 2);
    WRITE("pmpaddr3", 0x88000000u >> 2);
    WRITE("pmpaddr4", -1);
#if __riscv_xlen == 64
    WRITE("pmpcfg0", (ux)(0x18 | data) << 32 | (ux)(8 | data) << 24 | (8 | code) << 16);
#else
    WRITE("pmpcfg1", 0x18 | data);
    WRITE("pmpcfg0", (8 | data) << 24 | (8 | code) << 16);
#endif
}

static void access_page(void) {
    machine = 1;
    outcome(M, load, (ux)page), outcome(M, store, (ux)page + 64), outcome(M, jump, (ux)page + 128);
    machine = 0;
    outcome(S, load, (ux)page), outcome(S, store, (ux)page + 64), outcome(U, jump, (ux)page + 128);
    put('\n');
}

static void enhanced_protection(void) {
    *(volatile u32 *)((u8 *)page + 128) = 0x00008067; // ret
    asm volatile("fence.i");
    WRITE("mseccfg", 4); // RLB
    print("smepmp"), hex(READ("mseccfg"), 1);
    protect(7, 3);
    // Read and write, and code for all: a locked shared region. Then lockdown.
    ux kept = READ("pmpcfg0") & ~(ux)0xff;
    put('\n');
    for (u32 rule = 0; rule < 16; rule++) {
        if ((rule & 3) == 2) continue; // reserved: QEMU keeps it
        ux cfg = 0x18 | (rule & 7) | (rule & 8) << 4;
        WRITE("pmpcfg0", kept | cfg);
        hex(READ("pmpcfg0") & 0xff, 2);
        access_page();
    }
    protect(0x86, 6);
    kept = READ("pmpcfg0") & ~(ux)0xff;
    WRITE("mseccfg", 7);
    protect(0x86, 6);
    kept = READ("pmpcfg0") & ~(ux)0xff;
    print("lockdown"), hex(READ("mseccfg"), 1), put('\n');
    for (u32 rule = 0; rule < 16; rule++) {
        ux cfg = 0x18 | (rule & 7) | (rule & 8) << 4;
        WRITE("pmpcfg0", kept | cfg);
        hex(READ("pmpcfg0") & 0xff, 2);
        access_page();
    }
    // Without the bypass no rule that machine mode can execute is added, and locked ones stay.
    WRITE("pmpcfg0", kept);
    WRITE("mseccfg", 0);
    print("sticky"), hex(READ("mseccfg"), 1);
    WRITE("mseccfg", 4);
    hex(READ("mseccfg"), 1);
    static const u8 rules[] = { 0x1a, 0x1f, 0x9a, 0x9c, 0x9d, 0x9e, 0x18, 0x99, 0x9b, 0x18 };
    for (u32 n = 0; n < sizeof rules; n++) {
        WRITE("pmpcfg0", kept | rules[n]);
        hex(READ("pmpcfg0") & 0xff, 2);
    }
    put('\n');
}

int main(void) {
    asm volatile("la t0, trap\ncsrw mtvec, t0" : : : "t0");
    WRITE("pmpaddr0", -1);
    WRITE("pmpcfg0", 0x1f);
    WRITE("mcounteren", 7);
    WRITE("mie", 0);
    WRITE("mideleg", 0);
    WRITE("medeleg", 0);
    print("reset menvcfg"), hex(READ(UPPER) / ADUE & 1, 1), put('\n');
    WRITE(UPPER, -1);
    print("menvcfg"), hex(READ(UPPER) / ADUE, 1), put('\n');
    WRITE(UPPER, 0);
    state_enable();
    blocks();
    timer();
    invalidation();
#if __riscv_xlen == 64
    paging();
#endif
    seed();
    counters();
    enhanced_protection();
    finish(0);
}
