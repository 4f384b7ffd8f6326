// Zbkb, Zbkc, Zbkx, Zknd, Zkne, Zknh, Zksed, Zksh: every instruction of the width, with many operands.
#include "dump.h"

#define BYTES(insn) do { BINARY_WITH(insn, 0); BINARY_WITH(insn, 1); BINARY_WITH(insn, 2); BINARY_WITH(insn, 3); } while (0)

int main(void) {
    BINARY(andn);
    BINARY(orn);
    BINARY(xnor);
    BINARY(rol);
    BINARY(ror);
    UNARY_WITH(rori, 1);
    UNARY_WITH(rori, 31);
    UNARY(rev8);
    UNARY(zext.h);
    BINARY(pack);
    BINARY(packh);
    UNARY(brev8);
    BINARY(clmul);
    BINARY(clmulh);
    BINARY(xperm4);
    BINARY(xperm8);
    UNARY(sha256sum0);
    UNARY(sha256sum1);
    UNARY(sha256sig0);
    UNARY(sha256sig1);
    BYTES(sm4ed);
    BYTES(sm4ks);
    UNARY(sm3p0);
    UNARY(sm3p1);
#if __riscv_xlen == 64
    BINARY(rolw);
    BINARY(rorw);
    UNARY_WITH(roriw, 7);
    BINARY(packw);
    BINARY(aes64es);
    BINARY(aes64esm);
    BINARY(aes64ds);
    BINARY(aes64dsm);
    UNARY(aes64im);
    BINARY(aes64ks2);
    UNARY_WITH(aes64ks1i, 0);
    UNARY_WITH(aes64ks1i, 1);
    UNARY_WITH(aes64ks1i, 2);
    UNARY_WITH(aes64ks1i, 3);
    UNARY_WITH(aes64ks1i, 4);
    UNARY_WITH(aes64ks1i, 5);
    UNARY_WITH(aes64ks1i, 6);
    UNARY_WITH(aes64ks1i, 7);
    UNARY_WITH(aes64ks1i, 8);
    UNARY_WITH(aes64ks1i, 9);
    UNARY_WITH(aes64ks1i, 10);
    UNARY(sha512sum0);
    UNARY(sha512sum1);
    UNARY(sha512sig0);
    UNARY(sha512sig1);
#else
    UNARY(zip);
    UNARY(unzip);
    BYTES(aes32esi);
    BYTES(aes32esmi);
    BYTES(aes32dsi);
    BYTES(aes32dsmi);
    BINARY(sha512sum0r);
    BINARY(sha512sum1r);
    BINARY(sha512sig0l);
    BINARY(sha512sig0h);
    BINARY(sha512sig1l);
    BINARY(sha512sig1h);
#endif
    finish(0);
}
