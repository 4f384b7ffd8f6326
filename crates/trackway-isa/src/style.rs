//! Choices of RISC-V assembly syntax.

/// How RISC-V instructions are written; Arm has one way only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Style {
    /// Pseudo-instructions where there is one (`ret`, `mv`, `beqz`), as objdump writes by default.
    pub aliases: bool,
    /// ABI names of registers (`a0`), not numbers (`x10`).
    pub abi_names: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { aliases: true, abi_names: true }
    }
}
