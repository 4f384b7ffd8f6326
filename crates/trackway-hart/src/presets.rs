//! Cores that are described already.

use trackway_core::Isa;

use crate::config::{AdUpdate, Config, Misaligned, Paging};
use crate::csr;
use crate::extensions::Extensions;
use crate::rules::{CsrRule, CsrRules};

/// Names of the described cores.
pub const PRESETS: [&str; 4] = ["flute", "qemu", "ibex", "spike"];

const fn reads(value: u64) -> CsrRule {
    CsrRule { read_only: Some(value), ..CsrRule::NONE }
}

const fn after_reset(value: u64) -> CsrRule {
    CsrRule { reset: Some(value), ..CsrRule::NONE }
}

const ABSENT: CsrRule = CsrRule { exists: Some(false), ..CsrRule::NONE };

/// `misa` letters A C D F H I M S U, on RV64.
const QEMU_MISA: u64 = 2 << 62 | 0x14_11ad;
/// The same on RV32.
const QEMU_MISA_RV32: u64 = 1 << 30 | 0x14_11ad;
/// C I M U, on RV32.
const IBEX_MISA: u64 = 1 << 30 | 0x10_1104;

const FLUTE: CsrRules = &[(csr::SCOUNTEREN, reads(0)), (csr::MSTATUS, after_reset(1 << 13))];
const fn writable(bits: u64) -> CsrRule {
    CsrRule { writable: Some(bits), ..CsrRule::NONE }
}

/// Exceptions of a hypervisor, calls from M, and software checks can be delegated as well.
const QEMU_MEDELEG: CsrRule = writable(0xf4_bfff);
/// Interrupts of a hypervisor are always delegated; that of counters can be.
const QEMU_MIDELEG: CsrRule = CsrRule { reset: Some(0x1444), ..writable(0x2222) };
/// Cycle, time, instructions and 16 counters of events.
const QEMU_COUNTEREN: CsrRule = writable(0x7_ffff);

macro_rules! qemu {
    ($misa:expr) => {
        &[
            (csr::MISA, reads($misa)),
            (csr::MEDELEG, QEMU_MEDELEG),
            (csr::MIDELEG, QEMU_MIDELEG),
            (csr::MIE, writable(!0x111)),
            (csr::MCOUNTEREN, QEMU_COUNTEREN),
            (csr::SCOUNTEREN, QEMU_COUNTEREN),
        ]
    };
}
const QEMU: CsrRules = qemu!(QEMU_MISA);
const QEMU_RV32: CsrRules = qemu!(QEMU_MISA_RV32);
const IBEX: CsrRules = &[
    (csr::MISA, reads(IBEX_MISA)),
    // Without S the bits of S in these hold what is written.
    (csr::MSTATUS, writable(0x7e_19aa)),
    (csr::MEDELEG, CsrRule { exists: Some(true), ..QEMU_MEDELEG }),
    (csr::MIDELEG, CsrRule { exists: Some(true), ..writable(0x2666) }),
    (csr::MIE, writable(0xffff_eaaa)),
    (csr::MCOUNTEREN, QEMU_COUNTEREN),
    // Its board has none.
    (csr::TIME, ABSENT),
    (csr::TIMEH, ABSENT),
];

/// A misaligned fetch cannot happen where C is there.
const SPIKE: CsrRules = &[(csr::MEDELEG, CsrRule { reset: Some(0), ..writable(0xb3fe) })];

impl Config {
    /// A core by its name in [`PRESETS`], on a machine of this width.
    ///
    /// - `flute`: Bluespec's Flute, RV64GC with M, S, U and Sv39, no memory protection. Misaligned accesses trap,
    ///   floating point is on after reset, and S lets U read no counter.
    /// - `qemu`: the `rv64` and `rv32` cores of QEMU 10's `virt`. They have the hypervisor extension, which the model
    ///   lacks: only `misa` and the bits of delegation show it.
    /// - `ibex`: lowRISC's Ibex as QEMU 10 has it (`lowrisc-ibex`), RV32IMC with Zba, Zbb, Zbc, Zbs, M and U.
    /// - `spike`: the simulator Spike, RV64GC or RV32GC. Misaligned accesses trap, and so do pages whose accessed or
    ///   dirty bit would have to be set.
    pub fn preset(name: &str, isa: Isa) -> Option<Self> {
        let with = |text: &str| Extensions::read(text).map_or(Extensions::ALL, |(_, extensions)| extensions);
        match name {
            "flute" => Some(Config {
                extensions: with("rv64gc"),
                paging: Paging::Sv39,
                pmp_entries: 0,
                misaligned: Misaligned::Trap,
                reset_pc: 0x7000_0000,
                rules: FLUTE,
                ..Config::new(Isa::Rv64)
            }),
            "qemu" => {
                let rv32 = isa == Isa::Rv32;
                Some(Config {
                    extensions: with("rv64gc_zba_zbb_zbc_zbs"),
                    reset_pc: 0x1000,
                    rules: if rv32 { QEMU_RV32 } else { QEMU },
                    ..Config::new(isa)
                })
            }
            "ibex" => Some(Config {
                extensions: with("rv32imc_zicsr_zifencei_zba_zbb_zbc_zbs"),
                supervisor: false,
                paging: Paging::Bare,
                reset_pc: 0x2000_0400,
                rules: IBEX,
                ..Config::new(Isa::Rv32)
            }),
            "spike" => Some(Config {
                extensions: with("rv64gc"),
                misaligned: Misaligned::Trap,
                ad_update: AdUpdate::Trap,
                reset_pc: 0x1000,
                rules: SPIKE,
                ..Config::new(isa)
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hart::Hart;

    #[test]
    fn flute() {
        let mut hart = Hart::new(Config::preset("flute", Isa::Rv64).unwrap());
        assert_eq!(hart.read_csr(csr::MSTATUS), Some(0xa_0000_2000), "FS is 1 after reset");
        assert!(hart.write_csr(csr::SCOUNTEREN, 7));
        assert_eq!(hart.read_csr(csr::SCOUNTEREN), Some(0));
        assert_eq!(hart.read_csr(csr::PMPCFG0), None);
        assert_eq!(hart.state().pc, 0x7000_0000);
    }

    #[test]
    fn qemu() {
        let mut hart = Hart::new(Config::preset("qemu", Isa::Rv64).unwrap());
        assert_eq!(hart.read_csr(csr::MISA), Some(0x8000_0000_0014_11ad));
        assert!(hart.write_csr(csr::MISA, 0));
        assert_eq!(hart.read_csr(csr::MISA), Some(0x8000_0000_0014_11ad));
        assert_eq!(
            Hart::new(Config::preset("qemu", Isa::Rv32).unwrap()).read_csr(csr::MISA),
            Some(0x4014_11ad)
        );
    }

    #[test]
    fn ibex() {
        let mut hart = Hart::new(Config::preset("ibex", Isa::Rv64).unwrap());
        assert!(hart.config().is_rv32());
        assert_eq!(hart.read_csr(csr::MISA), Some(0x4010_1104));
        assert!(hart.write_csr(csr::MEDELEG, !0));
        assert_eq!(hart.read_csr(csr::MEDELEG), Some(0xf4_bfff));
        for number in [csr::TIME, csr::SATP] {
            assert_eq!(hart.read_csr(number), None, "{number:#x}");
        }
    }

    #[test]
    fn spike() {
        for (isa, text) in [(Isa::Rv64, "rv64"), (Isa::Rv32, "rv32")] {
            let mut hart = Hart::new(Config::preset("spike", isa).unwrap());
            assert!(hart.write_csr(csr::MEDELEG, 0xffff));
            assert_eq!(hart.read_csr(csr::MEDELEG), Some(0xb3fe), "{text}");
            assert_eq!(hart.state().pc, 0x1000);
        }
    }
}
