//! From virtual to physical addresses: page tables (privileged 4.3 to 4.6) and memory protection (3.7).

use trackway_isa::riscv::Extension;

use super::Hart;
use super::tlb::{PAGE_BITS, PAGE_MASK};
use crate::bus::Bus;
use crate::config::AdUpdate;
use crate::csr::{envcfg, mseccfg, status};
use crate::effects::{List, Observe, Purpose, Walk};
use crate::state::Level;
use crate::trap::{Exception, cause};

/// Bits of a page-table entry.
mod pte {
    pub(super) const V: u64 = 1;
    pub(super) const R: u64 = 2;
    pub(super) const W: u64 = 4;
    pub(super) const X: u64 = 8;
    pub(super) const U: u64 = 16;
    pub(super) const A: u64 = 64;
    pub(super) const D: u64 = 128;
    pub(super) const N: u64 = 1 << 63;
}

/// Does memory protection treat all bytes alike?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Protection {
    Allowed,
    Denied,
    /// An entry covers a part only.
    Mixed,
}

const fn page_fault(purpose: Purpose, address: u64) -> Exception {
    Exception::new(
        match purpose {
            Purpose::Fetch => cause::FETCH_PAGE,
            Purpose::Load => cause::LOAD_PAGE,
            Purpose::Store => cause::STORE_PAGE,
        },
        address,
    )
}

pub(super) const fn access_fault(purpose: Purpose, address: u64) -> Exception {
    Exception::new(
        match purpose {
            Purpose::Fetch => cause::FETCH_ACCESS,
            Purpose::Load => cause::LOAD_ACCESS,
            Purpose::Store => cause::STORE_ACCESS,
        },
        address,
    )
}

/// The bit of an access in the permissions of memory protection.
const fn bit(purpose: Purpose) -> u8 {
    match purpose {
        Purpose::Load => 1,
        Purpose::Store => 2,
        Purpose::Fetch => 4,
    }
}

/// Permissions of an entry: bits R, W, X (privileged 3.7.1; in lockdown the table of Smepmp).
const fn permissions(cfg: u8, machine: bool, lockdown: bool) -> u8 {
    let (locked, rwx) = (cfg & 0x80 != 0, cfg & 7);
    match (lockdown, rwx) {
        (false, _) if machine && !locked => 7,
        (false, _) => rwx,
        // Shared data, and shared code.
        (true, 2) if !locked => {
            if machine {
                3
            } else {
                1
            }
        }
        (true, 6) if !locked => 3,
        (true, 2) => 4,
        (true, 6) => {
            if machine {
                5
            } else {
                4
            }
        }
        (true, 7) if locked => 1,
        (true, _) if machine == locked => rwx,
        (true, _) => 0,
    }
}

impl Hart {
    /// The level that loads and stores are done with (MPRV).
    pub(super) fn data_level(&self) -> Level {
        let mstatus = self.state.csr.mstatus;
        match mstatus & status::MPRV {
            0 => self.state.level,
            _ => Level::from_bits(mstatus >> 11).unwrap_or(self.state.level),
        }
    }

    /// Is the fetch translation of the whole page remembered?
    pub(super) fn tlb_holds_fetch(&self, address: u64) -> bool {
        self.tlb.find(address, self.fetch_context, Purpose::Fetch).is_some()
    }

    /// Physical address of `size` bytes that do not cross a page.
    #[inline(always)]
    pub(super) fn translate<B: Bus, E: Observe>(
        &mut self,
        address: u64,
        size: u64,
        purpose: Purpose,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<u64, Exception> {
        let context = if matches!(purpose, Purpose::Fetch) { self.fetch_context } else { self.data_context };
        match self.tlb.find(address, context, purpose) {
            Some(physical) => Ok(physical),
            None => self.translate_slowly(address, size, purpose, bus, fx),
        }
    }

    #[inline(never)]
    fn translate_slowly<B: Bus, E: Observe>(
        &mut self,
        address: u64,
        size: u64,
        purpose: Purpose,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<u64, Exception> {
        let fetch = purpose == Purpose::Fetch;
        let level = if fetch { self.state.level } else { self.data_level() };
        let context = if fetch { self.fetch_context } else { self.data_context };
        let physical = match self.levels() {
            Some(levels) if level != Level::M => self.walk(address, levels, level, purpose, bus, fx)?,
            _ => address,
        };
        match self.protection(physical & !PAGE_MASK, 1 << PAGE_BITS, purpose, level) {
            Protection::Allowed => self.tlb.insert(address, context, purpose, physical),
            Protection::Denied => return Err(access_fault(purpose, address)),
            Protection::Mixed => {
                if self.protection(physical, size, purpose, level) != Protection::Allowed {
                    return Err(access_fault(purpose, address));
                }
            }
        }
        Ok(physical)
    }

    /// Physical address of a store, with the accessed and dirty bits of its page set; `None` where it would fault.
    pub fn locate_store<B: Bus>(&mut self, address: u64, bus: &mut B) -> Option<u64> {
        self.translate(address, 1, Purpose::Store, bus, &mut ()).ok()
    }

    /// Are addresses translated now, of instructions or of data?
    pub(crate) fn translates(&self) -> bool {
        self.levels().is_some() && (self.state.level != Level::M || self.data_level() != Level::M)
    }

    /// Levels of the page tables; `None` where translation is off.
    fn levels(&self) -> Option<u32> {
        let satp = self.state.csr.satp;
        if self.config.is_rv32() {
            return (satp >> 31 != 0).then_some(2);
        }
        match satp >> 60 {
            8 => Some(3),
            9 => Some(4),
            10 => Some(5),
            _ => None,
        }
    }

    /// The translation process (privileged 4.3.2).
    fn walk<B: Bus, E: Observe>(
        &mut self,
        address: u64,
        levels: u32,
        level: Level,
        purpose: Purpose,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<u64, Exception> {
        let rv32 = self.config.is_rv32();
        let (index_bits, entry_size) = if rv32 { (10, 4) } else { (9, 8) };
        let fault = page_fault(purpose, address);
        let bits = PAGE_BITS + levels * index_bits;
        if !rv32 && trackway_core::sign_extend(address, bits) as u64 != address {
            return Err(fault);
        }
        let mut walk =
            Walk { purpose, address, physical: None, page_size: 1 << PAGE_BITS, entries: List::new() };
        let satp = self.state.csr.satp;
        let mut table = (if rv32 { satp & 0x3f_ffff } else { satp & 0xfff_ffff_ffff }) << PAGE_BITS;
        for depth in (0..levels).rev() {
            let shift = PAGE_BITS + depth * index_bits;
            let at = table + (address >> shift & ((1 << index_bits) - 1)) * entry_size;
            let allowed = self.protection(at, entry_size, Purpose::Load, Level::S) == Protection::Allowed;
            let entry = if allowed { bus.entry(at, entry_size as usize) } else { None };
            let Some(entry) = entry else {
                fx.walk(&walk);
                return Err(access_fault(purpose, address));
            };
            walk.page_size = 1 << shift;
            let result = self.entry(entry, depth, shift, level, purpose);
            let ppn = if rv32 { entry >> 10 } else { entry >> 10 & 0xfff_ffff_ffff };
            match result {
                Err(()) => {
                    walk.entries.push((at, entry));
                    fx.walk(&walk);
                    return Err(fault);
                }
                Ok(None) => {
                    walk.entries.push((at, entry));
                    table = ppn << PAGE_BITS;
                }
                Ok(Some(set)) => {
                    if set != 0 {
                        let allowed =
                            self.protection(at, entry_size, Purpose::Store, Level::S) == Protection::Allowed;
                        if !allowed || !bus.write(at, entry_size as usize, entry | set) {
                            walk.entries.push((at, entry));
                            fx.walk(&walk);
                            return Err(access_fault(purpose, address));
                        }
                    }
                    walk.entries.push((at, entry | set));
                    // A NAPOT page is one of 64 KiB.
                    let shift = if !rv32 && entry & pte::N != 0 { PAGE_BITS + 4 } else { shift };
                    walk.page_size = 1 << shift;
                    let offset = (1 << shift) - 1;
                    let physical = (ppn << PAGE_BITS) & !offset | address & offset;
                    walk.physical = Some(physical);
                    fx.walk(&walk);
                    return Ok(physical);
                }
            }
        }
        fx.walk(&walk);
        Err(fault)
    }

    /// Checks an entry: `Ok(None)` to continue, `Ok(Some(bits))` for a leaf in which these bits must be set,
    /// `Err` a page fault.
    fn entry(
        &self,
        entry: u64,
        depth: u32,
        shift: u32,
        level: Level,
        purpose: Purpose,
    ) -> Result<Option<u64>, ()> {
        let has = |bits: u64| entry & bits == bits;
        let leaf = entry & (pte::R | pte::X) != 0;
        if !has(pte::V) || has(pte::W) && !has(pte::R) || !self.is_upper_legal(entry, leaf, depth) {
            return Err(());
        }
        if !leaf {
            let reserved = entry & (pte::U | pte::A | pte::D) != 0;
            return if reserved || depth == 0 { Err(()) } else { Ok(None) };
        }
        let mstatus = self.state.csr.mstatus;
        let user = match (has(pte::U), level) {
            (true, Level::S) => purpose != Purpose::Fetch && mstatus & status::SUM != 0,
            (user, level) => user == (level == Level::U),
        };
        let allowed = match purpose {
            Purpose::Fetch => has(pte::X),
            Purpose::Load => has(pte::R) || mstatus & status::MXR != 0 && has(pte::X),
            Purpose::Store => has(pte::W),
        };
        let misaligned = (entry >> 10 << PAGE_BITS) & ((1 << shift) - 1) & !PAGE_MASK != 0;
        if !user || !allowed || misaligned {
            return Err(());
        }
        let needed = if purpose == Purpose::Store { pte::A | pte::D } else { pte::A };
        match (needed & !entry, self.ad_update()) {
            (0, _) => Ok(Some(0)),
            (set, AdUpdate::Hardware) => Ok(Some(set)),
            (_, AdUpdate::Trap) => Err(()),
        }
    }

    /// Bits 63:54: NAPOT pages (Svnapot) and memory types (Svpbmt); the others belong to extensions that the model does
    /// not have.
    fn is_upper_legal(&self, entry: u64, leaf: bool, depth: u32) -> bool {
        if self.config.is_rv32() || entry >> 54 == 0 {
            return true;
        }
        let typed = self.state.csr.menvcfg & envcfg::PBMTE != 0;
        let memory_type = match entry >> 61 & 3 {
            0 => true,
            1 | 2 => typed && leaf,
            _ => false,
        };
        let napot = entry & pte::N == 0
            || self.config.extensions.has(Extension::Svnapot) && leaf && depth == 0 && entry >> 10 & 15 == 8;
        memory_type && napot && entry >> 54 & 0x7f == 0
    }

    /// Memory protection of `size` bytes (privileged 3.7.1): the first entry that matches any byte decides.
    fn protection(&self, address: u64, size: u64, purpose: Purpose, level: Level) -> Protection {
        let entries = usize::from(self.config.pmp_entries.min(64));
        let csr = &self.state.csr;
        let mut below = 0u64;
        for (&cfg, &addr) in csr.pmpcfg.iter().zip(&csr.pmpaddr).take(entries) {
            let grain = self.config.pmp_grain.min(53);
            let coarse = addr >> grain << grain;
            let top = coarse << 2;
            let (start, end) = match cfg >> 3 & 3 {
                0 => (0, 0),
                1 => (below, top),
                2 => (addr << 2, (addr << 2) + 4),
                _ => {
                    let addr = if grain > 0 { addr | ((1 << (grain - 1)) - 1) } else { addr };
                    let ones = addr.trailing_ones().min(54);
                    let start = (addr & !((1 << ones) - 1)) << 2;
                    (start, start.saturating_add(8 << ones))
                }
            };
            below = top;
            let last = address.saturating_add(size - 1);
            if start >= end || last < start || address >= end {
                continue;
            }
            if address < start || last >= end {
                return Protection::Mixed;
            }
            let permissions = permissions(cfg, level == Level::M, csr.mseccfg & mseccfg::MML != 0);
            return if permissions & bit(purpose) != 0 { Protection::Allowed } else { Protection::Denied };
        }
        // Smepmp: machine mode can be denied what no entry allows, and can never execute it in lockdown.
        let denied =
            csr.mseccfg & mseccfg::MMWP != 0 || csr.mseccfg & mseccfg::MML != 0 && purpose == Purpose::Fetch;
        match level {
            Level::M if denied => Protection::Denied,
            Level::M => Protection::Allowed,
            _ if entries == 0 => Protection::Allowed,
            _ => Protection::Denied,
        }
    }
}

#[cfg(test)]
mod tests {
    use trackway_core::Isa;

    use super::*;
    use crate::config::Config;
    use crate::csr;
    use crate::effects::Effects;
    use crate::ram::Ram;

    const RAM: u64 = 0x8000_0000;
    const LEAF: u64 = pte::V | pte::R | pte::W | pte::X | pte::A | pte::D;

    /// A core in S with Sv39, its root table at the start of RAM, and protection that allows everything.
    fn paged() -> (Hart, Ram) {
        let mut hart = Hart::new(Config::new(Isa::Rv64));
        hart.set_csr(csr::PMPADDR0, u64::MAX);
        hart.set_csr(csr::PMPCFG0, 0x1f);
        hart.set_csr(csr::SATP, 8 << 60 | RAM >> 12);
        hart.set_level(Level::S);
        (hart, Ram::new(RAM, 0x10000))
    }

    fn put(ram: &mut Ram, address: u64, entry: u64) {
        assert!(ram.write(address, 8, entry));
    }

    const fn pointer(table: u64) -> u64 {
        table >> 12 << 10 | pte::V
    }

    /// Sv39: three levels for a page of 4 KiB, and a leaf above for larger ones (privileged 4.4).
    #[test]
    fn pages_of_each_size() {
        let (mut hart, mut ram) = paged();
        put(&mut ram, RAM, pointer(RAM + 0x1000));
        put(&mut ram, RAM + 0x1000, pointer(RAM + 0x2000));
        put(&mut ram, RAM + 0x2000 + 8 * 3, RAM >> 12 << 10 | LEAF);
        put(&mut ram, RAM + 0x1000 + 8, 0x8020_0000 >> 12 << 10 | LEAF);
        put(&mut ram, RAM + 8 * 2, 0xc000_0000 >> 12 << 10 | LEAF);
        for (address, physical, entries) in
            [(0x3abc, RAM + 0xabc, 3), (0x20_1234, 0x8020_1234, 2), (0x8123_4567, 0xc123_4567, 1)]
        {
            let mut effects = Effects::new();
            let found = hart.translate(address, 1, Purpose::Load, &mut ram, &mut effects);
            assert_eq!(found, Ok(physical), "{address:#x}");
            let walk = effects.walks.iter().next().expect("a walk");
            assert_eq!((walk.entries.len(), walk.physical), (entries, Some(physical)), "{address:#x}");
            // The second time the translation is cached.
            effects.begin();
            assert_eq!(hart.translate(address, 1, Purpose::Load, &mut ram, &mut effects), Ok(physical));
            assert!(effects.walks.is_empty());
        }
    }

    #[test]
    fn entries_that_fault() {
        let user = LEAF | pte::U;
        for (entry, purpose, level, fine) in [
            (LEAF, Purpose::Fetch, Level::S, true),
            (LEAF, Purpose::Load, Level::U, false),
            (user, Purpose::Load, Level::U, true),
            (user, Purpose::Load, Level::S, false), // SUM is clear
            (LEAF & !pte::V, Purpose::Load, Level::S, false),
            (LEAF & !pte::R, Purpose::Store, Level::S, false), // W without R is reserved
            (LEAF & !(pte::W | pte::R), Purpose::Load, Level::S, false), // MXR is clear
            (LEAF & !pte::W, Purpose::Store, Level::S, false),
            (LEAF & !pte::X, Purpose::Fetch, Level::S, false),
            (LEAF | 1 << 54, Purpose::Load, Level::S, false),
            (LEAF | 1 << 10, Purpose::Load, Level::S, false), // a misaligned page of 1 GiB
        ] {
            let (mut hart, mut ram) = paged();
            put(&mut ram, RAM, entry);
            hart.set_level(level);
            let found = hart.translate(0x1000, 4, purpose, &mut ram, &mut ());
            let expected = if fine { Ok(0x1000) } else { Err(page_fault(purpose, 0x1000)) };
            assert_eq!(found, expected, "{entry:#x} {purpose:?} {level:?}");
        }
        // Bits above the 39 have to repeat bit 38.
        let (mut hart, mut ram) = paged();
        let found = hart.translate(1 << 40, 4, Purpose::Load, &mut ram, &mut ());
        assert_eq!(found, Err(page_fault(Purpose::Load, 1 << 40)));
    }

    /// Upper bits: 64 KiB pages (Svnapot), memory types (Svpbmt) where they are on, the rest reserved.
    #[test]
    fn upper_bits() {
        let extensions =
            crate::extensions::Extensions::ALL.with(Extension::Svnapot, true).with(Extension::Svpbmt, true);
        for (bits, types, fine) in [
            (1 << 63 | 8 << 10, false, true),
            (1 << 63 | 4 << 10, false, false),
            (1 << 63 | 9 << 10, false, false),
            (1 << 61, false, false),
            (1 << 61, true, true),
            (2 << 61, true, true),
            (3 << 61, true, false),
            (1 << 60, true, false),
        ] {
            let (mut hart, mut ram) = paged();
            hart.config.extensions = extensions;
            hart.write_csr(csr::MENVCFG, if types { envcfg::PBMTE } else { 0 });
            put(&mut ram, RAM, pointer(RAM + 0x1000));
            put(&mut ram, RAM + 0x1000, pointer(RAM + 0x2000));
            put(&mut ram, RAM + 0x2000 + 8 * 3, RAM >> 12 << 10 | LEAF | bits);
            let found = hart.translate(0x3abc, 1, Purpose::Load, &mut ram, &mut ());
            let place = if bits >> 63 != 0 { RAM + 0x3abc } else { RAM + 0xabc };
            let expected = if fine { Ok(place) } else { Err(page_fault(Purpose::Load, 0x3abc)) };
            assert_eq!(found, expected, "{bits:#x} {types}");
        }
    }

    /// Accessed and dirty bits are set by hardware, or by software after a fault (privileged 4.3.1).
    #[test]
    fn accessed_and_dirty_bits() {
        for (update, purpose, left) in [
            (AdUpdate::Hardware, Purpose::Load, Some(LEAF & !pte::D)),
            (AdUpdate::Hardware, Purpose::Store, Some(LEAF)),
            (AdUpdate::Trap, Purpose::Load, None),
        ] {
            let (mut hart, mut ram) = paged();
            hart.config.ad_update = update;
            let fresh = LEAF & !(pte::A | pte::D);
            put(&mut ram, RAM, fresh);
            let found = hart.translate(0x1000, 4, purpose, &mut ram, &mut ());
            assert_eq!(found.is_ok(), left.is_some());
            assert_eq!(ram.read(RAM, 8), Some(left.unwrap_or(fresh)));
        }
    }

    /// Memory protection (privileged 3.7.1): the first matching entry decides, M is bound by locked ones only.
    #[test]
    fn protection_by_entries() {
        let mut hart = Hart::new(Config::new(Isa::Rv64));
        // 0: NAPOT of 16 bytes at 0x1000, read. 1: TOR up to 0x3000, read, write, locked. 2: NA4 at 0x3000, execute.
        hart.set_csr(csr::PMPADDR0, 0x1000 >> 2 | 1);
        hart.set_csr(csr::PMPADDR0 + 1, 0x3000 >> 2);
        hart.set_csr(csr::PMPADDR0 + 2, 0x3000 >> 2);
        hart.set_csr(csr::PMPCFG0, 0x14_8b_19);
        let (r, w, x) = (Purpose::Load, Purpose::Store, Purpose::Fetch);
        for (address, size, purpose, level, expected) in [
            (0x1000, 8, r, Level::S, Protection::Allowed),
            (0x1000, 8, w, Level::S, Protection::Denied),
            (0x1000, 8, w, Level::M, Protection::Allowed),
            (0x0ffc, 8, r, Level::U, Protection::Mixed),
            (0x2ff8, 8, w, Level::U, Protection::Allowed),
            (0x2ff8, 8, x, Level::M, Protection::Denied),
            (0x3000, 4, x, Level::U, Protection::Allowed),
            (0x3004, 4, r, Level::U, Protection::Denied),
            (0x3004, 4, r, Level::M, Protection::Allowed),
        ] {
            let found = hart.protection(address, size, purpose, level);
            assert!(found == expected, "{address:#x} {purpose:?} {level:?}");
        }
    }
}
