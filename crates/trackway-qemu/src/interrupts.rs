//! QEMU's log of exceptions and interrupts (`-d int`), which has the causes that the plugin API does not.
//!
//! Entries are matched with the breaks in the flow, in order. QEMU writes each before the first instruction of its
//! handler, so that the entry for a break is in the file when the break is seen.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use trackway_core::Privilege;

/// Entries that may be passed over until one matches: traps that were not seen in the flow.
const PASSED: usize = 64;

/// Entries of a CPU that are read ahead; the log is read again where fewer wait.
const AHEAD: usize = 1 << 10;

/// Entries that wait at most; the oldest is forgotten.
const MOST: usize = 1 << 16;

/// An exception, an interrupt, or a return from one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) cpu: u32,
    pub(crate) returns: bool,
    pub(crate) asynchronous: bool,
    /// RISC-V.
    pub(crate) cause: Option<u64>,
    /// Arm.
    pub(crate) class: Option<u8>,
    /// tval, or FAR.
    pub(crate) value: Option<u64>,
    /// epc, or ELR.
    pub(crate) from: Option<u64>,
    pub(crate) to: Option<u64>,
    /// The level after it.
    pub(crate) level: Option<Privilege>,
}

/// The log as far as it was read.
#[derive(Debug)]
pub(crate) struct Interrupts {
    path: PathBuf,
    file: Option<BufReader<File>>,
    line: String,
    /// An entry of several lines that is not complete.
    open: Option<Entry>,
    /// Traps by CPU, and returns, which the log has without one.
    traps: BTreeMap<u32, VecDeque<Entry>>,
    returns: VecDeque<Entry>,
    /// Breaks in the flow since one had an entry.
    missed: usize,
    /// RISC-V: first instructions of handlers so far.
    handlers: HashSet<u64>,
}

/// A number in hex after a word.
fn hex(line: &str, before: &str) -> Option<u64> {
    let rest = line.split(before).nth(1)?;
    let rest = rest.strip_prefix("0x").unwrap_or(rest);
    let digits = rest.find(|letter: char| !letter.is_ascii_hexdigit()).map_or(rest, |end| &rest[..end]);
    u64::from_str_radix(digits, 16).ok()
}

fn level(text: &str) -> Option<Privilege> {
    match text.split("EL").nth(1)?.as_bytes().first()? {
        b'0' => Some(Privilege::El0),
        b'1' => Some(Privilege::El1),
        b'2' => Some(Privilege::El2),
        b'3' => Some(Privilege::El3),
        _ => None,
    }
}

impl Interrupts {
    pub(crate) fn new(path: PathBuf) -> Self {
        let (line, handlers) = (String::new(), HashSet::new());
        let (traps, returns) = (BTreeMap::new(), VecDeque::new());
        Interrupts { path, file: None, line, open: None, traps, returns, missed: 0, handlers }
    }

    /// Reads what was added, if few traps of the CPU wait. Entries of an instruction are there when its frame was received.
    pub(crate) fn read(&mut self, cpu: u32) {
        let waiting = |log: &Self| log.traps.get(&cpu).map_or(0, VecDeque::len);
        if waiting(self) >= AHEAD {
            return;
        }
        if self.file.is_none() {
            self.file = File::open(&self.path).ok().map(BufReader::new);
        }
        let Some(mut file) = self.file.take() else { return };
        // A line that is not complete is kept until the rest is there.
        while waiting(self) < 2 * AHEAD
            && file.read_line(&mut self.line).is_ok_and(|n| n > 0)
            && self.line.ends_with('\n')
        {
            let line = std::mem::take(&mut self.line);
            self.take(line.trim_end());
        }
        self.file = Some(file);
    }

    fn push(&mut self, entry: Entry) {
        let list = if entry.returns { &mut self.returns } else { self.traps.entry(entry.cpu).or_default() };
        if list.len() == MOST {
            list.pop_front();
        }
        list.push_back(entry);
    }

    fn take(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("riscv_cpu_do_interrupt: hart:") {
            let cpu = rest.split(',').next().and_then(|text| text.parse().ok()).unwrap_or(0);
            let asynchronous = rest.contains("async:1");
            let (cause, from, value) = (hex(rest, "cause:"), hex(rest, "epc:"), hex(rest, "tval:"));
            self.push(Entry { cpu, asynchronous, cause, from, value, ..Entry::default() });
        } else if line.starts_with("Taking exception ") {
            let cpu = line.split("CPU ").nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
            let asynchronous = ["[IRQ]", "[FIQ]", "[Virtual IRQ]", "[Virtual FIQ]", "SERR"]
                .iter()
                .any(|name| line.contains(name));
            self.open = Some(Entry { cpu, asynchronous, ..Entry::default() });
        } else if let Some(rest) = line.strip_prefix("...") {
            let Some(entry) = &mut self.open else { return };
            if rest.starts_with("with ESR") && !entry.asynchronous {
                entry.class = hex(rest, "ESR ").map(|class| class as u8);
            } else if rest.starts_with("with ELR") {
                entry.from = hex(rest, "ELR ");
            } else if rest.starts_with("with FAR") {
                entry.value = hex(rest, "FAR ");
            } else if rest.starts_with("to EL") || rest.starts_with("to AArch") {
                (entry.to, entry.level) = (hex(rest, "PC "), level(rest));
                if let Some(entry) = self.open.take() {
                    self.push(entry);
                }
            } else if rest.starts_with("handled as") {
                self.open = None;
            }
        } else if line.starts_with("Exception return from") {
            let after = line.split(" to ").nth(1).unwrap_or_default();
            let (to, level) = (hex(line, "PC "), level(after));
            self.push(Entry { returns: true, to, level, ..Entry::default() });
        }
    }

    /// The trap that broke the flow after an instruction at `pc`, which ends at `end` and leads to `leads`.
    pub(crate) fn trap(
        &mut self,
        cpu: u32,
        pc: u64,
        end: u64,
        leads: Option<u64>,
        next: Option<u64>,
    ) -> Option<Entry> {
        self.read(cpu);
        let own = self.traps.get_mut(&cpu)?;
        let found = find(own, |entry| {
            let place =
                entry.from == Some(pc) || entry.from == Some(end) || leads.is_some() && entry.from == leads;
            place && (entry.to.is_none() || next.is_none() || entry.to == next)
        });
        self.missed = if found.is_some() { 0 } else { self.missed + 1 };
        if self.missed > PASSED {
            // Those at the front belong to nothing that will come.
            own.drain(..own.len().min(PASSED));
            self.missed = 0;
        }
        let entry = found?;
        if entry.to.is_none() && self.handlers.len() < PASSED {
            self.handlers.extend(next);
        }
        Some(entry)
    }

    /// The trap that came right after an indirect jump, if the next instruction is that of a handler.
    pub(crate) fn after_jump(&mut self, cpu: u32, next: u64) -> Option<Entry> {
        let meant = self.head(cpu, next)?;
        // The jump may lead to the handler itself: only a program that calls its own handler does that.
        let own = self.traps.get_mut(&cpu).filter(|_| meant.from != Some(next))?;
        own.pop_front()
    }

    /// The next trap, if this is the first instruction of its handler.
    fn head(&self, cpu: u32, next: u64) -> Option<Entry> {
        let head = self.traps.get(&cpu)?.front()?;
        let handler = head.to.map_or_else(|| self.handlers.contains(&next), |to| to == next);
        handler.then_some(*head)
    }

    /// [`after_jump`](Self::after_jump) may find a trap.
    pub(crate) fn may_lead_to(&self, cpu: u32, next: u64) -> bool {
        self.head(cpu, next).is_some()
    }

    /// A return to `next`.
    pub(crate) fn returned(&mut self, cpu: u32, next: Option<u64>) -> Option<Entry> {
        self.read(cpu);
        find(&mut self.returns, |entry| entry.to == next)
    }
}

/// Takes the next entry that `matches`; those before it are passed over.
fn find(entries: &mut VecDeque<Entry>, matches: impl Fn(&Entry) -> bool) -> Option<Entry> {
    let at = entries.iter().take(PASSED).position(matches)?;
    entries.drain(..=at).next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_architectures() {
        let mut log = Interrupts::new("/nowhere".into());
        for line in [
            "riscv_cpu_do_interrupt: hart:1, async:0, cause:0000000000000008, epc:0x0000000080000060, tval:0x0000000000000000, desc=user_ecall",
            "riscv_cpu_do_interrupt: hart:1, async:1, cause:0000000000000007, epc:0x0000000080000070, tval:0x0000000000000000, desc=m_timer",
            "Taking exception 2 [SVC] on CPU 0",
            "...from EL0 to EL1",
            "...with ESR 0x15/0x56000000",
            "...with ELR 0x40080034",
            "...to EL1 PC 0x40080c00 PSTATE 0x3c5",
            "Exception return from AArch64 EL1 to AArch64 EL0 PC 0x40080034",
            "Taking exception 11 [Hypervisor Call] on CPU 0",
            "...handled as PSCI call",
        ] {
            log.take(line);
        }
        assert_eq!((log.traps[&1].len(), log.traps[&0].len(), log.returns.len()), (2, 1, 1));
        let ecall = log.trap(1, 0x8000_0060, 0x8000_0064, None, Some(0x8000_0100)).unwrap();
        assert_eq!((ecall.cause, ecall.asynchronous), (Some(8), false));
        // The handler is known from here on.
        let timer = log.after_jump(1, 0x8000_0100).unwrap();
        assert_eq!((timer.cause, timer.from), (Some(7), Some(0x8000_0070)));
        let svc = log.trap(0, 0x4008_0030, 0x4008_0034, None, Some(0x4008_0c00)).unwrap();
        assert_eq!((svc.class, svc.level), (Some(0x15), Some(Privilege::El1)));
        assert_eq!(log.returned(0, Some(0x4008_0034)).unwrap().level, Some(Privilege::El0));
        assert_eq!(log.returned(0, None), None);
    }
    fn entry(hart: u32, epc: u64) -> String {
        format!(
            "riscv_cpu_do_interrupt: hart:{hart}, async:0, cause:0000000000000002, epc:{epc:#018x}, tval:0x0000000000000000, desc=illegal_instruction"
        )
    }

    /// The frames of CPUs come in another order than their traps.
    #[test]
    fn traps_of_another_cpu_are_kept() {
        let mut log = Interrupts::new(PathBuf::new());
        [entry(0, 0x1000), entry(1, 0x2000)].iter().for_each(|line| log.take(line));
        assert!(log.trap(1, 0x2000, 0x2004, None, Some(0x100)).is_some());
        assert!(log.trap(0, 0x1000, 0x1004, None, Some(0x100)).is_some());
    }

    /// Entries that belong to nothing do not hide those after them for ever.
    #[test]
    fn entries_that_fit_nowhere_are_left_in_the_end() {
        let mut log = Interrupts::new(PathBuf::new());
        (0..PASSED as u64).for_each(|n| log.take(&entry(0, 0x9000 + 4 * n)));
        log.take(&entry(0, 0x1000));
        let found = (0..2 * PASSED).position(|_| log.trap(0, 0x1000, 0x1004, None, Some(0x100)).is_some());
        assert_eq!(found, Some(PASSED + 1));
    }
}
