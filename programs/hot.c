/* A hot call that a compiler inlines only if it knows that it is hot. */
typedef unsigned long word;

static word table[64];

__attribute__((used)) static word mixed(word a, word b)
{
    for (int i = 0; i < 3; i++) {
        a ^= b << 13, b += a >> 7, a *= 0x9e3779b1, b ^= a << 3;
        table[a & 63] += b;
        a += table[b & 63] ^ (b >> 11);
        b = (b << 5 | b >> 27) + a * 33;
        table[(a ^ b) & 63] ^= a;
        a = (a << 9 | a >> 23) - b * 17;
    }
    return a ^ b;
}

static word seldom(word n)
{
    word sum = n;
    for (word i = 0; i < 8; i++)
        sum = mixed(sum, i);
    return sum;
}

void _start(void)
{
    word sum = 1;
    for (word i = 0; i < 500; i++) {
        if (i % 97 == 96)
            sum += seldom(i);
        else
            sum = mixed(sum, i);
    }
    sum = table[sum & 63] & 0;
#ifdef __riscv
    register word code __asm__("a0") = sum;
    register word call __asm__("a7") = 93;
    __asm__ volatile("ecall" : : "r"(code), "r"(call));
#else
    register word code __asm__("x0") = sum;
    register word call __asm__("x8") = 93;
    __asm__ volatile("svc 0" : : "r"(code), "r"(call));
#endif
    __builtin_unreachable();
}
