//! The rules of the protocol. Lifting refuses a group that breaks one of severity error; `check` reports all.

use trackway_core::{Rule, Severity};

/// Declares the rules: `CONST Severity "name" was "old name" "section" "requirement";`. The old names are those
/// before the names had one form in all formats.
macro_rules! rules {
    ($($id:ident $severity:ident $name:literal was $old:literal $section:literal $demand:literal;)*) => {
        $(
            #[doc = $demand]
            pub(crate) const $id: Rule =
                Rule { name: $name, severity: Severity::$severity, section: $section, demand: $demand, old: $old };
        )*
        /// All rules.
        pub static RULES: &[&Rule] = &[$(&$id),*];

        /// Old names of the rules, for `--waive`: old, new.
        pub static OLD_RULE_NAMES: &[(&str, &str)] = &[$(($old, $name)),*];
    };
}

rules! {
    OPCODE Error "tandem.opcode" was "opcode" "Tandem 2" "an item begins with a known opcode";
    IDENTIFIER Error "tandem.identifier" was "identifier" "Tandem 2" "additional state has a known identifier";
    PC_IDENTIFIER Warning "tandem.pc-identifier" was "pc-identifier" "Tandem C.2" "the pc identifier is 0x0a, not 0x10 as tables C.2, C.7 and C.8 print it";
    REGISTER_ADDRESS Error "tandem.register-address" was "register-address" "Tandem 3" "a register address is one of the debug specification";
    MEMORY_FIELDS Error "tandem.memory-fields" was "memory-fields" "Tandem 2" "operation and size of memory items are known";
    ORPHAN_RESPONSE Error "tandem.orphan-response" was "orphan-response" "Tandem 3" "a memory response immediately follows its request";
    RESPONSE_SIZE Error "tandem.response-size" was "response-size" "Tandem 2" "a memory response has the size of its request";
    RESPONSE_RESULT Warning "tandem.response-result" was "response-result" "Tandem 2" "the result of a memory response is 0 or 1";
    TRUNCATED Error "tandem.truncated" was "truncated" "Tandem 3" "the trace does not end inside a group or item";
    GROUP_SIZE Error "tandem.group-size" was "group-size" "Tandem 3" "a group has at most as many items as the reader holds";
    IMPLIED_END Note "tandem.implied-end" was "implied-end" "Tandem 3" "a group is ended by end group";
    ORPHAN_END Warning "tandem.orphan-end" was "orphan-end" "Tandem 3" "end group ends a group";
    EMPTY_GROUP Note "tandem.empty-group" was "empty-group" "Tandem 3" "a group has items";
    OUTSIDE_GROUP Error "tandem.outside-group" was "outside-group" "Tandem 3" "instructions and pc increments are in a group";
    RESET_OUTSIDE Note "tandem.reset-outside" was "reset-outside" "Tandem 3" "a reset is in a group";
    INIT_OUTSIDE Error "tandem.init-outside" was "init-outside" "Tandem 3" "state initialization is in a group";
    INIT_MIXED Error "tandem.init-mixed" was "init-mixed" "Tandem 3" "state initialization is not combined with execution or reset";
    INCREMENT Error "tandem.increment" was "increment" "Tandem 3" "a pc increment has an instruction in its group";
    ONE_PC Error "tandem.one-pc" was "one-pc" "Tandem 3" "a group sets one pc";
    ONE_INSTRUCTION Error "tandem.one-instruction" was "one-instruction" "Tandem 3" "a group has one instruction";
    ONE_VALUE Error "tandem.one-value" was "one-value" "Tandem 3" "a group sets a state element to one value";
    PRIVILEGE Error "tandem.privilege" was "privilege" "Tandem 2" "the privilege mode is 0, 1 or 3";
    FPR_INCREMENT Error "tandem.fpr-increment" was "fpr-increment" "Tandem 2" "floating-point registers are not incremented";
    ADDRESS_BITS Warning "tandem.address-bits" was "address-bits" "Tandem 3" "address bits beyond MLEN are 0";
    INSTRUCTION_LENGTH Note "tandem.instruction-length" was "instruction-length" "Tandem C.7" "the opcode agrees with the length bits of the instruction";
    DESTINATION Warning "tandem.destination" was "destination" "Tandem 3.1" "an instruction writes its destination register and no other";
    LOAD_VALUE Warning "tandem.load-value" was "load-value" "Tandem C.5" "the value that a load writes is extended as the instruction requires";
    STORE_SIZE Warning "tandem.store-size" was "store-size" "Tandem 3" "store data has the size of the instruction's access";
    ZERO_REGISTER Warning "tandem.zero-register" was "zero-register" "Tandem 3" "x0 is 0";
    TRAP_STATE Warning "tandem.trap-state" was "trap-state" "Tandem 3.1" "a trap writes epc, cause, status, tval and privilege mode";
    INTERRUPT Warning "tandem.interrupt" was "interrupt" "Tandem 3" "an interrupt has no instruction";
}
