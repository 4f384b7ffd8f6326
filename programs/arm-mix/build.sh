#!/bin/sh
# Builds arm-mix.elf with Debian's cross compiler (gcc-arm-linux-gnueabihf 12). Run in this folder.
set -e
cc="arm-linux-gnueabihf-gcc -march=armv7ve+fp -O2 -g -gdwarf-4 -ffreestanding -fno-builtin -fdebug-prefix-map=$PWD=."
$cc -marm   -DSET=a32_ -c mix.c -o a32.o
$cc -mthumb -DSET=t32_ -c mix.c -o t32.o
$cc -marm -c start.S -o start.o
$cc -nostdlib -static -no-pie -Wl,--build-id=none -Wl,-Ttext=0x10000 start.o a32.o t32.o -o arm-mix.elf
rm -f a32.o t32.o start.o
