//! Elements of which two values are possible, and the root cause of each doubt.
//!
//! After a mismatch the model takes what the trace says. The state that it would have without that is kept beside
//! it: elements that differ between the two are in doubt until one of the values is seen to be right.

use std::collections::BTreeMap;

use trackway_hart::{Csrs, State, csr};

/// A root cause: its place in the report, plus 1.
pub(crate) type Root = u32;

/// An element in doubt that a step may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubtful {
    Pc,
    Level,
    Reservation,
    X(u8),
    F(u8),
    Csr(u16),
    /// Bytes in physical memory: address and count.
    Memory(u64, u64),
}

impl Doubtful {
    /// Copies it from one state to another; memory is not part of a state.
    pub(crate) fn copy(self, from: &State, to: &mut State) {
        match self {
            Doubtful::Pc => to.pc = from.pc,
            Doubtful::Level => to.level = from.level,
            Doubtful::Reservation => to.reservation = from.reservation,
            Doubtful::X(n) => to.x[usize::from(n & 31)] = from.x[usize::from(n & 31)],
            Doubtful::F(n) => to.f[usize::from(n & 31)] = from.f[usize::from(n & 31)],
            Doubtful::Csr(number) => copy_csr(number, &from.csr, &mut to.csr),
            Doubtful::Memory(..) => {}
        }
    }

    /// Is this byte of memory a part of it?
    pub(crate) fn holds(self, address: u64) -> bool {
        matches!(self, Doubtful::Memory(at, count) if address.wrapping_sub(at) < count)
    }
}

/// Doubtful elements with their root causes; 0 is none.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    pub(crate) x: [Root; 32],
    pub(crate) f: [Root; 32],
    pub(crate) csrs: BTreeMap<u16, Root>,
    /// Bytes in physical memory, with the value that they have if the fault is not adopted.
    pub(crate) memory: BTreeMap<u64, (Root, Option<u8>)>,
    pub(crate) pc: Root,
    pub(crate) level: Root,
    pub(crate) reservation: Root,
    /// The state of the model if it had adopted nothing; `None` where nothing is in doubt.
    pub(crate) other: Option<Box<State>>,
    /// Bits of control registers that the core has and the model lacks.
    pub(crate) lacking: BTreeMap<u16, (Root, u64)>,
}

/// Registers of physical memory protection.
pub(crate) const PROTECTION: std::ops::Range<u16> = 0x3a0..0x3f0;

/// Registers that are compared one by one to name a difference, protection apart; views are left out.
pub(crate) fn stored() -> impl Iterator<Item = u16> {
    let others = [csr::SENVCFG, csr::MSTATUSH, csr::MEDELEGH, csr::MENVCFGH, csr::MISA, csr::MCONFIGPTR];
    [csr::FFLAGS, csr::FRM].into_iter().chain(csr::TRAP_AND_TRANSLATION).chain(others)
}

/// The register that holds the state that this one shows.
pub(crate) fn canonical(number: u16) -> u16 {
    match number {
        csr::SSTATUS => csr::MSTATUS,
        csr::SIE => csr::MIE,
        csr::SIP => csr::MIP,
        csr::FCSR => csr::FFLAGS,
        number => number,
    }
}

macro_rules! fields {
    ($($number:ident $field:ident),* $(,)?) => {
        /// Numbers of the stored registers that differ; all of memory protection is one.
        pub(crate) fn differing(a: &Csrs, b: &Csrs) -> Vec<u16> {
            let mut numbers = Vec::new();
            $(if a.$field != b.$field {
                numbers.push(csr::$number);
            })*
            if (a.pmpcfg, a.pmpaddr) != (b.pmpcfg, b.pmpaddr) {
                numbers.push(PROTECTION.start);
            }
            let known = a.custom.keys().chain(b.custom.keys());
            numbers.extend(known.filter(|number| a.custom.get(number) != b.custom.get(number)));
            numbers
        }

        fn copy_csr(number: u16, from: &Csrs, to: &mut Csrs) {
            match number {
                $(csr::$number => to.$field = from.$field,)*
                _ if PROTECTION.contains(&number) => (to.pmpcfg, to.pmpaddr) = (from.pmpcfg, from.pmpaddr),
                _ => {
                    if let Some(value) = from.custom.get(&number) {
                        to.custom.insert(number, *value);
                    }
                }
            }
        }
    };
}

fields! {
    FFLAGS fflags, FRM frm, MSTATUS mstatus, MEDELEG medeleg, MIDELEG mideleg, MIE mie, MTVEC mtvec,
    MCOUNTEREN mcounteren, MCOUNTINHIBIT mcountinhibit, MSCRATCH mscratch, MEPC mepc, MCAUSE mcause, MTVAL mtval,
    MENVCFG menvcfg, STVEC stvec, SCOUNTEREN scounteren, SENVCFG senvcfg, SSCRATCH sscratch, SEPC sepc,
    SCAUSE scause, STVAL stval, SATP satp,
}

impl Suspects {
    /// Is anything in doubt?
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.other.is_some()
    }

    /// Nothing is in doubt any more; what the model lacks it still lacks.
    pub(crate) fn end(&mut self) {
        *self = Suspects { lacking: std::mem::take(&mut self.lacking), ..Suspects::default() };
    }

    pub(crate) fn clear_csr(&mut self, number: u16) {
        if !self.any() {
            return;
        }
        self.csrs.remove(&canonical(number));
        if number == csr::FCSR {
            self.csrs.remove(&csr::FRM);
        }
        if PROTECTION.contains(&number) {
            self.csrs.remove(&PROTECTION.start);
        }
    }

    pub(crate) fn clear_bytes(&mut self, address: u64, size: u64) {
        if !self.memory.is_empty() {
            (0..size.min(16)).for_each(|n| {
                self.memory.remove(&address.wrapping_add(n));
            });
        }
    }

    pub(crate) fn of_bytes(&self, address: u64, size: u64) -> Option<Root> {
        let last = address.saturating_add(size.max(1) - 1);
        self.memory.range(address..=last).next().map(|(_, (root, _))| *root)
    }

    /// The root cause of a doubt; 0 if there is none.
    pub(crate) fn root(&self, doubtful: Doubtful) -> Root {
        match doubtful {
            Doubtful::Pc => self.pc,
            Doubtful::Level => self.level,
            Doubtful::Reservation => self.reservation,
            Doubtful::X(n) => self.x[usize::from(n & 31)],
            Doubtful::F(n) => self.f[usize::from(n & 31)],
            Doubtful::Csr(number) => self.csrs.get(&number).copied().unwrap_or(0),
            Doubtful::Memory(at, count) => self.of_bytes(at, count).unwrap_or(0),
        }
    }

    /// Everything that is not in doubt is the same in the other state; and there is none if nothing is.
    pub(crate) fn follow(&mut self, model: &State) {
        let Some(other) = &mut self.other else { return };
        for n in 0..32 {
            if self.x[n] == 0 {
                other.x[n] = model.x[n];
            }
            if self.f[n] == 0 {
                other.f[n] = model.f[n];
            }
        }
        if self.pc == 0 {
            other.pc = model.pc;
        }
        if self.level == 0 {
            other.level = model.level;
        }
        for number in differing(&model.csr, &other.csr) {
            if !self.csrs.contains_key(&number) {
                copy_csr(number, &model.csr, &mut other.csr);
            }
        }
        // The environment decides these.
        (other.csr.mcycle, other.csr.minstret, other.csr.time) =
            (model.csr.mcycle, model.csr.minstret, model.csr.time);
        (other.csr.mip, other.csr.seip_line) = (model.csr.mip, model.csr.seip_line);
        other.waiting = model.waiting;
        if self.reservation == 0 {
            other.reservation = model.reservation;
        }
        let nothing = self.pc == 0
            && self.level == 0
            && self.reservation == 0
            && self.x.iter().chain(&self.f).all(|root| *root == 0)
            && self.csrs.is_empty()
            && self.memory.is_empty();
        if nothing {
            self.other = None;
        }
    }

    /// Works out again which registers are in doubt. `earlier` has both states before the step; a doubt that the step
    /// did not change keeps its root cause, as do control registers that are not `named`; the others have `cause`.
    pub(crate) fn compare(
        &mut self,
        model: &State,
        other: State,
        earlier: Option<(&State, &State)>,
        named: &[u16],
        cause: Root,
    ) {
        let root = |a: u64, b: u64, before: Option<(u64, u64)>, root: Root| match a == b {
            true => 0,
            false if root != 0 && before == Some((a, b)) => root,
            false => cause,
        };
        for n in 0..32 {
            let x = earlier.map(|(a, b)| (a.x[n], b.x[n]));
            self.x[n] = root(model.x[n], other.x[n], x, self.x[n]);
            let f = earlier.map(|(a, b)| (a.f[n], b.f[n]));
            self.f[n] = root(model.f[n], other.f[n], f, self.f[n]);
        }
        self.pc = root(model.pc, other.pc, None, self.pc);
        let level = earlier.map(|(a, b)| (a.level as u64, b.level as u64));
        self.level = root(model.level as u64, other.level as u64, level, self.level);
        self.reservation = match model.reservation == other.reservation {
            true => 0,
            false if self.reservation != 0 => self.reservation,
            false => cause,
        };
        let csrs = differing(&model.csr, &other.csr).into_iter().map(|number| {
            let old = self.csrs.get(&number).copied().filter(|_| !named.contains(&number));
            (number, old.unwrap_or(cause))
        });
        self.csrs = csrs.collect();
        self.other = Some(Box::new(other));
        self.follow(model);
    }
}
