//! Inputs to begin with, made of the traces and programs of the repository: those of a new target, and of all of them where the kept ones
//! are thrown away.

use std::path::{Path, PathBuf};

use trackway_core::{Input, Output};
use trackway_stf::{Config, Layout, Trace, WriteConfig};
use trackway_testkit::random::Numbers;

/// Files of the repository for a target: a folder, the ending of their names, the bytes to leave out at their beginning, and the bytes of
/// choices to put there instead.
type Files = (&'static str, &'static str, &'static str, usize, &'static [&'static [u8]]);

const RECORD: usize = trackway_astf::RECORD;

#[rustfmt::skip]
const FILES: [Files; 14] = [
    ("astf_records", "testdata/astf", "astf", RECORD, &[&[0], &[1], &[2], &[3]]),
    ("astf_storage", "testdata/astf", "astf", RECORD, &[&[0, 9, 0], &[1, 0, 0], &[3, 0, 0]]),
    ("ete_decode", "testdata/ete", "bin", 0, &[&[0, 0], &[0x13, 0], &[0, 1], &[0x20, 2]]),
    ("ete_frames", "testdata/ete", "bin", 0, &[&[6], &[0x20]]),
    ("ete_packets", "testdata/ete", "bin", 0, &[&[0], &[1], &[2], &[3]]),
    ("etrace_data", "testdata/etrace", "input", 0, &[&[0xe6, 0x04], &[0xf7, 0x28], &[0xfb, 0xc0]]),
    ("etrace_packets", "testdata/etrace", "input", 0, &[&[0, 0x10, 1, 1], &[5, 0x10, 1, 1], &[5, 0x14, 0x1e, 2], &[1, 0x12, 0, 3]]),
    ("image_blocks", "testdata", "bin", 0, &[&[0, 0, 0, 16], &[0xe1, 8, 1, 255], &[0x3a, 1, 0, 9]]),
    ("image_blocks", "testdata/etrace", "program", 0, &[&[0, 0, 0, 16], &[3, 0, 0, 30], &[4, 0, 1, 80], &[0xbc, 2, 0, 40]]),
    ("image_elf", "programs", "elf", 0, &[&[]]),
    ("tandem_round_trip", "testdata/tandem", "tv", 0, &[&[0], &[0x18], &[0x40], &[0x59]]),
    ("tandem_verify", "testdata/etrace", "program", 0, &[&[0, 0], &[1, 0], &[2, 8], &[3, 0x10], &[0x20, 0x1f]]),
    ("tarmac_lines", "testdata/tarmac", "tarmac", 0, &[&[]]),
    ("stf_records", "testdata/stf", "stf", 0, &[&[]]),
];

/// Files that are larger slow every run of the fuzzer down.
const LARGEST: u64 = 9 << 10;

/// Inputs for a target.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut seeds = Vec::new();
    for (_, folder, ending, skip, heads) in FILES.iter().filter(|files| files.0 == target) {
        for path in files(&root.join(folder), ending) {
            let bytes = std::fs::read(&path).unwrap_or_default();
            let bytes = bytes.get(*skip..).unwrap_or_default();
            seeds.extend(heads.iter().map(|head| [head, bytes].concat()));
        }
    }
    let stf =
        files(&root.join("testdata/stf"), "stf").into_iter().filter_map(|path| std::fs::read(path).ok());
    match target {
        "stf_records" => seeds.extend(stf.flat_map(|file| bodies(&file))),
        "stf_container" => {
            seeds.extend(stf.flat_map(|file| [1, 3, 100].map(|chunk| chunks(file.clone(), chunk))))
        }
        _ => {}
    }
    // The encoders take random numbers.
    let numbers = &mut Numbers(1);
    seeds.extend((0..4).map(|_| [numbers.draw(), numbers.draw()].map(u64::to_le_bytes).concat()));
    seeds
}

/// Small files with an ending, in and below a folder, in order.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else {
            let is_wanted = path.extension().map_or(path.ends_with(ending), |found| found == ending);
            let is_small = entry.metadata().is_ok_and(|data| data.len() <= LARGEST);
            found.extend((is_wanted && is_small).then_some(path));
        }
    }
    found.sort();
    found
}

/// What is left of a file after each of its first records: its header is one of them.
fn bodies(file: &[u8]) -> Vec<Vec<u8>> {
    let (mut layout, mut at, mut found) = (Layout::default(), 0, Vec::new());
    while let Ok((record, length)) = trackway_stf::read(&file[at..], &layout, at as u64) {
        layout.note(&record);
        at += length;
        found.push(file[at..].to_vec());
        if found.len() == 16 {
            break;
        }
    }
    found
}

/// A file compressed in chunks, without its magic.
fn chunks(file: Vec<u8>, chunk: u64) -> Vec<u8> {
    let path = std::env::temp_dir().join(format!("trackway-seed-{}-{chunk}", std::process::id()));
    let trace = Trace::open(Input::from_vec(file), Config::default(), false).expect("our own trace");
    let out = std::fs::File::create_new(&path).expect("a new file");
    let config = WriteConfig { chunk, ..WriteConfig::default() };
    trace.copy_to(Output::File(Box::new(out)), config).expect("our own trace");
    let bytes = std::fs::read(&path).expect("it was written");
    let _ = std::fs::remove_file(path);
    bytes[4..].to_vec()
}
