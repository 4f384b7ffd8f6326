#!/bin/sh
# Builds count.bin, the raw code of count.S. Needs gcc-aarch64-linux-gnu.
set -e
cd "$(dirname "$0")"
aarch64-linux-gnu-gcc -c -o count.o count.S
aarch64-linux-gnu-objcopy -O binary -j .text count.o count.bin
rm count.o
