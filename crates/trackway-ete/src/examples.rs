//! The worked examples of K10.5.8: the elements of each table, and what they say was executed. What the
//! tables leave out is put in: the context and address behind a Trace On, atoms that are only described.

use crate::testing::*;

const IRQ: u8 = 14;
const DATA_FAULT: u8 = 12;

/// The program of the basic examples.
fn basic() -> Code {
    Code::default()
        .at(0x1000, &[b(0x1000, 0x2000)])
        .at(0x2000, &[NOP, NOP, NOP, beq(0x200c, 0x3000), NOP, NOP])
        .at(0x3000, &[b(0x3000, 0x4000)])
        .at(0x4000, &[NOP])
}

fn begin(max_spec: u64) -> Stream {
    Stream::new(config(&[("TRCIDR8", max_spec)])).start(0x1000).atoms("E")
}

#[test]
fn table_k10_6_program_trace() {
    let stream = begin(0).atoms("N").exception(IRQ, 0x2014);
    assert_eq!(
        stream.elements(),
        [
            "trace_info",
            "trace_on",
            "context",
            "address(1000)",
            "atom(E)",
            "commit(1)",
            "atom(N)",
            "commit(1)",
            "exception(14, 2014)",
            "commit(1)"
        ]
    );
    assert_eq!(
        stream.events(&basic()),
        [
            "mark trace-on",
            "context el1 non-secure a64",
            "1000-1004 1 jump E",
            "2000-2010 4 branch N",
            "2010-2014 1 trap",
            "trap interrupt 14 2014->?",
        ]
    );
}

#[test]
fn table_k10_7_filtering() {
    // The second Trace On is followed by a context and the address 0x2010.
    let stream = begin(0).on().context(0x31).address(0x2010).exception(IRQ, 0x2014);
    assert_eq!(
        stream.elements(),
        [
            "trace_info",
            "trace_on",
            "context",
            "address(1000)",
            "atom(E)",
            "commit(1)",
            "trace_on",
            "context",
            "address(2010)",
            "exception(14, 2014)",
            "commit(1)"
        ]
    );
    assert_eq!(
        stream.events(&basic()),
        [
            "mark trace-on",
            "context el1 non-secure a64",
            "1000-1004 1 jump E",
            "gap filtered 2000->2010",
            "mark trace-on",
            "context el1 non-secure a64",
            "2010-2014 1 trap",
            "trap interrupt 14 2014->?",
        ]
    );
}

#[test]
fn table_k10_8_exception_cancels() {
    let stream = begin(4).atoms("N").cancel(1).exception(IRQ, 0x2000).commit(2);
    assert_eq!(
        stream.elements()[4..],
        ["atom(E)", "atom(N)", "cancel(1)", "exception(14, 2000)", "commit(2)"]
    );
    assert_eq!(stream.events(&basic())[2..], ["1000-1004 1 jump E", "trap interrupt 14 2000->?"]);
}

#[test]
fn table_k10_9_data_abort() {
    let stream = begin(4).atoms("N").cancel(1).exception(DATA_FAULT, 0x2004).commit(2);
    assert_eq!(
        stream.elements()[4..],
        ["atom(E)", "atom(N)", "cancel(1)", "exception(12, 2004)", "commit(2)"]
    );
    assert_eq!(
        stream.events(&basic())[2..],
        ["1000-1004 1 jump E", "2000-2004 1 trap", "trap exception 12 2004->?"]
    );
}

#[test]
fn table_k10_10_two_exceptions() {
    let stream = begin(4)
        .atoms("N")
        .cancel(1)
        .exception(DATA_FAULT, 0x2004)
        .address(0x4000)
        .exception(IRQ, 0x4000)
        .commit(3);
    assert_eq!(
        stream.elements()[4..],
        [
            "atom(E)",
            "atom(N)",
            "cancel(1)",
            "exception(12, 2004)",
            "address(4000)",
            "exception(14, 4000)",
            "commit(3)"
        ]
    );
    assert_eq!(
        stream.events(&basic())[2..],
        [
            "1000-1004 1 jump E",
            "2000-2004 1 trap",
            "trap exception 12 2004->4000",
            "trap interrupt 14 4000->?"
        ]
    );
}

/// The program of the examples with a context change.
fn contexts() -> Code {
    Code::default()
        .at(0x1000, &[b(0x1000, 0x2000)])
        .at(0x2000, &[NOP, NOP, ISB, NOP, NOP])
        .at(0x3000, &[b(0x3000, 0x4000)])
}

fn begin_context() -> Stream {
    Stream::new(config(&[])).on().context_id(0xaa).address(0x1000).atoms("E")
}

#[test]
fn table_k10_11_context_change() {
    let stream = begin_context()
        .atoms("E")
        .context_id(0xbb)
        .exception(IRQ, 0x2010)
        .context_id(0xcc)
        .address(0x3000)
        .atoms("E");
    assert_eq!(
        stream.elements(),
        [
            "trace_info",
            "trace_on",
            "context(aa)",
            "address(1000)",
            "atom(E)",
            "commit(1)",
            "atom(E)",
            "commit(1)",
            "context(bb)",
            "exception(14, 2010)",
            "commit(1)",
            "context(cc)",
            "address(3000)",
            "atom(E)",
            "commit(1)"
        ]
    );
    assert_eq!(
        stream.events(&contexts()),
        [
            "mark trace-on",
            "context el1 non-secure a64 cid=aa",
            "1000-1004 1 jump E",
            "2000-200c 3 next",
            "context el1 non-secure a64 cid=bb",
            "200c-2010 1 trap",
            "trap interrupt 14 2010->3000",
            "context el1 non-secure a64 cid=cc",
            "3000-3004 1 jump E",
        ]
    );
}

#[test]
fn table_k10_12_exception_behind_isb() {
    let stream = begin_context()
        .atoms("E")
        .context_id(0xbb)
        .exception(IRQ, 0x200c)
        .context_id(0xcc)
        .address(0x3000)
        .atoms("E");
    assert_eq!(
        stream.events(&contexts())[2..],
        [
            "1000-1004 1 jump E",
            "2000-200c 3 next",
            "context el1 non-secure a64 cid=bb",
            "trap interrupt 14 200c->3000",
            "context el1 non-secure a64 cid=cc",
            "3000-3004 1 jump E",
        ]
    );
    assert_eq!(stream.elements()[8..10], ["context(bb)", "exception(14, 200c)"]);
}

#[test]
fn table_k10_13_exception_before_isb() {
    let stream = begin_context().exception(IRQ, 0x2008).context_id(0xcc).address(0x3000).atoms("E");
    assert_eq!(
        stream.events(&contexts())[2..],
        [
            "1000-1004 1 jump E",
            "2000-2008 2 trap",
            "trap interrupt 14 2008->3000",
            "context el1 non-secure a64 cid=cc",
            "3000-3004 1 jump E",
        ]
    );
    assert_eq!(stream.elements()[6..8], ["exception(14, 2008)", "commit(1)"]);
}

/// A32: only there a branch with link can be conditional.
fn calls() -> Code {
    let to = |from: u32, to: u32| (to.wrapping_sub(from + 8) >> 2) & 0xff_ffff;
    let nop = 0xe320_f000;
    Code::default()
        .at(0x1000, &[0xeb00_0000 | to(0x1000, 0x2000), nop, 0xea00_0000 | to(0x1008, 0x4000)])
        .at(0x2000, &[nop, nop, nop, 0x0b00_0000 | to(0x200c, 0x3000), nop, 0xe12f_ff1e])
}

const CALLS: [&str; 4] =
    ["1000-1004 1 call E", "2000-2010 4 call N", "2010-2018 2 return E", "1004-100c 2 jump E"];

#[test]
fn table_k10_14_return_stack_off() {
    // The atom at 0x200C is described, not listed.
    let stream = Stream::new(config(&[("TRCIDR8", 4)]))
        .on()
        .context(0x21)
        .address(0x1000)
        .atoms("ENE")
        .address(0x1004)
        .atoms("E")
        .commit(4);
    assert_eq!(
        stream.elements()[4..],
        ["atom(E)", "atom(N)", "atom(E)", "address(1004)", "atom(E)", "commit(4)"]
    );
    assert_eq!(stream.events(&calls())[2..], CALLS);
}

#[test]
fn table_k10_15_return_stack_on() {
    let stream = Stream::new(config(&[("TRCIDR8", 4), ("TRCCONFIGR", 0x1001)]))
        .on()
        .context(0x21)
        .address(0x1000)
        .atoms("ENEE")
        .commit(4);
    assert_eq!(stream.elements()[4..], ["atom(E)", "atom(N)", "atom(E)", "atom(E)", "commit(4)"]);
    assert_eq!(stream.events(&calls())[2..], CALLS);
    // The same without the return stack: the last atom cannot be placed.
    let off = Stream { config: config(&[("TRCIDR8", 4)]), bytes: stream.bytes };
    assert_eq!(off.events(&calls())[2..], [&CALLS[..3], &["gap lost-sync 2018->?"]].concat());
}

/// The program of the transactions.
fn transactions() -> Code {
    Code::default()
        .at(0x1000, &[beq(0x1000, 0x2000), NOP, RET])
        .at(0x2000, &[TSTART, b(0x2004, 0x2400)])
        .at(0x2400, &[b(0x2400, 0x2804)])
        .at(0x2804, &[b(0x2804, 0x2808), NOP, NOP, RET])
}

#[test]
fn table_k10_16_transaction_succeeds() {
    let stream =
        Stream::new(config(&[])).start(0x2000).atoms("E").raw("0a").atoms("EEE").raw("0b").atoms("E");
    assert_eq!(
        stream.elements()[4..],
        [
            "atom(E)",
            "commit(1)",
            "transaction_start",
            "commit(1)",
            "atom(E)",
            "commit(1)",
            "atom(E)",
            "commit(1)",
            "atom(E)",
            "commit(1)",
            "transaction_commit",
            "atom(E)",
            "commit(1)"
        ]
    );
    assert_eq!(
        stream.events(&transactions())[2..],
        [
            "2000-2004 1 next",
            "mark transaction-start",
            "2004-2008 1 jump E",
            "2400-2404 1 jump E",
            "2804-2808 1 jump E",
            "mark transaction-commit",
            "2808-2814 3 return E",
        ]
    );
}

/// TST and BEQ behind the TSTART.
fn failing() -> Code {
    Code::default()
        .at(0x1000, &[beq(0x1000, 0x2000), NOP, RET])
        .at(0x2000, &[TSTART, NOP, beq(0x2008, 0x2900), b(0x200c, 0x2804)])
        .at(0x2804, &[b(0x2804, 0x3000)])
        .at(0x2900, &[RET])
        .at(0x3000, &[NOP])
}

#[test]
fn table_k10_17_transaction_fails() {
    let stream = Stream::new(config(&[]))
        .start(0x2000)
        .atoms("E")
        .raw("0a")
        .atoms("NEE")
        .address(0x3000)
        .raw("06 31 70")
        .address(0x2004)
        .atoms("E");
    assert_eq!(
        stream.elements()[4..],
        [
            "atom(E)",
            "commit(1)",
            "transaction_start",
            "commit(1)",
            "atom(N)",
            "commit(1)",
            "atom(E)",
            "commit(1)",
            "atom(E)",
            "commit(1)",
            "address(3000)",
            "transaction_failure",
            "address(2004)",
            "atom(E)",
            "commit(1)"
        ]
    );
    let mut expected =
        vec!["2000-2004 1 next", "mark transaction-start", "mark transaction-fail", "2004-200c 2 branch E"];
    assert_eq!(stream.events(&failing())[2..], expected);
    let shown = stream.events_with(&failing(), crate::Options { show_withdrawn: true, ..Default::default() });
    expected.splice(
        2..2,
        ["2004-200c 2 branch N withdrawn", "200c-2010 1 jump E withdrawn", "2804-2808 1 jump E withdrawn"],
    );
    assert_eq!(shown[2..], expected);
}

#[test]
fn table_k10_18_transaction_fails_under_speculation() {
    let stream = Stream::new(config(&[("TRCIDR8", 5)]))
        .start(0x2000)
        .atoms("E")
        .raw("0a")
        .atoms("NE")
        .address(0x3000)
        .cancel(2)
        .raw("06 31 70")
        .address(0x2004)
        .atoms("E")
        .commit(3);
    assert_eq!(
        stream.elements()[4..],
        [
            "atom(E)",
            "transaction_start",
            "atom(N)",
            "atom(E)",
            "address(3000)",
            "cancel(2)",
            "transaction_failure",
            "address(2004)",
            "atom(E)",
            "commit(3)"
        ]
    );
    assert_eq!(
        stream.events(&failing())[2..],
        ["2000-2004 1 next", "mark transaction-start", "mark transaction-fail", "2004-200c 2 branch E"]
    );
}

#[test]
fn table_k10_19_transaction_start_is_cancelled() {
    // Five P0 elements are open: the depth must allow for them.
    let stream = Stream::new(config(&[("TRCIDR8", 5)]))
        .start(0x1000)
        .atoms("EE")
        .raw("0a")
        .atoms("NE")
        .cancel(4)
        .mispredict()
        .atoms("E")
        .commit(2);
    assert_eq!(
        stream.elements()[4..],
        [
            "atom(E)",
            "atom(E)",
            "transaction_start",
            "atom(N)",
            "atom(E)",
            "cancel(4)",
            "mispredict",
            "atom(E)",
            "commit(2)"
        ]
    );
    assert_eq!(stream.events(&failing())[2..], ["1000-1004 1 branch N", "1004-100c 2 return E"]);
}
