//! The report of a verification.

use std::fmt::Write;

use serde::{Serialize, Serializer};

use super::lacks::{Lacks, NotCompared};
use super::needs::Needed;

/// A 64-bit value as text: numbers of JSON are not exact that far.
fn hex<S: Serializer>(value: &(impl Copy + Into<u64>), serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{:#x}", (*value).into()))
}

fn some_hex<S: Serializer>(value: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => hex(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// Kind of a mismatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Another instruction than memory holds.
    Instruction,
    /// A trap that the model does not take, or takes another way.
    Trap,
    /// Control goes elsewhere.
    Pc,
    /// Another privilege.
    Privilege,
    /// Both wrote it, with different values.
    Value,
    /// The model wrote it, the trace did not.
    Missing,
    /// The trace wrote it, the model did not.
    Spurious,
    /// Another address or other data in memory.
    Memory,
    /// Bits of a control register that the model does not have.
    CsrMask,
}

impl Class {
    /// The name of the class.
    pub const fn as_str(self) -> &'static str {
        match self {
            Class::Instruction => "instruction",
            Class::Trap => "trap",
            Class::Pc => "wrong pc",
            Class::Privilege => "privilege",
            Class::Value => "wrong value",
            Class::Missing => "missing",
            Class::Spurious => "spurious",
            Class::Memory => "memory",
            Class::CsrMask => "CSR mask",
        }
    }
}

/// One element of state that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Element {
    /// Its name: `a0`, `mstatus`, `pc`, `address` …
    pub name: String,
    /// Kind of a mismatch.
    pub class: Class,
    /// The model's value, if it has one.
    #[serde(serialize_with = "some_hex")]
    pub expected: Option<u64>,
    /// The trace's value, if it has one.
    #[serde(serialize_with = "some_hex")]
    pub actual: Option<u64>,
}

impl Element {
    /// Bits that differ.
    pub fn differing(&self) -> u64 {
        self.expected.unwrap_or(0) ^ self.actual.unwrap_or(0)
    }
}

/// An instruction of the past.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PastInstruction {
    /// Number of the instruction.
    pub instruction: u64,
    /// Number of its group.
    pub group: u64,
    /// Virtual address.
    #[serde(serialize_with = "hex")]
    pub pc: u64,
    /// Encoding, zero-extended.
    #[serde(serialize_with = "hex")]
    pub encoding: u32,
    /// Disassembly.
    pub text: String,
    /// For a writer: the register it wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub register: Option<String>,
}

/// A mismatch that follows from a root cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FollowUp {
    /// Number of the group.
    pub group: u64,
    /// Byte offset of the group.
    pub offset: u64,
    /// Number of the instruction.
    pub instruction: u64,
    /// The element through which it follows, which the root cause or an earlier follow-up left in doubt.
    pub through: String,
    /// Names of the elements that differ.
    pub elements: Vec<String>,
}

/// A root cause, and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// The gravest class of its elements.
    pub class: Class,
    /// Number of the group.
    pub group: u64,
    /// Byte offset of the group.
    pub offset: u64,
    /// Number of the instruction.
    pub instruction: u64,
    /// Address of the instruction.
    #[serde(serialize_with = "hex")]
    pub pc: u64,
    /// Encoding; 0 where there is none (an interrupt).
    #[serde(serialize_with = "hex")]
    pub encoding: u32,
    /// Disassembly, or what happened instead of an instruction.
    pub text: String,
    /// Privilege before it.
    pub privilege: &'static str,
    /// The elements that differ.
    pub elements: Vec<Element>,
    /// Instructions before it, oldest first.
    pub history: Vec<PastInstruction>,
    /// Who wrote its source registers last.
    pub writers: Vec<PastInstruction>,
    /// Mismatches folded into it, because their sources are.
    pub folded: u64,
    /// Group of the last of these.
    pub last_folded: Option<u64>,
    /// All of them, where asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub follow_ups: Vec<FollowUp>,
}

impl Mismatch {
    fn follow_ups_text(&self) -> String {
        let mut out = String::new();
        if let Some(last) = self.last_folded {
            let _ = writeln!(out, "      {} follow-ups, the last at group {last}", self.folded);
        }
        for one in &self.follow_ups {
            let (place, elements) = ((one.instruction, one.offset), one.elements.join(", "));
            let _ = writeln!(
                out,
                "        instruction {} (offset {:#x}): {elements}, through {}",
                place.0, place.1, one.through
            );
        }
        out
    }
}

/// The verdict on a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything was compared and agrees.
    Verified,
    /// Something differs, or nothing could be compared at all.
    Differs,
    /// Nothing differs, and something could not be compared.
    Incomplete,
}

/// The result of verifying a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Instructions verified.
    pub instructions: u64,
    /// Interrupts taken because the trace says so.
    pub interrupts: u64,
    /// Exceptions taken.
    pub exceptions: u64,
    /// Facts of the trace that were compared.
    pub checked: u64,
    /// Instructions whose results were taken from the trace, because their sources are not known.
    pub adopted: u64,
    /// Calls to a system that is not in the trace; their results come from outside.
    pub calls: u64,
    /// Gaps in the trace.
    pub gaps: u64,
    /// Bytes of the trace that were skipped in them.
    pub skipped: u64,
    /// Mismatches that are root causes.
    pub mismatches: Vec<Mismatch>,
    /// It stopped after enough of them.
    pub stopped: bool,
    /// Facts that were not compared.
    #[serde(skip)]
    pub lacks: Lacks,
    /// Something that the trace needs and the model does not have: verification ended there.
    #[serde(skip)]
    pub needed: Option<Needed>,
    /// Gaps that the trace may have.
    #[serde(skip)]
    pub allowed_gaps: u64,
}

impl Report {
    /// Everything was compared, but for the gaps allowed, and nothing differs.
    pub fn passed(&self) -> bool {
        self.verdict() == Verdict::Verified
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        if !self.mismatches.is_empty() || self.checked == 0 {
            Verdict::Differs
        } else if self.needed.is_some() || self.lacks.beyond(self.allowed_gaps).next().is_some() {
            Verdict::Incomplete
        } else {
            Verdict::Verified
        }
    }

    /// Reasons why it did not pass.
    pub fn reasons(&self) -> Vec<String> {
        let mismatches = self.mismatches.iter();
        let mut reasons: Vec<String> = mismatches
            .map(|mismatch| format!("{} at instruction {}", mismatch.class.as_str(), mismatch.instruction))
            .collect();
        if self.checked == 0 {
            reasons.push("nothing was compared".to_string());
        }
        reasons.extend(self.needed.iter().map(Needed::to_string));
        reasons.extend(self.lacks.beyond(self.allowed_gaps).map(lacking));
        reasons
    }

    /// As text, for people.
    pub fn text(&self) -> String {
        let mismatches = (0..self.mismatches.len()).map(|n| self.mismatch_text(n));
        mismatches.chain([self.verdict_text()]).collect()
    }

    /// One of the mismatches as text, for people.
    pub fn mismatch_text(&self, n: usize) -> String {
        let mut out = String::new();
        let Some(mismatch) = self.mismatches.get(n) else { return out };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "mismatch {}: {} at group {} (offset {:#x}), instruction {}, {}-mode",
            n + 1,
            mismatch.class.as_str(),
            mismatch.group,
            mismatch.offset,
            mismatch.instruction,
            mismatch.privilege,
        );
        for past in &mismatch.history {
            let _ = writeln!(
                out,
                "    {:>8}  {:016x}  {:08x}  {}",
                past.instruction, past.pc, past.encoding, past.text
            );
        }
        let _ = writeln!(
            out,
            "  > {:>8}  {:016x}  {:08x}  {}",
            mismatch.instruction, mismatch.pc, mismatch.encoding, mismatch.text
        );
        for element in &mismatch.elements {
            let show = |value: Option<u64>| value.map_or("-".to_string(), |value| format!("{value:#x}"));
            let _ = writeln!(
                out,
                "      {:<12} {:<11} expected {:<18} actual {:<18} differing {:#x}",
                element.name,
                element.class.as_str(),
                show(element.expected),
                show(element.actual),
                element.differing()
            );
        }
        for past in &mismatch.writers {
            let register = past.register.as_deref().unwrap_or("");
            let _ = writeln!(
                out,
                "      {register} was last written by instruction {} at {:#x}: {}",
                past.instruction, past.pc, past.text
            );
        }
        out + &mismatch.follow_ups_text()
    }

    /// The follow-ups of mismatches that were shown when they were found, as text.
    pub fn follow_ups_text(&self) -> String {
        let with_some = self.mismatches.iter().enumerate().filter(|(_, mismatch)| mismatch.folded > 0);
        with_some
            .map(|(n, mismatch)| format!("mismatch {}:\n{}", n + 1, mismatch.follow_ups_text()))
            .collect()
    }

    /// All but the mismatches, as text.
    pub fn verdict_text(&self) -> String {
        let mut out = String::new();
        for lack in self.lacks.iter() {
            let _ = writeln!(out, "not compared: {}", lacking(lack));
        }
        if let Some(needed) = &self.needed {
            let _ = writeln!(out, "verification ended: {needed}");
        }
        let _ = writeln!(
            out,
            "{}: {} instructions, {} exceptions, {} interrupts, {} facts checked, {} adopted, {} gaps, {} mismatches{}",
            if self.passed() { "verified" } else { "NOT verified" },
            self.instructions,
            self.exceptions,
            self.interrupts,
            self.checked,
            self.adopted,
            self.gaps,
            self.mismatches.len(),
            if self.stopped { " (stopped)" } else { "" },
        );
        if self.checked == 0 {
            out.push_str("nothing was verified: the trace records nothing that the model can compare\n");
        }
        out
    }

    /// As JUnit XML: one test case for the trace, or one for each root cause.
    pub fn junit(&self, name: &str) -> String {
        let failures = self.mismatches.len().max(usize::from(!self.passed()));
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let name = escape(name);
        let tests = self.mismatches.len().max(1);
        let _ = writeln!(out, "<testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\">");
        for mismatch in &self.mismatches {
            let elements: Vec<&str> = mismatch.elements.iter().map(|element| &*element.name).collect();
            let _ = writeln!(
                out,
                "  <testcase classname=\"{name}\" name=\"group {}\"><failure type=\"{}\" message=\"{}\">{}</failure></testcase>",
                mismatch.group,
                mismatch.class.as_str(),
                escape(&format!("{} at {:#x}: {}", mismatch.text, mismatch.pc, elements.join(", "))),
                escape(&Report { mismatches: vec![mismatch.clone()], ..self.clone() }.text()),
            );
        }
        if self.mismatches.is_empty() {
            let kind = if self.checked == 0 { "nothing" } else { "incomplete" };
            let reasons = escape(&self.reasons().join("; "));
            let failure = format!("<failure type=\"{kind}\" message=\"{reasons}\"/>");
            let failure = if self.passed() { "/>" } else { &format!(">{failure}</testcase>") };
            let _ = writeln!(out, "  <testcase classname=\"{name}\" name=\"trace\"{failure}");
        }
        out.push_str("</testsuite>\n");
        out
    }
}

/// How much was not compared, why, and where first.
fn lacking(lack: &NotCompared) -> String {
    let NotCompared { lack, count, first, .. } = lack;
    let at = first.first().map_or(String::new(), |first| {
        format!(", first at offset {:#x}, instruction {}", first.offset, first.instruction)
    });
    format!("{count} {}: {}{at}", lack.as_str(), lack.why())
}

pub(crate) fn escape(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push('?'),
            c => out.push(c),
        }
        out
    })
}
