//! The program that ran: files and dumps, laid over each other, as each context sees them.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use trackway_core::{Context, Isa, SharedBytes};

use crate::blocks::Blocks;
use crate::elf::Elf;
use crate::error::Error;
use crate::files::Files;
use crate::inlined::Frame;
use crate::lines::{Line, Lines};
use crate::memory::{Memory, Segment};
use crate::module::{Module, link};
use crate::space::Space;
use crate::symbols::{Mapping, Symbol, Symbols};
use crate::waypoints::Waypoints;

/// A file or dump that was added.
#[derive(Clone)]
pub struct Part {
    /// The path, or the name that the caller chose.
    pub name: String,
    /// The contexts that see it.
    pub space: Space,
    /// Its headers, if it is an ELF file.
    pub elf: Option<Elf>,
    /// The segments that it loads.
    pub segments: Vec<Segment>,
    /// The whole file or dump.
    pub file: SharedBytes,
    /// A file with its symbols and lines, if it is another.
    debug: Option<SharedBytes>,
    /// Read when first asked for.
    symbols: OnceLock<Arc<Symbols>>,
    lines: OnceLock<Option<Arc<Lines>>>,
}

impl Part {
    /// Its symbols; none for a dump, and for a file whose symbol table is damaged.
    pub fn symbols(&self) -> &Symbols {
        self.symbols.get_or_init(|| {
            let file = self.debug.as_ref().unwrap_or(&self.file);
            let read = |elf: &Elf| Symbols::read((**file).as_ref(), elf.bias).ok();
            Arc::new(self.elf.as_ref().and_then(read).unwrap_or_default())
        })
    }

    /// Its source lines; `None` for a dump, and for a file whose debug sections are damaged.
    pub fn lines(&self) -> Option<&Lines> {
        let file = self.debug.as_ref().unwrap_or(&self.file);
        let read = |elf: &Elf| Lines::read((**file).as_ref(), elf.bias).ok().map(Arc::new);
        self.lines.get_or_init(|| self.elf.as_ref().and_then(read)).as_deref()
    }

    /// Identity of the program: the build id of an ELF file, else a hash of the bytes that it loads.
    pub fn identity(&self) -> String {
        if let Some(id) = self.elf.as_ref().and_then(Elf::build_id) {
            return format!("build-id {}", id.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        }
        // FNV-1a, 64 bits.
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for segment in &self.segments {
            let bias = self.elf.as_ref().map_or(0, |elf| elf.bias);
            let address = segment.address.wrapping_sub(bias).to_le_bytes();
            for byte in address.iter().chain(segment.bytes()) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
            }
        }
        format!("hash {hash:016x}")
    }

    /// Is it the same program at the same place?
    pub fn is_same(&self, other: &Part) -> bool {
        let start = |part: &Part| part.segments.first().map(|segment| segment.address);
        let build_id = |part: &Part| part.elf.as_ref().and_then(Elf::build_id);
        let same =
            |(one, two): (&Segment, &Segment)| one.address == two.address && one.bytes() == two.bytes();
        start(self) == start(other)
            && match (build_id(self), build_id(other)) {
                (None, None) => {
                    self.segments.len() == other.segments.len()
                        && self.segments.iter().zip(&other.segments).all(same)
                }
                (one, two) => one == two,
            }
    }

    /// Does it load something to `address`? Zeros after the file's bytes count.
    fn covers(&self, address: u64) -> bool {
        self.segments.iter().any(|segment| {
            let length = (segment.bytes().len() as u64).saturating_add(segment.zeros());
            address.wrapping_sub(segment.address) < length
        })
    }
}

impl std::fmt::Debug for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Part({}, {:?})", self.name, self.segments)
    }
}

/// The program that ran.
///
/// ```
/// use std::sync::Arc;
/// use trackway_core::{Context, Privilege};
/// use trackway_image::{Image, Space};
///
/// let mut image = Image::default();
/// image.add_raw("rom", 0x1000, Arc::new([1, 2, 3, 4]), Space::default())?;
/// let machine = Space { privileges: vec![Privilege::M], ..Space::default() };
/// image.add_raw("overlay", 0x1002, Arc::new([9, 9]), machine)?;
///
/// let user = Context { privilege: Some(Privilege::U), ..Context::default() };
/// assert_eq!(image.memory(&user).word(0x1000), Some(0x0403_0201));
/// let machine = Context { privilege: Some(Privilege::M), ..Context::default() };
/// assert_eq!(image.memory(&machine).word(0x1000), Some(0x0909_0201));
/// assert_eq!(image.memory(&machine).word(0x1001), None); // its last byte is outside
/// # Ok::<(), trackway_image::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Image {
    parts: Vec<Part>,
    files: Files,
    /// Views made so far, by which parts they show.
    views: Mutex<HashMap<Box<[bool]>, Arc<View>>>,
}

/// Memory as some contexts see it, and the block tables over it.
#[derive(Debug)]
struct View {
    memory: Arc<Memory>,
    blocks: Mutex<HashMap<(Isa, Waypoints), Arc<Blocks>>>,
}

impl Image {
    /// An empty one that opens files from these.
    pub fn of_files(files: Files) -> Self {
        Image { files, ..Image::default() }
    }

    /// Adds an ELF file, moved to `address` if one is given.
    pub fn add_elf(
        &mut self,
        name: &str,
        bytes: SharedBytes,
        address: Option<u64>,
        space: Space,
    ) -> Result<(), Error> {
        let elf = Elf::read(&bytes, address)?;
        let mut segments = elf.segments.clone();
        if segments.iter().all(|segment| segment.bytes().is_empty()) {
            return Err(Error::Empty);
        }
        check_overlap(&segments)?;
        // Where nothing is marked executable the marks mean nothing.
        if !segments.iter().any(|segment| segment.executable) {
            segments.iter_mut().for_each(|segment| segment.executable = true);
        }
        self.add(name, space, Some(elf), segments, bytes);
        Ok(())
    }

    /// Adds a module of an AArch64 kernel, an object file, where the kernel loaded it.
    pub fn add_module(&mut self, name: &str, bytes: &SharedBytes, place: Module) -> Result<(), Error> {
        self.add_elf(name, Arc::new(link(bytes, place)?), None, Space::default())
    }

    /// Symbols and lines of the part added last come from another file of the same build.
    pub fn set_debug(&mut self, file: SharedBytes) {
        if let Some(part) = self.parts.last_mut() {
            part.debug = Some(file);
        }
    }

    /// Adds raw bytes at an address.
    pub fn add_raw(
        &mut self,
        name: &str,
        address: u64,
        bytes: SharedBytes,
        space: Space,
    ) -> Result<(), Error> {
        let segments = vec![Segment::new(address, bytes.clone())?];
        self.add(name, space, None, segments, bytes);
        Ok(())
    }

    /// Adds the file that an `--elf PATH[@ADDR]` names.
    pub fn open_elf(&mut self, spec: &str) -> Result<(), Error> {
        let (path, address) = read_spec(spec)?;
        let bytes = self.files.read(&path)?;
        self.add_elf(spec, bytes, address, Space::default()).map_err(|error| error.of(spec))
    }

    /// Adds the file that an `--image PATH@ADDR` names.
    pub fn open_raw(&mut self, spec: &str) -> Result<(), Error> {
        let (path, address) = read_spec(spec)?;
        let address = address.ok_or_else(|| Error::NoAddress(spec.to_string()))?;
        let bytes = self.files.read(&path)?;
        self.add_raw(spec, address, bytes, Space::default()).map_err(|error| error.of(spec))
    }

    fn add(&mut self, name: &str, space: Space, elf: Option<Elf>, segments: Vec<Segment>, file: SharedBytes) {
        let (name, symbols, lines) = (name.to_string(), OnceLock::new(), OnceLock::new());
        self.parts.push(Part { name, space, elf, segments, file, debug: None, symbols, lines });
        self.views.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The parts, in the order they were added.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Is there nothing in it?
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The instruction set of the first ELF file that says one.
    pub fn isa(&self) -> Option<Isa> {
        self.parts.iter().filter_map(|part| part.elf.as_ref()).map(|elf| elf.isa).next()
    }

    /// The part with symbols that `pc` lies in, the last added first: a memory dump may lie over the file that it is of.
    fn part_at(&self, pc: u64) -> Option<&Part> {
        let has_symbols = |part: &Part| part.elf.is_some() || part.debug.is_some();
        self.parts.iter().rev().find(|part| has_symbols(part) && part.covers(pc))
    }

    /// The symbol that `pc` is in, and how far.
    pub fn symbol(&self, pc: u64) -> Option<(&Symbol, u64)> {
        self.part_at(pc)?.symbols().at(pc)
    }

    /// The function that `pc` is in and how far, for people: `main+0x1c`, or `main` at its start.
    pub fn place(&self, pc: u64) -> Option<String> {
        let (symbol, offset) = self.symbol(pc)?;
        let name = symbol.demangled();
        Some(if offset == 0 { name.into_owned() } else { format!("{name}+{offset:#x}") })
    }

    /// The symbol of this name, as in the file or demangled; the file added last wins.
    pub fn named(&self, name: &str) -> Option<&Symbol> {
        self.parts.iter().rev().find_map(|part| part.symbols().named(name))
    }

    /// The addresses of the function of this name. One whose size the file does not say reaches to the next symbol, or to
    /// the end of its segment.
    pub fn function(&self, name: &str) -> Option<Range<u64>> {
        let mut parts = self.parts.iter().rev();
        let (part, symbol) = parts.find_map(|part| Some((part, part.symbols().named(name)?)))?;
        let start = symbol.address;
        let size = match symbol.size {
            0 => {
                let symbols = part.symbols().all();
                let next = symbols.get(symbols.partition_point(|other| other.address <= start));
                let lengths =
                    part.segments.iter().map(|segment| (segment, start.wrapping_sub(segment.address)));
                let left = lengths.filter_map(|(segment, at)| (segment.bytes().len() as u64).checked_sub(at));
                next.map(|next| next.address - start).into_iter().chain(left.filter(|left| *left > 0)).min()
            }
            size => Some(size),
        };
        Some(start..start.saturating_add(size.unwrap_or(1)))
    }

    /// The source line of the instruction at `pc`.
    pub fn line(&self, pc: u64) -> Option<Line> {
        self.part_at(pc)?.lines()?.at(pc)
    }

    /// The functions of the source that the instruction at `pc` belongs to: the innermost of those inlined there first.
    pub fn frames(&self, pc: u64) -> Vec<Frame> {
        self.part_at(pc).and_then(Part::lines).map_or_else(Vec::new, |lines| lines.frames(pc))
    }

    /// The code of a source line. `file` is the whole path, as the compiler named it, or its last parts.
    pub fn code_of(&self, file: &str, line: u32) -> Vec<Range<u64>> {
        let lines = self.parts.iter().filter_map(Part::lines);
        lines.flat_map(|lines| lines.code_of(file, line)).collect()
    }

    /// Code or data at `pc`, where the file says.
    pub fn mapping(&self, pc: u64) -> Option<Mapping> {
        self.part_at(pc)?.symbols().mapping(pc)
    }

    /// Does every context see the same of it?
    pub fn is_everywhere(&self) -> bool {
        self.parts.iter().all(|part| part.space.is_everywhere())
    }

    /// Memory as `context` sees it. Asking costs a lock; ask when the context changes, not per instruction.
    pub fn memory(&self, context: &Context) -> Arc<Memory> {
        Arc::clone(&self.view(context).memory)
    }

    /// The block table for `context`, shared with everyone who asks for the same. Asking costs a lock; ask
    /// when the context changes, then follow with a [`Cursor`](crate::Cursor).
    pub fn blocks(&self, context: &Context, isa: Isa, waypoints: Waypoints) -> Arc<Blocks> {
        let view = self.view(context);
        let mut blocks = view.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || Arc::new(Blocks::new(Arc::clone(&view.memory), isa, waypoints));
        Arc::clone(blocks.entry((isa, waypoints)).or_insert_with(made))
    }

    fn view(&self, context: &Context) -> Arc<View> {
        let seen: Box<[bool]> = self.parts.iter().map(|part| part.space.matches(context)).collect();
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(view) = views.get(&seen) {
            return Arc::clone(view);
        }
        let layer = |everywhere: bool| {
            let parts = self.parts.iter().zip(&seen);
            parts.filter(move |(part, seen)| **seen && part.space.is_everywhere() == everywhere)
        };
        let parts = layer(true).chain(layer(false)).map(|(part, _)| part);
        let memory = Arc::new(Memory::new(parts.flat_map(|part| part.segments.iter().cloned())));
        let view = Arc::new(View { memory, blocks: Mutex::default() });
        views.insert(seen, Arc::clone(&view));
        view
    }
}

/// Within one file two segments never share an address.
fn check_overlap(segments: &[Segment]) -> Result<(), Error> {
    let mut spans: Vec<(u64, u64)> = segments
        .iter()
        .filter(|segment| !segment.bytes().is_empty())
        .map(|segment| (segment.address, segment.address + (segment.bytes().len() as u64 - 1)))
        .collect();
    spans.sort_unstable();
    match spans.windows(2).find(|pair| pair[0].1 >= pair[1].0) {
        Some(pair) => Err(Error::Overlap { first: pair[0].0, second: pair[1].0 }),
        None => Ok(()),
    }
}

/// Takes `PATH[@ADDR]` apart. An `@` that no number follows belongs to the path.
pub fn read_spec(spec: &str) -> Result<(PathBuf, Option<u64>), Error> {
    match spec.rsplit_once('@') {
        Some((path, address)) if !path.is_empty() && address.starts_with(|c: char| c.is_ascii_digit()) => {
            let address = read_number(address).ok_or_else(|| Error::Spec(spec.to_string()))?;
            Ok((PathBuf::from(path), Some(address)))
        }
        _ if spec.is_empty() => Err(Error::Spec(spec.to_string())),
        _ => Ok((PathBuf::from(spec), None)),
    }
}

/// A number in decimal or, after `0x`, in hex; `_` between digits is allowed.
fn read_number(text: &str) -> Option<u64> {
    let text = text.replace('_', "");
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
