// Freestanding RV32: arithmetic, 64-bit values in pairs, floating point, atomics, tables of pointers.
typedef unsigned int u32;
typedef unsigned long long u64;

volatile u32 sink;
static u32 table[256];

static u32 crc(const unsigned char *p, u32 n) {
    u32 c = ~0u;
    while (n--) c = table[(c ^ *p++) & 255] ^ (c >> 8);
    return ~c;
}
static void make_table(void) {
    for (u32 i = 0; i < 256; i++) {
        u32 c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
        table[i] = c;
    }
}
static u64 mix(u64 a, u64 b) {
    a ^= b << 23; a ^= a >> 17; a += b * 0x9e3779b97f4a7c15ull;
    return a > b ? a - b : (a & ~b) | (b >> 9);
}
static float heron(float x) {
    float y = x * 0.5f;
    for (int i = 0; i < 8; i++) y = 0.5f * (y + x / y);
    return y;
}
static double poly(const double *c, int n, double x) {
    double r = 0;
    while (n--) r = __builtin_fma(r, x, c[n]);
    return r < 0 ? -r : __builtin_copysign(r, x);
}
static u32 add(u32 a, u32 b) { return a + b; }
static u32 rot(u32 a, u32 b) { return a << (b & 31) | a >> (-b & 31); }
static u32 most(u32 a, u32 b) { return a > b ? a : b; }
static u32 (*const operations[])(u32, u32) = {add, rot, most};

static int classify(int c) {
    switch (c) {
    case 'a': return 1; case 'b': return 7; case 'c': return 9; case 'd': return 2;
    case 'e': return 5; case 'f': return 3; case 'g': return 8; default: return c / 7 % 5;
    }
}
void _start(void) {
    static const double c[] = {1.0, -0.5, 0.25, 1e-3};
    make_table();
    u64 s = 1;
    for (u32 i = 0; i < 100; i++) {
        s = mix(s, i);
        sink = operations[i % 3]((u32)s, (u32)(s >> 32));
        sink = (u32)heron((float)(int)i) + (u32)poly(c, 4, (double)i) + (u32)classify((int)(s & 127));
        __atomic_fetch_add(&table[i], 3, __ATOMIC_ACQ_REL);
        __atomic_compare_exchange_n(&table[i], &table[i + 1], i, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    }
    sink = crc((const unsigned char *)table, sizeof table);
    __asm__ volatile("ecall");
    for (;;) __asm__ volatile("wfi");
}
