//! The program beside a trace, as the golden model loads it.

use std::path::Path;

use trackway::format::Program as Files;
use trackway_hart::Program;
use trackway_tools::verify::Memory;

use crate::exit::Failure;

/// Bytes that a segment may have beyond its content: a damaged header must not take all memory.
const LARGEST: u64 = 1 << 30;

/// Programs and raw bytes, each with its place.
pub(crate) struct Loaded {
    /// Programs, and how far each is moved.
    programs: Vec<(Program, u64)>,
    /// Raw bytes at their addresses.
    raw: Vec<(u64, Vec<u8>)>,
}

impl Loaded {
    /// Reads what `--elf` and `--image` name.
    pub(crate) fn read(files: &Files) -> Result<Self, Failure> {
        let programs = files.elf.iter().map(|spec| program(spec)).collect::<Result<_, _>>()?;
        let raw = files.raw.iter().map(|spec| raw(spec)).collect::<Result<_, _>>()?;
        Ok(Loaded { programs, raw })
    }

    /// Puts all of it into memory.
    pub(crate) fn put(&self, memory: &mut Memory) {
        self.programs.iter().for_each(|(program, moved)| memory.load_program(program, *moved));
        self.raw.iter().for_each(|(address, bytes)| memory.load(*address, bytes));
    }

    /// Where the programs begin.
    pub(crate) fn entries(&self) -> impl Iterator<Item = u64> {
        self.programs.iter().map(|(program, moved)| program.entry.wrapping_add(*moved))
    }
}

/// A path and the address after it, if there is one.
fn place(spec: &str) -> (&Path, Option<u64>) {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let placed = spec.rsplit_once('@').and_then(|(path, text)| Some((path, Some(number(text)?))));
    let (path, address) = placed.unwrap_or((spec, None));
    (Path::new(path), address)
}

fn content(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error| Failure::input(path, trackway::Error::File { path: path.into(), error });
    std::fs::read(path).map_err(failed)
}

fn raw(spec: &str) -> Result<(u64, Vec<u8>), Failure> {
    let (path, address) = place(spec);
    let address = address.ok_or_else(|| Failure::Usage(format!("--image {spec}: where? Say PATH@ADDR")))?;
    Ok((address, content(path)?))
}

/// A program at its own addresses, or moved so that it begins at the one given.
fn program(spec: &str) -> Result<(Program, u64), Failure> {
    let (path, address) = place(spec);
    let unsupported = |text: String| Failure::input(path, trackway::Error::Unsupported(text));
    let program = Program::read(&content(path)?).map_err(|error| unsupported(error.to_string()))?;
    let lowest = program.segments.iter().map(|segment| segment.physical).min().unwrap_or(0);
    let moved = address.map_or(0, |address| address.wrapping_sub(lowest));
    let mut zeros = program.segments.iter().map(|segment| segment.zeros());
    if let Some(zeros) = zeros.find(|zeros| *zeros > LARGEST) {
        return Err(unsupported(format!("a segment has {zeros} bytes without content")));
    }
    drop(zeros);
    Ok((program, moved))
}
