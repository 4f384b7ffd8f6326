//! K10.5.8: the examples of the text, executed; the elements that the unit traces are those of the tables.

use trackway_core::Isa;

use super::{Implementation, Instruction, Model, Registers, Unit, exception};
use crate::decode::element::ContextState;
use crate::testing::{BR, ISB, NOP, RET, Stream, TSTART, b, beq, bl};

/// A unit that traces everything, without synchronisations in between.
fn unit(changed: &[(&str, u64)]) -> Unit {
    let mut registers = Registers::new(&Implementation::default()).everything();
    registers.put(&[("TRCSYNCPR", 0), ("TRCCONFIGR", 0x41)]);
    registers.put(changed);
    let mut unit = Unit::new(registers, Model { halts: false, ..Model::default() }, None).unwrap();
    unit.enable().unwrap();
    unit.set_context(context(0xaa));
    unit
}

fn context(id: u32) -> ContextState {
    ContextState { context_id: Some(id), el: 1, security: 1, sixty_four_bit: true, ..ContextState::default() }
}

impl Unit {
    fn run(&mut self, steps: &[(u64, u32, bool)]) {
        for &(address, encoding, taken) in steps {
            self.instruction(&Instruction::new(Isa::A64, address, encoding, taken));
        }
    }

    /// What was traced, less the commits of a unit without speculation and the numbers of contexts.
    fn elements(&mut self) -> Vec<String> {
        self.disable().unwrap();
        let config = self.config().clone();
        let mut elements = Stream { config, bytes: self.take() }.elements();
        elements.retain(|element| element != "commit(1)");
        elements
    }
}

fn irq(unit: &mut Unit, address: u64) {
    unit.exception(exception::IRQ, Some((address, Isa::A64)));
}

const LDR: u32 = 0xf940_0000;
const TCOMMIT: u32 = 0xd503_307f;

/// The code of most tables: 0x1000 B, 0x2000 MOV, LDR, CMP, BEQ, STR.
const BODY: [(u64, u32, bool); 3] = [(0x2000, NOP, true), (0x2004, LDR, true), (0x2008, NOP, true)];

#[test]
fn table_k10_6_program_trace() {
    let mut unit = unit(&[]);
    unit.run(&[(0x1000, b(0x1000, 0x2000), true)]);
    unit.run(&BODY);
    unit.run(&[(0x200c, beq(0x200c, 0x3000), false), (0x2010, NOP, true)]);
    irq(&mut unit, 0x2014);
    assert_eq!(
        unit.elements(),
        [
            "trace_info",
            "trace_on",
            "context(aa)",
            "address(1000)",
            "atom(E)",
            "atom(N)",
            "exception(14, 2014)"
        ]
    );
}

#[test]
fn table_k10_7_with_filtering() {
    let mut unit = unit(&[
        ("TRCVIIECTLR", 0x1_0000),
        ("TRCACVR0", 0x2000),
        ("TRCACVR1", 0x200f),
        ("TRCVICTLR", 1),
        ("TRCVISSCTLR", 4),
        ("TRCACVR2", 0x1000),
    ]);
    unit.run(&[(0xffc, NOP, true), (0x1000, b(0x1000, 0x2000), true)]);
    unit.run(&BODY);
    unit.run(&[(0x200c, beq(0x200c, 0x3000), false), (0x2010, NOP, true)]);
    irq(&mut unit, 0x2014);
    assert_eq!(
        unit.elements(),
        [
            "trace_info",
            "trace_on",
            "context(aa)",
            "address(1000)",
            "atom(E)",
            "trace_on",
            "context(aa)",
            "address(2010)",
            "exception(14, 2014)"
        ]
    );
}

#[test]
fn table_k10_10_two_exceptions_with_nothing_between() {
    let mut unit = unit(&[]);
    unit.run(&[(0x1000, b(0x1000, 0x2000), true), (0x2000, NOP, true)]);
    unit.exception(exception::DATA_FAULT, Some((0x2004, Isa::A64)));
    irq(&mut unit, 0x4000);
    let elements = unit.elements();
    assert_eq!(elements[4..], ["atom(E)", "exception(12, 2004)", "address(4000)", "exception(14, 4000)"]);
}

/// 0x1000 B, 0x2000 MSR CONTEXTIDR, ADD, ISB, SUB: how far execution comes before the exception.
fn context_changes(sub: bool, isb: bool, return_address: u64) -> Vec<String> {
    let mut unit = unit(&[]);
    unit.run(&[(0x1000, b(0x1000, 0x2000), true), (0x2000, NOP, true), (0x2004, NOP, true)]);
    if isb {
        unit.run(&[(0x2008, ISB, true)]);
        unit.set_context(context(0xbb));
    }
    if sub {
        unit.run(&[(0x200c, NOP, true)]);
    }
    irq(&mut unit, return_address);
    unit.set_context(context(0xcc));
    unit.run(&[(0x3000, b(0x3000, 0x4000), true)]);
    unit.elements().split_off(2)
}

#[test]
fn tables_k10_11_to_13_changes_of_context() {
    let begin = ["context(aa)", "address(1000)", "atom(E)"];
    let end = ["context(cc)", "address(3000)", "atom(E)"];
    let with = |middle: &[&'static str]| [&begin[..], middle, &end[..]].concat();
    let after_isb = context_changes(true, true, 0x2010);
    assert_eq!(after_isb, with(&["atom(E)", "context(bb)", "exception(14, 2010)"]));
    let at_isb = context_changes(false, true, 0x200c);
    assert_eq!(at_isb, with(&["atom(E)", "context(bb)", "exception(14, 200c)"]));
    let before_isb = context_changes(false, false, 0x2008);
    assert_eq!(before_isb, with(&["exception(14, 2008)"]));
}

fn calls(configr: u64) -> Vec<String> {
    let mut unit = unit(&[("TRCCONFIGR", configr)]);
    unit.run(&[(0x1000, bl(0x1000, 0x2000), true)]);
    unit.run(&BODY);
    unit.run(&[(0x200c, beq(0x200c, 0x3000), false), (0x2010, NOP, true), (0x2014, RET, true)]);
    unit.run(&[(0x1004, NOP, true), (0x1008, b(0x1008, 0x4000), true)]);
    unit.elements().split_off(4)
}

#[test]
fn tables_k10_14_and_15_the_return_stack() {
    assert_eq!(calls(0x41), ["atom(E)", "atom(N)", "atom(E)", "address(1004)", "atom(E)"]);
    assert_eq!(calls(0x1041), ["atom(E)", "atom(N)", "atom(E)", "atom(E)"]);
    // Broadcasting gives all targets and leaves the return stack aside.
    let broadcast = ["atom(E)", "address(2000)", "atom(N)", "atom(E)", "address(1004)", "atom(E)"];
    assert_eq!(calls(0x1049), broadcast);
}

#[test]
fn table_k10_16_a_successful_transaction() {
    let mut unit = unit(&[]);
    unit.run(&[(0x2000, TSTART, true)]);
    unit.transaction_start();
    unit.run(&[
        (0x2004, b(0x2004, 0x2400), true),
        (0x2400, b(0x2400, 0x2808), true),
        (0x2808, TCOMMIT, true),
    ]);
    unit.transaction_commit();
    let elements = unit.elements();
    assert_eq!(elements[4..], ["atom(E)", "transaction_start", "atom(E)", "atom(E)", "transaction_commit"]);
}

#[test]
fn table_k10_17_a_transaction_that_fails() {
    let mut unit = unit(&[]);
    unit.run(&[(0x2000, TSTART, true)]);
    unit.transaction_start();
    unit.run(&[
        (0x2004, NOP, true),
        (0x2008, beq(0x2008, 0x2100), false),
        (0x200c, BR, true),
        (0x3000, NOP, true),
    ]);
    unit.transaction_fail();
    unit.run(&[(0x2004, NOP, true), (0x2008, beq(0x2008, 0x2100), true)]);
    assert_eq!(
        unit.elements()[4..],
        [
            "atom(E)",
            "transaction_start",
            "atom(N)",
            "atom(E)",
            "address(3000)",
            "transaction_failure",
            "context(aa)",
            "address(2004)",
            "atom(E)"
        ]
    );
}

#[test]
fn resets_and_system_errors_are_traced_where_they_are_forced() {
    let outside = [("TRCVIIECTLR", 1), ("TRCACVR0", 0x9000), ("TRCACVR1", 0x9fff)];
    for (victlr, expected) in [(0x201, vec![]), (0xe01, vec!["exception(0, ?)", "exception(4, 1004)"])] {
        let mut unit = unit(&[&outside[..], &[("TRCVICTLR", victlr)]].concat());
        unit.run(&[(0x1000, NOP, true)]);
        unit.exception(exception::RESET, None);
        unit.run(&[(0x1000, NOP, true)]);
        unit.exception(exception::SYSTEM_ERROR, Some((0x1004, Isa::A64)));
        let mut elements = unit.elements();
        elements.retain(|element| element.starts_with("exception"));
        assert_eq!(elements, expected);
    }
}

#[test]
fn k10_5_9_no_exception_where_tracing_just_begins() {
    let mut unit = unit(&[]);
    irq(&mut unit, 0x1000);
    unit.prohibit(true);
    unit.run(&[(0x4000, NOP, true)]);
    irq(&mut unit, 0x4004);
    unit.prohibit(false);
    irq(&mut unit, 0x5000);
    assert_eq!(unit.elements(), [""; 0]);
}

#[test]
fn tsb_csync_asks_for_a_timestamp() {
    let mut unit = unit(&[("TRCCONFIGR", 0x841)]);
    unit.run(&[(0x1000, b(0x1000, 0x2000), true)]);
    unit.tsb_csync();
    unit.run(&[(0x2000, b(0x2000, 0x3000), true)]);
    let timestamps = unit.elements().iter().filter(|element| element.starts_with("Timestamp")).count();
    assert_eq!(timestamps, 2, "one of the synchronisation, one of the barrier");
}
