//! Facts that could not be compared.

use serde::Serialize;

/// Why something was not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lack {
    /// Bytes of the trace that cannot be read.
    Unreadable,
    /// The trace leaves instructions out.
    Gap,
    /// Results of instructions whose sources are not known.
    Sources,
    /// Instructions in memory whose content is unknown.
    Code,
    /// Loads from such memory.
    Memory,
    /// A privilege level that the model does not have.
    Privilege,
}

impl Lack {
    /// The facts that were not compared.
    pub const fn as_str(self) -> &'static str {
        match self {
            Lack::Unreadable => "unreadable parts",
            Lack::Gap => "gaps",
            Lack::Sources => "adopted results",
            Lack::Code => "instructions",
            Lack::Memory => "loaded values",
            Lack::Privilege => "privilege levels",
        }
    }

    /// The reason, for people.
    pub const fn why(self) -> &'static str {
        match self {
            Lack::Unreadable => "the trace cannot be read there",
            Lack::Gap => "the trace leaves instructions out",
            Lack::Sources => "the sources of these instructions are not known",
            Lack::Code => "neither the program nor the trace says what memory holds there (--elf)",
            Lack::Memory => {
                "the content of memory is unknown there (--elf, --image, [verify] memory = \"zero\")"
            }
            Lack::Privilege => "the model does not have the level",
        }
    }
}

/// Where something could not be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Byte offset in the trace.
    pub offset: u64,
    /// Number of the instruction there, or of the next one.
    pub instruction: u64,
}

/// All facts that were not compared for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotCompared {
    /// The reason.
    pub lack: Lack,
    /// How many.
    pub count: u64,
    /// Those of them that follow from a gap: nothing is known after one.
    pub after_gaps: u64,
    /// The first of them.
    pub first: Vec<Place>,
}

/// Places that are kept, not only counted.
const KEPT: usize = 16;

/// Facts that were not compared, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lacks(Vec<NotCompared>);

impl Lacks {
    /// Counts one more.
    pub(super) fn add(&mut self, lack: Lack, place: Place, after_gap: bool) {
        let n = self.0.iter().position(|known| known.lack == lack).unwrap_or_else(|| {
            self.0.push(NotCompared { lack, count: 0, after_gaps: 0, first: Vec::new() });
            self.0.len() - 1
        });
        let known = &mut self.0[n];
        known.count += 1;
        known.after_gaps += u64::from(after_gap);
        if known.first.len() < KEPT {
            known.first.push(place);
        }
    }

    /// Each reason, in the order of their first places.
    pub fn iter(&self) -> impl Iterator<Item = &NotCompared> {
        self.0.iter()
    }

    /// How often for this reason?
    pub fn count(&self, lack: Lack) -> u64 {
        self.0.iter().find(|known| known.lack == lack).map_or(0, |known| known.count)
    }

    /// Reasons that an allowance of that many gaps does not excuse.
    pub fn beyond(&self, allowed: u64) -> impl Iterator<Item = &NotCompared> {
        let gaps = self.count(Lack::Gap) + self.count(Lack::Unreadable);
        self.0.iter().filter(move |known| match known.lack {
            Lack::Gap | Lack::Unreadable => gaps > allowed,
            _ => gaps > allowed || known.count > known.after_gaps,
        })
    }
}
