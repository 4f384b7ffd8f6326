//! The sample program without an operating system: recorded again, it is the golden trace.

// The recorder is an example of its own.
#[allow(dead_code)]
#[path = "../examples/levels.rs"]
mod levels;

use std::path::PathBuf;

use trackway_astf::{Level, ReadConfig, Trace, TrapType};
use trackway_core::{Batch, EventKind, Input, MarkKind, MemKind, Outcome, Source, TrapKind};

fn file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(name)
}

fn open(bytes: &[u8]) -> Trace {
    Trace::open(Input::from_vec(bytes.to_vec()), ReadConfig::default()).unwrap()
}

#[test]
fn the_program_records_the_golden_trace_and_it_is_legal() {
    let elf = std::fs::read(file("programs/aarch64/levels.elf")).unwrap();
    let mut bytes = Vec::new();
    levels::record(&elf, &mut bytes).unwrap();
    let golden = file("testdata/astf/levels.astf");
    if std::env::var_os("TRACKWAY_BLESS").is_some() {
        std::fs::write(&golden, &bytes).unwrap();
    }
    assert!(bytes == std::fs::read(&golden).unwrap(), "{} differs", golden.display());
    assert_eq!(open(&bytes).header.level(), Level::BasicPlus);
    assert_eq!(open(&bytes).check(&mut |finding| panic!("{finding}")).1, None);
}

#[test]
fn it_has_calls_faults_an_interrupt_a_suspension_and_returns() {
    let mut source = open(&std::fs::read(file("testdata/astf/levels.astf")).unwrap()).events();
    let (mut batch, mut traps, mut attempted, mut slept, mut faults) =
        (Batch::default(), Vec::new(), 0, None, 0);
    while source.fill(&mut batch).unwrap() {
        assert!(batch.gaps.is_empty(), "every address is explained");
        traps.extend(batch.traps.iter().map(|trap| (trap.kind, trap.class.map(u64::from).or(trap.cause))));
        for event in &batch.events {
            match event.kind {
                EventKind::Step(step) => {
                    attempted += u64::from(step.outcome == Outcome::Attempted);
                    faults +=
                        batch.mem_of(step.accesses).iter().filter(|it| it.kind == MemKind::Faulting).count();
                }
                EventKind::Mark(mark) if mark.kind == MarkKind::Suspended => slept = mark.value,
                _ => {}
            }
        }
    }
    let call = (TrapKind::Exception, Some(0x15));
    let back = (TrapKind::Return, None);
    let interrupt = (TrapKind::Interrupt, Some(TrapType::IRQ.0.into()));
    let faulted = |class| (TrapKind::Exception, Some(class));
    let expected = [
        [back, call, back, call, back, call, back],
        [faulted(0x24), back, faulted(0), back, interrupt, back, call],
    ];
    assert_eq!(traps, expected.concat());
    // It began at a time that was recorded already: the next one replaces it (ASTF 4.9).
    assert_eq!((attempted, faults, slept), (6, 1, Some(49)));
}
