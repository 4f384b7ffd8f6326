//! More streams for what no recorded trace covers: instruction sets, contexts, time, transactions, damage.

use std::sync::Arc;

use trackway_core::Isa;
use trackway_image::{Image, Space};

use crate::handmade::*;
use crate::testing::*;
use crate::{Lift, Options, Packet, Trace};

#[test]
fn thumb_code() {
    // 0x1000: nop; b 0x1008; 0x1008: bl 0x1010 (wide); svc 5; 0x1010: nop.w; bx lr
    let code = Code::default()
        .halves(0x1000, &[0xbf00, 0xe001])
        .halves(0x1008, &[0xf000, 0xf802, 0xdf05, 0xbf00])
        .halves(0x1010, &[0xf3af, 0x8000, 0x4770]);
    let start = |address| Stream::new(config(&[("TRCCONFIGR", 0x1001)])).on().context(0x20).thumb(address);
    let stream = start(0x1000).atoms("EEE").raw("06 05 9e 07 10 00 00 00 00 00 00");
    assert_eq!(
        stream.events(&code)[2..],
        [
            "isa t32",
            "1000-1004 2 jump E",
            "1008-100c 1 call E",
            "1010-1016 2 return E",
            "100c-100e 1 trap attempted",
            "trap exception 2 100c->?"
        ]
    );
    // An exception address inside a wide instruction: the program is another.
    let stream = start(0x1010).raw("06 1d 9e 09 10 00 00 00 00 00 00");
    assert_eq!(
        stream.events(&code)[2..],
        ["isa t32", "1010-1010 0 trap doubtful", "trap interrupt 14 1012->?"]
    );
    // BLX from T32 to A32 and back by a return that the stack tells, with its instruction set.
    let code = Code::default().halves(0x1000, &[0xf000, 0xe806, 0xe7fe]).at(0x1010, &[0xe12f_ff1e]);
    let events = start(0x1000).atoms("EEE").events(&code).split_off(2);
    assert_eq!(
        events,
        ["isa t32", "1000-1004 1 call E", "isa a32", "1010-1014 1 return E", "isa t32", "1004-1006 1 jump E"]
    );
}

#[test]
fn is1_addresses() {
    // 96 short, 9b 32 bits, 9e 64 bits, 83 and 86 with context; a later exact match keeps the set.
    let code = Code::default().halves(0x1000, &[0xbf00, 0xe7fd]);
    let start = || Stream::new(config(&[])).on().context(0x20);
    let expected = ["isa t32", "1000-1004 2 jump E"];
    for hex in ["96 80 10", "9b 00 10 00 00", "9e 00 10 00 00 00 00 00 00", "83 00 10 00 00 20"] {
        assert_eq!(start().raw(hex).atoms("E").events(&code)[2..], expected, "{hex}");
    }
    let stream = start().raw("86 00 10 00 00 00 00 00 00 20").atoms("E").raw("95 00 91").atoms("E");
    assert_eq!(stream.events(&code)[2..], ["isa t32", expected[1], expected[1]]);
}

#[test]
fn a_context_may_come_behind_the_address() {
    // The address says IS0; only the context says that it is A64.
    let stream = Stream::new(config(&[])).on().address(0x1000).context(0x31).atoms("N");
    assert_eq!(rest(&stream), [N]);
    // An address without a context is of no use once an atom came.
    let stream = Stream::new(config(&[])).on().address(0x1000).atoms("N").context(0x31).atoms("N");
    assert_eq!(stream.events(&code()), ["mark trace-on", "gap lost-sync ?->?", "context el1 non-secure a64"]);
}

#[test]
fn security_states() {
    let words = |info| Stream::new(config(&[])).context(info).events(&code()).pop().unwrap();
    assert_eq!(words(0x13), "context el3 secure a64");
    assert_eq!(words(0x31), "context el1 non-secure a64");
    assert_eq!(words(0x1b), "context el3 root a64");
    assert_eq!(words(0x3a), "context el2 realm a64");
    let ids = Stream::new(config(&[])).raw("81 f1 01 00 00 00 02 00 00 00 81 31 80 81 71 07 00 00 00");
    assert_eq!(
        ids.events(&code()),
        ["context el1 non-secure a64 cid=2 vmid=1", "context el1 non-secure a64 cid=2 vmid=7"]
    );
}

#[test]
fn a_context_with_an_id_that_the_unit_does_not_have() {
    let stream = Stream::new(config(&[("TRCIDR2", 0xd000_0088)])).start(0x1000).raw("81 71").atoms("N");
    assert_eq!(rest(&stream)[0], "error 0x1a: Context.VMID: 0x71 is not allowed [K10.5.2.14]");
}

#[test]
fn timestamps() {
    // Bits that are not sent keep their value; the ninth byte has eight bits; Trace Info sets all to 0.
    let stream = plain().raw("02 ff ff ff ff ff ff ff ff ff 02 00 02 81 01 03 01 85 02");
    assert_eq!(
        rest(&stream),
        [
            format!("timestamp {}", u64::MAX),
            format!("timestamp {}", u64::MAX - 127),
            format!("timestamp {}", !0x3fff_u64 | 0x81),
            format!("timestamp {}", !0x3fff_u64 | 0x81),
            "offset 261".to_string()
        ]
    );
    let stream = plain().raw("02 ff 7f").info(0, 0, 0).raw("02 01");
    assert_eq!(rest(&stream), ["timestamp 16383", "timestamp 1"]);
    // Without a count there is none, also when cycles are counted.
    let stream = Stream::new(config(&[])).info(1, 0, 4).raw("02 05");
    assert_eq!(stream.events(&code()), ["timestamp 5"]);
}

#[test]
fn cycle_counts_that_commit() {
    // COMMOPT 0, MAXSPEC 8, threshold 4.
    let begin = || {
        Stream { config: config(&[COMMOPT0, ("TRCIDR8", 8)]), bytes: Vec::new() }
            .put(Packet::AlignmentSync { zeros: 11 })
            .info(1, 0, 4)
            .start(0x1000)
            .atoms("EEEE")
    };
    let four = [E, "1100-1108 2 jump E", E, "1100-1108 2 jump E"];
    // Format 1: a count of commits, then cycles; 0F: cycles unknown.
    assert_eq!(rest(&begin().raw("0e 04 81 02")), [&four[..], &["cycles 261"]].concat());
    assert_eq!(rest(&begin().raw("0f 04")), [&four[..], &["cycles ?"]].concat());
    assert_eq!(rest(&begin().raw("0e 00 01")), ["gap discarded 1000->?"]);
    // Format 2: F = 0 is AAAA + 1; F = 1 is MAXSPEC + AAAA - 15.
    assert_eq!(rest(&begin().raw("0c 3f")), [&four[..], &["cycles 19"]].concat());
    assert_eq!(rest(&begin().raw("0d b2")), [&four[..], &["cycles 6"]].concat());
    assert_eq!(
        rest(&begin().raw("0d 00"))[0],
        "error 0x20: Cycle Count F2.AAAA: 0 contradicts what came before [K10.5.2.16]"
    );
    // Format 3: bits 3:2 plus 1.
    assert_eq!(rest(&begin().raw("1d")), [&four[..], &["cycles 5"]].concat());
    // With COMMOPT 1 nothing is committed.
    let stream = Stream::new(config(&[("TRCIDR8", 8)])).info(1, 0, 4).start(0x1000).atoms("E");
    assert_eq!(rest(&stream.raw("1d 0d ff 0e 01").commit(1)), [E, "cycles 5", "cycles 19", "cycles 5"]);
}

#[test]
fn transactions_under_speculation() {
    // Elements older than the start are not of the transaction; the failure waits for its commit.
    let code = Code::default().at(0x1000, &[b(0x1000, 0x2000)]).at(0x2000, &[TSTART, b(0x2004, 0x2004)]);
    for (idr0, starts) in [(0x28c1_cea1, 1), (0x68c1_cea1, 0)] {
        let begin = || {
            Stream::new(config(&[("TRCIDR8", 8), ("TRCIDR0", idr0)]))
                .start(0x1000)
                .atoms("EE")
                .raw("0a")
                .atoms("E")
        };
        let stream = begin().raw("06 31 70").address(0x2004).atoms("E").commit(4 + starts);
        assert_eq!(
            stream.events(&code)[2..],
            [
                "1000-1004 1 jump E",
                "2000-2004 1 next",
                "mark transaction-start",
                "mark transaction-fail",
                "2004-2008 1 jump E"
            ],
            "COMMTRANS {}",
            1 - starts
        );
        let stream = begin().raw("71 0b").atoms("E").commit(4 + starts);
        assert_eq!(
            stream.events(&code)[2..],
            [
                "1000-1004 1 jump E",
                "2000-2004 1 next",
                "mark transaction-start",
                "2004-2008 1 jump E",
                "mark trace-event 0",
                "mark transaction-commit",
                "2004-2008 1 jump E"
            ]
        );
        // Cancelled back to before the start: the transaction never was.
        let stream = begin().cancel(2 + starts).raw("06 31 70").atoms("").commit(1);
        assert_eq!(
            stream.events(&code)[2..],
            ["1000-1004 1 jump E", "mark transaction-fail"],
            "COMMTRANS {}",
            1 - starts
        );
    }
}

#[test]
fn a_failed_transaction_keeps_events_and_counts() {
    let stream = Stream::new(config(&[])).info(1, 0, 0).start(0x1000).raw("0a f6 71 12 02 05 09 01");
    let stream = stream.raw("01 00 00 00 00 00 00 00 f7 06 31 70").address(0x1000).atoms("N");
    assert_eq!(
        rest(&stream),
        [
            "mark transaction-start",
            "mark trace-event 0",
            "cycles 2",
            "timestamp 5",
            "mark instrumentation 1",
            "mark transaction-fail",
            N
        ]
    );
    // INFO bit 6: decoding starts inside a transaction.
    let stream = Stream { config: config(&[]), bytes: Vec::new() }
        .put(Packet::AlignmentSync { zeros: 11 })
        .info(0x40, 0, 0)
        .start(0x1000)
        .atoms("N")
        .raw("06 31 70")
        .address(0x1000)
        .atoms("N");
    assert_eq!(stream.events(&code()), ["context el1 non-secure a64", "mark transaction-fail", N]);
}

#[test]
fn events_before_the_first_trace_info() {
    let stream = Stream { config: config(&[]), bytes: Vec::new() }.raw("00 80 7a f7 f7 01 00 7f");
    assert_eq!(
        stream.events(&code()),
        [
            "mark trace-event 1",
            "mark trace-event 3",
            "gap lost-sync ?->? 2 bytes",
            "mark trace-event 0",
            "mark trace-event 1",
            "mark trace-event 2",
            "mark trace-event 3"
        ]
    );
}

#[test]
fn alignment_synchronisation_of_any_length() {
    let stream = plain().put(Packet::AlignmentSync { zeros: 500 }).info(0, 0, 0).atoms("N");
    assert_eq!(rest(&stream), [N]);
    let stream = plain().atoms("N").put(Packet::AlignmentSync { zeros: 10 }).info(0, 0, 0);
    assert_eq!(rest(&stream)[1], "error 0x1b: Extension.zeros: 0xa is not allowed [K10.5.2.3]");
}

#[test]
fn trace_info_with_all_sections() {
    // PLCTL in two bytes, INFO in two, KEY, SPEC 0, CYCT 300, WINDOW.
    let stream =
        Stream { config: config(&[]), bytes: Vec::new() }.raw("00 80 01 9f 00 81 01 05 00 ac 02 07 10");
    assert_eq!(stream.events(&code()), ["cycles 300"]);
    let events = Stream { config: config(&[]), bytes: Vec::new() }.raw("00 80 01 20 00").events(&code());
    assert_eq!(events[0], "error 0x2: Trace Info.PLCTL: 0x20 is not known [K10.5.2.6]");
}

#[test]
fn trace_info_with_numbers_that_cannot_be() {
    // Depth and threshold of 64 bits: nothing overflows.
    let stream = Stream { config: config(&[]), bytes: Vec::new() }
        .raw("00 80 01 0d 01 ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff 13")
        .start(0x1000)
        .atoms("EE");
    let mut findings = 0;
    crate::check(vec![stream.trace(&code())], Options::default(), &mut |_| findings += 1).unwrap();
    assert!(findings > 0);
    // With MAXSPEC 0 the first P0 element commits all that went before.
    let expected =
        ["cycles 4294967295", "mark trace-on", "context el1 non-secure a64", E, "1100-1108 2 jump E"];
    assert_eq!(stream.events(&code()), expected);
}

#[test]
fn missing_code_is_a_gap() {
    let stream = plain().atoms("N").address(0x5000).atoms("EN").address(0x1100).atoms("E");
    assert_eq!(rest(&stream), [N, "gap no-code 5000->1100", "1100-1108 2 jump E"]);
    // Code that ends without a branch.
    let code = Code::default().at(0x1000, &[NOP, NOP]);
    let events = plain().atoms("E").events(&code).split_off(2);
    assert_eq!(events, ["1000-1008 2 next", "gap no-code 1008->?"]);
}

#[test]
fn images_by_context() {
    let mut image = Image::default();
    let words = |words: &[u32]| -> trackway_core::SharedBytes {
        Arc::new(words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
    };
    let of = |id| Space { context_id: Some(id), ..Space::default() };
    image.add_raw("one", 0x1000, words(&[b(0x1000, 0x1000)]), of(1)).unwrap();
    image.add_raw("two", 0x1000, words(&[NOP, b(0x1004, 0x1000)]), of(2)).unwrap();
    let stream = Stream::new(config(&[]))
        .on()
        .context_id(1)
        .address(0x1000)
        .atoms("E")
        .context_id(2)
        .atoms("E")
        .context_id(3)
        .atoms("E");
    let trace = Trace { image: Arc::new(image), ..stream.trace(&Code::default()) };
    let events = lines(&mut Lift::new(vec![trace], Options::default()));
    assert_eq!(
        events,
        [
            "mark trace-on",
            "context el1 non-secure a64 cid=1",
            "1000-1004 1 jump E",
            "context el1 non-secure a64 cid=2",
            "1000-1008 2 jump E",
            "context el1 non-secure a64 cid=3",
            "gap no-code 1000->?"
        ]
    );
}

#[test]
fn wfx_is_a_waypoint_where_the_unit_says_so() {
    const WFI: u32 = 0xd503_207f;
    let code = Code::default().at(0x1000, &[NOP, WFI, b(0x1008, 0x1000)]);
    assert_eq!(plain().atoms("EE").events(&code)[2..], ["1000-1008 2 next", "1008-100c 1 jump E"]);
    let stream = Stream::new(config(&[("TRCIDR2", 0x5000_1088)])).start(0x1000).atoms("E");
    assert_eq!(stream.events(&code)[2..], ["1000-100c 3 jump E"]);
}

#[test]
fn a_wrong_program_is_doubted() {
    // N at an unconditional branch, unless it leads to what follows anyway.
    let code = Code::default().at(0x1000, &[b(0x1000, 0x1004), b(0x1004, 0x2000), RET, RET]);
    let stream = plain().atoms("NNNE");
    let expected = [
        "1000-1004 1 jump N",
        "1004-1008 1 jump N doubtful",
        "1008-100c 1 return N doubtful",
        "100c-1010 1 return E",
    ];
    assert_eq!(stream.events(&code)[2..], expected);
    // Strict: an error behind each; who steps over it misses nothing.
    let strict = stream.events_with(&code, Options { strict: true, ..Options::default() });
    assert_eq!(
        strict[3..],
        [
            "1004-1008 1 jump N doubtful",
            "error 0x1b: Atom.program at: 0x1004 contradicts what came before [K10.5.5.4]",
            "1008-100c 1 return N doubtful",
            "error 0x1c: Atom.program at: 0x1008 contradicts what came before [K10.5.5.4]",
            "100c-1010 1 return E"
        ]
    );
}

#[test]
fn decoding_resumes_at_the_next_synchronisation() {
    let stream = plain().atoms("N").raw("08 f7 f7 9a 01").put(Packet::AlignmentSync { zeros: 11 });
    let stream = stream.info(0, 0, 0).start(0x1100).atoms("E");
    assert_eq!(
        rest(&stream),
        [
            N,
            "error 0x1b: packet.header: 8 is not known [K10.5.2.2]",
            "gap bad-input ?->1100 5 bytes",
            "mark trace-on",
            "context el1 non-secure a64",
            "1100-1108 2 jump E"
        ]
    );
    // A packet that lost its end before a synchronisation does not swallow it.
    let stream = plain().raw("9a 01").put(Packet::AlignmentSync { zeros: 11 }).info(0, 0, 0).start(0x1100);
    assert_eq!(
        rest(&stream.atoms("E"))[..2],
        ["error 0x1a: Target Address.address: missing [K10.5.2.14]", "gap bad-input ?->1100 2 bytes"]
    );
    // A packet that ends in 00 before one is whole.
    let stream = plain().raw("9a 40 08 00 00").put(Packet::AlignmentSync { zeros: 11 }).info(0, 0, 0);
    assert_eq!(rest(&stream.atoms("E")), ["1100-1108 2 jump E"]);
    // A cut at the end is told as such; with a speculation queue nothing of it comes out.
    assert_eq!(
        rest(&plain().atoms("N").raw("9a 01")),
        [N, "error 0x1b: Target Address.address: the input ends inside it [K10.5.2.14]"]
    );
}

/// Addresses from the history: as targets, with exceptions, source addresses and Q; a context as before.
#[test]
fn exact_matches_of_every_form() {
    // The newest three, newest first: 0x1000, 0x1100, 0x1300.
    let begin =
        || Stream::new(config(&[])).on().context(0x31).address(0x1300).address(0x1100).address(0x1000);
    let after = |hex: &str| rest(&begin().raw(hex).atoms("N")).remove(0);
    assert_eq!(after("90"), N);
    assert_eq!(after("91"), "1100-1108 2 jump N doubtful");
    assert_eq!(after("92"), "1300-1310 4 trap-return N doubtful");
    // What matched is the newest now.
    assert_eq!(after("92 91"), N);
    assert_eq!(after("92 92"), "1100-1108 2 jump N doubtful");
    // An exception at the second: nothing can have run from 0x1000 to it but what falls through.
    let events = rest(&begin().raw("91 06 1d 90").address(0x1000).atoms("N"));
    assert_eq!(events, ["trap interrupt 14 1100->1000", N]);
    // Q and source address.
    assert_eq!(rest(&begin().raw("a1 02").atoms("E")), [E, "1100-1108 2 jump E"]);
    assert_eq!(rest(&begin().raw("a0 02"))[0], "gap no-path 1000->1000 2 instructions");
    assert_eq!(rest(&begin().raw("92 a1 04").atoms("N"))[1], N);
    assert_eq!(
        rest(&begin().address(0x1104).address(0x1100).raw("b1").atoms("N")),
        ["1100-1108 2 jump E", N]
    );
    assert_eq!(
        rest(&begin().raw("95 01 b0").atoms("N")),
        ["1004-1008 1 branch E", "1100-1108 2 jump N doubtful"]
    );
    // 80: the context as it was.
    assert_eq!(rest(&begin().raw("80").atoms("N")), [N]);
}

#[test]
fn a_failed_transaction_is_shown_if_asked_for() {
    let stream = plain().raw("0a").atoms("NE").raw("71 06 31 70").address(0x1000).atoms("N");
    let options = Options { show_withdrawn: true, ..Options::default() };
    let expected = [
        "mark transaction-start",
        "1000-1008 2 branch N withdrawn",
        "1008-1010 2 call E withdrawn",
        "mark trace-event 0",
        "mark transaction-fail",
        N,
    ];
    assert_eq!(stream.events_with(&code(), options).split_off(2), expected);
    let plain: Vec<&str> = expected.into_iter().filter(|line| !line.contains("withdrawn")).collect();
    assert_eq!(rest(&stream), plain);
}

#[test]
fn a_long_block_is_one_run() {
    let mut words = vec![NOP; 10_000];
    words.push(RET);
    let code = Code::default().at(0x1000, &words);
    assert_eq!(plain().atoms("E").events(&code)[2..], ["1000-ac44 10001 return E"]);
    let event = &plain().exception(14, 0x9000).events(&code)[2];
    assert_eq!(event, "1000-9000 8192 trap");
    assert_eq!(Isa::A64.word(), "a64");
}
