//! Source lines, from DWARF.

use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use object::read::{CompressedData, CompressionFormat, Object, ObjectSection};

use crate::elf::{damaged, parse};
use crate::error::Error;
use crate::inlined::{Frame, Reader, Scopes};

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The file, as the compiler named it.
    pub file: String,
    /// Counted from 1; 0 where the compiler names no line.
    pub line: u32,
    /// Counted from 1; 0 where the compiler names no column.
    pub column: u32,
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The source lines of a file. Units are read as they are asked for.
pub struct Lines {
    context: Mutex<addr2line::Context<Reader>>,
    /// Inlined functions of the units that were asked for, by offset.
    scopes: Mutex<HashMap<usize, Scopes>>,
    bias: u64,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lines(bias {:#x})", self.bias)
    }
}

impl Lines {
    /// Reads the debug sections of an ELF file loaded with `bias`. A file without them has no lines; that
    /// is not an error; damaged ones are.
    pub fn read(bytes: &[u8], bias: u64) -> Result<Self, Error> {
        let file = parse(bytes)?;
        let endian =
            if file.is_little_endian() { gimli::RunTimeEndian::Little } else { gimli::RunTimeEndian::Big };
        let load = |id: gimli::SectionId| -> Result<Reader, Error> {
            let data = match file.section_by_name(id.name()) {
                Some(section) => decompress(&section.compressed_data().map_err(damaged)?)?,
                None => Arc::from([]),
            };
            Ok(Reader::new(data, endian))
        };
        let dwarf = gimli::Dwarf::load(load)?;
        let context = addr2line::Context::from_dwarf(dwarf);
        let context = context.map_err(|error| Error::Dwarf(error.to_string()))?;
        Ok(Lines { context: Mutex::new(context), scopes: Mutex::default(), bias })
    }

    fn context(&self) -> MutexGuard<'_, addr2line::Context<Reader>> {
        self.context.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The functions of the source that the instruction at `pc` belongs to, the innermost first; none where the file
    /// does not say. Where only the line is known there is one without a name.
    pub fn frames(&self, pc: u64) -> Vec<Frame> {
        let pc = pc.wrapping_sub(self.bias);
        let context = self.context();
        let Some(unit) = context.find_dwarf_and_unit(pc).skip_all_loads() else { return Vec::new() };
        let Some(offset) = unit.header.debug_info_offset() else { return Vec::new() };
        let mut scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        scopes.entry(offset.0).or_insert_with(|| Scopes::read(unit)).at(pc)
    }

    /// The line of the instruction at `pc`; `None` where the file does not say, or says it in a damaged way.
    pub fn at(&self, pc: u64) -> Option<Line> {
        let context = self.context();
        let place = context.find_location(pc.wrapping_sub(self.bias)).ok()??;
        Some(Line {
            file: place.file?.to_string(),
            line: place.line.unwrap_or(0),
            column: place.column.unwrap_or(0),
        })
    }

    /// All code that has a line, in order of address.
    pub fn all(&self) -> Vec<(Range<u64>, Line)> {
        let context = self.context();
        let Ok(places) = context.find_location_range(0, u64::MAX) else { return Vec::new() };
        let mut all: Vec<(Range<u64>, Line)> = places
            .filter_map(|(start, length, place)| {
                let start = start.wrapping_add(self.bias);
                let line = Line {
                    file: place.file?.to_string(),
                    line: place.line.unwrap_or(0),
                    column: place.column.unwrap_or(0),
                };
                Some((start..start.saturating_add(length), line))
            })
            .collect();
        all.sort_by_key(|(range, _)| range.start);
        all
    }

    /// The code of a line, in order of address. `file` is the whole path or its last parts.
    pub fn code_of(&self, file: &str, line: u32) -> Vec<Range<u64>> {
        let context = self.context();
        let Ok(places) = context.find_location_range(0, u64::MAX) else { return Vec::new() };
        let is_it = |name: &str| {
            name.strip_suffix(file).is_some_and(|folder| folder.is_empty() || folder.ends_with(['/', '\\']))
        };
        let mut code: Vec<Range<u64>> = places
            .filter(|(_, _, place)| place.line == Some(line) && place.file.is_some_and(is_it))
            .map(|(start, length, _)| {
                let start = start.wrapping_add(self.bias);
                start..start.saturating_add(length)
            })
            .collect();
        code.sort_by_key(|range| range.start);
        code
    }
}

/// The bytes of a section. The size that the file claims allocates nothing.
fn decompress(section: &CompressedData<'_>) -> Result<Arc<[u8]>, Error> {
    let mut bytes = Vec::new();
    let limit = section.uncompressed_size;
    let done = match section.format {
        CompressionFormat::None => return Ok(Arc::from(section.data)),
        CompressionFormat::Zlib => {
            flate2::read::ZlibDecoder::new(section.data).take(limit).read_to_end(&mut bytes)
        }
        CompressionFormat::Zstandard => zstd::stream::read::Decoder::new(section.data)
            .and_then(|decoder| decoder.take(limit).read_to_end(&mut bytes)),
        _ => return Err(Error::Dwarf("unknown compression of a debug section".into())),
    };
    done.map_err(|error| Error::Dwarf(format!("compressed debug section: {error}")))?;
    Ok(Arc::from(bytes))
}
