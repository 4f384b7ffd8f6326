//! The QEMU executions of the corpus: pcs, opcodes, memory accesses, system calls.
//!
//! A [`Run`] holds them as arrays, and as a [`Source`] of events ([`Run::events`]). The streams hold every
//! *attempted* instruction. Facts that the recording lacks are worked out from opcodes and from where the
//! flow goes, and nothing more:
//!
//! - user programs: a system call is a `Step` that did not retire, then a `Trap` without a target (the kernel
//!   is not in the recording); a faulting access likewise. Where the flow then continues elsewhere (a signal)
//!   a `Gap` comes between.
//! - bare-metal programs: every break in the flow is a `Trap` with its target, and a `Context` with the
//!   new privilege follows.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use trackway_core::*;

use crate::flow::{Flow, flow};

/// The RISC-V executions, folder and name.
pub const RISCV: [(&str, &str); 7] = [
    ("bare", "rv64-traps"),
    ("rv64gc", "bzip2"),
    ("rv64gc", "fpmix"),
    ("rv64gc", "lua"),
    ("rv64gc", "minigzip"),
    ("rv64gc", "qsortmix"),
    ("rv64gc", "sigmt"),
];

/// One recorded execution.
#[derive(Clone, Debug)]
pub struct Run {
    /// Folder and name in the corpus, like `aarch64/bzip2`.
    pub name: String,
    /// Instruction set: `A64` or `Rv64`.
    pub isa: Isa,
    /// No operating system: exception levels and handlers are in the recording.
    pub bare: bool,
    /// The ELF file that ran; link address = run address.
    pub elf: Vec<u8>,
    /// Address of every attempted instruction, in order.
    pub pcs: Vec<u64>,
    /// Encoding and size in bytes of every instruction that ran, by address.
    pub code: HashMap<u64, (u32, u8)>,
    /// Memory accesses, in order.
    pub mem: Vec<Mem>,
    /// System calls, in order.
    pub sys: Vec<Sys>,
}

/// A memory access, as QEMU made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mem {
    /// Index into [`Run::pcs`].
    pub index: u64,
    /// Virtual address.
    pub address: u64,
    /// Store, not load.
    pub store: bool,
    /// Bytes.
    pub size: u8,
}

/// A system call, or its return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sys {
    /// Index into [`Run::pcs`].
    pub index: u64,
    /// Linux system call number.
    pub number: i64,
    /// Arguments; the result in the first one for a return.
    pub args: [i64; 8],
    /// A return, not an entry.
    pub returns: bool,
}

impl Run {
    /// Reads `FOLDER/NAME.{elf,pc,ins,mem,sys}.zst`.
    pub fn open(folder: &Path, name: &str, isa: Isa, bare: bool) -> io::Result<Run> {
        let read = |kind: &str| -> io::Result<Vec<u8>> {
            zstd::decode_all(std::fs::File::open(folder.join(format!("{name}.{kind}.zst")))?)
        };
        let u64_at = |bytes: &[u8], at: usize| u64::from_le_bytes(std::array::from_fn(|n| bytes[at + n]));
        let pcs = read("pc")?.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let code = read("ins")?
            .as_chunks::<16>()
            .0
            .iter()
            .map(|record| (u64_at(record, 0), (u64_at(record, 8) as u32, record[12])))
            .collect();
        let mem = read("mem")?
            .as_chunks::<24>()
            .0
            .iter()
            .map(|record| Mem {
                index: u64_at(record, 0),
                address: u64_at(record, 8),
                store: record[16] == 1,
                size: record[17],
            })
            .collect();
        let sys = match read("sys") {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            bytes => bytes?
                .as_chunks::<88>()
                .0
                .iter()
                .map(|record| Sys {
                    index: u64_at(record, 0),
                    number: u64_at(record, 8) as i64,
                    args: std::array::from_fn(|n| u64_at(record, 16 + 8 * n) as i64),
                    returns: u64_at(record, 80) == 1,
                })
                .collect(),
        };
        let elf = read("elf")?;
        Ok(Run { name: name.to_string(), isa, bare, elf, pcs, code, mem, sys })
    }

    /// A run of the corpus, like `("aarch64", "bzip2")` or `("bare", "rv64-traps")`; `None` without a corpus.
    ///
    /// # Panics
    /// Where the corpus is there and the run cannot be read.
    pub fn corpus(folder: &str, name: &str) -> Option<Run> {
        let path = crate::corpus()?.join("qemu").join(folder);
        let isa = if folder == "aarch64" || name.starts_with("aarch64") { Isa::A64 } else { Isa::Rv64 };
        let run = Run::open(&path, name, isa, folder == "bare");
        let run = run.unwrap_or_else(|error| panic!("{}/{name}: {error}", path.display()));
        Some(Run { name: format!("{folder}/{name}"), ..run })
    }

    /// The run as events.
    pub fn events(&self) -> Events<'_> {
        let mut meta = Meta::new(FormatId::new("qemu"), self.isa);
        meta.version = "QEMU 7.2 recording".to_string();
        meta.comments.push(format!("{}, recorded with QEMU", self.name));
        meta.start_pc = self.pcs.first().copied();
        let privilege = match (self.isa, self.bare) {
            (Isa::A64, false) => Privilege::El0,
            (Isa::A64, true) => Privilege::El1,
            (_, false) => Privilege::U,
            (_, true) => Privilege::M,
        };
        Events { run: self, meta, at: 0, mem: 0, privilege }
    }

    /// The encoding at `pc` and its size; (0, 0) where nothing ran.
    fn code_at(&self, pc: u64) -> (u32, u8) {
        self.code.get(&pc).copied().unwrap_or_default()
    }
}

/// A [`Run`] as a source of events; offsets count 8 bytes per instruction.
#[derive(Debug)]
pub struct Events<'a> {
    run: &'a Run,
    meta: Meta,
    /// Next instruction.
    at: usize,
    /// Next memory access.
    mem: usize,
    /// Privilege that the next instruction runs at.
    privilege: Privilege,
}

impl Source for Events<'_> {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        batch.first_instruction = self.at as u64;
        if self.at == 0 {
            let context = Context { isa: Some(self.run.isa), ..self.context() };
            batch.push_context(0, context);
        }
        while !batch.is_full() && self.at < self.run.pcs.len() {
            self.step(batch);
        }
        Ok(!batch.events.is_empty())
    }

    fn progress(&self) -> Option<(u64, u64)> {
        Some((self.at as u64, self.run.pcs.len() as u64))
    }
}

impl Events<'_> {
    fn context(&self) -> Context {
        let mut context = Context { privilege: Some(self.privilege), ..Context::default() };
        if self.run.isa == Isa::A64 {
            context.security = Some(Security::NonSecure);
            context.own_stack = Some(self.privilege != Privilege::El0);
        }
        context
    }

    /// One instruction, and the break in the flow after it.
    fn step(&mut self, batch: &mut Batch) {
        let (run, index) = (self.run, self.at);
        let pc = run.pcs[index];
        let next = run.pcs.get(index + 1).copied();
        let (word, size) = run.code_at(pc);
        let after = pc + u64::from(size);
        let flow = flow(run.isa, word, size);
        self.at += 1;

        let begun = batch.begin_accesses();
        while let Some(access) = run.mem.get(self.mem).filter(|access| access.index == index as u64) {
            let kind = if access.store { MemKind::Write } else { MemKind::Read };
            batch.mem.push(MemAccess::new(kind, access.address, u64::from(access.size), Value::Unknown));
            self.mem += 1;
        }
        let accesses = batch.end_accesses(begun).expect("an instruction makes few accesses");

        let mut step = Step { accesses, ..Step::new(pc, word, size) };
        let target = |distance: i64| Some(pc.wrapping_add_signed(distance));
        let mut trap = None;
        match flow {
            // The last instruction of a recording went where its own encoding says.
            Flow::Branch { distance } => {
                step.taken = Some(next != Some(after) && next == target(distance));
                if !(next.is_none() || next == Some(after) || next == target(distance)) {
                    trap = Some(Trap::new(TrapKind::Interrupt));
                }
            }
            Flow::Jump { distance } => {
                step.taken = Some(true);
                if !(next.is_none() || next == target(distance)) {
                    trap = Some(Trap::new(TrapKind::Interrupt));
                }
            }
            Flow::Indirect => step.taken = Some(true),
            Flow::TrapReturn => trap = Some(Trap::new(TrapKind::Return)),
            Flow::Call(syscall, immediate) => {
                step.outcome = Outcome::Attempted;
                let (cause, class) = match syscall {
                    Syscall::Ecall => (Some(if self.privilege == Privilege::M { 11 } else { 8 }), None),
                    Syscall::Svc => (None, Some(0x15)),
                    Syscall::Hvc => (None, Some(0x16)),
                    Syscall::Smc => (None, Some(0x17)),
                };
                trap = Some(Trap {
                    cause,
                    class,
                    syscall: Some(syscall),
                    syscall_index: (syscall != Syscall::Ecall).then_some(immediate),
                    ..Trap::new(TrapKind::Exception)
                });
            }
            Flow::Break => trap = Some(self.exception(&mut step, 3, 0x3c)),
            Flow::Undefined => trap = Some(self.exception(&mut step, 2, 0)),
            Flow::Next { memory: true }
                if accesses.mem_len == 0 && next.is_some_and(|next| next != after) =>
            {
                // Only loads fault in these recordings. 0x24 and 0x25: data abort from a lower, the same level.
                let class = if self.privilege == Privilege::El0 { 0x24 } else { 0x25 };
                trap = Some(self.exception(&mut step, 5, class));
            }
            Flow::Next { .. } if next.is_some_and(|next| next != after) => {
                trap = Some(Trap::new(TrapKind::Interrupt));
            }
            Flow::Next { .. } => {}
        }
        if step.taken == Some(true) {
            let to = match flow {
                Flow::Branch { distance } | Flow::Jump { distance } => target(distance),
                _ => next,
            };
            step.extra = batch.add_extra(StepExtra { target: to, ..StepExtra::default() });
        }
        let offset = 8 * index as u64;
        batch.push(offset, EventKind::Step(step));
        if let Some(trap) = trap {
            self.break_flow(batch, offset, trap, pc, after, next);
        }
    }

    /// An exception that `step` took.
    fn exception(&self, step: &mut Step, cause: u64, class: u8) -> Trap {
        step.outcome = Outcome::Attempted;
        let arm = self.run.isa == Isa::A64;
        Trap { cause: (!arm).then_some(cause), class: arm.then_some(class), ..Trap::new(TrapKind::Exception) }
    }

    /// The trap, and where the flow continues, if known.
    fn break_flow(
        &mut self,
        batch: &mut Batch,
        offset: u64,
        trap: Trap,
        pc: u64,
        after: u64,
        next: Option<u64>,
    ) {
        let interrupt = trap.kind == TrapKind::Interrupt;
        let from = if interrupt { None } else { Some(pc) };
        if !self.run.bare {
            batch.push_trap(offset, Trap { from, ..trap });
            if let Some(next) = next.filter(|next| *next != after) {
                let gap = Gap { from: Some(pc), to: Some(next), ..Gap::new(GapReason::Filtered) };
                batch.push_gap(offset, gap);
            }
            return;
        }
        batch.push_trap(offset, Trap { from, to: next, ..trap });
        if next.is_none() {
            return;
        }
        self.privilege = match (trap.kind, self.run.isa) {
            (TrapKind::Return, Isa::A64) => Privilege::El0,
            (TrapKind::Return, _) => Privilege::U,
            (_, Isa::A64) => Privilege::El1,
            (_, _) => Privilege::M,
        };
        batch.push_context(offset, self.context());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of what a run's events hold.
    fn count(run: &Run) -> (u64, u64, u64, u64) {
        let (mut source, mut batch) = (run.events(), Batch::default());
        let (mut steps, mut mem, mut traps, mut gaps) = (0, 0, 0, 0);
        while source.fill(&mut batch).unwrap() {
            steps += batch.instructions();
            mem += batch.mem.len() as u64;
            traps += batch.traps.len() as u64;
            gaps += batch.gaps.len() as u64;
        }
        (steps, mem, traps, gaps)
    }

    #[test]
    fn bare_runs_explain_every_break() {
        let Some(run) = Run::corpus("bare", "aarch64-traps") else { return };
        // 6 SVC, 1 undefined and 1 HVC, 7 ERET.
        assert_eq!(count(&run), (88, 10, 15, 0));
        let Some(run) = Run::corpus("bare", "rv64-traps") else { return };
        // 6 ecalls, illegal, load fault, interrupt; 1 + 5 + 3 MRET.
        assert_eq!(count(&run), (200_048, 49_985, 18, 0));
    }

    #[test]
    fn user_runs_have_all_instructions_and_accesses() {
        for folder in ["aarch64", "rv64gc"] {
            let Some(run) = Run::corpus(folder, "sigmt") else { return };
            let (steps, mem, traps, gaps) = count(&run);
            assert_eq!((steps, mem), (run.pcs.len() as u64, run.mem.len() as u64));
            // Every system call enters once; 20 loads fault.
            let calls = run.sys.iter().filter(|sys| !sys.returns).count() as u64;
            assert_eq!(traps, calls + 20, "{folder}");
            assert!(gaps >= 20, "{folder}: {gaps}");
        }
    }
}
