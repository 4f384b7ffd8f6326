/* Control transfers of all kinds: jump tables, calls through pointers, recursion, conditional execution. */
#include "mix.h"

int NAME(add)(int a, int b) { return a + b; }
int NAME(sub)(int a, int b) { return a > b ? a - b : b - a; }

int NAME(pick)(int kind, int a, int b) {
    switch (kind) {
    case 0: return a * b;
    case 1: return a ^ (b << 3);
    case 2: return a & ~b;
    case 3: return (a | b) + 5;
    case 4: return a - 7 * b;
    case 5: return b ? a / b : 0;
    case 6: return a << (b & 7);
    case 7: return (a >> 2) + b;
    case 8: return a == b;
    case 9: return -a;
    default: return kind;
    }
}

unsigned NAME(gcd)(unsigned a, unsigned b) {
    while (a != b) {
        if (a > b) a -= b; else b -= a;
    }
    return a;
}

int NAME(fib)(int n) { return n < 2 ? n : NAME(fib)(n - 1) + NAME(fib)(n - 2); }

int NAME(walk)(const struct node *list, int sum) {
    for (; list; list = list->next) {
        sum = list->visit(sum, list->value);
        if (sum < 0) return -sum;
        if (sum > 10000) sum = NAME(pick)(sum % 11, sum, list->value);
    }
    return sum;
}

unsigned long long NAME(mix)(unsigned long long x, const unsigned char *text) {
    while (*text) {
        unsigned char c = *text++;
        if (c >= 'A' && c <= 'Z') c += 32;
        else if (c == '_') continue;
        x = (x ^ c) * 1099511628211ull;
        if (x & 1) x = (x >> 1) | (x << 63);
    }
    return x;
}
