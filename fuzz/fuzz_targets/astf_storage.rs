//! Any bytes as a stored payload: no panic, no unbounded memory, the same records from memory and from a
//! stream; and what was stored comes back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trackway_astf::{Config, Header, Level, Storage, Trace, WriteConfig, recompress, to_bytes};
use trackway_core::Input;

fuzz_target!(|data: &[u8]| {
    let Some((&flags, data)) = data.split_first() else { return };
    let header = Header { compressed: flags & 1 == 1, use_zlib: flags & 2 == 2, ..Header::new(Level::Basic, false) };
    let mut file = to_bytes(&header.write()).to_vec();
    file.extend_from_slice(data);
    let whole = read(Input::from_vec(file.clone()));
    let stream = read(Input::Stream(Box::new(std::io::Cursor::new(file))));
    assert_eq!(whole, stream);

    // The same bytes as records, stored and read back.
    let header = Header::new(Level::Basic, false);
    let mut raw = to_bytes(&header.write()).to_vec();
    raw.extend_from_slice(data.as_chunks::<32>().0.as_flattened());
    let storage = [Storage::Raw, Storage::Xz, Storage::LzmaAlone, Storage::Zlib][usize::from(flags >> 4 & 3)];
    let config = WriteConfig { storage, preset: 0, block: 1 << 16, ..WriteConfig::default() };
    let stored = copy(raw.clone(), &config);
    assert_eq!(copy(stored, &WriteConfig { storage: Storage::Raw, ..config }), raw);
});

fn copy(file: Vec<u8>, config: &WriteConfig) -> Vec<u8> {
    let mut out = Vec::new();
    let trace = Trace::open(Input::from_vec(file), Config::default()).unwrap();
    recompress(&mut trace.records(), &mut out, config).unwrap();
    out
}

/// The records, and the error that ended them.
fn read(input: Input) -> (Vec<[u8; 32]>, Option<String>) {
    let mut found = Vec::new();
    let mut records = match Trace::open(input, Config::default()) {
        Ok(trace) => trace.records(),
        Err(error) => return (found, Some(error.to_string())),
    };
    loop {
        match records.chunk() {
            Ok(Some((_, chunk))) => {
                let n = chunk.len();
                found.extend_from_slice(chunk);
                records.consume(n);
                // A small input may stand for gigabytes of zeros.
                if found.len() > 1 << 16 {
                    return (Vec::new(), None);
                }
            }
            Ok(None) => return (found, None),
            Err(error) => return (found, Some(error.to_string())),
        }
    }
}
