// A program in C: what a compiler makes of integers of all sizes, floating point, pointers to functions,
// recursion and memory. Prints a line on the serial port and tells its result like the others.
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

extern volatile u64 tohost;
static volatile u8 *const uart = (volatile u8 *)0x10000000;
static volatile u32 *const finisher = (volatile u32 *)0x100000;

static void print(const char *text) {
    while (*text) *uart = (u8)*text++;
}

static void __attribute__((noreturn)) finish(u32 failed) {
    print(failed ? "mix: failed\n" : "mix: passed\n");
    tohost = failed ? failed << 1 | 1 : 1;
    *finisher = failed ? failed << 16 | 0x3333 : 0x5555;
    for (;;) {}
}

static u32 crc32(const u8 *bytes, u32 count) {
    u32 crc = ~0u;
    for (u32 i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static u32 queens(u32 all, u32 columns, u32 left, u32 right) {
    u32 count = 0;
    if (columns == all) return 1;
    for (u32 free = all & ~(columns | left | right); free; free &= free - 1) {
        u32 bit = free & -free;
        count += queens(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return count;
}

static u32 numbers[200];

static void sort(u32 *a, int lo, int hi) {
    while (lo < hi) {
        u32 pivot = a[(lo + hi) / 2];
        int i = lo, j = hi;
        while (i <= j) {
            while (a[i] < pivot) i++;
            while (a[j] > pivot) j--;
            if (i <= j) {
                u32 t = a[i];
                a[i++] = a[j];
                a[j--] = t;
            }
        }
        sort(a, lo, j);
        lo = i;
    }
}

static double newton(double x) {
    double y = x;
    for (int i = 0; i < 40; i++) y = 0.5 * (y + x / y);
    return y;
}

static u32 add(u32 a, u32 b) { return a + b; }
static u32 sub(u32 a, u32 b) { return a - b; }
static u32 rot(u32 a, u32 b) { return a << (b & 31) | a >> (-b & 31); }
static u32 (*const volatile operations[])(u32, u32) = {add, sub, rot};

// Where the compiler wants memory functions.
void *memcpy(void *to, const void *from, unsigned long n) {
    for (u8 *t = to; n--; t++, from = (const u8 *)from + 1) *t = *(const u8 *)from;
    return to;
}
void *memset(void *to, int value, unsigned long n) {
    for (u8 *t = to; n--;) *t++ = (u8)value;
    return to;
}

void run(void) {
    if (crc32((const u8 *)"123456789", 9) != 0xcbf43926u) finish(1);
    if (queens(0xff, 0, 0, 0) != 92) finish(2);

    u32 seed = 1;
    for (int i = 0; i < 200; i++) numbers[i] = seed = seed * 1664525u + 1013904223u;
    sort(numbers, 0, 199);
    for (int i = 1; i < 200; i++)
        if (numbers[i - 1] > numbers[i]) finish(3);
    if (crc32((const u8 *)numbers, sizeof numbers) != 0xa357a39bu) finish(4);

    volatile s64 a = -0x123456789abcdef0, b = 0x0fedcba987654321;
    if (a + b != -0x2468acf13579bcf || a - b != -0x2222222222222211 || a >> 7 != -0x2468acf13579be) finish(5);
    if ((u64)a * (u64)b != 0xddc927701a9e7310u) finish(6);

    volatile float f = 0.1f;
    volatile double d = 0.1;
    if ((double)f == d || (float)d != f) finish(7);
    if (newton(2.0) != 1.4142135623730951 && newton(2.0) != 1.414213562373095) finish(8);
    if ((int)(d * 25.0) != 2 || (u32)(f * 1e9f) != 100000000u) finish(9);

    u32 value = 7;
    for (u32 i = 0; i < 30; i++) value = operations[i % 3](value, i * 3);
    if (value != 0xc887da97u) finish(10);
    finish(0);
}

__asm__(
    ".section .text.start,\"ax\"\n"
    ".globl _start\n"
    "_start:\n"
    "    li t0, 0x6000\n"
    "    csrs mstatus, t0\n"
    "    la t0, 1f\n"
    "    csrw mtvec, t0\n"
    "    la sp, _stack\n"
    "    call run\n"
    "    .align 2\n"
    "1:  li t1, 0xff3333\n"
    "    li t2, 0x100000\n"
    "    sw t1, 0(t2)\n"
    "2:  j 2b\n"
    ".section .tohost,\"aw\"\n"
    ".align 6\n"
    ".globl tohost\n"
    "tohost: .dword 0\n"
    ".align 6\n"
    ".globl fromhost\n"
    "fromhost: .dword 0\n"
    ".text\n");
