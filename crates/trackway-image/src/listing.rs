//! Text, function and source line of an address, for people.

use std::collections::HashMap;
use std::sync::Arc;

use trackway_core::Isa;
use trackway_isa::{Disassembler, Style};

use crate::image::Image;

/// Function and source line of an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The function and how far into it, like `main+0x1c`; empty where it is not known.
    pub place: String,
    /// File and line, like `main.c:12`; empty where they are not known.
    pub line: String,
}

/// How many rows are kept before the cache starts again.
const CACHED: usize = 1 << 20;

/// Turns addresses and encodings into columns of text, each worked out once.
#[derive(Debug)]
pub struct Listing {
    image: Arc<Image>,
    disassembler: Disassembler,
    rows: HashMap<u64, Row>,
}

impl Listing {
    /// For a program.
    pub fn new(image: Arc<Image>, style: Style) -> Self {
        Listing { image, disassembler: Disassembler::new(style), rows: HashMap::new() }
    }

    /// The program.
    pub fn image(&self) -> &Arc<Image> {
        &self.image
    }

    /// The instruction's text.
    pub fn text(&mut self, isa: Isa, pc: u64, encoding: u32) -> &str {
        self.disassembler.text(isa, pc, encoding)
    }

    /// The encoding in hex as its architecture writes it: 4 or 8 digits; T32 first halfword first.
    ///
    /// ```
    /// use trackway_core::Isa;
    /// assert_eq!(trackway_image::Listing::encoding(Isa::T32, 0xf001_e8df, 4), "e8dff001");
    /// assert_eq!(trackway_image::Listing::encoding(Isa::Rv64, 0x8082, 2), "8082");
    /// ```
    pub fn encoding(isa: Isa, encoding: u32, length: u8) -> String {
        match (isa, length) {
            (_, 2) => format!("{:04x}", encoding & 0xffff),
            (Isa::T32, _) => format!("{:08x}", encoding.rotate_left(16)),
            _ => format!("{encoding:08x}"),
        }
    }

    /// Function and line.
    pub fn row(&mut self, pc: u64) -> &Row {
        if self.rows.len() >= CACHED {
            self.rows.clear();
        }
        let image = &self.image;
        self.rows.entry(pc).or_insert_with(|| Row {
            place: image.place(pc).unwrap_or_default(),
            line: image.line(pc).map(|line| line.to_string()).unwrap_or_default(),
        })
    }
}
