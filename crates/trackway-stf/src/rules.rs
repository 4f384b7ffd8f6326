//! The rules that `check` knows: one for every demand of the text, and for what real writers get wrong.

use trackway_core::{Rule, Severity};

macro_rules! rules {
    ($($name:ident $severity:ident $id:literal $section:literal $demand:literal;)*) => {
        $(pub(crate) const $name: Rule =
            Rule { name: $id, severity: Severity::$severity, section: $section, demand: $demand, old: "" };)*

        /// All rules, for `--waive` and for the docs.
        pub static RULES: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    // The header.
    IDENTIFIER_FIRST Error "STF-identifier-first" "STFIdentifierRecord (1)" "the first record is IDENTIFIER, and only that";
    VERSION_SECOND Error "STF-version-second" "VersionRecord (2)" "the second record is VERSION, and only that";
    VERSION_KNOWN Warning "STF-version-known" "VersionRecord (2)" "the version is one of 1.2 to 1.6";
    VERSION_HOLDS Error "STF-version-holds" "VersionRecord (2)" "the version knows every record that is used";
    COMMENT_THERE Note "STF-comment-there" "CommentRecord (3)" "the header has a COMMENT with the tools and their revisions";
    ISA_ONCE Error "STF-isa-once" "ISARecord (4)" "the header has one ISA";
    ISA_KNOWN Warning "STF-isa-known" "ISARecord (4)" "the ISA is one that the text names";
    ISA_BEFORE_IEM Error "STF-isa-before-iem" "ISARecord (4)" "ISA precedes INST_IEM";
    IEM_ONCE Error "STF-iem-once" "InstIEMRecord (5)" "the header has one INST_IEM";
    IEM_KNOWN Warning "STF-iem-known" "InstIEMRecord (5)" "the encoding mode is one that the text names";
    IEM_FEATURE Warning "STF-iem-feature" "InstIEMRecord (5)" "the RV64 feature bit agrees with INST_IEM";
    TRACE_INFO_THERE Error "STF-trace-info-there" "TraceInfoRecord (6)" "the header has a TRACE_INFO";
    GENERATOR_KNOWN Note "STF-generator-known" "TraceInfoRecord (6)" "the generator is a known one";
    FEATURE_ONCE Error "STF-feature-once" "TraceInfoFeatureRecord (7)" "the header has one TRACE_INFO_FEATURE";
    FEATURE_KNOWN Note "STF-feature-known" "TraceInfoFeatureRecord (7)" "every feature bit is a known one";
    FEATURE_KEPT Warning "STF-feature-kept" "TraceInfoFeatureRecord (7)" "what a feature bit promises is there";
    FEATURE_DECLARED Warning "STF-feature-declared" "TraceInfoFeatureRecord (7)" "what is there is declared by its feature bit";
    PROCESS_ID_ONCE Error "STF-process-id-once" "ProcessIDExtRecord (8)" "the header has at most one PROCESS_ID_EXT";
    PROCESS_ID_DIALECT Note "STF-process-id-dialect" "ProcessIDExtRecord (8)" "the words of PROCESS_ID_EXT can be read in two ways";
    FORCE_PC_HEADER Error "STF-force-pc-header" "ForcePCRecord (9)" "the header has one FORCE_PC";
    VLEN_ONCE Error "STF-vlen-once" "STF 1.4 VLEN_CONFIG (10)" "the header has at most one VLEN_CONFIG";
    VLEN_VALUE Error "STF-vlen-value" "STF 1.4 VLEN_CONFIG (10)" "the vector length is at least 64 bits";
    PROTOCOL_KNOWN Error "STF-protocol-known" "PROTOCOL_ID (11)" "the bus protocol is a known one";
    CLOCK_ID Error "STF-clock-id" "CLOCK_ID (12)" "clocks are declared, once each, with a number that is not 0";
    ISA_EXTENDED_ONCE Error "STF-isa-extended-once" "STF 1.6 ISA_EXTENDED (13)" "the header has at most one ISA_EXTENDED";
    END_HEADER_ONCE Error "STF-end-header-once" "EndHeaderRecord (19)" "one END_HEADER ends the header";
    HEADER_ONLY Error "STF-header-only" "STF File Anatomy" "header records stand in the header, others behind it";

    // Groups.
    ORDER Warning "STF-order" "ChangeLog 1.1" "records of a group stand in the order of their numbers";
    PC_TARGET_ONCE Error "STF-pc-target-once" "InstPCTargetRecord (31)" "a group has at most one INST_PC_TARGET";
    PC_TARGET_BRANCH Error "STF-pc-target-branch" "InstPCTargetRecord (31)" "only a branch or jump has an INST_PC_TARGET";
    PC_TARGET_MISSING Error "STF-pc-target-missing" "InstPCTargetRecord (31)" "an unconditional jump has an INST_PC_TARGET";
    PC_TARGET_VALUE Error "STF-pc-target-value" "InstPCTargetRecord (31)" "the target is the one that the encoding names";
    PC_CONTINUITY Warning "STF-pc-continuity" "ForcePCRecord (9)" "a FORCE_PC that moves the flow has a cause: a trap, a return from one, or a change of process";
    OPCODE_WIDTH Error "STF-opcode-width" "Inst32Record (240)" "the record's width is the encoding's";
    OPCODE_KNOWN Note "STF-opcode-known" "Inst32Record (240)" "the encoding is an instruction";
    MICROOP_SIZE Warning "STF-microop-size" "InstMicroOpRecord (230)" "a micro-op has 2 or 4 bytes";
    GROUP_OPEN Note "STF-group-open" "STF File Anatomy" "every record but a COMMENT belongs to an instruction that follows";

    // Registers.
    REG_CLASS Error "STF-reg-class" "InstRegRecord (40)" "the register type is integer, floating point, vector or CSR";
    REG_ROLE Error "STF-reg-role" "InstRegRecord (40)" "the operand type is state, source or destination";
    REG_RESERVED Error "STF-reg-reserved" "InstRegRecord (40)" "reserved bits are 0";
    REG_NUMBER Error "STF-reg-number" "InstRegRecord (40)" "the register exists";
    REG_VECTOR_LENGTH Error "STF-reg-vector-length" "STF 1.4 VLEN_CONFIG (10)" "vector registers need a VLEN_CONFIG";

    // Memory.
    MEM_TYPE Error "STF-mem-type" "InstMemAccessRecord (60)" "the access type is read or write";
    MEM_CONTENT_FOLLOWS Error "STF-mem-content-follows" "InstMemContentRecord (61)" "INST_MEM_CONTENT follows INST_MEM_ACCESS";
    MEM_CONTENT_MISSING Warning "STF-mem-content-missing" "InstMemContentRecord (61)" "every INST_MEM_ACCESS has its content";
    MEM_CONTENT_COUNT Error "STF-mem-content-count" "InstMemContentRecord (61)" "there is one content record for each 8 bytes";
    MEM_CONTENT_JUSTIFIED Error "STF-mem-content-justified" "InstMemContentRecord (61)" "content below 8 bytes is right-justified and zero-extended";
    MEM_SIZE_UNIT Warning "STF-mem-size-unit" "InstMemAccessRecord (60)" "sizes are in bytes";
    MEM_SIZE_OPCODE Error "STF-mem-size-opcode" "InstMemAccessRecord (60)" "the size is the one that the encoding names";
    MEM_MISSING Error "STF-mem-missing" "InstMemAccessRecord (60)" "every load and store has a memory access";
    MEM_SPURIOUS Error "STF-mem-spurious" "InstMemAccessRecord (60)" "only loads and stores have memory accesses, of their own kind";
    BUS_TYPE Error "STF-bus-type" "BusMasterAccessRecord (62)" "the access type is read or write";
    BUS_MASTER Note "STF-bus-master" "BusMasterAccessRecord (62)" "bus masters are numbered in two ways";
    BUS_CONTENT_FOLLOWS Error "STF-bus-content-follows" "BusMasterContentRecord (63)" "BUS_MASTER_CONTENT follows BUS_MASTER_ACCESS";
    BUS_CONTENT_MISSING Warning "STF-bus-content-missing" "BusMasterContentRecord (63)" "every BUS_MASTER_ACCESS has its content";
    WALK_ENTRIES Error "STF-walk-entries" "PageTableWalkRecord (50)" "a walk has entries, the last of them a leaf";
    WALK_SIZE Error "STF-walk-size" "PageTableWalkRecord (50)" "the page size is a power of two and the leaf's";
    WALK_INDEX Warning "STF-walk-index" "PageTableWalkRecord (50)" "the walk's instruction is the one that it stands before";

    // Events.
    EVENT_KNOWN Note "STF-event-known" "STF Exception Event and Event Meta-Data" "the event is one that the table names";
    EVENT_FIELDS Warning "STF-event-fields" "STF Exception Event and Event Meta-Data" "an event has the fields that the table demands";
    EVENT_TARGET Error "STF-event-target" "EventPCTargetRecord (101)" "EVENT_PC_TARGET follows an EVENT";
    MODE_VALUE Error "STF-mode-value" "STF Exception Event and Event Meta-Data" "a mode change has one word, 0 to 3";
    MODE_AT_START Warning "STF-mode-at-start" "EventRecord (100)" "the trace starts with a mode change";

    // Transactions, and the end.
    TRANSACTION_HEADER Error "STF-transaction-header" "TRANSACTION (250)" "transactions need a PROTOCOL_ID and declared clocks";
    RESERVED_DESCRIPTOR Error "STF-reserved-descriptor" "STF_RESERVED (0)" "descriptor 0 is never written";
    RESERVE_END_LAST Error "STF-reserve-end-last" "STFReserveEndRecord (255)" "nothing follows RESERVE_END";
    RESERVE_END_FIELD Note "STF-reserve-end-field" "STFReserveEndRecord (255)" "readers in the field abort on RESERVE_END";
    EMPTY Error "STF-empty" "STF File Anatomy" "a trace has instructions or transactions";

    // The container.
    CHUNK_PC Error "ZSTF-chunk-pc" "ZSTF" "the index gives the address of a chunk's first instruction";
    CHUNK_MARKERS Error "ZSTF-chunk-markers" "ZSTF" "every chunk but the last has the declared number of instructions";
}
