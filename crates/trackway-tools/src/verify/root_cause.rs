//! Elements in doubt that a step reads.

use trackway_core::RegClass;
use trackway_hart::csr;
use trackway_isa::riscv::Class;

use super::decode::Decoded;
use super::suspects::{Doubtful, PROTECTION, Root, canonical};
use super::traced::TracedStep;
use super::verifier::Verifier;

impl Verifier {
    /// Elements in doubt that the step may have read.
    pub(super) fn doubtful_sources(
        &self,
        traced: &TracedStep,
        decoded: Option<&Decoded>,
        trapped: bool,
    ) -> Vec<Doubtful> {
        let suspects = &self.suspects;
        let mut found = Vec::new();
        found.extend((suspects.pc != 0).then_some(Doubtful::Pc));
        found.extend((suspects.level != 0).then_some(Doubtful::Level));
        if let Some(decoded) = decoded {
            let class = decoded.inst.map(|inst| inst.op.class());
            if suspects.reservation != 0 && matches!(class, Some(Class::StoreConditional(_))) {
                found.push(Doubtful::Reservation);
            }
            let read = |sources: u32, file: &[Root; 32]| {
                let file = *file;
                (0..32u8).filter(move |n| sources >> n & 1 != 0 && file[usize::from(*n)] != 0)
            };
            found.extend(read(decoded.x_sources, &suspects.x).map(Doubtful::X));
            found.extend(read(decoded.f_sources, &suspects.f).map(Doubtful::F));
        }
        // Registers that the trace says were read.
        for reg in traced.reads.iter().map(|read| read.reg) {
            let n = reg.number as u8 & 31;
            let source = match reg.class {
                RegClass::Int if suspects.x[usize::from(n)] != 0 => Doubtful::X(n),
                RegClass::Float if suspects.f[usize::from(n)] != 0 => Doubtful::F(n),
                _ => continue,
            };
            if !found.contains(&source) {
                found.push(source);
            }
        }
        let trapped = trapped || traced.trap.is_some();
        let csrs = suspects.csrs.keys().filter(|number| decides(**number, decoded, trapped));
        found.extend(csrs.copied().map(Doubtful::Csr));
        if !suspects.memory.is_empty() {
            let model = self.effects.memory.iter().map(|access| (access.physical, access.size.into()));
            let trace = traced.accesses.iter().map(|access| (self.physical(access), access.size.min(16)));
            let code = std::iter::once((self.effects.physical_pc, self.effects.length.into()));
            let entries = self.walked().map(|at| (at, 8));
            for (at, size) in entries.chain(model).chain(trace).chain(code) {
                let place = Doubtful::Memory(at, size);
                if size > 0 && suspects.of_bytes(at, size).is_some() && !found.contains(&place) {
                    found.push(place);
                }
            }
        }
        found
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

/// Does a control register decide about the outcome of such a step?
fn decides(number: u16, decoded: Option<&Decoded>, trapped: bool) -> bool {
    // Translation and protection decide about every fetch.
    if number == csr::SATP || PROTECTION.contains(&number) {
        return true;
    }
    let of_trap = [csr::MSTATUS, csr::MEDELEG, csr::MIDELEG, csr::MIE, csr::MTVEC, csr::STVEC];
    let Some(decoded) = decoded else { return of_trap.contains(&number) };
    if trapped && of_trap.contains(&number) {
        return true;
    }
    let floats = [csr::FFLAGS, csr::FRM];
    match decoded.inst.map(|inst| (inst.op.class(), inst.imm as u16 & 0xfff)) {
        Some((Class::Csr, named)) => {
            let also = [csr::MSTATUS, csr::MIDELEG, csr::MCOUNTEREN, csr::SCOUNTEREN];
            let float = matches!(named, csr::FFLAGS | csr::FRM | csr::FCSR) && floats.contains(&number);
            canonical(named) == number || also.contains(&number) || float
        }
        Some((Class::System, _)) => matches!(number, csr::MSTATUS | csr::MEPC | csr::SEPC | csr::MENVCFG),
        Some((Class::Fence, _)) | None => number == csr::MSTATUS,
        Some(_) if decoded.float => number == csr::MSTATUS || floats.contains(&number),
        Some(_) => decoded.memory && number == csr::MSTATUS,
    }
}
