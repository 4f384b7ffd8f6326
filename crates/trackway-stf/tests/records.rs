//! Records on the wire: every layout, both directions, any cut.

use proptest::prelude::*;
use trackway_core::ErrorKind;
use trackway_stf::{Layout, RECORDS, Record, read};

/// Bytes that are likely to be a record: a known descriptor, then small numbers.
fn likely_bytes() -> impl Strategy<Value = Vec<u8>> {
    let descriptor = prop::sample::select(RECORDS.iter().map(|record| record.0).collect::<Vec<_>>());
    let small = prop_oneof![4 => 0u8..4, 1 => any::<u8>()];
    (descriptor, prop::collection::vec(small, 0..200)).prop_map(|(descriptor, mut rest)| {
        rest.insert(0, descriptor);
        rest
    })
}

fn layouts() -> impl Strategy<Value = Layout> {
    (any::<bool>(), 0u16..5, 0u8..2).prop_map(|(event64, vector_words, protocol)| Layout {
        event64,
        vector_words,
        protocol,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn write_restores_the_bytes_read(bytes in likely_bytes(), layout in layouts()) {
        if let Ok((record, len)) = read(&bytes, &layout, 0) {
            let mut out = Vec::new();
            record.write(&mut out, &layout);
            prop_assert_eq!(&out, &bytes[..len]);
            prop_assert_eq!(read(&out, &layout, 0), Ok((record, len)));
            // Cut anywhere, it is truncated, and the error is at its start.
            for cut in 0..len {
                let error = read(&bytes[..cut], &layout, 7).unwrap_err();
                prop_assert_eq!((error.kind, error.offset), (ErrorKind::Truncated, 7));
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>, layout in layouts()) {
        if let Ok((_, len)) = read(&bytes, &layout, 0) {
            prop_assert!(len <= bytes.len());
        }
    }
}

/// The layouts of real files, one line per record: bytes, then the record.
#[test]
fn layouts_of_real_files() {
    let with_vlen = Layout { event64: true, vector_words: 2, protocol: 1 };
    let v13 = Layout::default();
    let cases: &[(&[u8], &Layout, &str)] = &[
        (b"\x01STF", &v13, "Identifier { magic: [83, 84, 70] }"),
        (&[2, 1, 0, 0, 0, 3, 0, 0, 0], &v13, "Version { major: 1, minor: 3 }"),
        (b"\x03\x02\0\0\0hi", &v13, "Comment { text: Text32([104, 105]) }"),
        (&[8, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0], &v13, "ProcessIdExt { first: 1, second: 2, third: 3 }"),
        (&[19], &v13, "EndHeader"),
        (
            &[40, 5, 0, 0x21, 1, 2, 3, 4, 5, 6, 7, 8],
            &v13,
            "InstReg { register: Register { number: 5, meta: 33, content: [1, 2, 3, 4, 5, 6, 7, 8] } }",
        ),
        // Without a VLEN_CONFIG a vector register has one word, with it as many as VLEN needs.
        (
            &[40, 1, 0, 0x33, 1, 0, 0, 0, 0, 0, 0, 0],
            &v13,
            "InstReg { register: Register { number: 1, meta: 51, content: [1, 0, 0, 0, 0, 0, 0, 0] } }",
        ),
        (
            &[40, 1, 0, 0x33, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0],
            &with_vlen,
            "InstReg { register: Register { number: 1, meta: 51, content: [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0] } }",
        ),
        (
            &[60, 0, 16, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 1],
            &v13,
            "InstMemAccess { address: 4096, size: 8, attributes: 0, access: 1 }",
        ),
        // Both forms of an event: the flags are the two top bits of either.
        (
            &[100, 7, 0, 0, 0x80, 0],
            &v13,
            "Event { id: EventId { interrupt: true, special: false, code: 7 }, data: Data([]) }",
        ),
        (
            &[100, 0, 0, 0, 0, 0, 0, 0, 0x40, 1, 3, 0, 0, 0, 0, 0, 0, 0],
            &with_vlen,
            "Event { id: EventId { interrupt: false, special: true, code: 0 }, data: Data([3, 0, 0, 0, 0, 0, 0, 0]) }",
        ),
        (&[230, 4, 0x13, 0, 0, 0], &v13, "InstMicroop { size: 4, op: 19 }"),
        (&[241, 0x82, 0x80], &v13, "InstOpcode16 { opcode: 32898 }"),
        // TileLink channel E has a sink only.
        (
            &[250, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 1, 0, 0, 9, 5, 1, 2, 3, 4, 5, 6, 7, 8],
            &with_vlen,
            "Transaction { id: 1, delta: 2, clock: 3, metadata: Metadata { count: 1, raw: [0, 9] }, \
             protocol: Protocol([5, 1, 2, 3, 4, 5, 6, 7, 8]) }",
        ),
        (&[255], &v13, "ReserveEnd"),
    ];
    for (bytes, layout, text) in cases {
        let (record, len) = read(bytes, layout, 0).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(format!("{record:?}"), *text);
        assert_eq!(len, bytes.len(), "{text}");
    }
}

#[test]
fn unknown_descriptors_are_reported_with_their_place() {
    let known: Vec<u8> = RECORDS.iter().map(|record| record.0).collect();
    for descriptor in (0..=255u8).filter(|descriptor| !known.contains(descriptor)) {
        let error = read(&[descriptor, 0, 0], &Layout::default(), 0x10).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unknown { found: descriptor.into() });
        assert_eq!((error.offset, error.field), (0x10, "descriptor"));
    }
}

#[test]
fn reserved_is_a_record_so_that_it_can_be_shown() {
    assert_eq!(read(&[0], &Layout::default(), 0), Ok((Record::Reserved {}, 1)));
}
