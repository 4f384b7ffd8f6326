#!/bin/sh
# Builds the test programs into programs/riscv/elf. Needs gcc-riscv64-linux-gnu (Debian) and cargo; for those that dump
# results clang-22, lld-22 and llvm-22 (binutils 2.40 lacks many of the extensions).
set -eu
cd "$(dirname "$0")"
CC=${CC:-riscv64-linux-gnu-gcc}
tables=$(mktemp -d)
trap 'rm -rf "$tables"' EXIT
cargo run --quiet --package trackway-oracle-softfloat --example program_tables -- "$tables"
mkdir -p elf

# build XLEN NAME SOURCE [OPTION…]
build() {
    xlen=$1 name=$2 source=$3
    shift 3
    case $xlen in
        32) abi=ilp32d ;;
        64) abi=lp64d ;;
    esac
    $CC -march=${arch:-rv${xlen}gc_zba_zbb_zbc_zbs} -mabi=$abi -mcmodel=medany -nostdlib -nostartfiles -static -no-pie -fno-pic -O2 -g0 \
        -ffreestanding -fno-asynchronous-unwind-tables -Wl,--build-id=none -Wl,-z,max-page-size=4096 -Wl,--no-warn-rwx-segments \
        -Wl,-T,link.ld -I. -I"$tables" "$@" "$source" -o "elf/rv$xlen-$name.elf"
    riscv64-linux-gnu-strip --strip-debug "elf/rv$xlen-$name.elf"
}

for xlen in 32 64; do
    build $xlen integer integer.S
    build $xlen integer-extra integer.S -DEXTRA
    build $xlen atomic atomic.S
    build $xlen float float.S
    build $xlen mix mix.c
    arch=rv${xlen}imafd_zicsr_zifencei build $xlen aligned aligned.S
    arch=rv${xlen}imafd_zicsr_zifencei build $xlen aligned-extra aligned.S -DEXTRA
    build $xlen privileged privileged.S
    build $xlen privileged-extra privileged.S -DEXTRA
done

build 64 signature signature.S
build 32 sv32 vm.S
build 64 sv39 vm.S -DMODE=8
build 64 sv48 vm.S -DMODE=9
build 64 sv57 vm.S -DMODE=10
build 32 sv32-extra vm.S -DEXTRA
build 64 sv39-extra vm.S -DMODE=8 -DEXTRA

# The Linux program needs no library: it makes its system calls itself.
mkdir -p linux
for xlen in 32 64; do
    case $xlen in
        32) abi=ilp32d ;;
        64) abi=lp64d ;;
    esac
    $CC -march=rv${xlen}gc -mabi=$abi -nostdlib -nostartfiles -static -no-pie -fno-pic -O2 -g0 -ffreestanding \
        -fno-asynchronous-unwind-tables -fno-stack-protector -Wl,--build-id=none -Wl,-z,max-page-size=4096 \
        -Wl,--no-warn-rwx-segments linux.c -o "linux/rv$xlen-linux.elf"
    riscv64-linux-gnu-strip --strip-debug "linux/rv$xlen-linux.elf"
done

# dump XLEN NAME EXTENSIONS: a program that dumps results.
mkdir -p dump
dump() {
    xlen=$1 name=$2
    case $xlen in
        32) abi=ilp32d ;;
        64) abi=lp64d ;;
    esac
    clang-22 --target=riscv$xlen -march=rv${xlen}gc_$3 -mabi=$abi -mcmodel=medany -mno-relax -nostdlib -static -fno-pic -O1 -g0 \
        -ffreestanding -fno-asynchronous-unwind-tables -fuse-ld=lld-22 -Wl,--build-id=none -Wl,-z,max-page-size=4096 \
        -Wl,-T,link.ld -I. "$name.c" -o "dump/rv$xlen-$name.elf"
    llvm-strip-22 --strip-debug "dump/rv$xlen-$name.elf"
}

for xlen in 32 64; do
    dump $xlen crypto zbkb_zbkc_zbkx_zknd_zkne_zknh_zksed_zksh
    dump $xlen extensions zicond_zcb_zba_zbb_zfa_zfh_zabha_zacas_zimop_zcmop_zicbom_zicbop_zicboz_zihintntl_zihintpause_zawrs
    dump $xlen options zicbom_zicboz_svinval_sstc_zicsr
done

# A program that looks at its core: none of the extensions that a small one lacks.
for xlen in 32 64; do
    case $xlen in
        32) abi=ilp32 ;;
        64) abi=lp64 ;;
    esac
    $CC -march=rv${xlen}imc_zicsr_zifencei -mabi=$abi -mcmodel=medany -nostdlib -nostartfiles -static -no-pie -fno-pic -O1 -g0 \
        -ffreestanding -fno-asynchronous-unwind-tables -fno-stack-protector -Wl,--build-id=none -Wl,-z,max-page-size=4096 \
        -Wl,--no-warn-rwx-segments -Wl,-T,link.ld -I. cores.c -o "dump/rv$xlen-cores.elf"
    riscv64-linux-gnu-strip --strip-debug "dump/rv$xlen-cores.elf"
done

# The program to profile has debug information, with paths that do not depend on where it was built.
$CC -march=rv64gc -mabi=lp64d -mcmodel=medany -nostdlib -nostartfiles -static -no-pie -fno-pic -O2 -g -gdwarf-4 \
    -ffreestanding -fno-asynchronous-unwind-tables -ffile-prefix-map="$PWD"=. -Wl,--build-id=none \
    -Wl,-z,max-page-size=4096 -Wl,--no-warn-rwx-segments -Wl,-T,link.ld calls.c -o elf/rv64-calls.elf
