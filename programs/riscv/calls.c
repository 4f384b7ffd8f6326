/* A program to profile: recursion, an inlined function, a tail call, calls through a table, and code that never runs.
   It is built with debug information, so that lines and coverage can be shown. */
typedef unsigned long word;

extern volatile word tohost;
static volatile unsigned *const finisher = (volatile unsigned *)0x100000;

static inline word mix(word a, word b)
{
    return (a ^ b) * 0x9e3779b1u + (a >> 7);
}

__attribute__((noinline)) static word fib(word n)
{
    if (n < 2)
        return n;
    return fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) static word even(word n);

__attribute__((noinline)) static word odd(word n)
{
    if (n == 0)
        return 0;
    return even(n - 1); /* a tail call */
}

__attribute__((noinline)) static word even(word n)
{
    if (n == 0)
        return 1;
    return odd(n - 1); /* a tail call */
}

__attribute__((noipa)) static word hash_of_the_numbers(const word *list, int count)
{
    word sum = 0;
    for (int i = 0; i < count; i++)
        sum = mix(sum, list[i]); /* inlined */
    return sum;
}

__attribute__((noipa)) static word never(word n)
{
    if (n > 3)
        return n * 2;
    return n;
}

static word (*const table[])(word) = {fib, odd, even};

void program(void)
{
    word list[32];
    for (int i = 0; i < 32; i++)
        list[i] = table[i % 3](i % 11); /* indirect calls */
    word sum = hash_of_the_numbers(list, 32);
    if (sum == 1)
        sum = never(sum);
    tohost = sum == 1 ? 3 : 1;
    *finisher = sum == 1 ? 0x13333 : 0x5555;
    for (;;) {}
}

__asm__(".section .text.start, \"ax\"\n"
        ".globl _start\n"
        "_start:\n"
        "    la sp, _stack\n"
        "    call program\n"
        ".section .tohost, \"aw\"\n"
        ".align 6\n"
        ".globl tohost\n"
        "tohost: .dword 0\n"
        ".align 6\n"
        ".globl fromhost\n"
        "fromhost: .dword 0\n"
        ".text\n");
