//! Facts that STF has no record for, as comments that other tools pass over: `trackway: WORDS`.
//!
//! A remark belongs to the group that it is in. `docs/spec-readings/stf.md` lists all of them.

use serde::{Deserialize, Serialize};
use trackway_core::{Context, Isa};

use crate::config::ProcessId;
use crate::fields::{Layout, Text32};
use crate::record::Record;

/// How every remark begins.
const PREFIX: &[u8] = b"trackway: ";

/// A remark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remark<'a> {
    /// `gap reason=… from=… to=… instructions=… bytes=…`, the fields as in an event line.
    Gap(&'a str),
    /// `attempted`: the instruction did not retire, although no event says so, or is one and not a placeholder.
    Attempted,
    /// `placeholder`: the opcode record represents no instruction.
    Placeholder,
    /// `outcome unknown`: whether the branch was taken is not known.
    OutcomeUnknown,
    /// `values unknown`: the fields of the group's events are not known, and 0 on the wire.
    ValuesUnknown,
    /// `address unknown`: of the instruction, and of those after it until a record has one.
    AddressUnknown,
    /// `separate accesses`: a read and a write of one place are two accesses, not a read-modify-write.
    SeparateAccesses,
    /// `after the last instruction`: the records that follow belong to no instruction.
    Trailing,
    /// `mode unknown`, in the header: the privilege of the first instruction is not known.
    ModeUnknown,
    /// `flow only`, in the header: memory accesses and registers are not recorded.
    FlowOnly,
    /// `ids WORD WORD WORD`: the words of PROCESS_ID_EXT from here on; in the header, of all of them. A process or
    /// thread that is not among them is not known from here on.
    Ids(Ids),
    /// `mode NUMBER`: a change of mode before a gap, by the numbers of MODE_CHANGE.
    Mode(u64),
    /// `note TEXT`: a comment that would read as a remark.
    Note(&'a [u8]),
}

/// Remarks without fields.
const WORDS: [(Remark<'static>, &str); 9] = [
    (Remark::Attempted, "attempted"),
    (Remark::Placeholder, "placeholder"),
    (Remark::OutcomeUnknown, "outcome unknown"),
    (Remark::ValuesUnknown, "values unknown"),
    (Remark::AddressUnknown, "address unknown"),
    (Remark::SeparateAccesses, "separate accesses"),
    (Remark::Trailing, "after the last instruction"),
    (Remark::ModeUnknown, "mode unknown"),
    (Remark::FlowOnly, "flow only"),
];

impl<'a> Remark<'a> {
    /// The remark that a comment is, if it is one.
    pub(crate) fn read(comment: &'a [u8]) -> Option<Self> {
        let rest = comment.strip_prefix(PREFIX)?;
        if let Some(text) = rest.strip_prefix(b"note ") {
            return Some(Remark::Note(text));
        }
        let text = std::str::from_utf8(rest).ok()?;
        if let Some(word) = WORDS.iter().find(|word| word.1 == text) {
            return Some(word.0);
        }
        Some(match text.split_once(' ')? {
            ("gap", fields) => Remark::Gap(fields),
            ("ids", names) => Remark::Ids(Ids::read(names)?),
            ("mode", number) => Remark::Mode(number.parse().ok()?),
            _ => return None,
        })
    }

    /// Appends the remark as a COMMENT.
    pub(crate) fn write(&self, out: &mut Vec<u8>, layout: &Layout) {
        let mut text = PREFIX.to_vec();
        match self {
            Remark::Gap(fields) => text.extend_from_slice(format!("gap {fields}").as_bytes()),
            Remark::Ids(ids) => text.extend_from_slice(format!("ids {}", ids.names()).as_bytes()),
            Remark::Mode(number) => text.extend_from_slice(format!("mode {number}").as_bytes()),
            Remark::Note(note) => {
                text.extend_from_slice(b"note ");
                text.extend_from_slice(note);
            }
            word => {
                let words = WORDS.iter().find(|entry| entry.0 == *word);
                text.extend_from_slice(words.map_or("", |entry| entry.1).as_bytes());
            }
        }
        Record::Comment { text: Text32(&text) }.write(out, layout);
    }

    /// Would this comment read as a remark?
    pub(crate) fn is_ambiguous(comment: &[u8]) -> bool {
        comment.starts_with(PREFIX)
    }
}

/// The meaning of a word of PROCESS_ID_EXT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Id {
    HwThread,
    Pid,
    Tid,
    Asid,
}

const NAMES: [(Id, &str); 4] =
    [(Id::HwThread, "hw_thread"), (Id::Pid, "pid"), (Id::Tid, "tid"), (Id::Asid, "asid")];

/// The words of PROCESS_ID_EXT; `None` for a word that means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ids([Option<Id>; 3]);

impl From<ProcessId> for Ids {
    fn from(order: ProcessId) -> Self {
        Ids(match order {
            ProcessId::Library => [Id::HwThread, Id::Pid, Id::Tid],
            ProcessId::Spec => [Id::Pid, Id::Tid, Id::Asid],
        }
        .map(Some))
    }
}

impl Ids {
    fn read(names: &str) -> Option<Self> {
        let mut ids = [None; 3];
        let mut words = names.split(' ');
        for id in &mut ids {
            let word = words.next()?;
            *id = NAMES.iter().find(|name| name.1 == word).map(|name| name.0);
            if id.is_none() && word != "-" {
                return None;
            }
        }
        words.next().is_none().then_some(Ids(ids))
    }

    fn names(self) -> String {
        let name = |id| NAMES.iter().find(|name| Some(name.0) == id).map_or("-", |name| name.1);
        self.0.map(name).join(" ")
    }

    /// The ids of a record as a context.
    pub(crate) fn context(self, words: [u32; 3]) -> Context {
        let mut context = Context::default();
        for (id, word) in self.0.into_iter().zip(words) {
            let word = Some(u64::from(word));
            match id {
                Some(Id::HwThread) => context.hw_thread = word,
                Some(Id::Pid) => context.pid = word,
                Some(Id::Tid) => context.tid = word,
                Some(Id::Asid) => context.asid = word,
                None => {}
            }
        }
        context
    }

    /// The words of a context in this order, and the order without the words that the context does not know.
    pub(crate) fn words(self, context: &Context) -> ([Option<u64>; 3], Ids) {
        let value = |id| match id {
            Some(Id::HwThread) => context.hw_thread,
            Some(Id::Pid) => context.pid,
            Some(Id::Tid) => context.tid,
            Some(Id::Asid) => context.asid,
            None => None,
        };
        let words = self.0.map(value);
        let mut known = self;
        for (id, word) in known.0.iter_mut().zip(words) {
            *id = id.filter(|_| word.is_some());
        }
        (words, known)
    }

    /// The place of the hardware thread among the words.
    pub(crate) fn hw_thread(self) -> Option<usize> {
        self.0.iter().position(|id| *id == Some(Id::HwThread))
    }
}

/// A no-op of the instruction set: the opcode of a placeholder.
pub(crate) fn nop(isa: Isa) -> u32 {
    match isa {
        Isa::A64 => 0xd503_201f,
        Isa::A32 => 0xe320_f000,
        _ => 0x13,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_reads_back() {
        let ids = Ids::from(ProcessId::Library);
        for remark in [
            Remark::Gap("reason=overflow from=0x1004"),
            Remark::Attempted,
            Remark::Placeholder,
            Remark::OutcomeUnknown,
            Remark::ValuesUnknown,
            Remark::AddressUnknown,
            Remark::SeparateAccesses,
            Remark::Trailing,
            Remark::ModeUnknown,
            Remark::FlowOnly,
            Remark::Ids(ids),
            Remark::Mode(3),
            Remark::Ids(ids.words(&Context { pid: Some(1), ..Context::default() }).1),
            Remark::Note(b"trackway: attempted"),
        ] {
            let mut out = Vec::new();
            remark.write(&mut out, &Layout::default());
            assert_eq!(Remark::read(&out[5..]), Some(remark));
        }
        assert_eq!(Remark::read(b"trackway: something else"), None);
        assert_eq!(Remark::read(b"gap: 5 bytes"), None);
    }
}
