//! Every item of the protocol, declared once, in the order of the opcodes (chapter 2).

use std::fmt::Write;

use trackway_core::{Bytes, Error, ErrorKind};
use trackway_isa::Disassembler;

use crate::config::Widths;
use crate::mem_op::MemOp;
use crate::register;
use crate::wire::{Fault, Measuring, Reading, TABLE, Wire, Writing};

/// Declares the items: `opcode [/ identifier] NUMBER => Variant { fields } "name" [in "name in the census"]`, then
/// the fields on the wire in order, and their text.
///
/// The enum, [`Record::read`], [`Record::write`], [`Record::len`], the text, the names, the
/// numbers and the names of the census expand from this list.
macro_rules! records {
    (@number $opcode:literal) => { $opcode };
    (@number $opcode:literal $identifier:literal) => { $identifier };
    (@first $first:literal $($other:literal)?) => { $first };
    ($($(#[$meta:meta])* $opcode:literal $(/ $identifier:literal $(..= $last:literal)?)? $number:ident =>
        $variant:ident
        $({ $($(#[$field_meta:meta])* $field:ident: $ty:ty),* $(,)? })?
        $(($value:ident: $value_ty:ty))?
        $name:literal $(in $census:literal)?
        $(wire($wire:ident) $fields:block text($out:ident) $text:block)?)*) => {

        /// An item: an opcode with its payload.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Record {
            $($(#[$meta])* $variant $({ $($(#[$field_meta])* $field: $ty),* })? $(($value_ty))?,)*
        }

        /// The opcode of each item; the identifier of additional state.
        #[allow(dead_code)] // The list is whole; not every item is needed by number.
        pub(crate) mod number {
            $(pub(crate) const $number: u8 = records!(@number $opcode $($identifier)?);)*
        }

        /// Names of the census, by opcode; empty for opcodes without an item.
        pub(crate) const CENSUS: [&str; OPCODES] = {
            let mut names = [""; OPCODES];
            $(names[$opcode] = records!(@first $($census)? $name);)*
            names
        };

        impl Record {
            /// The opcode (chapter 2).
            pub const fn opcode(&self) -> u8 {
                match self { $(Record::$variant { .. } => $opcode,)* }
            }

            /// The name in the specification.
            pub const fn name(&self) -> &'static str {
                match self { $(Record::$variant { .. } => $name,)* }
            }

            /// The identifier of additional state; the first of four for store data.
            const fn identifier(&self) -> Option<u8> {
                match self {
                    $($(Record::$variant { .. } => Some($identifier),)?)*
                    _ => None,
                }
            }

            /// The item of an opcode and identifier with empty fields.
            #[inline(always)]
            fn blank(opcode: u8, identifier: u8) -> Option<Record> {
                match [opcode, identifier] {
                    $([$opcode, $($identifier $(..= $last)?,)? ..] => Some(Record::$variant
                        $({ $($field: Default::default()),* })? $((<$value_ty>::default()))?),)*
                    _ => None,
                }
            }

            /// Runs the fields in the direction of `wire`.
            #[inline(always)]
            fn fields(&mut self, wire: &mut impl Wire) -> Result<(), Fault> {
                match self {
                    $(Record::$variant $({ $($field),* })? $(($value))? => {
                        $(let $wire = wire; $fields)?
                    })*
                }
                Ok(())
            }

            /// Appends the fields as text.
            pub(crate) fn write_text(&self, text: &mut FieldText<'_>) {
                match *self {
                    $(Record::$variant $({ $($field),* })? $(($value))? => {
                        // Writing to a String cannot fail.
                        $(let $out = text; let _ = $text;)?
                    })*
                }
            }
        }
    };
}

/// Opcodes are below this.
pub(crate) const OPCODES: usize = 18;
/// The opcode of additional state, whose items have an identifier.
pub(crate) const ADDITIONAL_STATE: u8 = 7;

records! {
    /// Opcode 1.
    1 BEGIN_GROUP => BeginGroup "begin group"
    /// Opcode 2.
    2 END_GROUP => EndGroup "end group"
    /// Opcode 3: the pc advances by the length of the group's instruction.
    3 INCREMENT_PC => IncrementPc "increment pc"
    /// Opcode 4.
    4 FULL_REGISTER => FullRegister {
        /// Address as in the debug specification.
        address: u16,
        /// XLEN or FLEN bits.
        data: u64,
    } "full register"
    wire(w) {
        w.number("address", address, 2)?;
        let width = w.register(*address)?;
        w.number("data", data, width)?;
    }
    text(t) {
        let width = t.widths.register(address).unwrap_or(8);
        let _ = write!(t.out, "{} = ", register::name(address));
        t.hex(data, width)
    }
    /// Opcode 5.
    5 ADD_REGISTER => AddRegister {
        /// Address as in the debug specification.
        address: u16,
        /// Signed number that is added to the register.
        offset: i8,
    } "incremental register"
    wire(w) {
        w.number("address", address, 2)?;
        w.number("offset", offset, 1)?;
        w.register(*address)?;
    }
    text(t) { write!(t.out, "{} += {offset}", register::name(address)) }
    /// Opcode 6.
    6 OR_REGISTER => OrRegister {
        /// Address as in the debug specification.
        address: u16,
        /// Bits that are set in the register.
        mask: u8,
    } "incremental register" in "incremental register (or)"
    wire(w) {
        w.number("address", address, 2)?;
        w.number("mask", mask, 1)?;
        w.register(*address)?;
    }
    text(t) { write!(t.out, "{} |= {mask:#04x}", register::name(address)) }
    /// Opcode 7, identifier 1.
    7 / 1 PRIVILEGE_MODE => PrivilegeMode(mode: u8) "privilege mode" in "additional state"
    wire(w) { w.number("", mode, 1)?; }
    text(t) {
        let name = ["U", "S", "reserved", "M"].get(usize::from(mode)).unwrap_or(&"reserved");
        write!(t.out, "{mode} ({name})")
    }
    /// Opcode 7, identifier 2.
    7 / 2 PHYSICAL_ADDRESS => PhysicalAddress(address: u64) "physical address" in "additional state"
    wire(w) { w.number("", address, w.widths().mlen)?; }
    text(t) { t.hex(address, t.widths.mlen) }
    /// Opcode 7, identifier 3.
    7 / 3 EFFECTIVE_ADDRESS => EffectiveAddress(address: u64) "effective address" in "additional state"
    wire(w) { w.number("", address, w.widths().eaddr)?; }
    text(t) { t.hex(address, t.widths.eaddr) }
    /// Opcode 7, identifiers 4 to 7.
    7 / 4..=7 STORE_DATA => StoreData {
        /// 0 to 3: 8 to 64 bits.
        size: u8,
        /// The value stored.
        data: u64,
    } "memory store data" in "additional state"
    wire(w) {
        w.size_in_identifier(size)?;
        w.number("", data, 1 << *size)?;
    }
    text(t) { t.hex(data, 1 << size) }
    /// Opcode 7, identifier 8.
    7 / 8 MTIME => Mtime(time: u64) "mtime" in "additional state"
    wire(w) { w.number("", time, 8)?; }
    text(t) { write!(t.out, "{time}") }
    /// Opcode 7, identifier 9.
    7 / 9 PC_PHYSICAL_ADDRESS => PcPhysicalAddress(address: u64) "pc physical address" in "additional state"
    wire(w) { w.number("", address, w.widths().mlen)?; }
    text(t) { t.hex(address, t.widths.mlen) }
    /// Opcode 7, identifier 10; in a group always the pc after it.
    7 / 10 PC => Pc(pc: u64) "pc" in "additional state"
    wire(w) { w.number("", pc, w.widths().xlen)?; }
    text(t) { t.hex(pc, t.widths.xlen) }
    /// Opcode 7, identifier 0x10: the pc as tables C.2, C.7 and C.8 print it.
    7 / 0x10 MISPRINTED_PC => MisprintedPc(pc: u64) "pc" in "additional state"
    wire(w) { w.number("", pc, w.widths().xlen)?; }
    text(t) {
        let _ = t.hex(pc, t.widths.xlen);
        write!(t.out, " (identifier 0x10)")
    }
    /// Opcode 8.
    8 MEMORY_REQUEST => MemoryRequest {
        /// Physical address.
        address: u64,
        /// Operation.
        op: MemOp,
        /// 0 to 3: 8 to 64 bits.
        size: u8,
        /// The value sent; 0 if the operation sends none.
        data: u64,
    } "memory request"
    wire(w) {
        w.number("addr", address, w.widths().mlen)?;
        w.nibbles("op", &mut op.0, size)?;
        w.at_most("op", op.0, MemOp::LAST)?;
        w.at_most("size", *size, 3)?;
        if op.sends() {
            w.number("data", data, 1 << *size)?;
        } else {
            w.absent("data", *data)?;
        }
    }
    text(t) {
        let _ = write!(t.out, "{} {} bytes at ", op.name(), 1 << size);
        let _ = t.hex(address, t.widths.mlen);
        if op.sends() { t.labelled(" data ", data, 1 << size) } else { Ok(()) }
    }
    /// Opcode 9.
    9 MEMORY_RESPONSE => MemoryResponse {
        /// 0 to 3: 8 to 64 bits.
        size: u8,
        /// 0 success, 1 failure.
        result: u8,
        /// The value returned, if the operation of the request returns one.
        data: Option<u64>,
    } "memory response"
    wire(w) {
        let answered = w.is_answered(data.is_some())?;
        w.nibbles("size", size, result)?;
        w.at_most("size", *size, 3)?;
        if answered {
            w.number("data", data.get_or_insert(0), 1 << *size)?;
        }
    }
    text(t) {
        let outcome = match result {
            0 => "success",
            1 => "failure",
            _ => "reserved result",
        };
        let _ = write!(t.out, "{outcome}, {} bytes", 1 << size);
        data.map_or(Ok(()), |data| t.labelled(" data ", data, 1 << size))
    }
    /// Opcode 10.
    10 HART_RESET => HartReset "hart reset"
    /// Opcode 11.
    11 STATE_INITIALIZATION => StateInitialization "state initialization"
    /// Opcode 16.
    16 INSTRUCTION16 => Instruction16(encoding: u16) "instruction" in "instruction, 16 bits"
    wire(w) { w.number("16 bits", encoding, 2)?; }
    text(t) {
        let text = t.disassembler.text(t.widths.isa(), 0, encoding.into());
        write!(t.out, "{encoding:04x} {text}")
    }
    /// Opcode 17.
    17 INSTRUCTION32 => Instruction32(encoding: u32) "instruction" in "instruction, 32 bits"
    wire(w) { w.number("32 bits", encoding, 4)?; }
    text(t) {
        let text = t.disassembler.text(t.widths.isa(), 0, encoding);
        write!(t.out, "{encoding:08x} {text}")
    }
}

const _: () = assert!(size_of::<Record>() == 24);

/// The output for the text of an item's fields.
pub(crate) struct FieldText<'t> {
    pub(crate) out: &'t mut String,
    pub(crate) widths: &'t Widths,
    pub(crate) disassembler: &'t mut Disassembler,
}

impl FieldText<'_> {
    /// A number with all digits of a field of `width` bytes.
    fn hex(&mut self, value: u64, width: u8) -> std::fmt::Result {
        write!(self.out, "{value:#0digits$x}", digits = 2 * usize::from(width) + 2)
    }

    fn labelled(&mut self, label: &str, value: u64, width: u8) -> std::fmt::Result {
        self.out.push_str(label);
        self.hex(value, width)
    }
}

impl Record {
    /// Reads one item. `before` is the one just before it, which decides about the data of a response.
    ///
    /// The offset of an error counts from the start of the item.
    #[inline(always)]
    pub(crate) fn read(
        bytes: &mut Bytes<'_>,
        widths: &Widths,
        before: Option<&Record>,
    ) -> Result<Record, Error> {
        let start = bytes.position();
        let opcode = match bytes.u8() {
            Ok(opcode) => opcode,
            Err(kind) => return Err(kind.at(0, "item", "opcode", TABLE)),
        };
        let mut identifier = 0;
        if opcode == ADDITIONAL_STATE {
            identifier = match bytes.u8() {
                Ok(identifier) => identifier,
                Err(kind) => return Err(kind.at(0, "additional state", "identifier", TABLE)),
            };
        }
        let misprint = opcode == ADDITIONAL_STATE && identifier == number::MISPRINTED_PC && !widths.lenient;
        let Some(mut record) = Record::blank(opcode, identifier).filter(|_| !misprint) else {
            return Err(unknown(opcode, identifier));
        };
        let request = match before {
            Some(Record::MemoryRequest { op, .. }) => Some(*op),
            _ => None,
        };
        let mut reading = Reading { bytes, widths, start, identifier, request };
        match record.fields(&mut reading) {
            Ok(()) => Ok(record),
            Err(Fault { kind, at, field, section }) => Err(kind.at(at, record.name(), field, section)),
        }
    }

    /// Appends the item; refuses values that the fields cannot hold, and has appended nothing then.
    #[inline]
    pub(crate) fn write(&self, out: &mut Vec<u8>, widths: &Widths) -> Result<(), Error> {
        if matches!(self, Record::MisprintedPc(_)) && !widths.lenient {
            let kind = ErrorKind::Impossible { found: number::MISPRINTED_PC.into() };
            return Err(kind.at(0, self.name(), "identifier", TABLE));
        }
        let start = out.len();
        out.push(self.opcode());
        if let Some(identifier) = self.identifier() {
            out.push(identifier);
        }
        let written = { *self }.fields(&mut Writing { out, widths });
        if let Err(Fault { kind, at, field, section }) = written {
            out.truncate(start);
            return Err(kind.at(at, self.name(), field, section));
        }
        Ok(())
    }

    /// Length in bytes.
    pub(crate) fn len(&self, widths: &Widths) -> usize {
        let prefix = 1 + usize::from(self.opcode() == ADDITIONAL_STATE);
        let mut measuring = Measuring { len: prefix, widths };
        let _ = { *self }.fields(&mut measuring);
        measuring.len
    }
}

/// The code of additional state that is kept as an event of its own.
pub(crate) const fn foreign_code(identifier: u8) -> u32 {
    (ADDITIONAL_STATE as u32) << 8 | identifier as u32
}

#[cold]
fn unknown(opcode: u8, identifier: u8) -> Error {
    let found = |number: u8| ErrorKind::Unknown { found: number.into() };
    if opcode == ADDITIONAL_STATE {
        found(identifier).at(1, "additional state", "identifier", TABLE)
    } else {
        found(opcode).at(0, "item", "opcode", TABLE)
    }
}
