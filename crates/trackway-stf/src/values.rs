//! Named values: generators, features, ISAs, events. Values without a name keep their number.

use std::borrow::Cow;

use trackway_core::Producer;

/// Bits of TRACE_INFO_FEATURE.
pub mod features {
    /// Bit 0: physical addresses.
    pub const PHYSICAL_ADDRESS: u64 = 1 << 0;
    /// Bit 2: operand values.
    pub const OPERAND_VALUE: u64 = 1 << 2;
    /// Bit 3: events.
    pub const EVENT: u64 = 1 << 3;
    /// Bit 5: RV64.
    pub const RV64: u64 = 1 << 5;
    /// Bit 8: page table walks.
    pub const PTE: u64 = 1 << 8;
    /// Bit 10: process ids.
    pub const PROCESS_ID: u64 = 1 << 10;
    /// Bit 13: register state.
    pub const REGISTER_STATE: u64 = 1 << 13;
    /// Bit 14: micro-ops.
    pub const MICROOP: u64 = 1 << 14;
    /// Bit 15: several hardware threads.
    pub const MULTI_THREAD: u64 = 1 << 15;
    /// Bit 16: several cores.
    pub const MULTI_CORE: u64 = 1 << 16;
    /// Bit 18: vector registers.
    pub const VECTOR: u64 = 1 << 18;
    /// Bit 19: EVENT ids have 64 bits.
    pub const EVENT64: u64 = 1 << 19;
    /// Bit 20: transactions.
    pub const TRANSACTIONS: u64 = 1 << 20;

    /// Names of bits 0 to 20.
    pub const NAMES: [&str; 21] = [
        "physical-address",
        "data-attribute",
        "operand-value",
        "event",
        "syscall-value",
        "rv64",
        "int-div-operand",
        "sampling",
        "pte",
        "simpoint",
        "process-id",
        "pte-only",
        "needs-post-process",
        "register-state",
        "micro-op",
        "multi-thread",
        "multi-core",
        "pte-hw-ad",
        "vector",
        "event64",
        "transactions",
    ];

    /// Names of the bits that are set; unnamed ones by number.
    pub fn names(features: u64) -> impl Iterator<Item = String> {
        (0..64).filter(move |bit| features >> bit & 1 == 1).map(|bit| match NAMES.get(bit) {
            Some(name) => (*name).to_string(),
            None => format!("bit{bit}"),
        })
    }
}

/// A number with a name in a table, or the number itself.
fn named(names: &[(u64, &'static str)], number: u64) -> Cow<'static, str> {
    match names.iter().find(|entry| entry.0 == number) {
        Some(entry) => Cow::Borrowed(entry.1),
        None => Cow::Owned(format!("{number:#x}")),
    }
}

/// The end of stf_lib's list, which names no tool: the text of TRACE_INFO does, and so for Trackway.
pub const UNLISTED: u8 = 0xff;

/// The number that Trackway 0.1 had. It is not in stf_lib's list, and its viewers abort on it.
const TRACKWAY_0_1: u8 = 0x54;

/// Spike's generator number.
pub(crate) const SPIKE: u8 = 6;
/// Dromajo's generator number.
pub(crate) const DROMAJO: u8 = 12;

/// Generators by number.
const GENERATORS: &[(u64, &str)] = &[
    (0, "Reserved"),
    (1, "QEMU"),
    (2, "Android Emulator"),
    (3, "gem5"),
    (4, "PTE_GEN"),
    (5, "Imperas"),
    (SPIKE as u64, "Spike"),
    (7, "stf_extract"),
    (8, "stf_merge"),
    (9, "stf_filter_evt"),
    (10, "Athena"),
    (11, "stf_morph"),
    (DROMAJO as u64, "Dromajo"),
    (13, "Pegasus"),
    (14, "stf_transaction_extract"),
    (0x40, "example tool"),
];

/// Name of a generator.
pub fn generator(number: u8) -> Cow<'static, str> {
    match number {
        UNLISTED => Cow::Borrowed("Unlisted"),
        TRACKWAY_0_1 => Cow::Borrowed("Trackway"),
        _ => named(GENERATORS, number.into()),
    }
}

/// Is the generator in stf_lib's list?
pub fn is_listed(number: u8) -> bool {
    number == UNLISTED || number != 0 && GENERATORS.iter().any(|entry| entry.0 == number.into())
}

/// The tool of a TRACE_INFO. The text of an unlisted one is `NAME`, or `NAME; VERSION; COMMENT`.
pub fn producer(number: u8, [major, minor, patch]: [u8; 3], text: &str) -> Producer {
    let version = format!("{major}.{minor}.{patch}");
    if number != UNLISTED || text.is_empty() {
        let (name, comment) = (generator(number).into_owned(), text.into());
        return Producer { name, version, comment };
    }
    let mut fields = text.splitn(3, "; ");
    let mut field = || fields.next().map(str::to_string);
    let name = field().unwrap_or_default();
    Producer { name, version: field().unwrap_or(version), comment: field().unwrap_or_default() }
}

/// The inverse of [`producer`]: number, version and text of the TRACE_INFO of a tool.
pub fn trace_info(producer: &Producer) -> (u8, [u8; 3], String) {
    let Producer { name, version, comment } = producer;
    let mut numbers = version.split('.').map(|part| part.parse().ok());
    let numbers: [Option<u8>; 3] = std::array::from_fn(|_| numbers.next().flatten());
    let plain = numbers.map(|n| n.unwrap_or(0));
    let exact = *version == plain.map(|n| n.to_string()).join(".");
    let listed = GENERATORS.iter().find(|entry| entry.1 == name).map(|entry| entry.0 as u8);
    let hex = name.strip_prefix("0x").and_then(|digits| u8::from_str_radix(digits, 16).ok());
    match listed.or(hex).filter(|_| exact) {
        Some(number) => (number, plain, comment.clone()),
        None if exact && comment.is_empty() => (UNLISTED, plain, name.clone()),
        None => (UNLISTED, plain, format!("{name}; {version}; {comment}")),
    }
}

/// ISA numbers (STF ISARecord).
pub mod isa {
    /// RISC-V.
    pub const RISCV: u16 = 1;
    /// Arm.
    pub const ARM: u16 = 2;
}

/// Name of an ISA.
pub(crate) fn isa_name(number: u16) -> Cow<'static, str> {
    const NAMES: &[(u64, &str)] = &[(0, "RESERVED"), (1, "RISCV"), (2, "ARM"), (3, "x86"), (4, "POWER")];
    named(NAMES, number.into())
}

/// Instruction encoding modes (STF InstIEMRecord).
pub mod iem {
    /// RV32.
    pub const RV32: u16 = 1;
    /// RV64.
    pub const RV64: u16 = 2;
    /// AArch64: Trackway's own number, since no version of the specification assigns one.
    pub const A64: u16 = 0x41;
    /// AArch32, A32 encodings: Trackway's own number, too.
    pub const A32: u16 = 0x42;
    /// AArch32, T32 encodings: Trackway's own number, too.
    pub const T32: u16 = 0x43;
}

/// Name of an instruction encoding mode.
pub(crate) fn iem_name(number: u16) -> Cow<'static, str> {
    const NAMES: &[(u64, &str)] = &[
        (1, "RV32"),
        (2, "RV64"),
        (iem::A64 as u64, "A64"),
        (iem::A32 as u64, "A32"),
        (iem::T32 as u64, "T32"),
    ];
    named(NAMES, number.into())
}

/// Name of an exception cause (STF Exception Event table, numbers of the privileged spec).
pub fn exception(code: u64) -> Cow<'static, str> {
    const NAMES: &[(u64, &str)] = &[
        (0, "INST_ADDR_MISALIGN"),
        (1, "INST_ADDR_FAULT"),
        (2, "ILLEGAL_INST"),
        (3, "BREAKPOINT"),
        (4, "LOAD_ADDR_MISALIGN"),
        (5, "LOAD_ACCESS_FAULT"),
        (6, "STORE_ADDR_MISALIGN"),
        (7, "STORE_ACCESS_FAULT"),
        (8, "USER_ECALL"),
        (9, "SUPERVISOR_ECALL"),
        (10, "HYPERVISOR_ECALL"),
        (11, "MACHINE_ECALL"),
        (12, "INST_PAGE_FAULT"),
        (13, "LOAD_PAGE_FAULT"),
        (15, "STORE_PAGE_FAULT"),
        (16, "DOUBLE_TRAP"),
        (18, "SOFTWARE_CHECK"),
        (19, "HARDWARE_ERROR"),
        (20, "GUEST_INST_PAGE_FAULT"),
        (21, "GUEST_LOAD_PAGE_FAULT"),
        (22, "VIRTUAL_INST"),
        (23, "GUEST_STORE_PAGE_FAULT"),
    ];
    named(NAMES, code)
}

/// Name of an interrupt.
pub fn interrupt(code: u64) -> Cow<'static, str> {
    const NAMES: &[(u64, &str)] = &[
        (0, "USER_SOFTWARE"),
        (1, "SUPERVISOR_SOFTWARE"),
        (2, "HYPERVISOR_SOFTWARE"),
        (3, "MACHINE_SOFTWARE"),
        (4, "USER_TIMER"),
        (5, "SUPERVISOR_TIMER"),
        (6, "HYPERVISOR_TIMER"),
        (7, "MACHINE_TIMER"),
        (8, "USER_EXT"),
        (9, "SUPERVISOR_EXT"),
        (10, "HYPERVISOR_EXT"),
        (11, "MACHINE_EXT"),
        (12, "COPROCESSOR"),
        (13, "COUNTER_OVERFLOW"),
    ];
    named(NAMES, code)
}

/// Code of the only special event, a mode change; its data word is the new mode.
pub const MODE_CHANGE: u64 = 0;

/// Access types of memory and bus records.
pub mod access {
    /// Load.
    pub const READ: u8 = 1;
    /// Store.
    pub const WRITE: u8 = 2;
}

/// Register classes (STF InstRegRecord).
pub mod reg_class {
    /// Integer; number 32 is the pc.
    pub const INTEGER: u8 = 1;
    /// Floating point.
    pub const FLOAT: u8 = 2;
    /// Vector.
    pub const VECTOR: u8 = 3;
    /// Control and status.
    pub const CSR: u8 = 4;
}

/// Number of the pc in the integer class.
pub const REG_PC: u16 = 32;

/// Roles of registers (STF InstRegRecord).
pub mod reg_role {
    /// State, set outside the instruction.
    pub const STATE: u8 = 1;
    /// Source operand.
    pub const SOURCE: u8 = 2;
    /// Destination operand.
    pub const DESTINATION: u8 = 3;
}
