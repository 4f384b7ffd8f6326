//! Traps to Trap records.

use trackway_core::*;
use trackway_isa::arm::{Class, ExceptionType};

use super::Lower;
use super::pending::Pending;
use crate::producer::Producer;
use crate::record::{Level, Trap as TrapRecord, TrapType, syscall_codes};

impl Lower {
    /// Completes a trap of a flow trace, whose cause is an exception type of the trace unit: kind and class by the
    /// instruction and the levels. `None` for an entry to Debug state, which is not a trap. `later` are the items after
    /// it.
    pub(super) fn classify(&self, trap: Trap, word: Option<u32>, later: &[Pending]) -> Option<Trap> {
        let Some(number) = trap.cause.filter(|_| self.meta.flow_only && trap.class.is_none()) else {
            return Some(trap);
        };
        let after = later
            .iter()
            .take_while(|item| !matches!(item, Pending::Trap(_)))
            .find_map(|item| if let Pending::Context(context) = item { context.privilege } else { None });
        let before = self.state.context.privilege;
        let interrupt =
            |cause: TrapType| Trap { kind: TrapKind::Interrupt, cause: Some(cause.0.into()), ..trap };
        Some(match ExceptionType::of(number, word, (before, after.or(before))) {
            ExceptionType::DebugHalt => return None,
            ExceptionType::Reset => Trap { kind: TrapKind::Reset, cause: None, ..trap },
            ExceptionType::SError => Trap { class: Some(0x2f), ..interrupt(TrapType::SERROR) },
            ExceptionType::Irq => interrupt(TrapType::IRQ),
            ExceptionType::Fiq => interrupt(TrapType::FIQ),
            ExceptionType::Synchronous(class) => Trap { cause: None, class, ..trap },
        })
    }

    pub(super) fn write_trap(&mut self, trap: &Trap, next: Option<u64>) -> Result<()> {
        if self.level == Level::Basic {
            // The instruction has its flag; a Context marks the discontinuity.
            self.producer()?.discontinuity();
            return Ok(());
        }
        if self.state.foreign_isa && trap.to.is_none() {
            return Ok(());
        }
        self.come_back()?;
        let target_pc = trap.to.or(next).unwrap_or(0);
        let record = TrapRecord { target_pc, ..self.trap_record(trap) };
        self.state.expected = Some(record.target_pc);
        self.tally.places.push_back(trap.from);
        Ok(self.producer()?.trap(record)?)
    }

    fn trap_record(&mut self, trap: &Trap) -> TrapRecord {
        let mut record = TrapRecord { is_virtual: trap.is_virtual, ..TrapRecord::default() };
        let kind = match trap.kind {
            TrapKind::Exception | TrapKind::Unknown => TrapType::SYNCHRONOUS,
            TrapKind::Return => TrapType::RETURN,
            TrapKind::Reset => TrapType::RESET,
            TrapKind::Interrupt => match (trap.cause, trap.class) {
                (Some(1), _) | (_, Some(0x2f)) => TrapType::SERROR,
                (Some(2), _) => TrapType::IRQ,
                (Some(3), _) => TrapType::FIQ,
                _ => TrapType::IRQ,
            },
        };
        record.trap_type = kind.0;
        record.is_virtual &= matches!(kind, TrapType::SERROR | TrapType::IRQ | TrapType::FIQ);
        if kind == TrapType::SERROR {
            record.ec = 0x2f;
        }
        if kind == TrapType::SYNCHRONOUS {
            let called = trap.syscall.map(syscall_codes);
            if let Some((code, class)) = called {
                record.syscall_type = code;
                record.ec = class;
                record.syscall_index = trap.syscall_index.unwrap_or(0) as u16;
                let cut = trap.syscall_index.is_some_and(|index| index > u16::MAX.into());
                self.tally.changed[Fact::SystemCallNumbers] += u64::from(cut);
            }
            // Formats with one number for all causes keep the class in it.
            if let Some(class @ ..64) = trap.class.map(u64::from).or(trap.cause) {
                record.ec = class as u8;
            }
            self.derive_syscall(&mut record);
        }
        record
    }

    /// Takes the system call from the instruction where the source has only its exception class.
    fn derive_syscall(&self, record: &mut TrapRecord) {
        if record.syscall_type == 0
            && let Some(Class::Syscall(syscall, immediate)) =
                self.producer.as_ref().and_then(Producer::last_class)
            && syscall_codes(syscall).1 == record.ec
        {
            record.syscall_type = syscall_codes(syscall).0;
            record.syscall_index = immediate;
        }
    }
}
