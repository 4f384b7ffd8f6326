//! Traps and context changes to records.

use trackway_core::*;
use trackway_isa::Control;

use super::{Lower, Waiting};
use crate::config::ID;
use crate::fields::{Data, EventId, Layout};
use crate::lift::events as lift;
use crate::lift::events::{arm_code, is_arm};
use crate::record::Record;
use crate::remark::{Ids, Remark, nop};
use crate::values::{MODE_CHANGE, features, iem};

impl Lower {
    pub(super) fn trap(&mut self, event: &EventKind, trap: &Trap, batch: &Batch) -> Result<()> {
        let interrupt = trap.kind == TrapKind::Interrupt;
        if trap.kind == TrapKind::Return && self.waits && self.waiting.control == Control::TrapReturn {
            // The instruction and its target imply it.
            self.waiting.target = self.waiting.target.or(trap.to);
            self.waiting.returned = Some(*trap);
            return Ok(());
        }
        let arm = is_arm(self.isa) && !interrupt;
        let code = match trap.kind {
            TrapKind::Exception | TrapKind::Interrupt if arm => arm_code(trap.cause, trap.class),
            TrapKind::Exception | TrapKind::Interrupt => trap.cause.or(trap.class.map(u64::from)),
            TrapKind::Return | TrapKind::Reset | TrapKind::Unknown => None,
        };
        let Some(code) = code else {
            self.books.lose_event(batch, event);
            return Ok(());
        };
        let width = if self.layout.event64 { 62 } else { 30 };
        if mask(code, width) != code {
            let error = ErrorKind::Unsupported { found: code };
            return Err(error.at(0, "EVENT", "id", "EventRecord (100); version 1.5 holds it"));
        }
        // The trap belongs to the waiting attempt. Without one, or after another trap, a no-op represents it.
        let trapped_here = |group: &Waiting| match trap.from {
            Some(_) => group.attempted && trap.from == group.pc,
            None => group.attempted && !group.trapped,
        };
        if !(self.waits && trapped_here(&self.waiting)) {
            self.books.invent(Fact::Placeholders, 1);
            self.complete(trap.from)?;
            let pc = trap.from.or(self.expected);
            let step = Step { pc, outcome: Outcome::Attempted, ..Step::new(0, nop(self.isa), 4) };
            self.wait(&step, Control::Sequential, batch)?;
            self.waiting.placeholder = true;
        }
        let words: Vec<u8> = match trap.words.len {
            1.. if self.meta.format == ID => batch.words_of(trap.words).flat_map(u64::to_le_bytes).collect(),
            _ => event_words(self.isa, trap, interrupt, &self.waiting),
        };
        let id = EventId { interrupt, special: false, code };
        let mut read = Batch::default();
        let (from, to) = (self.waiting.pc, trap.to);
        let mut found = Trap { from, to, ..lift::trap(self.isa, id, Data(&words), &mut read) };
        if (found.value, found.syscall_index) != (trap.value, trap.syscall_index) {
            // The table has no place for what is known, or wants what is not.
            found = Trap { value: None, syscall_index: None, words: Span::default(), ..found };
            Remark::ValuesUnknown.write(&mut self.waiting.front, &self.layout);
        }
        read.push_trap(0, found);
        self.books.event(batch, event, &read);
        self.features |= features::EVENT;
        let group = &mut self.waiting;
        Record::Event { id, data: Data(&words) }.write(&mut group.events, &self.layout);
        (group.trapped, group.takes_mode) = (true, true);
        group.fetch_fault |= lift::is_fetch_fault(self.isa, trap);
        if let Some(pc) = trap.to {
            Record::EventPcTarget { pc }.write(&mut group.events, &self.layout);
            group.event_target = Some(pc);
        }
        Ok(())
    }

    pub(super) fn context(&mut self, event: &EventKind, context: &Context, batch: &Batch) {
        let layout = self.layout;
        let mut written = Context::default();
        let mode = context.privilege.and_then(|privilege| match privilege {
            Privilege::U | Privilege::El0 => Some(0u64),
            Privilege::S | Privilege::El1 => Some(1),
            Privilege::H | Privilege::El2 => Some(2),
            Privilege::M | Privilege::El3 => Some(3),
            Privilege::D | Privilege::VU | Privilege::VS => None,
        });
        if let Some(mode) = mode {
            written.privilege = context.privilege;
            // After a trap, and after the return from one, it is in the group of that instruction.
            if self.waits && std::mem::take(&mut self.waiting.takes_mode) {
                mode_change(mode, &mut self.waiting.events, &layout);
            } else {
                if std::mem::take(&mut self.coming.mode_shown) {
                    self.coming.modes.clear();
                }
                self.coming.modes.push(mode);
                self.mode_at_start |= self.first_pc.is_none();
            }
            self.features |= features::EVENT;
        }
        self.process_ids(context, &mut written);
        if let Some(isa) = context.isa.filter(|isa| *isa != self.isa) {
            let (_, mode) = self.config.numbers(isa);
            // One ISA record holds for the whole trace.
            if isa != Isa::Other && is_arm(isa) == is_arm(self.meta.isa) {
                written.isa = Some(isa);
                Record::InstIem { mode }.write(&mut self.coming.front, &layout);
            }
            self.isa = isa;
        }
        let mut read = Batch::default();
        read.push_context(0, written);
        self.books.event(batch, event, &read);
    }

    fn process_ids(&mut self, context: &Context, written: &mut Context) {
        let order = Ids::from(self.config.process_id);
        let changed = order.words(context).0.iter().any(Option::is_some);
        // An id that does not fit is not known from here on: 0 would be another one.
        self.context.update(context);
        let Context { hw_thread, pid, tid, asid, .. } = &mut self.context;
        for id in [hw_thread, pid, tid, asid] {
            *id = id.filter(|&id| u32::try_from(id).is_ok());
        }
        let (words, known) = order.words(&self.context);
        let any = words.iter().any(Option::is_some);
        // With an Arm exception level the ids before it may be forgotten, which a reader cannot know otherwise.
        if self.ids != Some(known) && (any && changed || self.ids.is_some()) {
            if self.ids.is_none() && self.early.is_some() {
                self.header_ids = Some(known);
            } else {
                Remark::Ids(known).write(&mut self.coming.front, &self.layout);
            }
            self.ids = Some(known);
        }
        if !any || !changed {
            return;
        }
        let words = words.map(|word| word.map_or(0, |word| word as u32));
        let ids = known.context(words);
        (written.hw_thread, written.pid) = (ids.hw_thread, ids.pid);
        (written.tid, written.asid) = (ids.tid, ids.asid);
        let [first, second, third] = words;
        self.features |= features::PROCESS_ID;
        Record::ProcessIdExt { first, second, third }.write(&mut self.coming.front, &self.layout);
    }
}

/// Writes a change of mode.
pub(super) fn mode_change(mode: u64, out: &mut Vec<u8>, layout: &Layout) {
    let id = EventId { interrupt: false, special: true, code: MODE_CHANGE };
    Record::Event { id, data: Data(&mode.to_le_bytes()) }.write(out, layout);
}

/// The metadata words that the table "STF Exception Event and Event Meta-Data" asks for; 0 replaces what is not known. Arm,
/// which the table does not have, has the address, the encoding, and the value if it is known.
fn event_words(isa: Isa, trap: &Trap, interrupt: bool, group: &Waiting) -> Vec<u8> {
    let pc = trap.from.or(group.pc).unwrap_or(0);
    let encoding = group.encoding.into();
    let mode = if isa == Isa::Rv32 { iem::RV32 } else { iem::RV64 }.into();
    let value = trap.value.unwrap_or(0);
    let words: &[u64] = match (interrupt, trap.cause) {
        (true, _) => &[value],
        _ if is_arm(isa) => &[pc, encoding, value][..2 + usize::from(trap.value.is_some())],
        (_, Some(0 | 1 | 3)) => &[pc],
        (_, Some(2)) => &[pc, trap.value.unwrap_or(encoding), mode],
        (_, Some(8..=11)) => &[trap.syscall_index.unwrap_or(0)],
        (_, Some(12)) => &[pc, encoding],
        (_, Some(16..)) => &[],
        _ => &[pc, encoding, value],
    };
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
