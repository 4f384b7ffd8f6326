//! The class of an instruction by its text alone, whoever wrote it: objdump, capstone or LLVM.

use trackway_core::Isa;
use trackway_isa::Class;

/// The class that the text says; `None` where it does not say enough.
pub(crate) fn by_text(isa: Isa, mnemonic: &str, operands: &str) -> Option<Class> {
    match isa {
        // The numbers decide about these, and the text does not say which are allocated.
        Isa::A64 if mnemonic.starts_with("sys") => None,
        Isa::A64 if ["s0_", "s1_"].iter().any(|name| operands.to_lowercase().contains(name)) => None,
        Isa::A64 => Some(a64(mnemonic, operands)),
        _ => aarch32(mnemonic, operands),
    }
}

fn is_any(name: &str, list: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

fn starts(name: &str, list: &str) -> bool {
    list.split_whitespace().any(|prefix| name.starts_with(prefix))
}

/// Does an operand name a register of this file: the letter, then digits?
fn names(operands: &str, file: &str) -> bool {
    operands.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| {
        word.strip_prefix(file).is_some_and(|number| {
            !number.is_empty() && number.len() <= 2 && number.bytes().all(|b| b.is_ascii_digit())
        })
    })
}

fn a64(name: &str, operands: &str) -> Class {
    let first = operands.split([',', ' ']).next().unwrap_or("");
    let scalable = ["z", "p", "pn", "za", "zt"].iter().any(|file| names(operands, file))
        || operands.contains("za")
        || starts(name, "setffr rdffr wrffr");
    match name {
        "bl" | "blr" | "blraa" | "blrab" | "blraaz" | "blrabz" => return Class::Call,
        "b" | "br" | "braa" | "brab" | "braaz" | "brabz" | "eret" | "eretaa" | "eretab" | "drps" => {
            return Class::Jump;
        }
        _ if name.starts_with("ret") => return Class::Return,
        _ if starts(name, "b. bc. cbz cbnz tbz tbnz cbeq cbne cbgt cbge cbhi cbhs cblt cblo cbb cbh") => {
            return Class::Branch;
        }
        "svc" | "hvc" | "smc" | "brk" | "hlt" | "udf" | "wfe" | "wfi" | "wfet" | "wfit" => {
            return Class::System;
        }
        _ if is_any(name, "tstart ttest tcommit tcancel dcps1 dcps2 dcps3 at cfp cpp dvp cosp brb trcit") => {
            return Class::System;
        }
        _ if is_any(name, "isb dsb dmb sb clrex ssbb pssbb esb csdb psb tsb gcsb dfb tlbi tlbip") => {
            return Class::Fence;
        }
        _ if is_any(name, "nop yield sev sevl dgh bti hint clrbhb chkfeat pacm") => return Class::Hint,
        _ if starts(name, "prfm prfum rprfm prfb prfh prfw prfd") => return Class::Prefetch,
        "mrs" | "msr" | "mrrs" | "msrr" | "smstart" | "smstop" => return Class::Csr,
        "dc" if starts(operands, "zva gva gzva") => return Class::Store,
        "dc" | "ic" => return Class::Cache,
        "gcsstr" | "gcssttr" => return Class::Store,
        _ if name.starts_with("gcs") => return Class::System,
        _ if starts(name, "cpyp cpym cpye cpyf setp setm sete setgp setgm setge") => return Class::Store,
        _ if starts(name, "cas swp rcw ldadd ldclr ldeor ldset ldsmax ldsmin ldumax ldumin") => {
            return Class::Atomic;
        }
        _ if starts(name, "stadd stclr steor stset stsmax stsmin stumax stumin") => return Class::Atomic,
        _ => {}
    }
    let vector = scalable || names(operands, "v");
    match (starts(name, "ld"), name.starts_with("st") && operands.contains('['), vector) {
        (true, _, true) => return Class::VectorLoad,
        (true, _, false) => return Class::Load,
        (_, true, true) => return Class::VectorStore,
        (_, true, false) => return Class::Store,
        _ => {}
    }
    let scalar = ["b", "h", "s", "d", "q"].iter().any(|file| names(first, file));
    match name {
        _ if scalable || is_any(name, "addvl addpl addsvl addspl rdvl rdsvl ctermeq ctermne") => {
            Class::Vector
        }
        _ if starts(name, "cntb cnth cntw cntd incb inch incw incd decb dech decw decd") => Class::Vector,
        _ if starts(name, "sqinc sqdec uqinc uqdec incp decp") => Class::Vector,
        _ if names(operands, "v") && !(name == "fmov" && operands.contains(".d[1]")) => Class::Vector,
        _ if name.starts_with('f') || starts(name, "scvtf ucvtf bfcvt") => Class::Float,
        _ if scalar || starts(name, "aes sha") => Class::Vector,
        "udiv" | "sdiv" => Class::Divide,
        _ if is_any(name, "mul madd msub mneg smaddl smsubl smnegl smull smulh maddpt msubpt") => {
            Class::Multiply
        }
        _ if is_any(name, "umaddl umsubl umnegl umull umulh") => Class::Multiply,
        _ => Class::Integer,
    }
}

const INTEGER: &str = "adc add adr and asr bic cmn cmp eor lsl lsr mov movt movw mvn neg orn orr ror rrx rsb rsc sbc sub \
    teq tst addw subw bfc bfi clz rbit rev rev16 revsh sbfx ubfx sel pkhbt pkhtb ssat ssat16 usat usat16 sxtab sxtab16 \
    sxtah sxtb sxtb16 sxth uxtab uxtab16 uxtah uxtb uxtb16 uxth qadd qsub qdadd qdsub usad8 usada8 cpy sadd8 sadd16 sasx \
    ssax ssub8 ssub16 qadd8 qadd16 qasx qsax qsub8 qsub16 shadd8 shadd16 shasx shsax shsub8 shsub16 uadd8 uadd16 uasx \
    usax usub8 usub16 uqadd8 uqadd16 uqasx uqsax uqsub8 uqsub16 uhadd8 uhadd16 uhasx uhsax uhsub8 uhsub16 crc32b crc32h \
    crc32w crc32cb crc32ch crc32cw";
const MULTIPLY: &str = "mul mla mls umull umlal smull smlal umaal smlabb smlabt smlatb smlatt smlawb smlawt smulbb smulbt \
    smultb smultt smulwb smulwt smlalbb smlalbt smlaltb smlaltt smlad smladx smlsd smlsdx smuad smuadx smusd smusdx \
    smlald smlaldx smlsld smlsldx smmla smmlar smmls smmlsr smmul smmulr";
const LOAD: &str = "ldr ldrb ldrh ldrsb ldrsh ldrd ldrt ldrbt ldrht ldrsbt ldrsht ldm ldmia ldmfd ldmda ldmdb ldmib ldrex \
    ldrexb ldrexh ldrexd lda ldab ldah ldaex ldaexb ldaexh ldaexd pop vldr vldm vldmia vldmdb vpop ldc ldcl ldc2 ldc2l \
    fldmiax fldmdbx";
const STORE: &str = "str strb strh strd strt strbt strht stm stmia stmea stmda stmdb stmib strex strexb strexh strexd stl \
    stlb stlh stlex stlexb stlexh stlexd push vstr vstm vstmia vstmdb vpush stc stcl stc2 stc2l srs srsda srsdb srsia \
    srsib fstmiax fstmdbx";
const CSR: &str =
    "mrs msr mrc mcrr mrrc mcr2 mrc2 mcrr2 mrrc2 cps cpsie cpsid setend setpan vmrs vmsr fmstat";
const FENCE: &str = "dsb dmb isb sb clrex esb csdb tsb ssbb pssbb dfb";
const HINT: &str = "nop yield sev sevl dbg clrbhb";
/// The pc decides about these: [`trackway_isa::flow`] has tests of its own.
const CONTROL: &str = "b bl blx bx bxj cbz cbnz tbb tbh svc hvc smc hlt bkpt udf wfe wfi eret rfe rfeda rfedb rfeia rfeib \
    rfefd rfeea trap";

fn listed(name: &str) -> Option<Class> {
    let lists = [
        (INTEGER, Class::Integer),
        (MULTIPLY, Class::Multiply),
        (LOAD, Class::Load),
        (STORE, Class::Store),
        (CSR, Class::Csr),
        (FENCE, Class::Fence),
        (HINT, Class::Hint),
        ("sdiv udiv", Class::Divide),
        ("swp swpb", Class::Atomic),
        ("pld pldw pli", Class::Prefetch),
        ("dcps1 dcps2 dcps3", Class::System),
    ];
    lists.iter().find(|(list, _)| is_any(name, list)).map(|(_, class)| *class)
}

/// The name, then without `s`, then without a condition.
fn forms(name: &str) -> impl Iterator<Item = &str> {
    const CONDITIONS: [&str; 16] =
        ["eq", "ne", "cs", "hs", "cc", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le"];
    let without = CONDITIONS.iter().find_map(|condition| name.strip_suffix(condition));
    let plain = |name: &'_ str| name.strip_suffix('s').map(str::len);
    [
        Some(name),
        plain(name).map(|length| &name[..length]),
        without,
        without.and_then(|name| plain(name).map(|length| &name[..length])),
    ]
    .into_iter()
    .flatten()
}

fn aarch32(mnemonic: &str, operands: &str) -> Option<Class> {
    let name = mnemonic.split('.').next().unwrap_or(mnemonic);
    let suffix = mnemonic.strip_prefix(name).unwrap_or("");
    if name.starts_with("it") && name[1..].bytes().all(|b| b == b't' || b == b'e') {
        return Some(Class::Hint);
    }
    for form in forms(name) {
        // MCR may be maintenance, and the numbers of unnamed hints are not looked at.
        if is_any(form, CONTROL) || is_any(form, "mcr hint cdp cdp2") {
            return None;
        }
        if let Some(class) = listed(form) {
            // Loads and results to the pc are transfers, or may not be written at all.
            let to_pc = operands.starts_with("pc") || operands.contains("pc}");
            return Some(class).filter(|_| !to_pc);
        }
    }
    let structures = |prefix| (1..5).any(|n| name.starts_with(&format!("{prefix}{n}")));
    Some(match name {
        _ if structures("vld") => Class::VectorLoad,
        _ if structures("vst") => Class::VectorStore,
        _ if starts(name, "aes sha vdup vdot vusdot vsudot vsdot vudot") => Class::Vector,
        _ if name.starts_with("vmov") && operands.contains('[') => {
            if suffix == ".32" {
                Class::Float
            } else {
                Class::Vector
            }
        }
        _ if names(operands, "q") => Class::Vector,
        _ if names(operands, "s") && !names(operands, "d") => Class::Float,
        // Doubles of floating point look like vectors of Advanced SIMD.
        _ => return None,
    })
}
