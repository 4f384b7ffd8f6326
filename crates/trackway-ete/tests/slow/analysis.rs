//! Stage 3: elements to instructions, K10.5.5.

use super::instruction::instruction;
use super::*;

impl Decoder<'_> {
    fn wrap(&self, address: u64) -> u64 {
        if self.current.sixty_four { address } else { address & 0xffff_ffff }
    }

    /// K10.5.5.1.
    pub(super) fn analyse(&mut self, element: Element) {
        match element {
            Element::Target(entry) => {
                (self.address, self.has_address) = (entry, true);
                self.after_indirect = false;
                self.clear_pending = false;
            }
            Element::Context(context) => {
                (self.current, self.has_context) = (context, true);
            }
            Element::Mispredict => self.mispredict(),
            Element::TraceOn => {
                self.out.push(Out::TraceOn);
                self.lose();
            }
            Element::Atom(taken) => self.atom_element(taken),
            Element::Exception(number, entry) => self.exception(number, entry),
            Element::Source(entry) => self.source(entry),
            Element::Q(count) => {
                self.return_match();
                self.out.push(Out::Q(count));
                self.has_address = false;
                self.after_indirect = false;
            }
            Element::Discard => {
                self.out.push(Out::Discard);
                self.lose();
            }
            Element::Overflow => {
                self.out.push(Out::Overflow);
                self.lose();
            }
            Element::TraceInfo { .. } => {
                self.return_match();
                self.stack.clear();
                self.clear_pending = true;
            }
            Element::Timestamp(value) => self.out.push(Out::Timestamp(value)),
            Element::Cycles(count) => self.out.push(Out::Cycles(count)),
            Element::Event(number) => self.out.push(Out::Event(number)),
            Element::Instrumentation(value) => self.out.push(Out::Instrumentation(value)),
            Element::TransStart | Element::TransCommit | Element::TransFailure => unreachable!(),
        }
    }

    fn lose(&mut self) {
        (self.has_address, self.has_context, self.after_indirect) = (false, false, false);
        self.stack.clear();
        self.clear_pending = true;
        self.last = None;
    }

    /// K10.5.5.18.2; not after an exception.
    fn return_match(&mut self) {
        if self.has_context && !self.has_address && self.after_indirect {
            self.after_indirect = false;
            if let Some(top) = self.stack.pop() {
                (self.address, self.has_address) = (top, true);
            }
        }
    }

    fn next_inst(&self) -> Option<Inst> {
        let (sixty_four, thumb) = (self.current.sixty_four, self.address.thumb);
        let address = self.wrap(self.address.address);
        let (word, size) = (self.fetch)(sixty_four, thumb, address)?;
        Some(instruction(sixty_four, thumb, address, word, size, self.unit.wfx))
    }

    fn output(&mut self) {
        let address = self.wrap(self.address.address);
        self.out.push(Out::Instruction(address, self.current.el, self.current.context_id));
    }

    /// K10.5.5.18.3 and K10.5.5.18.4.
    fn branch(&mut self, inst: Inst, taken: bool) {
        self.last = Some((self.address, inst, taken));
        self.leave(inst, taken);
    }

    fn leave(&mut self, inst: Inst, taken: bool) {
        (self.has_address, self.after_indirect) = (true, false);
        match inst.kind {
            Kind::Direct if taken => self.address = inst.target,
            Kind::Indirect if taken => {
                self.has_address = false;
                self.after_indirect = self.unit.return_stack;
            }
            _ => self.address.address = self.wrap(self.address.address.wrapping_add(inst.size)),
        }
    }

    /// K10.5.5.3.1: a call that is traced as taken.
    fn update_stack(&mut self, inst: Inst, taken: bool) {
        if inst.link && taken && self.unit.return_stack && !self.clear_pending {
            let address = self.wrap(self.address.address.wrapping_add(inst.size));
            self.stack.push(Entry { address, ..self.address });
            if self.stack.len() > 15 {
                self.stack.remove(0);
            }
        }
    }

    /// K10.5.5.4.1.
    fn atom_element(&mut self, taken: bool) {
        self.return_match();
        while self.has_context && self.has_address {
            let Some(inst) = self.next_inst() else {
                self.has_address = false;
                return;
            };
            self.output();
            if inst.kind != Kind::Other {
                self.update_stack(inst, taken);
                return self.branch(inst, taken);
            }
            self.address.address = self.wrap(self.address.address.wrapping_add(inst.size));
        }
        self.last = None;
    }

    /// K10.5.5.6.1.
    fn exception(&mut self, number: u8, entry: Option<Entry>) {
        self.return_match();
        if let Some(entry) = entry {
            let end = self.wrap(entry.address);
            while self.has_context && self.has_address && self.wrap(self.address.address) < end {
                let Some(inst) = self.next_inst() else { break };
                self.output();
                self.address.address = self.wrap(self.address.address.wrapping_add(inst.size));
            }
        }
        self.out.push(Out::Exception(number, entry.map(|entry| self.wrap(entry.address))));
        // An address follows: the return stack is not used.
        (self.has_address, self.after_indirect) = (false, false);
        self.last = None;
    }

    /// K10.5.5.7.1: up to the instruction at the source address, and no further.
    fn source(&mut self, entry: Entry) {
        self.return_match();
        let end = self.wrap(entry.address);
        while self.has_context && self.has_address {
            let here = self.wrap(self.address.address);
            assert!(here <= end, "the source address {end:x} lies before {here:x}");
            let Some(inst) = self.next_inst() else { break };
            self.output();
            if here == end {
                self.update_stack(inst, true);
                return self.branch(inst, true);
            }
            self.address.address = self.wrap(here.wrapping_add(inst.size));
        }
    }

    /// K10.5.5.11.1.
    fn mispredict(&mut self) {
        if let Some((at, inst, taken)) = self.last {
            self.address = at;
            self.last = Some((at, inst, !taken));
            self.leave(inst, !taken);
        }
    }
}
