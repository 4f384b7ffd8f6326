//! One case per rule: a minimal bad trace on which it and nothing else fires, and a good twin on which nothing does.

use trackway_astf::rules::*;
use trackway_astf::{
    Checker, Context, ExtraEa, Field, Header, Instruction, Level, ReadConfig, Record, StringContinuation,
    StringRecord, Timestamp, Trap, TrapType,
};
use trackway_core::{Finding, Rule};

const NOP: u32 = 0xd503_201f;
const LDR: u32 = 0xf940_0020;
const LDP: u32 = 0xa940_0420;
const STR: u32 = 0xf900_0020;
const STR_SP: u32 = 0xf900_03e0;
const DC_ZVA: u32 = 0xd50b_7420;
const SVC: u32 = 0xd400_0001;
const BRK: u32 = 0xd420_0000;
const ERET: u32 = 0xd69f_03e0;
const B: u32 = 0x1400_0002;
const BEQ: u32 = 0x5400_0040;
const PRFM: u32 = 0xf980_0020;
const DC_CVAC: u32 = 0xd50b_7a20;
const TLBI: u32 = 0xd508_8720;
const LDADD: u32 = 0xf820_0022;
const STG: u32 = 0xd920_0820;
const LDR_LITERAL: u32 = 0x5800_0040;
const LDR_Z: u32 = 0x8580_4020;
const LDFF1B: u32 = 0xa400_6020;
const LD1B: u32 = 0xa400_4020;
const ST1B: u32 = 0xe400_4020;
const CPYFP: u32 = 0x1902_0440;
const SETP: u32 = 0x19c2_0440;
const LDR_ZA: u32 = 0xe100_0004;
const SMSTART: u32 = 0xd503_437f;
const MSR_SCTLR: u32 = 0xd518_1000;

/// The kernel's vectors.
const VECTOR: u64 = 0xffff_8000_0000_0400;

fn findings(records: &[Record]) -> Vec<Finding> {
    let mut checker = Checker::new(ReadConfig::default());
    for (record, n) in records.iter().zip(0..) {
        checker.record(n * 32, &record.write());
    }
    checker.end(records.len() as u64 * 32);
    checker.take()
}

fn header(level: Level, timestamps: bool) -> Record {
    Header::new(level, timestamps).into()
}

fn trace(level: Level, records: &[Record]) -> Vec<Record> {
    [&[header(level, false), Context::default().into()], records].concat()
}

fn plus(records: &[Record]) -> Vec<Record> {
    trace(Level::BasicPlus, records)
}

fn basic(records: &[Record]) -> Vec<Record> {
    trace(Level::Basic, records)
}

/// With timestamps, and one at the start.
fn timed(records: &[Record]) -> Vec<Record> {
    let start = [header(Level::BasicPlus, true), time(10), Context::default().into()];
    [&start, records].concat()
}

fn ins(pc: u64, iword: u32) -> Instruction {
    Instruction { pc, iword, ..Instruction::default() }
}

fn nop(pc: u64) -> Record {
    ins(pc, NOP).into()
}

/// An access of 8 bytes.
fn mem(iword: u32, is_read: bool, is_write: bool) -> Instruction {
    Instruction { is_read, is_write, ea_valid: true, ea_size: 7, ea: 0x9000, ..ins(0x1000, iword) }
}

/// The first half of a load of two registers across the end of a page; [`extra`] is the other.
fn pair() -> Instruction {
    Instruction { extra_eas: true, ea: 0x9ff8, ..mem(LDP, true, false) }
}

fn range(iword: u32, is_read: bool, is_write: bool) -> Instruction {
    Instruction { xattr_mode: 1, xattr: 64, ea_size: 0, ..mem(iword, is_read, is_write) }
}

fn extra(is_read: bool, is_write: bool) -> ExtraEa {
    let access = ExtraEa { mem0_is_read: is_read, mem0_is_write: is_write, ..ExtraEa::default() };
    ExtraEa { mem0_size: 7, mem0_addr: 0xa000, ..access }
}

fn extra_range(is_read: bool, is_write: bool) -> ExtraEa {
    ExtraEa { mem0_size: 0, mem1_addr_range: true, mem1_addr: 64, ..extra(is_read, is_write) }
}

fn trap(trap_type: TrapType, ec: u8) -> Trap {
    Trap { trap_type: trap_type.0, ec, target_pc: VECTOR, ..Trap::default() }
}

fn svc_trap() -> Trap {
    Trap { syscall_type: 1, ..trap(TrapType::SYNCHRONOUS, 0x15) }
}

fn kernel() -> Record {
    Context { el: 1, handler: true, ..Context::default() }.into()
}

fn time(value0: u64) -> Record {
    Timestamp { unit: 1, value0, ..Timestamp::default() }.into()
}

fn string(size: u16) -> StringRecord {
    let mut string = [0; 28];
    string[..usize::from(size.min(28))].fill(b'x');
    StringRecord { size, string, ..StringRecord::default() }
}

/// An instruction that traps, its Trap, and the handler.
fn trapped(instruction: Instruction, trap: Trap) -> Vec<Record> {
    plus(&[Instruction { trap: true, ..instruction }.into(), trap.into(), kernel(), nop(VECTOR)])
}

struct Case {
    rule: &'static Rule,
    bad: Vec<Record>,
    good: Vec<Record>,
}

fn case(rule: &'static Rule, bad: Vec<Record>, good: Vec<Record>) -> Case {
    Case { rule, bad, good }
}

/// A single instruction in a BasicPlus trace.
fn one(rule: &'static Rule, bad: Instruction, good: Instruction) -> Case {
    case(rule, plus(&[bad.into()]), plus(&[good.into()]))
}

/// Chapter 3 and the start of chapter 4.
fn cases_of_levels_and_header() -> Vec<Case> {
    let el = |el| Record::from(Context { el, handler: el > 0, ..Context::default() });
    let versioned = |version_minor| {
        let header = Header { version_minor, ..Header::new(Level::Basic, false) };
        vec![header.into(), el(0), nop(0x1000)]
    };
    let flagged = |pseudo, use_zlib| {
        let header = Header { pseudo, use_zlib, ..Header::new(Level::Basic, false) };
        vec![header.into(), el(0), nop(0x1000)]
    };
    let magic = |magic_header| {
        let header = Header { magic_header, ..Header::new(Level::Basic, false) };
        vec![header.into(), el(0), nop(0x1000)]
    };
    let abort = trap(TrapType::SYNCHRONOUS, 0x24);
    // The start of an .xz stream as a record; the good one is a record.
    let behind_header = |good: bool| {
        let xz = Record::Unknown([u64::from_le_bytes(*b"\xfd7zXZ\0\0\x04"), 0, 0, 0]);
        let first = if good { string(1).into() } else { xz };
        vec![header(Level::Basic, false), first, el(0), nop(0x1000)]
    };
    vec![
        case(
            &SINGLE_EL,
            basic(&[nop(0x1000), el(1), nop(0x1004)]),
            basic(&[nop(0x1000), el(0), nop(0x1004)]),
        ),
        case(
            &DISCONTINUITY,
            basic(&[nop(0x1000), nop(0x2000)]),
            basic(&[nop(0x1000), Context::default().into(), nop(0x2000)]),
        ),
        case(&NO_INSTRUCTIONS, basic(&[]), basic(&[nop(0x1000)])),
        case(&CONTINUITY, plus(&[nop(0x1000), nop(0x2000)]), plus(&[nop(0x1000), nop(0x1004)])),
        case(
            &NOT_ATTEMPTED,
            plus(&[nop(0x1000), abort.into(), kernel(), nop(VECTOR)]),
            trapped(mem(LDR, false, false), abort),
        ),
        case(
            &RECORD_TYPE,
            plus(&[Record::Unknown([0x99, 0, 0, 0]), nop(0x1000)]),
            plus(&[string(3).into(), nop(0x1000)]),
        ),
        case(&HEADER_FIRST, vec![el(0), nop(0x1000)], plus(&[nop(0x1000)])),
        case(
            &HEADER_ONCE,
            plus(&[header(Level::BasicPlus, false), nop(0x1000)]),
            plus(&[string(1).into(), nop(0x1000)]),
        ),
        case(&MAGIC, magic(0), magic(Header::MAGIC)),
        case(&VERSION, versioned(12), versioned(10)),
        case(&FUTURE_FLAGS, flagged(true, false), flagged(false, false)),
        case(&ZLIB_UNUSED, flagged(false, true), flagged(false, false)),
        case(&COMPRESSED_FLAG, behind_header(false), behind_header(true)),
        one(&RESERVED, Instruction { reserved6: 1, ..ins(0x1000, NOP) }, ins(0x1000, NOP)),
        one(&SANITISED, ins(0xb400_0000_0000_1000, NOP), ins(0xffff_8000_0000_1000, NOP)),
    ]
}

fn cases_of_contexts() -> Vec<Case> {
    let with = |context: Context| vec![header(Level::BasicPlus, false), context.into(), nop(0x1000)];
    let default = Context::default();
    let streaming: Record = Context { pstate_sm: true, ..default }.into();
    let unsupported: Record = Context { unsupported: true, ..default }.into();
    let sleep = |inside: &[Record]| {
        let enter = [nop(0x1000), time(11), unsupported];
        let leave = [default.into(), nop(0x3000)];
        timed(&[&enter, inside, &leave].concat())
    };
    vec![
        case(&CONTEXT_FIRST, vec![header(Level::BasicPlus, false), nop(0x1000)], with(default)),
        case(
            &STACK_AT_EL0,
            with(Context { handler: true, ..default }),
            with(Context { el: 1, handler: true, ..default }),
        ),
        case(
            &TID_NEEDS_PID,
            with(Context { tid_valid: true, tid: 2, ..default }),
            with(Context { tid_valid: true, tid: 2, pid_valid: true, pid: 1, ..default }),
        ),
        case(
            &ID_NOT_VALID,
            with(Context { pid: 1, ..default }),
            with(Context { pid: 1, pid_valid: true, ..default }),
        ),
        case(
            &VECTOR_LENGTH,
            plus(&[mem(LDR_Z, true, false).into()]),
            plus(&[Instruction { ea_size: 15, ..mem(LDR_Z, true, false) }.into()]),
        ),
        case(
            &CONTEXT_MISSING,
            plus(&[ins(0x1000, SMSTART).into(), nop(0x1004)]),
            plus(&[ins(0x1000, SMSTART).into(), streaming, nop(0x1004)]),
        ),
        case(
            &CONTEXT_CONTRADICTS,
            plus(&[ins(0x1000, SMSTART).into(), Context { evl: 1, ..default }.into(), nop(0x1004)]),
            plus(&[ins(0x1000, SMSTART).into(), streaming, nop(0x1004)]),
        ),
        case(
            &CONTEXT_CAUSE,
            plus(&[nop(0x1000), streaming, nop(0x1004)]),
            plus(&[ins(0x1000, MSR_SCTLR).into(), streaming, nop(0x1004)]),
        ),
        case(
            &CONTEXT_UNCHANGED,
            plus(&[ins(0x1000, MSR_SCTLR).into(), default.into(), nop(0x1004)]),
            plus(&[ins(0x1000, MSR_SCTLR).into(), nop(0x1004)]),
        ),
        case(
            &UNSUPPORTED_BASIC,
            basic(&[nop(0x1000), unsupported, default.into(), nop(0x1004)]),
            plus(&[nop(0x1000), unsupported, default.into(), nop(0x1004)]),
        ),
        case(&UNSUPPORTED_RECORDS, sleep(&[string(1).into()]), sleep(&[time(12)])),
        case(&UNSUPPORTED_TIMES, sleep(&[time(12), time(13), time(14)]), sleep(&[time(12)])),
    ]
}

fn cases_of_instructions() -> Vec<Case> {
    let taken = |iword, ea| Instruction { is_branch: true, ea_valid: true, ea, ..ins(0x1000, iword) };
    let not_taken = |iword| Instruction { is_branch: true, ..ins(0x1000, iword) };
    let index = |of: Instruction| Instruction { xattr_mode: 2, xattr: 5, ..of };
    let slice = Instruction { ea_size: 15, ..mem(LDR_ZA, true, false) };
    vec![
        one(&PC_ALIGNED, ins(0x1002, NOP), ins(0x1004, NOP)),
        one(&SME_INDEX, slice, index(slice)),
        one(&SME_NO_INDEX, index(mem(LDR, true, false)), mem(LDR, true, false)),
        one(&BRANCH_FLAG, ins(0x1000, BEQ), not_taken(BEQ)),
        case(
            &NOT_A_BRANCH,
            plus(&[not_taken(ERET).into(), Trap { target_pc: 0x2000, ..trap(TrapType::RETURN, 0) }.into()]),
            plus(&[ins(0x1000, ERET).into(), Trap { target_pc: 0x2000, ..trap(TrapType::RETURN, 0) }.into()]),
        ),
        one(&TAKEN_EA, not_taken(B), taken(B, 0x1008)),
        one(&BRANCH_TARGET, taken(B, 0x100c), taken(B, 0x1008)),
        one(&NOT_TAKEN_EA, Instruction { ea: 8, ..not_taken(BEQ) }, not_taken(BEQ)),
        one(&BRANCH_MEMORY, Instruction { is_read: true, ..taken(B, 0x1008) }, taken(B, 0x1008)),
    ]
}

fn cases_of_accesses() -> Vec<Case> {
    let size = |ea_size, instruction: Instruction| Instruction { ea_size, ..instruction };
    let tagged = |instruction: Instruction| Instruction { ea_tagged: true, ..instruction };
    let trapping = |instruction: Instruction| Instruction { trap: true, ..instruction };
    let abort = trap(TrapType::SYNCHRONOUS, 0x24);
    let more = |instruction: Instruction| Instruction { extra_eas: true, ..instruction };
    let two = |first: Instruction, second: ExtraEa| {
        plus(&[trapping(more(first)).into(), second.into(), abort.into(), kernel(), nop(VECTOR)])
    };
    vec![
        one(&EA_MISSING, ins(0x1000, LDR), mem(LDR, true, false)),
        one(&ACCESS_SIZE, size(3, mem(LDR, true, false)), mem(LDR, true, false)),
        one(&VECTOR_SIZE, size(16, mem(LD1B, true, false)), size(15, mem(LD1B, true, false))),
        one(
            &BLOCK_ALIGNED,
            Instruction { ea: 0x9008, ..size(63, mem(DC_ZVA, false, true)) },
            size(63, mem(DC_ZVA, false, true)),
        ),
        one(
            &LITERAL_ADDRESS,
            mem(LDR_LITERAL, true, false),
            Instruction { ea: 0x1008, ..mem(LDR_LITERAL, true, false) },
        ),
        one(&EA_UNEXPECTED, mem(NOP, false, false), ins(0x1000, NOP)),
        one(&NO_ACCESS_ZERO, Instruction { ea_size: 7, ..ins(0x1000, LD1B) }, ins(0x1000, LD1B)),
        one(&READ_FLAG, mem(LDR, false, false), mem(LDR, true, false)),
        one(&LOAD_WRITES, mem(LDR, true, true), mem(LDR, true, false)),
        one(&WRITE_FLAG, mem(STR, false, false), mem(STR, false, true)),
        one(&STORE_READS, mem(STR, true, true), mem(STR, false, true)),
        one(&READ_WRITE_FLAGS, mem(LDADD, true, false), mem(LDADD, true, true)),
        one(&PREFETCH_FLAGS, size(0, mem(PRFM, true, false)), size(0, mem(PRFM, false, false))),
        one(&SPECIAL_FLAGS, size(0, mem(DC_CVAC, false, true)), size(0, mem(DC_CVAC, false, false))),
        one(&SPECIAL_SIZE, mem(TLBI, false, false), size(0, mem(TLBI, false, false))),
        one(
            &SPECIAL_TAGGED,
            tagged(size(0, mem(TLBI, false, false))),
            // Maintenance of data may be Tag Checked.
            tagged(size(0, mem(DC_CVAC, false, false))),
        ),
        one(
            &TAG_GRANULE,
            tagged(Instruction { ea: 0x9008, ..size(15, mem(STG, false, true)) }),
            tagged(size(15, mem(STG, false, true))),
        ),
        one(&UNTAGGED_TAGS, size(15, mem(STG, false, true)), ins(0x1000, STG)),
        case(
            &SUPPRESSED_TRAP,
            two(mem(LD1B, false, false), extra(false, false)),
            two(mem(LD1B, true, false), extra(false, false)),
        ),
        one(&SUPPRESSED_SIZE, mem(LDFF1B, false, false), size(0, mem(LDFF1B, false, false))),
        case(
            &SUPPRESSED_TAG,
            plus(&[tagged(size(0, mem(LDFF1B, false, false))).into()]),
            plus(&[
                Context { mte_tcf: 3, ..Context::default() }.into(),
                tagged(size(0, mem(LDFF1B, false, false))).into(),
            ]),
        ),
        case(
            &MOPS_FAULT,
            trapped(range(SETP, false, true), abort),
            two(range(SETP, false, true), extra(false, false)),
        ),
        case(&TRAPPED_FLAGS, trapped(mem(STR, false, true), abort), trapped(mem(STR, false, false), abort)),
        case(
            &FAULT_LAST,
            two(mem(ST1B, false, true), extra(false, true)),
            two(mem(ST1B, false, true), extra(false, false)),
        ),
        case(
            &ABORT_EA,
            trapped(mem(STR_SP, false, false), trap(TrapType::SYNCHRONOUS, 0x26)),
            trapped(ins(0x1000, STR_SP), trap(TrapType::SYNCHRONOUS, 0x26)),
        ),
        case(
            &TRAPPED_BRANCH,
            trapped(
                Instruction { is_branch: true, ea_valid: true, ea: 0x1008, ..ins(0x1000, B) },
                trap(TrapType::SYNCHRONOUS, 0x0e),
            ),
            trapped(Instruction { is_branch: true, ..ins(0x1000, B) }, trap(TrapType::SYNCHRONOUS, 0x0e)),
        ),
    ]
}

fn cases_of_ranges() -> Vec<Case> {
    let set = range(SETP, false, true);
    let empty = |ea_tagged| Instruction { xattr: 0, ea_tagged, ..set };
    let copy = |first: Instruction, second: ExtraEa| {
        plus(&[Instruction { extra_eas: true, ..first }.into(), second.into()])
    };
    let legal = copy(range(CPYFP, true, false), extra_range(false, true));
    let second = |extra: ExtraEa| copy(range(CPYFP, true, false), extra);
    let half = ExtraEa { mem1_size: 3, mem1_addr: 0xa004, ..extra(true, false) };
    vec![
        one(&RANGE_NEEDS_EA, Instruction { ea_valid: false, is_write: false, ea: 0, ..set }, set),
        one(&RANGE_MISSING, ins(0x1000, SETP), set),
        one(&RANGE_UNEXPECTED, range(STR, false, true), mem(STR, false, true)),
        one(&RANGE_SIZE, Instruction { ea_size: 7, ..set }, set),
        one(&RANGE_DIRECTION, range(SETP, false, false), set),
        case(&RANGE_ORDER, copy(range(CPYFP, false, true), extra_range(true, false)), legal.clone()),
        one(&MOPS_RANGES, range(CPYFP, true, false), set),
        one(&MOPS_ZERO_TAG, empty(true), empty(false)),
        case(
            &EXTRA_ORPHAN,
            plus(&[mem(LDR, true, false).into(), extra(true, false).into()]),
            copy(pair(), extra(true, false)),
        ),
        case(
            &EXTRA_MISSING,
            plus(&[Instruction { ea_size: 15, ..pair() }.into(), nop(0x1004)]),
            copy(pair(), extra(true, false)),
        ),
        case(
            &EXTRA_UNUSED,
            copy(pair(), ExtraEa { mem1_size: 3, ..extra(true, false) }),
            copy(pair(), ExtraEa { mem0_size: 3, mem1_valid: true, mem1_is_read: true, ..half }),
        ),
        case(&EXTRA_RANGE, second(ExtraEa { mem1_valid: true, ..extra_range(false, true) }), legal.clone()),
        case(&EXTRA_RANGE_SIZE, second(ExtraEa { mem0_size: 7, ..extra_range(false, true) }), legal),
    ]
}

fn cases_of_traps() -> Vec<Case> {
    let svc = Instruction { trap: true, ..ins(0x1000, SVC) };
    let call = |trap: Trap| plus(&[svc.into(), trap.into(), kernel(), nop(VECTOR)]);
    let from_nop = |trap: Trap| plus(&[nop(0x1000), trap.into(), kernel(), nop(VECTOR)]);
    // Behind an exception, at EL1.
    let back = |trap: Trap| {
        let mut records = call(svc_trap());
        records.pop();
        records.extend([ins(VECTOR, ERET).into(), trap.into(), Context::default().into(), nop(0x1004)]);
        records
    };
    let returns = Trap { target_pc: 0x1004, ..trap(TrapType::RETURN, 0) };
    vec![
        case(
            &SVC_TRAP,
            basic(&[ins(0x1000, SVC).into(), Context::default().into(), nop(0x1004)]),
            basic(&[svc.into(), Context::default().into(), nop(0x1004)]),
        ),
        case(
            &SVC_CONTEXT,
            basic(&[svc.into(), nop(0x1004)]),
            basic(&[svc.into(), Context::default().into(), nop(0x1004)]),
        ),
        case(&TRAP_FLAG, plus(&[ins(0x1000, SVC).into()]), call(svc_trap())),
        case(&TRAP_MISSING, plus(&[svc.into(), nop(VECTOR)]), call(svc_trap())),
        case(
            &BASIC_TRAP,
            basic(&[svc.into(), svc_trap().into(), Context::default().into(), nop(0x1004)]),
            basic(&[svc.into(), Context::default().into(), nop(0x1004)]),
        ),
        case(&TRAP_TYPE_RESERVED, from_nop(trap(TrapType(6), 0)), from_nop(trap(TrapType::IRQ, 0))),
        case(
            &TRAP_BEFORE_CONTEXT,
            plus(&[nop(0x1000), kernel(), nop(0x1004)]),
            from_nop(trap(TrapType::IRQ, 0)),
        ),
        case(
            &TRAP_LEVEL,
            plus(&[nop(0x1000), trap(TrapType::SYNCHRONOUS, 0x20).into(), nop(VECTOR)]),
            from_nop(trap(TrapType::SYNCHRONOUS, 0x20)),
        ),
        case(
            &EXCEPTION_CLASS,
            from_nop(trap(TrapType::SYNCHRONOUS, 0x3f)),
            from_nop(trap(TrapType::SYNCHRONOUS, 0x22)),
        ),
        case(
            &INSTRUCTION_CLASS,
            trapped(ins(0x1000, BRK), trap(TrapType::SYNCHRONOUS, 0x15)),
            trapped(ins(0x1000, BRK), trap(TrapType::SYNCHRONOUS, 0x3c)),
        ),
        case(&SYSCALL_TYPE, call(Trap { syscall_type: 2, ..svc_trap() }), call(svc_trap())),
        case(&SYSCALL_INDEX, call(Trap { syscall_index: 7, ..svc_trap() }), call(svc_trap())),
        case(&SYSCALL_CLASS, call(Trap { ec: 0x18, ..svc_trap() }), call(svc_trap())),
        case(&TRAP_SYNCHRONOUS, call(trap(TrapType::IRQ, 0)), call(svc_trap())),
        case(&SERROR_CLASS, from_nop(trap(TrapType::SERROR, 0)), from_nop(trap(TrapType::SERROR, 0x2f))),
        case(&INTERRUPT_CLASS, from_nop(trap(TrapType::FIQ, 1)), from_nop(trap(TrapType::FIQ, 0))),
        case(
            &VIRTUAL,
            from_nop(Trap { is_virtual: true, ..trap(TrapType::SYNCHRONOUS, 0x20) }),
            from_nop(Trap { is_virtual: true, ..trap(TrapType::IRQ, 0) }),
        ),
        case(&RETURN_ORPHAN, plus(&[nop(0x1000), returns.into(), nop(0x1004)]), back(returns)),
        case(&RETURN_MISSING, plus(&[ins(0x1000, ERET).into(), nop(0x1004)]), back(returns)),
        case(&RETURN_FIELDS, back(Trap { ec: 1, ..returns }), back(returns)),
        case(
            &RESET_FIELDS,
            from_nop(Trap { is_virtual: true, ..trap(TrapType::RESET, 0) }),
            from_nop(trap(TrapType::RESET, 0)),
        ),
    ]
}

fn cases_of_strings_and_times() -> Vec<Case> {
    let part = |bytes: usize| {
        let mut string = [0; 31];
        string[..bytes].fill(b'y');
        Record::from(StringContinuation { string })
    };
    let with = |records: &[Record]| plus(&[records, &[nop(0x1000)]].concat());
    let times = |records: &[Record]| timed(&[&[nop(0x1000)], records, &[nop(0x1004)]].concat());
    let of_unit = |unit| Record::from(Timestamp { unit, value0: 11, ..Timestamp::default() });
    let long = Instruction { ea_size: 15, ..pair() };
    vec![
        case(&STRING_ORPHAN, with(&[part(1)]), with(&[string(29).into(), part(1)])),
        case(&STRING_CUT, with(&[string(40).into()]), with(&[string(40).into(), part(12)])),
        case(&STRING_PADDING, with(&[string(29).into(), part(2)]), with(&[string(29).into(), part(1)])),
        case(&TIME_FLAG, with(&[time(11)]), times(&[time(11)])),
        case(&TIME_UNIT, times(&[of_unit(0)]), times(&[of_unit(1)])),
        case(
            &TIME_FIRST,
            vec![header(Level::BasicPlus, true), Context::default().into(), nop(0x1000)],
            timed(&[nop(0x1000)]),
        ),
        case(
            &TIME_INTERLEAVED,
            timed(&[long.into(), time(11), nop(0x1004)]),
            timed(&[pair().into(), extra(true, false).into(), time(11), nop(0x1004)]),
        ),
        case(&TIME_INCREASING, times(&[time(10)]), times(&[time(11)])),
        case(&TIME_MAXIMUM, times(&[time(u64::MAX)]), times(&[time(u64::MAX - 1)])),
        case(&TIME_SUSPENDED, times(&[time(11), time(12), time(13)]), times(&[time(11), time(12)])),
    ]
}

fn cases() -> Vec<Case> {
    let mut cases = cases_of_levels_and_header();
    cases.extend(cases_of_contexts());
    cases.extend(cases_of_instructions());
    cases.extend(cases_of_accesses());
    cases.extend(cases_of_ranges());
    cases.extend(cases_of_traps());
    cases.extend(cases_of_strings_and_times());
    cases
}

#[test]
fn every_rule_fires_alone_on_its_bad_trace_and_nothing_on_the_twin() {
    let mut wrong = Vec::new();
    for Case { rule, bad, good } in cases() {
        let found = findings(&bad);
        if !found.iter().any(|finding| finding.rule.name == rule.name) {
            wrong.push(format!("{} does not fire: {found:?}", rule.name));
        }
        for finding in &found {
            // Number, offset and section are in every line, and belong together.
            assert_eq!(finding.offset, finding.item * 32);
            assert!(finding.item <= bad.len() as u64);
            let line = finding.to_string();
            for part in [format!("{:#x}", finding.offset), finding.item.to_string()] {
                assert!(line.contains(&part), "{part} in {line}");
            }
            assert!(line.contains(finding.rule.section) && line.contains(finding.rule.name), "{line}");
            if finding.rule.name != rule.name {
                wrong.push(format!("{} is not alone: {line}", rule.name));
            }
        }
        for finding in findings(&good) {
            wrong.push(format!("good twin of {}: {finding}", rule.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_a_case_and_a_name_of_its_own() {
    let cases = cases();
    for rule in RULES {
        assert!(cases.iter().any(|case| case.rule.name == rule.name), "no case for {}", rule.name);
        assert_eq!(RULES.iter().filter(|other| other.name == rule.name).count(), 1, "{}", rule.name);
        let name = rule.name.strip_prefix("astf.").expect("a name of this format");
        assert!(
            name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-' || byte.is_ascii_digit()),
            "{name}"
        );
        assert!(rule.section.starts_with("ASTF "), "{name}: {}", rule.section);
        assert!(!rule.demand.is_empty());
    }
    assert_eq!(RULES.len(), cases.len(), "one case each");
}

#[test]
fn a_waived_rule_is_silent() {
    for Case { rule, bad, .. } in cases() {
        let mut checker = Checker::new(ReadConfig::default());
        checker.waive(rule);
        for (record, n) in bad.iter().zip(0..) {
            checker.record(n * 32, &record.write());
        }
        checker.end(bad.len() as u64 * 32);
        assert!(checker.take().iter().all(|finding| finding.rule.name != rule.name), "{}", rule.name);
    }
}

#[test]
fn findings_have_number_and_offset_of_their_record() {
    // The instruction is judged when its last Extra EA has come; the finding is at the instruction.
    let load = Instruction { is_write: true, ..pair() };
    let found = findings(&plus(&[nop(0xffc), load.into(), extra(true, false).into()]));
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!((finding.rule.name, finding.item, finding.offset), (LOAD_WRITES.name, 3, 96));
}

#[test]
fn addresses_at_el3_and_where_a_return_leads() {
    // From EL3 back to a kernel: the target has the addresses of the level that it leads to.
    let monitor = Context { el: 3, handler: true, secure: true, ..Context::default() };
    let back = Trap { target_pc: VECTOR, ..trap(TrapType::RETURN, 0) };
    let start = [header(Level::BasicPlus, false), monitor.into(), ins(0x1000, ERET).into()];
    let legal = [&start[..], &[back.into(), kernel(), nop(VECTOR)]].concat();
    assert_eq!(findings(&legal), []);
    // At EL3 itself there is one range only, which begins with zeros.
    let found = findings(&[start[0], monitor.into(), nop(VECTOR)]);
    assert_eq!(found.iter().map(|found| found.rule.name).collect::<Vec<_>>(), [SANITISED.name]);
}

#[test]
fn leaving_an_unsupported_mode_needs_no_attempt() {
    // AArch32 code called the kernel: its instruction cannot be in the trace.
    let unsupported = Context { unsupported: true, ..Context::default() };
    for class in [0x11, 0x24] {
        let trap = trap(TrapType::SYNCHRONOUS, class);
        let records = [nop(0x1000), unsupported.into(), trap.into(), kernel(), nop(VECTOR)];
        assert_eq!(findings(&plus(&records)), []);
    }
}

#[test]
fn an_interrupt_behind_a_return_does_not_stand_for_it() {
    let interrupt = Record::from(trap(TrapType::IRQ, 0));
    let back = Record::from(Trap { target_pc: 0x2000, ..trap(TrapType::RETURN, 0) });
    let user = Record::from(Context::default());
    let enter = [header(Level::BasicPlus, false), kernel(), ins(0x1000, ERET).into()];
    let with = |between: &[Record]| findings(&[&enter, between, &[kernel(), nop(VECTOR)]].concat());
    assert_eq!(with(&[back, user, interrupt]), []);
    let found = with(&[interrupt]);
    assert_eq!(found.iter().map(|found| found.rule.name).collect::<Vec<_>>(), [RETURN_MISSING.name]);
}

#[test]
fn accesses_in_parts_have_no_hole() {
    let first = Instruction { ea_size: 3, ea: 0x8ffc, extra_eas: true, ..mem(LDR, true, false) };
    let at = |mem0_addr| ExtraEa { mem0_size: 3, mem0_addr, ..extra(true, false) };
    assert_eq!(findings(&plus(&[first.into(), at(0x9000).into()])), []);
    let found = findings(&plus(&[first.into(), at(0x9004).into()]));
    assert_eq!(found.iter().map(|found| found.rule.name).collect::<Vec<_>>(), [ACCESS_SIZE.name]);
}

#[test]
fn an_sme_instruction_without_an_index_has_no_attribute() {
    let fmopa = |xattr_mode, xattr| {
        let records = plus(&[Instruction { xattr_mode, xattr, ..ins(0x1000, 0x8080_0000) }.into()]);
        findings(&records).iter().any(|found| found.rule.name == SME_NO_INDEX.name)
    };
    assert!(!fmopa(0, 0));
    assert!(fmopa(2, 1) && fmopa(3, 0) && fmopa(0, 1));
}

#[test]
fn vectors_of_za_have_the_streaming_length_in_any_mode() {
    let load = |bytes: u8| Instruction { ea_size: bytes - 1, xattr_mode: 2, ..mem(LDR_ZA, true, false) };
    let names = |context: Context, bytes| {
        let found = findings(&[header(Level::BasicPlus, false), context.into(), load(bytes).into()]);
        found.iter().map(|found| found.rule.name).collect::<Vec<_>>()
    };
    // Outside streaming mode evl is the length of the other vectors, and ZA may be saved and restored all the same.
    let outside = Context { evl: 1, ..Context::default() };
    assert_eq!(names(outside, 64), [""; 0]);
    assert_eq!(names(outside, 48), [ACCESS_SIZE.name]);
    let streaming = Context { pstate_sm: true, evl: 3, ..Context::default() };
    assert_eq!(names(streaming, 64), [""; 0]);
    assert_eq!(names(streaming, 32), [VECTOR_LENGTH.name]);
}

#[test]
fn a_tag_access_that_faulted_need_not_be_tagged() {
    // A translation fault: no tag was accessed, and none was checked.
    let store = Instruction { ea_size: 15, ..mem(STG, false, false) };
    assert_eq!(findings(&trapped(store, trap(TrapType::SYNCHRONOUS, 0x24))), []);
}

#[test]
fn only_loads_that_suppress_faults_may_have_suppressed_accesses() {
    // LD1RB, a broadcast, is encoded between the gathers.
    let load = |is_read| Instruction { ea_size: 0, ..mem(0x8440_a020, is_read, false) };
    assert_eq!(findings(&plus(&[load(true).into()])), []);
    let found = findings(&plus(&[load(false).into()]));
    assert_eq!(found.iter().map(|found| found.rule.name).collect::<Vec<_>>(), [READ_FLAG.name]);
}

#[test]
fn maintenance_by_ranges_of_intermediate_addresses_is_legal() {
    let ripas2e1 = Instruction { xattr: 0x4000, ..range(0xd50c_8440, false, false) };
    assert_eq!(findings(&plus(&[ripas2e1.into()])), []);
}

#[test]
fn exceptions_select_the_stack_pointer_of_their_level() {
    let at = |el, handler| Record::from(Context { el, handler, ..Context::default() });
    let names = |records: &[Record]| {
        let found = findings(&[&[header(Level::BasicPlus, false)], records].concat());
        found.iter().map(|found| found.rule.name).collect::<Vec<_>>()
    };
    let interrupt = Record::from(trap(TrapType::IRQ, 0));
    // At EL1 with SP_EL0: the handler has its own, and a Context has to say so.
    assert_eq!(names(&[at(1, false), nop(0x1000), interrupt, at(1, true), nop(VECTOR)]), [""; 0]);
    assert_eq!(names(&[at(1, false), nop(0x1000), interrupt, nop(VECTOR)]), [TRAP_LEVEL.name]);
    // HVC does not lead to EL1.
    let call = Trap { syscall_type: 2, ..trap(TrapType::SYNCHRONOUS, 0x16) };
    let hvc = Instruction { trap: true, ..ins(0x1000, 0xd400_0002) };
    let to = |el| names(&[at(1, true), hvc.into(), call.into(), at(el, true), nop(VECTOR)]);
    assert_eq!((to(2), to(1)), (vec![], vec![TRAP_LEVEL.name]));
}

#[test]
fn every_reserved_bit_is_noted_and_no_other() {
    let kinds: [(Record, &[Field]); 7] = [
        (header(Level::BasicPlus, true), Header::FIELDS),
        (Context::default().into(), Context::FIELDS),
        (ins(0, NOP).into(), Instruction::FIELDS),
        (ExtraEa::default().into(), ExtraEa::FIELDS),
        (Trap::default().into(), Trap::FIELDS),
        (StringRecord::default().into(), StringRecord::FIELDS),
        (Timestamp::default().into(), Timestamp::FIELDS),
    ];
    for (record, fields) in kinds {
        for bit in 8..256u32 {
            let mut words = record.write();
            words[bit as usize / 64] |= 1 << (bit % 64);
            let mut checker = Checker::new(ReadConfig::default());
            checker.record(0, &words);
            let noted = checker.take().iter().any(|found| found.rule.name == RESERVED.name);
            let field = fields.iter().find(|field| (field.low..=field.high).contains(&bit)).expect("a field");
            // Without a mode the attribute of an instruction is reserved too.
            let reserved = field.reserved || field.name == "xattr";
            assert_eq!(noted, reserved, "{} {}, bit {bit}", record.name(), field.name);
        }
    }
}
