//! Functions and lines: by hand on our own program, and against GNU addr2line on the corpus.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use trackway_core::Isa;
use trackway_image::{Image, Listing, Mapping, Space};
use trackway_testkit::qemu::Run;

fn arm_mix() -> Image {
    let file = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/arm-mix/arm-mix.elf"));
    let mut image = Image::default();
    image.add_elf("arm-mix", Arc::new(file.expect("in the repository")), None, Space::default()).unwrap();
    image
}

#[test]
fn functions_labels_and_mapping() {
    let image = arm_mix();
    assert_eq!(image.place(0x10000).as_deref(), Some("_start"));
    assert_eq!(image.place(0x100c0).as_deref(), Some("a32_add+0x4"));
    let symbol = image.named("t32_fib").expect("it is there");
    assert_eq!((symbol.isa, symbol.address & 1), (Some(Isa::T32), 0));
    assert_eq!(image.place(symbol.address + 2).as_deref(), Some("t32_fib+0x2"));
    assert_eq!(image.named("a32_pick").and_then(|symbol| symbol.isa), Some(Isa::A32));
    assert_eq!(image.mapping(0x10000), Some(Mapping::Code(Some(Isa::A32))));
    assert_eq!(image.mapping(symbol.address), Some(Mapping::Code(Some(Isa::T32))));
    assert_eq!(image.named("nothing"), None);
    assert_eq!(image.place(0x4000_0000), None);
    // A label without a size has what follows it.
    assert_eq!(image.place(0x1005c).as_deref(), Some("done"));
}

/// A label without a size ends with its section: it does not name the data after it.
#[test]
fn a_label_names_nothing_after_its_section() {
    let file = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/riscv/sort.elf"));
    let mut image = Image::default();
    image.add_elf("sort", Arc::new(file.expect("in the repository")), None, Space::default()).unwrap();
    assert_eq!(image.place(0x10142).as_deref(), Some("sum+0xc"));
    assert_eq!(image.place(0x11148), None);
}

/// A dump of memory, as snapshots have it, lies over the file and has no names of its own.
#[test]
fn symbols_below_a_dump() {
    let mut image = arm_mix();
    image.add_raw("dump", 0x10000, Arc::new([0; 0x200]), Space::default()).unwrap();
    assert_eq!(image.place(0x100c0).as_deref(), Some("a32_add+0x4"));
    assert_eq!(image.memory(&trackway_core::Context::default()).word(0x100c0), Some(0));
}

#[test]
fn a_listing_row() {
    let mut listing = Listing::new(Arc::new(arm_mix()), trackway_isa::Style::default());
    assert_eq!(listing.text(Isa::A32, 0x100c0, 0xe12f_ff1e), "bx lr");
    let row = listing.row(0x100c0).clone();
    assert_eq!(row.place, "a32_add+0x4");
    assert!(row.line.ends_with("mix.c:4"), "{row:?}");
    assert_eq!(listing.row(8).clone(), trackway_image::Row::default());
}

/// Function and line of addresses spread over the code, as GNU addr2line has them.
#[test]
fn as_addr2line() {
    for (folder, tool) in
        [("aarch64", "aarch64-linux-gnu-addr2line"), ("rv64gc", "riscv64-linux-gnu-addr2line")]
    {
        if Command::new(tool).arg("--version").stdout(Stdio::null()).status().is_err() {
            trackway_testkit::skipped(&format!("{tool} is not installed"));
            continue;
        }
        let Some(run) = Run::corpus(folder, "lua") else { return };
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lua-{folder}"));
        std::fs::write(&path, &run.elf).expect("scratch file");
        let mut image = Image::default();
        image.add_elf("lua", Arc::new(run.elf.clone()), None, Space::default()).unwrap();
        // Every 97th instruction that ran.
        let mut pcs: Vec<u64> = run.code.keys().copied().collect();
        pcs.sort_unstable();
        let pcs: Vec<u64> = pcs.into_iter().step_by(97).collect();

        let mut child = Command::new(tool)
            .arg("-e")
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut input = child.stdin.take().expect("piped");
        let asked: String = pcs.iter().map(|pc| format!("{pc:#x}\n")).collect();
        let writer = std::thread::spawn(move || input.write_all(asked.as_bytes()));
        let output = child.wait_with_output().expect("it ends");
        writer.join().expect("no panic").expect("written");
        let expected = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut known = 0;
        for (pc, expected) in pcs.iter().zip(expected.lines()) {
            let expected = expected.split(" (").next().unwrap_or(expected);
            let ours = image.line(*pc).map_or("??:0".to_string(), |line| line.to_string());
            if expected.starts_with("??") || expected.ends_with(":?") {
                continue;
            }
            let tail = |text: &str| text.rsplit('/').next().unwrap_or(text).to_string();
            assert_eq!(tail(&ours), tail(expected), "{folder} {pc:#x}");
            known += 1;
        }
        assert!(known > 100, "{folder}: {known} of {}", pcs.len());
        // Every function that ran has a name.
        for pc in &pcs {
            assert!(image.place(*pc).is_some(), "{folder} {pc:#x}");
        }
    }
}
