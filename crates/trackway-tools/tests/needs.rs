//! Traces that need what the model does not have are refused by name.

use trackway_core::{Batch, Context, EventKind, Isa, Outcome, Privilege, Step};
use trackway_hart::Config;
use trackway_tools::verify::{Feeder, Need, Options, Verdict};

const NOP: u32 = 0x13;

/// Verifies steps, each in a context; what they need, and whether there are mismatches.
fn run(steps: [(Context, u32, Outcome); 2], extensions_known: bool) -> (Option<Need>, bool) {
    let options = Options { extensions_known, ..Options::new(Config::new(Isa::Rv64)) };
    let mut feeder = Feeder::new(options);
    feeder.verifier.reset_core();
    for (n, (context, encoding, outcome)) in (0..).zip(steps) {
        let mut batch = Batch::default();
        batch.push_context(n, context);
        let step = Step { outcome, ..Step::new(0x8000_0000 + 4 * n, encoding, 4) };
        batch.push(n, EventKind::Step(step));
        feeder.put(&batch);
    }
    feeder.finish();
    let report = &feeder.verifier.report;
    assert!(report.needed.is_none() || report.verdict() != Verdict::Verified);
    (report.needed.as_ref().map(|needed| needed.need), !report.mismatches.is_empty())
}

fn contexts(contexts: [Context; 2], extensions_known: bool) -> Option<Need> {
    run(contexts.map(|context| (context, NOP, Outcome::Retired)), extensions_known).0
}

#[test]
fn levels_and_harts() {
    let level = |privilege| Context { privilege: Some(privilege), ..Context::default() };
    let hart = |hart| Context { hw_thread: Some(hart), ..Context::default() };
    for known in [false, true] {
        assert_eq!(contexts([level(Privilege::M); 2], known), None);
        assert_eq!(contexts([hart(3); 2], known), None);
        // Whatever the core has: one model is one hart.
        assert_eq!(contexts([hart(0), hart(1)], known), Some(Need::Harts));
    }
    assert_eq!(contexts([level(Privilege::VS); 2], false), Some(Need::Hypervisor));
    assert_eq!(contexts([level(Privilege::VU); 2], false), Some(Need::Hypervisor));
}

#[test]
fn instructions() {
    for (encoding, need) in [
        (0x0d05_72d7, Some(Need::Vector)),     // vsetvli
        (0x0205_5007, Some(Need::Vector)),     // vle16.v
        (0xffff_ffd7, Some(Need::Vector)),     // of its opcode, in no table
        (0xc200_2573, Some(Need::Vector)),     // csrr a0, vl
        (0x6200_0073, Some(Need::Hypervisor)), // hfence.gvma
        (0x6000_2573, Some(Need::Hypervisor)), // csrr a0, hstatus
        (0x0000_100f, None),                   // fence.i
    ] {
        let steps = |outcome| {
            let context = Context::default();
            [(context, NOP, Outcome::Retired), (context, encoding, outcome)]
        };
        assert_eq!(run(steps(Outcome::Retired), false).0, need, "{encoding:#010x}");
        // A core that does not have it must not retire it, and may try.
        assert_eq!(run(steps(Outcome::Retired), true), (None, need.is_some()), "{encoding:#010x}");
        assert_eq!(run(steps(Outcome::Attempted), false).0, None, "{encoding:#010x}");
    }
}
