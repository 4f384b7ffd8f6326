//! What reads writes back; styles say the same; lifting, listing and checking survive anything.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trackway_core::{Batch, Input, Item, Items, Sink, Source};
use trackway_tandem::{
    Config, Group, Lift, Listing, Lower, Packer, Profile, Reader, Style, WriteConfig, check, recognise, to_bytes,
};

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let profile = if choice & 1 == 0 { Profile::Spec } else { Profile::Bluespec };
    let (xlen, mlen) = [(64, 64), (32, 32), (32, 34), (64, 64)][usize::from(choice >> 1 & 3)];
    let flen = [0, 32, 64, 64][usize::from(choice >> 3 & 3)];
    let lenient = choice & 0x20 != 0;
    let config = Config { xlen, flen, mlen, profile, lenient, reset_pc: Some(0x1000), ..Config::default() };
    let input = || Input::from_vec(bytes.to_vec());

    // Items: what was read is what was there.
    let mut reader = Reader::new(input(), &config).unwrap();
    let mut records = Vec::new();
    let mut end = 0;
    while let Ok(Some((_, record))) = reader.read() {
        records.push(record);
        end = reader.offset();
    }
    assert_eq!(to_bytes(&records, &config).unwrap(), &bytes[..end as usize]);

    // Groups: compact and verbose say the same.
    let mut reader = Reader::new(input(), &config).unwrap();
    let mut groups = Vec::new();
    let mut group = Group::default();
    while let Ok(true) = reader.read_group(&mut group) {
        groups.push(group.clone());
    }
    let pack = |groups: &[Group], style| {
        let mut packer = Packer::new(Vec::new(), &config, style).unwrap();
        groups.iter().for_each(|group| packer.put(group).unwrap());
        packer.into_inner().unwrap()
    };
    let read = |bytes: &[u8]| {
        let mut reader = Reader::new(Input::from_vec(bytes.to_vec()), &config).unwrap();
        let (mut all, mut group) = (Vec::new(), Group::default());
        while reader.read_group(&mut group).unwrap() {
            all.push(group.clone());
        }
        all
    };
    let verbose = pack(&groups, Style::Verbose);
    let compact = pack(&read(&verbose), Style::Compact);
    assert_eq!(pack(&read(&compact), Style::Verbose), verbose);

    // Events: to the end, whatever comes.
    let mut lift = Lift::open(input(), config).unwrap();
    let style = if choice & 0x40 == 0 { Style::Verbose } else { Style::Compact };
    let mut lower = Lower::new(Vec::new(), lift.meta(), WriteConfig { config, style }).unwrap();
    let mut batch = Batch::default();
    loop {
        match lift.fill(&mut batch) {
            Ok(false) => break,
            Ok(true) => {
                let _ = lower.put(&batch);
            }
            Err(error) => {
                assert!(error.offset <= bytes.len() as u64);
                if !lift.resync().unwrap() {
                    break;
                }
            }
        }
    }
    let _ = lower.into_inner();
    let mut listing = Listing::open(input(), &config).unwrap();
    let mut item = Item::default();
    loop {
        match listing.next(&mut item) {
            Ok(false) => break,
            Ok(true) => {}
            Err(_) => {
                if listing.resync().unwrap().is_none() {
                    break;
                }
            }
        }
    }
    check(input(), &config, &mut |_| ()).unwrap();
    recognise(bytes);
});
