//! One bad byte: the trace is still recognised, the error has its place, and the rest is decoded.

use trackway_core::*;
use trackway_tandem::{Config, Trace, recognise};

/// Instructions, and the places of errors.
fn decode(bytes: &[u8], config: Config) -> (u64, Vec<u64>) {
    let mut events = Trace::open(Input::from_vec(bytes.to_vec()), config).unwrap().events();
    let (mut batch, mut instructions, mut errors) = (Batch::default(), 0, Vec::new());
    loop {
        let filled = events.fill(&mut batch);
        instructions += batch.instructions();
        match filled {
            Ok(true) => {}
            Ok(false) => return (instructions, errors),
            Err(error) => {
                errors.push(error.offset);
                if !events.resync().unwrap() {
                    return (instructions, errors);
                }
            }
        }
    }
}

fn one_bad_byte(bytes: &[u8], step: usize) {
    let config = recognise(bytes).unwrap();
    let (whole, errors) = decode(bytes, config);
    assert_eq!(errors, [] as [u64; 0]);
    let mut placed = 0;
    for at in (0..bytes.len()).step_by(step) {
        for value in [0x00, 0xff, bytes[at] ^ 0x10] {
            let mut bad = bytes.to_vec();
            bad[at] = value;
            // A single group may be all that tells the profiles apart.
            let found = recognise(&bad).map(|found| Config { profile: config.profile, ..found });
            assert_eq!(found, Some(config), "byte {at:#x} is {value:#x}");
            let (instructions, errors) = decode(&bad, config);
            assert!(instructions + 4 >= whole, "byte {at:#x} is {value:#x}: {instructions} of {whole}");
            // Where the byte is not a value, there is an error in its group or directly after it.
            if let Some(first) = errors.first() {
                placed += 1;
                assert!(first.abs_diff(at as u64) < 128, "byte {at:#x} is {value:#x}: error at {first:#x}");
            }
        }
    }
    assert!(placed > 0);
}

#[test]
fn one_bad_byte_in_a_recorded_run() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/tandem/sort/trace.tv");
    one_bad_byte(&std::fs::read(path).unwrap(), 7);
}

#[test]
fn one_bad_byte_in_the_trace_of_a_core() {
    let Some(path) = trackway_testkit::corpus_part("tandem/own/own2.tv") else { return };
    one_bad_byte(&std::fs::read(path).unwrap(), 1);
}

/// Other bytes are not taken for a damaged trace.
#[test]
fn noise_is_not_recognised() {
    let mut noise = SplitMix64(7);
    let bytes: Vec<u8> = (0..1 << 16).map(|_| noise.next_u64() as u8).collect();
    let small: Vec<u8> = bytes.iter().map(|byte| byte % 4).collect();
    let ends: Vec<u8> = [2, 1].repeat(1 << 12);
    for bytes in [&bytes[..], &small, &ends, &[0; 4096], b"not a trace at all\n", &[1, 0xff, 1, 2]] {
        assert_eq!(recognise(bytes), None);
    }
}

/// Opcode 3 advances by the length of the instruction; an explicit pc in the same group has to agree.
#[test]
fn an_increment_that_contradicts_the_pc() {
    let group = |pc: u8| {
        let mut bytes = vec![0x01, 0x0a, 0x02]; // reset
        bytes.extend([0x01, 0x03, 0x07, 0x0a, pc, 0, 0, 0x70, 0, 0, 0, 0, 0x11, 0x93, 0x02, 0x30, 0, 0x02]);
        bytes
    };
    let config = Config { reset_pc: Some(0x7000_0000), ..Config::default() };
    let findings = |bytes: Vec<u8>, config| {
        let mut found = Vec::new();
        let trace = Trace::open(Input::from_vec(bytes), config).unwrap();
        trace.check(&mut |finding| found.push((finding.rule.name, finding.offset))).unwrap();
        found
    };
    assert_eq!(findings(group(4), config), []);
    assert_eq!(findings(group(8), config), [("tandem.one-pc", 4)]);
    assert_eq!(findings(group(8), Config::default()), [], "the address before it is not known");
    assert_eq!(decode(&group(4), config), (1, vec![]));
    assert_eq!(decode(&group(8), config), (0, vec![4]));
}

/// Times outside groups follow each other: two of them do not contradict.
#[test]
fn times_outside_groups() {
    let times = [0x07, 0x08, 1, 0, 0, 0, 0, 0, 0, 0, 0x07, 0x08, 2, 0, 0, 0, 0, 0, 0, 0];
    let mut events = Trace::open(Input::from_vec(times.to_vec()), Config::default()).unwrap().events();
    let (mut batch, mut found) = (Batch::default(), Vec::new());
    while events.fill(&mut batch).unwrap() {
        found.extend(batch.events.iter().map(|event| event.kind));
    }
    let time = |value| EventKind::Time(Time { kind: TimeKind::Timestamp, value: Some(value), clock: 0 });
    assert_eq!(found, [time(1), time(2)]);
    let trace = Trace::open(Input::from_vec(times.to_vec()), Config::default()).unwrap();
    assert_eq!(trace.check(&mut |finding| panic!("{finding}")).unwrap(), 2);
}
