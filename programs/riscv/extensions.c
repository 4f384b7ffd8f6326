// Zicond, Zcb, Zfa, Zabha, Zacas, Zimop, Zcmop, Zicbom, Zicboz and the hints: every instruction of the width.
#include "dump.h"

// Zcb: three-bit registers.
#define NARROW(insn) do { \
    print(#insn); \
    for (u32 i = 0; i < COUNT; i++) { \
        register ux a0 asm("a0") = operands[i]; \
        asm volatile(#insn " a0" : "+r"(a0)); \
        word(a0); \
    } \
    put('\n'); \
} while (0)

static u64 __attribute__((aligned(64))) memory[16];

static void fill(void) {
    for (u32 i = 0; i < 16; i++) memory[i] = operands[i & 7] ^ (u64)i << 56;
}

#define LOAD(insn, offset) do { \
    fill(); \
    print(#insn " " #offset); \
    for (u32 i = 0; i < 16; i++) { \
        register ux a0 asm("a0"); \
        register u64 *a1 asm("a1") = memory + i; \
        asm volatile(#insn " a0, " #offset "(a1)" : "=r"(a0) : "r"(a1) : "memory"); \
        word(a0); \
    } \
    put('\n'); \
} while (0)

static void show(u32 count) {
    for (u32 i = 0; i < count; i++) hex(memory[i], 16);
    put('\n');
}

#define STORE(insn, offset) do { \
    fill(); \
    print(#insn " " #offset); \
    for (u32 i = 0; i < COUNT; i++) { \
        register ux a0 asm("a0") = operands[i]; \
        register u64 *a1 asm("a1") = memory + i; \
        asm volatile(#insn " a0, " #offset "(a1)" : : "r"(a0), "r"(a1) : "memory"); \
    } \
    show(COUNT); \
} while (0)

// Atomics on each byte or half of a word: what they return, and what they leave.
#define ATOMIC(insn, type) do { \
    fill(); \
    print(#insn); \
    for (u32 i = 0; i < 32; i++) { \
        ux old; \
        asm volatile(#insn " %0, %1, (%2)" : "=r"(old) : "r"((ux)operands[i * 5 & 7]), "r"((type *)memory + i) : "memory"); \
        word(old); \
    } \
    show(COUNT); \
} while (0)

#define ATOMICS(size, type) do { \
    ATOMIC(amoswap.size, type); \
    ATOMIC(amoadd.size.aq, type); \
    ATOMIC(amoxor.size.rl, type); \
    ATOMIC(amoand.size.aqrl, type); \
    ATOMIC(amoor.size, type); \
    ATOMIC(amomin.size, type); \
    ATOMIC(amomax.size, type); \
    ATOMIC(amominu.size, type); \
    ATOMIC(amomaxu.size, type); \
} while (0)

// Every other one finds what it expects.
#define SWAP(insn, type) do { \
    fill(); \
    print(#insn); \
    for (u32 i = 0; i < 8; i++) { \
        type *at = (type *)memory + i; \
        ux old = (i & 1 ? (ux)*at : (ux)*at + 1) ^ (sizeof(type) < sizeof(ux) ? (ux)0x5a << (4 * sizeof(ux)) << (3 * sizeof(ux)) : 0); \
        asm volatile(#insn " %0, %1, (%2)" : "+r"(old) : "r"((ux)operands[i]), "r"(at) : "memory"); \
        word(old); \
    } \
    show(COUNT); \
} while (0)

#if __riscv_xlen == 64
#define PAIR "amocas.q.aqrl"
#else
#define PAIR "amocas.d.aqrl"
#endif

static void pairs(void) {
    fill();
    print(PAIR);
    for (u32 i = 0; i < 4; i++) {
        ux *at = (ux *)memory + 2 * i;
        register ux a0 asm("a0") = at[0];
        register ux a1 asm("a1") = at[1] + (i & 1);
        register ux a2 asm("a2") = operands[i + 1];
        register ux a3 asm("a3") = operands[i + 2];
        asm volatile(PAIR " a0, a2, (%4)" : "+r"(a0), "+r"(a1) : "r"(a2), "r"(a3), "r"(at) : "memory");
        word(a0), word(a1);
    }
    // The pair of x0 is zero, and nothing is written to x1.
    ux *at = (ux *)memory + 10;
    at[0] = at[1] = 0;
    register ux a2 asm("a2") = 7;
    register ux a3 asm("a3") = 8;
    asm volatile(PAIR " zero, a2, (%2)" : : "r"(a2), "r"(a3), "r"(at) : "memory");
    register ux a0 asm("a0") = 7;
    register ux a1 asm("a1") = 8;
    asm volatile(PAIR " a0, zero, (%2)" : "+r"(a0), "+r"(a1) : "r"(at) : "memory");
    word(a0), word(a1);
    show(COUNT);
}

// Floating point: every format, operands with all kinds of numbers.
static const u64 doubles[] = {
    0, 1ull << 63, 0x3ff0000000000000, 0xbff8000000000000, 0x4004000000000000, 0x3fe0000000000000, 0xc1e0000000200000,
    0x41f0000000100000, 0x43e158e460913d00, 0xc3f0000000000001, 0x4330000000000001, 0x432fffffffffffff, 0x0010000000000000, 0x000fffffffffffff,
    0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x7ff0000000000001, 0xfff8dead00000000, 0x3fefffffffffffff,
};
static const u32 singles[] = {
    0, 1u << 31, 0x3f800000, 0xbfc00000, 0x40200000, 0x3f000000, 0xcf000001, 0x4f800001, 0x5f0ac723, 0xdf800001, 0x4b000001, 0x4affffff,
    0x00800000, 0x007fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffc0dead, 0x3f7fffff,
};
static const u16 halves[] = {
    0, 1u << 15, 0x3c00, 0xbe00, 0x4100, 0x3800, 0xd001, 0x6401, 0x63ff, 0x7bff, 0x0400, 0x03ff, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xfedd, 0x3bff,
    0xb7ff, 0x6400,
};
#define FLOATS 20

static u64 result, flags;
#define CLEAR asm volatile("fsflags zero")
#define FLAGS do { ux now; asm volatile("frflags %0" : "=r"(now)); flags = now; put('/'); put("0123456789abcdefghijklmnopqrstuv"[flags]); } while (0)

#define FLOAT1(insn, load, store, values, digits, mode) do { \
    print(insn mode); \
    for (u32 i = 0; i < FLOATS; i++) { \
        CLEAR; \
        asm volatile(load " fa1, 0(%0)\n" insn " fa0, fa1" mode "\n" store " fa0, 0(%1)" : : "r"(values + i), "r"(&result) : "fa0", "fa1", "memory"); \
        hex(result, digits); FLAGS; \
    } \
    put('\n'); \
} while (0)

#define FLOAT2(insn, load, store, values, digits) do { \
    print(insn); \
    for (u32 i = 0; i < FLOATS; i++) for (u32 j = i % 3; j < FLOATS; j += 3) { \
        CLEAR; \
        asm volatile(load " fa1, 0(%0)\n" load " fa2, 0(%1)\n" insn " fa0, fa1, fa2\n" store " fa0, 0(%2)" : : "r"(values + i), "r"(values + j), "r"(&result) : "fa0", "fa1", "fa2", "memory"); \
        hex(result, digits); FLAGS; \
    } \
    put('\n'); \
} while (0)

#define COMPARE(insn, load, values) do { \
    print(insn); \
    for (u32 i = 0; i < FLOATS; i++) for (u32 j = i % 3; j < FLOATS; j += 3) { \
        ux truth; \
        CLEAR; \
        asm volatile(load " fa1, 0(%1)\n" load " fa2, 0(%2)\n" insn " %0, fa1, fa2" : "=r"(truth) : "r"(values + i), "r"(values + j) : "fa1", "fa2"); \
        hex(truth, 1); FLAGS; \
    } \
    put('\n'); \
} while (0)

#define ROUND(insn, load, store, values, digits) do { \
    FLOAT1(insn, load, store, values, digits, ", rne"); \
    FLOAT1(insn, load, store, values, digits, ", rtz"); \
    FLOAT1(insn, load, store, values, digits, ", rdn"); \
    FLOAT1(insn, load, store, values, digits, ", rup"); \
    FLOAT1(insn, load, store, values, digits, ", rmm"); \
    FLOAT1(insn, load, store, values, digits, ""); \
} while (0)

#define ADDITIONAL(f, load, store, values, digits) do { \
    ROUND("fround." f, load, store, values, digits); \
    ROUND("froundnx." f, load, store, values, digits); \
    FLOAT2("fminm." f, load, store, values, digits); \
    FLOAT2("fmaxm." f, load, store, values, digits); \
    COMPARE("fleq." f, load, values); \
    COMPARE("fltq." f, load, values); \
} while (0)

#define CONSTANT(value) do { \
    asm volatile("fli.s fa0, " value "\nfsw fa0, 0(%0)" : : "r"(&result) : "fa0", "memory"); hex(result, 8); \
    asm volatile("fli.d fa0, " value "\nfsd fa0, 0(%0)" : : "r"(&result) : "fa0", "memory"); hex(result, 16); \
    asm volatile("fli.h fa0, " value "\nfsd fa0, 0(%0)" : : "r"(&result) : "fa0", "memory"); hex(result, 16); \
} while (0)

static void constants(void) {
    print("fli");
    CONSTANT("-1.0"); CONSTANT("min"); CONSTANT("1.52587890625e-05"); CONSTANT("3.0517578125e-05"); CONSTANT("0.00390625");
    CONSTANT("0.0078125"); CONSTANT("0.0625"); CONSTANT("0.125"); CONSTANT("0.25"); CONSTANT("0.3125"); CONSTANT("0.375");
    CONSTANT("0.4375"); CONSTANT("0.5"); CONSTANT("0.625"); CONSTANT("0.75"); CONSTANT("0.875"); CONSTANT("1.0"); CONSTANT("1.25");
    CONSTANT("1.5"); CONSTANT("1.75"); CONSTANT("2.0"); CONSTANT("2.5"); CONSTANT("3.0"); CONSTANT("4.0"); CONSTANT("8.0");
    CONSTANT("16.0"); CONSTANT("128.0"); CONSTANT("256.0"); CONSTANT("32768.0"); CONSTANT("65536.0"); CONSTANT("inf"); CONSTANT("nan");
    put('\n');
}

static void conversions(void) {
    print("fcvtmod.w.d");
    for (u32 i = 0; i < FLOATS; i++) {
        ux value;
        CLEAR;
        asm volatile("fld fa1, 0(%1)\nfcvtmod.w.d %0, fa1, rtz" : "=r"(value) : "r"(doubles + i) : "fa1");
        word(value); FLAGS;
    }
    put('\n');
#if __riscv_xlen == 32
    print("fmvh.x.d fmvp.d.x");
    for (u32 i = 0; i < FLOATS; i++) {
        ux upper, lower;
        asm volatile("fld fa1, 0(%2)\nfmvh.x.d %0, fa1\nfmv.x.w %1, fa1" : "=r"(upper), "=r"(lower) : "r"(doubles + i) : "fa1");
        asm volatile("fmvp.d.x fa0, %0, %1\nfsd fa0, 0(%2)" : : "r"(upper), "r"(lower), "r"(&result) : "fa0", "memory");
        word(upper);
        hex(result, 16);
    }
    put('\n');
#endif
}

#define MAY_BE(insn) do { ux value = 5; asm volatile(insn : "=r"(value) : "r"(value)); word(value); } while (0)

static void may_be(void) {
    print("mop");
    MAY_BE("mop.r.0 %0, %1"); MAY_BE("mop.r.7 %0, %1"); MAY_BE("mop.r.31 %0, %1");
    MAY_BE("mop.rr.0 %0, %1, %1"); MAY_BE("mop.rr.3 %0, %1, %1"); MAY_BE("mop.rr.7 %0, %1, %1");
    register ux a0 asm("a0") = 9;
    asm volatile("c.mop.1\nc.mop.3\nc.mop.5\nc.mop.7\nc.mop.9\nc.mop.11\nc.mop.13\nc.mop.15" : "+r"(a0));
    word(a0);
    put('\n');
}

static void blocks(void) {
    fill();
    print("cbo");
    asm volatile("cbo.clean (%0)\ncbo.flush (%0)\ncbo.inval (%0)\ncbo.zero (%1)" : : "r"(memory), "r"((u8 *)memory + 77) : "memory");
    for (u32 i = 0; i < 16; i++) hex(memory[i], 16);
    // Hints change nothing, whatever the address.
    asm volatile("prefetch.i 0(zero)\nprefetch.r 32(%0)\nprefetch.w -2048(%0)\nntl.p1\nntl.pall\nntl.s1\nntl.all\nc.ntl.p1\nc.ntl.pall\nc.ntl.s1\nc.ntl.all\npause" : : "r"(memory) : "memory");
    asm volatile("lr.w t0, (%0)\nwrs.sto\nlr.w t0, (%0)\nsc.w t1, t0, (%0)\nwrs.nto" : : "r"(memory) : "t0", "t1", "memory");
    put('\n');
}

int main(void) {
    BINARY(czero.eqz);
    BINARY(czero.nez);
    NARROW(c.zext.b);
    NARROW(c.sext.b);
    NARROW(c.zext.h);
    NARROW(c.sext.h);
    NARROW(c.not);
#if __riscv_xlen == 64
    NARROW(c.zext.w);
#endif
    print("c.mul");
    for (u32 i = 0; i < COUNT; i++) {
        register ux a0 asm("a0") = operands[i];
        register ux a1 asm("a1") = operands[7 - i];
        asm volatile("c.mul a0, a1" : "+r"(a0) : "r"(a1));
        word(a0);
    }
    put('\n');
    LOAD(c.lbu, 0); LOAD(c.lbu, 1); LOAD(c.lbu, 2); LOAD(c.lbu, 3);
    LOAD(c.lhu, 0); LOAD(c.lhu, 2);
    LOAD(c.lh, 0); LOAD(c.lh, 2);
    STORE(c.sb, 0); STORE(c.sb, 1); STORE(c.sb, 2); STORE(c.sb, 3);
    STORE(c.sh, 0); STORE(c.sh, 2);
    ATOMICS(b, u8);
    ATOMICS(h, u16);
    SWAP(amocas.b, u8);
    SWAP(amocas.h.aq, u16);
    SWAP(amocas.w.rl, u32);
#if __riscv_xlen == 64
    SWAP(amocas.d, u64);
#endif
    pairs();
    constants();
    ADDITIONAL("s", "flw", "fsw", singles, 8);
    ADDITIONAL("d", "fld", "fsd", doubles, 16);
    ADDITIONAL("h", "flh", "fsh", halves, 4);
    conversions();
    may_be();
    blocks();
    finish(0);
}
