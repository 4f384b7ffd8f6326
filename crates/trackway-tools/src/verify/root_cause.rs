//! Doubts: what a mismatch puts in doubt, what clears a doubt, and which mismatches follow from one.

use trackway_core::{MemKind, Reg, RegClass};
use trackway_hart::{AccessKind, csr};

use super::compare::{joined, name};
use super::decode::Decoded;
use super::report::Element;
use super::suspects::Root;
use super::traced::TracedStep;
use super::verifier::Verifier;

impl Verifier {
    /// The root cause that a mismatch follows from, if one of its sources is in doubt, and that source.
    pub(super) fn root_of(
        &self,
        traced: &TracedStep,
        decoded: Option<&Decoded>,
        trapped: bool,
        elements: &[Element],
    ) -> Option<(Root, String)> {
        let suspects = &self.suspects;
        let through = |name: &str| name.to_string();
        // Bits that only page walks set, after walks in the wrong level or place.
        let accessed_dirty = elements.iter().all(|element| element.differing() & !0xc0 == 0);
        if suspects.pages != 0 && accessed_dirty {
            return Some((suspects.pages, through("accessed and dirty bits of pages")));
        }
        if suspects.stray != 0 && decoded.is_some_and(|decoded| decoded.memory) {
            return Some((suspects.stray, through("a store to an unknown place")));
        }
        if !suspects.any {
            return None;
        }
        let known = |root: Root, name: &str| (root != 0).then(|| (root, through(name)));
        if let Some(found) = known(suspects.pc, "pc").or_else(|| known(suspects.level, "privilege")) {
            return Some(found);
        }
        let of_csr = |(number, root): (u16, Root)| (root, name(Reg { class: RegClass::Csr, number }));
        if let Some(found) = suspects.environment() {
            return Some(of_csr(found));
        }
        let of_memory =
            |at: u64, size: u64| suspects.of_bytes(at, size).map(|root| (root, format!("memory at {at:#x}")));
        // A translation rests on the entries that it read.
        if let Some(found) = self.walked().find_map(|at| of_memory(at, 8)) {
            return Some(found);
        }
        let any_csr = || suspects.csrs.iter().next().map(|(number, root)| of_csr((*number, *root)));
        let csr_of = |number: u16| suspects.csrs.get(&number).map(|root| of_csr((number, *root)));
        if (trapped || traced.trap.is_some())
            && let Some(found) = any_csr()
        {
            return Some(found);
        }
        let decoded = decoded?;
        let mut root = suspects.of_sources(decoded).map(|(reg, root)| (root, name(reg)));
        if decoded.system {
            root = root.or_else(any_csr);
        }
        if decoded.float || decoded.memory {
            root = root.or(csr_of(csr::MSTATUS)).or(csr_of(csr::FFLAGS)).or(csr_of(csr::FRM));
        }
        if decoded.memory {
            let model = self.effects.memory.iter().map(|access| (access.physical, u64::from(access.size)));
            let trace = traced.accesses.iter().map(|access| (self.physical(access), access.size));
            root = root.or_else(|| model.chain(trace).find_map(|(at, size)| of_memory(at, size)));
        }
        root.or_else(|| of_memory(self.effects.physical_pc, self.effects.length.into()))
    }

    /// Puts the elements of a mismatch in doubt.
    pub(super) fn suspect(&mut self, traced: &TracedStep, elements: &[Element], root: Root) {
        let (model, shadow) = (self.model.state(), self.shadow.state());
        for n in 0..32 {
            if model.x[n] != shadow.x[n] {
                self.suspects.x[n] = root;
            }
            if model.f[n] != shadow.f[n] {
                self.suspects.f[n] = root;
            }
        }
        if model.pc != shadow.pc {
            (self.suspects.pc, self.suspects.pc_on_trial) = (root, false);
        }
        if model.level != shadow.level {
            self.suspects.level = root;
        }
        // A control register that reads differently does not hold what the trace recorded before.
        if let (Some((number, _)), Some((rd, _))) = (self.effects.csr_read, self.effects.x)
            && model.x[usize::from(rd & 31)] != shadow.x[usize::from(rd & 31)]
        {
            self.suspects.csr(number, root);
        }
        // Accessed and dirty bits may have been set for the wrong reason, or not at all.
        self.walked().for_each(|at| self.suspects.bytes(at, 8, root));
        for element in elements {
            match element.name.as_str() {
                "instruction" | "pc" => (self.suspects.pc, self.suspects.pc_on_trial) = (root, false),
                "interrupt" | "trap" => {
                    self.suspects.csr(csr::MCAUSE, root);
                    self.suspects.csr(csr::SCAUSE, root);
                }
                name => {
                    if let Some(number) = trackway_isa::riscv::csr_number(name) {
                        self.suspects.csr(number, root);
                    }
                }
            }
        }
        self.suspect_stores(traced, root);
        self.suspects.any = true;
    }

    /// Stores that only one of the two made, or that differ.
    fn suspect_stores(&mut self, traced: &TracedStep, root: Root) {
        let model = self.effects.memory.iter().filter_map(|access| match access.kind {
            AccessKind::Load => None,
            AccessKind::Store => Some((access.physical, u64::from(access.size), Some(access.data))),
            AccessKind::Amo => Some((access.physical, u64::from(access.size), Some(access.stored))),
        });
        let trace = traced.accesses.iter().filter_map(|access| match access.kind {
            MemKind::Write => Some((self.physical(access), access.size, access.data)),
            MemKind::ReadWrite => Some((self.physical(access), access.size, access.stored)),
            _ => None,
        });
        let (model, trace): (Vec<_>, Vec<_>) = (model.collect(), trace.collect());
        let differ: Vec<_> = model
            .iter()
            .chain(&trace)
            .copied()
            .filter(|s| !model.contains(s) || !trace.contains(s))
            .collect();
        differ.into_iter().for_each(|(at, size, _)| self.suspects.bytes(at, size, root));
    }

    /// Elements that were written and agree are no longer in doubt.
    pub(super) fn agree(&mut self, traced: &TracedStep, decoded: Option<&Decoded>, trapped: bool) {
        if !self.suspects.any {
            return;
        }
        if let Some((rd, _)) = self.effects.x {
            self.suspects.x[usize::from(rd & 31)] = 0;
        }
        if let Some((rd, _)) = self.effects.f {
            self.suspects.f[usize::from(rd & 31)] = 0;
        }
        // Only recorded registers were compared, and a view shows only a part of one.
        for write in traced.writes.iter().filter(|write| write.reg.class == RegClass::Csr) {
            if !matches!(write.reg.number, csr::SSTATUS | csr::SIE | csr::SIP) {
                self.suspects.clear_csr(write.reg.number);
            }
        }
        self.agree_memory(traced, decoded);
        if std::mem::replace(&mut self.suspects.pc_on_trial, true) {
            self.suspects.pc = 0;
        }
        if trapped || traced.privilege.is_some() {
            self.suspects.level = 0;
        }
        self.suspects.update_any();
    }

    /// Memory whose loaded or stored content the trace recorded is no longer in doubt. Unrecorded stores of doubtful
    /// registers, or through doubtful page tables, are.
    fn agree_memory(&mut self, traced: &TracedStep, decoded: Option<&Decoded>) {
        let joined = joined(&traced.accesses);
        let recorded = joined.as_ref().map_or(&traced.accesses[..], std::slice::from_ref);
        let mut recorded = recorded.iter().filter(|access| access.kind != MemKind::Faulting);
        let writes = traced.writes.iter().any(|w| matches!(w.reg.class, RegClass::Int | RegClass::Float));
        let translation = self.translation_suspect();
        let sources = decoded.and_then(|decoded| self.suspects.of_sources(decoded)).map(|(_, root)| root);
        let accesses = self.effects.memory;
        for access in accesses.iter() {
            let (data, stored) = recorded.next().map_or((None, None), |access| (access.data, access.stored));
            let checked = match access.kind {
                AccessKind::Load => data.is_some() || writes,
                AccessKind::Store => data.is_some(),
                AccessKind::Amo => data.or(stored).is_some(),
            };
            let (at, size, stores) = (access.physical, access.size.into(), access.kind != AccessKind::Load);
            match sources {
                _ if checked => self.suspects.clear_bytes(at, size),
                Some(root) if stores => self.suspects.bytes(at, size, root),
                _ => {}
            }
            if let (true, Some(root)) = (stores, translation) {
                // Its address on the core is unknown.
                self.suspects.stray = root;
            }
        }
    }

    /// The root cause that puts in doubt where accesses go.
    pub(super) fn translation_suspect(&self) -> Option<Root> {
        let suspects = &self.suspects;
        let level = || (suspects.level != 0).then_some(suspects.level);
        let status = || suspects.csrs.get(&csr::MSTATUS).copied();
        self.walked()
            .find_map(|at| suspects.of_bytes(at, 8))
            .or_else(|| suspects.environment().map(|(_, root)| root))
            .or_else(|| if self.translates() { level().or_else(status) } else { None })
    }

    /// Addresses of the page table entries that the step read.
    fn walked(&self) -> impl Iterator<Item = u64> + use<> {
        let walks = self.effects.walks;
        (0..walks.len()).flat_map(move |n| {
            let entries = walks.iter().nth(n).map(|walk| walk.entries).unwrap_or_default();
            (0..entries.len()).filter_map(move |n| entries.iter().nth(n)).map(|(at, _)| at)
        })
    }
}
