//! Every rule that a trace is checked against, in the order of the spec.
//!
//! "Must" is an error, "should" a warning; an unusual but legal record is a note.

use trackway_core::{Rule, Severity};

/// Declares the rules, and the list of all of them.
macro_rules! rules {
    ($($id:ident = $name:literal (old $old:literal), $severity:ident, $section:literal, $demand:literal;)*) => {
        $(
            #[doc = concat!($demand, "\n\nNamed `", $old, "` before.")]
            pub const $id: Rule = Rule {
                name: $name,
                severity: Severity::$severity,
                section: concat!("ASTF ", $section),
                demand: $demand,
                old: "",
            };
        )*

        /// All rules, in the order of the spec.
        pub const RULES: &[&Rule] = &[$(&$id),*];
    };
}

rules! {
    SINGLE_EL = "astf.single-el" (old "ASTF-3.1-single-el"), Error, "3.1",
        "A Basic trace (single_el set) has instructions of one exception level only.";
    DISCONTINUITY = "astf.context-at-discontinuity" (old "ASTF-3.1-context-at-discontinuity"), Error, "3.1",
        "In a Basic trace a Context precedes each instruction that the flow does not lead to.";
    NO_INSTRUCTIONS = "astf.no-instructions" (old "ASTF-3.1-no-instructions"), Warning, "3.1",
        "A trace has Instruction records.";
    CONTINUITY = "astf.pc-continuity" (old "ASTF-3.2-pc-continuity"), Error, "3.2",
        "In a BasicPlus trace branches, traps and exception returns explain every address.";
    NOT_ATTEMPTED = "astf.attempt-not-recorded" (old "ASTF-3.2-attempt-not-recorded"), Warning, "3.2",
        "A BasicPlus trace should record the attempt of an instruction that trapped.";
    RECORD_TYPE = "astf.record-type" (old "ASTF-4.1-record-type"), Error, "4.1",
        "The first byte of a record is a type of table 3.";
    HEADER_FIRST = "astf.header-first" (old "ASTF-4.2-header-first"), Error, "4.2",
        "The first record is the Header.";
    HEADER_ONCE = "astf.header-once" (old "ASTF-4.2-header-once"), Error, "4.2",
        "No further Header follows.";
    MAGIC = "astf.magic" (old "ASTF-4.2-magic"), Error, "4.2",
        "The Header begins with the characters ASTF.";
    VERSION = "astf.version" (old "ASTF-4.2-version"), Error, "4.2",
        "The Header has the version of the format that the trace uses (0.10 or 0.11).";
    FUTURE_FLAGS = "astf.future-flags" (old "ASTF-4.2-future-flags"), Error, "4.2",
        "The feature flags that are defined for future use are 0.";
    RESERVED = "astf.reserved-bits" (old "ASTF-4.2-reserved-bits"), Note, "4",
        "Reserved bits are 0.";
    ZLIB_UNUSED = "astf.use-zlib-without-compressed" (old "ASTF-4.2.1-use-zlib-without-compressed"), Note, "4.2.1",
        "use_zlib has no meaning in a trace that is not compressed.";
    COMPRESSED_FLAG = "astf.compressed-flag" (old "ASTF-4.2.1-compressed-flag"), Error, "4.2.1",
        "Without the compressed flag the records are stored raw.";
    SANITISED = "astf.sanitised-address" (old "ASTF-4.3-sanitised-address"), Error, "4.3",
        "Address bits above the translated range equal bit 55 (0 at EL3).";
    CONTEXT_FIRST = "astf.context-first" (old "ASTF-4.4-context-first"), Error, "4.4",
        "A Context comes before the first Instruction.";
    STACK_AT_EL0 = "astf.handler-at-el0" (old "ASTF-4.4-handler-at-el0"), Error, "4.4",
        "handler is PSTATE.SP, which is 0 at EL0.";
    TID_NEEDS_PID = "astf.tid-needs-pid" (old "ASTF-4.4-tid-needs-pid"), Error, "4.4",
        "A Context with a thread id has a process id.";
    ID_NOT_VALID = "astf.id-not-valid" (old "ASTF-4.4-id-not-valid"), Note, "4.4",
        "A process or thread id that is not valid is 0.";
    VECTOR_LENGTH = "astf.vector-length" (old "ASTF-4.4-vector-length"), Error, "4.4",
        "evl is the vector length that unpredicated vector accesses have.";
    CONTEXT_MISSING = "astf.context-missing" (old "ASTF-4.4-context-missing"), Error, "4.4",
        "A Context follows an instruction that changed a tracked system register field.";
    CONTEXT_UNCHANGED = "astf.context-unchanged" (old "ASTF-4.4-context-unchanged"), Error, "4.4",
        "No Context follows a system register write that changed no tracked field.";
    UNSUPPORTED_BASIC = "astf.unsupported-in-basic" (old "ASTF-4.4.2-unsupported-in-basic"), Error, "4.4.2",
        "Only BasicPlus traces have Contexts with the unsupported flag.";
    UNSUPPORTED_RECORDS = "astf.records-in-unsupported-mode" (old "ASTF-4.4.2-records-in-unsupported-mode"), Error, "4.4.2",
        "Nothing is recorded in an unsupported mode until a Context ends it.";
    UNSUPPORTED_TIMES = "astf.timestamps-in-unsupported-mode" (old "ASTF-4.4.2-timestamps-in-unsupported-mode"), Error, "4.4.2",
        "Timestamps occur only at the entry to and the exit from an unsupported mode.";
    PC_ALIGNED = "astf.pc-alignment" (old "ASTF-4.5-pc-alignment"), Error, "4.5",
        "The address of an instruction is a multiple of 4.";
    SME_INDEX = "astf.sme-index-missing" (old "ASTF-4.5-sme-index-missing"), Error, "4.5",
        "An indexing SME instruction has xattr_mode 2 and its index.";
    SME_NO_INDEX = "astf.sme-index-unexpected" (old "ASTF-4.5-sme-index-unexpected"), Error, "4.5",
        "An instruction that computes no SME index has no xattr_mode 2, and an SME one no xattr at all.";
    BRANCH_FLAG = "astf.branch-flag" (old "ASTF-4.5.1-branch-flag"), Error, "4.5.1",
        "A branch instruction has is_branch.";
    NOT_A_BRANCH = "astf.not-a-branch" (old "ASTF-4.5.1-not-a-branch"), Error, "4.5.1",
        "ERET, DRPS, SVC, HVC, SMC and anything else that is not a branch has no is_branch.";
    TAKEN_EA = "astf.taken-target" (old "ASTF-4.5.1-taken-target"), Error, "4.5.1",
        "A taken branch has ea_valid and its target; an unconditional one is always taken.";
    BRANCH_TARGET = "astf.target-of-direct-branch" (old "ASTF-4.5.1-target-of-direct-branch"), Error, "4.5.1",
        "The target of a direct branch is the one in its encoding.";
    NOT_TAKEN_EA = "astf.not-taken-ea-zero" (old "ASTF-4.5.1-not-taken-ea-zero"), Error, "4.5.1",
        "A branch that is not taken has ea 0.";
    BRANCH_MEMORY = "astf.branch-without-access" (old "ASTF-4.5.1-branch-without-access"), Error, "4.5.1",
        "A branch has no flags, sizes or attributes of a memory access.";
    EA_MISSING = "astf.ea-missing" (old "ASTF-4.5.2-ea-missing"), Error, "4.5.2",
        "A memory-accessing instruction has ea_valid and its address.";
    ACCESS_SIZE = "astf.access-size" (old "ASTF-4.5.2-access-size"), Error, "4.5.2",
        "The accesses of an instruction cover the bytes that its encoding demands, without a gap.";
    LITERAL_ADDRESS = "astf.literal-address" (old "ASTF-4.5.2-literal-address"), Error, "4.5.2",
        "The access of a literal load or prefetch is at the address in its encoding.";
    EA_UNEXPECTED = "astf.ea-unexpected" (old "ASTF-4.5.2-ea-unexpected"), Error, "4.5.2",
        "An instruction that neither branches nor accesses memory has no effective address.";
    NO_ACCESS_ZERO = "astf.no-access-fields-zero" (old "ASTF-4.5.2-no-access-fields-zero"), Error, "4.5.2",
        "Without an access ea, ea_size and all flags of one are 0.";
    READ_FLAG = "astf.load-read-flag" (old "ASTF-4.5.2-load-read-flag"), Error, "4.5.2",
        "A load that read memory has is_read.";
    LOAD_WRITES = "astf.load-without-write" (old "ASTF-4.5.2-load-without-write"), Error, "4.5.2",
        "A load has no is_write.";
    WRITE_FLAG = "astf.store-write-flag" (old "ASTF-4.5.2-store-write-flag"), Error, "4.5.2",
        "A store that wrote memory, DC ZVA, GVA and GZVA included, has is_write.";
    STORE_READS = "astf.store-without-read" (old "ASTF-4.5.2-store-without-read"), Error, "4.5.2",
        "A store has no is_read.";
    READ_WRITE_FLAGS = "astf.read-modify-write-flags" (old "ASTF-4.5.2-read-modify-write-flags"), Error, "4.5.2",
        "A read-modify-write has is_read and is_write.";
    PREFETCH_FLAGS = "astf.prefetch-flags" (old "ASTF-4.5.2-prefetch-flags"), Error, "4.5.2",
        "A prefetch has neither is_read nor is_write.";
    SPECIAL_FLAGS = "astf.maintenance-flags" (old "ASTF-4.5.2-maintenance-flags"), Error, "4.5.2",
        "IC, DC, TLBI and AT have neither is_read nor is_write.";
    SPECIAL_SIZE = "astf.maintenance-size" (old "ASTF-4.5.2-maintenance-size"), Error, "4.5.2",
        "PRFM, IC, DC, TLBI and AT have ea_size 0.";
    SPECIAL_TAGGED = "astf.maintenance-untagged" (old "ASTF-4.5.2-maintenance-untagged"), Error, "4.5.2",
        "PRFM, TLBI and AT are Tag Unchecked.";
    TAG_GRANULE = "astf.tag-granule" (old "ASTF-4.5.2-tag-granule"), Error, "4.5.2",
        "An access to tags has the granule-aligned base address.";
    UNTAGGED_TAGS = "astf.untagged-tag-access" (old "ASTF-4.5.2-untagged-tag-access"), Error, "4.5.2",
        "A tag load or store that did not access tags has no access.";
    SUPPRESSED_TRAP = "astf.suppressed-without-trap" (old "ASTF-4.5.2-suppressed-without-trap"), Error, "4.5.2",
        "Suppressed faults do not set the trap flag: at most the last access of a trapped load lacks is_read.";
    SUPPRESSED_SIZE = "astf.suppressed-size" (old "ASTF-4.5.2-suppressed-size"), Error, "4.5.2",
        "A suppressed access has the size of an element.";
    SUPPRESSED_TAG = "astf.suppressed-tag" (old "ASTF-4.5.2-suppressed-tag"), Error, "4.5.2",
        "A suppressed access is tagged only if a synchronous Tag Check Fault suppressed it.";
    TRAPPED_FLAGS = "astf.trapped-without-flags" (old "ASTF-4.5.2-trapped-without-flags"), Error, "4.5.2",
        "An access that trapped before it completed has neither is_read nor is_write.";
    RANGE_NEEDS_EA = "astf.range-needs-ea" (old "ASTF-4.5.2.1-range-needs-ea"), Error, "4.5.2.1",
        "A range access has ea_valid and its base in ea.";
    RANGE_MISSING = "astf.range-missing" (old "ASTF-4.5.2.1-range-missing"), Error, "4.5.2.1",
        "Memory copy and set and range TLBI record ranges (xattr_mode 1).";
    RANGE_UNEXPECTED = "astf.range-unexpected" (old "ASTF-4.5.2.1-range-unexpected"), Error, "4.5.2.1",
        "Only memory copy and set and range TLBI record ranges.";
    RANGE_SIZE = "astf.range-size-zero" (old "ASTF-4.5.2-range-size-zero"), Error, "4.5.2.1",
        "A range access has ea_size 0.";
    RANGE_DIRECTION = "astf.range-direction" (old "ASTF-4.5.2.1-range-direction"), Error, "4.5.2.1",
        "A range is read or written, not both and not neither (range TLBI apart).";
    RANGE_ORDER = "astf.range-order" (old "ASTF-4.5.2.1-range-order"), Error, "4.5.2.1",
        "The range that is read comes before the range that is written.";
    MOPS_RANGES = "astf.mops-ranges" (old "ASTF-4.5.2.2-mops-ranges"), Error, "4.5.2.2",
        "A memory copy has a read and a written range, a memory set only written ones.";
    MOPS_ZERO_TAG = "astf.empty-range-untagged" (old "ASTF-4.5.2.2-empty-range-untagged"), Error, "4.5.2.2",
        "A range of 0 bytes is not tagged.";
    SVC_TRAP = "astf.svc-trap-flag" (old "ASTF-4.5.3.1-svc-trap-flag"), Error, "4.5.3.1",
        "SVC has the trap flag.";
    SVC_CONTEXT = "astf.svc-context" (old "ASTF-4.5.3.1-svc-context"), Error, "4.5.3.1",
        "In a Basic trace a Context comes between SVC and the next Instruction.";
    TRAP_FLAG = "astf.trap-flag" (old "ASTF-4.5.3.2-trap-flag"), Error, "4.5.3.2",
        "An instruction that always takes an exception has the trap flag.";
    TRAPPED_BRANCH = "astf.trapped-branch-without-ea" (old "ASTF-4.5.3.2-trapped-branch-without-ea"), Error, "4.5.3.2",
        "A branch that trapped has no target.";
    ABORT_EA = "astf.data-abort-ea" (old "ASTF-4.5.3.2-data-abort-ea"), Error, "4.5.3.2",
        "A trapped access has its address if and only if the exception is a Data Abort.";
    FAULT_LAST = "astf.faulting-access-last" (old "ASTF-4.5.3.2-faulting-access-last"), Error, "4.5.3.2",
        "The last access of a vector instruction that took a Data Abort is the faulting one.";
    MOPS_FAULT = "astf.mops-faulting-access" (old "ASTF-4.5.3.2-mops-faulting-access"), Warning, "4.5.3.2",
        "A memory copy or set that took a Data Abort should have the faulting access last, which is not a range.";
    TRAP_MISSING = "astf.trap-record-missing" (old "ASTF-4.5.3.2-trap-record-missing"), Error, "4.5.3.2",
        "In a BasicPlus trace a Trap follows an instruction with the trap flag, before any Context.";
    EXTRA_ORPHAN = "astf.extra-ea-without-owner" (old "ASTF-4.6-extra-ea-without-owner"), Error, "4.6",
        "An Extra EA follows an Instruction or Extra EA with extra_eas.";
    EXTRA_MISSING = "astf.extra-ea-missing" (old "ASTF-4.6-extra-ea-missing"), Error, "4.6",
        "Extra EA records follow their Instruction immediately.";
    EXTRA_UNUSED = "astf.mem1-unused" (old "ASTF-4.6-mem1-unused"), Error, "4.6",
        "Without mem1_valid and without a range the mem1 fields are 0.";
    EXTRA_RANGE = "astf.range-mem1" (old "ASTF-4.6-range-mem1"), Error, "4.6",
        "A range uses only mem1_addr of the mem1 fields, and has no mem1_valid.";
    EXTRA_RANGE_SIZE = "astf.extra-range-size-zero" (old "ASTF-4.6-range-size-zero"), Error, "4.6",
        "A range in an Extra EA has mem0_size 0.";
    BASIC_TRAP = "astf.trap-in-basic" (old "ASTF-4.7-trap-in-basic"), Error, "4.7",
        "Trap records are for BasicPlus traces.";
    TRAP_TYPE_RESERVED = "astf.trap-type" (old "ASTF-4.7-trap-type"), Error, "4.7",
        "trap_type is 0 to 5.";
    TRAP_BEFORE_CONTEXT = "astf.trap-before-context" (old "ASTF-4.7-trap-before-context"), Error, "4.7",
        "A Trap comes before the Context of its handler: the exception level does not change without one.";
    TRAP_LEVEL = "astf.level-after-trap" (old "ASTF-4.7-level-after-trap"), Error, "4.7",
        "The Context after a Trap has the level and stack pointer that the exception or the return leads to.";
    EXCEPTION_CLASS = "astf.exception-class" (old "ASTF-4.7.1-exception-class"), Warning, "4.7.1",
        "ec is an exception class that the architecture defines.";
    SYSCALL_TYPE = "astf.syscall-type" (old "ASTF-4.7.2-syscall-type"), Error, "4.7.2",
        "syscall_type names the SVC, HVC or SMC that trapped, and is 0 otherwise.";
    SYSCALL_INDEX = "astf.syscall-index" (old "ASTF-4.7.2-syscall-index"), Error, "4.7.2",
        "syscall_index is the immediate of the system call instruction, and 0 otherwise.";
    SYSCALL_CLASS = "astf.syscall-class" (old "ASTF-4.7.2-syscall-class"), Error, "4.7.2",
        "The exception class of a system call is that of its instruction.";
    TRAP_SYNCHRONOUS = "astf.trap-type-with-instruction" (old "ASTF-4.7.2-trap-type-with-instruction"), Error, "4.7.2",
        "The Trap of an instruction with the trap flag has trap_type 0.";
    SERROR_CLASS = "astf.serror-class" (old "ASTF-4.7.3-serror-class"), Error, "4.7.3",
        "The Trap of an SError has its exception class.";
    INTERRUPT_CLASS = "astf.interrupt-class" (old "ASTF-4.7.3-interrupt-class"), Warning, "4.7.3",
        "The Trap of an interrupt should have exception class 0.";
    VIRTUAL = "astf.virtual" (old "ASTF-4.7.3-virtual"), Error, "4.7.3",
        "is_virtual is for SError, IRQ and FIQ.";
    RETURN_ORPHAN = "astf.return-without-eret" (old "ASTF-4.7.4-return-without-eret"), Error, "4.7.4",
        "An exception return follows an ERET that has no trap flag.";
    RETURN_MISSING = "astf.return-missing" (old "ASTF-4.7.4-return-missing"), Error, "4.7.4",
        "A Trap with the return follows an ERET in a BasicPlus trace, before any other Trap.";
    RETURN_FIELDS = "astf.return-fields-zero" (old "ASTF-4.7.4-return-fields-zero"), Error, "4.7.4",
        "An exception return has only the fields trap_type and target_pc.";
    RESET_FIELDS = "astf.reset-fields-zero" (old "ASTF-4.7.5-reset-fields-zero"), Error, "4.7.5",
        "A reset has only the fields trap_type and target_pc.";
    STRING_ORPHAN = "astf.continuation-without-string" (old "ASTF-4.8-continuation-without-string"), Error, "4.8",
        "A String continuation continues a String that is not complete.";
    STRING_CUT = "astf.string-incomplete" (old "ASTF-4.8-string-incomplete"), Error, "4.8",
        "The records of a string follow each other until its size is reached.";
    STRING_PADDING = "astf.string-padding" (old "ASTF-4.8-string-padding"), Error, "4.8",
        "Bytes after the end of a string are 0.";
    TIME_FLAG = "astf.timestamps-flag" (old "ASTF-4.9-timestamps-flag"), Error, "4.9",
        "A trace with Timestamp records has the timestamps flag.";
    TIME_UNIT = "astf.unit" (old "ASTF-4.9-unit"), Error, "4.9",
        "The unit of a Timestamp is 1, microseconds.";
    TIME_FIRST = "astf.timestamp-first" (old "ASTF-4.9-timestamp-first"), Error, "4.9",
        "A trace with timestamps has one before the first Context and Instruction.";
    TIME_INTERLEAVED = "astf.timestamp-interleaved" (old "ASTF-4.9-timestamp-interleaved"), Error, "4.9",
        "A Timestamp does not interrupt a sequence of records.";
    TIME_INCREASING = "astf.timestamps-increasing" (old "ASTF-4.9-timestamps-increasing"), Error, "4.9",
        "Each Timestamp is larger than the one before it.";
    TIME_MAXIMUM = "astf.maximum" (old "ASTF-4.9-maximum"), Error, "4.9",
        "A Timestamp is not all ones.";
    TIME_SUSPENDED = "astf.timestamp-in-suspension" (old "ASTF-4.9-timestamp-in-suspension"), Warning, "4.9",
        "Two Timestamps in a row frame a suspension; none should come between them.";
}
