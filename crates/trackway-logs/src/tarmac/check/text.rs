//! The text of an instruction beside our own, by families of names.

use std::collections::HashMap;

use trackway_core::Isa;
use trackway_isa::Disassembler;

use super::super::parsed::Instruction;

/// Texts of encodings that were looked at.
#[derive(Default)]
pub(super) struct Texts {
    disassembler: Disassembler,
    /// Whether the printed name fits, by instruction set, encoding and the printed name.
    known: HashMap<(Isa, u32), (Vec<u8>, bool)>,
}

impl std::fmt::Debug for Texts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Texts({})", self.known.len())
    }
}

/// Most encodings that are kept; then all are forgotten.
const MOST: usize = 1 << 16;

impl Texts {
    /// Our text, where the printed one is of another instruction.
    pub(super) fn contradicts(&mut self, i: &Instruction<'_>) -> Option<String> {
        let word: &[u8] = i.text.trim_ascii().split(|byte| byte.is_ascii_whitespace()).next().unwrap_or(b"");
        let key = (i.isa, i.encoding);
        if let Some((printed, true)) = self.known.get(&key)
            && printed == word
        {
            return None;
        }
        let ours = self.disassembler.text(i.isa, i.pc, i.encoding);
        let own = ours.split(' ').next().unwrap_or_default().to_string();
        let fits = i.length == 0 || word.is_empty() || is_same(&own, &String::from_utf8_lossy(word));
        if self.known.len() >= MOST {
            self.known.clear();
        }
        self.known.insert(key, (word.to_vec(), fits));
        (!fits).then(|| ours.to_string())
    }
}

/// Names of one family: aliases of each other, or spelt in another way.
const FAMILIES: &[&[&str]] = &[
    &[
        "mov", "movz", "movn", "movk", "orr", "add", "mvn", "orn", "movw", "movt", "ins", "dup", "umov",
        "smov", "movi", "fmov",
    ],
    &["cmp", "subs", "sub", "neg", "negs"],
    &["cmn", "adds"],
    &["tst", "ands"],
    &["ngc", "sbc"],
    &["ngcs", "sbcs"],
    &[
        "lsl", "lsr", "asr", "ror", "ubfm", "sbfm", "bfm", "ubfx", "sbfx", "bfi", "bfc", "bfxil", "ubfiz",
        "sbfiz", "uxtb", "uxth", "uxtw", "sxtb", "sxth", "sxtw", "extr", "lslv", "lsrv", "asrv", "rorv",
    ],
    &["cset", "csetm", "cinc", "cinv", "cneg", "csinc", "csinv", "csneg", "csel"],
    &["mul", "mneg", "madd", "msub"],
    &["smull", "smnegl", "smaddl", "smsubl"],
    &["umull", "umnegl", "umaddl", "umsubl"],
    &["push", "stm", "stmdb", "stmfd", "str"],
    &["pop", "ldm", "ldmia", "ldmfd", "ldr"],
    &["stm", "stmia", "stmea"],
    &["sys", "sysl", "dc", "ic", "at", "tlbi", "msr", "mrs", "cfp", "dvp", "cpp", "smstart", "smstop"],
    &["dsb", "ssbb", "pssbb", "dmb"],
    &["svc", "swi"],
];

/// Hints have names that grow with the architecture.
const HINTS: &[&str] = &[
    "hint",
    "nop",
    "yield",
    "wfe",
    "wfi",
    "sev",
    "sevl",
    "dgh",
    "esb",
    "psb",
    "tsb",
    "csdb",
    "bti",
    "clrbhb",
    "xpaclri",
    "pacia1716",
    "pacib1716",
    "autia1716",
    "autib1716",
    "paciaz",
    "paciasp",
    "pacibz",
    "pacibsp",
    "autiaz",
    "autiasp",
    "autibz",
    "autibsp",
    "chkfeat",
    "gcsb",
    "stshh",
];

/// True if both may be the name of one instruction.
fn is_same(ours: &str, theirs: &str) -> bool {
    if ours.starts_with('.') {
        return true;
    }
    let (ours, theirs) = (plain(ours), plain(theirs));
    let both = |family: &&[&str]| family.contains(&&*ours) && family.contains(&&*theirs);
    ours == theirs
        || sorted(&ours) == sorted(&theirs)
        || FAMILIES.iter().any(both)
        || both(&HINTS)
        || ours
            .strip_prefix("st")
            .is_some_and(|rest| theirs.strip_prefix("ld") == Some(rest) && rest.len() > 2)
}

/// A name without width, in lower case, with one spelling of conditions and unscaled accesses.
fn plain(name: &str) -> String {
    let mut name = name.to_ascii_lowercase();
    for end in [".w", ".n"] {
        name.truncate(name.strip_suffix(end).map_or(name.len(), str::len));
    }
    let name = name.replace("b.", "b").replace("bcs", "bhs").replace("bcc", "blo").replace("bcond", "b");
    match name.get(..3) {
        Some("ldu" | "stu") if name.starts_with("ldur") || name.starts_with("stur") => {
            format!("{}{}", &name[..2], &name[3..])
        }
        _ => name,
    }
}

/// The letters in order: a condition may come before or after a size.
fn sorted(name: &str) -> Vec<u8> {
    let mut letters = name.as_bytes().to_vec();
    letters.sort_unstable();
    letters
}

#[cfg(test)]
mod tests {
    use super::is_same;

    #[test]
    fn aliases_and_spellings_are_the_same() {
        for (ours, theirs) in [
            ("mov", "ORR"),
            ("b.hs", "B.CS"),
            ("beq", "BEQ"),
            ("ldreqb", "LDRBEQ"),
            ("sturb", "STURB"),
            ("str", "STUR"),
            ("hint", "PACIASP"),
            ("stadd", "LDADD"),
            (".inst", "FOO"),
        ] {
            assert!(is_same(ours, theirs), "{ours} {theirs}");
        }
        for (ours, theirs) in
            [("add", "SUB"), ("ldr", "STR"), ("b.eq", "B.NE"), ("ret", "BR"), ("and", "ORR")]
        {
            assert!(!is_same(ours, theirs), "{ours} {theirs}");
        }
    }
}
