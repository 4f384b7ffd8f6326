//! Inlined functions and discriminators, from DWARF.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use gimli::{AttributeValue, DwAt, Reader as _, UnitRef};

/// The bytes of debug sections.
pub(crate) type Reader = gimli::EndianArcSlice<gimli::RunTimeEndian>;
type Entry = gimli::DebuggingInformationEntry<Reader>;

/// A function of the source that an instruction belongs to: compiled there, or inlined there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its name for the linker, else for the source; empty where the file has none.
    pub name: Arc<str>,
    /// The line that declares it; 0 where the file does not say.
    pub first: u32,
    /// The line of the instruction, or of the inlined call; 0 where the compiler names no line.
    pub line: u32,
    /// Which of the blocks of that line.
    pub discriminator: u32,
    /// Times that the compiler copied the code (unrolled loops); each copy has its share of the passes.
    pub copies: u32,
}

/// Inlined calls deeper than this belong to the innermost that is kept.
const DEEPEST: u32 = 64;
/// Ranges of code that are kept of a unit: a list can be named by any number of entries.
const RANGES: usize = 1 << 22;
/// Longer names are cut.
const LONGEST_NAME: usize = 1 << 16;
/// Links from an entry to the one that has its name.
const ORIGINS: u32 = 8;

/// A function, or a copy of one that is inlined.
#[derive(Debug)]
struct Scope {
    name: Arc<str>,
    first: u32,
    /// Line and discriminator of the inlined call.
    call: (u32, u32),
    parent: Option<u32>,
    depth: u32,
}

/// The functions and lines of a unit.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    scopes: Vec<Scope>,
    /// Code with its innermost scope, in order of address without overlap.
    code: Vec<(u64, u64, u32)>,
    /// Code with its line and discriminator, in order of address.
    rows: Vec<(u64, u64, u32, u32)>,
    /// Discriminators are those of LLVM, which packs several numbers into one.
    packed: bool,
}

/// Facts of a function, from its entry or those that it refers to.
#[derive(Clone, Debug, Default)]
struct Identity {
    linkage: Option<Arc<str>>,
    name: Option<Arc<str>>,
    first: u32,
}

/// Names met while a unit is read.
#[derive(Default)]
struct Names {
    all: HashSet<Arc<str>>,
    origins: HashMap<usize, Identity>,
    /// Headers of all units by offset, once an entry refers to another unit.
    units: Option<BTreeMap<usize, gimli::UnitHeader<Reader>>>,
}

impl Scopes {
    /// Reads a unit, as far as it is not damaged.
    pub(crate) fn read(unit: UnitRef<'_, Reader>) -> Self {
        let mut found = Scopes { rows: rows(unit), ..Scopes::default() };
        let mut ranges = Vec::new();
        let mut names = Names::default();
        // Functions around the entry, with the depth of their entries.
        let mut around: Vec<(isize, u32)> = Vec::new();
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            let inlined = match entry.tag() {
                gimli::DW_TAG_subprogram => false,
                gimli::DW_TAG_inlined_subroutine => true,
                gimli::DW_TAG_compile_unit => {
                    let producer = entry.attr_value(gimli::DW_AT_producer);
                    let producer = producer.and_then(|value| unit.attr_string(value).ok());
                    found.packed =
                        producer.is_some_and(|text| text.to_string_lossy().is_ok_and(|text| is_llvm(&text)));
                    continue;
                }
                _ => continue,
            };
            while around.pop_if(|(depth, _)| *depth >= entry.depth()).is_some() {}
            let parent = around.last().map(|(_, scope)| *scope).filter(|_| inlined);
            let depth = parent.map_or(0, |parent| found.scopes[parent as usize].depth + 1);
            if depth > DEEPEST {
                continue;
            }
            let Ok(mut list) = unit.die_ranges(entry) else { continue };
            let (number, before) = (found.scopes.len() as u32, ranges.len());
            while let Ok(Some(range)) = list.next()
                && ranges.len() < RANGES
            {
                if range.begin < range.end {
                    ranges.push((range.begin, range.end, number));
                }
            }
            if ranges.len() == before {
                continue;
            }
            let Identity { linkage, name, first } = names.identify(unit, entry, ORIGINS);
            let name = linkage.or(name).unwrap_or_default();
            let number_of = |at: DwAt| entry.attr(at).and_then(gimli::Attribute::udata_value).unwrap_or(0);
            let call =
                (number_of(gimli::DW_AT_call_line) as u32, number_of(gimli::DW_AT_GNU_discriminator) as u32);
            found.scopes.push(Scope { name, first, call, parent, depth });
            around.push((entry.depth(), number));
        }
        found.code = flatten(ranges);
        found
    }

    /// The functions that the instruction at `pc` belongs to, the innermost first. Where no function is known there is
    /// one without a name; where no line is known there are none.
    pub(crate) fn at(&self, pc: u64) -> Vec<Frame> {
        let row = self.rows.partition_point(|(start, ..)| *start <= pc).checked_sub(1);
        let Some((.., line, discriminator)) = row.map(|row| self.rows[row]).filter(|(_, end, ..)| pc < *end)
        else {
            return Vec::new();
        };
        let code = self.code.partition_point(|(start, ..)| *start <= pc).checked_sub(1);
        let mut scope = code.map(|code| self.code[code]).filter(|(_, end, _)| pc < *end).map(|(.., n)| n);
        let mut frames = Vec::new();
        let mut place = (line, discriminator);
        while let Some(Scope { name, first, call, parent, .. }) =
            scope.and_then(|n| self.scopes.get(n as usize))
        {
            frames.push(self.frame(Arc::clone(name), *first, place));
            (place, scope) = (*call, *parent);
        }
        if frames.is_empty() {
            frames.push(self.frame(Arc::default(), 0, place));
        }
        frames
    }

    fn frame(&self, name: Arc<str>, first: u32, (line, discriminator): (u32, u32)) -> Frame {
        let (discriminator, copies) = if self.packed { unpack(discriminator) } else { (discriminator, 1) };
        Frame { name, first, line, discriminator, copies }
    }
}

impl Names {
    fn text(&mut self, unit: UnitRef<'_, Reader>, entry: &Entry, at: DwAt) -> Option<Arc<str>> {
        let text = unit.attr_string(entry.attr_value(at)?).ok()?;
        let text = text.to_string_lossy().ok()?;
        let text = &text[..text.floor_char_boundary(LONGEST_NAME)];
        if let Some(known) = self.all.get(text) {
            return Some(Arc::clone(known));
        }
        let text: Arc<str> = text.into();
        self.all.insert(Arc::clone(&text));
        Some(text)
    }

    /// The value of an entry, or else of the one that it refers to.
    fn identify(&mut self, unit: UnitRef<'_, Reader>, entry: &Entry, left: u32) -> Identity {
        let linkage = self.text(unit, entry, gimli::DW_AT_linkage_name);
        let linkage = linkage.or_else(|| self.text(unit, entry, gimli::DW_AT_MIPS_linkage_name));
        let name = self.text(unit, entry, gimli::DW_AT_name);
        let first = entry.attr(gimli::DW_AT_decl_line).and_then(gimli::Attribute::udata_value);
        let origin = entry.attr_value(gimli::DW_AT_abstract_origin);
        let origin = origin.or_else(|| entry.attr_value(gimli::DW_AT_specification));
        let other = origin.filter(|_| left > 0).and_then(|origin| self.origin(unit, origin, left - 1));
        let other = other.unwrap_or_default();
        Identity {
            linkage: linkage.or(other.linkage),
            name: name.or(other.name),
            first: first.map_or(other.first, |line| line as u32),
        }
    }

    fn origin(
        &mut self,
        unit: UnitRef<'_, Reader>,
        origin: AttributeValue<Reader>,
        left: u32,
    ) -> Option<Identity> {
        let start = unit.header.debug_info_offset()?.0;
        let offset = match origin {
            AttributeValue::UnitRef(offset) => start.checked_add(offset.0)?,
            AttributeValue::DebugInfoRef(offset) => offset.0,
            _ => return None,
        };
        if let Some(known) = self.origins.get(&offset) {
            return Some(known.clone());
        }
        let identity = match origin {
            AttributeValue::UnitRef(offset) => {
                let entry = unit.entry(offset).ok()?;
                self.identify(unit, &entry, left)
            }
            _ => {
                let units = self.units.get_or_insert_with(|| headers(unit.dwarf));
                let (start, header) = units.range(..=offset).next_back()?;
                let (start, other) = (*start, unit.dwarf.unit(header.clone()).ok()?);
                let entry = other.entry(gimli::UnitOffset(offset - start)).ok()?;
                self.identify(other.unit_ref(unit.dwarf), &entry, left)
            }
        };
        self.origins.insert(offset, identity.clone());
        Some(identity)
    }
}

fn headers(dwarf: &gimli::Dwarf<Reader>) -> BTreeMap<usize, gimli::UnitHeader<Reader>> {
    let mut headers = BTreeMap::new();
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        if let Some(offset) = header.debug_info_offset() {
            headers.insert(offset.0, header);
        }
    }
    headers
}

/// The rows of the line table: from, to, line, discriminator.
fn rows(unit: UnitRef<'_, Reader>) -> Vec<(u64, u64, u32, u32)> {
    let mut list = Vec::new();
    let Some(program) = unit.line_program.clone() else { return list };
    let mut rows = program.rows();
    let mut last: Option<(u64, u32, u32)> = None;
    while let Ok(Some((_, row))) = rows.next_row() {
        if let Some((start, line, discriminator)) = last.take().filter(|(start, ..)| row.address() > *start) {
            list.push((start, row.address(), line, discriminator));
        }
        if !row.end_sequence() {
            let line = row.line().map_or(0, |line| line.get() as u32);
            last = Some((row.address(), line, row.discriminator() as u32));
        }
    }
    list.sort_by_key(|(start, ..)| *start);
    list
}

/// Ranges that lie in each other become ranges without overlap, each of the innermost one there.
fn flatten(mut ranges: Vec<(u64, u64, u32)>) -> Vec<(u64, u64, u32)> {
    // An inner scope has a greater number.
    ranges.sort_by_key(|(start, end, scope)| (*start, std::cmp::Reverse(*end), *scope));
    let mut flat = Vec::new();
    let mut open: Vec<(u64, u32)> = Vec::new();
    let mut at = 0;
    let mut close = |open: &mut Vec<(u64, u32)>, at: &mut u64, until: u64| {
        while let Some((end, scope)) = open.pop_if(|(end, _)| *end <= until) {
            if *at < end {
                flat.push((*at, end, scope));
                *at = end;
            }
        }
        if let Some((_, scope)) = open.last().filter(|_| *at < until) {
            flat.push((*at, until, *scope));
        }
        *at = until.max(*at);
    };
    for (start, end, scope) in ranges {
        close(&mut open, &mut at, start);
        let end = open.last().map_or(end, |(outer, _)| end.min(*outer));
        open.push((end, scope));
    }
    close(&mut open, &mut at, u64::MAX);
    flat
}

fn is_llvm(producer: &str) -> bool {
    ["clang", "LLVM", "rustc", "flang", "swift", "Swift"].iter().any(|name| producer.contains(name))
}

/// The base discriminator and the number of copies (LLVM's `DILocation`, "prefix encoding").
fn unpack(discriminator: u32) -> (u32, u32) {
    let number = |bits: u32| match bits >> 1 {
        _ if bits & 1 == 1 => 0,
        long if long & 0x20 != 0 => long >> 1 & 0xfe0 | long & 0x1f,
        short => short & 0x1f,
    };
    let next = |bits: u32| match bits {
        bits if bits & 1 == 1 => bits >> 1,
        bits if bits & 0x40 != 0 => bits >> 14,
        bits => bits >> 7,
    };
    (number(discriminator), number(next(discriminator)).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_scope_of_an_address() {
        let flat = flatten(vec![(0, 100, 0), (10, 50, 1), (10, 20, 2), (60, 200, 3), (300, 310, 4)]);
        let expected = [
            (0, 10, 0),
            (10, 20, 2),
            (20, 50, 1),
            (50, 60, 0),
            // It cannot leave the scope around it.
            (60, 100, 3),
            (300, 310, 4),
        ];
        assert_eq!(flat, expected);
    }

    #[test]
    fn discriminators_of_llvm() {
        // Base 3; base 1 copied twice; no base, copied 4 times; base 40 in the long form.
        assert_eq!(unpack(3 << 1), (3, 1));
        assert_eq!(unpack(1 << 1 | 2 << 8), (1, 2));
        assert_eq!(unpack(1 | (4 << 1) << 1), (0, 4));
        assert_eq!(unpack((8 | 0x20 | (40 & 0xfe0) << 1) << 1), (40, 1));
        assert_eq!(unpack(0), (0, 1));
    }
}
