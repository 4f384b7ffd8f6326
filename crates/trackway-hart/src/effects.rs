//! Effects of one step: reported to an observer, or kept in a list that never allocates.

use trackway_isa::riscv::Inst;

use crate::state::State;
use crate::trap::Taken;

/// Kind of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Load.
    Load,
    /// Store.
    Store,
    /// Load and store of an atomic.
    Amo,
}

/// A memory access that completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Load, store or both.
    pub kind: AccessKind,
    /// Size in bytes.
    pub size: u8,
    /// Virtual address.
    pub address: u64,
    /// Physical address of its first byte.
    pub physical: u64,
    /// Loaded or stored; loaded for an atomic.
    pub data: u64,
    /// Value that an atomic stored.
    pub stored: u64,
}

/// Why an address was translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Instruction fetch.
    Fetch,
    /// Load.
    Load,
    /// Store or atomic.
    Store,
}

/// A walk through the page tables; it ended at the last entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// The access that needed it.
    pub purpose: Purpose,
    /// Virtual address.
    pub address: u64,
    /// Physical address, where the walk succeeded.
    pub physical: Option<u64>,
    /// Bytes in the page.
    pub page_size: u64,
    /// Entries read: physical address and content as it was left.
    pub entries: List<(u64, u64), 5>,
}

/// A few values, in place.
#[derive(Clone, Copy)]
pub struct List<T, const N: usize> {
    items: [Option<T>; N],
    len: u8,
}

impl<T: Copy, const N: usize> List<T, N> {
    /// An empty list.
    pub const fn new() -> Self {
        Self { items: [None; N], len: 0 }
    }

    /// Appends; what does not fit is dropped, and `N` is chosen so that everything fits.
    #[inline]
    pub fn push(&mut self, item: T) {
        if let Some(slot) = self.items.get_mut(usize::from(self.len)) {
            *slot = Some(item);
            self.len += 1;
        }
    }

    /// Removes all items.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// True if there is no item.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first value.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        if self.len > 0 { self.items[0].as_ref() } else { None }
    }

    /// The values in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.items[..self.len()].iter().copied().flatten()
    }
}

impl<T: Copy, const N: usize> Default for List<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy + PartialEq, const N: usize> PartialEq for List<T, N> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Copy + Eq, const N: usize> Eq for List<T, N> {}

impl<T: Copy + std::fmt::Debug, const N: usize> std::fmt::Debug for List<T, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Receives the effects of a step as they happen. `()` ignores them all and costs nothing.
pub trait Observe {
    /// An instruction was fetched and is about to be executed; `state` is the state before it, but for its pc. False ends
    /// a stretch before it.
    fn instruction(&mut self, pc: u64, physical: u64, inst: &Inst, state: &State) -> bool;
    /// An encoding without meaning was fetched; it is about to trap.
    fn illegal(&mut self, pc: u64, physical: u64, encoding: u32, length: u8);
    /// An integer register other than `x0` was written.
    fn x(&mut self, number: u8, old: u64, value: u64);
    /// A floating-point register was written.
    fn f(&mut self, number: u8, old: u64, value: u64);
    /// A CSR instruction read this.
    fn csr_read(&mut self, number: u16, value: u64);
    /// A CSR was written: by an instruction that names it, by a trap or return, or by accruing flags.
    fn csr(&mut self, number: u16, value: u64);
    /// Memory was accessed.
    fn memory(&mut self, access: Access);
    /// An address was translated by walking the page tables.
    fn walk(&mut self, walk: &Walk);
    /// A trap was taken.
    fn trap(&mut self, taken: Taken);
    /// An instruction of a stretch completed and leads to `next`; true ends the stretch.
    #[inline(always)]
    fn completed(&mut self, next: u64) -> bool {
        let _ = next;
        false
    }
}

impl Observe for () {
    #[inline(always)]
    fn instruction(&mut self, _: u64, _: u64, _: &Inst, _: &State) -> bool {
        true
    }
    #[inline(always)]
    fn illegal(&mut self, _: u64, _: u64, _: u32, _: u8) {}
    #[inline(always)]
    fn x(&mut self, _: u8, _: u64, _: u64) {}
    #[inline(always)]
    fn f(&mut self, _: u8, _: u64, _: u64) {}
    #[inline(always)]
    fn csr_read(&mut self, _: u16, _: u64) {}
    #[inline(always)]
    fn csr(&mut self, _: u16, _: u64) {}
    #[inline(always)]
    fn memory(&mut self, _: Access) {}
    #[inline(always)]
    fn walk(&mut self, _: &Walk) {}
    #[inline(always)]
    fn trap(&mut self, _: Taken) {}
}

/// The effects of one step, kept. Reuse it from step to step: nothing is allocated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Address of the instruction; `None` where an interrupt was taken and none was attempted.
    pub pc: Option<u64>,
    /// Its physical address; 0 where the fetch faulted.
    pub physical_pc: u64,
    /// Its encoding; 0 where the fetch faulted.
    pub encoding: u32,
    /// Its length; 0 where the fetch faulted.
    pub length: u8,
    /// The instruction, where it has a meaning.
    pub inst: Option<Inst>,
    /// Integer register written.
    pub x: Option<(u8, u64)>,
    /// A second integer register written: the upper one of a pair.
    pub upper_x: Option<(u8, u64)>,
    /// Floating-point register written.
    pub f: Option<(u8, u64)>,
    /// Value of that integer register before.
    pub old_x: u64,
    /// Value of that second integer register before.
    pub old_upper_x: u64,
    /// Value of that floating-point register before.
    pub old_f: u64,
    /// CSR that a CSR instruction read.
    pub csr_read: Option<(u16, u64)>,
    /// CSRs written, with their new values.
    pub csrs: List<(u16, u64), 6>,
    /// Memory accesses; one that crosses a page is still one. A cache block is zeroed by eight.
    pub memory: List<Access, 8>,
    /// Page walks. A translation that is still remembered makes none.
    pub walks: List<Walk, 4>,
    /// The trap that the step took.
    pub trap: Option<Taken>,
    /// Address of the next instruction.
    pub next_pc: u64,
}

impl Effects {
    /// No effects.
    pub fn new() -> Self {
        Self::default()
    }

    /// Integer registers written, with their new values: one, or a pair.
    #[inline]
    pub fn written_x(&self) -> impl Iterator<Item = (u8, u64)> + use<> {
        self.x.into_iter().chain(self.upper_x)
    }

    /// Forgets the last step.
    #[inline]
    pub fn begin(&mut self) {
        self.pc = None;
        self.physical_pc = 0;
        self.encoding = 0;
        self.length = 0;
        self.inst = None;
        self.x = None;
        self.upper_x = None;
        self.f = None;
        self.csr_read = None;
        self.csrs.clear();
        self.memory.clear();
        self.walks.clear();
        self.trap = None;
    }
}

impl Observe for Effects {
    #[inline]
    fn instruction(&mut self, pc: u64, physical: u64, inst: &Inst, _: &State) -> bool {
        self.pc = Some(pc);
        self.physical_pc = physical;
        self.encoding = inst.word;
        self.length = inst.length;
        self.inst = Some(*inst);
        true
    }
    fn illegal(&mut self, pc: u64, physical: u64, encoding: u32, length: u8) {
        self.pc = Some(pc);
        self.physical_pc = physical;
        self.encoding = encoding;
        self.length = length;
    }
    #[inline]
    fn x(&mut self, number: u8, old: u64, value: u64) {
        if self.x.is_some() {
            (self.upper_x, self.old_upper_x) = (Some((number, value)), old);
            return;
        }
        self.x = Some((number, value));
        self.old_x = old;
    }
    #[inline]
    fn f(&mut self, number: u8, old: u64, value: u64) {
        self.f = Some((number, value));
        self.old_f = old;
    }
    fn csr_read(&mut self, number: u16, value: u64) {
        self.csr_read = Some((number, value));
    }
    fn csr(&mut self, number: u16, value: u64) {
        self.csrs.push((number, value));
    }
    #[inline]
    fn memory(&mut self, access: Access) {
        self.memory.push(access);
    }
    fn walk(&mut self, walk: &Walk) {
        self.walks.push(*walk);
    }
    fn trap(&mut self, taken: Taken) {
        self.trap = Some(taken);
    }
}
