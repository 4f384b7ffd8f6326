//! The rules of a riscv-dv trace.

trackway_core::rules! { "riscv-dv";
    /// A row has the columns of the header, in hexadecimal and by the names of registers.
    ROW = "row": Error, "riscv-dv CSV";
    /// An instruction follows the one before it, or begins a trap handler.
    FLOW = "flow": Warning, "riscv-dv pc";
    /// The text of an instruction is that of its encoding.
    TEXT = "text": Warning, "riscv-dv instr_str, binary";
    /// Registers are those that the instruction writes.
    EFFECTS = "effects": Warning, "riscv-dv gpr";
}
