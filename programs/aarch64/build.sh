#!/bin/sh
# Builds sort.elf, records it under QEMU with a plugin that writes pcs, opcodes, accesses and system calls, and
# makes the golden trace of it. TRC is the compiled plugin; without it only the ELF is built.
set -e
cd "$(dirname "$0")"
aarch64-linux-gnu-gcc -march=armv8-a -nostdlib -static -Wl,--build-id=none -Wl,-z,norelro \
    -Wl,-Ttext-segment=0x400000 -o sort.elf sort.S
[ -n "$TRC" ] || exit 0
OUT=$(mktemp -d)
env -i qemu-aarch64 -seed 1 -plugin "$TRC,out=$OUT/sort" ./sort.elf
cp sort.elf "$OUT/sort.elf"
zstd -q --rm "$OUT"/sort.*
cargo run -q -p trackway-astf --example from_qemu -- "$OUT" sort ../../testdata/astf/sort.astf
rm -r "$OUT"
