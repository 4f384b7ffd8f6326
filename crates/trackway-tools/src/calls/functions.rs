//! The function of an address, by the symbols of the programs.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackway_image::{Image, demangle, program};

/// The number of a function in its table.
pub type FunctionId = u32;

/// A function of the program, or the target of a call where the program has no symbol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Function {
    /// The source whose program it belongs to; one program for all sources counts as that of the first.
    pub source: u16,
    /// Its first address.
    pub address: u64,
    /// Its name for people; `None` where the program has none.
    pub name: Option<String>,
    /// Its name in the file.
    pub symbol: Option<String>,
}

impl Function {
    /// Its name, else its address.
    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| format!("{:#x}", self.address))
    }
}

/// All functions that were met.
#[derive(Debug, Serialize, Deserialize)]
pub struct Functions {
    #[serde(skip)]
    programs: Vec<Arc<Image>>,
    list: Vec<Function>,
    #[serde(skip)]
    numbers: HashMap<(u16, u64), FunctionId>,
    /// Functions that are inlined, by their name in the debug information.
    #[serde(skip)]
    inlined: HashMap<(u16, Arc<str>), FunctionId>,
}

impl Functions {
    pub(super) fn new(programs: &[Arc<Image>]) -> Self {
        Functions {
            programs: programs.to_vec(),
            list: Vec::new(),
            numbers: HashMap::new(),
            inlined: HashMap::new(),
        }
    }

    /// Puts back what is not stored.
    pub(super) fn restore(&mut self, programs: &[Arc<Image>]) {
        self.programs = programs.to_vec();
        let place = |function: &Function| (function.source, function.address);
        self.numbers = self.list.iter().map(place).zip(0..).collect();
    }

    /// The function of that number.
    pub fn get(&self, id: FunctionId) -> &Function {
        &self.list[id as usize]
    }

    /// All of them, by number.
    pub fn all(&self) -> &[Function] {
        &self.list
    }

    /// The function that `pc` is in, by the symbols.
    pub(super) fn at(&mut self, source: u16, pc: u64) -> Option<FunctionId> {
        let source = if self.programs.len() > 1 { source } else { 0 };
        let image = program(&self.programs, source);
        let (symbol, _) = image.symbol(pc)?;
        let (name, raw) = (symbol.demangled().into_owned(), symbol.name.clone());
        Some(self.place(source, symbol.address, Some(name), Some(raw)))
    }

    /// The function that begins at `address`, with or without a symbol.
    pub(super) fn called(&mut self, source: u16, address: u64) -> FunctionId {
        match self.at(source, address) {
            Some(id) => id,
            None => self.place(if self.programs.len() > 1 { source } else { 0 }, address, None, None),
        }
    }

    fn place(
        &mut self,
        source: u16,
        address: u64,
        name: Option<String>,
        symbol: Option<String>,
    ) -> FunctionId {
        *self.numbers.entry((source, address)).or_insert_with(|| {
            self.list.push(Function { source, address, name, symbol });
            self.list.len() as FunctionId - 1
        })
    }

    /// The functions inlined at an instruction, from the outermost in.
    pub(super) fn inlined_at(&mut self, source: u16, pc: u64) -> Vec<FunctionId> {
        let frames = program(&self.programs, source).frames(pc);
        // The outermost is not inlined.
        let named = frames.iter().rev().skip(1).filter(|frame| !frame.name.is_empty());
        let Functions { list, inlined, .. } = self;
        let number = |name: &Arc<str>| {
            *inlined.entry((source, Arc::clone(name))).or_insert_with(|| {
                let label = format!("{} [inlined]", demangle(name));
                list.push(Function {
                    source,
                    address: pc,
                    name: Some(label),
                    symbol: Some(name.to_string()),
                });
                list.len() as FunctionId - 1
            })
        };
        named.map(|frame| &frame.name).map(number).collect()
    }
}
