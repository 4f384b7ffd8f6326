//! The rules of [`Trace::check`](crate::Trace::check): one for each requirement of the specification, and for the
//! mistakes that existing writers make.

use trackway_core::{Rule, Severity};

/// Declares the rules: `CONST Severity "name" was "old name" "section" "requirement";`. The old names are those
/// before the names had one form in all formats.
macro_rules! rules {
    ($($name:ident $severity:ident $id:literal was $old:literal $section:literal $demand:literal;)*) => {
        $(pub(crate) const $name: Rule =
            Rule { name: $id, severity: Severity::$severity, section: $section, demand: $demand, old: "" };)*

        /// All rules.
        pub static RULES: &[&Rule] = &[$(&$name),*];

        /// Old names of the rules, for `--waive`: old, new.
        pub static OLD_RULE_NAMES: &[(&str, &str)] = &[$(($old, $id)),*];
    };
}

rules! {
    // The header.
    IDENTIFIER_FIRST Error "stf.identifier-first" was "STF-identifier-first" "STFIdentifierRecord (1)" "the first record is IDENTIFIER, and only that";
    VERSION_SECOND Error "stf.version-second" was "STF-version-second" "VersionRecord (2)" "the second record is VERSION, and only that";
    VERSION_KNOWN Warning "stf.version-known" was "STF-version-known" "VersionRecord (2)" "the version is one of 1.2 to 1.6";
    VERSION_HOLDS Error "stf.version-holds" was "STF-version-holds" "VersionRecord (2)" "the version has every record that is used";
    COMMENT_THERE Note "stf.comment-there" was "STF-comment-there" "CommentRecord (3)" "the header has a COMMENT with the tools and their revisions";
    ISA_ONCE Error "stf.isa-once" was "STF-isa-once" "ISARecord (4)" "the header has one ISA";
    ISA_KNOWN Warning "stf.isa-known" was "STF-isa-known" "ISARecord (4)" "the specification names the ISA";
    ISA_BEFORE_IEM Error "stf.isa-before-iem" was "STF-isa-before-iem" "ISARecord (4)" "ISA precedes INST_IEM";
    IEM_ONCE Error "stf.iem-once" was "STF-iem-once" "InstIEMRecord (5)" "the header has one INST_IEM";
    IEM_KNOWN Warning "stf.iem-known" was "STF-iem-known" "InstIEMRecord (5)" "the specification names the encoding mode";
    IEM_FEATURE Warning "stf.iem-feature" was "STF-iem-feature" "InstIEMRecord (5)" "the RV64 feature bit agrees with INST_IEM";
    TRACE_INFO_THERE Error "stf.trace-info-there" was "STF-trace-info-there" "TraceInfoRecord (6)" "the header has a TRACE_INFO";
    GENERATOR_KNOWN Note "stf.generator-known" was "STF-generator-known" "TraceInfoRecord (6)" "the generator is known";
    FEATURE_ONCE Error "stf.feature-once" was "STF-feature-once" "TraceInfoFeatureRecord (7)" "the header has one TRACE_INFO_FEATURE";
    FEATURE_KNOWN Note "stf.feature-known" was "STF-feature-known" "TraceInfoFeatureRecord (7)" "every feature bit is known";
    FEATURE_KEPT Warning "stf.feature-kept" was "STF-feature-kept" "TraceInfoFeatureRecord (7)" "the content that a feature bit declares is present";
    FEATURE_DECLARED Warning "stf.feature-declared" was "STF-feature-declared" "TraceInfoFeatureRecord (7)" "content that has a feature bit is declared";
    PROCESS_ID_ONCE Error "stf.process-id-once" was "STF-process-id-once" "ProcessIDExtRecord (8)" "the header has at most one PROCESS_ID_EXT";
    PROCESS_ID_DIALECT Note "stf.process-id-dialect" was "STF-process-id-dialect" "ProcessIDExtRecord (8)" "the words of PROCESS_ID_EXT have two readings";
    FORCE_PC_HEADER Error "stf.force-pc-header" was "STF-force-pc-header" "ForcePCRecord (9)" "the header has one FORCE_PC";
    VLEN_ONCE Error "stf.vlen-once" was "STF-vlen-once" "STF 1.4 VLEN_CONFIG (10)" "the header has at most one VLEN_CONFIG";
    VLEN_VALUE Error "stf.vlen-value" was "STF-vlen-value" "STF 1.4 VLEN_CONFIG (10)" "the vector length is at least 64 bits";
    PROTOCOL_KNOWN Error "stf.protocol-known" was "STF-protocol-known" "PROTOCOL_ID (11)" "the bus protocol is known";
    CLOCK_ID Error "stf.clock-id" was "STF-clock-id" "CLOCK_ID (12)" "clocks are declared, once each, with a number that is not 0";
    ISA_EXTENDED_ONCE Error "stf.isa-extended-once" was "STF-isa-extended-once" "STF 1.6 ISA_EXTENDED (13)" "the header has at most one ISA_EXTENDED";
    END_HEADER_ONCE Error "stf.end-header-once" was "STF-end-header-once" "EndHeaderRecord (19)" "one END_HEADER ends the header";
    HEADER_ONLY Error "stf.header-only" was "STF-header-only" "STF File Anatomy" "header records are in the header, others after it";

    // Groups.
    ORDER Warning "stf.order" was "STF-order" "ChangeLog 1.1" "records of a group are in the order of their numbers";
    PC_TARGET_ONCE Error "stf.pc-target-once" was "STF-pc-target-once" "InstPCTargetRecord (31)" "a group has at most one INST_PC_TARGET";
    PC_TARGET_BRANCH Error "stf.pc-target-branch" was "STF-pc-target-branch" "InstPCTargetRecord (31)" "only a branch or jump has an INST_PC_TARGET";
    PC_TARGET_MISSING Error "stf.pc-target-missing" was "STF-pc-target-missing" "InstPCTargetRecord (31)" "an unconditional jump has an INST_PC_TARGET";
    PC_TARGET_VALUE Error "stf.pc-target-value" was "STF-pc-target-value" "InstPCTargetRecord (31)" "the target is that of the encoding";
    PC_CONTINUITY Warning "stf.pc-continuity" was "STF-pc-continuity" "ForcePCRecord (9)" "a FORCE_PC that moves the flow has a cause: a trap, a return from one, or a change of process";
    OPCODE_WIDTH Error "stf.opcode-width" was "STF-opcode-width" "Inst32Record (240)" "the record's width is the encoding's";
    OPCODE_KNOWN Note "stf.opcode-known" was "STF-opcode-known" "Inst32Record (240)" "the encoding is an instruction";
    MICROOP_SIZE Warning "stf.microop-size" was "STF-microop-size" "InstMicroOpRecord (230)" "a micro-op has 2 or 4 bytes";
    GROUP_OPEN Note "stf.group-open" was "STF-group-open" "STF File Anatomy" "every record other than a COMMENT belongs to a later instruction";

    // Registers.
    REG_CLASS Error "stf.reg-class" was "STF-reg-class" "InstRegRecord (40)" "the register type is integer, floating point, vector or CSR";
    REG_ROLE Error "stf.reg-role" was "STF-reg-role" "InstRegRecord (40)" "the operand type is state, source or destination";
    REG_RESERVED Error "stf.reg-reserved" was "STF-reg-reserved" "InstRegRecord (40)" "reserved bits are 0";
    REG_NUMBER Error "stf.reg-number" was "STF-reg-number" "InstRegRecord (40)" "the register exists";
    REG_VECTOR_LENGTH Error "stf.reg-vector-length" was "STF-reg-vector-length" "STF 1.4 VLEN_CONFIG (10)" "vector registers need a VLEN_CONFIG";

    // Memory.
    MEM_TYPE Error "stf.mem-type" was "STF-mem-type" "InstMemAccessRecord (60)" "the access type is read or write";
    MEM_CONTENT_FOLLOWS Error "stf.mem-content-follows" was "STF-mem-content-follows" "InstMemContentRecord (61)" "INST_MEM_CONTENT follows INST_MEM_ACCESS";
    MEM_CONTENT_MISSING Warning "stf.mem-content-missing" was "STF-mem-content-missing" "InstMemContentRecord (61)" "every INST_MEM_ACCESS has its content";
    MEM_CONTENT_COUNT Error "stf.mem-content-count" was "STF-mem-content-count" "InstMemContentRecord (61)" "there is one content record for each 8 bytes";
    MEM_CONTENT_JUSTIFIED Error "stf.mem-content-justified" was "STF-mem-content-justified" "InstMemContentRecord (61)" "content shorter than 8 bytes is right-justified and zero-extended";
    MEM_SIZE_UNIT Warning "stf.mem-size-unit" was "STF-mem-size-unit" "InstMemAccessRecord (60)" "sizes are in bytes";
    MEM_SIZE_OPCODE Error "stf.mem-size-opcode" was "STF-mem-size-opcode" "InstMemAccessRecord (60)" "the size is that of the encoding";
    MEM_MISSING Error "stf.mem-missing" was "STF-mem-missing" "InstMemAccessRecord (60)" "every load and store has a memory access";
    MEM_SPURIOUS Error "stf.mem-spurious" was "STF-mem-spurious" "InstMemAccessRecord (60)" "only loads and stores have memory accesses, of their own kind";
    BUS_TYPE Error "stf.bus-type" was "STF-bus-type" "BusMasterAccessRecord (62)" "the access type is read or write";
    BUS_MASTER Note "stf.bus-master" was "STF-bus-master" "BusMasterAccessRecord (62)" "bus masters are numbered in two ways";
    BUS_CONTENT_FOLLOWS Error "stf.bus-content-follows" was "STF-bus-content-follows" "BusMasterContentRecord (63)" "BUS_MASTER_CONTENT follows BUS_MASTER_ACCESS";
    BUS_CONTENT_MISSING Warning "stf.bus-content-missing" was "STF-bus-content-missing" "BusMasterContentRecord (63)" "every BUS_MASTER_ACCESS has its content";
    WALK_ENTRIES Error "stf.walk-entries" was "STF-walk-entries" "PageTableWalkRecord (50)" "a walk has entries, the last of them a leaf";
    WALK_SIZE Error "stf.walk-size" was "STF-walk-size" "PageTableWalkRecord (50)" "the page size is a power of two and the leaf's";
    WALK_INDEX Warning "stf.walk-index" was "STF-walk-index" "PageTableWalkRecord (50)" "the walk names the instruction that follows it";

    // Events.
    EVENT_KNOWN Note "stf.event-known" was "STF-event-known" "STF Exception Event and Event Meta-Data" "the table names the event";
    EVENT_FIELDS Warning "stf.event-fields" was "STF-event-fields" "STF Exception Event and Event Meta-Data" "an event has the fields that the table requires";
    EVENT_TARGET Error "stf.event-target" was "STF-event-target" "EventPCTargetRecord (101)" "EVENT_PC_TARGET follows an EVENT";
    MODE_VALUE Error "stf.mode-value" was "STF-mode-value" "STF Exception Event and Event Meta-Data" "a mode change has one word, 0 to 3";
    MODE_AT_START Warning "stf.mode-at-start" was "STF-mode-at-start" "EventRecord (100)" "the trace starts with a mode change";

    // Transactions, and the end.
    TRANSACTION_HEADER Error "stf.transaction-header" was "STF-transaction-header" "TRANSACTION (250)" "transactions need a PROTOCOL_ID and declared clocks";
    RESERVED_DESCRIPTOR Error "stf.reserved-descriptor" was "STF-reserved-descriptor" "STF_RESERVED (0)" "descriptor 0 is never written";
    RESERVE_END_LAST Error "stf.reserve-end-last" was "STF-reserve-end-last" "STFReserveEndRecord (255)" "nothing follows RESERVE_END";
    RESERVE_END_FIELD Note "stf.reserve-end-field" was "STF-reserve-end-field" "STFReserveEndRecord (255)" "existing readers abort on RESERVE_END";
    EMPTY Error "stf.empty" was "STF-empty" "STF File Anatomy" "a trace has instructions or transactions";

    // The container.
    CHUNK_PC Error "stf.chunk-pc" was "ZSTF-chunk-pc" "ZSTF" "the index has the address of a chunk's first instruction";
    CHUNK_MARKERS Error "stf.chunk-markers" was "ZSTF-chunk-markers" "ZSTF" "every chunk but the last has the declared number of instructions";
}
