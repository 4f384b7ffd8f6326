//! Storage: every form in and out, from memory and from a stream, in blocks, sought, damaged.

use std::io::{Read, Write};

use trackway_astf::{Context, Header, Level, example};
use trackway_astf::{
    Instruction, RECORD, ReadConfig, Record, Storage, StringRecord, Trace, WriteConfig, Writer, copy,
};
use trackway_core::{Batch, ErrorKind, EventKind, Input, Item, Items, Source};
use trackway_testkit::lines::{filled, observed};

/// A trace of `count` instructions that does not compress to nothing.
fn trace(count: u64, config: &WriteConfig) -> Vec<u8> {
    let mut writer = Writer::create(Vec::new(), Header::new(Level::Basic, false), config).unwrap();
    writer.put(&Record::Context(Default::default())).unwrap();
    let mut noise = 1u64;
    for n in 0..count {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let ea = 0x9000 + (noise >> 40);
        let access = Instruction { is_read: true, ea_valid: true, ea_size: 7, ea, ..Instruction::default() };
        writer.put(&Instruction { pc: 0x1000 + 4 * n, iword: 0xf940_0020, ..access }.into()).unwrap();
    }
    writer.finish().unwrap()
}

fn config(storage: Storage) -> WriteConfig {
    WriteConfig { storage, preset: 1, block: 1 << 16, ..WriteConfig::default() }
}

/// A stream that returns a few bytes at a time.
struct Drip(std::io::Cursor<Vec<u8>>, usize);

impl Read for Drip {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = out.len().min(self.1);
        self.0.read(&mut out[..n])
    }
}

fn pcs(input: Input, threads: usize) -> trackway_core::Result<Vec<u64>> {
    let mut source = Trace::open(input, ReadConfig { threads, ..ReadConfig::default() })?.events();
    let (mut batch, mut pcs) = (Batch::default(), Vec::new());
    while source.fill(&mut batch)? {
        pcs.extend(batch.events.iter().filter_map(|event| match event.kind {
            EventKind::Step(step) => step.pc,
            _ => None,
        }));
    }
    Ok(pcs)
}

const ALL: [Storage; 4] = [Storage::Raw, Storage::Xz, Storage::LzmaAlone, Storage::Zlib];

#[test]
fn every_form_reads_back_from_memory_and_from_a_stream() {
    let count = 10_000;
    let expected: Vec<u64> = (0..count).map(|n| 0x1000 + 4 * n).collect();
    for storage in ALL {
        let bytes = trace(count, &config(storage));
        for threads in [1, 3] {
            assert_eq!(pcs(Input::from_vec(bytes.clone()), threads).unwrap(), expected, "{storage:?}");
            let stream = Drip(std::io::Cursor::new(bytes.clone()), 1000);
            assert_eq!(pcs(Input::Stream(Box::new(stream)), threads).unwrap(), expected, "{storage:?}");
        }
    }
}

#[test]
fn several_streams_and_a_gzip_wrapper_are_read() {
    let raw = example(Storage::Raw);
    let (head, body) = raw.split_at(RECORD);
    let (first, second) = body.split_at(10 * RECORD);
    let xz = |bytes: &[u8]| {
        let mut out = liblzma::write::XzEncoder::new(Vec::new(), 1);
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let gzip = |bytes: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let expected = pcs(Input::from_vec(raw.clone()), 1).unwrap();
    let mut header = head.to_vec();
    header[8] = 1;
    let padded = [&header[..], &xz(first), &[0; 8], &xz(second), &[0; 4]].concat();
    for threads in [1, 2] {
        assert_eq!(pcs(Input::from_vec(padded.clone()), threads).unwrap(), expected);
    }
    header[8] = 3;
    let wrapped = [&header[..], &gzip(first), &gzip(second)].concat();
    let trace = Trace::open(Input::from_vec(wrapped.clone()), ReadConfig::default()).unwrap();
    assert_eq!(trace.storage, Storage::Gzip);
    assert_eq!(pcs(Input::from_vec(wrapped.clone()), 1).unwrap(), expected);
    // From a pipe that returns one byte, or a few, at a time.
    for bytes in [padded, wrapped, raw, example(Storage::LzmaAlone), example(Storage::Zlib)] {
        for drop in [1, 2, 3, 7] {
            let stream = Drip(std::io::Cursor::new(bytes.clone()), drop);
            assert_eq!(pcs(Input::Stream(Box::new(stream)), 1).unwrap(), expected, "{drop} at a time");
        }
    }
}

#[test]
fn flags_that_are_not_true_are_told() {
    let mut bytes = example(Storage::Zlib);
    bytes[8] = 1;
    let error = Trace::open(Input::from_vec(bytes), ReadConfig::default()).unwrap_err();
    assert_eq!((error.offset, error.item, error.field), (8, "Header", "use_zlib"));
    let mut bytes = example(Storage::Xz);
    bytes[8] = 3;
    assert!(Trace::open(Input::from_vec(bytes), ReadConfig::default()).is_err());
    // Not compressed at all, whatever its first record is.
    for flags in [1, 3] {
        for first in [1, 3, 4] {
            let mut bytes = example(Storage::Raw);
            bytes.drain(RECORD..first * RECORD);
            bytes[8] = flags;
            for input in
                [Input::from_vec(bytes.clone()), Input::Stream(Box::new(std::io::Cursor::new(bytes)))]
            {
                let mut records = Trace::open(input, ReadConfig::default()).unwrap().records();
                assert!(records.next_record().unwrap().is_some(), "the Header is there");
                let error = records.next_record().unwrap_err();
                assert_eq!((error.offset, error.item, error.field), (8, "Header", "compressed"), "{first}");
            }
        }
    }
    // Compressed without the flag: read as it is, and check reports it.
    let mut bytes = example(Storage::Xz);
    bytes[8] = 0;
    let mut rules = Vec::new();
    let trace = Trace::open(Input::from_vec(bytes), ReadConfig::default()).unwrap();
    trace.check(&mut |finding| rules.push(finding.rule.name));
    assert_eq!(rules.first(), Some(&"astf.compressed-flag"));
}

#[test]
fn a_copy_keeps_every_bit_and_sets_the_storage_flags() {
    let mut raw = example(Storage::Raw);
    raw[6] = 0x5a; // reserved16 of the Header
    raw[5 * RECORD + 1] = 0xfc; // reserved bits of the first instruction
    for storage in ALL {
        let mut records = Trace::open(Input::from_vec(raw.clone()), ReadConfig::default()).unwrap().records();
        let mut stored = Vec::new();
        assert_eq!(copy(&mut records, &mut stored, &config(storage)).unwrap(), 21);
        let trace = Trace::open(Input::from_vec(stored), ReadConfig::default()).unwrap();
        assert_eq!((trace.header.compressed, trace.header.use_zlib), storage.flags());
        let mut back = Vec::new();
        copy(&mut trace.records(), &mut back, &config(Storage::Raw)).unwrap();
        assert_eq!(back, raw, "{storage:?}");
    }
}

#[test]
fn xz_bytes_do_not_depend_on_the_number_of_threads() {
    let one = trace(20_000, &config(Storage::Xz));
    let four = trace(20_000, &WriteConfig { threads: 4, ..config(Storage::Xz) });
    assert_eq!(one, four);
    let opened = Trace::open(Input::from_vec(one), ReadConfig::default()).unwrap();
    assert_eq!(opened.blocks, (20_001 * RECORD).div_ceil(1 << 16));
}

#[test]
fn blocks_of_any_size_hold_whole_records() {
    let odd = WriteConfig { block: 100_001, ..config(Storage::Xz) };
    let mut bytes = trace(20_000, &odd);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    let mut records = Trace::open(Input::from_vec(bytes), ReadConfig::default()).unwrap().records();
    assert!(records.seek(15_000).is_ok_and(|number| number == 15_000), "damage before it is jumped over");
    assert!(records.next_record().unwrap().is_some());
}

#[test]
fn records_are_sought_through_the_index() {
    let count = 20_000u64;
    for storage in ALL {
        let bytes = trace(count, &config(storage));
        for wanted in [0, 1, 2, 2048, 2049, 2050, 9_999, 20_000, 20_001] {
            let opened = Trace::open(Input::from_vec(bytes.clone()), ReadConfig::default()).unwrap();
            let mut records = opened.records();
            assert_eq!(records.seek(wanted).unwrap(), wanted);
            let found = records.next_record().unwrap();
            match found {
                Some((offset, Record::Instruction(record))) => {
                    assert_eq!(offset, wanted * 32);
                    assert_eq!(record.pc, 0x1000 + 4 * (wanted - 2), "{storage:?} {wanted}");
                }
                Some((offset, _)) => assert_eq!((offset, wanted < 2), (wanted * 32, true)),
                None => panic!("{storage:?}: record {wanted} is missing"),
            }
        }
        let mut records = Trace::open(Input::from_vec(bytes), ReadConfig::default()).unwrap().records();
        assert_eq!(records.seek(1 << 40).unwrap(), count + 2);
        assert!(records.next_record().unwrap().is_none());
    }
}

#[test]
fn events_are_sought_and_begin_with_their_context() {
    for storage in ALL {
        let bytes = trace(20_000, &config(storage));
        let mut source = Trace::open(Input::from_vec(bytes), ReadConfig::default()).unwrap().events();
        assert_eq!(source.seek(12_345).unwrap(), 12_345);
        let mut batch = Batch::default();
        assert!(source.fill(&mut batch).unwrap());
        assert_eq!(batch.first_instruction, 12_345);
        assert!(matches!(batch.events[0].kind, EventKind::Context(_)), "{storage:?}");
        let EventKind::Step(step) = batch.events[1].kind else { panic!("{storage:?}") };
        assert_eq!(step.pc, Some(0x1000 + 4 * 12_345));
    }
}

#[test]
fn events_that_are_sought_are_those_of_the_whole() {
    // Vectors are shown by the second of the four Contexts only; the last is in an unsupported mode, and ends it.
    let mut writer =
        Writer::create(Vec::new(), Header::new(Level::BasicPlus, false), &config(Storage::Raw)).unwrap();
    let context = |evl, unsupported| Context { evl, unsupported, ..Context::default() };
    let contexts = [context(0, false), context(1, false), context(0, true), context(0, false)];
    for (n, context) in contexts.into_iter().enumerate() {
        writer.put(&context.into()).unwrap();
        if !context.unsupported {
            let pc = 0x1000 + 4 * n as u64;
            writer.put(&Instruction { pc, iword: 0xd503_201f, ..Default::default() }.into()).unwrap();
        }
    }
    let bytes = writer.finish().unwrap();
    let open = || Trace::open(Input::from_vec(bytes.clone()), ReadConfig::default()).unwrap().events();
    let vectors = |batch: &Batch| batch.contexts.last().map(|context| context.vector_bits);
    let mut batch = Batch::default();
    assert!(open().fill(&mut batch).unwrap());
    assert_eq!(vectors(&batch), Some(Some(128)));
    for n in [1, 2] {
        let mut source = open();
        assert_eq!(source.seek(n).unwrap(), n);
        assert!(source.fill(&mut batch).unwrap());
        assert_eq!(vectors(&batch), Some(Some(128)), "{n}");
    }
}

#[test]
fn events_behind_damage_are_sought() {
    let mut bytes = trace(20_000, &config(Storage::Xz));
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    // Number and address of every instruction, and the errors that were stepped over.
    let all = |from: u64| {
        let mut source = Trace::open(Input::from_vec(bytes.clone()), ReadConfig::default()).unwrap().events();
        assert!(source.seek(from).unwrap() <= from);
        let (mut batch, mut found, mut errors) = (Batch::default(), Vec::new(), 0);
        loop {
            match source.fill(&mut batch) {
                Ok(false) => break,
                Ok(true) => {
                    let pcs = batch.events.iter().filter_map(|event| match event.kind {
                        EventKind::Step(step) => step.pc,
                        _ => None,
                    });
                    found.extend((batch.first_instruction..).zip(pcs).filter(|(number, _)| *number >= from));
                }
                Err(_) => {
                    errors += 1;
                    assert!(source.resync().unwrap());
                }
            }
        }
        (found, errors)
    };
    let (whole, errors) = all(0);
    assert_eq!(errors, 1);
    assert!(whole.len() < 20_000);
    for from in [9_000, 10_100, 15_000] {
        let (found, errors) = all(from);
        assert_eq!(errors, 1, "{from}");
        assert!(found == whole[from as usize..], "{from}");
    }
}

#[test]
fn a_damaged_block_is_stepped_over() {
    let mut bytes = trace(20_000, &config(Storage::Xz));
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    for threads in [1, 2] {
        let config = ReadConfig { threads, ..ReadConfig::default() };
        let mut source = Trace::open(Input::from_vec(bytes.clone()), config).unwrap().events();
        let (mut batch, mut steps, mut gaps, mut last) = (Batch::default(), 0, 0, None);
        loop {
            match source.fill(&mut batch) {
                Ok(true) => {
                    steps += batch.instructions();
                    gaps += batch.gaps.iter().filter(|gap| gap.bytes.is_some()).count();
                    last = batch.events.iter().rev().find_map(|event| match event.kind {
                        EventKind::Step(step) => step.pc,
                        _ => None,
                    });
                }
                Ok(false) => break,
                Err(error) => {
                    assert_eq!(error.kind, ErrorKind::Compression);
                    assert!(source.resync().unwrap());
                }
            }
        }
        assert_eq!(gaps, 1);
        assert!((17_000..20_000).contains(&steps), "{steps}");
        assert_eq!(last, Some(0x1000 + 4 * 19_999), "the blocks after it are there");
    }
}

#[test]
fn checking_and_copying_continue_after_a_damaged_block() {
    let mut bytes = trace(20_000, &config(Storage::Xz));
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    let damaged = Trace::open(Input::from_vec(bytes.clone()), ReadConfig::default()).unwrap();
    let mut places = Vec::new();
    let (count, error) = damaged.check(&mut |finding| places.push(finding.offset));
    let error = error.expect("the block is damaged");
    assert_eq!(error.kind, ErrorKind::Compression);
    // Only the end of a block shows that it is damaged, so its content is checked too.
    assert!(
        places.iter().all(|at| (1 << 16..=error.offset).contains(at)),
        "the other blocks are good: {places:?}"
    );
    assert_eq!(count, 20_002, "later records have their own numbers");

    let mut copied = Vec::new();
    let mut records = Trace::open(Input::from_vec(bytes), ReadConfig::default()).unwrap().records();
    let found = copy(&mut records, &mut copied, &config(Storage::Raw)).unwrap_err();
    assert_eq!((found.kind, found.offset), (error.kind, error.offset));
    let mut trace = Trace::open(Input::from_vec(copied.clone()), ReadConfig::default()).unwrap().records();
    let (mut instructions, mut gaps) = (Vec::new(), Vec::new());
    while let Some((_, record)) = trace.next_record().unwrap() {
        match record {
            Record::Instruction(instruction) => instructions.push(instruction.pc),
            Record::StringRecord(string) => gaps.push(String::from_utf8_lossy(&string.string).into_owned()),
            _ => {}
        }
    }
    assert_eq!(gaps.len(), 1);
    assert!(gaps[0].starts_with("trackway: gap reason=bad-inp"), "{gaps:?}");
    assert_eq!(instructions.last(), Some(&(0x1000 + 4 * 19_999)));
    let lost = 20_000 - instructions.len();
    assert!((1..=(1 << 16) / RECORD).contains(&lost), "no more than a block is lost: {lost}");
    let mut rules = Vec::new();
    let trace = Trace::open(Input::from_vec(copied), ReadConfig::default()).unwrap();
    assert_eq!(trace.check(&mut |finding| rules.push(finding.rule.name)).1, None);
    assert_eq!(rules.last(), Some(&"astf.context-at-discontinuity"));
}

/// All events, and the records as one stream, with the errors in both.
fn everything(bytes: &[u8], threads: usize) -> (Vec<String>, Vec<u8>, Option<std::io::ErrorKind>) {
    let open =
        || Trace::open(Input::from_vec(bytes.to_vec()), ReadConfig { threads, ..ReadConfig::default() });
    let lines = match open() {
        Ok(trace) => filled(&mut trace.events()),
        Err(error) => vec![format!("error {error}")],
    };
    let (mut stream, mut failed) = (Vec::new(), None);
    if let Ok(trace) = open()
        && let Input::Stream(mut input) = trace.records().into_input()
    {
        failed = input.read_to_end(&mut stream).err().map(|error| error.kind());
    }
    (lines, stream, failed)
}

#[test]
fn damage_is_told_alike_for_any_number_of_threads() {
    let bytes = trace(7_000, &config(Storage::Xz));
    let cases = (0..bytes.len()).step_by(bytes.len() / 50).chain(bytes.len() - 60..bytes.len());
    for at in cases {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x11;
        let expected = everything(&damaged, 1);
        for threads in [2, 3] {
            assert!(everything(&damaged, threads) == expected, "byte {at}, {threads} threads");
        }
    }
}

#[test]
fn the_text_behind_the_header_is_found_for_any_number_of_threads() {
    let config = config(Storage::Xz);
    let mut writer = Writer::create(Vec::new(), Header::new(Level::Basic, false), &config).unwrap();
    let mut text = StringRecord { size: 5, ..StringRecord::default() };
    text.string[..5].copy_from_slice(b"about");
    writer.put(&text.into()).unwrap();
    writer.put(&Record::Context(Default::default())).unwrap();
    for n in 0..9_000 {
        writer
            .put(&Instruction { pc: 0x1000 + 4 * n, iword: 0xd503_201f, ..Default::default() }.into())
            .unwrap();
    }
    let bytes = writer.finish().unwrap();
    for threads in [1, 2, 3] {
        let trace =
            Trace::open(Input::from_vec(bytes.clone()), ReadConfig { threads, ..ReadConfig::default() })
                .unwrap();
        assert!(trace.blocks > 3);
        assert_eq!(trace.meta.comments, ["about"], "{threads} threads");
    }
    assert!(everything(&bytes, 2) == everything(&bytes, 1));
}

#[test]
fn any_amount_of_text_is_the_same_in_every_storage() {
    // 2 MB of it, and blocks that are larger than what is looked at.
    let write = |storage| {
        let config = WriteConfig { block: 3 << 19, ..config(storage) };
        let mut writer = Writer::create(Vec::new(), Header::new(Level::Basic, false), &config).unwrap();
        for n in 0..70_000u64 {
            let mut text = StringRecord { size: 8, ..StringRecord::default() };
            text.string[..8].copy_from_slice(format!("{n:08}").as_bytes());
            writer.put(&text.into()).unwrap();
        }
        writer.finish().unwrap()
    };
    let mut found = Vec::new();
    for storage in ALL {
        let bytes = write(storage);
        for threads in [1, 2] {
            let config = ReadConfig { threads, ..ReadConfig::default() };
            let stream = Input::Stream(Box::new(Drip(std::io::Cursor::new(bytes.clone()), 5000)));
            for input in [Input::from_vec(bytes.clone()), stream] {
                found.push(Trace::open(input, config).unwrap().meta.comments.len());
            }
        }
    }
    assert!(found[0] > 30_000 && found.iter().all(|count| *count == found[0]), "{found:?}");
}

fn crc(bytes: &[u8]) -> [u8; 4] {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum().to_le_bytes()
}

#[test]
fn any_number_of_empty_blocks_is_stepped_over() {
    const COUNT: usize = 200_000;
    let checked = |mut bytes: Vec<u8>| {
        bytes.extend(crc(&bytes));
        bytes
    };
    // A block of LZMA2 that ends at once, its padding, and the CRC32 of nothing.
    let block = [&checked(vec![2, 0, 0x21, 1, 0, 0, 0, 0])[..], &[0; 8]].concat();
    // Indicator, count in groups of seven bits, then unpadded size and content size of each.
    let groups = [COUNT as u8 & 0x7f | 0x80, (COUNT >> 7) as u8 & 0x7f | 0x80, (COUNT >> 14) as u8];
    let mut index = [&[0][..], &groups, &[17, 0].repeat(COUNT)].concat();
    index.resize(index.len().next_multiple_of(4), 0);
    let index = checked(index);
    let footer = [&(index.len() as u32 / 4 - 1).to_le_bytes()[..], &[0, 1]].concat();
    let header = [&b"\xfd7zXZ\0"[..], &[0, 1], &crc(&[0, 1])].concat();
    let file = [
        &trace(1, &config(Storage::Xz))[..RECORD],
        &header,
        &block.repeat(COUNT),
        &index,
        &crc(&footer),
        &footer,
        b"YZ",
    ]
    .concat();
    for threads in [1, 2] {
        assert_eq!(everything(&file, threads).0, [""; 0], "{threads} threads");
    }
    let trace =
        Trace::open(Input::from_vec(file), ReadConfig { threads: 2, ..ReadConfig::default() }).unwrap();
    assert_eq!(trace.blocks, COUNT, "the index is good");
}

#[test]
fn an_index_that_lies_is_told() {
    let bytes = trace(7_000, &config(Storage::Xz));
    let footer = bytes.len() - 12;
    let size = 4 * (u32::from_le_bytes(bytes[footer + 4..footer + 8].try_into().unwrap()) as usize + 1);
    // Indicator, count, then sizes of blocks: the content of the first is 0x10000, three groups of seven bits.
    let index = footer - size;
    let content = (index..footer).find(|&at| bytes[at..at + 3] == [0x80, 0x80, 0x04]).unwrap();
    for (groups, what) in
        [([0x80, 0x80, 0x02], "less"), ([0x80, 0x80, 0x08], "more"), ([0xa0, 0x80, 0x04], "a record")]
    {
        let mut lying = bytes.clone();
        lying[content..content + 3].copy_from_slice(&groups);
        let check = crc(&lying[index..footer - 4]);
        lying[footer - 4..footer].copy_from_slice(&check);
        for threads in [1, 2] {
            let (lines, ..) = everything(&lying, threads);
            assert!(lines.iter().any(|line| line.starts_with("error")), "{what}, {threads} threads");
        }
    }
}

#[test]
fn items_are_sought_past_damage_and_stopped_by_it() {
    let mut bytes = trace(20_000, &config(Storage::Xz));
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    let items = || Trace::open(Input::from_vec(bytes.clone()), ReadConfig::default()).unwrap().items();
    // Behind the damaged block: nothing of it is read.
    let (mut after, mut item) = (items(), Item::default());
    assert_eq!(after.seek(19_000).unwrap(), 19_000);
    assert!(after.next(&mut item).unwrap());
    assert_eq!(item.offset, 19_000 * RECORD as u64);
    // Into it: the error comes with `next`, at the record that cannot be read, and the blocks after it follow.
    let mut into = items();
    let reached = into.seek(10_200).unwrap();
    assert!((8_000..10_200).contains(&reached), "{reached}");
    let error = into.next(&mut item).unwrap_err();
    assert_eq!((error.kind, error.offset), (ErrorKind::Compression, reached * RECORD as u64));
    assert!(into.resync().unwrap().is_some_and(|skipped| skipped > 0));
    assert!(into.next(&mut item).unwrap());
}

#[test]
fn a_dictionary_that_asks_for_the_world_is_refused() {
    // A legacy stream whose header asks for a dictionary of 4 GiB.
    let mut bytes = example(Storage::LzmaAlone);
    bytes[RECORD + 1..RECORD + 5].fill(0xff);
    let mut records = Trace::open(Input::from_vec(bytes), ReadConfig::default()).unwrap().records();
    assert!(records.seek(5).is_err());
}

#[test]
fn observers_see_the_same_events_for_any_number_of_threads() {
    // The example over and over, without Header and strings; the last record is cut.
    let one = example(Storage::Raw);
    let mut raw = one.clone();
    while raw.len() < 7 << 20 {
        raw.extend_from_slice(&one[3 * RECORD..]);
    }
    raw.truncate(raw.len() - 5);
    let open = |bytes: &[u8], threads| {
        Trace::open(Input::from_vec(bytes.to_vec()), ReadConfig { threads, ..ReadConfig::default() })
            .unwrap()
            .events()
    };
    let mut source = open(&raw, 1);
    let expected = filled(&mut source);
    assert!(expected.last().is_some_and(|line| line.starts_with("error")), "the cut is reported");
    let census = source.census();
    for threads in 1..5 {
        let mut source = open(&raw, threads);
        assert!(observed(&mut source) == expected, "{threads} threads");
        assert_eq!(source.census(), census, "{threads} threads");
    }
    // Seeking first, and filling in between.
    let mut source = open(&raw, 2);
    source.seek(50_000).unwrap();
    let mut serial = open(&raw, 1);
    serial.seek(50_000).unwrap();
    let mut batch = Batch::default();
    source.fill(&mut batch).unwrap();
    serial.fill(&mut batch).unwrap();
    assert!(observed(&mut source) == observed(&mut serial));
}
