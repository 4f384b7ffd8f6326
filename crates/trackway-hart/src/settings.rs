//! The `[machine]` section of a configuration file: a core and its machine in words.

use crate::config::{AdUpdate, Config, Misaligned, Paging};
use crate::extensions::Extensions;
use crate::machine::MachineConfig;
use crate::presets::PRESETS;

trackway_format::settings! {
    /// Settings of a machine; those left out keep their values.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Settings {
        /// A core that is described already: `flute`, `qemu`, `ibex`, `spike`, or FILE.yaml of riscv-config. The other keys change it.
        pub preset: Option<String> = "\"qemu\"",
        /// ISA string, such as `rv64gc_zba_zbb`.
        pub isa: Option<String> = "\"rv64gc_zba_zbb\"",
        /// Is there a supervisor level?
        pub supervisor: Option<bool> = "true",
        /// Is there a user level?
        pub user: Option<bool> = "true",
        /// Largest translation mode: `bare`, `sv32`, `sv39`, `sv48`, `sv57`.
        pub paging: Option<String> = "\"sv39\"",
        /// Memory protection entries.
        pub pmp_entries: Option<u8> = "16",
        /// Memory protection granularity.
        pub pmp_grain: Option<u8> = "0",
        /// Misaligned loads and stores: `hardware` or `trap`.
        pub misaligned: Option<String> = "\"hardware\"",
        /// Accessed and dirty bits: `hardware` or `trap`.
        pub ad_update: Option<String> = "\"hardware\"",
        /// Where execution begins.
        pub reset_pc: Option<u64> = "0x80000000",
        /// `mhartid`.
        pub hart_id: Option<u64> = "0",
        /// `mvendorid`.
        pub vendor_id: Option<u64> = "0",
        /// `marchid`.
        pub arch_id: Option<u64> = "0",
        /// `mimpid`.
        pub imp_id: Option<u64> = "0",
        /// Does an illegal instruction put its bits into `xtval`?
        pub tval_instruction: Option<bool> = "true",
        /// Does a breakpoint put its address into `xtval`?
        pub tval_breakpoint: Option<bool> = "true",
        /// Do misaligned and forbidden accesses put their addresses into `xtval`?
        pub tval_address: Option<bool> = "true",
        /// Bits of an address space number.
        pub asid_bits: Option<u8> = "16",
        /// Are `cycle`, `time` and `instret` there?
        pub counters: Option<bool> = "true",
        /// Bytes of RAM.
        pub ram: Option<usize> = "0x8000000",
        /// Instructions per unit of `mtime`.
        pub instructions_per_tick: Option<u64> = "100",
    }
}

fn word<T: Copy>(name: &str, value: Option<&str>, words: &[(&str, T)], to: &mut T) -> Result<(), String> {
    let Some(value) = value else { return Ok(()) };
    match words.iter().find(|(word, _)| *word == value) {
        Some((_, found)) => *to = *found,
        None => {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            return Err(format!("{name}: {value:?} is not one of {}", known.join(", ")));
        }
    }
    Ok(())
}

impl Settings {
    /// A core with these settings instead of `core`'s.
    pub fn core(&self, mut core: Config) -> Result<Config, String> {
        if let Some(name) = &self.preset {
            core = Config::preset(name, core.isa)
                .ok_or_else(|| format!("preset: {name:?} is not one of {}", PRESETS.join(", ")))?;
        }
        if let Some(isa) = &self.isa {
            (core.isa, core.extensions) = Extensions::read(isa).map_err(|error| format!("isa: {error}"))?;
        }
        let paging = [
            ("bare", Paging::Bare),
            ("sv32", Paging::Sv39),
            ("sv39", Paging::Sv39),
            ("sv48", Paging::Sv48),
            ("sv57", Paging::Sv57),
        ];
        word("paging", self.paging.as_deref(), &paging, &mut core.paging)?;
        let misaligned = [("hardware", Misaligned::Hardware), ("trap", Misaligned::Trap)];
        word("misaligned", self.misaligned.as_deref(), &misaligned, &mut core.misaligned)?;
        let ad_update = [("hardware", AdUpdate::Hardware), ("trap", AdUpdate::Trap)];
        word("ad_update", self.ad_update.as_deref(), &ad_update, &mut core.ad_update)?;
        if self.pmp_entries.is_some_and(|n| n > 64) {
            return Err("pmp_entries: at most 64".to_string());
        }
        if self.asid_bits.is_some_and(|n| n > 16) {
            return Err("asid_bits: at most 16".to_string());
        }
        Ok(Config {
            supervisor: self.supervisor.unwrap_or(core.supervisor),
            user: self.user.unwrap_or(core.user),
            pmp_entries: self.pmp_entries.unwrap_or(core.pmp_entries),
            pmp_grain: self.pmp_grain.unwrap_or(core.pmp_grain),
            reset_pc: self.reset_pc.unwrap_or(core.reset_pc),
            hart_id: self.hart_id.unwrap_or(core.hart_id),
            vendor_id: self.vendor_id.unwrap_or(core.vendor_id),
            arch_id: self.arch_id.unwrap_or(core.arch_id),
            imp_id: self.imp_id.unwrap_or(core.imp_id),
            tval_instruction: self.tval_instruction.unwrap_or(core.tval_instruction),
            tval_breakpoint: self.tval_breakpoint.unwrap_or(core.tval_breakpoint),
            tval_address: self.tval_address.unwrap_or(core.tval_address),
            asid_bits: self.asid_bits.unwrap_or(core.asid_bits),
            counters: self.counters.unwrap_or(core.counters),
            ..core
        })
    }

    /// A machine with these settings instead of `machine`'s.
    pub fn machine(&self, machine: MachineConfig) -> Result<MachineConfig, String> {
        let mut core = self.core(machine.core)?;
        if self.reset_pc.is_none() {
            // A described core starts where this machine has its ROM.
            core.reset_pc = machine.core.reset_pc;
        }
        Ok(MachineConfig {
            core,
            ram: self.ram.unwrap_or(machine.ram),
            instructions_per_tick: self.instructions_per_tick.unwrap_or(machine.instructions_per_tick),
        })
    }
}
