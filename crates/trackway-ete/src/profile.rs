//! The profile of a core, which changes the meaning of ETMv4's packets.

use trackway_core::TrapKind;

/// The profile of a core, as far as it changes the meaning of ETMv4's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// A or R.
    #[default]
    A,
    /// Armv7-M: exception returns are P0 elements.
    V7M,
    /// Armv8-M: function returns are P0 elements.
    V8M,
}

impl Profile {
    /// By the name of a core or architecture; `m` alone is the one that ETMv4.`minor` was made for.
    pub fn of(core: &str, minor: u8) -> Self {
        let name: String = core.to_ascii_uppercase().chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        let of_version = if minor >= 2 { Profile::V8M } else { Profile::V7M };
        if let Some(number) = name.strip_prefix("CORTEXM") {
            return match number {
                "3" | "4" | "7" => Profile::V7M,
                "" => of_version,
                _ => Profile::V8M,
            };
        }
        match name.strip_suffix('M').or_else(|| name.strip_suffix("MMAIN")) {
            Some("" | "ARM") => of_version,
            Some("V7" | "V7E" | "ARMV7" | "ARMV7E") => Profile::V7M,
            Some(rest) if rest.contains("V8") => Profile::V8M,
            _ => Profile::A,
        }
    }

    /// A type of core that has the profile, for snapshots and settings.
    pub(crate) fn core(self) -> &'static str {
        match self {
            Profile::A => "ARM-AA64",
            Profile::V7M => "ARMv7-M",
            Profile::V8M => "ARMv8-M",
        }
    }

    /// The kind of an exception type (ETMv4 6.4, K10.5.2.13).
    pub(crate) fn trap_kind(self, number: u16) -> TrapKind {
        match (self, number) {
            (Profile::A, 0) | (Profile::V7M | Profile::V8M, 1) => TrapKind::Reset,
            (Profile::A, 4 | 14 | 15) => TrapKind::Interrupt,
            // NMI, PendSV, SysTick, the first eight interrupts, the others.
            (Profile::V7M | Profile::V8M, 2 | 14..=23 | 0x208..=0x3ef) => TrapKind::Interrupt,
            _ => TrapKind::Exception,
        }
    }

    /// The exception type of a system call.
    pub(crate) fn call(self) -> u16 {
        if self == Profile::A { 2 } else { 11 }
    }

    /// The name of an exception type, if it has one.
    pub(crate) fn exception_name(self, number: u16) -> Option<&'static str> {
        let names: &[&str] = if self == Profile::A { &A_NAMES } else { &M_NAMES };
        let name = names.get(usize::from(number)).copied()?;
        (!name.is_empty()).then_some(name)
    }
}

/// Exception types of the A and R profiles, in ETE and ETMv4.
const A_NAMES: [&str; 16] = [
    "PE reset",
    "debug halt",
    "call",
    "trap",
    "system error",
    "",
    "instruction debug",
    "data debug",
    "",
    "",
    "alignment",
    "instruction fault",
    "data fault",
    "",
    "IRQ",
    "FIQ",
];

/// Exception types of the M profile; IRQ8 and above are 0x208 and above.
const M_NAMES: [&str; 27] = [
    "",
    "PE reset",
    "NMI",
    "HardFault",
    "MemManage",
    "BusFault",
    "UsageFault",
    "SecureFault",
    "",
    "",
    "",
    "SVC",
    "DebugMonitor",
    "",
    "PendSV",
    "SysTick",
    "IRQ0",
    "IRQ1",
    "IRQ2",
    "IRQ3",
    "IRQ4",
    "IRQ5",
    "IRQ6",
    "IRQ7",
    "DebugHalt",
    "LazyFP push",
    "Lockup",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_by_the_type_of_the_core() {
        let of = |minor, core| Profile::of(core, minor);
        for core in ["Cortex-A53", "ARM-AA64", "ARMv8-A", "Cortex-R52", "ARMv7-R", ""] {
            assert_eq!(of(2, core), Profile::A, "{core}");
        }
        for core in ["Cortex-M3", "cortex-m7", "ARMv7-M", "ARMv7E-M"] {
            assert_eq!(of(2, core), Profile::V7M, "{core}");
        }
        for core in ["Cortex-M33", "Cortex-M55", "ARMv8-M", "ARMv8.1-M", "v8-M.main"] {
            assert_eq!(of(0, core), Profile::V8M, "{core}");
        }
        assert_eq!((of(0, "m"), of(2, "m")), (Profile::V7M, Profile::V8M));
    }
}
