//! The trace of a real core (Flute, simulated), and its program.

use trackway_core::*;
use trackway_image::Elf;
use trackway_tandem::{
    Config, Frame, Group, Lower, Packer, Profile, Reader, Record, Registers, Style, Trace, View, WriteConfig,
    Writer, elf_to_records, recognise, to_bytes,
};

const RESET_PC: u64 = 0x7000_0000;

fn own() -> Option<(Vec<u8>, Elf)> {
    let folder = trackway_testkit::corpus_part("tandem/own")?;
    let elf = std::fs::read(folder.join("own2.elf")).unwrap();
    let elf = Elf::read(&(std::sync::Arc::new(elf) as SharedBytes), None).unwrap();
    Some((std::fs::read(folder.join("own2.tv")).unwrap(), elf))
}

fn flute() -> Config {
    Config { profile: Profile::Bluespec, reset_pc: Some(RESET_PC), ..Config::default() }
}

fn groups(bytes: &[u8], config: &Config) -> Vec<Group> {
    let mut reader = Reader::new(Input::from_vec(bytes.to_vec()), config).unwrap();
    let mut groups = Vec::new();
    let mut group = Group::default();
    while reader.read_group(&mut group).unwrap() {
        groups.push(group.clone());
    }
    groups
}

fn lift_all(bytes: &[u8], config: Config) -> Vec<Batch> {
    let mut lift = Trace::open(Input::from_vec(bytes.to_vec()), config).unwrap().events();
    let mut batches = Vec::new();
    let mut batch = Batch::default();
    while lift.fill(&mut batch).unwrap() {
        batches.push(batch.clone());
    }
    batches
}

fn lower_all(batches: &[Batch], config: WriteConfig) -> (Vec<u8>, Ledger) {
    let meta = Meta::new(trackway_tandem::ID, config.config.isa());
    let (mut facts, mut contexts) = (Counts::of_meta(&meta), Contexts::new(&meta));
    let mut lower = Lower::new(Vec::new(), &meta, config).unwrap();
    for batch in batches {
        facts.add_batch(batch, &mut contexts);
        lower.put(batch).unwrap();
    }
    let (bytes, account) = lower.into_inner().unwrap();
    (bytes, Ledger::new(&facts, &account))
}

#[test]
fn reads_completely_and_writes_back() {
    let Some((bytes, _)) = own() else { return };
    let groups = groups(&bytes, &flute());
    assert_eq!(groups.len(), 96);
    let mut writer = Writer::new(Vec::new(), &flute()).unwrap();
    groups.iter().for_each(|group| writer.write_group(group).unwrap());
    assert_eq!(writer.into_inner().unwrap(), bytes);
    let widths = flute().widths().unwrap();
    let registers = Registers::new(&widths);
    for group in &groups {
        View::of(group, &widths, &registers).unwrap();
    }
}

#[test]
fn is_recognised() {
    let Some((bytes, _)) = own() else { return };
    let found = recognise(&bytes).unwrap();
    assert_eq!((found.xlen, found.flen, found.profile), (64, 64, Profile::Bluespec));
    // Also from a head that ends anywhere.
    for cut in 64..600 {
        assert_eq!(recognise(&bytes[..cut]).map(|config| config.xlen), Some(64), "{cut}");
    }
}

#[test]
fn breaks_no_rule_but_the_known_ones() {
    let Some((bytes, _)) = own() else { return };
    let mut findings = Vec::new();
    let items = Trace::open(Input::from_vec(bytes), flute())
        .unwrap()
        .check(&mut |finding| findings.push(finding))
        .unwrap();
    let shown: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(items > 400);
    assert_eq!(shown, [] as [&str; 0]);
}

/// The executed pcs follow from the program: every step's address holds its instruction in the ELF.
#[test]
fn lifted_instructions_are_the_program() {
    let Some((bytes, elf)) = own() else { return };
    let fetch = |pc: u64, length: u8| {
        elf.segments.iter().find_map(|segment| {
            let at = pc.checked_sub(segment.address)? as usize;
            let data = segment.bytes().get(at..at + usize::from(length))?;
            let mut le = [0; 4];
            le[..data.len()].copy_from_slice(data);
            Some(u32::from_le_bytes(le))
        })
    };
    let (mut steps, mut in_rom, mut traps, mut interrupts) = (0, 0, 0, 0);
    for batch in lift_all(&bytes, flute()) {
        for event in &batch.events {
            match event.kind {
                EventKind::Step(step) => {
                    steps += 1;
                    let pc = step.pc.expect("the reset pc is known, so all are");
                    match fetch(pc, step.length) {
                        Some(word) => assert_eq!(word, step.encoding, "at {pc:#x}"),
                        None => in_rom += 1,
                    }
                }
                EventKind::Trap(n) => {
                    let trap = batch.traps[n as usize];
                    traps += usize::from(trap.kind == TrapKind::Exception);
                    interrupts += usize::from(trap.kind == TrapKind::Interrupt);
                    assert!(trap.kind == TrapKind::Reset || trap.to.is_some());
                }
                _ => {}
            }
        }
    }
    // Four instructions of the boot ROM are not in the ELF.
    assert_eq!((steps, in_rom, traps, interrupts), (92, 4, 3, 1));
}

#[test]
fn lifting_and_lowering_keeps_every_byte() {
    let Some((bytes, _)) = own() else { return };
    let batches = lift_all(&bytes, flute());
    let (again, ledger) = lower_all(&batches, WriteConfig { config: flute(), style: Style::Verbose });
    assert!(!ledger.is_lossy(), "{ledger}");
    let (before, after) = (groups(&bytes, &flute()), groups(&again, &flute()));
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.records, after.records, "at {:#x}", before.offset);
    }
    assert_eq!(again, bytes);
}

#[test]
fn compact_says_the_same_in_less() {
    let Some((bytes, _)) = own() else { return };
    let mut packer = Packer::new(Vec::new(), &flute(), Style::Compact).unwrap();
    groups(&bytes, &flute()).iter().for_each(|group| packer.put(group).unwrap());
    let compact = packer.into_inner().unwrap();
    assert!(compact.len() * 10 <= bytes.len() * 7, "{} of {}", compact.len(), bytes.len());
    // And back.
    let mut packer = Packer::new(Vec::new(), &flute(), Style::Verbose).unwrap();
    groups(&compact, &flute()).iter().for_each(|group| packer.put(group).unwrap());
    assert_eq!(packer.into_inner().unwrap(), bytes);
    // The events are the same too, apart from their offsets.
    let lines = |bytes: &[u8]| {
        let mut lines = Vec::new();
        for batch in lift_all(bytes, flute()) {
            for event in &batch.events {
                let mut line = String::new();
                batch.write_line(&Event { offset: 0, ..*event }, &mut line);
                lines.push(line);
            }
        }
        lines
    };
    let (ours, theirs) = (lines(&compact), lines(&bytes));
    assert_eq!(ours.len(), theirs.len());
    ours.iter().zip(&theirs).for_each(|(ours, theirs)| assert_eq!(ours, theirs));
    assert!(groups(&compact, &flute()).iter().any(|group| group.frame == Frame::Implied));
}

#[test]
fn elf_becomes_state_initialization() {
    let Some((_, elf)) = own() else { return };
    let mut records = Vec::new();
    elf_to_records(&elf, &Config::default(), |record| {
        records.push(*record);
        Ok(())
    })
    .unwrap();
    let bytes = to_bytes(&records, &Config::default()).unwrap();
    let mut memory = std::collections::BTreeMap::new();
    for group in groups(&bytes, &Config::default()) {
        let [Record::StateInitialization, Record::MemoryRequest { address, size, data, .. }] =
            group.records[..]
        else {
            panic!("{group:?}")
        };
        for (n, byte) in data.to_le_bytes()[..1 << size].iter().enumerate() {
            memory.insert(address + n as u64, *byte);
        }
    }
    // li t0, 0x6000 at the entry, and the number pi in .data.
    assert_eq!([memory[&0xc000_0000], memory[&0xc000_0001]], [0x99, 0x62]);
    let pi: Vec<u8> = (0xc000_2000..0xc000_2008u64).map(|at| memory[&at]).collect();
    assert_eq!(pi, 0x4009_21fb_5444_2d18u64.to_le_bytes());
}
