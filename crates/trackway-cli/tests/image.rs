//! `trackway image`, from outside.

mod common;

use std::process::Command;

use common::{stdout, trackway};

const ARM_MIX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/arm-mix/arm-mix.elf");

#[test]
fn an_overview() {
    let text = stdout(&["image", ARM_MIX]);
    assert!(text.contains("instruction set  a32"), "{text}");
    assert!(text.contains("entry            0000000000010000 _start"), "{text}");
    assert!(text.contains("source lines     yes"), "{text}");
}

#[test]
fn disassembly_is_one_line_per_instruction() {
    let text = stdout(&["image", ARM_MIX, "--disasm"]);
    // A32, T32 narrow and wide, and data among the code, each by its mapping symbol.
    for line in [
        "0000000000010000: e3a0000c mov r0, #0xc",
        "0000000000010068: 000001ce .word 0x000001ce",
        "0000000000010094: 0401 .short 0x0401",
        "000000000001008e: b110 cbz r0, #0x10096",
        "0000000000010090: e8dff001 tbb [pc, r1]",
        "00000000000100c0: e12fff1e bx lr",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}");
    }
    let one = stdout(&["image", ARM_MIX, "--disasm", "--from", "sym:a32_add"]);
    assert_eq!(one, "00000000000100bc: e0800001 add r0, r0, r1\n00000000000100c0: e12fff1e bx lr\n");
    let moved = stdout(&["image", &format!("{ARM_MIX}@0x400000"), "--disasm", "--from", "sym:a32_add"]);
    assert!(moved.starts_with("00000000004010bc: e0800001 add"), "{moved}");
}

#[test]
fn blocks_and_symbols() {
    let text = stdout(&["image", ARM_MIX, "--blocks"]);
    assert!(
        text.starts_with("0000000000010000 0000000000010008 2 call -> 000000000001019c  _start\n"),
        "{text}"
    );
    assert!(text.contains("0000000000010078 0000000000010088 4 return  __aeabi_idivmod\n"), "{text}");
    let text = stdout(&["image", ARM_MIX, "--symbols"]);
    assert!(text.contains("00000000000100bc 8 a32_add\n"), "{text}");
}

#[test]
fn raw_bytes_need_an_address_and_a_set() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("raw.bin");
    std::fs::write(&path, [0x13, 0x05, 0xa5, 0x00, 0x82, 0x80]).expect("scratch file");
    let spec = format!("{}@0x80000000", path.display());
    let text = stdout(&["image", "--raw", &spec, "--isa", "rv64", "--disasm"]);
    assert_eq!(text, "0000000080000000: 00a50513 addi a0,a0,10\n0000000080000004: 8082 ret\n");
    let codes = [
        (vec!["image", "--raw", spec.as_str(), "--disasm"], 2),
        (vec!["image", "--raw", path.to_str().unwrap(), "--isa", "rv64", "--disasm"], 3),
        (vec!["image", path.to_str().unwrap()], 3),
        (vec!["image", "/nonexistent"], 3),
        (vec!["image", ARM_MIX, "--disasm", "--from", "sym:nothing"], 2),
        (vec!["image", ARM_MIX, "--disasm", "--from", "0x90000000"], 1),
        (vec!["image", ARM_MIX, "--disasm", "--blocks"], 2),
    ];
    for (args, code) in codes {
        assert_eq!(trackway(&args).status.code(), Some(code), "{args:?}");
    }
}

/// The same addresses and encodings as objdump, over all sections of code of real programs.
#[test]
fn disassembly_covers_what_objdump_covers() {
    for (folder, tool) in [("rv64gc", "riscv64-linux-gnu-"), ("aarch64", "aarch64-linux-gnu-")] {
        let packed = trackway_testkit::corpus_part(&format!("qemu/{folder}/qsortmix.elf.zst"));
        let Some(packed) = packed else { return };
        let program = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{folder}.elf"));
        let bytes = std::fs::File::open(&packed).and_then(zstd::decode_all).expect("a good file");
        std::fs::write(&program, bytes).expect("scratch file");
        let objdump = Command::new(format!("{tool}objdump")).args(["-d", "-z", "-w"]).arg(&program).output();
        let Ok(objdump) = objdump else {
            trackway_testkit::skipped(&format!("{tool}objdump is not installed"));
            continue;
        };
        let line = |line: &str| {
            let mut columns = line.split('\t');
            let address = u64::from_str_radix(columns.next()?.trim().strip_suffix(':')?, 16).ok()?;
            Some(format!("{address:016x}: {}", columns.next()?.trim()))
        };
        let text = String::from_utf8_lossy(&objdump.stdout).into_owned();
        let theirs: Vec<String> = text.lines().filter_map(line).collect();
        // From the packed file: it is unpacked on the way.
        let ours = stdout(&["image", &packed.display().to_string(), "--disasm"]);
        let ours: Vec<&str> = ours.lines().collect();
        assert_eq!(ours.len(), theirs.len(), "{folder}");
        assert!(ours.len() > 50_000);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert!(ours.starts_with(&format!("{theirs} ")), "{ours} against {theirs}");
        }
    }
}
