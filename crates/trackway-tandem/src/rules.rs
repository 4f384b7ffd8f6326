//! The rules of the protocol. Lifting refuses a group that breaks one of severity error; `check` reports all.

trackway_core::rules! { "tandem";
    /// An item begins with a known opcode.
    OPCODE = "opcode": Error, "Tandem 2", old "opcode";
    /// Additional state has a known identifier.
    IDENTIFIER = "identifier": Error, "Tandem 2", old "identifier";
    /// The pc identifier is 0x0a, not 0x10 as tables C.2, C.7 and C.8 print it.
    PC_IDENTIFIER = "pc-identifier": Warning, "Tandem C.2", old "pc-identifier";
    /// A register address is one of the debug specification.
    REGISTER_ADDRESS = "register-address": Error, "Tandem 3", old "register-address";
    /// Operation and size of memory items are known.
    MEMORY_FIELDS = "memory-fields": Error, "Tandem 2", old "memory-fields";
    /// A memory response immediately follows its request.
    ORPHAN_RESPONSE = "orphan-response": Error, "Tandem 3", old "orphan-response";
    /// A memory response has the size of its request.
    RESPONSE_SIZE = "response-size": Error, "Tandem 2", old "response-size";
    /// The result of a memory response is 0 or 1.
    RESPONSE_RESULT = "response-result": Warning, "Tandem 2", old "response-result";
    /// The trace does not end inside a group or item.
    TRUNCATED = "truncated": Error, "Tandem 3", old "truncated";
    /// A group has at most as many items as the reader holds.
    GROUP_SIZE = "group-size": Error, "Tandem 3", old "group-size";
    /// A group is ended by end group.
    IMPLIED_END = "implied-end": Note, "Tandem 3", old "implied-end";
    /// End group ends a group.
    ORPHAN_END = "orphan-end": Warning, "Tandem 3", old "orphan-end";
    /// A group has items.
    EMPTY_GROUP = "empty-group": Note, "Tandem 3", old "empty-group";
    /// Instructions and pc increments are in a group.
    OUTSIDE_GROUP = "outside-group": Error, "Tandem 3", old "outside-group";
    /// A reset is in a group.
    RESET_OUTSIDE = "reset-outside": Note, "Tandem 3", old "reset-outside";
    /// State initialization is in a group.
    INIT_OUTSIDE = "init-outside": Error, "Tandem 3", old "init-outside";
    /// State initialization is not combined with execution or reset.
    INIT_MIXED = "init-mixed": Error, "Tandem 3", old "init-mixed";
    /// A pc increment has an instruction in its group.
    INCREMENT = "increment": Error, "Tandem 3", old "increment";
    /// A group sets one pc; an increment agrees with an explicit one.
    ONE_PC = "one-pc": Error, "Tandem 3", old "one-pc";
    /// A group has one instruction.
    ONE_INSTRUCTION = "one-instruction": Error, "Tandem 3", old "one-instruction";
    /// A group sets a state element to one value.
    ONE_VALUE = "one-value": Error, "Tandem 3", old "one-value";
    /// The privilege mode is 0, 1 or 3.
    PRIVILEGE = "privilege": Error, "Tandem 2", old "privilege";
    /// Floating-point registers are not incremented.
    FPR_INCREMENT = "fpr-increment": Error, "Tandem 2", old "fpr-increment";
    /// Address bits beyond MLEN are 0.
    ADDRESS_BITS = "address-bits": Warning, "Tandem 3", old "address-bits";
    /// The opcode agrees with the length bits of the instruction.
    INSTRUCTION_LENGTH = "instruction-length": Note, "Tandem C.7", old "instruction-length";
    /// An instruction writes its destination register and no other.
    DESTINATION = "destination": Warning, "Tandem 3.1", old "destination";
    /// The value that a load writes is extended as the instruction requires.
    LOAD_VALUE = "load-value": Warning, "Tandem C.5", old "load-value";
    /// Store data has the size of the instruction's access.
    STORE_SIZE = "store-size": Warning, "Tandem 3", old "store-size";
    /// x0 is 0.
    ZERO_REGISTER = "zero-register": Warning, "Tandem 3", old "zero-register";
    /// A trap writes epc, cause, status, tval and privilege mode.
    TRAP_STATE = "trap-state": Warning, "Tandem 3.1", old "trap-state";
    /// An interrupt has no instruction.
    INTERRUPT = "interrupt": Warning, "Tandem 3", old "interrupt";
}
