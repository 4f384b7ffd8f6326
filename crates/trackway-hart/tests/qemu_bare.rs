//! Agreement with QEMU's `virt` machine on the bare-metal recording of the corpus.

use trackway_core::Isa;
use trackway_hart::machine::{Machine, MachineConfig, Status};
use trackway_hart::{AccessKind, Config, Effects, Program};
use trackway_testkit::qemu::Run;

/// The timer interrupt entered before this instruction of the recording.
const INTERRUPT: usize = 200_022;

#[test]
fn rv64_traps() {
    let Some(run) = Run::corpus("bare", "rv64-traps") else { return };
    let program = Program::read(&run.elf).unwrap();
    let config = MachineConfig { instructions_per_tick: 0, ..MachineConfig::new(Config::new(Isa::Rv64)) };
    let mut machine = Machine::new(config, &program).unwrap();
    let mut effects = Effects::new();
    let mut mem = run.mem.iter();
    for (index, pc) in run.pcs.iter().enumerate() {
        if index == INTERRUPT {
            machine.expire_timer();
            let taken = machine.step(&mut effects).expect("the interrupt is due");
            assert!(taken.interrupt && taken.cause == 7);
        }
        let at = machine.hart.state().pc;
        assert_eq!(at, *pc, "instruction {index}: {at:#x}, QEMU {pc:#x}");
        machine.step(&mut effects);
        assert_eq!(effects.pc, Some(at), "instruction {index}");
        let last = index + 1 == run.pcs.len();
        for access in effects.memory.iter().filter(|_| !last) {
            let halves: &[bool] = match access.kind {
                AccessKind::Load => &[false],
                AccessKind::Store => &[true],
                AccessKind::Amo => &[false, true],
            };
            for store in halves {
                let theirs = mem.next().expect("QEMU made this access");
                let theirs = (theirs.index, theirs.address, theirs.store, theirs.size);
                assert_eq!((index as u64, access.address, *store, access.size), theirs);
            }
        }
    }
    assert_eq!(mem.next(), None);
    assert_eq!(machine.status(), Status::Passed);
}
