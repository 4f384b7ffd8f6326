//! The rules of the protocol, each named once; `lift` refuses what breaks an error, `check` tells all.

use trackway_core::{Rule, Severity};

macro_rules! rules {
    ($($id:ident $severity:ident $name:literal $section:literal $demand:literal;)*) => {
        $(
            #[doc = $demand]
            pub const $id: Rule =
                Rule { name: $name, severity: Severity::$severity, section: $section, demand: $demand, old: "" };
        )*
        /// All rules.
        pub static RULES: &[&Rule] = &[$(&$id),*];
    };
}

rules! {
    OPCODE Error "opcode" "Tandem 2" "an item begins with a known opcode";
    IDENTIFIER Error "identifier" "Tandem 2" "additional state has a known identifier";
    PC_IDENTIFIER Warning "pc-identifier" "Tandem C.2" "the pc identifier is 0x0a, not 10 as tables C.2, C.7 and C.8 print it";
    REGISTER_ADDRESS Error "register-address" "Tandem 3" "a register address is one of the debug spec";
    MEMORY_FIELDS Error "memory-fields" "Tandem 2" "operation and size of memory items are known";
    ORPHAN_RESPONSE Error "orphan-response" "Tandem 3" "a memory response immediately follows its request";
    RESPONSE_SIZE Error "response-size" "Tandem 2" "a memory response has the size of its request";
    RESPONSE_RESULT Warning "response-result" "Tandem 2" "the result of a memory response is 0 or 1";
    TRUNCATED Error "truncated" "Tandem 3" "the trace does not end inside a group or item";
    GROUP_SIZE Error "group-size" "Tandem 3" "a group has no more items than the reader holds";
    IMPLIED_END Note "implied-end" "Tandem 3" "a group is ended by end group";
    ORPHAN_END Warning "orphan-end" "Tandem 3" "end group ends a group";
    EMPTY_GROUP Note "empty-group" "Tandem 3" "a group has items";
    OUTSIDE_GROUP Error "outside-group" "Tandem 3" "instructions and pc increments stand in a group";
    RESET_OUTSIDE Note "reset-outside" "Tandem 3" "a reset stands in a group";
    INIT_OUTSIDE Error "init-outside" "Tandem 3" "state initialization stands in a group";
    INIT_MIXED Error "init-mixed" "Tandem 3" "state initialization is not combined with execution or reset";
    INCREMENT Error "increment" "Tandem 3" "a pc increment has an instruction in its group";
    ONE_PC Error "one-pc" "Tandem 3" "a group leads to one pc";
    ONE_INSTRUCTION Error "one-instruction" "Tandem 3" "a group has one instruction";
    ONE_VALUE Error "one-value" "Tandem 3" "a group gives a state element one value";
    PRIVILEGE Error "privilege" "Tandem 2" "the privilege mode is 0, 1 or 3";
    FPR_INCREMENT Error "fpr-increment" "Tandem 2" "floating-point registers are not incremented";
    ADDRESS_BITS Warning "address-bits" "Tandem 3" "address bits beyond MLEN are 0";
    INSTRUCTION_LENGTH Note "instruction-length" "Tandem C.7" "the opcode agrees with the length bits of the instruction";
    DESTINATION Warning "destination" "Tandem 3.1" "an instruction writes its destination register and no other";
    LOAD_VALUE Warning "load-value" "Tandem C.5" "what a load writes is extended as the instruction says";
    STORE_SIZE Warning "store-size" "Tandem 3" "store data has the size of the instruction's access";
    ZERO_REGISTER Warning "zero-register" "Tandem 3" "x0 is 0";
    TRAP_STATE Warning "trap-state" "Tandem 3.1" "a trap gives epc, cause, status, tval and privilege mode";
    INTERRUPT Warning "interrupt" "Tandem 3" "an interrupt has no instruction";
}
