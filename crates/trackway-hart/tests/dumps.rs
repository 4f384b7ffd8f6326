//! The programs that dump results print on the model what they print under QEMU.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use trackway_hart::machine::{Machine, MachineConfig, Status};
use trackway_hart::{Config, Extensions, Program};
use trackway_isa::riscv::Extension;

const PROGRAMS: [&str; 6] =
    ["rv32-crypto", "rv32-extensions", "rv32-options", "rv64-crypto", "rv64-extensions", "rv64-options"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/riscv/dump")
}

/// The output of QEMU 10.0.2.
fn expected(name: &str) -> String {
    std::fs::read_to_string(folder().join(format!("{name}.txt"))).expect("in the repository")
}

/// Compares line by line: the name of the instruction is at its beginning.
fn agree(name: &str, expected: &str, found: &str) {
    for (expected, found) in expected.lines().zip(found.lines()) {
        assert_eq!(expected, found, "{name}");
    }
    assert_eq!(expected.lines().count(), found.lines().count(), "{name}");
}

#[test]
fn the_model_prints_what_qemu_prints() {
    for name in PROGRAMS {
        let program = std::fs::read(folder().join(format!("{name}.elf"))).expect("in the repository");
        let program = Program::read(&program).expect("an ELF");
        let mut core = Config::new(program.isa);
        if name.ends_with("options") {
            core.extensions = Extensions::ALL.union(Extensions::OPTIONS).with(Extension::Svade, false);
        }
        let mut machine = Machine::new(MachineConfig::new(core), &program).expect("loads");
        machine.run(20_000_000);
        let printed = String::from_utf8(machine.take_output()).expect("text");
        agree(name, &expected(name), &printed);
        assert_eq!(machine.status(), Status::Passed, "{name}");
    }
}

/// Without the extensions the same programs trap.
#[test]
fn cores_without_them_trap() {
    for name in PROGRAMS {
        let program = std::fs::read(folder().join(format!("{name}.elf"))).expect("in the repository");
        let program = Program::read(&program).expect("an ELF");
        let (_, extensions) = Extensions::read("rv64gc").expect("an ISA string");
        let core = Config { extensions, ..Config::new(program.isa) };
        let mut machine = Machine::new(MachineConfig::new(core), &program).expect("loads");
        machine.run(1_000_000);
        let printed = String::from_utf8(machine.take_output()).expect("text");
        assert_ne!(printed, expected(name), "{name}");
    }
}

/// Described cores: their names here and in QEMU, and the width of the program that looks at them.
const CORES: [(&str, &str, &str); 3] =
    [("ibex", "lowrisc-ibex", "32"), ("qemu", "rv32", "32"), ("qemu", "rv64", "64")];

#[test]
fn described_cores_print_what_qemu_prints() {
    for (preset, _, width) in CORES {
        let program =
            std::fs::read(folder().join(format!("rv{width}-cores.elf"))).expect("in the repository");
        let program = Program::read(&program).expect("an ELF");
        let core = Config::preset(preset, program.isa).expect("is described");
        let mut machine = Machine::new(MachineConfig::new(core), &program).expect("loads");
        machine.run(1_000_000);
        let printed = String::from_utf8(machine.take_output()).expect("text");
        let name = format!("rv{width}-{preset}");
        agree(&name, &expected(&name), &printed);
        assert_eq!(machine.status(), Status::Passed, "{name}");
    }
}

/// The installed QEMU, live: version 10 for all of them, an older one for cryptography.
#[test]
fn an_installed_qemu_prints_the_same() {
    for name in PROGRAMS {
        let qemu = format!("qemu-system-riscv{}", &name[2..4]);
        let Some(major) = version(&qemu) else {
            return trackway_testkit::skipped(&format!("{qemu} is not installed"));
        };
        if major < 10 && !name.ends_with("crypto") {
            trackway_testkit::skipped(&format!("{name}: {qemu} is older than 10"));
            continue;
        }
        agree(name, &expected(name), &printed_by(&qemu, name, &options(name)));
    }
}

/// QEMU 10, which `cargo xtask test --peers` fetches: programs and described cores.
#[test]
#[ignore = "peers: needs QEMU 10"]
fn qemu_10_prints_the_same() {
    let Some(peers) = std::env::var_os("TRACKWAY_PEERS").map(PathBuf::from) else {
        return trackway_testkit::skipped("TRACKWAY_PEERS is not set");
    };
    let qemu = |width: &str| {
        let path = peers.join(format!("qemu10/usr/bin/qemu-system-riscv{width}"));
        path.display().to_string()
    };
    if version(&qemu("64")) != Some(10) {
        return trackway_testkit::skipped("QEMU 10 could not be fetched");
    }
    for name in PROGRAMS {
        agree(name, &expected(name), &printed_by(&qemu(&name[2..4]), name, &options(name)));
    }
    for (preset, core, width) in CORES {
        let name = format!("rv{width}-{preset}");
        let printed = printed_by(&qemu(width), &format!("rv{width}-cores"), core);
        agree(&name, &expected(&name), &printed);
    }
}

/// `-cpu` for a program.
fn options(name: &str) -> String {
    match (name.ends_with("options"), &name[2..4]) {
        (true, "64") => format!("rv64,{OPTIONS},svnapot=true,svpbmt=true"),
        (true, _) => format!("rv32,{OPTIONS}"),
        (_, width) => {
            format!("rv{width},{}", if name.ends_with("crypto") { CRYPTO } else { INSTRUCTIONS })
        }
    }
}

/// The output of a program under QEMU.
fn printed_by(qemu: &str, name: &str, core: &str) -> String {
    let run = Command::new("timeout")
        .args(["60", qemu, "-M", "virt", "-bios", "none", "-display", "none", "-monitor", "none"])
        .args(["-serial", "stdio", "-cpu", core, "-kernel"])
        .arg(folder().join(format!("{name}.elf")))
        .stdin(Stdio::null())
        .output()
        .expect("`timeout` runs");
    assert!(run.status.success(), "{name}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8_lossy(&run.stdout).into_owned()
}

const CRYPTO: &str = "zbkb=true,zbkc=true,zbkx=true,zknd=true,zkne=true,zknh=true,zksed=true,zksh=true";
const INSTRUCTIONS: &str = "zicond=true,zcb=true,zfa=true,zfh=true,zabha=true,zacas=true,zimop=true,zcmop=true,zicbom=true,\
     zicboz=true,zawrs=true";
const OPTIONS: &str = "zicbom=true,zicboz=true,sstc=true,svinval=true,svadu=true,svade=false,smepmp=true,smstateen=true,\
     sscofpmf=true,zkr=true";

/// The major version of an installed QEMU.
fn version(program: &str) -> Option<u32> {
    let out = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    text.split("version ").nth(1)?.split('.').next()?.parse().ok()
}
