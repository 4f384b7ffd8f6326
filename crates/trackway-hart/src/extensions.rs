//! The extensions of a core, and their names in ISA strings.

use trackway_core::Isa;
use trackway_isa::riscv::{Encoding, Extension, Inst, Op};

use Extension::{
    A, C, D, F, H, I, M, Smepmp, Smstateen, Sscofpmf, Sstc, Svade, Svadu, Svinval, Svnapot, Svpbmt, System,
    Zabha, Zacas, Zawrs, Zba, Zbb, Zbc, Zbkb, Zbkc, Zbkx, Zbs, Zcb, Zcd, Zcf, Zcmop, Zfa, Zfh, Zfhmin,
    Zicbom, Zicbop, Zicboz, Zicond, Zicsr, Zifencei, Zimop, Zknd, Zkne, Zknh, Zkr, Zksed, Zksh,
};

/// A set of extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extensions(u64);

impl Extensions {
    /// Every instruction that the model knows. [Options](Extensions::OPTIONS) of the privileged architecture are not
    /// among them: those change what registers hold even where a program does not use them.
    pub const ALL: Self = Self::of(&[
        I, Zifencei, Zicsr, M, A, Zabha, Zacas, F, D, Zfhmin, Zfh, Zfa, Zba, Zbb, Zbc, Zbs, Zicbom, Zicbop,
        Zicboz, Zbkb, Zbkc, Zbkx, Zknd, Zkne, Zknh, Zksed, Zksh, Zicond, Zawrs, Zimop, System, Svinval, C,
        Zcf, Zcd, Zcb, Zcmop,
    ]);

    /// Options of the privileged architecture; a core has them where its ISA string names them.
    pub const OPTIONS: Self =
        Self::of(&[Zkr, Svnapot, Svpbmt, Svade, Svadu, Sstc, Sscofpmf, Smepmp, Smstateen]);

    /// The set of these.
    pub const fn of(list: &[Extension]) -> Self {
        let (mut set, mut n) = (0, 0);
        while n < list.len() {
            set |= 1 << list[n] as u32;
            n += 1;
        }
        Self(set)
    }

    /// Is it in the set?
    #[inline]
    pub const fn has(self, extension: Extension) -> bool {
        self.0 >> extension as u32 & 1 != 0
    }

    /// The set with it, or without it.
    pub const fn with(self, extension: Extension, on: bool) -> Self {
        let bit = 1 << extension as u32;
        Self(if on { self.0 | bit } else { self.0 & !bit })
    }

    /// Both sets.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Does a core with these extensions have the instruction? Several extensions share some, others need two.
    pub fn have(self, declared: &Encoding, inst: &Inst) -> bool {
        let has = |extension| self.has(extension);
        if inst.length == 2 && !(has(C) && has(declared.extension)) {
            return false;
        }
        match inst.op {
            // The compressed form needs Zbb; the other is a special case of pack and packw.
            Op::ZextH => has(Zbb) || inst.length == 4 && has(Zbkb),
            Op::Andn
            | Op::Orn
            | Op::Xnor
            | Op::Rol
            | Op::Ror
            | Op::Rori
            | Op::Rolw
            | Op::Rorw
            | Op::Roriw
            | Op::Rev8 => has(Zbb) || has(Zbkb),
            Op::Clmul | Op::Clmulh => has(Zbc) || has(Zbkc),
            Op::Aes64ks1i | Op::Aes64ks2 => has(Zknd) || has(Zkne),
            // The table has these conversions once; they need both formats.
            Op::FcvtDH | Op::FcvtHD => has(D) && has(Zfhmin),
            Op::AmocasB | Op::AmocasH => has(Zabha) && has(Zacas),
            Op::HinvalVvma | Op::HinvalGvma => has(Svinval) && has(H),
            op if op.extension() == Zfa => has(Zfa) && has([F, D, Zfh, F][inst.word as usize >> 25 & 3]),
            op => has(op.extension()),
        }
    }

    /// Reads an ISA string such as `rv64gc_zba_zbb`. Names that the model does not know are refused with the list of
    /// those that it does.
    pub fn read(text: &str) -> Result<(Isa, Self), String> {
        let lower = text.to_ascii_lowercase();
        let (isa, rest) = match (lower.strip_prefix("rv32"), lower.strip_prefix("rv64")) {
            (Some(rest), _) => (Isa::Rv32, rest),
            (_, Some(rest)) => (Isa::Rv64, rest),
            _ => return Err(format!("{text:?} does not begin with rv32 or rv64")),
        };
        // Names of several letters may follow the letters without an underscore.
        let long = rest.find(['z', 'x', '_']).unwrap_or(rest.len());
        let letters = rest[..long].char_indices().map(|(n, letter)| &rest[n..n + letter.len_utf8()]);
        let names = letters.chain(rest[long..].split('_').filter(|name| !name.is_empty()));
        let mut set = Self::of(&[System]);
        for name in names {
            set = set.and(name).ok_or_else(|| {
                let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
                format!("{text:?}: {name:?} is not one of the model's extensions: {}", known.join(" "))
            })?;
        }
        Ok((isa, set))
    }

    /// The ISA string of a core with these extensions, in the order of the unprivileged specification.
    ///
    /// ```
    /// use trackway_core::Isa;
    /// use trackway_hart::Extensions;
    /// let (isa, set) = Extensions::read("rv64gc_zba_zfh_sstc").unwrap();
    /// assert_eq!(set.isa_string(isa), "rv64imafdc_zicsr_zifencei_zfh_zfhmin_zba_sstc");
    /// assert_eq!(Extensions::read(&set.isa_string(isa)), Ok((isa, set)));
    /// assert!(Extensions::read("rv64gcv").unwrap_err().contains("\"v\" is not one of"));
    /// ```
    pub fn isa_string(self, isa: Isa) -> String {
        let mut text = String::from(if isa == Isa::Rv32 { "rv32" } else { "rv64" });
        for (name, implied) in NAMES {
            let shorthand = matches!(*name, "g" | "b" | "zk" | "zkn" | "zks" | "ssstateen");
            // Parts of what was named already.
            let part =
                matches!(*name, "zca" | "zcf" | "zcd") && [C, Zcf, Zcd].into_iter().all(|e| self.has(e));
            let all = Self::of(implied);
            if all.0 != 0 && self.0 | all.0 == self.0 && !shorthand && !part {
                text += if name.len() > 1 { "_" } else { "" };
                text += name;
            }
        }
        text
    }

    /// The set with the extension of this name, and with those that it implies; `None` where there is none.
    fn and(self, name: &str) -> Option<Self> {
        let (_, implied) = NAMES.iter().find(|(known, _)| *known == name)?;
        Some(self.union(Self::of(implied)))
    }
}

/// Names in ISA strings, in the order of the specification, and the extensions that each stands for. Some only name
/// what the model always has.
const NAMES: &[(&str, &[Extension])] = &[
    ("i", &[I]),
    ("m", &[M]),
    ("a", &[A]),
    ("f", &[F, Zicsr]),
    ("d", &[D, F, Zicsr]),
    ("g", &[I, M, A, F, D, Zicsr, Zifencei]),
    ("c", &[C, Zcf, Zcd]),
    ("b", &[Zba, Zbb, Zbs]),
    ("s", &[]),
    ("u", &[]),
    ("zic64b", &[]),
    ("zicbom", &[Zicbom]),
    ("zicbop", &[Zicbop]),
    ("zicboz", &[Zicboz]),
    ("zicntr", &[]),
    ("zicond", &[Zicond]),
    ("zicsr", &[Zicsr]),
    ("zifencei", &[Zifencei]),
    ("zihintntl", &[]),
    ("zihintpause", &[]),
    ("zihpm", &[]),
    ("zimop", &[Zimop]),
    ("zabha", &[Zabha, A]),
    ("zacas", &[Zacas, A]),
    ("zawrs", &[Zawrs]),
    ("zfa", &[Zfa, F, Zicsr]),
    ("zfh", &[Zfh, Zfhmin]),
    ("zfhmin", &[Zfhmin]),
    ("zca", &[C]),
    ("zcb", &[Zcb, C]),
    ("zcd", &[Zcd, C, D, F, Zicsr]),
    ("zcf", &[Zcf, C, F, Zicsr]),
    ("zcmop", &[Zcmop, C]),
    ("zba", &[Zba]),
    ("zbb", &[Zbb]),
    ("zbc", &[Zbc]),
    ("zbkb", &[Zbkb]),
    ("zbkc", &[Zbkc]),
    ("zbkx", &[Zbkx]),
    ("zbs", &[Zbs]),
    ("zk", &[Zbkb, Zbkc, Zbkx, Zknd, Zkne, Zknh, Zkr]),
    ("zkn", &[Zbkb, Zbkc, Zbkx, Zknd, Zkne, Zknh]),
    ("zknd", &[Zknd]),
    ("zkne", &[Zkne]),
    ("zknh", &[Zknh]),
    ("zkr", &[Zkr]),
    ("zks", &[Zbkb, Zbkc, Zbkx, Zksed, Zksh]),
    ("zksed", &[Zksed]),
    ("zksh", &[Zksh]),
    ("zkt", &[]),
    ("smepmp", &[Smepmp]),
    ("smstateen", &[Smstateen]),
    ("sscofpmf", &[Sscofpmf]),
    ("ssstateen", &[Smstateen]),
    ("sstc", &[Sstc]),
    ("svade", &[Svade]),
    ("svadu", &[Svadu]),
    ("svinval", &[Svinval]),
    ("svnapot", &[Svnapot]),
    ("svpbmt", &[Svpbmt]),
];

#[cfg(test)]
mod tests {
    use trackway_isa::riscv::lookup;

    use super::*;

    /// Every name is read, and a string that was written is read as the same set.
    #[test]
    fn names_and_strings() {
        for (name, implied) in NAMES {
            let (isa, set) = Extensions::read(&format!("rv32_{name}")).expect(name);
            assert!(implied.iter().all(|extension| set.has(*extension)), "{name}");
            assert_eq!(Extensions::read(&set.isa_string(isa)), Ok((isa, set)), "{name}");
        }
        let all = Extensions::ALL.union(Extensions::OPTIONS);
        for isa in [Isa::Rv32, Isa::Rv64] {
            assert_eq!(Extensions::read(&all.isa_string(isa)), Ok((isa, all)));
        }
    }

    /// Instructions that several extensions have, or that need two.
    #[test]
    fn shared_instructions() {
        for (isa, word, with, without) in [
            (Isa::Rv64, 0x6000_5033, "rv64i_zbkb", "rv64i_zba"), // ror
            (Isa::Rv64, 0x6000_5033, "rv64i_zbb", "rv64i_zbkx"),
            (Isa::Rv64, 0x0a00_1033, "rv64i_zbkc", "rv64i_zbkb"), // clmul
            (Isa::Rv64, 0x7e00_0033, "rv64i_zkne", "rv64i_zknh"), // aes64ks2
            (Isa::Rv64, 0x2800_002f, "rv64i_zabha_zacas", "rv64i_zabha"), // amocas.b
            (Isa::Rv64, 0xf210_0053, "rv64id_zfa", "rv64if_zfa"), // fli.d
            (Isa::Rv64, 0x9c41, "rv64im_zcb", "rv64i_zcb"),       // c.mul
            (Isa::Rv64, 0x9c69, "rv64i_zbb_zcb", "rv64i_zbkb_zcb"), // c.zext.h
            (Isa::Rv64, 0x2000, "rv64i_zcd", "rv64id_zca"),       // c.fld
            (Isa::Rv32, 0x6000, "rv32i_zcf", "rv32if_zca"),       // c.flw
            (Isa::Rv64, 0x6081, "rv64i_zcmop", "rv64ic"),         // c.mop.1
        ] {
            let (declared, inst) = lookup(isa, word).expect("decodes");
            for (text, expected) in [(with, true), (without, false)] {
                let (_, set) = Extensions::read(text).expect(text);
                assert_eq!(set.have(declared, &inst), expected, "{} {text}", declared.name);
            }
        }
    }
}
