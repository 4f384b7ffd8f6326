//! The rules that [`check`](crate::check) applies to packets.

trackway_core::rules! { "ete";
    /// Every packet is one that this trace unit has.
    PACKET = "packet": Error, "K10.5.2.2", old "ete-packet";
    /// A stream starts with an Alignment Sync, and has no bytes outside packets.
    SYNCHRONISED = "synchronised": Warning, "K10.5.1.1", old "ete-synchronised";
    /// Only events come before the first Trace Info.
    TRACE_INFO_FIRST = "trace-info-first": Error, "K10.5.9", old "ete-trace-info-first";
    /// Bits that should be zero are zero.
    SHOULD_BE_ZERO = "should-be-zero": Warning, "K10.5.6.3.5", old "ete-should-be-zero";
    /// A number takes no more bytes than it needs.
    SHORTEST = "shortest": Note, "K10.5.6.4.2", old "ete-shortest";
    /// No more P0 elements are committed or cancelled than are unresolved.
    SPECULATION_DEPTH = "speculation-depth": Error, "K10.5.2.8", old "ete-speculation-depth";
    /// The depth in a Trace Info is the number of unresolved P0 elements, and at most MAXSPEC.
    TRACE_INFO_DEPTH = "trace-info-depth": Error, "K10.5.2.6", old "ete-trace-info-depth";
    /// A commit or cancel has at least one P0 element.
    ZERO_COUNT = "zero-count": Warning, "K10.5.3.3", old "ete-zero-count";
    /// A Trace On comes before the first P0 element of a stream and after every overflow.
    TRACE_ON = "trace-on": Error, "K10.5.2.7", old "ete-trace-on";
    /// A target address follows an exception before the next P0 element.
    EXCEPTION_ADDRESS = "exception-address": Error, "K10.5.5.6", old "ete-exception-address";
    /// A transaction is committed only after it started.
    TRANSACTION = "transaction": Error, "K10.5.2.15", old "ete-transaction";
    /// Cycle counts come only if Trace Info says that they are on.
    CYCLE_COUNT = "cycle-count": Error, "K10.5.2.16", old "ete-cycle-count";
    /// The first cycle count after an overflow is unknown.
    CYCLE_COUNT_OVERFLOW = "cycle-count-overflow": Warning, "K10.5.9", old "ete-cycle-count-overflow";
    /// The type of an exception is not reserved.
    EXCEPTION_TYPE = "exception-type": Warning, "K10.5.2.13", old "ete-exception-type";
}
