//! Traps and context changes to records.

use trackway_core::*;
use trackway_isa::Control;

use super::{Lower, Waiting};
use crate::config::ID;
use crate::fields::{Data, EventId};
use crate::lift::events::{arm_code, is_arm, is_fetch_fault};
use crate::record::Record;
use crate::remark::{Ids, Remark, nop};
use crate::values::{MODE_CHANGE, features, iem};

impl Lower {
    pub(super) fn trap(&mut self, trap: &Trap, batch: &Batch) -> Result<()> {
        let interrupt = match trap.kind {
            TrapKind::Exception => false,
            TrapKind::Interrupt => true,
            // The instruction and its target imply it.
            TrapKind::Return => {
                self.losses.add(Fate::Derived, "returns from traps", 1);
                if self.waits && self.waiting.control == Some(Control::TrapReturn) {
                    self.waiting.target = self.waiting.target.or(trap.to);
                }
                return Ok(());
            }
            TrapKind::Reset | TrapKind::Unknown => {
                self.losses.add(Fate::Dropped, "resets and unknown traps", 1);
                return Ok(());
            }
        };
        self.losses.add(Fate::Dropped, "marks of virtual interrupts", trap.is_virtual.into());
        // The trap belongs to the waiting attempt. Without one, or after another trap, a no-op represents it.
        let trapped_here = |group: &Waiting| match trap.from {
            Some(_) => group.attempted && trap.from == group.pc,
            None => group.attempted && !group.trapped,
        };
        if !(self.waits && trapped_here(&self.waiting)) {
            self.losses.add(Fate::Invented, "placeholder instructions at traps", 1);
            self.complete(trap.from)?;
            let pc = trap.from.or(self.expected);
            let step = Step { pc, outcome: Outcome::Attempted, ..Step::new(0, nop(self.isa), 4) };
            self.wait(&step, None, batch)?;
            self.waiting.placeholder = true;
        }
        let arm = is_arm(self.isa) && !interrupt;
        let code =
            if arm { arm_code(trap.cause, trap.class) } else { trap.cause.or(trap.class.map(u64::from)) };
        let Some(code) = code else {
            self.losses.add(Fate::Dropped, "traps without a cause", 1);
            return Ok(());
        };
        let width = if self.layout.event64 { 62 } else { 30 };
        if mask(code, width) != code {
            let error = ErrorKind::Unsupported { found: code };
            return Err(error.at(0, "EVENT", "id", "EventRecord (100); version 1.5 holds it"));
        }
        self.losses.add(Fate::Kept, "traps", 1);
        let (words, unknown) = match trap.words.len {
            1.. if self.meta.format == ID => {
                (batch.words_of(trap.words).flat_map(u64::to_le_bytes).collect(), false)
            }
            _ => event_words(self.isa, trap, interrupt, &self.waiting),
        };
        self.features |= features::EVENT;
        let group = &mut self.waiting;
        if unknown {
            Remark::ValuesUnknown.write(&mut group.front, &self.layout);
        }
        let id = EventId { interrupt, special: false, code };
        Record::Event { id, data: Data(&words) }.write(&mut group.events, &self.layout);
        (group.trapped, group.takes_mode) = (true, true);
        group.fetch_fault |= is_fetch_fault(self.isa, trap);
        if let Some(pc) = trap.to {
            Record::EventPcTarget { pc }.write(&mut group.events, &self.layout);
            group.event_target = Some(pc);
        }
        Ok(())
    }

    pub(super) fn context(&mut self, context: &Context) {
        let layout = self.layout;
        if let Some(privilege) = context.privilege {
            let mode = match privilege {
                Privilege::U | Privilege::El0 => Some(0u64),
                Privilege::S | Privilege::El1 => Some(1),
                Privilege::H | Privilege::El2 => Some(2),
                Privilege::M | Privilege::El3 => Some(3),
                Privilege::D | Privilege::VU | Privilege::VS => None,
            };
            match mode {
                Some(mode) => {
                    let id = EventId { interrupt: false, special: true, code: MODE_CHANGE };
                    let event = Record::Event { id, data: Data(&mode.to_le_bytes()) };
                    // After a trap, and after the return from one, it is in the group of that instruction.
                    if self.waits && std::mem::take(&mut self.waiting.takes_mode) {
                        event.write(&mut self.waiting.events, &layout);
                    } else {
                        event.write(&mut self.coming.events, &layout);
                        self.coming.mode = true;
                        self.mode_at_start |= self.first_pc.is_none();
                    }
                    self.features |= features::EVENT;
                    self.losses.add(Fate::Kept, "privilege changes", 1);
                }
                None => self.losses.add(Fate::Dropped, "debug and virtual modes", 1),
            }
        }
        self.process_ids(context);
        if let Some(isa) = context.isa.filter(|isa| *isa != self.isa) {
            let mode = match isa {
                Isa::Rv32 => Some(iem::RV32),
                Isa::Rv64 => Some(iem::RV64),
                Isa::A64 => Some(self.config.a64_iem),
                _ => None,
            };
            match mode {
                Some(mode) => Record::InstIem { mode }.write(&mut self.coming.front, &layout),
                None => self.losses.add(Fate::Dropped, "changes of instruction set", 1),
            }
            self.isa = isa;
        }
        // The instruction set and the ids are recorded above.
        self.losses.drop_context(&Context {
            privilege: None,
            asid: None,
            pid: None,
            tid: None,
            hw_thread: None,
            isa: None,
            ..*context
        });
    }

    fn process_ids(&mut self, context: &Context) {
        let order = Ids::from(self.config.process_id);
        let (changed, _) = order.words(context);
        let kept = changed.iter().flatten().count() as u64;
        let all = [context.hw_thread, context.pid, context.tid, context.asid].iter().flatten().count() as u64;
        self.losses.add(Fate::Dropped, "ids that PROCESS_ID_EXT does not hold", all - kept);
        let narrow = |id: Option<u64>| id.filter(|&id| u32::try_from(id).is_ok());
        let over = changed.iter().flatten().filter(|id| narrow(Some(**id)).is_none()).count() as u64;
        self.losses.add(Fate::Dropped, "ids over 32 bits", over);
        // An id that does not fit is not known from here on: 0 would be another one.
        self.context.update(context);
        for id in [
            &mut self.context.hw_thread,
            &mut self.context.pid,
            &mut self.context.tid,
            &mut self.context.asid,
        ] {
            *id = narrow(*id);
        }
        let (words, known) = order.words(&self.context);
        if kept == 0 || words.iter().all(Option::is_none) {
            return;
        }
        if self.ids != Some(known) {
            if self.ids.is_none() && self.early.is_some() {
                self.header_ids = Some(known);
            } else {
                Remark::Ids(known).write(&mut self.coming.front, &self.layout);
            }
            self.ids = Some(known);
        }
        let [first, second, third] = words.map(|word| word.map_or(0, |word| word as u32));
        self.features |= features::PROCESS_ID;
        self.losses.add(Fate::Kept, "process ids", 1);
        Record::ProcessIdExt { first, second, third }.write(&mut self.coming.front, &self.layout);
    }
}

/// The metadata words that the table "STF Exception Event and Event Meta-Data" asks for, and whether 0 replaces one that
/// is not known. Arm, which the table does not have, has the address, the encoding, and the value if it is known.
fn event_words(isa: Isa, trap: &Trap, interrupt: bool, group: &Waiting) -> (Vec<u8>, bool) {
    let pc = trap.from.or(group.pc);
    let encoding = Some(group.encoding.into());
    let mode = Some(if isa == Isa::Rv32 { iem::RV32 } else { iem::RV64 }.into());
    let words: &[Option<u64>] = match (interrupt, trap.cause) {
        (true, _) => &[Some(trap.value.unwrap_or(0))],
        _ if is_arm(isa) => &[pc, encoding, trap.value][..2 + usize::from(trap.value.is_some())],
        (_, Some(0 | 1 | 3)) => &[pc],
        (_, Some(2)) => &[pc, trap.value.or(encoding), mode],
        (_, Some(8..=11)) => &[trap.syscall_index],
        (_, Some(12)) => &[pc, encoding],
        (_, Some(16..)) => &[],
        _ => &[pc, encoding, trap.value],
    };
    let bytes = words.iter().flat_map(|word| word.unwrap_or(0).to_le_bytes()).collect();
    (bytes, words.contains(&None))
}
