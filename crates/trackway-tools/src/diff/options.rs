//! What to compare, and what to tolerate.

use std::ops::RangeInclusive;
use std::str::FromStr;

use trackway_core::{Isa, Reg, RegClass};
use trackway_isa::reg_name;
use trackway_isa::riscv::{csr_number, register_name};

/// Declares the groups of facts that are compared.
macro_rules! groups {
    ($($(#[$doc:meta])* $group:ident = $name:literal, $plural:literal;)*) => {
        /// A group of facts, compared or not as a whole.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Group { $($(#[$doc])* $group,)* }

        impl Group {
            /// All of them, in order.
            pub const ALL: &[Group] = &[$(Group::$group),*];

            /// The name in options.
            pub const fn as_str(self) -> &'static str {
                match self { $(Group::$group => $name,)* }
            }

            /// What is compared, in the plural.
            pub const fn plural(self) -> &'static str {
                match self { $(Group::$group => $plural,)* }
            }
        }

        impl FromStr for Group {
            type Err = String;

            fn from_str(name: &str) -> Result<Self, String> {
                match name {
                    $($name => Ok(Group::$group),)*
                    _ => Err(format!("{name}: one of {}", [$($name),*].join(", "))),
                }
            }
        }
    };
}

groups! {
    /// Addresses, encodings, outcomes of branches, retired or attempted, and instructions that only one side has.
    Pcs = "pcs", "instructions";
    /// Registers read and written.
    Regs = "regs", "registers";
    /// Memory accesses and their data.
    Mem = "mem", "memory accesses";
    /// Exceptions, interrupts and returns from them.
    Traps = "traps", "traps";
    /// Privilege, process and thread ids, and the like.
    Contexts = "contexts", "contexts";
    /// Timestamps and cycle counts.
    Time = "time", "times";
}

/// A difference that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tolerate {
    /// Of this register, by the name that dumps use or by its number; of a control register also where it is read.
    Register(String),
    /// Of accesses to these addresses, and of registers loaded from there.
    Memory(RangeInclusive<u64>),
    /// Instructions in another order within that many.
    Order(usize),
    /// A store-conditional that fails on one side only, and the turn of its loop that tries again.
    ScFailure,
}

impl FromStr for Tolerate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("{text}: {why}");
        match text.split_once(':') {
            None if text == "sc-failure" => Ok(Tolerate::ScFailure),
            Some(("csr", name)) => {
                let known = csr_number(name).is_some() || number(name).is_some_and(|number| number < 0x1000);
                known
                    .then(|| Tolerate::Register(name.into()))
                    .ok_or_else(|| wrong("no such control register"))
            }
            Some(("reg", name)) => is_register(name)
                .then(|| Tolerate::Register(name.into()))
                .ok_or_else(|| wrong("no such register")),
            Some(("mem", range)) => {
                let (start, end) = range.split_once('-').unwrap_or((range, range));
                match (number(start), number(end)) {
                    (Some(start), Some(end)) if start <= end => Ok(Tolerate::Memory(start..=end)),
                    _ => Err(wrong("a range of addresses is FIRST-LAST")),
                }
            }
            Some(("order", window)) => match number(window).and_then(|window| usize::try_from(window).ok()) {
                Some(window) if window > 0 => Ok(Tolerate::Order(window)),
                _ => Err(wrong("order:N takes a number of instructions")),
            },
            _ => Err(wrong("one of csr:NAME, reg:NAME, mem:FIRST-LAST, order:N, sc-failure")),
        }
    }
}

/// A register by its number in a file, or by the name that RISC-V programs use.
fn is_register(name: &str) -> bool {
    let numbered = ["x", "f", "v", "reg"].iter().filter_map(|file| name.strip_prefix(file));
    name == "pc"
        || csr_number(name).is_some()
        || numbered.into_iter().any(|digits| digits.parse::<u16>().is_ok())
        || (0..32).any(|number| register_name(number) == name)
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// How to compare.
#[derive(Clone, Debug)]
pub struct Options {
    /// The groups to compare.
    pub groups: Vec<Group>,
    /// Differences that do not count.
    pub tolerate: Vec<Tolerate>,
    /// Differences that are kept, not only counted.
    pub limit: usize,
    /// Instructions shown before the first difference.
    pub before: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { groups: Group::ALL.to_vec(), tolerate: Vec::new(), limit: 1000, before: 5 }
    }
}

impl Options {
    pub(super) fn has(&self, group: Group) -> bool {
        self.groups.contains(&group)
    }

    pub(super) fn tolerates_register(&self, isa: Isa, reg: Reg) -> bool {
        self.tolerate.iter().any(|tolerate| match tolerate {
            Tolerate::Register(name) => {
                let by_number = reg.class == RegClass::Csr && number(name) == Some(reg.number.into());
                let by_custom = reg.class == RegClass::Int
                    && matches!(isa, Isa::Rv32 | Isa::Rv64)
                    && register_name(reg.number as u8) == name;
                by_number || by_custom || reg_name(isa, reg) == name.as_str() || reg.to_string() == *name
            }
            _ => false,
        })
    }

    /// Does the instruction read a control register that is tolerated?
    pub(super) fn tolerates_read(&self, isa: Isa, encoding: u32) -> bool {
        // SYSTEM, other than PRIV.
        let reads =
            encoding & 0x7f == 0x73 && encoding >> 12 & 3 != 0 && matches!(isa, Isa::Rv32 | Isa::Rv64);
        reads && self.tolerates_register(isa, Reg { class: RegClass::Csr, number: (encoding >> 20) as u16 })
    }

    pub(super) fn tolerates_memory(&self, address: u64, size: u64) -> bool {
        let last = address.saturating_add(size.max(1) - 1);
        self.tolerate.iter().any(|tolerate| match tolerate {
            Tolerate::Memory(range) => address <= *range.end() && last >= *range.start(),
            _ => false,
        })
    }

    pub(super) fn order(&self) -> usize {
        let order = |tolerate: &Tolerate| if let Tolerate::Order(window) = tolerate { *window } else { 0 };
        self.tolerate.iter().map(order).max().unwrap_or(0)
    }

    pub(super) fn sc_failure(&self) -> bool {
        self.tolerate.contains(&Tolerate::ScFailure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_tolerance() {
        assert_eq!("csr:mcycle".parse(), Ok(Tolerate::Register("mcycle".into())));
        assert_eq!("mem:0x1000-0x1fff".parse(), Ok(Tolerate::Memory(0x1000..=0x1fff)));
        assert_eq!("order:8".parse(), Ok(Tolerate::Order(8)));
        assert_eq!("sc-failure".parse(), Ok(Tolerate::ScFailure));
        let options = Options { tolerate: vec!["reg:a0".parse().unwrap()], ..Options::default() };
        assert!(options.tolerates_register(Isa::Rv64, Reg { class: RegClass::Int, number: 10 }));
        assert!(!options.tolerates_register(Isa::A64, Reg { class: RegClass::Int, number: 10 }));
        for wrong in ["csr:nope", "reg:y1", "mem:2-1", "order:0", "order", "sc", "reg:"] {
            assert!(wrong.parse::<Tolerate>().is_err(), "{wrong}");
        }
        let options = Options { tolerate: vec!["csr:0xb00".parse().unwrap()], ..Options::default() };
        assert!(options.tolerates_register(Isa::Rv64, Reg { class: RegClass::Csr, number: 0xb00 }));
        assert!(!options.tolerates_register(Isa::Rv64, Reg { class: RegClass::Csr, number: 0xb02 }));
    }
}
