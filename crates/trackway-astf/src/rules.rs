//! Every rule that a trace is checked against, in the order of the spec.
//!
//! "Must" is an error, "should" a warning; an unusual but legal record is a note.

trackway_core::rules! { "astf";
    /// A Basic trace (single_el set) has instructions of one exception level only.
    SINGLE_EL = "single-el": Error, "ASTF 3.1", old "ASTF-3.1-single-el";
    /// In a Basic trace a Context precedes each instruction that the flow does not lead to.
    DISCONTINUITY = "context-at-discontinuity": Error, "ASTF 3.1", old "ASTF-3.1-context-at-discontinuity";
    /// A trace has Instruction records.
    NO_INSTRUCTIONS = "no-instructions": Warning, "ASTF 3.1", old "ASTF-3.1-no-instructions";
    /// In a BasicPlus trace branches, traps and exception returns explain every address.
    CONTINUITY = "pc-continuity": Error, "ASTF 3.2", old "ASTF-3.2-pc-continuity";
    /// A BasicPlus trace should record the attempt of an instruction that trapped.
    NOT_ATTEMPTED = "attempt-not-recorded": Warning, "ASTF 3.2", old "ASTF-3.2-attempt-not-recorded";
    /// The first byte of a record is a type of table 3.
    RECORD_TYPE = "record-type": Error, "ASTF 4.1", old "ASTF-4.1-record-type";
    /// The first record is the Header.
    HEADER_FIRST = "header-first": Error, "ASTF 4.2", old "ASTF-4.2-header-first";
    /// No further Header follows.
    HEADER_ONCE = "header-once": Error, "ASTF 4.2", old "ASTF-4.2-header-once";
    /// The Header begins with the characters ASTF.
    MAGIC = "magic": Error, "ASTF 4.2", old "ASTF-4.2-magic";
    /// The Header has the version of the format that the trace uses (0.10 or 0.11).
    VERSION = "version": Error, "ASTF 4.2", old "ASTF-4.2-version";
    /// The feature flags that are defined for future use are 0.
    FUTURE_FLAGS = "future-flags": Error, "ASTF 4.2", old "ASTF-4.2-future-flags";
    /// Reserved bits are 0.
    RESERVED = "reserved-bits": Note, "ASTF 4", old "ASTF-4.2-reserved-bits";
    /// use_zlib has no meaning in a trace that is not compressed.
    ZLIB_UNUSED = "use-zlib-without-compressed": Note, "ASTF 4.2.1", old "ASTF-4.2.1-use-zlib-without-compressed";
    /// Without the compressed flag the records are stored raw.
    COMPRESSED_FLAG = "compressed-flag": Error, "ASTF 4.2.1", old "ASTF-4.2.1-compressed-flag";
    /// Address bits above the translated range equal bit 55 (0 at EL3).
    SANITISED = "sanitised-address": Error, "ASTF 4.3", old "ASTF-4.3-sanitised-address";
    /// A Context comes before the first Instruction.
    CONTEXT_FIRST = "context-first": Error, "ASTF 4.4", old "ASTF-4.4-context-first";
    /// handler is PSTATE.SP, which is 0 at EL0.
    STACK_AT_EL0 = "handler-at-el0": Error, "ASTF 4.4", old "ASTF-4.4-handler-at-el0";
    /// A Context with a thread id has a process id.
    TID_NEEDS_PID = "tid-needs-pid": Error, "ASTF 4.4", old "ASTF-4.4-tid-needs-pid";
    /// A process or thread id that is not valid is 0.
    ID_NOT_VALID = "id-not-valid": Note, "ASTF 4.4", old "ASTF-4.4-id-not-valid";
    /// evl is the vector length that unpredicated vector accesses have.
    VECTOR_LENGTH = "vector-length": Error, "ASTF 4.4", old "ASTF-4.4-vector-length";
    /// A Context follows an instruction that changed a tracked system register field.
    CONTEXT_MISSING = "context-missing": Error, "ASTF 4.4", old "ASTF-4.4-context-missing";
    /// The Context after SMSTART, SMSTOP or MSR with an immediate has the value that the encoding sets.
    CONTEXT_CONTRADICTS = "context-contradicts-write": Error, "ASTF 4.4";
    /// A Context of a BasicPlus trace changes only after an instruction, Trap or mode that can change it.
    CONTEXT_CAUSE = "context-without-cause": Warning, "ASTF 4.4";
    /// No Context follows a system register write that changed no tracked field.
    CONTEXT_UNCHANGED = "context-unchanged": Error, "ASTF 4.4", old "ASTF-4.4-context-unchanged";
    /// Only BasicPlus traces have Contexts with the unsupported flag.
    UNSUPPORTED_BASIC = "unsupported-in-basic": Error, "ASTF 4.4.2", old "ASTF-4.4.2-unsupported-in-basic";
    /// Nothing is recorded in an unsupported mode until a Context ends it.
    UNSUPPORTED_RECORDS = "records-in-unsupported-mode": Error, "ASTF 4.4.2", old "ASTF-4.4.2-records-in-unsupported-mode";
    /// Timestamps occur only at the entry to and the exit from an unsupported mode.
    UNSUPPORTED_TIMES = "timestamps-in-unsupported-mode": Error, "ASTF 4.4.2", old "ASTF-4.4.2-timestamps-in-unsupported-mode";
    /// The address of an instruction is a multiple of 4.
    PC_ALIGNED = "pc-alignment": Error, "ASTF 4.5", old "ASTF-4.5-pc-alignment";
    /// An indexing SME instruction has xattr_mode 2 and its index.
    SME_INDEX = "sme-index-missing": Error, "ASTF 4.5", old "ASTF-4.5-sme-index-missing";
    /// An instruction that computes no SME index has no xattr_mode 2, and an SME one no xattr at all.
    SME_NO_INDEX = "sme-index-unexpected": Error, "ASTF 4.5", old "ASTF-4.5-sme-index-unexpected";
    /// A branch instruction has is_branch.
    BRANCH_FLAG = "branch-flag": Error, "ASTF 4.5.1", old "ASTF-4.5.1-branch-flag";
    /// ERET, DRPS, SVC, HVC, SMC and anything else that is not a branch has no is_branch.
    NOT_A_BRANCH = "not-a-branch": Error, "ASTF 4.5.1", old "ASTF-4.5.1-not-a-branch";
    /// A taken branch has ea_valid and its target; an unconditional one is always taken.
    TAKEN_EA = "taken-target": Error, "ASTF 4.5.1", old "ASTF-4.5.1-taken-target";
    /// The target of a direct branch is the one in its encoding.
    BRANCH_TARGET = "target-of-direct-branch": Error, "ASTF 4.5.1", old "ASTF-4.5.1-target-of-direct-branch";
    /// A branch that is not taken has ea 0.
    NOT_TAKEN_EA = "not-taken-ea-zero": Error, "ASTF 4.5.1", old "ASTF-4.5.1-not-taken-ea-zero";
    /// A branch has no flags, sizes or attributes of a memory access.
    BRANCH_MEMORY = "branch-without-access": Error, "ASTF 4.5.1", old "ASTF-4.5.1-branch-without-access";
    /// A memory-accessing instruction has ea_valid and its address.
    EA_MISSING = "ea-missing": Error, "ASTF 4.5.2", old "ASTF-4.5.2-ea-missing";
    /// The accesses of an instruction cover the bytes that its encoding demands, without a gap.
    ACCESS_SIZE = "access-size": Error, "ASTF 4.5.2", old "ASTF-4.5.2-access-size";
    /// The accesses of a predicated vector instruction are whole elements, and no more than its vectors hold.
    VECTOR_SIZE = "vector-access-size": Error, "ASTF 4.5.2";
    /// The block of DC ZVA, GVA and GZVA is aligned to its size.
    BLOCK_ALIGNED = "block-alignment": Error, "ASTF 4.5.2";
    /// The access of a literal load or prefetch is at the address in its encoding.
    LITERAL_ADDRESS = "literal-address": Error, "ASTF 4.5.2", old "ASTF-4.5.2-literal-address";
    /// An instruction that neither branches nor accesses memory has no effective address.
    EA_UNEXPECTED = "ea-unexpected": Error, "ASTF 4.5.2", old "ASTF-4.5.2-ea-unexpected";
    /// Without an access ea, ea_size and all flags of one are 0.
    NO_ACCESS_ZERO = "no-access-fields-zero": Error, "ASTF 4.5.2", old "ASTF-4.5.2-no-access-fields-zero";
    /// A load that read memory has is_read.
    READ_FLAG = "load-read-flag": Error, "ASTF 4.5.2", old "ASTF-4.5.2-load-read-flag";
    /// A load has no is_write.
    LOAD_WRITES = "load-without-write": Error, "ASTF 4.5.2", old "ASTF-4.5.2-load-without-write";
    /// A store that wrote memory, DC ZVA, GVA and GZVA included, has is_write.
    WRITE_FLAG = "store-write-flag": Error, "ASTF 4.5.2", old "ASTF-4.5.2-store-write-flag";
    /// A store has no is_read.
    STORE_READS = "store-without-read": Error, "ASTF 4.5.2", old "ASTF-4.5.2-store-without-read";
    /// A read-modify-write has is_read and is_write.
    READ_WRITE_FLAGS = "read-modify-write-flags": Error, "ASTF 4.5.2", old "ASTF-4.5.2-read-modify-write-flags";
    /// A prefetch has neither is_read nor is_write.
    PREFETCH_FLAGS = "prefetch-flags": Error, "ASTF 4.5.2", old "ASTF-4.5.2-prefetch-flags";
    /// IC, DC, TLBI and AT have neither is_read nor is_write.
    SPECIAL_FLAGS = "maintenance-flags": Error, "ASTF 4.5.2", old "ASTF-4.5.2-maintenance-flags";
    /// PRFM, IC, DC, TLBI and AT have ea_size 0.
    SPECIAL_SIZE = "maintenance-size": Error, "ASTF 4.5.2", old "ASTF-4.5.2-maintenance-size";
    /// PRFM, TLBI and AT are Tag Unchecked.
    SPECIAL_TAGGED = "maintenance-untagged": Error, "ASTF 4.5.2", old "ASTF-4.5.2-maintenance-untagged";
    /// An access to tags has the granule-aligned base address.
    TAG_GRANULE = "tag-granule": Error, "ASTF 4.5.2", old "ASTF-4.5.2-tag-granule";
    /// A tag load or store that did not access tags has no access.
    UNTAGGED_TAGS = "untagged-tag-access": Error, "ASTF 4.5.2", old "ASTF-4.5.2-untagged-tag-access";
    /// Suppressed faults do not set the trap flag: at most the last access of a trapped load lacks is_read.
    SUPPRESSED_TRAP = "suppressed-without-trap": Error, "ASTF 4.5.2", old "ASTF-4.5.2-suppressed-without-trap";
    /// A suppressed access has the size of an element.
    SUPPRESSED_SIZE = "suppressed-size": Error, "ASTF 4.5.2", old "ASTF-4.5.2-suppressed-size";
    /// A suppressed access is tagged only if a synchronous Tag Check Fault suppressed it.
    SUPPRESSED_TAG = "suppressed-tag": Error, "ASTF 4.5.2", old "ASTF-4.5.2-suppressed-tag";
    /// An access that trapped before it completed has neither is_read nor is_write.
    TRAPPED_FLAGS = "trapped-without-flags": Error, "ASTF 4.5.2", old "ASTF-4.5.2-trapped-without-flags";
    /// A range access has ea_valid and its base in ea.
    RANGE_NEEDS_EA = "range-needs-ea": Error, "ASTF 4.5.2.1", old "ASTF-4.5.2.1-range-needs-ea";
    /// Memory copy and set and range TLBI record ranges (xattr_mode 1).
    RANGE_MISSING = "range-missing": Error, "ASTF 4.5.2.1", old "ASTF-4.5.2.1-range-missing";
    /// Only memory copy and set and range TLBI record ranges.
    RANGE_UNEXPECTED = "range-unexpected": Error, "ASTF 4.5.2.1", old "ASTF-4.5.2.1-range-unexpected";
    /// A range access has ea_size 0.
    RANGE_SIZE = "range-size-zero": Error, "ASTF 4.5.2.1", old "ASTF-4.5.2-range-size-zero";
    /// A range is read or written, not both and not neither (range TLBI apart).
    RANGE_DIRECTION = "range-direction": Error, "ASTF 4.5.2.1", old "ASTF-4.5.2.1-range-direction";
    /// The range that is read comes before the range that is written.
    RANGE_ORDER = "range-order": Error, "ASTF 4.5.2.1", old "ASTF-4.5.2.1-range-order";
    /// A memory copy has a read and a written range, a memory set only written ones.
    MOPS_RANGES = "mops-ranges": Error, "ASTF 4.5.2.2", old "ASTF-4.5.2.2-mops-ranges";
    /// A range of 0 bytes is not tagged.
    MOPS_ZERO_TAG = "empty-range-untagged": Error, "ASTF 4.5.2.2", old "ASTF-4.5.2.2-empty-range-untagged";
    /// SVC has the trap flag.
    SVC_TRAP = "svc-trap-flag": Error, "ASTF 4.5.3.1", old "ASTF-4.5.3.1-svc-trap-flag";
    /// In a Basic trace a Context comes between SVC and the next Instruction.
    SVC_CONTEXT = "svc-context": Error, "ASTF 4.5.3.1", old "ASTF-4.5.3.1-svc-context";
    /// An instruction that always takes an exception has the trap flag.
    TRAP_FLAG = "trap-flag": Error, "ASTF 4.5.3.2", old "ASTF-4.5.3.2-trap-flag";
    /// A branch that trapped has no target.
    TRAPPED_BRANCH = "trapped-branch-without-ea": Error, "ASTF 4.5.3.2", old "ASTF-4.5.3.2-trapped-branch-without-ea";
    /// A trapped access has its address if and only if the exception is a Data Abort.
    ABORT_EA = "data-abort-ea": Error, "ASTF 4.5.3.2", old "ASTF-4.5.3.2-data-abort-ea";
    /// The last access of a vector instruction that took a Data Abort is the faulting one.
    FAULT_LAST = "faulting-access-last": Error, "ASTF 4.5.3.2", old "ASTF-4.5.3.2-faulting-access-last";
    /// A memory copy or set that took a Data Abort should have the faulting access last, which is not a range.
    MOPS_FAULT = "mops-faulting-access": Warning, "ASTF 4.5.3.2", old "ASTF-4.5.3.2-mops-faulting-access";
    /// In a BasicPlus trace a Trap follows an instruction with the trap flag, before any Context.
    TRAP_MISSING = "trap-record-missing": Error, "ASTF 4.5.3.2", old "ASTF-4.5.3.2-trap-record-missing";
    /// An Extra EA follows an Instruction or Extra EA with extra_eas.
    EXTRA_ORPHAN = "extra-ea-without-owner": Error, "ASTF 4.6", old "ASTF-4.6-extra-ea-without-owner";
    /// Extra EA records follow their Instruction immediately.
    EXTRA_MISSING = "extra-ea-missing": Error, "ASTF 4.6", old "ASTF-4.6-extra-ea-missing";
    /// Without mem1_valid and without a range the mem1 fields are 0.
    EXTRA_UNUSED = "mem1-unused": Error, "ASTF 4.6", old "ASTF-4.6-mem1-unused";
    /// A range uses only mem1_addr of the mem1 fields, and has no mem1_valid.
    EXTRA_RANGE = "range-mem1": Error, "ASTF 4.6", old "ASTF-4.6-range-mem1";
    /// A range in an Extra EA has mem0_size 0.
    EXTRA_RANGE_SIZE = "extra-range-size-zero": Error, "ASTF 4.6", old "ASTF-4.6-range-size-zero";
    /// Trap records are for BasicPlus traces.
    BASIC_TRAP = "trap-in-basic": Error, "ASTF 4.7", old "ASTF-4.7-trap-in-basic";
    /// trap_type is 0 to 5.
    TRAP_TYPE_RESERVED = "trap-type": Error, "ASTF 4.7", old "ASTF-4.7-trap-type";
    /// A Trap comes before the Context of its handler: the exception level does not change without one.
    TRAP_BEFORE_CONTEXT = "trap-before-context": Error, "ASTF 4.7", old "ASTF-4.7-trap-before-context";
    /// The Context after a Trap has the level and stack pointer that the exception or the return leads to.
    TRAP_LEVEL = "level-after-trap": Error, "ASTF 4.7", old "ASTF-4.7-level-after-trap";
    /// ec is an exception class that the architecture defines.
    EXCEPTION_CLASS = "exception-class": Warning, "ASTF 4.7.1", old "ASTF-4.7.1-exception-class";
    /// The exception class of an instruction with the trap flag is one that the instruction can take.
    INSTRUCTION_CLASS = "class-of-instruction": Error, "ASTF 4.7.2";
    /// syscall_type names the SVC, HVC or SMC that trapped, and is 0 otherwise.
    SYSCALL_TYPE = "syscall-type": Error, "ASTF 4.7.2", old "ASTF-4.7.2-syscall-type";
    /// syscall_index is the immediate of the system call instruction, and 0 otherwise.
    SYSCALL_INDEX = "syscall-index": Error, "ASTF 4.7.2", old "ASTF-4.7.2-syscall-index";
    /// The exception class of a system call is that of its instruction.
    SYSCALL_CLASS = "syscall-class": Error, "ASTF 4.7.2", old "ASTF-4.7.2-syscall-class";
    /// The Trap of an instruction with the trap flag has trap_type 0.
    TRAP_SYNCHRONOUS = "trap-type-with-instruction": Error, "ASTF 4.7.2", old "ASTF-4.7.2-trap-type-with-instruction";
    /// The Trap of an SError has its exception class.
    SERROR_CLASS = "serror-class": Error, "ASTF 4.7.3", old "ASTF-4.7.3-serror-class";
    /// The Trap of an interrupt should have exception class 0.
    INTERRUPT_CLASS = "interrupt-class": Warning, "ASTF 4.7.3", old "ASTF-4.7.3-interrupt-class";
    /// is_virtual is for SError, IRQ and FIQ.
    VIRTUAL = "virtual": Error, "ASTF 4.7.3", old "ASTF-4.7.3-virtual";
    /// An exception return follows an ERET that has no trap flag.
    RETURN_ORPHAN = "return-without-eret": Error, "ASTF 4.7.4", old "ASTF-4.7.4-return-without-eret";
    /// A Trap with the return follows an ERET in a BasicPlus trace, before any other Trap.
    RETURN_MISSING = "return-missing": Error, "ASTF 4.7.4", old "ASTF-4.7.4-return-missing";
    /// An exception return has only the fields trap_type and target_pc.
    RETURN_FIELDS = "return-fields-zero": Error, "ASTF 4.7.4", old "ASTF-4.7.4-return-fields-zero";
    /// A reset has only the fields trap_type and target_pc.
    RESET_FIELDS = "reset-fields-zero": Error, "ASTF 4.7.5", old "ASTF-4.7.5-reset-fields-zero";
    /// A String continuation continues a String that is not complete.
    STRING_ORPHAN = "continuation-without-string": Error, "ASTF 4.8", old "ASTF-4.8-continuation-without-string";
    /// The records of a string follow each other until its size is reached.
    STRING_CUT = "string-incomplete": Error, "ASTF 4.8", old "ASTF-4.8-string-incomplete";
    /// Bytes after the end of a string are 0.
    STRING_PADDING = "string-padding": Error, "ASTF 4.8", old "ASTF-4.8-string-padding";
    /// A trace with Timestamp records has the timestamps flag.
    TIME_FLAG = "timestamps-flag": Error, "ASTF 4.9", old "ASTF-4.9-timestamps-flag";
    /// The unit of a Timestamp is 1, microseconds.
    TIME_UNIT = "unit": Error, "ASTF 4.9", old "ASTF-4.9-unit";
    /// A trace with timestamps has one before the first Context and Instruction.
    TIME_FIRST = "timestamp-first": Error, "ASTF 4.9", old "ASTF-4.9-timestamp-first";
    /// A Timestamp does not interrupt a sequence of records.
    TIME_INTERLEAVED = "timestamp-interleaved": Error, "ASTF 4.9", old "ASTF-4.9-timestamp-interleaved";
    /// Each Timestamp is larger than the one before it.
    TIME_INCREASING = "timestamps-increasing": Error, "ASTF 4.9", old "ASTF-4.9-timestamps-increasing";
    /// A Timestamp is not all ones.
    TIME_MAXIMUM = "maximum": Error, "ASTF 4.9", old "ASTF-4.9-maximum";
    /// Two Timestamps in a row frame a suspension; none should come between them.
    TIME_SUSPENDED = "timestamp-in-suspension": Warning, "ASTF 4.9", old "ASTF-4.9-timestamp-in-suspension";
}
