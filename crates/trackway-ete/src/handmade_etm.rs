//! ETMv4 where it differs from ETE.

use crate::handmade::*;
use crate::testing::*;
use crate::{Options, Profile};

#[test]
fn etmv4_packets() {
    let etm = |changed: &[(&str, u64)]| {
        let usual = [
            ("TRCDEVARCH", 0x4770_4a13),
            ("TRCIDR1", 0x4100_f423),
            ("TRCIDR0", 0x2800_0ea1),
            ("TRCIDR2", 0x488),
        ];
        Stream::new(config(&[&usual, changed].concat()))
    };
    // VMID of one byte, context id of four.
    let stream = etm(&[]).raw("81 f1 05 02 00 00 00");
    assert_eq!(stream.events(&code()), ["context el1 non-secure a64 cid=2 vmid=5"]);
    // An exception of three bytes: type bits 9:5; type 0 is ordinary.
    let stream = etm(&[]).start(0x1000).raw("06 9d 01 9a 01 08 00 00").address(0x1100).atoms("E");
    assert_eq!(rest(&stream), ["1000-1004 1 trap", "trap exception 46 1004->1100", "1100-1108 2 jump E"]);
    let stream = etm(&[]).start(0x1000).raw("06 01 9a 01 08 00 00");
    assert_eq!(rest(&stream), ["1000-1004 1 trap", "trap reset 0 1004->?"]);
    // Exception return is no P0 element; told once.
    let stream = etm(&[]).start(0x1308).atoms("E").raw("07").address(0x1000).atoms("N");
    assert_eq!(rest(&stream), ["1308-1310 2 trap-return E", "trap return 130c->1000", N]);
    // What ETE has and ETMv4 has not, and what is named and refused.
    for hex in ["09", "0a", "b4 00", "a5 00 00", "70", "88"] {
        let event = rest(&etm(&[]).start(0x1000).raw(hex)).pop().unwrap();
        assert!(event.starts_with("error 0x1a") && event.contains("is not known"), "{hex}: {event}");
    }
    let event = rest(&etm(&[]).start(0x1000).raw("43")).pop().unwrap();
    assert_eq!(event, "error 0x1a: Conditional Flush.header: 0x43 is not supported [ETMv4 6.4]");
    let event = rest(&plain().raw("43")).pop().unwrap();
    assert!(event.contains("is not known"), "{event}");
    // 4.6 has the marker, 4.3 ignore; Q if the unit says so.
    let stream = etm(&[("TRCIDR1", 0x4100_f463), ("TRCIDR0", 0x2801_8ea1)]).start(0x1000);
    assert_eq!(rest(&stream.raw("88 70 a5 c0 08 02")), ["mark timestamp-marker", E]);
}

/// ETMv4 6.4: exception types of the M profile, and which returns are P0 elements there.
#[test]
fn etmv4_of_the_m_profile() {
    // 0x1000: nop; svc 5; nop; bx lr; 0x1010: nop; pop {pc}
    let code =
        Code::default().halves(0x1000, &[0xbf00, 0xdf05, 0xbf00, 0x4770]).halves(0x1010, &[0xbf00, 0xbd00]);
    let start = |profile, max_spec| {
        let registers = [
            ("TRCDEVARCH", 0x4770_4a13),
            ("TRCIDR1", 0x4100_f423),
            ("TRCIDR0", 0x2800_0ea1),
            ("TRCIDR2", 0x4),
            ("TRCIDR8", max_spec),
        ];
        let mut config = config(&registers);
        config.profile = profile;
        Stream::new(config).on().context(0x00).raw("9b 00 10 00 00")
    };
    let events = |stream: Stream| stream.events(&code).split_off(3);
    // SVC is type 11, IRQ8 is 0x208 in two bytes, a fault is pending behind a BusFault.
    assert_eq!(
        events(start(Profile::V7M, 0).raw("06 17 9b 02 10 00 00")),
        ["1000-1004 2 trap attempted", "trap exception 11 1002->?"]
    );
    assert_eq!(
        events(start(Profile::V7M, 0).raw("06 91 10 9b 01 10 00 00 9b 08 10 00 00 f7")),
        ["1000-1002 1 trap", "trap interrupt 520 1002->1010", "1010-1014 2 return E"]
    );
    assert_eq!(
        events(start(Profile::V7M, 0).raw("06 8b 20 9b 01 10 00 00")),
        ["1000-1002 1 trap", "trap exception 5 1002->?"]
    );
    assert_eq!(
        events(start(Profile::V8M, 0).raw("06 05 9b 02 10 00 00")),
        ["1000-1004 2 trap", "trap interrupt 2 1004->?"],
        "type 2 is NMI, no call"
    );
    // A P0 element has to be committed; what is none has not.
    let run = "1000-1008 4 return E";
    let returned = ["1000-1008 4 return E", "trap return ?->1010", "1010-1014 2 return E"];
    let back = |profile, commit| {
        let stream = start(profile, 8).atoms("E").raw("07 9b 08 10 00 00").atoms("E").commit(commit);
        events(stream)
    };
    assert_eq!(back(Profile::V7M, 3), returned);
    assert_eq!(back(Profile::V8M, 2), returned);
    let back = |profile, commit| {
        let stream = start(profile, 8).atoms("E").raw("05 9b 08 10 00 00").atoms("E").commit(commit);
        events(stream)
    };
    assert_eq!(back(Profile::V8M, 3), [run, "mark note", "1010-1014 2 return E"]);
    assert_eq!(back(Profile::V7M, 2), [run, "mark note", "1010-1014 2 return E"]);
    // In text.
    let stream = start(Profile::V8M, 0).raw("06 8b 20 9b 01 10 00 00 05");
    let mut text = crate::Text::new(vec![stream.trace(&code)], Options::default());
    let mut item = trackway_core::Item::default();
    let mut lines = Vec::new();
    while trackway_core::Items::next(&mut text, &mut item).unwrap() {
        lines.push(format!("{} {}", item.name, item.text));
    }
    assert_eq!(
        lines[lines.len() - 2..],
        [
            "Exception [06 8b 20 9b 01 10 00 00] type=5 E=01 (BusFault) fault pending 0x1002 IS1 (32 bits)",
            "Function Return [05]"
        ]
    );
}
