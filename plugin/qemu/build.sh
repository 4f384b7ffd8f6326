#!/bin/sh
# Builds the plugin for each version of QEMU's plugin API into target/. Needs rustc only.
set -eu
cd "$(dirname "$0")"
mkdir -p target
# build API [FEATURE…]
build() {
    api=$1 out=target/libtrackway_qemu_api$1.so
    shift
    for feature; do
        set -- "$@" --cfg "feature=\"$feature\""
        shift
    done
    ${RUSTC:-rustc} --edition 2024 --crate-type cdylib -C opt-level=3 -C panic=abort -C strip=debuginfo "$@" -o "$out" src/lib.rs
}
build 1
build 2 api2
build 3 api3
build 4 api3 api4
