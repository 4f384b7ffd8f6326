//! The rules of a QEMU log.

trackway_core::rules! { "qemu-exec";
    /// A line is one that QEMU prints with -d exec or in_asm.
    LINE = "line": Error, "QEMU -d exec";
    /// A block follows the one before it: its branch leads to it.
    FLOW = "flow": Note, "QEMU -d exec,nochain";
    /// The listing of an instruction is that of the program.
    CODE = "code": Warning, "QEMU -d in_asm";
}
