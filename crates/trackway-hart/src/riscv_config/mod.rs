//! Descriptions of cores in YAML, as riscv-config defines them and RISCOF uses them.
//!
//! Of a hart: `ISA`, `supported_xlen`, `pmp_granularity`, `hw_data_misaligned_support`, and for every control register
//! `reset-val`, whether it is `accessible` in the width, and the `type` of the register or of its fields:
//! `ro_constant`, `warl` with `legal` and `wr_illegal`, or a field that is not `implemented`. Values that depend on other
//! fields, and those that hardware changes (`ro_variable`, `wlrl`), is as the model has it; the first kind is listed.

mod fields;
mod yaml;

use std::collections::BTreeMap;

use trackway_isa::riscv::csr_number;

use crate::config::{Config, Misaligned};
use crate::csr;
use crate::extensions::Extensions;
use crate::rules::{CsrField, CsrRule, Kept};
use yaml::{Node, number};

/// A core from a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedCore {
    /// Its configuration. Rules live as long as the program: a core is described once.
    pub config: Config,
    /// Parts of the description that are not followed, with their lines.
    pub left_out: Vec<String>,
}

/// Keys of a hart that are not control registers and change nothing in the model.
const OTHER: [&str; 8] = [
    "custom_exceptions",
    "custom_interrupts",
    "User_Spec_Version",
    "Privilege_Spec_Version",
    "physical_addr_sz",
    "physical_addr_size",
    "pmp_granularity",
    "supported_xlen",
];

impl DescribedCore {
    /// Reads the ISA part of a description: the first hart of its `hart_ids`.
    ///
    /// ```
    /// use trackway_hart::{DescribedCore, Hart, csr};
    /// let text = "
    /// hart_ids: [0]
    /// hart0:
    ///   ISA: RV64IMACSUZicsr_Zifencei
    ///   mtvec:
    ///     reset-val: 0x100
    ///     rv64:
    ///       accessible: true
    ///       mode: { implemented: true, type: { ro_constant: 0 } }
    /// ";
    /// let mut core = Hart::new(DescribedCore::read(text)?.config);
    /// assert!(core.write_csr(csr::MTVEC, 0x8000_0001));
    /// assert_eq!(core.read_csr(csr::MTVEC), Some(0x8000_0000));
    /// # Ok::<(), String>(())
    /// ```
    pub fn read(text: &str) -> Result<Self, String> {
        let file = yaml::read(text)?;
        let hart = match file.get("hart_ids").and_then(|ids| ids.items().first()) {
            Some(id) => {
                let name = format!("hart{}", id.number()?);
                file.get(&name).ok_or_else(|| format!("{name} is not described"))?
            }
            None => &file,
        };
        let isa = hart.get("ISA").and_then(Node::text).ok_or("the hart has no ISA")?;
        let mut reading = Reading::new(isa)?;
        if let Some(grain) = hart.get("pmp_granularity") {
            reading.config.pmp_grain = grain.number()?.min(54) as u8;
        }
        if let Some(misaligned) = hart.get("hw_data_misaligned_support") {
            let is_done = misaligned.truth()?;
            reading.config.misaligned = if is_done { Misaligned::Hardware } else { Misaligned::Trap };
        }
        for (name, node) in hart.entries().iter().filter(|(name, _)| !OTHER.contains(&name.as_str())) {
            if matches!(name.as_str(), "ISA" | "hw_data_misaligned_support") {
                continue;
            }
            reading.register(name, node).map_err(|text| format!("{name}: {text}"))?;
        }
        Ok(reading.finish())
    }
}

/// A description while it is read.
struct Reading {
    config: Config,
    rules: BTreeMap<u16, CsrRule>,
    left_out: Vec<String>,
}

impl Reading {
    fn new(text: &str) -> Result<Self, String> {
        let (isa, extensions) = Extensions::read(text).map_err(|error| format!("ISA: {error}"))?;
        let letters = text.to_ascii_lowercase();
        let letters = letters.trim_start_matches("rv").trim_start_matches(char::is_numeric);
        let letters = &letters[..letters.find(['z', 'x', '_']).unwrap_or(letters.len())];
        let (supervisor, user) = (letters.contains('s'), letters.contains('u'));
        let config = Config { extensions, supervisor, user, ..Config::new(isa) };
        Ok(Reading { config, rules: BTreeMap::new(), left_out: Vec::new() })
    }

    fn finish(self) -> DescribedCore {
        let rules: Vec<(u16, CsrRule)> = self.rules.into_iter().collect();
        let config = Config { rules: rules.leak(), ..self.config };
        DescribedCore { config, left_out: self.left_out }
    }

    fn register(&mut self, name: &str, node: &Node) -> Result<(), String> {
        let lower = name.to_ascii_lowercase();
        let address = node.get("address").map(Node::number).transpose()?;
        let found = csr_number(&lower).or(address.and_then(|address| u16::try_from(address).ok()));
        let Some(number) = found.filter(|number| *number < 0x1000) else {
            self.left_out.push(format!("line {}: {name} is not a register that the model knows", node.line));
            return Ok(());
        };
        let is_own = csr_number(&lower).is_some();
        let xlen = self.config.xlen();
        let width = node.get(if xlen == 32 { "rv32" } else { "rv64" });
        let mut rule = CsrRule::NONE;
        rule.reset = node.get("reset-val").map(Node::number).transpose()?;
        let accessible = width.and_then(|width| width.get("accessible")).map(Node::truth).transpose()?;
        match accessible {
            Some(false) => rule.exists = Some(false),
            Some(true) if !is_own => rule.exists = Some(true),
            _ => {}
        }
        let mut kept = Vec::new();
        if let Some(width) = width.filter(|_| accessible != Some(false)) {
            if let Some(node) = width.get("type") {
                kept.extend(self.kept(name, (xlen as u8 - 1, 0), node)?);
            }
            for (field, node) in width.entries() {
                if matches!(
                    field.as_str(),
                    "accessible" | "type" | "fields" | "shadow" | "shadow_type" | "msb" | "lsb"
                ) {
                    continue;
                }
                let bit = |key: &str| node.get(key).map(Node::number).transpose();
                let place = match (bit("msb")?, bit("lsb")?) {
                    (Some(msb), Some(lsb)) => Some((msb.min(63) as u8, lsb.min(63) as u8)),
                    _ => fields::place(&lower, &field.to_ascii_lowercase(), xlen),
                };
                let Some(place) = place.filter(|(msb, lsb)| msb >= lsb && u32::from(*msb) < xlen) else {
                    self.left_out.push(format!("line {}: where is {name}.{field}?", node.line));
                    continue;
                };
                let implemented = node.get("implemented").map(Node::truth).transpose()?;
                if implemented == Some(false) {
                    kept.push(CsrField { msb: place.0, lsb: place.1, kept: Kept::Fixed(0) });
                } else if let Some(kind) = node.get("type") {
                    kept.extend(self.kept(field, place, kind)?);
                }
            }
        }
        if number == csr::MISA {
            // The model's extensions do not change while it runs.
            rule.read_only = rule.reset;
            kept.clear();
        }
        match kept[..] {
            [CsrField { msb, lsb: 0, kept: Kept::Fixed(value) }] if u32::from(msb) == xlen - 1 => {
                rule.read_only = Some(value);
            }
            _ => rule.fields = kept.leak(),
        }
        self.rules.insert(number, rule);
        Ok(())
    }

    /// The value that a write leaves in a field of this type.
    fn kept(&mut self, name: &str, (msb, lsb): (u8, u8), node: &Node) -> Result<Option<CsrField>, String> {
        let field = |kept: Kept| Some(CsrField { msb, lsb, kept });
        if let Some(constant) = node.get("ro_constant") {
            return Ok(field(Kept::Fixed(constant.number()?)));
        }
        let Some(warl) = node.get("warl") else { return Ok(None) };
        let legal = warl.get("legal").map_or(&[][..], Node::items);
        let otherwise = warl.get("wr_illegal").and_then(|node| node.items().first());
        let otherwise = match otherwise.and_then(Node::text) {
            None => None,
            Some(text) if text.trim().eq_ignore_ascii_case("unchanged") => None,
            Some(text) => Some(number(text)),
        };
        let text = match legal {
            [only] if otherwise != Some(None) => only.text().unwrap_or(""),
            _ => "->",
        };
        match read_legal(text, otherwise.flatten()) {
            Some(kept) => Ok(field(kept)),
            None => {
                self.left_out
                    .push(format!("line {}: legal values of {name}: as the model has them", warl.line));
                Ok(None)
            }
        }
    }
}

/// `NAME[msb:lsb] in [first:last, value, …]`, `… not in […]` or `… bitmask [mask, fixed]`, and nothing after it.
fn read_legal(text: &str, otherwise: Option<u64>) -> Option<Kept> {
    if text.contains("->") {
        return None;
    }
    let (place, rest) = text.split_once(']')?;
    // The clause is about the whole field: its lowest bit is 0.
    let bits = place.split_once('[')?.1;
    if bits.rsplit(':').next()?.trim() != "0" {
        return None;
    }
    let (word, rest) = rest.split_once('[')?;
    let (values, after) = rest.split_once(']')?;
    if !after.trim().is_empty() {
        return None;
    }
    let values = values.split(',').map(|value| match value.split_once(':') {
        Some((first, last)) => Some((number(first)?, number(last)?)),
        None => number(value).map(|value| (value, value)),
    });
    let values: Vec<(u64, u64)> = values.collect::<Option<_>>()?;
    match (word.trim(), &values[..]) {
        ("in", _) => Some(Kept::Among { ranges: values.leak(), is_listed: true, otherwise }),
        ("not in", _) => Some(Kept::Among { ranges: values.leak(), is_listed: false, otherwise }),
        ("bitmask", [(mask, _), (fixed, _)]) => Some(Kept::Masked { mask: *mask, fixed: *fixed }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use trackway_core::Isa;

    use super::*;
    use crate::hart::Hart;

    const CORE: &str = include_str!("../../tests/riscv_config/core.yaml");

    #[test]
    fn registers_are_as_described() {
        let core = DescribedCore::read(CORE).unwrap();
        assert_eq!((core.config.isa, core.config.supervisor, core.config.user), (Isa::Rv64, true, true));
        assert_eq!(core.config.misaligned, Misaligned::Trap);
        let mut hart = Hart::new(core.config);
        assert_eq!(hart.read_csr(csr::MISA), Some(0x8000_0000_0014_112d));
        assert_eq!(hart.read_csr(csr::MARCHID), Some(5), "ro_constant");
        assert_eq!(hart.read_csr(csr::MTVEC), Some(0x100), "reset-val");
        hart.write_csr(csr::MTVEC, 0x8000_1237);
        assert_eq!(hart.read_csr(csr::MTVEC), Some(0x8000_1200), "bitmask of the base, mode 3 is not legal");
        hart.write_csr(csr::MTVEC, 0x8000_1201);
        assert_eq!(hart.read_csr(csr::MTVEC), Some(0x8000_1201));
        hart.write_csr(csr::MEDELEG, u64::MAX);
        assert_eq!(hart.read_csr(csr::MEDELEG), Some(0xb1fe));
        hart.write_csr(csr::MSTATUS, 3 << 11 | 1 << 17);
        assert_eq!(hart.read_csr(csr::MSTATUS).map(|value| value >> 11 & 3), Some(3));
        hart.write_csr(csr::MSTATUS, 1 << 11);
        assert_eq!(hart.read_csr(csr::MSTATUS).map(|value| value >> 11 & 3), Some(3), "S is not in the list");
        assert_eq!(hart.read_csr(csr::MSTATUS).map(|value| value >> 17 & 1), Some(0), "not implemented");
        assert_eq!(hart.read_csr(csr::SCOUNTEREN), None, "not accessible");
        assert!(hart.write_csr(0x7c0, 0xff));
        assert_eq!(hart.read_csr(0x7c0), Some(0x0f), "a register of its own");
        assert_eq!(core.left_out.len(), 2, "{:?}", core.left_out);
        assert!(core.left_out[0].starts_with("line "), "{:?}", core.left_out);
    }

    #[test]
    fn bad_descriptions_have_a_line() {
        for (text, expected) in [
            ("", "nothing in it"),
            ("hart_ids: [0]\n", "hart0 is not described"),
            ("ISA: RV64GV\n", "\"v\" is not one of"),
            ("ISA: RV32I\nmtvec:\n  reset-val: many\n", "line 3: \"many\" is not a number"),
            ("ISA: RV32I\nmtvec: &a {}\nstvec: *a\n", "aliases are not read"),
            ("ISA: RV32I\nISA: RV64I\n", "ISA is there already"),
            ("ISA: [RV32I\n", "line "),
        ] {
            let error = DescribedCore::read(text).unwrap_err();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
        let deep = format!("ISA: RV32I\nmtvec: {}", "[".repeat(10_000));
        assert!(DescribedCore::read(&deep).is_err());
    }
}
