//! Files that are not one of our traces, by their content.

use super::look::{Look, TABLE, WAVES};
use super::text;

/// A magic number: offset, bytes, what has it, and what to do.
struct Magic(usize, &'static [u8], &'static str, &'static str);

const PCAP: &str = "Trackway does not read captures: extract the payload, `tshark -r FILE -T fields -e data`, and \
                    turn it into bytes with `xxd -r -p`";
const ARCHIVE: &str = "unpack it, and open the trace inside";
const PERF: &str = "Trackway reads recordings with CoreSight traces: `trackway info FILE` says why this one is not read; record \
                    with `perf record -e cs_etm//u`";
const OLD_PERF: &str =
    "Trackway does not read the layout of perf before 2010: `perf inject -i FILE -o NEW` rewrites it";

/// Compressed files that Trackway reads are looked into before.
const MAGICS: [Magic; 28] = [
    Magic(0, b"PERFILE2", "a recording of perf (perf.data)", PERF),
    Magic(0, b"2ELIFREP", "a recording of perf (perf.data, big-endian)", PERF),
    Magic(0, b"PERFFILE", "a recording of perf (perf.data, old layout)", OLD_PERF),
    Magic(0, b"\x0a\x0d\x0d\x0a", "a network capture (pcapng)", PCAP),
    Magic(0, b"\xd4\xc3\xb2\xa1", "a network capture (pcap)", PCAP),
    Magic(0, b"\xa1\xb2\xc3\xd4", "a network capture (pcap, big-endian)", PCAP),
    Magic(0, b"\x4d\x3c\xb2\xa1", "a network capture (pcap)", PCAP),
    Magic(0, b"\x00\x00\x00\x00\x00\x00\x00\x01\x49", "waveforms (FST)", WAVES),
    Magic(0, b"GHDLwave", "waveforms (GHW)", WAVES),
    Magic(0, b"BZh", "a file compressed with bzip2", "`bunzip2 -k FILE`, then the file inside"),
    Magic(0, b"\x04\x22\x4d\x18", "a file compressed with lz4", "`lz4 -d FILE`, then the file inside"),
    Magic(
        0,
        b"\x5d\x00\x00",
        "a file compressed with lzma",
        "`xz -dk --format=lzma FILE`, then the file inside",
    ),
    Magic(0, b"\x1f\x9d", "a file compressed with compress", "`uncompress FILE`, then the file inside"),
    Magic(0, b"PK\x03\x04", "a zip archive", ARCHIVE),
    Magic(0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", ARCHIVE),
    Magic(257, b"ustar", "a tar archive", ARCHIVE),
    Magic(0, b"PAR1", "a table (Parquet)", TABLE),
    Magic(0, b"ARROW1", "a table (Arrow)", TABLE),
    Magic(0, b"\x89HDF\r\n\x1a\n", "an HDF5 file", TABLE),
    Magic(0, b"SQLite format 3\0", "a database (SQLite)", TABLE),
    Magic(
        0,
        b"\xc1\x1f\xfc\xc1",
        "a Common Trace Format stream",
        "Trackway does not read CTF: `babeltrace2` shows it",
    ),
    Magic(0, b"%PDF", "a PDF document", "this is not a trace"),
    Magic(0, b"\x89PNG", "a picture", "this is not a trace"),
    Magic(0, b"!<arch>\n", "a library (ar)", "name the linked program with --elf, not a library"),
    Magic(0, b"MZ", "a Windows program", "Trackway takes programs as ELF files"),
    Magic(0, b"\xcf\xfa\xed\xfe", "a Mach-O program", "Trackway takes programs as ELF files"),
    Magic(0, b"TWX", "an index of Trackway", "open the trace beside it"),
    Magic(
        0,
        b"\x02\x82\x02\x82\x02\x82\x02\x82",
        "an Intel PT stream",
        "Trackway does not read Intel PT: `perf script --itrace` or libipt's `ptxed` decodes it",
    ),
];

/// Looks of a file by its first bytes, the likeliest first. `size` is the size of the file, where it is known.
pub fn looks(head: &[u8], size: Option<u64>) -> Vec<Look> {
    if head.is_empty() {
        return vec![Look::new("an empty file", "it has no bytes", "record or copy it again", true)];
    }
    for Magic(at, magic, what, advice) in &MAGICS {
        if head.get(*at..).is_some_and(|rest| rest.starts_with(magic)) {
            let why = format!("it has {} at {at:#x}", hex(magic));
            return vec![Look::new(*what, why, *advice, true)];
        }
    }
    if let Some(look) = elf(head).or_else(|| uniform(head)).or_else(|| text::look(head)) {
        return vec![look];
    }
    let mut found: Vec<Look> = [coresight(head), nexus(head), champsim(head, size), drmemtrace(head, size)]
        .into_iter()
        .flatten()
        .collect();
    if found.is_empty() && entropy(head) > 7.9 && head.len() >= 4096 {
        let advice = "if it is a trace, it is compressed or encrypted in a way that has no magic number: undo that first";
        let why = "its bytes are evenly distributed and have no structure";
        found.push(Look::new("random or encrypted bytes", why, advice, false));
    }
    found
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// Programs, core dumps, object files.
fn elf(head: &[u8]) -> Option<Look> {
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    let big = head.get(5) == Some(&2);
    let half = |at: usize| {
        let bytes = [*head.get(at)?, *head.get(at + 1)?];
        Some(if big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    };
    let machine = match half(18) {
        Some(243) if head.get(4) == Some(&1) => "RISC-V, 32 bits",
        Some(243) => "RISC-V, 64 bits",
        Some(183) => "AArch64",
        Some(40) => "Arm, 32 bits",
        Some(62) => "x86-64",
        _ => "another architecture",
    };
    let (what, advice) = match half(16) {
        Some(4) => ("a core dump", "this is memory, not a trace: a debugger reads it"),
        Some(1) => {
            ("an object file or a kernel module", "a trace needs the program as it was linked and loaded")
        }
        _ if machine.starts_with("RISC-V") => (
            "a program",
            "name it with --elf beside its trace; `trackway image FILE` shows it, `trackway record FILE -o run.stf` runs it",
        ),
        _ => ("a program", "name it with --elf beside its trace; `trackway image FILE` shows it"),
    };
    Some(Look::new(format!("{what} (ELF, {machine})"), "it has the magic number of ELF", advice, true))
}

/// The same byte throughout.
fn uniform(head: &[u8]) -> Option<Look> {
    let first = head[0];
    if head.iter().any(|byte| *byte != first) {
        return None;
    }
    let what = format!("nothing but bytes {first:#04x}");
    let why = format!("its first {} bytes are the same", head.len());
    let advice = "the buffer was never written, or the dump has the wrong address: check that tracing was on";
    Some(Look::new(what, why, advice, true))
}

/// Frames of CoreSight by their synchronisations.
fn coresight(head: &[u8]) -> Option<Look> {
    let syncs = head.windows(4).filter(|four| *four == [0xff, 0xff, 0xff, 0x7f]).count();
    let halves = head.windows(2).filter(|two| *two == [0xff, 0x7f]).count();
    if syncs < 2 && halves * 16 < head.len() / 16 {
        return None;
    }
    let advice = "`trackway info FILE --format ete` shows the trace ids in it; [ete] format = \"dstream_coresight\" in --config \
                  reads frames with synchronisations";
    let why = format!("it has {syncs} frame and {halves} half-frame synchronisations");
    Some(Look::new("CoreSight frames", why, advice, false))
}

/// TCODEs that trace encoders send (N-Trace 1.0, Nexus 5001).
const TCODES: [u8; 22] = [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 27, 28, 29, 30, 33, 56, 57];

/// Nexus messages: the two lowest bits of each byte mark ends, and one of four values is never used.
fn nexus(head: &[u8]) -> Option<Look> {
    let bytes = &head[..head.len().min(4096)];
    let (mut at_start, mut messages, mut known) = (true, 0u32, 0u32);
    for byte in bytes {
        match byte & 3 {
            2 => return None,
            _ if at_start && *byte == 0xff => continue,
            0 if at_start => {
                messages += 1;
                known += u32::from(TCODES.contains(&(byte >> 2)));
                at_start = false;
            }
            _ if at_start => return None,
            3 => at_start = true,
            _ => {}
        }
    }
    if messages < 8 || known * 10 < messages * 9 {
        return None;
    }
    let why = format!(
        "its bytes end as Nexus messages do (MSEO), and {known} of {messages} begin with a known TCODE"
    );
    let advice = "Trackway does not read Nexus or N-Trace yet: the decoder of the riscv-trace-spec N-Trace repository, or the \
                  vendor's tool, turns it into a list of addresses";
    Some(Look::new("Nexus messages (N-Trace)", why, advice, true))
}

fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight))
}

/// Records of ChampSim: 64 bytes, flags of 0 or 1, addresses near each other.
fn champsim(head: &[u8], size: Option<u64>) -> Option<Look> {
    let records: Vec<&[u8]> = head.chunks_exact(64).collect();
    let is_record = |record: &&[u8]| record[8] < 2 && record[9] <= record[8] && word(record) != 0;
    let near = records.windows(2).filter(|pair| word(pair[0]).abs_diff(word(pair[1])) < 1 << 24).count();
    let is_it = records.len() >= 16
        && size.is_none_or(|size| size.is_multiple_of(64))
        && records.iter().all(is_record)
        && near * 2 > records.len();
    let why = "records of 64 bytes with branch flags of 0 and 1 and addresses near each other";
    let advice = "Trackway does not read ChampSim traces: they have no instructions; use the trace that they were made from";
    is_it.then(|| Look::new("a ChampSim trace", why, advice, true))
}

/// Entries of DynamoRIO's memory traces: type, size, address in 12 or 16 bytes.
fn drmemtrace(head: &[u8], size: Option<u64>) -> Option<Look> {
    for (length, address) in [(12, 4), (16, 8)] {
        let entries: Vec<&[u8]> = head.chunks_exact(length).take(256).collect();
        let half = |entry: &[u8], at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
        let is_entry = |entry: &&[u8]| half(entry, 0) < 64 && half(entry, 2) <= 64;
        let kinds: std::collections::BTreeSet<u16> = entries.iter().map(|entry| half(entry, 0)).collect();
        let addresses = entries.iter().filter(|entry| word(&entry[address..]) > 0xffff).count();
        let is_it = entries.len() >= 32
            && size.is_none_or(|size| size.is_multiple_of(length as u64))
            && entries.iter().all(is_entry)
            && kinds.len() > 2
            && addresses * 2 > entries.len();
        if is_it {
            let why = format!("entries of {length} bytes with a small type, a size and an address");
            let advice =
                "Trackway does not read drmemtrace: `drrun -t drmemtrace -indir …` with its own tools does";
            return Some(Look::new("a memory trace of DynamoRIO (drmemtrace)", why, advice, false));
        }
    }
    None
}

/// Bits of information in a byte.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let share = |count: &u32| f64::from(*count) / bytes.len() as f64;
    counts.iter().filter(|count| **count > 0).map(share).map(|share| -share * share.log2()).sum()
}
