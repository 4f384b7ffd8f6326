//! Traps and context changes to records.

use trackway_core::*;

use super::{Lower, Waiting, nop};
use crate::config::ProcessId;
use crate::fields::{Data, EventId};
use crate::record::Record;
use crate::values::{MODE_CHANGE, features, iem};

impl Lower {
    pub(super) fn trap(&mut self, trap: &Trap, batch: &Batch) -> Result<()> {
        let interrupt = match trap.kind {
            TrapKind::Exception => false,
            TrapKind::Interrupt => true,
            // The instruction and its target imply it.
            TrapKind::Return => {
                self.losses.add(Fate::Derived, "returns from traps", 1);
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
            None => group.attempted && group.event_target.is_none(),
        };
        if !(self.waits && trapped_here(&self.waiting)) {
            self.losses.add(Fate::Invented, "placeholder instructions at traps", 1);
            self.complete(trap.from)?;
            let pc = trap.from.or(self.expected);
            let step = Step { pc, outcome: Outcome::Attempted, ..Step::new(0, nop(self.isa), 4) };
            self.wait(&step, None, batch)?;
        }
        let Some(code) = trap.cause.or(trap.class.map(u64::from)) else {
            self.losses.add(Fate::Dropped, "traps without a cause", 1);
            return Ok(());
        };
        let width = if self.layout.event64 { 62 } else { 30 };
        if mask(code, width) != code {
            let error = ErrorKind::Unsupported { found: code };
            return Err(error.at(0, "EVENT", "id", "EventRecord (100); version 1.5 holds it"));
        }
        self.losses.add(Fate::Kept, "traps", 1);
        let words = match trap.words.len {
            0 => event_words(trap, interrupt, &self.waiting),
            _ => batch.words_of(trap.words).flat_map(u64::to_le_bytes).collect(),
        };
        self.features |= features::EVENT;
        let group = &mut self.waiting;
        let id = EventId { interrupt, special: false, code };
        Record::Event { id, data: Data(&words) }.write(&mut group.events, &self.layout);
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
                    // Before any trap of the group, so that it applies to the instruction.
                    event.write(&mut self.coming.events, &layout);
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
        let (words, other) = match self.config.process_id {
            ProcessId::Library => ([context.hw_thread, context.pid, context.tid], context.asid),
            ProcessId::Spec => ([context.pid, context.tid, context.asid], context.hw_thread),
        };
        let what = match self.config.process_id {
            ProcessId::Library => "address space ids",
            ProcessId::Spec => "hardware threads",
        };
        self.losses.add(Fate::Dropped, what, u64::from(other.is_some()));
        if words.iter().all(Option::is_none) {
            return;
        }
        // A context with an Arm level is complete: ids of the previous process do not carry over.
        if context.privilege.is_some_and(Privilege::is_arm) {
            self.ids = [0; 3];
        }
        for (id, word) in self.ids.iter_mut().zip(words) {
            match word.map(u32::try_from) {
                Some(Ok(word)) => *id = word,
                Some(Err(_)) => self.losses.add(Fate::Dropped, "ids over 32 bits", 1),
                None => {}
            }
        }
        let [first, second, third] = self.ids;
        self.features |= features::PROCESS_ID;
        self.losses.add(Fate::Kept, "process ids", 1);
        Record::ProcessIdExt { first, second, third }.write(&mut self.coming.front, &self.layout);
    }
}

/// The metadata words that the table "STF Exception Event and Event Meta-Data" asks for.
fn event_words(trap: &Trap, interrupt: bool, group: &Waiting) -> Vec<u8> {
    let pc = trap.from.or(group.pc).unwrap_or(0);
    let encoding = group.encoding.into();
    let value = trap.value.unwrap_or(0);
    let words: &[u64] = match (interrupt, trap.cause) {
        (true, _) => &[value],
        (_, Some(0 | 1 | 3)) => &[pc],
        (_, Some(2)) => &[pc, trap.value.unwrap_or(encoding), 0],
        (_, Some(8..=11)) => &[trap.syscall_index.unwrap_or(0)],
        (_, Some(12)) => &[pc, encoding],
        _ => &[pc, encoding, value],
    };
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
