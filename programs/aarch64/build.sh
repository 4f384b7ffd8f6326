#!/bin/sh
# Builds sort.elf and levels.elf, and makes the golden traces of them. levels.elf is recorded by an example of
# ours; sort.elf under QEMU with a plugin that writes pcs, opcodes, accesses and system calls: TRC is the compiled
# plugin, without it sort.elf is only built.
set -e
cd "$(dirname "$0")"
aarch64-linux-gnu-gcc -march=armv8-a -nostdlib -static -Wl,--build-id=none -Wl,-z,norelro \
    -Wl,-Ttext-segment=0x400000 -o sort.elf sort.S
aarch64-linux-gnu-gcc -march=armv8-a -nostdlib -static -Wl,--build-id=none -Wl,-z,norelro \
    -Wl,-Ttext=0x40080000 -Wl,-z,max-page-size=4096 -o levels.elf levels.S
aarch64-linux-gnu-gcc -march=armv8-a -g -O1 -nostdlib -static -ffreestanding -fno-stack-protector \
    -fno-asynchronous-unwind-tables -ffile-prefix-map="$PWD=." -Wl,--build-id=none -Wl,-z,max-page-size=4096 -o crash.elf crash.c
cargo run -q -p trackway-astf --example levels -- levels.elf ../../testdata/astf/levels.astf
[ -n "$TRC" ] || exit 0
OUT=$(mktemp -d)
env -i qemu-aarch64 -seed 1 -plugin "$TRC,out=$OUT/sort" ./sort.elf
cp sort.elf "$OUT/sort.elf"
zstd -q --rm "$OUT"/sort.*
cargo run -q -p trackway-astf --example from_qemu -- "$OUT" sort ../../testdata/astf/sort.astf
rm -r "$OUT"
