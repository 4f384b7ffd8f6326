//! A trace before its records: Header, storage, comments; and the ways to read it.

use std::io::Read;

use trackway_core::{Error, ErrorKind, Finding, Input, Isa, Meta, Result, Stream};
use trackway_io::payload::{Compression, Content, ContentOptions, Family, Payload};

use crate::check::check;
use crate::config::{ID, ReadConfig, Storage};
use crate::gap;
use crate::layout::{RECORD, from_bytes};
use crate::lift::Lift;
use crate::record::{Header, Record, StringContinuation, StringRecord};
use crate::records::Records;
use crate::text::Text;

/// Bytes that are searched for comments after the Header: as many as a stream is read by.
const LEADING: usize = 1 << 20;

/// An ASTF trace, opened.
///
/// ```
/// use trackway_astf::{ReadConfig, Storage, Trace};
/// use trackway_core::{Batch, Input, Source};
///
/// let bytes = trackway_astf::example(Storage::Zlib);
/// let trace = Trace::open(Input::from_vec(bytes), ReadConfig::default())?;
/// assert_eq!((trace.header.version_minor, trace.storage), (11, Storage::Zlib));
///
/// let (mut source, mut batch) = (trace.events(), Batch::default());
/// let mut instructions = 0;
/// while source.fill(&mut batch)? {
///     instructions += batch.instructions();
/// }
/// assert_eq!(instructions, 11);
/// # Ok::<(), trackway_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Trace {
    /// The first record.
    pub header: Header,
    /// How the other records are stored.
    pub storage: Storage,
    /// Metadata from the Header and the comments directly after it.
    pub meta: Meta,
    /// Blocks that can be sought and decoded on their own; 1 where the storage has none.
    pub blocks: usize,
    records: Records,
    /// Records that `meta` was made of.
    leading: usize,
    config: ReadConfig,
}

impl Trace {
    /// Opens a trace: reads its Header and recognises its storage.
    pub fn open(input: Input, config: ReadConfig) -> Result<Self> {
        let (header, payload) = match input {
            Input::Whole(bytes) => {
                let header = read_header((*bytes).as_ref())?;
                if !header.compressed {
                    return Ok(Trace::raw(header, Input::Whole(bytes), config));
                }
                (header, Payload::of_file(bytes, RECORD))
            }
            Input::Stream(mut stream) => {
                let start = read_start(&mut stream)?;
                let header = read_header(&start)?;
                if !header.compressed {
                    let stream = std::io::Cursor::new(start).chain(stream);
                    return Ok(Trace::raw(header, Input::Stream(Box::new(stream)), config));
                }
                // One whole record, in case the payload is not compressed after all.
                (header, Payload::of_stream(start, stream, RECORD))
            }
        };
        Trace::compressed(header, payload, config)
    }

    fn raw(header: Header, input: Input, config: ReadConfig) -> Self {
        Trace::new(header, Storage::Raw, Records::new(Content::raw(input), false), config)
    }

    fn compressed(header: Header, mut payload: Payload, config: ReadConfig) -> Result<Self> {
        let family = if header.use_zlib { Family::Deflate } else { Family::Lzma };
        let start = payload.start()?;
        let compression = Compression::detect(start, family);
        if compression.family() != family && !start.is_empty() {
            // The Header's flag is wrong, not the payload.
            let kind = ErrorKind::Impossible { found: header.use_zlib.into() };
            return Err(kind.at(8, "Header", "use_zlib", "ASTF 4.2.1"));
        }
        let (maybe_raw, missing) = (begins_with_record(start), start.is_empty());
        let options = ContentOptions { family, unit: RECORD, ahead: LEADING, threads: config.threads };
        let mut records = Records::new(payload.content(options), maybe_raw);
        records.missing = missing;
        Ok(Trace::new(header, compression.into(), records, config))
    }

    fn new(header: Header, storage: Storage, mut records: Records, config: ReadConfig) -> Self {
        let blocks = records.block_count();
        let mut meta = Meta::new(ID, Isa::A64);
        meta.version = format!("{}.{}", header.version_major, header.version_minor);
        meta.level = Some(header.level().as_str().to_string());
        meta.timestamps = header.timestamps;
        meta.features = features(&header).map(str::to_string).collect();
        let mut leading = 0;
        // Damage after the Header is reported to whoever reads the records.
        if let Ok(Some((_, chunk))) = records.chunk() {
            leading = 1;
            // The same limit for every input, so that all find the same comments.
            let chunk = &chunk[..chunk.len().min(LEADING / RECORD)];
            while let Some((comment, used)) = read_comment(&chunk[leading..]) {
                meta.comments.push(comment);
                leading += used;
            }
        }
        Trace { header, storage, meta, blocks, records, leading, config }
    }

    /// Records, from the Header on.
    pub fn records(self) -> Records {
        self.records
    }

    /// Events. The comments directly after the Header are in `meta` and not repeated.
    pub fn events(self) -> Stream<Lift> {
        let lift = Lift::new(self.header.level(), self.records, self.leading, self.config.part);
        Stream::new(self.meta, vec![lift], self.config.threads)
    }

    /// Records as text.
    pub fn items(self) -> Text {
        Text::new(self.records, self.storage)
    }

    /// Reports every violation of a rule; returns the number of records, and the first damage. It continues after damage
    /// where the storage has a place to enter.
    pub fn check(mut self, report: &mut dyn FnMut(Finding)) -> (u64, Option<Error>) {
        check(&mut self.records, self.config, report)
    }
}

/// True if a payload begins with a record that has no reserved bit set.
fn begins_with_record(start: &[u8]) -> bool {
    start.first_chunk().is_some_and(|first| {
        let record = Record::read(&from_bytes(first));
        let mut plain = !matches!(record, Record::Unknown(_) | Record::StringContinuation(_));
        record.fields(&mut |field, _| plain &= !field.reserved);
        plain
    })
}

/// The features that a Header declares.
pub(crate) fn features(header: &Header) -> impl Iterator<Item = &'static str> {
    let flags = [(header.single_el, "single_el"), (header.timestamps, "timestamps")];
    flags.into_iter().filter(|flag| flag.0).map(|flag| flag.1)
}

/// The comment that begins a chunk, and its number of records; a gap is not a comment.
pub(crate) fn read_comment(chunk: &[[u8; RECORD]]) -> Option<(String, usize)> {
    let first = chunk.first().filter(|record| record[0] == StringRecord::ID)?;
    let first = StringRecord::read(&from_bytes(first));
    let size = usize::from(first.size);
    let used = 1 + size.saturating_sub(28).div_ceil(31);
    let mut bytes = first.string.to_vec();
    for record in chunk.get(1..used)? {
        if record[0] != StringContinuation::ID {
            return None;
        }
        bytes.extend_from_slice(&record[1..]);
    }
    bytes.truncate(size);
    let comment = String::from_utf8(bytes).ok().filter(|text| !text.starts_with(gap::MARK))?;
    Some((comment, used))
}

/// The first record, or less where the stream ends before.
fn read_start(stream: &mut dyn Read) -> Result<Vec<u8>> {
    let mut start = Vec::with_capacity(RECORD);
    stream.take(RECORD as u64).read_to_end(&mut start)?;
    Ok(start)
}

fn read_header(start: &[u8]) -> Result<Header> {
    let at = |kind: ErrorKind, field| kind.at(0, "Header", field, "ASTF 4.2");
    let mut bytes = [0; RECORD];
    let have = start.len().min(RECORD);
    bytes[..have].copy_from_slice(&start[..have]);
    let words = from_bytes(&bytes);
    let magic = &bytes[..have.min(4)];
    if !crate::MAGIC.starts_with(magic) {
        return Err(at(ErrorKind::Illegal { found: words[0] & 0xffff_ffff }, "magic_header"));
    }
    if have < RECORD {
        return Err(at(ErrorKind::Truncated, ""));
    }
    Ok(Header::read(&words))
}
