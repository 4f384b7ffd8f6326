//! The rules of a Tarmac log. There is no specification: a log contradicts itself or its instruction set.

trackway_core::rules! { "tarmac";
    /// A line can be read.
    SYNTAX = "syntax": Error, "Tarmac";
    /// An instruction comes where the one before leads, or an exception explains it.
    PC = "pc": Error, "instruction set";
    /// The text of an instruction is that of its encoding.
    TEXT = "text": Warning, "instruction set";
    /// An instruction writes no register but its own.
    DESTINATION = "destination": Warning, "instruction set";
    /// A register has the value that was written last.
    REGISTER_VALUE = "register-value": Warning, "itself";
    /// Memory lines are of the kind of access that the instruction makes.
    ACCESS = "access": Warning, "instruction set";
    /// A load reads the bytes that lines before left in memory.
    MEMORY_VALUE = "memory-value": Warning, "itself";
}
