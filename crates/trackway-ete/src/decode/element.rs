//! Elements (K10.5.6.1): the meaning of packets, before it is known whether it happened.

use crate::wire::address::Entry;
use crate::wire::context::ContextState;

/// The meaning of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Element {
    /// Trace Info: decoding can start here.
    TraceInfo {
        /// The core is in a transaction.
        in_transaction: bool,
        /// Number of earlier P0 elements that are unresolved.
        depth: u32,
    },
    /// Tracing starts after a gap.
    TraceOn,
    /// Code up to the next P0 instruction, and its outcome.
    Atom {
        /// E, else N.
        taken: bool,
    },
    /// An exception, after code up to its return address.
    Exception {
        /// Exception type (K10.5.2.13).
        number: u16,
        /// Preferred return address, if there is one.
        return_address: Option<Entry>,
    },
    /// Instructions on a path that is not traced.
    Q {
        /// Number of instructions, if known.
        count: Option<u32>,
        /// The next address, if the packet has it; a Target Address element follows as well.
        next: Option<u64>,
    },
    /// Code up to this instruction, which was taken.
    SourceAddress(Entry),
    /// Execution continues here.
    TargetAddress(Entry),
    /// The context from here on.
    Context(ContextState),
    /// The last atom has the opposite outcome.
    Mispredict,
    /// Cycles since the last count; unknown after an overflow.
    CycleCount(Option<u32>),
    /// A timestamp.
    Timestamp {
        /// Value of the timestamp counter.
        value: u64,
        /// Cycles since the last Cycle Count element.
        count: Option<u32>,
    },
    /// The place in execution that the next timestamp belongs to.
    TimestampMarker,
    /// Trace event 0 to 3.
    Event(u8),
    /// An instrumentation instruction was executed.
    Instrumentation {
        /// Exception level.
        el: u8,
        /// The value written.
        value: u64,
    },
    /// A transaction starts.
    TransactionStart,
    /// The transaction succeeded.
    TransactionCommit,
    /// The transaction failed.
    TransactionFailure,
    /// Tracing ended with unresolved elements.
    Discard,
    /// The trace unit's buffer overflowed.
    Overflow,
    /// Return from an exception (ETMv4).
    ExceptionReturn,
    /// Return from a function of the other security state (ETMv4, M profile).
    FunctionReturn,
}

impl Element {
    /// True if a cancel, a discard or a failed transaction does not remove the element (table K10-2).
    pub(crate) const fn is_kept(&self) -> bool {
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
