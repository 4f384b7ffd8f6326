//! The class of an instruction, in words that both architectures share.

macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident = $name:literal,)*) => {
        /// Kind of work that an instruction does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Class { $($(#[$doc])* $class,)* }

        impl Class {
            /// All classes, in order.
            pub const ALL: &[Class] = &[$(Class::$class),*];

            /// The name of the class.
            pub const fn as_str(self) -> &'static str {
                match self { $(Class::$class => $name,)* }
            }
        }
    };
}

classes! {
    /// Integer arithmetic, logic, shifts, constants, addresses.
    Integer = "integer",
    /// Integer multiplication.
    Multiply = "multiply",
    /// Integer division and remainder.
    Divide = "divide",
    /// Conditional branch.
    Branch = "branch",
    /// Direct or indirect call.
    Call = "call",
    /// Return from a call.
    Return = "return",
    /// Any other jump; on Arm also the return from an exception.
    Jump = "jump",
    /// Load to one or more registers, of any file.
    Load = "load",
    /// Store of one or more registers, of any file; on Arm also copies and sets of memory.
    Store = "store",
    /// Atomic read-modify-write.
    Atomic = "atomic",
    /// Reads or writes a control, status or system register.
    Csr = "csr",
    /// Orders memory, instruction fetch or translation.
    Fence = "fence",
    /// Maintenance of caches.
    Cache = "cache",
    /// Prefetch.
    Prefetch = "prefetch",
    /// Hints without a visible effect, landing pads of branches; on Arm also `nop`, in T32 `it`.
    Hint = "hint",
    /// Traps, waits; on RISC-V also the return from a trap, on Arm address translation and transactions.
    System = "system",
    /// Scalar floating point.
    Float = "float",
    /// Vector load; of Advanced SIMD the loads of elements and structures.
    VectorLoad = "vector load",
    /// Vector store; of Advanced SIMD the stores of elements and structures.
    VectorStore = "vector store",
    /// Vector arithmetic and configuration, and cryptography on vector registers.
    Vector = "vector",
    /// Encodings that are not allocated, or of an unknown instruction set.
    Other = "other",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        let names: std::collections::BTreeSet<_> = Class::ALL.iter().map(|class| class.as_str()).collect();
        assert_eq!(names.len(), Class::ALL.len());
    }
}
