//! The event model: what happened, in words that all formats share.
//!
//! Small values are in the [`Event`] itself; what is large or rare lies in the side arrays of the
//! [`Batch`](crate::Batch) that holds the event. Unknown is `None`, never 0.

use std::num::NonZeroU32;

use crate::events::format_id::FormatId;
use crate::events::model::{fields, words};

/// One thing that happened, and the item in the input that recorded it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Byte offset of the native item, in the decompressed stream.
    pub offset: u64,
    /// Kind of event, with its data.
    pub kind: EventKind,
}

/// Kind of event, with its data. The numbers index the side array of the same name in the batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventKind {
    /// One instruction, attempted or retired.
    Step(Step),
    /// A straight run of instructions, as flow decoders produce it.
    Run(Run),
    /// Exception, interrupt, return from one, reset: index into `traps`.
    Trap(u32),
    /// Privilege, ids, execution state: index into `contexts`.
    Context(u32),
    /// Timestamp or cycle count.
    Time(Time),
    /// Trace event, trigger, transaction, note.
    Mark(Mark),
    /// State that is set outside any instruction: index into `states`.
    State(u32),
    /// Something is missing here: index into `gaps`.
    Gap(u32),
    /// A format's own item that the model does not name, kept verbatim.
    Foreign(Foreign),
}

const _: () = assert!(size_of::<Event>() <= 48);

words! {
    /// Instruction set and width.
    pub enum Isa {
        /// RISC-V, 32-bit.
        Rv32 = "rv32",
        /// RISC-V, 64-bit.
        Rv64 = "rv64",
        /// Arm AArch64.
        A64 = "a64",
        /// Arm AArch32, A32 encodings.
        A32 = "a32",
        /// Arm AArch32, T32 encodings.
        T32 = "t32",
        /// Not known, or one that Trackway has no decoder for.
        Other = "other",
    }
}

words! {
    /// Did the instruction complete?
    pub enum Outcome {
        /// It completed.
        Retired = "retired",
        /// It was attempted and trapped: system calls, breakpoints, faults.
        Attempted = "attempted",
    }
}

/// Place of a [`StepExtra`] in `Batch::extras`, plus 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtraRef(pub(crate) NonZeroU32);

/// Place of a [`MemExtra`] in `Batch::mem_extras`, plus 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemExtraRef(pub(crate) NonZeroU32);

/// Place of an [`Accesses`] in `Batch::run_accesses`, plus 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessesRef(pub(crate) NonZeroU32);

/// Where a step's memory and register accesses are in the batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// First in `Batch::mem`.
    pub mem_start: u32,
    /// First in `Batch::regs`.
    pub regs_start: u32,
    /// How many memory accesses.
    pub mem_len: u16,
    /// How many register accesses.
    pub regs_len: u16,
}

fields! {
    /// One instruction.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Step {
        /// Its address; a stream that starts without one has none.
        pub pc: Option<u64>,
        /// Its encoding, zero-extended; meaningless where `length` is 0.
        pub encoding: u32,
        /// Its memory and register accesses.
        pub accesses: Accesses,
        /// Rare attributes, see [`Batch::extra_of`](crate::Batch::extra_of).
        pub extra: Option<ExtraRef>,
        /// Length in bytes; 0 where the encoding is not known.
        pub length: u8,
        /// Did it complete?
        pub outcome: Outcome,
        /// For a branch: did it change the flow?
        pub taken: Option<bool>,
    }
}

fields! {
    /// Attributes that few steps have.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct StepExtra {
        /// Where a taken branch went.
        pub target: Option<u64>,
        /// Physical address of the instruction.
        pub physical_pc: Option<u64>,
        /// Slice index of an SME instruction.
        pub sme_index: Option<u32>,
        /// Micro-ops: 5 bytes each, size in bytes and the 32-bit word.
        pub micro_ops: Span,
        /// Not an instruction: a fetch fault recorded as a no-op.
        pub placeholder: bool,
    }
}

words! {
    /// How a run of instructions ends.
    pub enum Exit {
        /// The next instruction follows in memory.
        Next = "next",
        /// Conditional direct branch.
        Branch = "branch",
        /// Unconditional direct jump.
        Jump = "jump",
        /// Direct call.
        Call = "call",
        /// Indirect jump.
        IndirectJump = "indirect-jump",
        /// Indirect call.
        IndirectCall = "indirect-call",
        /// Return from a call.
        Return = "return",
        /// Return from an exception.
        TrapReturn = "trap-return",
        /// Exception or interrupt.
        Trap = "trap",
        /// The trace does not say: it ends or breaks here.
        End = "end",
    }
}

fields! {
    /// Instructions that lie one after the other in memory, `[start, end)`.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Run {
        /// Address of the first instruction.
        pub start: u64,
        /// Address after the last instruction.
        pub end: u64,
        /// How many instructions, attempted ones included.
        pub count: u32,
        /// Accesses of its last instruction, see [`Batch::accesses_of`](crate::Batch::accesses_of). A data trace
        /// cuts runs after every instruction whose accesses it records.
        pub accesses: Option<AccessesRef>,
        /// Instruction set.
        pub isa: Isa,
        /// How it ends.
        pub exit: Exit,
        /// For a branch at the end: was it taken?
        pub taken: Option<bool>,
        /// The last instruction was attempted and did not retire.
        pub attempted: bool,
        /// The program contradicts the trace here.
        pub doubtful: bool,
        /// Cancelled speculation or failed transaction.
        pub withdrawn: bool,
    }
}

words! {
    /// Effect of an access on memory.
    pub enum MemKind {
        /// Load.
        Read = "read",
        /// Store.
        Write = "write",
        /// Read-modify-write.
        ReadWrite = "read-write",
        /// Prefetch.
        Prefetch = "prefetch",
        /// Cache, TLB or translation maintenance.
        Maintenance = "maintenance",
        /// A fault that was suppressed (first-faulting loads).
        Suppressed = "suppressed",
        /// The access that faulted.
        Faulting = "faulting",
        /// An access of a kind that the trace does not say.
        Unknown = "unknown",
    }
}

/// Data of any width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Value {
    /// Not recorded.
    #[default]
    Unknown,
    /// Up to 64 bits, zero-extended.
    Word(u64),
    /// Wider: little-endian bytes in the batch.
    Bytes(Span),
}

/// A piece of `Batch::bytes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// How many.
    pub len: u32,
}

fields! {
    /// One memory access of an instruction.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct MemAccess {
        /// Its effect on memory.
        pub kind: MemKind,
        /// Virtual address.
        pub address: u64,
        /// Bytes, or length of a range; may be 0.
        pub size: u64,
        /// Data read, or written by a plain store.
        pub data: Value,
        /// Attributes in the format's own terms.
        pub attributes: u32,
        /// Rare attributes, see [`Batch::mem_extra_of`](crate::Batch::mem_extra_of).
        pub extra: Option<MemExtraRef>,
        /// The address carries an allocation tag that is checked.
        pub tagged: bool,
        /// A range given by its length, not a single access.
        pub range: bool,
        /// Size or kind was inferred, not recorded.
        pub inferred: bool,
        /// The address was not recorded, and `address` means nothing.
        pub unplaced: bool,
    }
}

fields! {
    /// Attributes that few accesses have.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct MemExtra {
        /// Physical address.
        pub physical: Option<u64>,
        /// Value that a read-modify-write stored (`data` is the one that it read).
        pub stored: Value,
        /// The operation of an atomic, in the format's own terms.
        pub operation: Option<u32>,
    }
}

words! {
    /// Register file.
    pub enum RegClass {
        /// General purpose (`x`).
        Int = "x",
        /// Floating point (`f`).
        Float = "f",
        /// Vector (`v`).
        Vector = "v",
        /// Control and status, or system register.
        Csr = "csr",
        /// Program counter.
        Pc = "pc",
        /// Anything else, numbered in the format's own terms.
        Other = "reg",
    }
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Reg {
    /// Register file.
    pub class: RegClass,
    /// Number in the file; the address for a CSR.
    pub number: u16,
}

words! {
    /// Why a register is mentioned.
    pub enum RegRole {
        /// Read by the instruction.
        Source = "source",
        /// Written by the instruction.
        Destination = "destination",
        /// Its content at this point.
        State = "state",
        /// Marked ready: a dependency was cut.
        Ready = "ready",
    }
}

words! {
    /// Meaning of the value for the register.
    pub enum RegUpdate {
        /// It is the value.
        Set = "set",
        /// It is added, modulo the register's width.
        Add = "add",
        /// It is or-ed in.
        Or = "or",
    }
}

fields! {
    /// One register that an instruction names.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RegAccess {
        /// Which.
        pub reg: Reg,
        /// Why.
        pub role: RegRole,
        /// How the value applies.
        pub update: RegUpdate,
        /// The value.
        pub value: Value,
        /// Which bits of it are known, where not all are.
        pub known: Option<u64>,
    }
}

words! {
    /// Kind of trap.
    pub enum TrapKind {
        /// Synchronous.
        Exception = "exception",
        /// Asynchronous.
        Interrupt = "interrupt",
        /// Return from either.
        Return = "return",
        /// Reset.
        Reset = "reset",
        /// The trace does not say.
        Unknown = "unknown",
    }
}

words! {
    /// Which instruction made a system call.
    pub enum Syscall {
        /// RISC-V ECALL.
        Ecall = "ecall",
        /// Arm SVC.
        Svc = "svc",
        /// Arm HVC.
        Hvc = "hvc",
        /// Arm SMC.
        Smc = "smc",
    }
}

fields! {
    /// A trap.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Trap {
        /// Which kind.
        pub kind: TrapKind,
        /// Cause number, in the architecture's terms.
        pub cause: Option<u64>,
        /// Arm exception class.
        pub class: Option<u8>,
        /// Trap value: faulting address, instruction …
        pub value: Option<u64>,
        /// The instruction that trapped, or would have been next.
        pub from: Option<u64>,
        /// First instruction of the handler, or where a return went.
        pub to: Option<u64>,
        /// Preferred return address.
        pub return_address: Option<u64>,
        /// Taken to or from a virtual mode.
        pub is_virtual: bool,
        /// The system call instruction.
        pub syscall: Option<Syscall>,
        /// Its number or immediate.
        pub syscall_index: Option<u64>,
        /// Further words in the format's own terms, 8 little-endian bytes each.
        pub words: Span,
    }
}

words! {
    /// Privilege or exception level.
    pub enum Privilege {
        /// RISC-V user.
        U = "u",
        /// RISC-V supervisor.
        S = "s",
        /// RISC-V hypervisor (HS where the format distinguishes it).
        H = "h",
        /// RISC-V machine.
        M = "m",
        /// RISC-V debug.
        D = "d",
        /// RISC-V virtual user.
        VU = "vu",
        /// RISC-V virtual supervisor.
        VS = "vs",
        /// Arm EL0.
        El0 = "el0",
        /// Arm EL1.
        El1 = "el1",
        /// Arm EL2.
        El2 = "el2",
        /// Arm EL3.
        El3 = "el3",
    }
}

words! {
    /// Arm security state.
    pub enum Security {
        /// Secure.
        Secure = "secure",
        /// Non-secure.
        NonSecure = "non-secure",
        /// Realm.
        Realm = "realm",
        /// Root.
        Root = "root",
    }
}

fields! {
    /// Changes of the context. `None` says: as before, or unknown; for `pid` and `tid` beside an Arm exception
    /// level: that there is none.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
    pub struct Context {
        /// Privilege or exception level.
        pub privilege: Option<Privilege>,
        /// Arm security state.
        pub security: Option<Security>,
        /// Arm PSTATE.SP: the level's own stack pointer (handler), not SP_EL0 (thread).
        pub own_stack: Option<bool>,
        /// Context id (Arm CONTEXTIDR, RISC-V trace context).
        pub context_id: Option<u64>,
        /// Virtual machine id.
        pub vmid: Option<u64>,
        /// Address space id.
        pub asid: Option<u64>,
        /// Process id.
        pub pid: Option<u64>,
        /// Thread id.
        pub tid: Option<u64>,
        /// Hardware thread.
        pub hw_thread: Option<u64>,
        /// How it changed (E-Trace ctype).
        pub change: Option<u8>,
        /// Instruction set.
        pub isa: Option<Isa>,
        /// Vector length in bits.
        pub vector_bits: Option<u32>,
        /// Streaming mode.
        pub streaming: Option<bool>,
        /// Data independent timing.
        pub dit: Option<bool>,
        /// Speculative store bypass safe.
        pub ssbs: Option<bool>,
        /// Memory tagging: how tag faults are reported (0 none, 1 sync, 2 async, 3 asymmetric).
        pub mte: Option<u8>,
        /// A mode that the trace cannot describe begins (true) or ends (false).
        pub unsupported: Option<bool>,
    }
}

words! {
    /// Kind of time.
    pub enum TimeKind {
        /// Absolute timestamp.
        Timestamp = "timestamp",
        /// Cycles between the last count and a timestamp; never summed.
        Offset = "offset",
        /// Cycles since the last count; these sum up.
        Cycles = "cycles",
    }
}

fields! {
    /// Timestamp or cycle count.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Time {
        /// Kind of time.
        pub kind: TimeKind,
        /// The number; a unit may say that it lost count.
        pub value: Option<u64>,
        /// Clock domain.
        pub clock: u16,
    }
}

words! {
    /// Kind of mark.
    pub enum MarkKind {
        /// The core halted.
        Halt = "halt",
        /// A trigger fired; the value is its number or address.
        Trigger = "trigger",
        /// A watchpoint asked for a notification; the value is the address.
        Notify = "notify",
        /// A numbered trace event.
        TraceEvent = "trace-event",
        /// A transaction began.
        TransactionStart = "transaction-start",
        /// It committed.
        TransactionCommit = "transaction-commit",
        /// It failed; the value is the cause.
        TransactionFail = "transaction-fail",
        /// Tracing starts here.
        TraceOn = "trace-on",
        /// Tracing stops here.
        TraceOff = "trace-off",
        /// The instrumentation instruction wrote this value.
        Instrumentation = "instrumentation",
        /// A timestamp was asked for here.
        TimestampMarker = "timestamp-marker",
        /// Text.
        Note = "note",
        /// Recording was suspended.
        Suspended = "suspended",
    }
}

fields! {
    /// A mark in the stream.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Mark {
        /// Kind of mark.
        pub kind: MarkKind,
        /// Number, address or value, by kind.
        pub value: Option<u64>,
        /// Text, UTF-8.
        pub text: Span,
    }
}

words! {
    /// Why something is missing.
    pub enum GapReason {
        /// The trace unit's buffer overflowed.
        Overflow = "overflow",
        /// Filtered out on purpose.
        Filtered = "filtered",
        /// The trace unit discarded what it had not committed.
        Discarded = "discarded",
        /// Synchronisation was lost.
        LostSync = "lost-sync",
        /// The input is damaged.
        BadInput = "bad-input",
        /// The program is not known at this address.
        NoCode = "no-code",
        /// Instructions were executed on a path that the trace does not tell.
        NoPath = "no-path",
        /// The producer left something out.
        Unexplained = "unexplained",
    }
}

fields! {
    /// Something is missing.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Gap {
        /// Why.
        pub reason: GapReason,
        /// Last address known before it.
        pub from: Option<u64>,
        /// First address known after it.
        pub to: Option<u64>,
        /// Instructions executed in it, where known although their path is not.
        pub instructions: Option<u64>,
        /// Bytes of input skipped.
        pub bytes: Option<u64>,
    }
}

fields! {
    /// A native item that the model does not name.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Foreign {
        /// Whose.
        pub format: FormatId,
        /// Which item, in the format's own numbers.
        pub code: u32,
        /// The item, verbatim.
        pub data: Span,
    }
}

/// State that is set outside any instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    /// Register contents and memory contents (initialisation, dumps).
    Contents(Accesses),
    /// A page table walk.
    PageWalk(PageWalk),
    /// An access by somebody else on the bus.
    Bus(Bus),
}

fields! {
    /// Entries read while translating an address.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PageWalk {
        /// The address translated.
        pub virtual_address: u64,
        /// Number of the instruction that first uses the page.
        pub first_use: u64,
        /// Page size in bytes.
        pub page_size: u64,
        /// Pairs of entry address and raw entry, 16 little-endian bytes each, leaf last.
        pub entries: Span,
    }
}

fields! {
    /// A transfer on the bus by an initiator other than the core traced.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Bus {
        /// Its effect on memory.
        pub kind: MemKind,
        /// Address.
        pub address: u64,
        /// Bytes.
        pub size: u64,
        /// Kind of initiator, in the format's own terms.
        pub initiator: u8,
        /// Which one of that kind.
        pub index: u8,
        /// Attributes in the format's own terms.
        pub attributes: u32,
        /// Data sent to memory, or read where there is one only.
        pub data: Value,
        /// Data that came back.
        pub returned: Value,
        /// Result code of the transfer.
        pub result: Option<u8>,
    }
}
