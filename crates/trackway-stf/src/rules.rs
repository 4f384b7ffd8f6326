//! The rules of `check`: one for each requirement of the specification, and for the mistakes of existing writers.

trackway_core::rules! { "stf";
    // The header.
    /// The first record is IDENTIFIER, and only that.
    IDENTIFIER_FIRST = "identifier-first": Error, "STFIdentifierRecord (1)", old "STF-identifier-first";
    /// The second record is VERSION, and only that.
    VERSION_SECOND = "version-second": Error, "VersionRecord (2)", old "STF-version-second";
    /// The version is one of 1.2 to 1.6.
    VERSION_KNOWN = "version-known": Warning, "VersionRecord (2)", old "STF-version-known";
    /// The version has every record that is used.
    VERSION_HOLDS = "version-holds": Error, "VersionRecord (2)", old "STF-version-holds";
    /// The header has a COMMENT with the tools and their revisions.
    COMMENT_THERE = "comment-there": Note, "CommentRecord (3)", old "STF-comment-there";
    /// The header has one ISA.
    ISA_ONCE = "isa-once": Error, "ISARecord (4)", old "STF-isa-once";
    /// The specification names the ISA.
    ISA_KNOWN = "isa-known": Warning, "ISARecord (4)", old "STF-isa-known";
    /// ISA precedes INST_IEM.
    ISA_BEFORE_IEM = "isa-before-iem": Error, "ISARecord (4)", old "STF-isa-before-iem";
    /// The header has one INST_IEM.
    IEM_ONCE = "iem-once": Error, "InstIEMRecord (5)", old "STF-iem-once";
    /// The specification names the encoding mode.
    IEM_KNOWN = "iem-known": Warning, "InstIEMRecord (5)", old "STF-iem-known";
    /// The RV64 feature bit agrees with INST_IEM.
    IEM_FEATURE = "iem-feature": Warning, "InstIEMRecord (5)", old "STF-iem-feature";
    /// The header has a TRACE_INFO.
    TRACE_INFO_THERE = "trace-info-there": Error, "TraceInfoRecord (6)", old "STF-trace-info-there";
    /// The generator is in stf_lib's list: its viewers abort on any other.
    GENERATOR_KNOWN = "generator-known": Note, "TraceInfoRecord (6)", old "STF-generator-known";
    /// The header has a TRACE_INFO_FEATURE; every tool may append one.
    FEATURE_ONCE = "feature-once": Error, "TraceInfoFeatureRecord (7)", old "STF-feature-once";
    /// Every feature bit is known.
    FEATURE_KNOWN = "feature-known": Note, "TraceInfoFeatureRecord (7)", old "STF-feature-known";
    /// The content that a feature bit declares is present.
    FEATURE_KEPT = "feature-kept": Warning, "TraceInfoFeatureRecord (7)", old "STF-feature-kept";
    /// A trace is whole: in one that says it is a part of another, the features, page table walks and instruction numbers of the
    /// whole are not judged.
    PART = "part": Note, "TraceInfoFeatureRecord (7)";
    /// Content that has a feature bit is declared.
    FEATURE_DECLARED = "feature-declared": Warning, "TraceInfoFeatureRecord (7)", old "STF-feature-declared";
    /// The header has at most one PROCESS_ID_EXT.
    PROCESS_ID_ONCE = "process-id-once": Error, "ProcessIDExtRecord (8)", old "STF-process-id-once";
    /// The words of PROCESS_ID_EXT have two readings.
    PROCESS_ID_DIALECT = "process-id-dialect": Note, "ProcessIDExtRecord (8)", old "STF-process-id-dialect";
    /// The header has one FORCE_PC.
    FORCE_PC_HEADER = "force-pc-header": Error, "ForcePCRecord (9)", old "STF-force-pc-header";
    /// The header has at most one VLEN_CONFIG.
    VLEN_ONCE = "vlen-once": Error, "STF 1.4 VLEN_CONFIG (10)", old "STF-vlen-once";
    /// The vector length is at least 64 bits.
    VLEN_VALUE = "vlen-value": Error, "STF 1.4 VLEN_CONFIG (10)", old "STF-vlen-value";
    /// The bus protocol is known.
    PROTOCOL_KNOWN = "protocol-known": Error, "PROTOCOL_ID (11)", old "STF-protocol-known";
    /// Clocks are declared, once each, with a number that is not 0.
    CLOCK_ID = "clock-id": Error, "CLOCK_ID (12)", old "STF-clock-id";
    /// The header has at most one ISA_EXTENDED.
    ISA_EXTENDED_ONCE = "isa-extended-once": Error, "STF 1.6 ISA_EXTENDED (13)", old "STF-isa-extended-once";
    /// One END_HEADER ends the header.
    END_HEADER_ONCE = "end-header-once": Error, "EndHeaderRecord (19)", old "STF-end-header-once";
    /// Header records are in the header, others after it.
    HEADER_ONLY = "header-only": Error, "STF File Anatomy", old "STF-header-only";

    // Groups.
    /// Records of a group are in the order of their numbers.
    ORDER = "order": Warning, "ChangeLog 1.1", old "STF-order";
    /// A group has at most one INST_PC_TARGET.
    PC_TARGET_ONCE = "pc-target-once": Error, "InstPCTargetRecord (31)", old "STF-pc-target-once";
    /// Only a branch or jump has an INST_PC_TARGET.
    PC_TARGET_BRANCH = "pc-target-branch": Error, "InstPCTargetRecord (31)", old "STF-pc-target-branch";
    /// An unconditional jump has an INST_PC_TARGET.
    PC_TARGET_MISSING = "pc-target-missing": Error, "InstPCTargetRecord (31)", old "STF-pc-target-missing";
    /// A return from a trap has its target and the change of mode in its own group, as stf_lib's checker wants.
    TRAP_RETURN = "trap-return": Note, "InstPCTargetRecord (31)";
    /// The target is that of the encoding.
    PC_TARGET_VALUE = "pc-target-value": Error, "InstPCTargetRecord (31)", old "STF-pc-target-value";
    /// A FORCE_PC that moves the flow has a cause: a trap, a return from one, a change of process, or a gap.
    PC_CONTINUITY = "pc-continuity": Warning, "ForcePCRecord (9)", old "STF-pc-continuity";
    /// The record's width is the encoding's.
    OPCODE_WIDTH = "opcode-width": Error, "Inst32Record (240)", old "STF-opcode-width";
    /// The encoding is an instruction.
    OPCODE_KNOWN = "opcode-known": Note, "Inst32Record (240)", old "STF-opcode-known";
    /// A micro-op has 2 or 4 bytes.
    MICROOP_SIZE = "microop-size": Warning, "InstMicroOpRecord (230)", old "STF-microop-size";
    /// Every record other than a COMMENT belongs to a later instruction.
    GROUP_OPEN = "group-open": Note, "STF File Anatomy", old "STF-group-open";

    // Registers.
    /// The register type is integer, floating point, vector or CSR.
    REG_CLASS = "reg-class": Error, "InstRegRecord (40)", old "STF-reg-class";
    /// The operand type is state, source or destination.
    REG_ROLE = "reg-role": Error, "InstRegRecord (40)", old "STF-reg-role";
    /// Reserved bits are 0.
    REG_RESERVED = "reg-reserved": Error, "InstRegRecord (40)", old "STF-reg-reserved";
    /// The register exists.
    REG_NUMBER = "reg-number": Error, "InstRegRecord (40)", old "STF-reg-number";
    /// From version 1.4 on, vector registers need a VLEN_CONFIG.
    REG_VECTOR_LENGTH = "reg-vector-length": Error, "STF 1.4 VLEN_CONFIG (10)", old "STF-reg-vector-length";

    // Memory.
    /// The access type is read or write.
    MEM_TYPE = "mem-type": Error, "InstMemAccessRecord (60)", old "STF-mem-type";
    /// INST_MEM_CONTENT follows INST_MEM_ACCESS.
    MEM_CONTENT_FOLLOWS = "mem-content-follows": Error, "InstMemContentRecord (61)", old "STF-mem-content-follows";
    /// Every INST_MEM_ACCESS has its content.
    MEM_CONTENT_MISSING = "mem-content-missing": Warning, "InstMemContentRecord (61)", old "STF-mem-content-missing";
    /// There is one content record for each 8 bytes.
    MEM_CONTENT_COUNT = "mem-content-count": Error, "InstMemContentRecord (61)", old "STF-mem-content-count";
    /// Content shorter than 8 bytes is right-justified and zero-extended.
    MEM_CONTENT_JUSTIFIED = "mem-content-justified": Error, "InstMemContentRecord (61)", old "STF-mem-content-justified";
    /// Sizes are in bytes.
    MEM_SIZE_UNIT = "mem-size-unit": Warning, "InstMemAccessRecord (60)", old "STF-mem-size-unit";
    /// The size is that of the encoding, in one access or in pieces.
    MEM_SIZE_OPCODE = "mem-size-opcode": Error, "InstMemAccessRecord (60)", old "STF-mem-size-opcode";
    /// Every load and store has a memory access.
    MEM_MISSING = "mem-missing": Error, "InstMemAccessRecord (60)", old "STF-mem-missing";
    /// Only loads and stores have memory accesses, of their own kind.
    MEM_SPURIOUS = "mem-spurious": Error, "InstMemAccessRecord (60)", old "STF-mem-spurious";
    /// An atomic reads and writes.
    ATOMIC_SIDES = "atomic-sides": Error, "InstMemAccessRecord (60)";
    /// The access type is read or write.
    BUS_TYPE = "bus-type": Error, "BusMasterAccessRecord (62)", old "STF-bus-type";
    /// Bus masters are numbered in two ways.
    BUS_MASTER = "bus-master": Note, "BusMasterAccessRecord (62)", old "STF-bus-master";
    /// BUS_MASTER_CONTENT follows BUS_MASTER_ACCESS.
    BUS_CONTENT_FOLLOWS = "bus-content-follows": Error, "BusMasterContentRecord (63)", old "STF-bus-content-follows";
    /// Every BUS_MASTER_ACCESS has its content.
    BUS_CONTENT_MISSING = "bus-content-missing": Warning, "BusMasterContentRecord (63)", old "STF-bus-content-missing";
    /// A walk has entries, the last of them a leaf.
    WALK_ENTRIES = "walk-entries": Error, "PageTableWalkRecord (50)", old "STF-walk-entries";
    /// The page size is a power of two and the leaf's.
    WALK_SIZE = "walk-size": Error, "PageTableWalkRecord (50)", old "STF-walk-size";
    /// A trace that declares page table walks has one before the first access to a page.
    WALK_MISSING = "walk-missing": Error, "PageTableWalkRecord (50)";
    /// The walk names the instruction that follows it.
    WALK_INDEX = "walk-index": Warning, "PageTableWalkRecord (50)", old "STF-walk-index";

    // Events.
    /// The table names the event.
    EVENT_KNOWN = "event-known": Note, "STF Exception Event and Event Meta-Data", old "STF-event-known";
    /// The event is not one that the architecture reserves.
    EVENT_RESERVED = "event-reserved": Error, "STF Exception Event and Event Meta-Data";
    /// An event has no more fields than the table lists.
    EVENT_SURPLUS = "event-surplus": Warning, "STF Exception Event and Event Meta-Data";
    /// An event has the fields that the table requires.
    EVENT_FIELDS = "event-fields": Warning, "STF Exception Event and Event Meta-Data", old "STF-event-fields";
    /// EVENT_PC_TARGET follows an EVENT.
    EVENT_TARGET = "event-target": Error, "EventPCTargetRecord (101)", old "STF-event-target";
    /// A mode change has one word, 0 to 3.
    MODE_VALUE = "mode-value": Error, "STF Exception Event and Event Meta-Data", old "STF-mode-value";
    /// The trace starts with a mode change.
    MODE_AT_START = "mode-at-start": Warning, "EventRecord (100)", old "STF-mode-at-start";

    // Transactions, and the end.
    /// Transactions need a PROTOCOL_ID and declared clocks.
    TRANSACTION_HEADER = "transaction-header": Error, "TRANSACTION (250)", old "STF-transaction-header";
    /// Descriptor 0 is never written.
    RESERVED_DESCRIPTOR = "reserved-descriptor": Error, "STF_RESERVED (0)", old "STF-reserved-descriptor";
    /// Nothing follows RESERVE_END.
    RESERVE_END_LAST = "reserve-end-last": Error, "STFReserveEndRecord (255)", old "STF-reserve-end-last";
    /// Existing readers abort on RESERVE_END.
    RESERVE_END_FIELD = "reserve-end-field": Note, "STFReserveEndRecord (255)", old "STF-reserve-end-field";
    /// A trace has instructions or transactions.
    EMPTY = "empty": Error, "STF File Anatomy", old "STF-empty";

    // The container.
    /// The index has the address of a chunk's first instruction.
    CHUNK_PC = "chunk-pc": Error, "ZSTF", old "ZSTF-chunk-pc";
    /// The index agrees with the file: offsets, sizes, number of chunks.
    CHUNK_INDEX = "chunk-index": Error, "ZSTF";
    /// Every chunk but the last has the declared number of instructions.
    CHUNK_MARKERS = "chunk-markers": Error, "ZSTF", old "ZSTF-chunk-markers";
}
