//! Signals of the port besides blocks: context, time, and implementation-defined ones.

use trackway_core::*;

use super::BlockBuilder;
use crate::encode::Encoder;
use crate::port::{Cycle, privilege_code};

/// Signals of the port that hold from an instruction on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming {
    privilege: Privilege,
    context: u64,
    ctype: u8,
    impdef: u32,
}

impl BlockBuilder {
    pub(super) fn context(&mut self, context: &Context) {
        let privilege = context.privilege.filter(|privilege| privilege_code(*privilege).is_some());
        let id = context.context_id.filter(|_| self.has_context);
        let mut next = self.next_signals();
        let changes_id = id.is_some_and(|id| id != next.context);
        if privilege.is_none_or(|privilege| privilege == next.privilege) && !changes_id {
            return;
        }
        if changes_id {
            next.ctype = context.change.unwrap_or(self.default_ctype).min(3);
        }
        next.privilege = privilege.unwrap_or(next.privilege);
        next.context = id.unwrap_or(next.context);
        self.announce(next);
    }

    /// Enters a context that was announced.
    #[inline]
    pub(super) fn enter_context(&mut self, encoder: &mut Encoder) {
        if let Some(Incoming { privilege, context, ctype, impdef }) = self.incoming.take() {
            self.close(encoder);
            self.flush(encoder);
            self.privilege = privilege;
            self.port.privilege = privilege_code(privilege).unwrap_or(0);
            self.port.context = context;
            self.port.ctype = ctype;
            self.port.impdef = impdef;
        }
    }

    pub(super) fn time(&mut self, time: &Time) {
        match (time.kind, time.value) {
            (TimeKind::Timestamp, Some(value)) => self.port.time = value,
            (TimeKind::Cycles, Some(value)) => self.port.cycle += value,
            _ => {}
        }
    }

    /// The implementation-defined signal of the port, four little-endian bytes ([`IMPDEF`](crate::IMPDEF)).
    pub(super) fn foreign(&mut self, item: &Foreign, batch: &Batch) {
        let bytes = batch.bytes_of(item.data).try_into().map(u32::from_le_bytes);
        if let (true, crate::IMPDEF, Ok(impdef)) = (item.format == crate::ID, item.code, bytes) {
            self.announce(Incoming { impdef, ..self.next_signals() });
        }
    }

    /// The signals of the next instruction.
    fn next_signals(&self) -> Incoming {
        let Cycle { context, ctype, impdef, .. } = self.port;
        self.incoming.unwrap_or(Incoming { privilege: self.privilege, context, ctype, impdef })
    }

    /// The pending instruction still belongs to the old signals, and the next one settles it.
    fn announce(&mut self, incoming: Incoming) {
        self.incoming = Some(incoming);
        self.keep_apart();
    }

    /// Nothing is joined to the pending run.
    fn keep_apart(&mut self) {
        if let Some(pending) = &mut self.pending {
            pending.open = false;
        }
    }
}
