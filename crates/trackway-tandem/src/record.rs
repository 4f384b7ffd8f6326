//! Every item of the protocol, once, in the order of its opcodes (chapter 2).
//!
//! `read` and `write` stand side by side, arm by arm.

use trackway_core::{Bytes, Error, ErrorKind};

use crate::config::Widths;

/// An item: an opcode with its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// Opcode 1.
    BeginGroup,
    /// Opcode 2.
    EndGroup,
    /// Opcode 3: the pc moves on by the length of the group's instruction.
    IncrementPc,
    /// Opcode 4.
    FullRegister {
        /// Address as in the debug spec.
        address: u16,
        /// XLEN or FLEN bits.
        data: u64,
    },
    /// Opcode 5.
    AddRegister {
        /// Address as in the debug spec.
        address: u16,
        /// Signed.
        offset: i8,
    },
    /// Opcode 6.
    OrRegister {
        /// Address as in the debug spec.
        address: u16,
        /// Bits to set.
        mask: u8,
    },
    /// Opcode 7, identifier 1.
    PrivilegeMode(u8),
    /// Opcode 7, identifier 2.
    PhysicalAddress(u64),
    /// Opcode 7, identifier 3.
    EffectiveAddress(u64),
    /// Opcode 7, identifiers 4 to 7.
    StoreData {
        /// 0 to 3: 8 to 64 bits.
        size: u8,
        /// The data.
        data: u64,
    },
    /// Opcode 7, identifier 8.
    Mtime(u64),
    /// Opcode 7, identifier 9.
    PcPhysicalAddress(u64),
    /// Opcode 7, identifier 10; in a group always the pc after it.
    Pc(u64),
    /// Opcode 7, identifier 0x10: the pc as tables C.2, C.7 and C.8 print it.
    MisprintedPc(u64),
    /// Opcode 8.
    MemoryRequest {
        /// The address.
        address: u64,
        /// What is done.
        op: MemOp,
        /// 0 to 3: 8 to 64 bits.
        size: u8,
        /// What is stored; 0 where the operation stores nothing.
        data: u64,
    },
    /// Opcode 9.
    MemoryResponse {
        /// 0 to 3: 8 to 64 bits.
        size: u8,
        /// 0 success, 1 failure.
        result: u8,
        /// What came back, where the operation of the request gives something back.
        data: Option<u64>,
    },
    /// Opcode 10.
    HartReset,
    /// Opcode 11.
    StateInitialization,
    /// Opcode 16.
    Instruction16(u16),
    /// Opcode 17.
    Instruction32(u32),
}

const _: () = assert!(size_of::<Record>() == 24);

/// Operation of a memory request (chapter 2, "Memory Request Opcode").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemOp(pub u8);

impl MemOp {
    /// Load.
    pub const LOAD: MemOp = MemOp(0);
    /// Store.
    pub const STORE: MemOp = MemOp(1);
    /// Load reserved.
    pub const LR: MemOp = MemOp(2);
    /// Store conditional.
    pub const SC: MemOp = MemOp(3);
    /// Instruction fetch.
    pub const FETCH: MemOp = MemOp(13);

    const NAMES: [&str; 14] = [
        "load", "store", "lr", "sc", "amoswap", "amoadd", "amoxor", "amoand", "amoor", "amomin", "amomax",
        "amominu", "amomaxu", "ifetch",
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.get(usize::from(self.0)).copied().unwrap_or("reserved")
    }

    /// Does the request carry data? Stores, sc and AMOs do (docs/decisions/0221).
    #[inline]
    pub const fn sends(self) -> bool {
        matches!(self.0, 1 | 3..=12)
    }

    /// Does the response carry data? All but stores and sc.
    #[inline]
    pub const fn returns(self) -> bool {
        !matches!(self.0, 1 | 3)
    }
}

/// The pc identifier as printed in three tables of appendix C.
pub(crate) const MISPRINTED_PC: u8 = 0x10;

/// Sections, for errors.
const TABLE: &str = "Tandem 2";
const NOTES: &str = "Tandem 3";

/// Reads a field of 1 to 8 bytes.
#[inline(always)]
fn word(bytes: &mut Bytes<'_>, width: u8) -> Result<u64, ErrorKind> {
    match width {
        8 => bytes.u64(),
        4 => bytes.u32().map(u64::from),
        1 => bytes.u8().map(u64::from),
        2 => bytes.u16().map(u64::from),
        _ => {
            let mut le = [0; 8];
            let taken = bytes.take(width.min(8).into())?;
            le[..taken.len()].copy_from_slice(taken);
            Ok(u64::from_le_bytes(le))
        }
    }
}

/// Appends a field of `width` bytes; what does not fit is cut off (`Record::check_fit` refuses it before).
#[inline]
fn put(out: &mut Vec<u8>, value: u64, width: u8) {
    out.extend_from_slice(&value.to_le_bytes()[..width.min(8).into()]);
}

/// The place is relative to the item's start: the caller adds the rest.
#[cold]
fn fault(kind: ErrorKind, at: u64, item: &'static str, field: &'static str, section: &'static str) -> Error {
    kind.at(at, item, field, section)
}

/// Gives a field's error its place.
macro_rules! field {
    ($result:expr, $item:literal, $field:literal) => {
        match $result {
            Ok(value) => value,
            Err(kind) => return Err(fault(kind, 0, $item, $field, TABLE)),
        }
    };
}

impl Record {
    /// Reads one item. `before` is the one just before it, which tells the length of a response.
    ///
    /// The offset of an error counts from the start of the item.
    #[inline(always)]
    pub(crate) fn read(
        bytes: &mut Bytes<'_>,
        widths: &Widths,
        before: Option<&Record>,
    ) -> Result<Record, Error> {
        let opcode = field!(bytes.u8(), "item", "opcode");
        Ok(match opcode {
            1 => Record::BeginGroup,
            2 => Record::EndGroup,
            3 => Record::IncrementPc,
            4 => {
                let address = field!(bytes.u16(), "full register", "address");
                let Some(width) = widths.register(address) else {
                    return Err(no_register(address, "full register"));
                };
                Record::FullRegister { address, data: field!(word(bytes, width), "full register", "data") }
            }
            5 => {
                let address = field!(bytes.u16(), "incremental register", "address");
                let offset = field!(bytes.u8(), "incremental register", "offset") as i8;
                if widths.register(address).is_none() {
                    return Err(no_register(address, "incremental register"));
                }
                Record::AddRegister { address, offset }
            }
            6 => {
                let address = field!(bytes.u16(), "incremental register", "address");
                let mask = field!(bytes.u8(), "incremental register", "mask");
                if widths.register(address).is_none() {
                    return Err(no_register(address, "incremental register"));
                }
                Record::OrRegister { address, mask }
            }
            7 => return Self::read_additional(bytes, widths),
            8 => {
                let address = field!(word(bytes, widths.mlen), "memory request", "addr");
                let packed = field!(bytes.u8(), "memory request", "op");
                let (op, size) = (MemOp(packed & 0xf), packed >> 4);
                let at = 1 + u64::from(widths.mlen);
                if op.0 > 13 {
                    let kind = ErrorKind::Unknown { found: op.0.into() };
                    return Err(fault(kind, at, "memory request", "op", TABLE));
                }
                if size > 3 {
                    let kind = ErrorKind::Unknown { found: size.into() };
                    return Err(fault(kind, at, "memory request", "size", TABLE));
                }
                let data =
                    if op.sends() { field!(word(bytes, 1 << size), "memory request", "data") } else { 0 };
                Record::MemoryRequest { address, op, size, data }
            }
            9 => {
                let Some(Record::MemoryRequest { op, .. }) = before else {
                    return Err(fault(ErrorKind::Missing, 0, "memory response", "request", NOTES));
                };
                let packed = field!(bytes.u8(), "memory response", "size");
                let (size, result) = (packed & 0xf, packed >> 4);
                if size > 3 {
                    let kind = ErrorKind::Unknown { found: size.into() };
                    return Err(fault(kind, 1, "memory response", "size", TABLE));
                }
                let data = if op.returns() {
                    Some(field!(word(bytes, 1 << size), "memory response", "data"))
                } else {
                    None
                };
                Record::MemoryResponse { size, result, data }
            }
            10 => Record::HartReset,
            11 => Record::StateInitialization,
            16 => Record::Instruction16(field!(bytes.u16(), "instruction", "16 bits")),
            17 => Record::Instruction32(field!(bytes.u32(), "instruction", "32 bits")),
            _ => return Err(fault(ErrorKind::Unknown { found: opcode.into() }, 0, "item", "opcode", TABLE)),
        })
    }

    /// Opcode 7.
    #[inline(always)]
    fn read_additional(bytes: &mut Bytes<'_>, widths: &Widths) -> Result<Record, Error> {
        let identifier = field!(bytes.u8(), "additional state", "identifier");
        Ok(match identifier {
            1 => Record::PrivilegeMode(field!(bytes.u8(), "privilege mode", "")),
            2 => Record::PhysicalAddress(field!(word(bytes, widths.mlen), "physical address", "")),
            3 => Record::EffectiveAddress(field!(word(bytes, widths.eaddr), "effective address", "")),
            4..=7 => {
                let size = identifier - 4;
                Record::StoreData { size, data: field!(word(bytes, 1 << size), "memory store data", "") }
            }
            8 => Record::Mtime(field!(bytes.u64(), "mtime", "")),
            9 => Record::PcPhysicalAddress(field!(word(bytes, widths.mlen), "pc physical address", "")),
            10 => Record::Pc(field!(word(bytes, widths.xlen), "pc", "")),
            MISPRINTED_PC if widths.lenient => {
                Record::MisprintedPc(field!(word(bytes, widths.xlen), "pc", ""))
            }
            _ => {
                let kind = ErrorKind::Unknown { found: identifier.into() };
                return Err(fault(kind, 1, "additional state", "identifier", TABLE));
            }
        })
    }

    /// Appends the item.
    pub(crate) fn write(&self, out: &mut Vec<u8>, widths: &Widths) {
        out.push(self.opcode());
        match *self {
            Record::BeginGroup | Record::EndGroup | Record::IncrementPc => {}
            Record::FullRegister { address, data } => {
                put(out, address.into(), 2);
                put(out, data, widths.register(address).unwrap_or(0));
            }
            Record::AddRegister { address, offset } => {
                put(out, address.into(), 2);
                out.push(offset as u8);
            }
            Record::OrRegister { address, mask } => {
                put(out, address.into(), 2);
                out.push(mask);
            }
            Record::PrivilegeMode(mode) => out.extend_from_slice(&[1, mode]),
            Record::PhysicalAddress(address) => {
                out.push(2);
                put(out, address, widths.mlen);
            }
            Record::EffectiveAddress(address) => {
                out.push(3);
                put(out, address, widths.eaddr);
            }
            Record::StoreData { size, data } => {
                out.push(4 + size);
                put(out, data, 1 << size);
            }
            Record::Mtime(time) => {
                out.push(8);
                put(out, time, 8);
            }
            Record::PcPhysicalAddress(address) => {
                out.push(9);
                put(out, address, widths.mlen);
            }
            Record::Pc(pc) => {
                out.push(10);
                put(out, pc, widths.xlen);
            }
            Record::MisprintedPc(pc) => {
                out.push(MISPRINTED_PC);
                put(out, pc, widths.xlen);
            }
            Record::MemoryRequest { address, op, size, data } => {
                put(out, address, widths.mlen);
                out.push(op.0 & 0xf | size << 4);
                if op.sends() {
                    put(out, data, 1 << size);
                }
            }
            Record::MemoryResponse { size, result, data } => {
                out.push(size & 0xf | result << 4);
                if let Some(data) = data {
                    put(out, data, 1 << size);
                }
            }
            Record::HartReset | Record::StateInitialization => {}
            Record::Instruction16(encoding) => put(out, encoding.into(), 2),
            Record::Instruction32(encoding) => put(out, encoding.into(), 4),
        }
    }

    /// The opcode (chapter 2).
    pub const fn opcode(&self) -> u8 {
        match self {
            Record::BeginGroup => 1,
            Record::EndGroup => 2,
            Record::IncrementPc => 3,
            Record::FullRegister { .. } => 4,
            Record::AddRegister { .. } => 5,
            Record::OrRegister { .. } => 6,
            Record::PrivilegeMode(_)
            | Record::PhysicalAddress(_)
            | Record::EffectiveAddress(_)
            | Record::StoreData { .. }
            | Record::Mtime(_)
            | Record::PcPhysicalAddress(_)
            | Record::Pc(_)
            | Record::MisprintedPc(_) => 7,
            Record::MemoryRequest { .. } => 8,
            Record::MemoryResponse { .. } => 9,
            Record::HartReset => 10,
            Record::StateInitialization => 11,
            Record::Instruction16(_) => 16,
            Record::Instruction32(_) => 17,
        }
    }

    /// Its name in the spec.
    pub const fn name(&self) -> &'static str {
        match self {
            Record::BeginGroup => "begin group",
            Record::EndGroup => "end group",
            Record::IncrementPc => "increment pc",
            Record::FullRegister { .. } => "full register",
            Record::AddRegister { .. } | Record::OrRegister { .. } => "incremental register",
            Record::PrivilegeMode(_) => "privilege mode",
            Record::PhysicalAddress(_) => "physical address",
            Record::EffectiveAddress(_) => "effective address",
            Record::StoreData { .. } => "memory store data",
            Record::Mtime(_) => "mtime",
            Record::PcPhysicalAddress(_) => "pc physical address",
            Record::Pc(_) | Record::MisprintedPc(_) => "pc",
            Record::MemoryRequest { .. } => "memory request",
            Record::MemoryResponse { .. } => "memory response",
            Record::HartReset => "hart reset",
            Record::StateInitialization => "state initialization",
            Record::Instruction16(_) | Record::Instruction32(_) => "instruction",
        }
    }

    /// Its length in bytes.
    pub fn len(&self, widths: &Widths) -> usize {
        let wide = |width: u8| 2 + usize::from(width);
        match *self {
            Record::BeginGroup
            | Record::EndGroup
            | Record::IncrementPc
            | Record::HartReset
            | Record::StateInitialization => 1,
            Record::FullRegister { address, .. } => 3 + usize::from(widths.register(address).unwrap_or(0)),
            Record::AddRegister { .. } | Record::OrRegister { .. } => 4,
            Record::PrivilegeMode(_) => 3,
            Record::PhysicalAddress(_) | Record::PcPhysicalAddress(_) => wide(widths.mlen),
            Record::EffectiveAddress(_) => wide(widths.eaddr),
            Record::StoreData { size, .. } => wide(1 << size),
            Record::Mtime(_) => wide(8),
            Record::Pc(_) | Record::MisprintedPc(_) => wide(widths.xlen),
            Record::MemoryRequest { op, size, .. } => {
                2 + usize::from(widths.mlen) + if op.sends() { 1 << size } else { 0 }
            }
            Record::MemoryResponse { size, data, .. } => 2 + if data.is_some() { 1 << size } else { 0 },
            Record::Instruction16(_) => 3,
            Record::Instruction32(_) => 5,
        }
    }

    /// Refuses what its fields on the wire cannot hold.
    pub(crate) fn check_fit(&self, widths: &Widths) -> Result<(), Error> {
        let fits = |value: u64, width: u8| width >= 8 || value >> (8 * width) == 0;
        let small = |size: u8| size <= 3;
        let (good, found, field) = match *self {
            Record::FullRegister { address, data } => match widths.register(address) {
                Some(width) => (fits(data, width), data, "data"),
                None => (false, address.into(), "address"),
            },
            Record::AddRegister { address, .. } | Record::OrRegister { address, .. } => {
                (widths.register(address).is_some(), address.into(), "address")
            }
            Record::PhysicalAddress(a) | Record::PcPhysicalAddress(a) => (fits(a, widths.mlen), a, "address"),
            Record::EffectiveAddress(a) => (fits(a, widths.eaddr), a, "address"),
            Record::StoreData { size, data } => (small(size) && fits(data, 1 << size), data, "data"),
            Record::Pc(pc) => (fits(pc, widths.xlen), pc, "pc"),
            Record::MisprintedPc(pc) => (widths.lenient && fits(pc, widths.xlen), pc, "pc"),
            Record::MemoryRequest { address, op, size, data } => (
                op.0 <= 13
                    && small(size)
                    && fits(address, widths.mlen)
                    && if op.sends() { fits(data, 1 << size) } else { data == 0 },
                address,
                "addr",
            ),
            Record::MemoryResponse { size, result, data } => {
                let data = data.unwrap_or(0);
                (small(size) && result <= 0xf && fits(data, 1 << size), data, "data")
            }
            _ => return Ok(()),
        };
        if good { Ok(()) } else { Err(fault(ErrorKind::Impossible { found }, 0, self.name(), field, TABLE)) }
    }
}

#[cold]
fn no_register(address: u16, item: &'static str) -> Error {
    fault(ErrorKind::Unknown { found: address.into() }, 1, item, "address", NOTES)
}

/// Register addresses, as in the RISC-V debug spec.
pub mod register {
    use trackway_core::{Reg, RegClass};

    /// Address of `x0`.
    pub const GPR: u16 = 0x1000;
    /// Address of `f0`.
    pub const FPR: u16 = 0x1020;
    /// Address of the first custom register.
    pub const CUSTOM: u16 = 0xc000;

    /// The register at an address.
    #[inline]
    pub const fn reg(address: u16) -> Reg {
        let (class, number) = match address {
            0..=0xfff => (RegClass::Csr, address),
            GPR..=0x101f => (RegClass::Int, address - GPR),
            FPR..=0x103f => (RegClass::Float, address - FPR),
            _ => (RegClass::Other, address),
        };
        Reg { class, number }
    }

    /// The address of a register; `None` if the protocol has no address for it.
    #[inline]
    pub const fn address(reg: Reg) -> Option<u16> {
        match reg.class {
            RegClass::Csr if reg.number < 0x1000 => Some(reg.number),
            RegClass::Int if reg.number < 32 => Some(GPR + reg.number),
            RegClass::Float if reg.number < 32 => Some(FPR + reg.number),
            RegClass::Other if reg.number >= CUSTOM => Some(reg.number),
            _ => None,
        }
    }
}
