//! The rules that `check` applies to a recording; those of the packets in it are rules of ETE.

trackway_core::rules! { "perf";
    /// The file has all of its sections, and its header says where they are.
    HEADER = "header": Error, "perf.data-file-format";
    /// A record has its whole size and all of its fields.
    RECORD = "record": Error, "perf_event.h";
    /// Trace that an AUX record announces is in an AUXTRACE record.
    AUXTRACE = "auxtrace": Error, "perf.data-file-format";
    /// No trace was lost while recording.
    LOST = "lost": Warning, "perf_event.h";
    /// Trace ids in frames belong to a trace unit of AUXTRACE_INFO.
    TRACE_ID = "trace-id": Error, "cs-etm.h";
}
