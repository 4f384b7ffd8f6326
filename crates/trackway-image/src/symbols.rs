//! Symbols: which function an address is in, and where a name is.

use std::borrow::Cow;

use object::read::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, SymbolKind, SymbolSection};
use object::{Architecture, SectionIndex, SectionKind};
use trackway_core::Isa;

use crate::elf::parse;
use crate::error::Error;

/// A named place in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Where it begins, as loaded; without the bit that says T32.
    pub address: u64,
    /// How long it is; 0 where the file does not say (labels in assembly).
    pub size: u64,
    /// Its name in the file.
    pub name: String,
    /// The instruction set there, where the symbol has it (32-bit Arm).
    pub isa: Option<Isa>,
    /// Where its section ends.
    limit: u64,
    /// How well it names its address: functions before labels, global before local.
    rank: u8,
}

impl Symbol {
    /// Is it seen only in its own file?
    pub fn is_local(&self) -> bool {
        self.rank & 3 == 0
    }

    /// Its name for people: Rust and C++ names demangled.
    pub fn demangled(&self) -> Cow<'_, str> {
        demangle(&self.name)
    }
}

/// Code or data at an address, by the mapping symbols of Arm and RISC-V files (`$a`, `$t`, `$x`, `$d`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// Code; of this set, where that is not clear from the file.
    Code(Option<Isa>),
    /// Data among the code: literal pools, jump tables.
    Data,
}

/// The symbols of a file.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// In order of address, one per address.
    symbols: Vec<Symbol>,
    /// In order of address.
    mapping: Vec<(u64, Mapping)>,
}

impl Symbols {
    /// Reads the symbol table of an ELF file, or the dynamic one of a stripped file. `bias` is added to
    /// every address.
    pub fn read(bytes: &[u8], bias: u64) -> Result<Self, Error> {
        let file = parse(bytes)?;
        let is_arm = file.architecture() == Architecture::Arm;
        let has_symbols = file.symbol_table().is_some_and(|table| table.symbols().next().is_some());
        let table = if has_symbols { file.symbols() } else { file.dynamic_symbols() };
        let is_code = |index: SectionIndex| {
            file.section_by_index(index).is_ok_and(|section| section.kind() == SectionKind::Text)
        };
        let mut found = Symbols::default();
        for symbol in table {
            let SymbolSection::Section(section) = symbol.section() else { continue };
            let Ok(name) = symbol.name() else { continue };
            let mut address = symbol.address().wrapping_add(bias);
            if let Some(mapping) = mapping(name) {
                found.mapping.push((address, mapping));
                continue;
            }
            let is_function = symbol.kind() == SymbolKind::Text;
            let is_label = symbol.kind() == SymbolKind::Unknown && is_code(section);
            if !(is_function || is_label) || name.is_empty() || name.starts_with(".L") {
                continue;
            }
            let mut isa = None;
            if is_arm && is_function {
                isa = Some(if address & 1 == 1 { Isa::T32 } else { Isa::A32 });
                address &= !1;
            }
            let rank = u8::from(is_function) << 2
                | if symbol.is_local() { 0 } else { 1 + u8::from(!symbol.is_weak()) };
            let section = file.section_by_index(section).ok();
            let end =
                section.map(|section| section.address().wrapping_add(section.size()).wrapping_add(bias));
            let (size, name, limit) = (symbol.size(), name.to_string(), end.unwrap_or(u64::MAX));
            found.symbols.push(Symbol { address, size, name, isa, limit, rank });
        }
        found.sort();
        Ok(found)
    }

    /// Orders, and keeps the best name of each address.
    fn sort(&mut self) {
        self.mapping.sort_by_key(|(address, _)| *address);
        self.symbols.sort_by(|a, b| {
            let best_first = b.rank.cmp(&a.rank).then(b.size.cmp(&a.size)).then_with(|| a.name.cmp(&b.name));
            a.address.cmp(&b.address).then(best_first)
        });
        self.symbols.dedup_by_key(|symbol| symbol.address);
    }

    /// All symbols of code, in order of address.
    pub fn all(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The symbol that `pc` is in, and how far: a function by its size, else the nearest label before in its section.
    pub fn at(&self, pc: u64) -> Option<(&Symbol, u64)> {
        /// How many symbols may begin inside a function before it is no longer found.
        const NESTED: usize = 32;
        let end = self.symbols.partition_point(|symbol| symbol.address <= pc);
        let before = self.symbols[end.saturating_sub(NESTED)..end].iter().rev();
        let covers = |symbol: &&Symbol| pc - symbol.address < symbol.size;
        let found = before
            .clone()
            .find(covers)
            .or_else(|| before.clone().next().filter(|s| s.size == 0 && pc < s.limit));
        found.map(|symbol| (symbol, pc - symbol.address))
    }

    /// The symbol of this name, as in the file or demangled.
    pub fn named(&self, name: &str) -> Option<&Symbol> {
        let best = |same: &dyn Fn(&Symbol) -> bool| {
            self.symbols.iter().filter(|symbol| same(symbol)).max_by_key(|symbol| symbol.rank)
        };
        best(&|symbol| symbol.name == name).or_else(|| best(&|symbol| symbol.demangled() == name))
    }

    /// Code or data at `address`; `None` where the file does not say.
    pub fn mapping(&self, address: u64) -> Option<Mapping> {
        let at = self.mapping.partition_point(|(start, _)| *start <= address).checked_sub(1)?;
        Some(self.mapping[at].1)
    }
}

/// The meaning of a mapping symbol; a dot and anything may follow (Arm ELF 5.5.5, RISC-V ELF psABI 8.4).
fn mapping(name: &str) -> Option<Mapping> {
    let mut letters = name.strip_prefix('$')?.chars();
    let kind = letters.next()?;
    let rest = letters.as_str();
    match kind {
        'a' if rest.is_empty() || rest.starts_with('.') => Some(Mapping::Code(Some(Isa::A32))),
        't' if rest.is_empty() || rest.starts_with('.') => Some(Mapping::Code(Some(Isa::T32))),
        // RISC-V adds the ISA string: `$xrv64gc`.
        'x' if rest.is_empty() || rest.starts_with('.') || rest.starts_with("rv") => {
            Some(Mapping::Code(None))
        }
        'd' if rest.is_empty() || rest.starts_with('.') => Some(Mapping::Data),
        _ => None,
    }
}

/// A name for people: Rust and C++ names demangled, others as they are.
///
/// ```
/// assert_eq!(trackway_image::demangle("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"), "core::fmt::Formatter::pad");
/// assert_eq!(trackway_image::demangle("_ZNSt6vectorIiSaIiEE9push_backEOi"), "std::vector<int, std::allocator<int> >::push_back(int&&)");
/// assert_eq!(trackway_image::demangle("main"), "main");
/// ```
pub fn demangle(name: &str) -> Cow<'_, str> {
    /// Longer names than this are kept as they are: demangled they could grow without bound.
    const LONGEST: usize = 4096;
    if name.len() > LONGEST {
        return Cow::Borrowed(name);
    }
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return Cow::Owned(format!("{rust:#}"));
    }
    if name.starts_with("_Z")
        && let Ok(symbol) = cpp_demangle::BorrowedSymbol::new(name.as_bytes())
        && let Ok(text) = symbol.demangle()
    {
        return Cow::Owned(text);
    }
    Cow::Borrowed(name)
}
