//! A retirement port with one instruction, from a packet or from the signals of a simulation.

use trackway_core::*;

use crate::riscv::record::{Access, Retired, Taken};

/// Declares the fields of the port, with their place among [`NAMES`].
macro_rules! fields {
    ($($field:ident = $number:literal, $name:literal;)*) => {
        /// The fields of a port; `None` is unknown.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(crate) struct Port {
            $(pub(crate) $field: Option<u64>,)*
            /// Control and status registers: their masks and values.
            pub(crate) csrs: Vec<Csr>,
        }

        /// The names of the fields, as signals have them after `rvfi_`.
        pub(crate) const NAMES: [&str; 21] = [$($name),*];

        impl Port {
            /// The fields that are known as text.
            pub(crate) fn write_text(&self, text: &mut String) {
                use std::fmt::Write;
                $(if let Some(value) = self.$field.filter(|_| $number > 0) {
                    let blank = if text.is_empty() { "" } else { " " };
                    // Writing to a String cannot fail.
                    let _ = write!(text, "{blank}{}={value:#x}", $name);
                })*
            }

            /// The field with that place among [`NAMES`].
            pub(crate) fn set(&mut self, field: usize, value: Option<u64>) {
                match field {
                    $($number => self.$field = value,)*
                    _ => {}
                }
            }
        }
    };
}

fields! {
    valid = 0, "valid";
    order = 1, "order";
    insn = 2, "insn";
    trap = 3, "trap";
    halt = 4, "halt";
    intr = 5, "intr";
    mode = 6, "mode";
    ixl = 7, "ixl";
    rs1_addr = 8, "rs1_addr";
    rs2_addr = 9, "rs2_addr";
    rs1_rdata = 10, "rs1_rdata";
    rs2_rdata = 11, "rs2_rdata";
    rd_addr = 12, "rd_addr";
    rd_wdata = 13, "rd_wdata";
    pc_rdata = 14, "pc_rdata";
    pc_wdata = 15, "pc_wdata";
    mem_addr = 16, "mem_addr";
    mem_rmask = 17, "mem_rmask";
    mem_wmask = 18, "mem_wmask";
    mem_rdata = 19, "mem_rdata";
    mem_wdata = 20, "mem_wdata";
}

/// A control and status register at the port.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Csr {
    pub(crate) number: u16,
    pub(crate) rmask: Option<u64>,
    pub(crate) wmask: Option<u64>,
    pub(crate) rdata: Option<u64>,
    pub(crate) wdata: Option<u64>,
}

/// The bytes that a mask selects: how far above the address they begin, and how many; `None` if it has holes.
pub(crate) fn bytes_of(mask: u64) -> Option<(u64, u8)> {
    let first = mask.trailing_zeros();
    let run = mask.checked_shr(first)?;
    (run & run.wrapping_add(1) == 0).then_some((first.into(), run.count_ones() as u8))
}

impl Port {
    /// Adds what is known to `record`, which is empty; registers have `xlen` bits.
    pub(crate) fn fill(&self, record: &mut Retired, xlen: u32) {
        let is = |flag: Option<u64>| flag.is_some_and(|flag| flag != 0);
        let narrow = |value: Option<u64>| value.map(|value| mask(value, xlen));
        (record.pc, record.next, record.order) = (narrow(self.pc_rdata), narrow(self.pc_wdata), self.order);
        if let Some(insn) = self.insn {
            let wide = insn & 3 == 3;
            record.encoding = if wide { insn as u32 } else { insn as u32 & 0xffff };
            record.length = if wide { 4 } else { 2 };
        }
        record.privilege = match self.mode {
            Some(0) => Some(Privilege::U),
            Some(1) => Some(Privilege::S),
            Some(3) => Some(Privilege::M),
            _ => None,
        };
        (record.begins_handler, record.halts) = (is(self.intr), is(self.halt));
        if is(self.trap) {
            record.trap = Some(Taken { kind: TrapKind::Exception, cause: None, value: None });
            // The next address of an instruction that traps is that of the handler, or nothing.
            record.next = None;
        }
        let sources = [(self.rs1_addr, self.rs1_rdata), (self.rs2_addr, self.rs2_rdata)];
        for (number, value) in sources {
            if let (Some(number @ 1..32), Some(value)) = (number, narrow(value)) {
                record.register(RegClass::Int, number as u16, RegRole::Source, Value::Word(value));
            }
        }
        if let Some(number @ 1..32) = self.rd_addr {
            let value = narrow(self.rd_wdata).map_or(Value::Unknown, Value::Word);
            record.register(RegClass::Int, number as u16, RegRole::Destination, value);
        }
        for csr in &self.csrs {
            csr.fill(record, xlen);
        }
        self.memory(record, xlen);
    }

    /// The end of a run without an instruction, as RVFI-DII sends it.
    pub(crate) fn is_end(&self) -> bool {
        self.halt.is_some_and(|halt| halt != 0) && self.insn == Some(0)
    }

    fn memory(&self, record: &mut Retired, xlen: u32) {
        let Some(address) = self.mem_addr else { return };
        let part = |mask: Option<u64>| mask.filter(|mask| *mask != 0).and_then(bytes_of);
        let (read, written) = (part(self.mem_rmask), part(self.mem_wmask));
        let cut = |data: Option<u64>, (first, size): (u64, u8)| {
            data.map(|data| mask(data.checked_shr(8 * first as u32).unwrap_or(0), 8 * u32::from(size.min(8))))
        };
        let at = |first: u64| mask(address.wrapping_add(first), xlen);
        let (kind, place) = match (read, written) {
            (Some(place), Some(other)) if place == other => (MemKind::ReadWrite, place),
            (Some(place), _) => (MemKind::Read, place),
            (None, Some(place)) => (MemKind::Write, place),
            (None, None) => return,
        };
        let kind = if record.trap.is_some() { MemKind::Faulting } else { kind };
        let both = kind == MemKind::ReadWrite;
        let data = if read.is_some() { self.mem_rdata } else { self.mem_wdata };
        record.mem.push(Access {
            kind,
            address: at(place.0),
            size: place.1,
            data: cut(data, place).filter(|_| kind != MemKind::Faulting),
            stored: cut(self.mem_wdata, place).filter(|_| both),
        });
        if let (MemKind::Read, Some(place)) = (kind, written) {
            let data = cut(self.mem_wdata, place);
            let (address, size) = (at(place.0), place.1);
            record.mem.push(Access { kind: MemKind::Write, address, size, data, stored: None });
        }
    }
}

impl Csr {
    fn fill(&self, record: &mut Retired, xlen: u32) {
        let all = mask(u64::MAX, xlen);
        let both =
            [(self.rmask, self.rdata, RegRole::Source), (self.wmask, self.wdata, RegRole::Destination)];
        for (bits, value, role) in both {
            if let (Some(bits), Some(value)) = (bits.filter(|bits| *bits != 0), value) {
                record.register(RegClass::Csr, self.number, role, Value::Word(mask(value, xlen)));
                if let Some(access) = record.regs.last_mut() {
                    access.known = Some(bits).filter(|bits| bits & all != all);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_a_place_and_a_size() {
        for (mask, bytes) in [
            (0b1, Some((0, 1))),
            (0b1100, Some((2, 2))),
            (0xff, Some((0, 8))),
            (0b101, None),
            (u64::MAX, Some((0, 64))),
        ] {
            assert_eq!(bytes_of(mask), bytes, "{mask:#b}");
        }
    }

    #[test]
    fn the_mask_of_a_csr_is_what_is_known_of_it() {
        let csr =
            Csr { number: 0x300, rmask: Some(0), wmask: Some(0xff), rdata: Some(1), wdata: Some(0x1234) };
        let all = Csr { rmask: Some(u64::MAX), wmask: None, ..csr };
        let port = Port { csrs: vec![csr, all], ..Port::default() };
        let mut record = Retired::default();
        port.fill(&mut record, 32);
        let found: Vec<_> =
            record.regs.iter().map(|access| (access.role, access.value, access.known)).collect();
        let wanted = [
            (RegRole::Destination, Value::Word(0x1234), Some(0xff)),
            (RegRole::Source, Value::Word(1), None),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn names_are_in_their_places() {
        for (n, name) in NAMES.iter().enumerate() {
            let mut port = Port::default();
            port.set(n, Some(7));
            assert!(format!("{port:?}").contains(&format!("{name}: Some(7)")), "{name}");
        }
    }
}
