//! The rules of a Spike log.

trackway_core::rules! { "spike";
    /// A line is one that Spike prints.
    LINE = "line": Error, "Spike --log-commits";
    /// An instruction follows the one before it, or begins a trap handler.
    FLOW = "flow": Warning, "Spike --log-commits";
    /// The text of an instruction is that of its encoding.
    TEXT = "text": Warning, "Spike -l";
    /// Registers and memory accesses are those of the instruction.
    EFFECTS = "effects": Warning, "Spike --log-commits";
    /// An instruction is committed as it was announced.
    COMMIT = "commit": Warning, "Spike -l --log-commits";
}
