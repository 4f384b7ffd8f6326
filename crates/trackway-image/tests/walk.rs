//! The real executions of the corpus, followed through the block table: every successor is what the table
//! allows, and the counts add up to the length of the stream.

use std::collections::BTreeMap;
use std::sync::Arc;

use trackway_core::{Context, Isa};
use trackway_image::{Image, Mapping, Space, Waypoints};
use trackway_isa::{Control, Switch};
use trackway_testkit::qemu::Run;

const PROGRAMS: [&str; 6] = ["qsortmix", "fpmix", "sigmt", "lua", "minigzip", "bzip2"];

/// The ELF, and the code that ran outside it (the emulator's sigreturn page and reset ROM).
fn image(run: &Run) -> Image {
    let mut image = Image::default();
    image.add_elf(&run.name, Arc::new(run.elf.clone()), None, Space::default()).expect("a good file");
    let memory = image.memory(&Context::default());
    let outside: BTreeMap<u64, (u32, u8)> =
        run.code.iter().filter(|(pc, _)| memory.halfword(**pc).is_none()).map(|(k, v)| (*k, *v)).collect();
    for (pc, (word, size)) in outside {
        let bytes = word.to_le_bytes()[..size.into()].to_vec();
        image.add_raw("emulator", pc, Arc::new(bytes), Space::default()).expect("fits");
    }
    image
}

/// The result of a walk.
#[derive(Debug, Default, PartialEq, Eq)]
struct Walk {
    /// Instructions, by the counts of the blocks (less what a trap cut off).
    instructions: u64,
    /// Runs left before their end: something trapped or interrupted.
    cut: u64,
    /// Runs that ended with a direct or no transfer, and the stream went on elsewhere.
    elsewhere: u64,
    /// Blocks.
    blocks: u64,
}

fn walk(run: &Run, waypoints: Waypoints) -> Walk {
    let image = image(run);
    let blocks = image.blocks(&Context::default(), run.isa, waypoints);
    let mut cursor = blocks.cursor();
    let mut walk = Walk::default();
    let mut at = 0;
    while at < run.pcs.len() {
        let pc = run.pcs[at];
        let block = cursor.at(pc).unwrap_or_else(|| panic!("{}: no code at {pc:#x}", run.name));
        assert_eq!(block.start, pc);
        let mut address = pc;
        let mut done = 0;
        while done < block.count && run.pcs.get(at + done as usize) == Some(&address) {
            assert_eq!(cursor.position(pc, address), Some(done), "{}: {address:#x} from {pc:#x}", run.name);
            let (encoding, size) = run.code[&address];
            let (found, length) = blocks.memory().fetch(run.isa, address).expect("known");
            assert_eq!((found, length), (encoding, size), "{}: {address:#x}", run.name);
            if length == 4 {
                assert_eq!(cursor.position(pc, address + 2), None);
            }
            address += u64::from(length);
            done += 1;
        }
        walk.blocks += 1;
        walk.instructions += u64::from(done);
        at += done as usize;
        let Some(&next) = run.pcs.get(at) else {
            // The recording ends with a system call or in a loop, wherever that is in its run.
            break;
        };
        if done < block.count {
            walk.cut += 1;
            continue;
        }
        assert_eq!((address, block.last < block.end), (block.end, true));
        let allowed = match block.control {
            control if control.is_indirect() => true,
            control if control.is_direct() => {
                block.target == Some(next) || (block.conditional && next == block.end)
            }
            Control::Sequential => {
                assert_eq!(cursor.at(block.end), None, "{}: {block:x?} ends without a reason", run.name);
                false
            }
            _ => next == block.end,
        };
        walk.elsewhere += u64::from(!allowed);
    }
    walk
}

/// Where the program did not decide where it went: runs cut short, and runs that went on elsewhere.
///
/// `sigmt`: 20 loads fault, 40 signals come at a system call (which ends a run only if it is a waypoint), and
/// 40 returns from handlers run into the end of the emulator's sigreturn page.
/// `aarch64-traps`: 6 SVC and an undefined instruction; the HVC is the last instruction.
/// `rv64-traps`: 6 ECALL and an illegal instruction; a load that faults and a timer interrupt.
fn expected(run: &Run, waypoints: Waypoints) -> (u64, u64) {
    match (run.name.as_str(), waypoints.trap) {
        ("aarch64/sigmt" | "rv64gc/sigmt", false) => (20 + 40, 40),
        ("rv64gc/sigmt", true) => (20, 40 + 40),
        ("bare/aarch64-traps", false) => (6 + 1, 0),
        ("bare/rv64-traps", false) => (6 + 1 + 2, 0),
        ("bare/rv64-traps", true) => (2, 6 + 1),
        _ => (0, 0),
    }
}

#[test]
fn every_successor_is_what_the_table_allows() {
    let runs = ["aarch64", "rv64gc"]
        .iter()
        .flat_map(|folder| PROGRAMS.iter().map(move |name| (*folder, *name)))
        .chain([("bare", "aarch64-traps"), ("bare", "rv64-traps")]);
    for (folder, name) in runs {
        let Some(run) = Run::corpus(folder, name) else { return };
        let choices = match run.isa {
            Isa::A64 => [Waypoints::ete(true), Waypoints::ete(false)],
            _ => [Waypoints::ETRACE, Waypoints::TRANSFERS],
        };
        for waypoints in choices {
            let walk = walk(&run, waypoints);
            assert_eq!(walk.instructions, run.pcs.len() as u64, "{}", run.name);
            assert_eq!((walk.cut, walk.elsewhere), expected(&run, waypoints), "{}: {waypoints:?}", run.name);
        }
    }
}

/// Our own Arm program as QEMU executes it, A32 and T32 by turns: each exit is followed in the set that
/// the table says, and an indirect one in the set that the file's mapping symbols say.
#[test]
fn a32_and_t32_as_qemu_runs_them() {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/arm-mix/arm-mix.elf");
    let log = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("arm-mix.log");
    let mut qemu = std::process::Command::new("qemu-arm");
    qemu.args(["-singlestep", "-d", "exec,nochain", "-D"]).arg(&log).arg(program);
    match qemu.status() {
        Ok(status) => assert!(status.success(), "the program found itself wrong"),
        Err(_) => return trackway_testkit::skipped("qemu-arm is not installed"),
    }
    let text = std::fs::read_to_string(log).expect("qemu wrote it");
    let pc = |line: &str| u64::from_str_radix(line.split('/').nth(1)?, 16).ok();
    let pcs: Vec<u64> = text.lines().filter(|line| line.starts_with("Trace")).filter_map(pc).collect();

    let mut image = Image::default();
    let bytes = std::fs::read(program).expect("in the repository");
    image.add_elf("arm-mix", Arc::new(bytes), None, Space::default()).expect("a good file");
    let cursor = |isa| image.blocks(&Context::default(), isa, Waypoints::ete(true)).cursor();
    let (mut a32, mut t32) = (cursor(Isa::A32), cursor(Isa::T32));
    let mapped = |pc| match image.mapping(pc) {
        Some(Mapping::Code(Some(isa))) => isa,
        other => panic!("{pc:#x}: {other:?}"),
    };
    let (mut at, mut isa) = (0, Isa::A32);
    let (mut switches, mut conditional) = (0, 0);
    while at < pcs.len() {
        assert_eq!(isa, mapped(pcs[at]), "{:#x}", pcs[at]);
        let cursor = if isa == Isa::A32 { &mut a32 } else { &mut t32 };
        let block = cursor.at(pcs[at]).unwrap_or_else(|| panic!("no code at {:#x}", pcs[at]));
        for n in 0..block.count {
            // The last run ends with the system call that ends the program.
            let Some(pc) = pcs.get(at + n as usize) else { break };
            assert_eq!(cursor.position(block.start, *pc), Some(n), "{pc:#x} from {:#x}", block.start);
        }
        at += block.count as usize;
        let Some(&next) = pcs.get(at) else { break };
        let before = isa;
        if next == block.end && (block.conditional || !block.control.is_transfer()) {
            conditional += usize::from(block.conditional && block.control != Control::Branch);
        } else if let Some(target) = block.target {
            assert_eq!(next, target, "{block:x?}");
            isa = match block.switch {
                Switch::To(isa) => isa,
                _ => isa,
            };
        } else {
            assert!(block.control.is_indirect(), "{block:x?} went to {next:#x}");
            isa = mapped(next);
            assert!(block.switch == Switch::ByTarget || isa == before, "{block:x?}");
        }
        switches += usize::from(isa != before);
    }
    assert!(pcs.len() > 7000 && switches > 6, "{} instructions, {switches} switches", pcs.len());
    eprintln!("{} instructions, {switches} switches, {conditional} conditional exits not taken", pcs.len());
}
