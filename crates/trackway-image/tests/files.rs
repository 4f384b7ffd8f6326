//! Good files, and files that are damaged in every way: clear errors, no panic.

use std::sync::Arc;

use proptest::prelude::*;
use trackway_core::{Context, Isa, Privilege, Security, SharedBytes};
use trackway_image::{Elf, Error, Image, Lines, Memory, Segment, Space, Symbols, Waypoints, read_spec};

fn arm_mix() -> Vec<u8> {
    std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/arm-mix/arm-mix.elf"))
        .expect("it is in the repository")
}

fn shared(bytes: Vec<u8>) -> SharedBytes {
    Arc::new(bytes)
}

/// Everything that can be asked of a file.
fn use_all(bytes: &[u8]) -> Result<(), Error> {
    let mut image = Image::default();
    image.add_elf("it", shared(bytes.to_vec()), None, Space::default())?;
    let symbols = Symbols::read(bytes, 0)?;
    for symbol in symbols.all() {
        let _ = (symbol.demangled(), symbols.at(symbol.address), symbols.mapping(symbol.address));
    }
    let lines = Lines::read(bytes, 0);
    for pc in (0x10000..0x10a4c).step_by(52) {
        if let Ok(lines) = &lines {
            let _ = lines.at(pc);
        }
        let _ = image.place(pc);
    }
    for isa in [Isa::A32, Isa::T32] {
        let mut cursor = image.blocks(&Context::default(), isa, Waypoints::ete(true)).cursor();
        for pc in (0xf000..0x11a80).step_by(166) {
            let _ = cursor.at(pc);
        }
    }
    lines.map(|_| ())
}

/// Where the program headers point: (offset of the header, bytes).
const HEADER: usize = 52;

fn put32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn a_good_file() {
    let bytes = arm_mix();
    use_all(&bytes).expect("a good file");
    let elf = Elf::read(&shared(bytes), None).expect("a good file");
    assert_eq!((elf.isa, elf.entry, elf.bias), (Isa::A32, 0x10000, 0));
    let loaded: Vec<_> = elf.segments.iter().map(|s| (s.address, s.executable, s.writable)).collect();
    assert_eq!(loaded, [(0xf000, true, false), (0x11a4c, false, true)]);
}

#[test]
fn moved_to_another_address() {
    let elf = Elf::read(&shared(arm_mix()), Some(0x40_0000)).expect("a good file");
    assert_eq!((elf.bias, elf.entry), (0x40_0000 - 0xf000, 0x40_1000));
    let mut image = Image::default();
    image.add_elf("it", shared(arm_mix()), Some(0x40_0000), Space::default()).expect("a good file");
    assert_eq!(image.place(0x40_1000).as_deref(), Some("_start"));
    assert_eq!(image.named("t32_gcd").map(|symbol| symbol.isa), Some(Some(Isa::T32)));
    assert!(image.line(0x40_1000).expect("it has lines").file.ends_with("start.S"));
    assert_eq!(image.memory(&Context::default()).word(0x40_1000), Some(0xe3a0_000c));
    assert_eq!(image.memory(&Context::default()).word(0x10000), None);
}

#[test]
fn cut_anywhere() {
    let bytes = arm_mix();
    let mut errors = 0;
    for cut in 0..bytes.len() {
        errors += usize::from(use_all(&bytes[..cut]).is_err());
    }
    // The section headers come last: without them the file is damaged.
    assert_eq!(errors, bytes.len());
}

#[test]
fn damage_has_a_name() {
    let read = |bytes: Vec<u8>| {
        let damaged = Image::default().add_elf("it", shared(bytes), None, Space::default());
        damaged.expect_err("damaged").to_string()
    };
    assert_eq!(read(Vec::new()), "not an ELF file; raw bytes need an address, as PATH@ADDRESS");
    assert_eq!(
        read(b"MZ and so on, but no ELF file".to_vec()),
        "not an ELF file; raw bytes need an address, as PATH@ADDRESS"
    );
    assert!(read(arm_mix()[..40].to_vec()).starts_with("damaged ELF file: "));

    let mut unlinked = arm_mix();
    unlinked[16] = 1;
    assert_eq!(read(unlinked), "an unlinked object file has no addresses: link it first");

    let mut overlap = arm_mix();
    put32(&mut overlap, HEADER + 32 + 8, 0x10a00);
    assert_eq!(read(overlap), "segments overlap: one at 0xf000, another at 0x10a00");

    let mut outside = arm_mix();
    put32(&mut outside, HEADER + 16, 0x7fff_ffff);
    assert!(read(outside).contains("past the end of the file"));

    // A segment of nothing but .bss, which GNU ld puts after the end of a short file.
    let mut zeros = arm_mix();
    put32(&mut zeros, HEADER + 32 + 4, 0x7fff_ffff);
    put32(&mut zeros, HEADER + 32 + 16, 0);
    use_all(&zeros).unwrap();

    let mut nothing = arm_mix();
    put32(&mut nothing, HEADER, 0);
    put32(&mut nothing, HEADER + 32, 0);
    assert_eq!(read(nothing), "nothing in the file is loaded to memory");

    let mut big_endian = arm_mix();
    big_endian[5] = 2;
    assert!(!read(big_endian).is_empty());
}

#[test]
fn truncated_debug_information_costs_nothing_else() {
    let mut bytes = arm_mix();
    // .debug_info begins at 0x1b30: an abbreviation table that is not there, and garbage after it.
    bytes[0x1b30 + 6..0x1b30 + 40].fill(0xff);
    let mut image = Image::default();
    image.add_elf("it", shared(bytes), None, Space::default()).expect("the code is whole");
    assert_eq!(image.place(0x10000).as_deref(), Some("_start"));
    let _ = image.line(0x10000);
}

#[test]
fn a_huge_section_sizes_nothing() {
    // A segment that claims 4 GiB of memory after its bytes, and a section of 4 GiB.
    let mut bytes = arm_mix();
    put32(&mut bytes, HEADER + 20, 0xffff_ffff);
    let elf = Elf::read(&shared(bytes.clone()), None).expect("zeros are not made");
    assert_eq!(elf.segments[0].zeros(), 0xffff_ffff - 0x1a4c);
    let sections = u32::from_le_bytes(bytes[32..36].try_into().unwrap()) as usize;
    for section in 1..16 {
        let mut bytes = arm_mix();
        put32(&mut bytes, sections + 40 * section + 20, 0xffff_fff0);
        let _ = use_all(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any bytes changed anywhere: an answer or an error.
    #[test]
    fn corrupted_anywhere(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40)) {
        let mut bytes = arm_mix();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let _ = use_all(&bytes);
    }

    /// The same where it hurts: headers, symbols, debug sections.
    #[test]
    fn corrupted_headers(changes in prop::collection::vec((0usize..2048, any::<u8>()), 1..12)) {
        let mut bytes = arm_mix();
        let end = bytes.len();
        for (at, value) in changes {
            let at = if at < 256 { at } else { end - (at - 255) };
            bytes[at] = value;
        }
        let _ = use_all(&bytes);
    }

    /// Laying segments over each other: the last one that covers a byte has it.
    #[test]
    fn later_segments_hide_earlier_ones(pieces in prop::collection::vec((0u64..200, 0usize..80), 0..12)) {
        let mut model = [None; 300];
        let mut segments = Vec::new();
        for (n, (address, length)) in pieces.into_iter().enumerate() {
            segments.push(Segment::new(address, shared(vec![n as u8; length])).unwrap());
            model[address as usize..address as usize + length].fill(Some(n as u8));
        }
        let memory = Memory::new(segments);
        for (address, byte) in model.iter().enumerate() {
            prop_assert_eq!(memory.bytes_at(address as u64).map(|bytes| bytes[0]), *byte);
        }
        let pieces = memory.segments();
        prop_assert!(pieces.windows(2).all(|pair| pair[0].address + pair[0].bytes().len() as u64 <= pair[1].address));
    }
}

#[test]
fn contexts_choose_overlays() {
    let mut image = Image::default();
    let raw = |value: u8| shared(vec![value; 4]);
    let el1 = Space { privileges: vec![Privilege::El0, Privilege::El1], ..Space::default() };
    let secure = Space { security: Some(Security::Secure), ..el1.clone() };
    let process = Space { context_id: Some(7), vmid: Some(2), ..Space::default() };
    let guest = Space { privileges: vec![Privilege::VS, Privilege::VU], asid: Some(3), ..Space::default() };
    image.add_raw("el1", 0x1000, raw(1), el1).unwrap();
    image.add_raw("secure", 0x1000, raw(2), secure).unwrap();
    image.add_raw("process", 0x1000, raw(3), process).unwrap();
    image.add_raw("guest", 0x1000, raw(4), guest).unwrap();
    image.add_raw("everywhere", 0x1000, raw(0), Space::default()).unwrap();

    let seen = |context: Context| image.memory(&context).bytes_at(0x1000).expect("everywhere")[0];
    let base = Context::default();
    assert_eq!(seen(base), 0);
    assert_eq!(seen(Context { privilege: Some(Privilege::El0), ..base }), 1);
    assert_eq!(seen(Context { privilege: Some(Privilege::El2), ..base }), 0);
    let secure = Some(Security::Secure);
    assert_eq!(seen(Context { privilege: Some(Privilege::El1), security: secure, ..base }), 2);
    assert_eq!(seen(Context { privilege: Some(Privilege::El1), security: Some(Security::Realm), ..base }), 1);
    assert_eq!(seen(Context { context_id: Some(7), vmid: Some(2), ..base }), 3);
    // Unknown is not a match.
    assert_eq!(seen(Context { context_id: Some(7), ..base }), 0);
    assert_eq!(seen(Context { privilege: Some(Privilege::VS), asid: Some(3), ..base }), 4);
    assert_eq!(seen(Context { privilege: Some(Privilege::S), asid: Some(3), ..base }), 0);
    // The same view is the same memory, and the same table.
    let (a, b) = (
        Context { privilege: Some(Privilege::El0), ..base },
        Context { privilege: Some(Privilege::El1), ..base },
    );
    assert!(Arc::ptr_eq(&image.memory(&a), &image.memory(&b)));
    let blocks = |context| image.blocks(context, Isa::A64, Waypoints::ete(true));
    assert!(Arc::ptr_eq(&blocks(&a), &blocks(&b)));
    assert!(!Arc::ptr_eq(&blocks(&a), &blocks(&base)));
}

#[test]
fn specifications() {
    let read =
        |spec| read_spec(spec).map(|(path, address)| (path.to_string_lossy().into_owned(), address)).ok();
    assert_eq!(read("a.elf"), Some(("a.elf".into(), None)));
    assert_eq!(read("a.elf@0x8000_0000"), Some(("a.elf".into(), Some(0x8000_0000))));
    assert_eq!(read("dir@2/a.elf@4096"), Some(("dir@2/a.elf".into(), Some(4096))));
    assert_eq!(read("me@home"), Some(("me@home".into(), None)));
    assert_eq!(read("a.elf@0xzz"), None);
    assert_eq!(read("a.elf@99999999999999999999"), None);
    assert_eq!(read(""), None);
    let mut image = Image::default();
    let missing = image.open_elf("/nonexistent/file@0x10").expect_err("not there").to_string();
    assert!(missing.starts_with("/nonexistent/file: "), "{missing}");
    assert_eq!(
        image.open_raw("file").expect_err("no address").to_string(),
        "\"file\": raw bytes need an address, as PATH@ADDRESS"
    );
    let top = image.add_raw("top", u64::MAX, shared(vec![0; 2]), Space::default()).expect_err("too high");
    assert_eq!(top.to_string(), "2 bytes at 0xffffffffffffffff reach past the end of the address space");
}
