//! Registers of A64 instructions against capstone's text, over the whole encoding space.
//!
//! Capstone's own lists of registers read and written are wrong for many instructions (`adds` writes nothing, `cas`
//! reads nothing), so the judge is the syntax of A64: which registers the text names, and that the first operand is the
//! result, but for stores, compares, branches and atomics.

use std::collections::{BTreeMap, BTreeSet};

use capstone::Capstone;
use capstone::arch::{BuildsCapstone, arm64};
use trackway_core::{Isa, Reg, RegClass};
use trackway_isa::{reg_named, registers};

const NZCV: u16 = 0xda10;

/// The register that a word of the text names; `None` for the zero register, immediates and other words.
fn named(word: &str) -> Option<Reg> {
    let (word, _) = word.split_once('.').unwrap_or((word, ""));
    match word {
        "wsp" => reg_named(Isa::A64, "sp"),
        "lr" | "fp" | "nzcv" | "fpcr" | "fpsr" => None,
        word => reg_named(Isa::A64, word).filter(|reg| !matches!(reg.class, RegClass::Float | RegClass::Csr)),
    }
}

/// The registers of a piece of text, in order; the zero register is `None`.
fn all(text: &str) -> Vec<Option<Reg>> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || "._".contains(c)))
        .filter(|word| matches!(*word, "xzr" | "wzr") || named(word).is_some())
        .map(named)
        .collect()
}

/// A range like `{v0.4s - v3.4s}` names all between.
fn list(text: &str) -> Vec<Option<Reg>> {
    let Some((start, end)) = text.split_once(" - ") else { return all(text) };
    let (first, last) = (all(start), all(end));
    let (Some(Some(first)), Some(Some(last))) = (first.last().copied(), last.first().copied()) else {
        return all(text);
    };
    let count = (last.number + 32 - first.number) % 32;
    let between = (0..=count).map(|n| Some(Reg { number: (first.number + n) % 32, ..first }));
    let mut found: Vec<Option<Reg>> = all(start);
    found.pop();
    found.extend(between);
    found.extend(all(end).into_iter().skip(1));
    found
}

/// The rule that text and list break.
fn broken(mnemonic: &str, operands: &str, ours: &trackway_isa::Registers) -> Option<&'static str> {
    let plain = |reg: &Reg| reg.class != RegClass::Csr;
    let reads: BTreeSet<Reg> = ours.sources().filter(plain).collect();
    let writes: BTreeSet<Reg> = ours.destinations().filter(plain).collect();
    let text: Vec<Option<Reg>> = list(operands);
    let mentioned: BTreeSet<Reg> = text.iter().flatten().copied().collect();
    // Pairs and eights of which the text names the first; addresses that calls, returns and signatures imply.
    let implied = |reg: &Reg| {
        let x = |numbers: &[u16]| reg.class == RegClass::Int && numbers.contains(&reg.number);
        match mnemonic {
            "bl" | "blr" | "blraa" | "blrab" | "blraaz" | "blrabz" | "ret" => x(&[30]),
            "ld64b" | "st64b" | "st64bv" | "st64bv0" => true,
            "chkfeat" => x(&[16]),
            name => {
                (name.starts_with("pac")
                    || name.starts_with("aut")
                    || name.starts_with("xpac")
                    || name.starts_with("ret"))
                    && x(&[16, 17, 30, 31])
            }
        }
    };
    if !reads.union(&writes).all(|reg| mentioned.contains(reg) || implied(reg)) {
        return Some("a register that the text does not name");
    }
    // The text of a prefetch, a branch or a hint may hold numbers that look like nothing else.
    if !mentioned.iter().all(|reg| reads.contains(reg) || writes.contains(reg)) {
        return Some("the text names another register");
    }
    let first = text.first().copied();
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| mnemonic.starts_with(prefix));
    if let Some((before, address)) = operands.split_once('[')
        && starts(&["ld", "st"])
        && !operands.contains('{')
    {
        let data = all(before);
        let base = all(address.split([',', ']']).next().unwrap_or_default()).first().copied().flatten();
        let updates = operands.contains("]!") || operands.contains("], #");
        if let Some(base) = base {
            if !reads.contains(&base) {
                return Some("the base is read");
            }
            if updates && !writes.contains(&base) {
                return Some("the base is updated");
            }
        }
        let atomic = starts(&["ldadd", "ldclr", "ldeor", "ldset", "ldsmax", "ldsmin", "ldumax", "ldumin"]);
        let status = starts(&["stxr", "stxp", "stlxr", "stlxp"]);
        let results: BTreeSet<Reg> = match () {
            () if atomic => data.iter().skip(1).flatten().copied().collect(),
            () if starts(&["ld"]) => data.iter().flatten().copied().collect(),
            () if status || mnemonic.starts_with("st64bv") => {
                data.iter().take(1).flatten().copied().collect()
            }
            () => BTreeSet::new(),
        };
        let mut expected = results;
        expected.extend(base.filter(|_| updates));
        let eight = mnemonic == "ld64b";
        return (!eight && expected != writes).then_some("the results of a load or store");
    }
    let no_result = starts(&[
        "cmp", "cmn", "tst", "ccm", "fcmp", "fccmp", "setf", "rmif", "b", "cb", "tbz", "tbnz", "ret", "prfm",
        "prfum", "rprfm", "msr",
    ]) && !starts(&[
        "bfi", "bfm", "bfx", "bic", "bit", "bif", "bsl", "bcax", "bfc", "bfdot", "bfml", "bfmm",
    ]) || starts(&[
        "st", "dc", "ic", "at", "tlbi", "sys", "wfe", "wfi", "cfp", "cpp", "dvp", "cosp", "brb", "trcit",
        "gcs", "dgh",
    ]) && !mnemonic.starts_with("sysl");
    let special = starts(&[
        "ld", "st", "cas", "swp", "cpy", "set", "pac", "aut", "xpac", "chkfeat", "mrs", "sysl", "tstart",
        "ttest", "bl",
    ]);
    if special {
        return None;
    }
    let expected: BTreeSet<Reg> =
        if no_result { BTreeSet::new() } else { first.flatten().into_iter().collect() };
    if expected != writes {
        return Some("the result is the first operand");
    }
    let rest: BTreeSet<Reg> = text.iter().skip(usize::from(!no_result)).flatten().copied().collect();
    (!rest.iter().all(|reg| reads.contains(reg))).then_some("the other operands are read")
}

#[test]
fn registers_are_those_of_the_text() {
    let engine = Capstone::new().arm64().mode(arm64::ArchMode::Arm).detail(true).build().expect("builds");
    let mut differences: BTreeMap<String, (u64, String)> = BTreeMap::new();
    let mut unknown = BTreeMap::<String, (u64, u32)>::new();
    let mut compared = 0u64;
    let dense = if std::env::var_os("TRACKWAY_SWEEP").is_some() { 40 } else { 1 };
    for word in (0..1u64 << 32).step_by((2_003 / dense) | 1).map(|word| word as u32) {
        let Ok(list) = engine.disasm_count(&word.to_le_bytes(), 0, 1) else { continue };
        let Some(insn) = list.first() else { continue };
        let (mnemonic, operands) = (insn.mnemonic().unwrap_or_default(), insn.op_str().unwrap_or_default());
        // SVE and SME are not known.
        if matches!(word >> 25 & 0xf, 0b0010 | 0) {
            continue;
        }
        let Some(ours) = registers(Isa::A64, word) else {
            unknown.entry(mnemonic.to_string()).or_insert((0, word)).0 += 1;
            continue;
        };
        compared += 1;
        let mut note = |rule: &str| {
            let show = |list: Vec<Reg>| list.iter().map(Reg::to_string).collect::<Vec<_>>().join(" ");
            let text = format!(
                "{word:08x} {mnemonic} {operands}: {rule}; reads {}, writes {}",
                show(ours.sources().collect()),
                show(ours.destinations().collect())
            );
            differences.entry(format!("{mnemonic} {rule}")).or_insert((0, text)).0 += 1;
        };
        if let Some(rule) = broken(mnemonic, operands, &ours) {
            note(rule);
        }
        // Flags: capstone lists those that LLVM defines.
        let Ok(detail) = engine.insn_detail(insn) else { continue };
        let flags = detail.regs_write().iter().any(|id| engine.reg_name(*id).as_deref() == Some("nzcv"));
        let ours_flags = ours.destinations().any(|reg| reg.class == RegClass::Csr && reg.number == NZCV);
        let named = ["cpy", "set", "rmif", "msr", "cfinv", "axflag", "xaflag", "subps", "cmpp", "fjcvtzs"];
        // Of comparisons of halves capstone lists none.
        let halves = mnemonic.starts_with("fc") && operands.starts_with('h');
        if flags != ours_flags && !halves && !named.iter().any(|name| mnemonic.starts_with(name)) {
            note("flags");
        }
    }
    eprintln!("{compared} compared; not known: {unknown:x?}");
    for (count, text) in differences.values() {
        eprintln!("{count}: {text}");
    }
    assert!(differences.is_empty() && compared > 500_000);
}
