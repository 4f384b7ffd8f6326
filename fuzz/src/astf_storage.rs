//! Any bytes as a stored payload: no panic, no unbounded memory, the same records from memory, from a stream
//! and on several threads. And what was stored comes back, in every form, whole, cut, sought and damaged.

use trackway_astf::{Header, Level, RECORD, ReadConfig, Record, Storage, Trace, WriteConfig, copy, to_bytes};
use trackway_core::{ErrorKind, Input};

type Records = Vec<[u8; RECORD]>;

/// Tries one input.
pub fn astf_storage(data: &[u8]) {
    let Some((&[flags, a, b], data)) = data.split_first_chunk() else { return };
    let place = usize::from(u16::from_le_bytes([a, b]));
    any_payload(flags, data);
    let header = Header::new(Level::Basic, false);
    let mut raw = to_bytes(&header.write()).to_vec();
    raw.extend_from_slice(data.as_chunks::<RECORD>().0.as_flattened());
    for storage in [Storage::Raw, Storage::Xz, Storage::LzmaAlone, Storage::Zlib] {
        round_trip(&raw, storage, flags, place);
    }
}

fn any_payload(flags: u8, data: &[u8]) {
    // A dictionary of hundreds of megabytes is allowed, and dear with a sanitizer.
    if data.first() == Some(&0x5d) && data.get(4).is_some_and(|byte| *byte > 1) {
        return;
    }
    let header =
        Header { compressed: flags & 1 == 1, use_zlib: flags & 2 == 2, ..Header::new(Level::Basic, false) };
    let mut file = to_bytes(&header.write()).to_vec();
    file.extend_from_slice(data);
    let whole = read(Input::from_vec(file.clone()), 1);
    if flags & 0x1c == 0 {
        assert_eq!(whole, read(Input::from_vec(file.clone()), 2), "two threads");
    }
    assert_eq!(whole, read(Input::Stream(Box::new(std::io::Cursor::new(file))), 1), "a stream");
}

/// The records of `raw`, stored and read back.
fn round_trip(raw: &[u8], storage: Storage, flags: u8, place: usize) {
    let config = WriteConfig { storage, preset: 0, block: 1 << 16, ..WriteConfig::default() };
    let stored = stored_as(raw.to_vec(), &config);
    let header = Header::read(&trackway_astf::from_bytes(stored.first_chunk().unwrap()));
    assert_eq!((header.compressed, header.use_zlib), storage.flags());
    assert_eq!(stored_as(stored.clone(), &WriteConfig { storage: Storage::Raw, ..config }), raw);

    // Sought: the rest from there on.
    let all = &raw.as_chunks::<RECORD>().0;
    let trace = Trace::open(Input::from_vec(stored.clone()), ReadConfig::default()).unwrap();
    let mut records = trace.records();
    let at = records.seek((place % (all.len() + 2)) as u64).unwrap() as usize;
    assert_eq!(at, (place % (all.len() + 2)).min(all.len()));
    if let Some((offset, record)) = records.next_record().unwrap() {
        assert_eq!(offset as usize, at * RECORD);
        // The storage flags in the Header differ.
        assert!(to_bytes(&record.write()) == all[at] || (at == 0 && matches!(record, Record::Header(_))));
    }

    // Cut: the first of the records, and the end is told.
    if stored.len() == RECORD {
        return;
    }
    let cut = RECORD + place % (stored.len() - RECORD);
    let (found, error) = read(Input::from_vec(stored[..cut].to_vec()), 1);
    assert!(found.len() <= all.len() && found[1..] == all[1..found.len()]);
    let silent = storage == Storage::Raw && cut.is_multiple_of(RECORD);
    assert!(silent == error.is_none(), "{storage:?} cut at {cut} of {}: {error:?}", stored.len());

    // Damaged: anything but a panic; from memory as from a stream.
    let mut damaged = stored;
    damaged[cut] ^= flags.max(1);
    let whole = read(Input::from_vec(damaged.clone()), 1);
    assert_eq!(whole, read(Input::Stream(Box::new(std::io::Cursor::new(damaged))), 1));
}

fn stored_as(file: Vec<u8>, config: &WriteConfig) -> Vec<u8> {
    let mut out = Vec::new();
    let trace = Trace::open(Input::from_vec(file), ReadConfig::default()).unwrap();
    copy(&mut trace.records(), &mut out, config).unwrap();
    out
}

/// The records, and the error that ended them.
fn read(input: Input, threads: usize) -> (Records, Option<String>) {
    let mut found = Vec::new();
    let mut records = match Trace::open(input, ReadConfig { threads, ..ReadConfig::default() }) {
        Ok(trace) => trace.records(),
        Err(error) => return (found, Some(error.to_string())),
    };
    loop {
        match records.chunk() {
            Ok(Some((offset, chunk))) => {
                assert_eq!(offset, (found.len() * RECORD) as u64);
                let n = chunk.len();
                found.extend_from_slice(chunk);
                records.consume(n);
                // A small input may stand for gigabytes of zeros.
                if found.len() > 1 << 16 {
                    return (Vec::new(), None);
                }
            }
            Ok(None) => return (found, None),
            Err(error) => {
                // Placed: at the record that could not be read, or at the flag that is not true.
                if error.item == "Header" {
                    assert_eq!((error.offset, found.len()), (8, 1), "{error}");
                    return (found, Some(error.to_string()));
                }
                assert_eq!(error.offset, (found.len() * RECORD) as u64, "{error}");
                assert!(matches!(error.kind, ErrorKind::Truncated | ErrorKind::Compression), "{error}");
                return (found, Some(error.to_string()));
            }
        }
    }
}
