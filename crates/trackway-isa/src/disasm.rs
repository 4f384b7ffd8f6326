//! Text of instructions, kept per address.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

use trackway_core::Isa;

use crate::style::Style;
use crate::{arm, riscv};

/// How many texts are kept before the cache starts again.
const CACHED: usize = 1 << 20;

/// Text of instructions of any instruction set, as objdump writes it: mnemonic, a blank, operands.
///
/// ```
/// use trackway_core::Isa;
/// use trackway_isa::Disassembler;
///
/// let mut disassembler = Disassembler::default();
/// assert_eq!(disassembler.text(Isa::Rv64, 0x1000, 0x00b5_0463), "beq a0,a1,0x1008");
/// assert_eq!(disassembler.text(Isa::Rv64, 0x1000, 0x8082), "ret");
/// ```
#[derive(Debug, Default)]
pub struct Disassembler {
    style: Style,
    arm: arm::Text,
    cache: HashMap<(u64, u32, Isa), Box<str>>,
}

impl Disassembler {
    /// With a style of your own.
    pub fn new(style: Style) -> Self {
        Self { style, ..Self::default() }
    }

    /// The text of one instruction; what does not decode is written as data (`.word`, `.short`).
    pub fn text(&mut self, isa: Isa, pc: u64, encoding: u32) -> &str {
        if self.cache.len() >= CACHED {
            self.cache.clear();
        }
        self.cache.entry((pc, encoding, isa)).or_insert_with(|| {
            match isa {
                Isa::Rv32 | Isa::Rv64 => riscv::text(isa, pc, encoding, self.style),
                Isa::A64 | Isa::A32 | Isa::T32 => self.arm.text(isa, pc, encoding),
                Isa::Other => format!(".word 0x{encoding:08x}"),
            }
            .into_boxed_str()
        })
    }
}

/// The text of one instruction in the default style. To write many, use a [`Disassembler`], which caches.
pub fn text(isa: Isa, pc: u64, encoding: u32) -> String {
    Disassembler::default().text(isa, pc, encoding).to_string()
}

/// The name of one instruction in the default style: the first word of its [`text`], or the word before data.
///
/// Of RISC-V it comes from the table, of Arm from capstone with some microseconds; callers keep it per encoding.
///
/// ```
/// use trackway_core::Isa;
/// use trackway_isa::mnemonic;
///
/// assert_eq!(mnemonic(Isa::Rv64, 0x6522), "ld"); // c.ldsp a0,8(sp)
/// assert_eq!(mnemonic(Isa::A64, 0x5400_0040), "b.eq");
/// assert_eq!(mnemonic(Isa::A32, 0x0590_0000), "ldreq");
/// assert_eq!(mnemonic(Isa::T32, 0xb510), "push");
/// ```
pub fn mnemonic(isa: Isa, encoding: u32) -> Cow<'static, str> {
    thread_local! {
        static ARM: RefCell<arm::Text> = RefCell::default();
    }
    match isa {
        Isa::Rv32 | Isa::Rv64 => riscv::mnemonic(isa, encoding, Style::default()),
        Isa::A64 | Isa::A32 | Isa::T32 => ARM.with_borrow_mut(|text| text.mnemonic(isa, encoding)),
        Isa::Other => ".word".into(),
    }
}
