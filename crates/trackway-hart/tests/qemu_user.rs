//! Single-step agreement with QEMU's user mode on the real programs of the corpus.
//!
//! Every pc and every memory access is reproduced. Inputs that the recording could not fix are passed to the model:
//! the name that the program was started with, the length of its path, and for Lua the time of day.

use trackway_hart::linux::{Kernel, Options, Process, Status};
use trackway_hart::{AccessKind, Effects, Program};
use trackway_isa::riscv::Op;
use trackway_testkit::qemu::Run;

fn options(name: &str, arguments: &[&str], stdin: Option<&str>) -> Options {
    let inputs = trackway_testkit::corpus().expect("asked before").join("qemu/inputs");
    let program = format!("rv64gc/{name}");
    let all = std::iter::once(program.as_str()).chain(arguments.iter().copied());
    let mut options = Options::new(all.map(str::to_string));
    // The recording's folder is unknown, its length is not: readlinkat returns it.
    options.executable = format!("/{}/{name}", "x".repeat(26));
    options.folder = inputs.clone();
    if let Some(input) = stdin {
        options.stdin = std::fs::read(inputs.join(input)).expect("the input is in the corpus");
    }
    options
}

/// Runs a program and compares every step.
fn compare(name: &str, options: Options) -> bool {
    let Some(run) = Run::corpus("rv64gc", name) else { return false };
    let program = Program::read(&run.elf).unwrap();
    let mut process = Process::new(&program, options).unwrap();
    let mut effects = Effects::new();
    let mut mem = run.mem.iter().peekable();
    let mut output = Vec::new();
    for (index, pc) in run.pcs.iter().enumerate() {
        assert_eq!(process.status(), Status::Running, "{name}: ended before instruction {index}");
        let state = process.hart.state();
        assert_eq!(state.pc, *pc, "{name}: instruction {index}: {:#x}, QEMU {pc:#x}", state.pc);
        let kernel = process.step(&mut effects);
        for access in effects.memory.iter() {
            // QEMU does a store-conditional as a compare-and-swap, and records the load as well.
            let conditional = matches!(effects.inst.map(|inst| inst.op), Some(Op::ScW | Op::ScD));
            let halves: &[bool] = match access.kind {
                AccessKind::Load => &[false],
                AccessKind::Store if !conditional => &[true],
                AccessKind::Store | AccessKind::Amo => &[false, true],
            };
            for store in halves {
                let theirs = mem.next().expect("QEMU made this access");
                let theirs = (theirs.index, theirs.address, theirs.store, theirs.size);
                assert_eq!((index as u64, access.address, *store, access.size), theirs, "{name}: {index}");
            }
        }
        if let Some(Kernel::Call { .. }) = kernel {
            output.extend(process.take_output().0);
        }
    }
    output.extend(process.take_output().0);
    assert_eq!(process.status(), Status::Exited(0), "{name}");
    assert_eq!(mem.next(), None, "{name}: QEMU made more accesses");
    let path = trackway_testkit::corpus().unwrap().join(format!("qemu/rv64gc/{name}.stdout"));
    assert_eq!(output, std::fs::read(path).unwrap(), "{name}");
    true
}

#[test]
fn qsortmix() {
    if trackway_testkit::corpus().is_some() {
        assert!(compare("qsortmix", options("qsortmix", &["600"], None)));
    }
}

#[test]
fn fpmix() {
    if trackway_testkit::corpus().is_some() {
        assert!(compare("fpmix", options("fpmix", &[], None)));
    }
}

#[test]
fn minigzip() {
    if trackway_testkit::corpus().is_some() {
        assert!(compare("minigzip", options("minigzip", &[], Some("t6k"))));
    }
}

#[test]
fn bzip2() {
    if trackway_testkit::corpus().is_some() {
        assert!(compare("bzip2", options("bzip2", &["-1", "-c"], Some("t3k"))));
    }
}

#[test]
fn lua() {
    if trackway_testkit::corpus().is_some() {
        // Lua seeds its hash tables with the time: this second leads to the buckets of the recording.
        let mut options = options("lua", &["bench.lua"], None);
        options.start_time = 1_794_724_672;
        assert!(compare("lua", options));
    }
}

#[test]
fn sigmt() {
    if trackway_testkit::corpus().is_some() {
        assert!(compare("sigmt", options("sigmt", &[], None)));
    }
}
