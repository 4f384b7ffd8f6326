//! Tests that need other people's programs: installed where that is possible, and said where it is not.

use std::process::Command;
use std::time::Instant;

use crate::{Outcome, cargo, skips, tree};

/// Debian packages, one after the other: one that cannot be had takes no other with it.
const PACKAGES: [&str; 17] = [
    "valgrind",
    "lcov",
    "golang-1.19-go",
    "chromium",
    "llvm-22",
    "clang-22",
    "lld-22",
    "bolt-22",
    "autofdo",
    "gcc-riscv64-linux-gnu",
    "qemu-user",
    "python3-venv",
    "openjdk-17-jre-headless",
    "linux-perf",
    "verilator",
    "gdb-multiarch",
    "lldb-22",
];

/// Fetched into `target/peers`, each by a shell there, unless the file is there already.
const FETCHED: [(&str, &str); 5] = [
    (
        "venv/lib",
        "python3 -m venv venv && venv/bin/pip install -q perfetto protobuf jsonschema || (rm -rf venv; false)",
    ),
    (
        "speedscope/package",
        "rm -rf speedscope && mkdir speedscope && cd speedscope && npm pack -s speedscope && tar -xzf *.tgz",
    ),
    // QEMU with plugin API 4, beside Debian 12's own, whose modules it must not load: a bundle has none.
    (
        "qemu10/usr/bin",
        "D=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | head -n 1); rm -rf qemu10; curl -fs $D/dists/bookworm-backports/main/binary-amd64/Packages.xz \
         | xz -d | awk '/^Package: /{p=$2} /^Filename: /&&(p==\"qemu-system-riscv\"||p==\"qemu-system-arm\"){print $2}' \
         | while read -r F; do curl -fs -o qemu.deb $D/$F && dpkg -x qemu.deb qemu10; done; \
         mkdir -p qemu10/usr/bin/qemu-bundle/usr && ln -sfn /usr/share qemu10/usr/bin/qemu-bundle/usr/share",
    ),
    (
        "playwright/node_modules/playwright-core",
        "mkdir -p playwright && npm install -s --no-audit --no-fund --no-save --prefix playwright playwright-core",
    ),
    (
        "dap/node_modules/@vscode/debugadapter-testsupport",
        "mkdir -p dap && npm install -s --no-audit --no-fund --no-save --prefix dap @vscode/debugadapter-testsupport",
    ),
];

/// Packages and files of tests whose ignored tests are run.
const TESTS: [(&str, &str); 10] = [
    ("trackway-cli", "peers"),
    ("trackway-cli", "browser"),
    ("trackway-cli", "viewer"),
    ("trackway-cli", "dap"),
    ("trackway-cli", "qemu_peers"),
    ("trackway-cli", "qemu_system"),
    ("trackway", "perf"),
    ("trackway-capi", "c"),
    ("trackway-hart", "dumps"),
    ("trackway-cli", "python"),
];

/// Installs, runs, and prints what was skipped and the time.
pub(crate) fn test() -> Outcome {
    let begun = Instant::now();
    for package in PACKAGES {
        let installed = Command::new("dpkg").args(["-s", package]).output();
        if installed.is_ok_and(|output| output.status.success()) {
            continue;
        }
        eprintln!("== installing {package}");
        let done = Command::new("apt-get").args(["install", "-y", "-q", package]).output();
        if !done.is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: {package} cannot be installed: apt-get install {package}");
        }
    }
    let folder = tree::root().join("target/peers");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    for (file, script) in FETCHED {
        if folder.join(file).exists() {
            continue;
        }
        eprintln!("== {script}");
        let done = Command::new("sh").args(["-c", script]).current_dir(&folder).output();
        if !done.is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: cannot be fetched: {script}");
        }
    }
    let skips = skips::begin(&tree::root()).map_err(|error| error.to_string())?;
    let (file, folder) = (skips.display().to_string(), folder.display().to_string());
    let variables = [(skips::VARIABLE, &*file), ("TRACKWAY_PEERS", &*folder)];
    let outcome = TESTS.iter().try_for_each(|(package, file)| {
        cargo(file, &format!("test --locked -p {package} --test {file} -- --ignored"), &variables)
    });
    eprint!("{}", skips::report(&skips));
    eprintln!("== {} seconds", begun.elapsed().as_secs());
    outcome
}
