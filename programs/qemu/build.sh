#!/bin/sh
# Builds the programs for tests of `record --qemu`. Needs gcc-aarch64-linux-gnu, gcc-arm-linux-gnueabihf and
# gcc-riscv64-linux-gnu (Debian).
set -eu
cd "$(dirname "$0")"
# build ARCHITECTURE PREFIX OPTION…
build() {
    name=guest-$1.elf prefix=$2
    shift 2
    "$prefix-gcc" "$@" -O2 -g0 -nostdlib -nostartfiles -static -no-pie -fno-pic -ffreestanding -fno-stack-protector \
        -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns -Wl,--build-id=none -Wl,-z,norelro \
        -Wl,-z,max-page-size=4096 guest.c -o "$name"
    "$prefix-strip" --strip-debug "$name"
}
build aarch64 aarch64-linux-gnu -march=armv8-a -mno-outline-atomics
build arm arm-linux-gnueabihf -march=armv7-a -marm -mfpu=vfpv3-d16
build riscv64 riscv64-linux-gnu -march=rv64gc -mabi=lp64d -Wl,--no-relax
build riscv32 riscv64-linux-gnu -march=rv32gc -mabi=ilp32d -Wl,--no-relax
