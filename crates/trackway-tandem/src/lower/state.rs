//! Traps, contexts and state outside instructions to groups.

use std::io::Write;

use trackway_core::*;

use super::{Lower, Waiting};
use crate::group::Group;
use crate::record::Record;
use crate::register;

/// The privilege mode of machine mode.
const MACHINE: u8 = 3;

impl<W: Write> Lower<W> {
    pub(super) fn trap(&mut self, event: &Event, trap: &Trap, mut facts: Vec<Found>) -> Result<()> {
        match trap.kind {
            TrapKind::Return => {
                // The instruction implies it; its target is the next pc.
                match &mut self.waiting {
                    Some(waiting) => {
                        waiting.target = waiting.target.or(trap.to);
                        waiting.facts.append(&mut facts);
                    }
                    None => self.tally.wrote(None, facts),
                }
                return Ok(());
            }
            TrapKind::Reset => {
                self.complete(None)?;
                let group = Group { records: vec![Record::HartReset], ..Group::default() };
                self.put_group(&group, facts)?;
                self.expected = self.config.reset_pc;
                return Ok(());
            }
            _ => {}
        }
        let own = self.waiting.as_ref().is_some_and(|waiting| {
            waiting.attempted
                && self.is_last()
                && waiting.trap.is_none()
                && (trap.from.is_none() || trap.from == waiting.pc)
        });
        if !own {
            self.complete(trap.from)?;
            self.lead_to(trap.from)?;
            self.waiting =
                Some(Waiting { offset: event.offset, pc: trap.from, attempted: true, ..Waiting::default() });
        } else if trap.kind == TrapKind::Interrupt
            && let Some(waiting) = &mut self.waiting
        {
            // An interrupt has no instruction (chapter 3).
            waiting.instruction = None;
        }
        if let Some(waiting) = &mut self.waiting {
            waiting.trap = Some(*trap);
            waiting.facts.append(&mut facts);
        }
        Ok(())
    }

    /// Adds the registers of a trap if the source did not record them. Returns the level to go back to where the source
    /// does not leave it: the system is not in the trace.
    pub(super) fn trap_registers(&mut self, waiting: &mut Waiting) -> Option<u8> {
        let trap = waiting.trap?;
        let cause = trap.cause?;
        let has = |low: u16| {
            waiting.csrs.iter().any(
                |r| matches!(r, Record::FullRegister { address, .. } if *address < 0x400 && address & 0xff == low),
            )
        };
        if has(register::CAUSE) {
            return None;
        }
        // Without a new privilege, machine mode is assumed.
        let level = u16::from(waiting.privilege.unwrap_or(MACHINE)) << 8;
        let top = 8 * u32::from(self.xlen) - 1;
        let interrupt = u64::from(trap.kind == TrapKind::Interrupt) << top;
        let epc = trap.return_address.or(trap.from).or(waiting.pc);
        let values =
            [(register::CAUSE, Some(cause | interrupt)), (register::EPC, epc), (register::TVAL, trap.value)];
        let values: Vec<_> = values.into_iter().filter(|(low, _)| !has(*low)).collect();
        for (low, value) in values {
            if let Some(data) = value {
                let data = mask(data, self.config.xlen);
                waiting.csrs.push(Record::FullRegister { address: level | low, data });
            }
        }
        if waiting.privilege.is_some() {
            return None;
        }
        waiting.privilege = Some(MACHINE);
        self.privilege.filter(|level| *level != MACHINE)
    }

    pub(super) fn context(&mut self, context: &Context, mut facts: Vec<Found>) -> Result<()> {
        let mode = match context.privilege {
            Some(Privilege::U) => 0,
            Some(Privilege::S) => 1,
            Some(Privilege::M) => MACHINE,
            _ => {
                self.tally.wrote(None, facts);
                return Ok(());
            }
        };
        let is_last = self.is_last();
        match &mut self.waiting {
            Some(waiting) if is_last => {
                waiting.privilege = Some(mode);
                waiting.facts.append(&mut facts);
            }
            _ if self.privilege == Some(mode) => self.tally.wrote(None, facts),
            _ => {
                let group = Group::init(vec![Record::PrivilegeMode(mode)], self.config.profile);
                self.emit_with(group, facts)?;
            }
        }
        self.privilege = Some(mode);
        Ok(())
    }

    pub(super) fn contents(&mut self, event: &Event, accesses: Accesses, batch: &Batch) -> Result<()> {
        // State at the offset of a trap without an instruction belongs to the trap.
        let regs = batch.regs_of(accesses);
        let beside_trap = self.waiting.as_ref().is_some_and(|waiting| {
            waiting.trap.is_some() && waiting.instruction.is_none() && waiting.offset == event.offset
        });
        if beside_trap {
            for access in regs {
                if let Some(record) = self.register(access)
                    && let Some(waiting) = &mut self.waiting
                {
                    waiting.csrs.push(record);
                }
            }
            return Ok(());
        }
        // A pc that is set ends the waiting group, whose own next pc stays unknown.
        let pc = regs.iter().find(|access| access.reg.class == RegClass::Pc);
        let pc = pc.and_then(|access| match access.value {
            Value::Word(pc) => Some(self.narrow(pc)),
            _ => None,
        });
        let mut records = Vec::new();
        if let Some(pc) = pc {
            self.complete(None)?;
            records.push(Record::Pc(pc));
            self.expected = Some(pc);
        }
        for access in regs.iter().filter(|access| access.reg.class != RegClass::Pc) {
            records.extend(self.register(access));
        }
        let mut memory = Waiting::default();
        for access in batch.mem_of(accesses) {
            // Memory contents are written as stores of a debugger.
            let stored = MemAccess { kind: MemKind::Write, ..*access };
            self.request(&stored, batch, &mut memory);
        }
        records.extend(memory.memory.into_iter().filter(|r| matches!(r, Record::MemoryRequest { .. })));
        self.init(records)
    }
}
