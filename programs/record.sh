#!/bin/sh
# Records which instructions a small Arm program executes, as straight runs: START ISA COUNT, one line each.
# Usage: record.sh PROGRAM.elf > PROGRAM.runs; needs qemu-user 7 (qemu-arm, qemu-aarch64).
set -e
case "$(od -An -tu2 -j18 -N2 "$1" | tr -d ' ')" in
40) qemu=qemu-arm ;;
183) qemu=qemu-aarch64 ;;
*) echo "$1: neither Arm nor AArch64" >&2; exit 2 ;;
esac
log=$(mktemp)
env -i "$(command -v $qemu)" -seed 1 -singlestep -d exec,nochain -D "$log" "$1" > /dev/null || true
# Trace 0: HOST [FLAGS/PC/...]; for Arm bit 23 of the flags is Thumb.
sed -n 's/^Trace 0: [^[]*\[\([0-9a-f]*\)\/\([0-9a-f]*\)\/.*/\1 \2/p' "$log" | python3 -c '
import struct, sys
elf = open(sys.argv[2], "rb").read()
def length(pc):
    # Of a T32 instruction, which the ELF file has (32-bit, little-endian).
    offset, size, count = struct.unpack_from("<I", elf, 28)[0], *struct.unpack_from("<HH", elf, 42)
    for n in range(count):
        kind, at, address, _, bytes = struct.unpack_from("<IIIII", elf, offset + n * size)
        if kind == 1 and address <= pc < address + bytes:
            half = struct.unpack_from("<H", elf, at + pc - address)[0]
            return 4 if half >> 11 in (29, 30, 31) else 2
runs = []
for line in sys.stdin:
    flags, pc = (int(word, 16) for word in line.split())
    isa = "a64" if sys.argv[1] == "qemu-aarch64" else "t32" if flags >> 23 & 1 else "a32"
    step = length(runs[-1][3]) if runs and runs[-1][1] == "t32" else 4
    if runs and runs[-1][1] == isa and pc - runs[-1][3] == step:
        runs[-1][2] += 1
        runs[-1][3] = pc
    else:
        runs.append([pc, isa, 1, pc])
for start, isa, count, _ in runs:
    print(f"{start:x} {isa} {count}")
' $qemu "$1"
rm "$log"
