//! The test programs under QEMU: what they expect is not only our opinion.

use std::path::Path;
use std::process::{Command, Stdio};

const PROGRAMS: [&str; 16] = [
    "rv32-aligned",
    "rv32-atomic",
    "rv32-float",
    "rv32-integer",
    "rv32-mix",
    "rv32-privileged",
    "rv32-sv32",
    "rv64-aligned",
    "rv64-atomic",
    "rv64-float",
    "rv64-integer",
    "rv64-mix",
    "rv64-privileged",
    "rv64-sv39",
    "rv64-sv48",
    "rv64-sv57",
];

#[test]
fn programs_pass_under_qemu() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/riscv/elf");
    for program in PROGRAMS {
        let width = &program[2..4];
        let qemu = format!("qemu-system-riscv{width}");
        let elf = folder.join(format!("{program}.elf"));
        let option = if program.ends_with("aligned") { "c=false" } else { "Zfh=true" };
        let run = Command::new("timeout")
            .args([
                "60", &qemu, "-M", "virt", "-bios", "none", "-display", "none", "-serial", "null",
                "-monitor", "none",
            ])
            .args(["-cpu", &format!("rv{width},{option}"), "-kernel"])
            .arg(&elf)
            .stdin(Stdio::null())
            .output();
        match run {
            Ok(out) if out.status.code() == Some(127) => {
                return trackway_testkit::skipped(&format!("{qemu} is not installed"));
            }
            Ok(out) => {
                let said = String::from_utf8_lossy(&out.stderr);
                assert_eq!(
                    out.status.code(),
                    Some(0),
                    "{program}: the code is the number of the test. {said}"
                );
            }
            Err(_) => return trackway_testkit::skipped("`timeout` is not installed"),
        }
    }
}
