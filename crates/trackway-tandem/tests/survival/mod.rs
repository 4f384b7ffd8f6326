//! Properties of any bytes whatever, used by the tests here and by the fuzz targets.

use trackway_core::{Batch, Error, Input, Item, Items, Sink, Source};
use trackway_tandem::{
    Config, Group, Lower, Packer, Reader, Record, Style, Trace, WriteConfig, recognise, to_bytes,
};

fn input(bytes: &[u8]) -> Input {
    Input::from_vec(bytes.to_vec())
}

/// The items up to the end or to the first error, with their offsets; that error; and the bytes they took.
pub(crate) fn items(input: Input, config: &Config) -> (Vec<(u64, Record)>, Option<Error>, u64) {
    let mut reader = Reader::new(input, config).unwrap();
    let (mut records, mut end) = (Vec::new(), 0);
    loop {
        match reader.read() {
            Ok(Some(record)) => records.push(record),
            Ok(None) => return (records, None, end),
            Err(error) => return (records, Some(error), end),
        }
        end = reader.offset();
    }
}

/// The groups up to the end or to the first error, and that error.
pub(crate) fn groups(bytes: &[u8], config: &Config) -> (Vec<Group>, Option<Error>) {
    let mut reader = Reader::new(input(bytes), config).unwrap();
    let (mut all, mut group) = (Vec::new(), Group::default());
    loop {
        match reader.read_group(&mut group) {
            Ok(true) => all.push(group.clone()),
            Ok(false) => return (all, None),
            Err(error) => return (all, Some(error)),
        }
    }
}

/// Groups in a style.
pub(crate) fn pack(groups: &[Group], config: &Config, style: Style) -> Vec<u8> {
    let mut packer = Packer::new(Vec::new(), config, style).unwrap();
    groups.iter().for_each(|group| packer.put(group).unwrap());
    packer.into_inner().unwrap()
}

/// Verbose, compact, and back: the same bytes, and compact is not longer.
pub(crate) fn styles_agree(groups_given: &[Group], config: &Config) {
    let verbose = pack(groups_given, config, Style::Verbose);
    let (read, error) = groups(&verbose, config);
    assert_eq!(error, None, "verbose");
    let compact = pack(&read, config, Style::Compact);
    assert!(compact.len() <= verbose.len());
    let (read, error) = groups(&compact, config);
    assert_eq!(error, None, "compact");
    assert_eq!(pack(&read, config, Style::Verbose), verbose);
}

/// Checks that items that were read are written back, that styles are equivalent, that items are the same one by one
/// and in groups, and that lifting, lowering, text and checking reach the end. Returns the gaps.
pub(crate) fn survive(bytes: &[u8], config: &Config, style: Style) -> u64 {
    let (records, _, end) = items(input(bytes), config);
    let records: Vec<Record> = records.into_iter().map(|(_, record)| record).collect();
    assert_eq!(to_bytes(&records, config).unwrap(), &bytes[..end as usize]);
    let (groups, _) = groups(bytes, config);
    let together: Vec<Record> = groups.iter().flat_map(Group::wire).collect();
    assert_eq!(&together[..], &records[..together.len()]);
    styles_agree(&groups, config);
    list(bytes, config);
    Trace::open(input(bytes), *config)
        .unwrap()
        .check(&mut |finding| assert!(finding.offset <= bytes.len() as u64))
        .unwrap();
    recognise(bytes);
    lift(bytes, config, style)
}

/// Lifts to the end, and lowers the events.
fn lift(bytes: &[u8], config: &Config, style: Style) -> u64 {
    let mut lift = Trace::open(input(bytes), *config).unwrap().events();
    let mut lower = Lower::new(Vec::new(), lift.meta(), WriteConfig { config: *config, style }).unwrap();
    let (mut batch, mut gaps, mut skipped, mut last) = (Batch::default(), 0, 0, 0);
    loop {
        match lift.fill(&mut batch) {
            Ok(false) => break,
            Ok(true) => {
                for event in &batch.events {
                    assert!(event.offset >= last, "events come in order");
                    last = event.offset;
                }
                for gap in &batch.gaps {
                    gaps += 1;
                    skipped += gap.bytes.unwrap();
                }
                // A value that the widths cannot hold is refused; the rest continues.
                let _ = lower.put(&batch);
            }
            Err(error) => {
                assert!(error.offset <= bytes.len() as u64, "{error}");
                if !lift.resync().unwrap() {
                    break;
                }
            }
        }
    }
    assert!(skipped <= bytes.len() as u64, "{gaps} gaps");
    // The last group may be refused as well.
    let _ = lower.finish();
    let (out, _) = lower.into_inner().unwrap();
    let (_, error) = groups(&out, config);
    assert_eq!(error, None, "what is written can be read");
    gaps
}

/// Shows every item.
fn list(bytes: &[u8], config: &Config) {
    let mut listing = Trace::open(input(bytes), *config).unwrap().items();
    let (mut item, mut shown) = (Item::default(), 0);
    loop {
        match listing.next(&mut item) {
            Ok(false) => break,
            Ok(true) => shown += item.len,
            Err(_) => match listing.resync().unwrap() {
                Some(bytes) => shown += bytes,
                None => break,
            },
        }
    }
    assert!(shown <= bytes.len() as u64);
}
