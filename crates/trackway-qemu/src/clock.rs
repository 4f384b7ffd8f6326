//! The time of a machine whose clock counts instructions (`-icount shift=N,sleep=off`).
//!
//! QEMU adds 2^N ns to its virtual clock for each instruction, but for those that fault after their block has begun: it
//! takes them back. Where every CPU waits the clock advances alone, to the next timer or with the computer's own time:
//! from the first such instruction on the time is not known, and without `sleep=off` it never is.

use trackway_core::{Isa, Time, TimeKind};

use crate::code::Code;
use crate::interrupts::Entry;
use crate::thread::{Broken, Done};

/// Instructions between two times.
const EVERY: u64 = 1000;

/// The clock of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    shift: u32,
    /// Nanoseconds of a tick.
    tick: u64,
    /// Instructions executed before the next time is noted.
    due: u64,
    /// Instructions that QEMU did not count.
    faults: u64,
}

impl Clock {
    /// That of the machine `virt` with these arguments; none where its time is not that of its instructions.
    pub(crate) fn new(isa: Isa, arguments: &[String]) -> Option<Self> {
        let value = |names: &[&str]| {
            let at = arguments.iter().rposition(|word| names.contains(&word.as_str()))?;
            arguments.get(at + 1).map(String::as_str)
        };
        let machine = value(&["-M", "-machine"])?;
        let is_known = machine.split(',').next().is_some_and(|name| matches!(name, "virt" | "type=virt"));
        // Several CPUs share the clock, and which of them ran when is not recorded.
        if !is_known || value(&["-smp"]).is_some_and(|count| count != "1") {
            return None;
        }
        let counting = value(&["-icount"])?;
        if !counting.contains("sleep=off") {
            return None;
        }
        let mut fields = counting.split(',');
        let shift =
            fields.find_map(|field| field.strip_prefix("shift=").or((!field.contains('=')).then_some(field)));
        let shift = shift?.parse::<u32>().ok().filter(|shift| *shift <= 10)?;
        // RISC-V: ticks of `time`. Arm: the frequency of its counter depends on the CPU and on QEMU's version.
        let tick = if matches!(isa, Isa::Rv32 | Isa::Rv64) { 100 } else { 1 };
        Some(Clock { shift, tick, due: 0, faults: 0 })
    }

    /// Instructions that are executed before the next time is due.
    pub(crate) fn left(&self, executed: u64) -> u64 {
        self.due.saturating_sub(executed)
    }

    /// The time before the next instruction, if it is due or `wanted`.
    pub(crate) fn time(&mut self, executed: u64, wanted: bool) -> Option<Time> {
        if executed < self.due && !wanted {
            return None;
        }
        self.due = executed + EVERY;
        let value = Some((executed.saturating_sub(self.faults) << self.shift) / self.tick);
        Some(Time { kind: TimeKind::Timestamp, value, clock: 0 })
    }

    /// The clock after an instruction that trapped as the log says; none where it is not known whether QEMU counted it.
    pub(crate) fn after(mut self, code: &Code, done: &Done, entry: Option<Entry>) -> Option<Self> {
        let is_system = matches!(code.isa, Isa::Rv32 | Isa::Rv64) && code.encoding & 0x7f == 0x73;
        let faulted = match (entry.filter(|entry| !entry.asynchronous && !entry.returns), done.trap) {
            (Some(Entry { cause: Some(cause), .. }), _) => match cause {
                4..=7 | 13 | 15 | 21 | 23 => true,
                // An instruction that its encoding alone forbids ends its block, and was counted.
                2 | 22 => is_system,
                _ => false,
            },
            (Some(Entry { class: Some(class), .. }), _) => matches!(class, 0x24 | 0x25),
            (_, trap) if trap == Some(Broken::Asynchronous) && is_system => return None,
            (_, trap) => trap == Some(Broken::Access),
        };
        self.faults += u64::from(faulted && done.trap.is_some());
        Some(self).filter(|_| !code.stops_clock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(isa: Isa, text: &str) -> Option<Clock> {
        Clock::new(isa, &text.split(' ').map(str::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn clocks_that_count_instructions() {
        let ticks = |text| clock(Isa::Rv64, text).and_then(|mut clock| clock.time(1000, true)?.value);
        assert_eq!(ticks("-M virt -icount shift=0,sleep=off"), Some(10));
        assert_eq!(ticks("-M virt,aclint=on -icount 3,sleep=off -smp 1"), Some(80));
        for unknown in [
            "-M virt",
            "-M virt -icount shift=0",
            "-M virt -icount shift=auto,sleep=off",
            "-M virt -icount auto,sleep=off",
            "-M sifive_u -icount shift=0,sleep=off",
            "-M virt -smp 2 -icount shift=0,sleep=off",
        ] {
            assert_eq!(clock(Isa::Rv64, unknown), None, "{unknown}");
        }
        let mut arm = clock(Isa::A64, "-machine virt -icount shift=1,sleep=off").unwrap();
        assert_eq!(arm.time(5, false).and_then(|time| time.value), Some(10));
        assert_eq!((arm.left(5), arm.time(6, false)), (EVERY, None));
    }
}
