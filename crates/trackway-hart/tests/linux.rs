//! Linux user mode: our own self-checking program on the model and under QEMU, and what the model fixes.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use trackway_core::*;
use trackway_hart::linux::{Options, Process, Status};
use trackway_hart::{End, Position, Program, RecordOptions, Recorder, Target};

fn elf(width: u32) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../programs/riscv/linux/rv{width}-linux.elf"))
}

fn process(width: u32, argument: &str) -> Process {
    let program = Program::read(&std::fs::read(elf(width)).unwrap()).unwrap();
    Process::new(&program, Options::new(["linux".to_string(), argument.to_string()])).unwrap()
}

#[test]
fn passes_on_the_model() {
    for width in [32, 64] {
        let mut process = process(width, "hello");
        let count = process.run(1_000_000);
        assert_eq!(process.status(), Status::Exited(0), "rv{width}: after {count} instructions");
        assert_eq!(process.take_output(), (b"linux: passed\nhello".to_vec(), Vec::new()));
    }
}

#[test]
fn passes_under_qemu() {
    for width in [32, 64] {
        let qemu = format!("qemu-riscv{width}");
        let run = Command::new(&qemu).arg(elf(width)).arg("hello").stdin(Stdio::null()).output();
        let Ok(run) = run else {
            trackway_testkit::skipped(&format!("{qemu} is not installed"));
            continue;
        };
        assert!(run.status.success(), "{qemu}: {:?}", run.status);
        assert_eq!(run.stdout, b"linux: passed\nhello");
    }
}

#[test]
fn two_runs_are_the_same() {
    let run = || {
        let mut process = process(64, "");
        process.run(1_000_000);
        process.hart.state().clone()
    };
    assert_eq!(run(), run());
}

/// All events of a recording.
fn record(options: RecordOptions) -> (Vec<Batch>, Recorder) {
    let mut recorder = Recorder::new(Target::Process(Box::new(process(64, "hello"))), options);
    let mut batches = Vec::new();
    let mut batch = Batch::default();
    while recorder.fill(&mut batch).unwrap() {
        batches.push(batch.clone());
    }
    (batches, recorder)
}

fn steps(batches: &[Batch]) -> Vec<Step> {
    let events = batches.iter().flat_map(|batch| &batch.events);
    events
        .filter_map(|event| match event.kind {
            EventKind::Step(step) => Some(step),
            _ => None,
        })
        .collect()
}

#[test]
fn recordings_hold_all_of_it() {
    let (batches, recorder) = record(RecordOptions::default());
    assert_eq!(recorder.target.end(), End::Passed);
    let all = steps(&batches);
    assert_eq!(all.len() as u64, recorder.recorded());
    let sum: u64 = batches.iter().map(Batch::instructions).sum();
    assert_eq!(sum, recorder.recorded());
    // Every store-address of the program and every system call are in it: replaying the registers leads to the end.
    let mut x = [0; 32];
    for batch in &batches {
        for access in &batch.regs {
            if access.reg.class == RegClass::Int && access.role != RegRole::Source {
                let Value::Word(value) = access.value else { panic!("a value is missing") };
                x[usize::from(access.reg.number)] = value;
            } else if access.reg.class == RegClass::Int {
                assert_eq!(access.value, Value::Word(x[usize::from(access.reg.number)]), "a source differs");
            }
        }
    }
    assert_eq!(x, recorder.target.hart().state().x);
    let calls = batches.iter().flat_map(|batch| &batch.traps).filter(|trap| trap.syscall.is_some()).count();
    let attempted = all.iter().filter(|step| step.outcome == Outcome::Attempted).count();
    // Two faults, an illegal instruction and a breakpoint besides the calls.
    assert_eq!(attempted, calls + 4);
    assert!(batches.iter().any(|batch| !batch.gaps.is_empty()), "signals leave gaps");
}

#[test]
fn windows() {
    let (batches, _) = record(RecordOptions::default());
    let all = steps(&batches);
    let window = RecordOptions {
        from: Some(Position::Instruction(100)),
        to: Some(Position::Instruction(150)),
        ..RecordOptions::default()
    };
    let (batches, mut recorder) = record(window);
    let pcs = |steps: &[Step]| steps.iter().map(|step| step.pc).collect::<Vec<_>>();
    assert_eq!(pcs(&steps(&batches)), pcs(&all[100..150]));
    assert_eq!((recorder.run_out(), recorder.executed()), (End::Passed, all.len() as u64));

    let pc = all[5000].pc.unwrap();
    let first = all.iter().position(|step| step.pc == Some(pc)).unwrap();
    let window = RecordOptions { from: Some(Position::Pc(pc)), limit: 6000, ..RecordOptions::default() };
    let (batches, recorder) = record(window);
    assert_eq!(pcs(&steps(&batches)), pcs(&all[first..6000]));
    assert_eq!(recorder.target.end(), End::Unfinished);

    let bare = RecordOptions { registers: false, memory: false, ..RecordOptions::default() };
    let (batches, _) = record(bare);
    assert!(batches.iter().all(|batch| batch.regs.is_empty() && batch.mem.is_empty()));
    assert_eq!(pcs(&steps(&batches)), pcs(&all));
}
