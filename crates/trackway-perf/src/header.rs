//! The header of a recording, its attributes and its feature sections.

use std::ops::Range;

use trackway_core::{Error, ErrorKind, Result, SharedBytes};

use crate::fields::{Fields, Order};

/// The first bytes of a little-endian and of a big-endian recording.
const LITTLE: &[u8] = b"PERFILE2";
const BIG: &[u8] = b"2ELIFREP";

/// Feature sections that are read (`HEADER_*`; the last is simpleperf's).
pub(crate) const BUILD_ID: u8 = 2;
pub(crate) const OS_RELEASE: u8 = 4;
pub(crate) const ARCH: u8 = 6;
pub(crate) const VERSION: u8 = 5;
pub(crate) const CMDLINE: u8 = 11;
pub(crate) const SIMPLEPERF_FILE2: u8 = 132;

/// The largest number of events that is believed.
const MOST_ATTRS: usize = 1 << 16;

/// How the fields of an event (`perf_event_attr`) say to read its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attr {
    /// The PMU.
    pub(crate) pmu: u32,
    pub(crate) sample_type: u64,
    /// Records other than samples end with the fields of `sample_type`.
    pub(crate) sample_id_all: bool,
    pub(crate) ids: Vec<u64>,
}

impl Attr {
    /// Reads an attribute; `length` includes what follows it.
    pub(crate) fn read(fields: &mut Fields<'_>, order: Order, length: usize) -> Result<Self> {
        let bytes = fields.take(length, "attr")?;
        let mut fields = Fields::new(bytes, fields.offset() - length as u64, order, "attribute");
        let pmu = fields.u32("type")?;
        fields.u32("size")?;
        fields.take(16, "config")?;
        let sample_type = fields.u64("sample_type")?;
        fields.u64("read_format")?;
        let flags = fields.u64("flags")?;
        // Bit fields begin at the other end of a big-endian word.
        let flags = if order == Order::Big { flags.reverse_bits() } else { flags };
        Ok(Attr { pmu, sample_type, sample_id_all: flags >> 18 & 1 == 1, ids: Vec::new() })
    }
}

/// The header of a recording.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) order: Order,
    /// It was written to a pipe: attributes and features are records.
    pub(crate) pipe: bool,
    pub(crate) attrs: Vec<Attr>,
    /// Where the records are.
    pub(crate) data: Range<u64>,
    /// The feature sections, by number.
    pub(crate) features: Vec<(u8, Range<u64>)>,
    /// The recorder did not come to its end: the header does not say how long the data is.
    pub(crate) killed: bool,
    /// The first thing that is wrong, if records can be read all the same.
    pub(crate) error: Option<Error>,
}

/// Does a file start like a recording?
pub(crate) fn is_recording(head: &[u8]) -> bool {
    head.starts_with(LITTLE) || head.starts_with(BIG)
}

impl Header {
    pub(crate) fn read(file: &SharedBytes) -> Result<Self> {
        let bytes = (**file).as_ref();
        let end = bytes.len() as u64;
        let order = if bytes.starts_with(BIG) { Order::Big } else { Order::Little };
        if !is_recording(bytes) {
            let kind = if LITTLE.starts_with(bytes) { ErrorKind::Truncated } else { ErrorKind::Missing };
            return Err(kind.at(0, "header", "magic", ""));
        }
        let mut fields = Fields::new(bytes, 0, order, "header");
        fields.take(8, "magic")?;
        let size = fields.u64("size")?;
        let mut header = Header {
            order,
            pipe: size == 16,
            attrs: Vec::new(),
            data: 16..end,
            features: Vec::new(),
            killed: false,
            error: None,
        };
        if header.pipe {
            return Ok(header);
        }
        let attr_size = fields.u64("attr_size")?;
        let attrs = section(&mut fields, "attrs.offset", "attrs.size")?;
        let data_at = fields.offset();
        let data = section(&mut fields, "data.offset", "data.size")?;
        section(&mut fields, "event_types.offset", "event_types.size")?;
        let mut flags = [0; 4];
        for word in &mut flags {
            *word = fields.u64("flags")?;
        }
        header.killed = data.is_empty();
        header.data = if header.killed { data.start..end } else { data.clone() };
        if header.data.end > end {
            let kind = ErrorKind::Truncated;
            header.error = Some(kind.at(end, "data section", "", ""));
            header.data.end = end;
        }
        if header.data.start < size || header.data.start > end {
            let kind = ErrorKind::Illegal { found: header.data.start };
            return Err(kind.at(data_at, "header", "data.offset", ""));
        }
        if let Err(error) = header.read_attrs(bytes, attr_size, attrs) {
            header.error.get_or_insert(error);
        }
        // Feature sections follow the data; a recorder that was killed wrote none.
        if !header.killed && data.end <= end {
            header.read_features(bytes, data.end, flags);
        }
        Ok(header)
    }

    fn read_attrs(&mut self, bytes: &[u8], size: u64, section: Range<u64>) -> Result<()> {
        let order = self.order;
        let wrong = |found, field| ErrorKind::Illegal { found }.at(16, "header", field, "");
        let length = usize::try_from(size).ok().filter(|size| (64..=4096).contains(size));
        let length = length.ok_or_else(|| wrong(size, "attr_size"))?;
        let all = slice(bytes, &section)
            .ok_or_else(|| ErrorKind::Truncated.at(section.start, "attribute", "", ""))?;
        let mut fields = Fields::new(all, section.start, order, "attribute");
        for _ in 0..(all.len() / length).min(MOST_ATTRS) {
            let mut attr = Attr::read(&mut fields, order, length - 16)?;
            let at = fields.offset();
            let ids = self::section(&mut fields, "ids.offset", "ids.size")?;
            let found =
                slice(bytes, &ids).ok_or_else(|| ErrorKind::Truncated.at(at, "attribute", "ids", ""))?;
            let mut words = Fields::new(found, ids.start, order, "attribute");
            attr.ids = (0..found.len() / 8).map_while(|_| words.u64("id").ok()).collect();
            self.attrs.push(attr);
        }
        Ok(())
    }

    fn read_features(&mut self, bytes: &[u8], at: u64, flags: [u64; 4]) {
        let table = bytes.get(at as usize..).unwrap_or_default();
        let mut fields = Fields::new(table, at, self.order, "feature table");
        for bit in 0..=255u8 {
            if flags[usize::from(bit / 64)] >> (bit % 64) & 1 == 0 {
                continue;
            }
            match section(&mut fields, "offset", "size") {
                Ok(range) => {
                    if range.end > bytes.len() as u64 {
                        let cut = ErrorKind::Truncated.at(range.start, "feature section", "", "");
                        self.error.get_or_insert(cut);
                    }
                    self.features.push((bit, range));
                }
                Err(error) => {
                    self.error.get_or_insert(error);
                    return;
                }
            }
        }
    }

    /// The bytes of a feature section.
    pub(crate) fn feature<'f>(&self, bytes: &'f [u8], number: u8) -> Option<&'f [u8]> {
        let (_, range) = self.features.iter().find(|(bit, _)| *bit == number)?;
        slice(bytes, range)
    }

    /// The text of a feature section (`perf_header_string`).
    pub(crate) fn text(&self, bytes: &[u8], number: u8) -> Option<String> {
        let mut fields = Fields::new(self.feature(bytes, number)?, 0, self.order, "feature");
        let length = fields.u32("len").ok()?;
        Some(fields.text(length as usize)).filter(|text| !text.is_empty())
    }

    /// The texts of a feature section (`perf_header_string_list`).
    pub(crate) fn texts(&self, bytes: &[u8], number: u8) -> Vec<String> {
        let mut texts = Vec::new();
        let Some(section) = self.feature(bytes, number) else { return texts };
        let mut fields = Fields::new(section, 0, self.order, "feature");
        let count = fields.u32("nr").unwrap_or(0);
        for _ in 0..count {
            let Ok(length) = fields.u32("len") else { break };
            let text = fields.text(length as usize);
            if fields.take(length as usize, "string").is_err() {
                break;
            }
            texts.push(text);
        }
        texts
    }
}

/// A section of the file: its offset and size.
fn section(fields: &mut Fields<'_>, offset: &'static str, size: &'static str) -> Result<Range<u64>> {
    let start = fields.u64(offset)?;
    let here = *fields;
    let size_of = fields.u64(size)?;
    let end = start.checked_add(size_of);
    let end = end.ok_or_else(|| here.fail(ErrorKind::Illegal { found: size_of }, size))?;
    Ok(start..end)
}

/// The bytes of a range of the file, if they are all there.
pub(crate) fn slice<'f>(bytes: &'f [u8], range: &Range<u64>) -> Option<&'f [u8]> {
    bytes.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}
