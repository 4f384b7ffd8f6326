//! Elements: what packets mean, before it is known whether they happened (K10.5.6.1).

use crate::wire::packet::{Context as ContextPayload, Entry};

/// The context, as the packets so far tell it (K10.5.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ContextState {
    /// Context identifier; none was sent since the last Trace Info.
    pub context_id: Option<u32>,
    /// Virtual context identifier; likewise.
    pub vmid: Option<u32>,
    /// Exception level.
    pub el: u8,
    /// 0 Secure, 1 Non-secure, 2 Root, 3 Realm.
    pub security: u8,
    /// AArch64?
    pub sixty_four_bit: bool,
}

impl ContextState {
    /// Takes over what a packet says.
    pub fn apply(&mut self, payload: &ContextPayload) {
        if payload.has_vmid() {
            self.vmid = Some(payload.vmid);
        }
        if payload.has_context_id() {
            self.context_id = Some(payload.context_id);
        }
        self.el = payload.el();
        self.security = payload.security();
        self.sixty_four_bit = payload.sixty_four_bit();
    }
}

/// What a packet means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Trace Info: a place to start; is a transaction open?
    TraceInfo {
        /// The unit is in a transaction.
        in_transaction: bool,
        /// P0 elements before it that are not resolved.
        depth: u32,
    },
    /// Tracing begins after a gap.
    TraceOn,
    /// Code up to the next P0 instruction, which was taken or not.
    Atom {
        /// E, else N.
        taken: bool,
    },
    /// An exception, after code up to its return address.
    Exception {
        /// Type.
        number: u16,
        /// Preferred return address, if there is one.
        return_address: Option<Entry>,
    },
    /// So many instructions, on a path that is not traced.
    Q {
        /// How many, if known.
        count: Option<u32>,
        /// Where execution goes on, if the packet says it; a Target Address follows too.
        next: Option<u64>,
    },
    /// Code up to this instruction, which was taken.
    SourceAddress(Entry),
    /// Execution goes on here.
    TargetAddress(Entry),
    /// The context is this.
    Context(ContextState),
    /// The last atom was the other way.
    Mispredict,
    /// Cycles since the last count; unknown after an overflow.
    CycleCount(Option<u32>),
    /// The time.
    Timestamp {
        /// Its value.
        value: u64,
        /// Cycles between it and the last cycle count.
        count: Option<u32>,
    },
    /// The next timestamp belongs here.
    TimestampMarker,
    /// A numbered event.
    Event(u8),
    /// The instrumentation instruction ran.
    Instrumentation {
        /// At this exception level.
        el: u8,
        /// And wrote this.
        value: u64,
    },
    /// A transaction starts.
    TransactionStart,
    /// It succeeded.
    TransactionCommit,
    /// It failed.
    TransactionFailure,
    /// Tracing ended with elements unresolved.
    Discard,
    /// The trace unit's buffer overflowed.
    Overflow,
    /// Return from an exception (ETMv4).
    ExceptionReturn,
    /// Return from a function of the other security state (ETMv4, M profile).
    FunctionReturn,
}

impl Element {
    /// Does a cancel, a discard or the failure of a transaction leave it standing (table K10-2)?
    pub const fn is_kept(&self) -> bool {
        matches!(
            self,
            Element::TraceInfo { .. }
                | Element::CycleCount(_)
                | Element::Timestamp { .. }
                | Element::TimestampMarker
                | Element::Event(_)
                | Element::Instrumentation { .. }
        )
    }
}
