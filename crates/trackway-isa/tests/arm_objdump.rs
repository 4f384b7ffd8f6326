//! Class, control flow and target of every instruction of real Arm programs, against GNU objdump's text and against
//! capstone's groups.

mod common;
mod judge;

use std::path::Path;
use std::process::{Command, Stdio};

use common::scratch;
use judge::{Engines, explained, kind};
use trackway_core::Isa;
use trackway_isa::arm::t32;
use trackway_isa::{Class, Control, Flow, class, flow};

const A64: &str = "aarch64-linux-gnu-";
const A32: &str = "arm-linux-gnueabihf-";

fn installed(tool: &str) -> bool {
    let command = Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let found = command.is_ok_and(|status| status.success());
    if !found {
        trackway_testkit::skipped(&format!("{tool} is not installed"));
    }
    found
}

/// One instruction as objdump sees it.
struct Line {
    isa: Isa,
    address: u64,
    encoding: u32,
    mnemonic: String,
    operands: String,
}

/// Disassembles all code sections; data in them (by the mapping symbols) is left out.
fn objdump(prefix: &str, program: &Path) -> Vec<Line> {
    let tool = format!("{prefix}objdump");
    let output = Command::new(&tool).args(["-d", "-z", "-w"]).arg(program).output().expect("runs");
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().filter_map(|text| line(prefix == A64, text)).collect()
}

fn line(is_a64: bool, text: &str) -> Option<Line> {
    let mut columns = text.splitn(4, '\t');
    let address = u64::from_str_radix(columns.next()?.trim().strip_suffix(':')?, 16).ok()?;
    let code = columns.next()?.trim();
    let mnemonic = columns.next()?.trim();
    if mnemonic.starts_with(".word") || mnemonic.starts_with(".short") || mnemonic.starts_with(".byte") {
        return None;
    }
    let operands = columns.next().unwrap_or("");
    let operands = operands.split(['<', '@', ';']).next()?.split("//").next()?.trim();
    let (isa, encoding) = match code.split_once(' ') {
        // T32 is written as halfwords, in order.
        Some((first, second)) => {
            (Isa::T32, u32::from_str_radix(first, 16).ok()? | u32::from_str_radix(second, 16).ok()? << 16)
        }
        None if code.len() == 4 => (Isa::T32, u32::from_str_radix(code, 16).ok()?),
        None => (if is_a64 { Isa::A64 } else { Isa::A32 }, u32::from_str_radix(code, 16).ok()?),
    };
    Some(Line { isa, address, encoding, mnemonic: mnemonic.into(), operands: operands.into() })
}

/// The flow, by objdump's text.
fn by_objdump(line: &Line) -> (Control, Option<u64>, bool) {
    let last = line.operands.rsplit([',', ' ']).next().unwrap_or("");
    let target = u64::from_str_radix(last.trim_start_matches("0x"), 16).ok();
    if line.isa == Isa::A64 { told_a64(&line.mnemonic, target) } else { told_a32(line, target) }
}

fn told_a64(mnemonic: &str, target: Option<u64>) -> (Control, Option<u64>, bool) {
    match mnemonic {
        "b" => (Control::Jump, target, false),
        "bl" => (Control::Call, target, false),
        "cbz" | "cbnz" | "tbz" | "tbnz" => (Control::Branch, target, true),
        m if m.starts_with("b.") || m.starts_with("bc.") => (Control::Branch, target, true),
        "br" | "braa" | "brab" | "braaz" | "brabz" => (Control::IndirectJump, None, false),
        "blr" | "blraa" | "blrab" | "blraaz" | "blrabz" => (Control::IndirectCall, None, false),
        "ret" | "retaa" | "retab" => (Control::Return, None, false),
        "eret" | "eretaa" | "eretab" | "drps" => (Control::TrapReturn, None, false),
        "svc" | "hvc" | "smc" => (Control::SystemCall, None, false),
        "brk" | "hlt" => (Control::Breakpoint, None, false),
        "udf" => (Control::Undefined, None, false),
        "isb" => (Control::Isb, None, false),
        "wfi" | "wfe" | "wfit" | "wfet" => (Control::Wait, None, false),
        "tstart" => (Control::TransactionStart, None, false),
        _ => (Control::Sequential, None, false),
    }
}

/// The mnemonic without width and condition, and whether there was one.
fn bare(mnemonic: &str) -> (&str, bool) {
    const CONDITIONS: [&str; 14] =
        ["eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le"];
    // Those that end like a condition and have none.
    const WHOLE: [&str; 6] = ["bls", "tst", "teq", "movs", "svc", "smc"];
    let name = mnemonic.trim_end_matches(".n").trim_end_matches(".w");
    if WHOLE.contains(&name) && name != "bls" {
        return (name, false);
    }
    CONDITIONS
        .iter()
        .find_map(|condition| name.strip_suffix(condition))
        .filter(|name| !name.is_empty())
        .map_or((name, false), |name| (name, true))
}

fn told_a32(line: &Line, target: Option<u64>) -> (Control, Option<u64>, bool) {
    let (name, conditional) = bare(&line.mnemonic);
    let first = line.operands.split(',').next().unwrap_or("").trim();
    let lists_pc = line.operands.contains("pc}");
    let control = match name {
        "b" => return (if conditional { Control::Branch } else { Control::Jump }, target, conditional),
        "bl" => return (Control::Call, target, conditional),
        "blx" if target.is_some() && !first.starts_with(['r', 's', 'f', 'i', 'l']) => {
            return (Control::Call, target, conditional);
        }
        "cbz" | "cbnz" => return (Control::Branch, target, true),
        "blx" => Control::IndirectCall,
        "bx" | "mov" if line.operands == "lr" || line.operands == "pc, lr" => Control::Return,
        "bx" | "bxj" | "tbb" | "tbh" => Control::IndirectJump,
        "pop" if lists_pc => Control::Return,
        "ldm" | "ldmia" | "ldmib" | "ldmda" | "ldmdb" | "ldmfd" if line.operands.ends_with("pc}^") => {
            Control::TrapReturn
        }
        "ldmia" | "ldmfd" if lists_pc && first == "sp!" => Control::Return,
        "ldm" | "ldmia" | "ldmib" | "ldmda" | "ldmdb" | "ldmfd" if lists_pc => Control::IndirectJump,
        "rfe" | "rfeia" | "rfeib" | "rfeda" | "rfedb" | "eret" => Control::TrapReturn,
        "movs" | "subs" | "adds" if first == "pc" => Control::TrapReturn,
        "ldr" if line.operands == "pc, [sp], #4" => Control::Return,
        "ldr" | "mov" | "add" | "sub" | "rsb" | "orr" | "and" | "eor" | "bic" | "mvn" if first == "pc" => {
            Control::IndirectJump
        }
        "svc" | "hvc" | "smc" => Control::SystemCall,
        "bkpt" | "hlt" => Control::Breakpoint,
        "udf" => Control::Undefined,
        "isb" => Control::Isb,
        "mcr" if line.operands.ends_with("cr7, cr5, {4}") => Control::Isb,
        "wfi" | "wfe" => Control::Wait,
        _ => return (Control::Sequential, None, false),
    };
    (control, None, conditional)
}

/// Our classes for the lines, with IT blocks applied as they come.
fn ours(lines: &[Line]) -> Vec<Flow> {
    let mut conditional = 0;
    let follow = |line: &Line| {
        let flow = flow(line.isa, line.address, line.encoding);
        let inside = line.isa == Isa::T32 && conditional > 0;
        conditional = match t32::it_length(line.encoding) {
            Some(length) if line.isa == Isa::T32 && flow.length == 2 => length,
            _ => conditional.saturating_sub(1),
        };
        if inside { t32::in_it_block(flow) } else { flow }
    };
    lines.iter().map(follow).collect()
}

/// Moves to itself, which assemblers emitted before there was a NOP: objdump calls them `nop`.
fn is_old_nop(line: &Line) -> bool {
    match line.isa {
        Isa::A32 => line.encoding & 0x0fff_ffff == 0x01a0_0000,
        Isa::T32 => line.encoding == 0x46c0,
        _ => false,
    }
}

/// Coprocessors 1 and 2: the floating point of the 1990s, which `setjmp` of Debian's C library still saves where the
/// kernel says that it is there. No architecture that we know has it.
fn is_old_float(line: &Line) -> bool {
    let word = if line.isa == Isa::T32 { line.encoding.rotate_left(16) } else { line.encoding };
    line.isa != Isa::A64 && word & 0x0e00_0000 == 0x0c00_0000 && matches!(word >> 8 & 0xf, 1 | 2)
}

/// Every instruction of a program; returns how many there are of each set, and how many transfer control.
fn agree(name: &str, prefix: &str, program: &Path) -> [usize; 4] {
    let lines = objdump(prefix, program);
    let mut engines = Engines::default();
    let mut open = 0;
    let mut counts = [0; 4];
    for (line, flow) in lines.iter().zip(ours(&lines)) {
        let at = [Isa::A64, Isa::A32, Isa::T32].iter().position(|isa| *isa == line.isa).expect("one of them");
        counts[at] += 1;
        counts[3] += usize::from(flow.control.is_transfer());
        let conditional = flow.conditional && flow.control != Control::Sequential;
        let found = (flow.control, flow.target, conditional);
        let expected = by_objdump(line);
        let by_capstone = engines.groups(line.isa, line.address, line.encoding);
        let same = by_capstone.as_ref().is_none_or(|groups| {
            groups.agrees(&flow) || explained(line.isa, line.encoding, &flow, groups).is_some()
        });
        let class = class(line.isa, line.encoding);
        let same = same
            && (is_old_float(line)
                || class != Class::Other
                    && (is_old_nop(line)
                        || kind::by_text(line.isa, &line.mnemonic, &line.operands)
                            .is_none_or(|named| named == class)));
        if found != expected || !same {
            open += 1;
            if open < 20 {
                let Line { isa, address, encoding, mnemonic, operands } = line;
                eprintln!(
                    "{isa} {address:x}: {encoding:08x} ours {class:?} {found:x?}, objdump {expected:x?} `{mnemonic} {operands}`, \
                     capstone {by_capstone:x?}"
                );
            }
        }
    }
    assert_eq!(open, 0, "{name}: {open} differences of {}", lines.len());
    eprintln!("{name}: A64, A32, T32, transfers: {counts:?} agree");
    counts
}

/// The six aarch64 programs of the corpus: all of their code.
#[test]
fn corpus_programs() {
    let Some(corpus) = trackway_testkit::corpus() else { return };
    if !installed("aarch64-linux-gnu-objdump") {
        return;
    }
    let folder = scratch("arm-corpus");
    for name in ["qsortmix", "fpmix", "sigmt", "lua", "minigzip", "bzip2"] {
        let file = std::fs::File::open(corpus.join(format!("qemu/aarch64/{name}.elf.zst"))).expect(name);
        let program = folder.join(name);
        std::fs::write(&program, zstd::decode_all(file).expect(name)).expect(name);
        let counts = agree(name, A64, &program);
        assert!(counts[0] > 50_000 && counts[3] > 10_000, "{name}: {counts:?}");
    }
}

/// A32 and T32: our own small program, and a static one with Debian's C library.
#[test]
fn arm_programs() {
    if !installed("arm-linux-gnueabihf-objdump") {
        return;
    }
    let mix = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/arm-mix/arm-mix.elf");
    let counts = agree("arm-mix", A32, Path::new(mix));
    assert!(counts[1] > 200 && counts[2] > 200, "{counts:?}");
    if !installed("arm-linux-gnueabihf-gcc") {
        return;
    }
    let folder = scratch("arm-built");
    for option in ["-marm", "-mthumb"] {
        let program = folder.join(option);
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/words.c");
        let mut compiler = Command::new("arm-linux-gnueabihf-gcc");
        compiler.args(["-O2", "-static", option, source, "-lm", "-o"]).arg(&program);
        if !compiler.status().expect("runs").success() {
            return trackway_testkit::skipped("libc6-dev-armhf-cross is not installed");
        }
        let counts = agree(option, A32, &program);
        assert!(counts[2] > 50_000 && counts[3] > 10_000, "{counts:?}");
    }
}
