//! Streams for what no recorded trace covers, and for the defects of other decoders.

use crate::testing::*;
use crate::{Options, Packet};

/// 0x1000: loops and branches of every kind.
pub(crate) fn code() -> Code {
    Code::default()
        .at(0x1000, &[NOP, beq(0x1004, 0x1100), NOP, bl(0x100c, 0x1200), NOP, BR])
        .at(0x1100, &[NOP, b(0x1104, 0x1000)])
        .at(0x1200, &[NOP, RET])
        .at(0x1300, &[NOP, SVC, NOP, ERET])
}

/// MAXSPEC 8.
pub(crate) fn deep() -> Stream {
    Stream::new(config(&[("TRCIDR8", 8)])).start(0x1000)
}

pub(crate) fn plain() -> Stream {
    Stream::new(config(&[])).start(0x1000)
}

pub(crate) fn with_returns() -> Stream {
    Stream::new(config(&[("TRCCONFIGR", 0x1001)])).start(0x1000)
}

/// Events behind the Trace On and the first context.
pub(crate) fn rest(stream: &Stream) -> Vec<String> {
    stream.events(&code()).split_off(2)
}

pub(crate) const N: &str = "1000-1008 2 branch N";
pub(crate) const E: &str = "1000-1008 2 branch E";

#[test]
fn cancel_format_2_with_atoms() {
    // 34 none, 35 E, 36 EE, 37 N: atoms, cancel 1, mispredict.
    assert_eq!(rest(&deep().atoms("NE").raw("34").commit(1)), [E]);
    assert_eq!(rest(&deep().atoms("N").raw("35").commit(1)), [E]);
    assert_eq!(rest(&deep().raw("36").commit(1)), [N]);
    assert_eq!(rest(&deep().atoms("N").raw("37").commit(1)), [E]);
}

#[test]
fn cancel_format_3() {
    // 38: cancel 2; 39: E, cancel 2; 3e: cancel 5; 3f: E, cancel 5; then mispredict.
    assert_eq!(rest(&deep().atoms("NEE").raw("38").commit(1)), [E]);
    assert_eq!(rest(&deep().atoms("NE").raw("39").commit(1)), [E]);
    assert_eq!(rest(&deep().atoms("NEEEEE").raw("3e").commit(1)), [E]);
    assert_eq!(rest(&deep().atoms("NEEEE").raw("3f").commit(1)), [E]);
    let elements = deep().atoms("NN").raw("3b").elements();
    assert_eq!(elements[6..], ["atom(E)", "cancel(3)", "mispredict"]);
}

#[test]
fn cancel_format_1_with_mispredict() {
    assert_eq!(rest(&deep().atoms("NEE").raw("2f 02").commit(1)), [E]);
    assert_eq!(rest(&deep().atoms("NEE").raw("2e 02").commit(1)), [N]);
}

#[test]
fn mispredict_with_atoms() {
    // 30 none, 31 E, 32 EE, 33 N, then the last is turned around.
    assert_eq!(rest(&plain().raw("30")), [""; 0]);
    assert_eq!(rest(&plain().raw("31")), [N]);
    assert_eq!(rest(&plain().raw("32")), [E, "1100-1108 2 jump N doubtful"]);
    assert_eq!(rest(&plain().raw("33")), [E]);
    // Twice is as it was.
    assert_eq!(rest(&plain().raw("31 30")), [E]);
}

#[test]
fn mispredict_after_commit() {
    assert_eq!(rest(&deep().raw("f7 2d 01 30")), [N]);
    assert_eq!(rest(&plain().raw("f7 30")), [N]);
    // A time between them comes behind the run, which is corrected all the same.
    assert_eq!(rest(&plain().raw("f7 02 05 30 f7")), [N, "timestamp 5", "1008-1010 2 call E"]);
    // Behind another P0 element it would be that one's.
    assert_eq!(rest(&plain().raw("f6 f6 30")), [N, "1008-1010 2 call E"]);
}

#[test]
fn a_mispredicted_indirect_branch_falls_through() {
    let stream = plain().raw("f6").address(0x1010).atoms("E").mispredict().atoms("");
    let events = stream.events(&code());
    assert_eq!(events.last().unwrap(), "1010-1018 2 indirect-jump N doubtful");
}

#[test]
fn elements_kept_by_a_cancel_stay_in_order() {
    let stream = deep().atoms("N").raw("71 02 07 88").atoms("E").raw("72").cancel(2).atoms("E").commit(1);
    assert_eq!(
        rest(&stream),
        ["mark trace-event 0", "timestamp 7", "mark timestamp-marker", "mark trace-event 1", E]
    );
}

#[test]
fn what_is_cancelled_is_shown_if_asked_for() {
    let options = Options { show_withdrawn: true, ..Options::default() };
    let stream = deep().atoms("NEE").cancel(2).atoms("N").commit(2);
    let expected =
        [N, "1008-1010 2 call E withdrawn", "1200-1208 2 return E withdrawn", "1008-1010 2 call N doubtful"];
    assert_eq!(stream.events_with(&code(), options).split_off(2), expected);
    let stream = deep().atoms("NE").raw("34").commit(1);
    let expected = [E, "1008-1010 2 call E withdrawn"];
    assert_eq!(stream.events_with(&code(), options).split_off(2), expected);
    // One within another: the inner starts from where the outer was.
    let stream = deep().atoms("EE").cancel(1).atoms("E").cancel(2).atoms("N").commit(1);
    let expected =
        ["1000-1008 2 branch E withdrawn", "1100-1108 2 jump E withdrawn", "1100-1108 2 jump E withdrawn", N];
    assert_eq!(stream.events_with(&code(), options).split_off(2), expected);
}

#[test]
fn trace_info_with_a_speculation_depth() {
    // Two P0 elements before the start are committed first, the rest is as ever.
    let stream = Stream { config: config(&[("TRCIDR8", 8)]), bytes: Vec::new() }
        .put(Packet::AlignmentSync { zeros: 11 })
        .info(0, 2, 0)
        .start(0x1000)
        .atoms("EE")
        .commit(3);
    assert_eq!(rest(&stream), [E, "gap discarded 1100->?"]);
    // The youngest are cancelled first: one of these two and then an unseen one, with what stood between.
    let stream = Stream { config: config(&[("TRCIDR8", 8)]), bytes: Vec::new() }
        .put(Packet::AlignmentSync { zeros: 11 })
        .info(0, 2, 0)
        .start(0x1000)
        .atoms("E")
        .cancel(2)
        .start(0x1100)
        .atoms("E")
        .commit(2);
    assert_eq!(rest(&stream), ["1100-1108 2 jump E"]);
}

#[test]
fn too_deep_is_committed() {
    let stream = Stream::new(config(&[("TRCIDR8", 2)])).start(0x1000).atoms("EEE");
    assert_eq!(rest(&stream), [E, "gap discarded 1100->?"]);
}

#[test]
fn commits_of_what_is_not_there() {
    // 2d 00 does not hang; more than is unresolved is an error.
    assert_eq!(rest(&deep().raw("2d 00").atoms("E").commit(1)), [E]);
    let events = rest(&deep().atoms("E").commit(2));
    assert_eq!(events[0], "error 0x1b: Commit.COMMIT: 2 contradicts what came before [K10.5.2.8]");
}

#[test]
fn discard_and_overflow() {
    let stream = deep().atoms("EE").commit(1).raw("71 00 03").start(0x1000).atoms("N").commit(1);
    assert_eq!(
        rest(&stream),
        [
            E,
            "mark trace-event 0",
            "gap discarded 1100->1000",
            "mark trace-on",
            "context el1 non-secure a64",
            N
        ]
    );
    let stream = deep().atoms("E").commit(1).raw("00 05").put(Packet::AlignmentSync { zeros: 11 });
    let stream = stream.info(1, 0, 4).raw("0f").start(0x1100).raw("10 0e 05").atoms("E").commit(1);
    assert_eq!(
        rest(&stream),
        [
            E,
            "gap overflow 1100->1100",
            "cycles ?",
            "mark trace-on",
            "context el1 non-secure a64",
            "cycles 4",
            "cycles 9",
            "1100-1108 2 jump E"
        ]
    );
}

#[test]
fn instrumentation_before_a_discard_is_kept() {
    let stream = deep().atoms("E").raw("09 01 ff ff 0f 00 00 00 00 00 00 03");
    assert_eq!(rest(&stream), ["mark instrumentation fffff", "gap discarded 1000->?"]);
    let stream = plain().raw("09 02 01 00 00 00 00 00 00 80 00 05");
    assert_eq!(rest(&stream), ["mark instrumentation 8000000000000001", "gap overflow 1000->?"]);
}

#[test]
fn q_of_every_type() {
    // A5, A6 short; AA, AB long; A0 to A2 from the history; AC count only; AF nothing.
    let next = |stream: Stream| rest(&stream.atoms("E"));
    let run = "1000-1008 2 branch E";
    assert_eq!(next(plain().raw("a5 c0 08 02")), [run, "1100-1108 2 jump E"]);
    assert_eq!(next(plain().raw("a6 80 11 02")), [run, "1100-1108 2 jump E"]);
    assert_eq!(next(plain().raw("aa 40 08 00 00 02")), [run, "1100-1108 2 jump E"]);
    assert_eq!(next(plain().raw("ab 00 11 00 00 02")), [run, "1100-1108 2 jump E"]);
    let history = Stream::new(config(&[])).start(0x1100).address(0x1000);
    assert_eq!(next(history.raw("a1 02")), [run, "1100-1108 2 jump E"]);
    let ac = plain().raw("ac 02").address(0x1100);
    assert_eq!(next(ac), ["1000-1008 2 branch", "1100-1108 2 jump E"]);
    let af = plain().raw("af").address(0x1100);
    assert_eq!(next(af), ["gap no-path 1000->1100", "1100-1108 2 jump E"]);
}

#[test]
fn q_follows_what_is_certain() {
    // Straight on, then over an unconditional branch, then up to a conditional one.
    let stream = Stream::new(config(&[])).start(0x1100).raw("aa 44 08 00 00 0a").atoms("E");
    assert_eq!(
        rest(&stream),
        [
            "1100-1108 2 jump E",
            "1000-1008 2 branch",
            "gap no-path ?->1110 6 instructions",
            "gap no-code 1110->?"
        ]
    );
    // To where execution goes on there is no path of this length: nothing of it is believed.
    let stream = plain().raw("aa 44 08 00 00 01");
    assert_eq!(rest(&stream), ["gap no-path 1000->1110 1 instructions"]);
    // One instruction, and on behind it.
    let stream = plain().raw("a5 01 01").atoms("E");
    assert_eq!(rest(&stream), ["1000-1004 1 next", "1004-1008 1 branch E"]);
}

#[test]
fn source_addresses_of_every_form() {
    // The branch at 0x1104, with 0x1000 to 0x10ff not there: start at 0x1100.
    let from = |hex: &str| {
        let stream = Stream::new(config(&[])).start(0x1100).raw(hex).atoms("N");
        rest(&stream)
    };
    let expected = ["1100-1108 2 jump E", N];
    assert_eq!(from("b4 41"), expected); // short, IS0
    assert_eq!(from("b4 c1 08"), expected);
    assert_eq!(from("b5 82 11"), expected); // short, IS1: never switches the instruction set
    assert_eq!(from("b6 41 08 00 00"), expected);
    assert_eq!(from("b7 02 11 00 00"), expected);
    assert_eq!(from("b8 41 08 00 00 00 00 00 00"), expected);
    assert_eq!(from("b9 02 11 00 00 00 00 00 00"), expected);
    let history = Stream::new(config(&[])).start(0x1104).address(0x1100);
    assert_eq!(rest(&history.raw("b1").atoms("N")), expected);
    let history = Stream::new(config(&[])).start(0x1104).address(0x2000).address(0x1100);
    assert_eq!(rest(&history.raw("b2").atoms("N")), expected);
}

#[test]
fn a_source_address_passes_branches_that_fall_through() {
    assert_eq!(rest(&plain().raw("b4 03")), [N, "1008-1010 2 call E"]);
    // With MAXSPEC 0 the commit finds it, with more it waits.
    assert_eq!(rest(&deep().raw("b4 03").commit(1)), [N, "1008-1010 2 call E"]);
    // At an instruction that is no branch: the program is another.
    assert_eq!(rest(&plain().raw("b4 02")), [N, "1008-100c 1 next doubtful"]);
    // Before the current address.
    assert_eq!(
        rest(&Stream::new(config(&[])).start(0x1100).raw("b6 01 08 00 00")),
        ["gap unexplained 1100->?"]
    );
}

#[test]
fn return_stack_before_a_source_address_and_q() {
    // 0x100c calls 0x1200, which returns to 0x1010: the address is not sent.
    let called = || with_returns().raw("f6 f7 f7");
    let before = [N, "1008-1010 2 call E", "1200-1208 2 return E"];
    assert_eq!(rest(&called().raw("b4 05")), [&before[..], &["1010-1018 2 indirect-jump E"]].concat());
    assert_eq!(rest(&called().raw("a5 04 02")), [&before[..], &["1010-1018 2 indirect-jump E"]].concat());
    // An exception and a Trace Info pop it too.
    assert_eq!(
        rest(&called().exception(14, 0x1014)),
        [&before[..], &["1010-1014 1 trap", "trap interrupt 14 1014->?"]].concat()
    );
    assert_eq!(
        rest(&called().info(0, 0, 0).atoms("E")),
        [&before[..], &["1010-1018 2 indirect-jump E"]].concat()
    );
    // An address that is sent wins.
    assert_eq!(rest(&called().address(0x1100).atoms("E")), [&before[..], &["1100-1108 2 jump E"]].concat());
}

#[test]
fn return_stack_keeps_what_it_should() {
    let code = || Code::default().at(0x1000, &[bl(0x1000, 0x1000), NOP, RET]);
    // Sixteen calls, sixteen returns: the oldest was dropped, so the last one finds nothing.
    let stream = with_returns().atoms(&"E".repeat(16)).address(0x1008).atoms(&"E".repeat(17));
    let events = stream.events(&code());
    let returns = events.iter().filter(|event| event.contains("return E")).count();
    assert_eq!(returns, 16, "{events:#?}");
    assert_eq!(events.last().unwrap(), "gap lost-sync 100c->?");
    // A call that was turned into N stays on the stack; one that was turned into E was never put there.
    let a32 = || {
        let to = |from: u32, to: u32| (to.wrapping_sub(from + 8) >> 2) & 0xff_ffff;
        Code::default()
            .at(0x1000, &[0x0b00_0000 | to(0x1000, 0x1010), 0xe12f_ff1e])
            .at(0x1010, &[0xe12f_ff1e])
    };
    let start = || Stream::new(config(&[("TRCCONFIGR", 0x1001)])).on().context(0x21).address(0x1000);
    let events = start().raw("f7 30 f7 f7").events(&a32()).split_off(2);
    assert_eq!(events, ["1000-1004 1 call N", "1004-1008 1 return E", "1004-1008 1 return E"]);
    let events = start().raw("f6 30 f7 f7").events(&a32()).split_off(2);
    assert_eq!(events, ["1000-1004 1 call E", "1010-1014 1 return E", "gap lost-sync 1014->?"]);
    // Trace Info empties it.
    let events = with_returns().atoms("E").info(0, 0, 0).address(0x1008).atoms("EE").events(&code());
    assert_eq!(events.last().unwrap(), "gap lost-sync 100c->?");
    // What is not configured is not used.
    let events = plain().atoms("E").address(0x1008).atoms("EE").events(&code());
    assert_eq!(events.last().unwrap(), "gap lost-sync 100c->?");
}

#[test]
fn pe_reset() {
    for hex in ["06 01 70", "06 40 70"] {
        let stream = plain().atoms("N").raw(hex).address(0x1100).atoms("E");
        assert_eq!(rest(&stream), [N, "trap reset 0 ?->1100", "1100-1108 2 jump E"]);
    }
    // In a transaction it fails it.
    let stream = plain().raw("0a").atoms("N").raw("06 01 70").address(0x1100).atoms("E");
    assert_eq!(
        rest(&stream),
        ["mark transaction-start", "mark transaction-fail", "trap reset 0 ?->1100", "1100-1108 2 jump E"]
    );
    // Type 25 has no return address either, whatever is sent.
    let stream = plain().raw("06 33 70").address(0x1100).atoms("E");
    assert_eq!(rest(&stream), ["trap exception 25 ?->1100", "1100-1108 2 jump E"]);
}

#[test]
fn exceptions_of_every_type() {
    for number in (1..24u8).chain(26..32) {
        let kind = if matches!(number, 4 | 14 | 15) { "interrupt" } else { "exception" };
        let stream = plain().exception(number, 0x1004).address(0x1100).atoms("E");
        let trap = format!("trap {kind} {number} 1004->1100");
        assert_eq!(rest(&stream), ["1000-1004 1 trap", &trap, "1100-1108 2 jump E"], "{number}");
    }
}

#[test]
fn a_system_call_is_attempted() {
    let stream = Stream::new(config(&[])).start(0x1300).exception(2, 0x1308).address(0x1000).atoms("N");
    assert_eq!(rest(&stream), ["1300-1308 2 trap attempted", "trap exception 2 1304->1000", N]);
    // The return from it.
    let stream = Stream::new(config(&[])).start(0x1308).atoms("E").address(0x1000).atoms("N");
    assert_eq!(rest(&stream), ["1308-1310 2 trap-return E", "trap return 130c->1000", N]);
}

#[test]
fn exception_with_e_10() {
    // The address is where the last branch went and where the exception will return to: nothing ran.
    let stream = plain().raw("f6").address(0x1010).atoms("E").raw("06 5c 9a 40 08 00 00").address(0x1300);
    assert_eq!(rest(&stream), [N, "1010-1018 2 indirect-jump E", "trap interrupt 14 1100->1300"]);
    // With a context, which comes first.
    let stream = plain().atoms("N").raw("06 1d 82 42 08 00 00 30").address(0x1300).context(0x31);
    assert_eq!(
        rest(&stream)[..3],
        [N.to_string(), "context el0 non-secure a64".to_string(), "1008-1010 2 call N doubtful".to_string()]
    );
    let elements = plain().raw("06 5c 82 42 08 00 00 30").elements();
    assert_eq!(elements[4..], ["context", "address(1108)", "exception(14, 1108)", "commit(1)"]);
    // E = 00 and 11 are reserved.
    let events = rest(&plain().raw("06 1c 90"));
    assert_eq!(events, ["error 0x1a: Exception.E: 0 is not allowed [K10.5.2.13]"]);
    assert!(rest(&plain().raw("06 5d 90"))[0].starts_with("error 0x1a: Exception.E: 3"));
}

#[test]
fn after_an_exception_an_address_is_awaited() {
    let stream = with_returns().raw("f6 f7").exception(14, 0x1204).atoms("EE").address(0x1100).atoms("E");
    assert_eq!(
        rest(&stream),
        [
            N,
            "1008-1010 2 call E",
            "1200-1204 1 trap",
            "trap interrupt 14 1204->1100",
            "gap lost-sync 1200->1100",
            "1100-1108 2 jump E"
        ]
    );
}

#[test]
fn an_exception_below_the_current_address() {
    // Only at the very top of the address space the code wraps around.
    let top = Code::default().at(0xffff_fff8, &[0xe320_f000, 0xe320_f000]).at(0, &[0xe320_f000, 0xe320_f000]);
    let stream = Stream::new(config(&[])).on().context(0x21).address(0xffff_fff8).exception(14, 4);
    let events = stream.events(&top).split_off(2);
    assert_eq!(events[0], "fffffff8-100000000 2 next");
    assert_eq!(events[1..], ["0-4 1 trap", "trap interrupt 14 4->?"]);
    assert_eq!(
        rest(&Stream::new(config(&[])).start(0x1100).exception(14, 0x1000)),
        ["gap unexplained 1100->?", "trap interrupt 14 1000->?"]
    );
}
