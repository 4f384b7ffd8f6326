//! Records of the plugin to events.

use std::sync::Arc;

use trackway_core::*;
use trackway_isa::Control;

use crate::calls;
use crate::clock::Clock;
use crate::code::{Code, Table};
use crate::interrupts::{Entry, Interrupts};
use crate::short;
use crate::thread::{Access, Broken, Call, Done, Thread, decide};
use crate::window::{Fate, Window};

/// Process, virtual CPU and thread.
pub(crate) type Key = (u32, u32, u32);

/// System calls that return the id of a process or thread.
const IDS: [&str; 6] = ["set_tid_address", "getpid", "gettid", "getppid", "clone", "fork"];

/// System calls that take one.
const OF_IDS: [&str; 5] = ["kill", "tkill", "tgkill", "wait4", "waitid"];

/// The way of instructions into a batch.
#[derive(Debug)]
pub(crate) struct Out {
    pub(crate) window: Window,
    pub(crate) system: bool,
    pub(crate) memory: bool,
    pub(crate) isa: Isa,
    /// The thread and the address of the last instruction recorded.
    pub(crate) last: Option<(Key, u64)>,
    /// Instructions skipped since.
    pub(crate) skipped: u64,
    /// The last instruction of the thread was recorded.
    pub(crate) recording: bool,
    pub(crate) fate: Fate,
    /// Instructions that QEMU began twice.
    pub(crate) restarted: u64,
    /// Processes and threads by the order of their appearance, where ids must be the same each time.
    pub(crate) ids: Option<Vec<u32>>,
    /// Causes of the traps of a machine.
    pub(crate) interrupts: Option<Interrupts>,
    /// Facts of the events so far.
    pub(crate) facts: Counts,
    pub(crate) contexts: Contexts,
    /// The time, where it is known.
    pub(crate) clock: Option<Clock>,
    /// Usual instructions are taken many at a time; tests compare with the way of all others.
    pub(crate) shortcuts: bool,
    /// Repeats of usual runs are wanted, not their steps.
    pub(crate) folds: bool,
    /// The stretches of these.
    pub(crate) stretches: Arc<Stretches>,
}

impl Out {
    /// Takes the record that begins the words; returns its length, none where it is not known.
    #[inline]
    pub(crate) fn word(
        &mut self,
        key: Key,
        thread: &mut Thread,
        table: &Table,
        words: &[u32],
        batch: &mut Batch,
    ) -> Option<usize> {
        let word = words[0];
        if word >> 31 == 0 {
            let pc = table.get(word)?.pc;
            self.run_on(key, thread, table, batch);
            if self.is_open() {
                self.finish(key, thread, table, Some(pc), batch);
                thread.begin(word);
                thread.first = word;
            }
            return Some(1);
        }
        let wide = |n: usize| Some(u64::from(*words.get(n)?) | u64::from(*words.get(n + 1)?) << 32);
        match word >> 28 & 7 {
            0 => {
                let (shift, valued) = ((word & 15) as u8, word >> 11 & 1 == 1);
                let value = match (valued, shift) {
                    (false, _) => None,
                    (true, 0..4) => Some([wide(3)?, 0]),
                    (true, _) => Some([wide(3)?, wide(5)?]),
                };
                let access = Access { address: wide(1)?, shift, store: word >> 8 & 1 == 1, value };
                self.access(key, thread, table, word >> 12 & 0xffff, access, batch)?;
                Some(if !valued {
                    3
                } else if shift < 4 {
                    5
                } else {
                    7
                })
            }
            1 => {
                let number = wide(1)? as i64;
                let mut arguments = [0; 6];
                for (n, argument) in arguments.iter_mut().enumerate() {
                    *argument = wide(3 + 2 * n)?;
                }
                thread.call = Some(Call { number, arguments });
                self.run_on(key, thread, table, batch);
                if self.is_open() {
                    self.finish_call(key, thread, table, batch);
                }
                Some(15)
            }
            2 => {
                let (number, result) = (wide(1)? as i64, wide(3)? as i64);
                if self.last.is_some_and(|(last, _)| last == key) {
                    self.returned(thread, number, result, batch);
                } else {
                    // A new process, or another one was recorded in between.
                    thread.returned = Some((number, result));
                }
                Some(5)
            }
            3 => {
                let (number, value) = ((word & 0xff) as u16, wide(1)?);
                thread.register(number, value);
                Some(3)
            }
            _ => {
                let length = short::words(word);
                let access = Access {
                    address: short::address(word, *words.get(1)?),
                    shift: short::shift(word) as u8,
                    store: word & short::STORE != 0,
                    value: if length == 2 { None } else { Some([wide(2)?, 0]) },
                };
                self.access(key, thread, table, short::position(word), access, batch)?;
                Some(length)
            }
        }
    }

    /// The instruction at this position of the run has made an access.
    fn access(
        &mut self,
        key: Key,
        thread: &mut Thread,
        table: &Table,
        position: u32,
        access: Access,
        batch: &mut Batch,
    ) -> Option<()> {
        let place = thread.first.checked_add(position)?;
        while self.is_open() && thread.pending.is_some_and(|pending| pending < place) {
            self.pass(key, thread, table, batch);
        }
        thread.accesses.push(access);
        Some(())
    }

    /// Counts the events of a batch from this one on.
    pub(crate) fn count(&mut self, batch: &Batch, from: usize) {
        for event in &batch.events[from..] {
            self.facts.add_event(batch, &event.kind, &mut self.contexts);
        }
    }

    /// The window is not over.
    fn is_open(&self) -> bool {
        matches!(self.fate, Fate::Recorded | Fate::Skipped)
    }

    /// The run of the instruction that waits was executed, but for accesses that were not made.
    fn run_on(&mut self, key: Key, thread: &mut Thread, table: &Table, batch: &mut Batch) {
        let passes =
            |code: &Code, thread: &Thread| code.continues && (code.needs == 0 || thread.has_accessed(code));
        while self.is_open()
            && thread.pending.and_then(|number| table.get(number)).is_some_and(|code| passes(code, thread))
        {
            self.pass(key, thread, table, batch);
        }
    }

    /// The next one of the run follows the instruction that waits.
    fn pass(&mut self, key: Key, thread: &mut Thread, table: &Table, batch: &mut Batch) {
        let Some(next) = thread.pending.map(|pending| pending + 1) else { return };
        let Some(pc) = table.get(next).map(|code| code.pc) else {
            return thread.pending = None;
        };
        self.finish(key, thread, table, Some(pc), batch);
        thread.begin(next);
    }

    /// The thread has ended.
    pub(crate) fn end(&mut self, key: Key, thread: &mut Thread, table: &Table, batch: &mut Batch) {
        self.run_on(key, thread, table, batch);
        if self.is_open() {
            self.finish(key, thread, table, None, batch);
        }
    }

    /// The instruction that waits has ended, and this is the next one of its thread.
    #[inline]
    fn finish(&mut self, key: Key, thread: &mut Thread, table: &Table, next: Option<u64>, batch: &mut Batch) {
        let Some(pending) = thread.pending.take() else {
            return self.follow_call(key, thread, next, batch);
        };
        let Some(code) = table.get(pending) else { return };
        match decide(code, next, thread.has_accessed(code)) {
            Some(done) => self.put(key, thread, code, done, next, batch),
            None => self.restarted += 1,
        }
        thread.accesses.clear();
    }

    /// A system call was made: what it did is certain before the next instruction is known.
    #[cold]
    fn finish_call(&mut self, key: Key, thread: &mut Thread, table: &Table, batch: &mut Batch) {
        let waiting = thread.pending.and_then(|number| table.get(number));
        let Some(code) = waiting.filter(|code| code.syscall().is_some()) else { return };
        thread.pending = None;
        let done = Done { outcome: Outcome::Attempted, taken: None, target: None, trap: Some(Broken::Call) };
        self.put(key, thread, code, done, None, batch);
        thread.accesses.clear();
        thread.expected = Some(code.end());
    }

    /// After a system call execution continues elsewhere where a signal was delivered.
    fn follow_call(&mut self, key: Key, thread: &mut Thread, next: Option<u64>, batch: &mut Batch) {
        let (Some(expected), Some(next)) = (thread.expected.take(), next) else { return };
        if let Some((last, from)) = self.last
            && last == key
            && next != expected
            && self.recording
        {
            let gap = Gap { from: Some(from), to: Some(next), ..Gap::new(GapReason::Filtered) };
            batch.push_gap(self.offset(), gap);
        }
    }

    pub(crate) fn offset(&self) -> u64 {
        8 * self.window.recorded
    }

    /// The id of a process or thread in the recording.
    fn id(&mut self, id: u32) -> u64 {
        let Some(known) = &mut self.ids else { return id.into() };
        let place = known.iter().position(|known| *known == id).unwrap_or_else(|| {
            known.push(id);
            known.len() - 1
        });
        place as u64 + 1
    }

    fn put(
        &mut self,
        key: Key,
        thread: &mut Thread,
        code: &Code,
        done: Done,
        next: Option<u64>,
        batch: &mut Batch,
    ) {
        self.fate = self.window.next(code.pc);
        self.recording = self.fate == Fate::Recorded;
        if !self.recording {
            self.skipped += 1;
            self.clock = self.clock.and_then(|clock| clock.after(code, &done, None));
            thread.keep();
            return;
        }
        let offset = 8 * (self.window.recorded - 1);
        let wanted = self.skipped > 0 || self.last.is_none();
        let mut time = self.clock.as_mut().and_then(|clock| clock.time(self.window.executed - 1, wanted));
        if self.skipped > 0 || self.last.is_none_or(|(last, _)| last != key) || self.isa != code.isa {
            self.turn(key, code, offset, time.take(), batch);
        }
        if let Some(time) = time {
            batch.push(offset, EventKind::Time(time));
        }
        if let Some((number, result)) = thread.returned.take() {
            self.returned(thread, number, result, batch);
        }
        self.state(thread, offset, batch);
        let begun = batch.begin_accesses();
        if !thread.changed.is_empty() {
            push_registers(&mut thread.changed, RegRole::Destination, batch);
        }
        if self.memory
            && thread.accesses.is_empty()
            && let Some(address) = code.maintained.and_then(|register| thread.value(register))
        {
            batch.mem.push(MemAccess::new(MemKind::Maintenance, address, 0, Value::Unknown));
        }
        if self.memory && !thread.accesses.is_empty() {
            // With several threads QEMU makes one access of an atomic, and calls it a store.
            let atomic = code.atomic && thread.accesses.len() == 1;
            for access in &thread.accesses {
                let kind = match access.store {
                    true if atomic => MemKind::ReadWrite,
                    true => MemKind::Write,
                    false => MemKind::Read,
                };
                let size = 1u64 << access.shift;
                let data = match access.value {
                    None => Value::Unknown,
                    Some([low, _]) if size <= 8 => Value::Word(low),
                    Some([low, high]) => Value::Bytes(batch.add_words([low, high])),
                };
                batch.mem.push(MemAccess::new(kind, access.address, size, data));
            }
        }
        let accesses = batch.end_accesses(begun).unwrap_or(begun);
        let (done, entry) = self.explained(key, code, done, next);
        self.clock = self.clock.and_then(|clock| clock.after(code, &done, entry));
        let Done { outcome, taken, target, trap } = done;
        let mut step = Step { accesses, outcome, taken, ..Step::new(code.pc, code.encoding, code.length) };
        if target.is_some() && taken == Some(true) {
            step.extra = batch.add_extra(StepExtra { target, ..StepExtra::default() });
        }
        batch.push(offset, EventKind::Step(step));
        self.last = Some((key, code.pc));
        if let Some(broken) = trap {
            self.broken(thread, code, broken, entry, next, batch);
        }
    }

    /// The privilege and the registers that nothing recorded explains.
    #[inline]
    fn state(&mut self, thread: &mut Thread, offset: u64, batch: &mut Batch) {
        let [level, _, noted] = thread.level;
        if self.system && level != noted {
            thread.level[2] = level;
            batch.push_context(offset, Context { privilege: level, ..Context::default() });
        }
        if !thread.before.is_empty() {
            let begun = batch.begin_accesses();
            push_registers(&mut thread.before, RegRole::State, batch);
            if let Some(accesses) = batch.end_accesses(begun) {
                batch.push_state(offset, State::Contents(accesses));
            }
        }
    }

    /// With what QEMU's log says of a trap after the instruction.
    #[inline]
    fn explained(&mut self, key: Key, code: &Code, done: Done, next: Option<u64>) -> (Done, Option<Entry>) {
        let jump = done.trap.is_none() && code.control.is_indirect();
        match (&mut self.interrupts, next) {
            (Some(log), Some(_)) if done.trap.is_some() || jump => log_entry(log, key.1, code, done, next),
            _ => (done, None),
        }
    }

    /// Another thread continues, or the same one after a pause.
    #[cold]
    fn turn(&mut self, key: Key, code: &Code, offset: u64, time: Option<Time>, batch: &mut Batch) {
        if let Some((last, from)) = self.last
            && (self.skipped > 0 || last != key)
        {
            let instructions = (self.skipped > 0).then_some(self.skipped);
            let (from, to) = (Some(from), Some(code.pc));
            batch.push_gap(offset, Gap { from, to, instructions, ..Gap::new(GapReason::Filtered) });
        }
        if let Some(time) = time {
            batch.push(offset, EventKind::Time(time));
        }
        self.skipped = 0;
        let isa = (self.last.is_none() || self.isa != code.isa).then_some(code.isa);
        self.isa = code.isa;
        let mut context = Context { isa, ..Context::default() };
        if self.system {
            context.hw_thread = Some(key.1.into());
        } else {
            let riscv = matches!(code.isa, Isa::Rv32 | Isa::Rv64);
            context.privilege = Some(if riscv { Privilege::U } else { Privilege::El0 });
            (context.pid, context.tid) = (Some(self.id(key.0)), Some(self.id(key.2)));
        }
        batch.push_context(offset, context);
    }

    /// A trap after an instruction.
    #[cold]
    fn broken(
        &mut self,
        thread: &Thread,
        code: &Code,
        broken: Broken,
        entry: Option<Entry>,
        next: Option<u64>,
        batch: &mut Batch,
    ) {
        let offset = 8 * (self.window.recorded - 1);
        let number = thread.call.map(|call| call.number);
        let mut trap = broken.trap(code, self.system, number);
        if self.system {
            trap.to = next;
            if let Some(entry) = entry.filter(|entry| !entry.returns) {
                if broken == Broken::Return {
                    trap.to = entry.from;
                    batch.push_trap(offset, trap);
                    trap.to = next;
                }
                trap.kind = if entry.asynchronous { TrapKind::Interrupt } else { TrapKind::Exception };
                (trap.cause, trap.value) = (entry.cause, entry.value);
                trap.class = entry.class.or(trap.class);
                if entry.from != Some(code.end()) || trap.syscall.is_none() {
                    trap.from = entry.from;
                }
            }
            batch.push_trap(offset, trap);
            if let Some(level) = entry.and_then(|entry| entry.level) {
                batch.push_context(offset, Context { privilege: Some(level), ..Context::default() });
            }
            return;
        }
        batch.push_trap(offset, trap);
        if next.is_some_and(|next| next != code.end()) {
            let gap = Gap { from: Some(code.pc), to: next, ..Gap::new(GapReason::Filtered) };
            batch.push_gap(offset, gap);
        }
    }

    /// A system call returned, in the thread that made it or in a new process.
    #[cold]
    fn returned(&mut self, thread: &mut Thread, number: i64, result: i64, batch: &mut Batch) {
        let call = thread.call.take().filter(|call| call.number == number);
        if !self.recording {
            return;
        }
        let offset = self.offset().saturating_sub(8);
        // QEMU's own numbers: the call begins again, or the registers are those before a signal.
        let inner = matches!(result, -513 | -512);
        let kind = calls::kind(self.isa, number);
        let name = kind.map_or_else(|| format!("syscall {number}"), |kind| kind.name.to_string());
        // Ids differ from run to run.
        let id = self.ids.is_some() && IDS.contains(&&*name) && result > 0;
        let narrow = matches!(self.isa, Isa::Rv32 | Isa::A32 | Isa::T32);
        if !inner && !id {
            let value = if narrow { result as u32 as u64 } else { result as u64 };
            let number = if matches!(self.isa, Isa::Rv32 | Isa::Rv64) { 10 } else { 0 };
            let begun = batch.begin_accesses();
            push_registers(&mut vec![(number, value)], RegRole::State, batch);
            if let Some(accesses) = batch.end_accesses(begun) {
                batch.push_state(offset, State::Contents(accesses));
            }
        }
        let hidden = self.ids.is_some() && OF_IDS.contains(&&*name);
        let arguments = call.filter(|_| !hidden).map_or(String::new(), |call| {
            let count = kind.map_or(call.arguments.len(), |kind| kind.arguments(self.isa));
            let list: Vec<String> =
                call.arguments.iter().take(count).map(|value| format!("{value:#x}")).collect();
            format!("({})", list.join(", "))
        });
        let text = match result {
            -513 => format!("{name}{arguments}"),
            -512 => format!("{name}{arguments} begins again"),
            _ if id => format!("{name}{arguments} = an id"),
            result => format!("{name}{arguments} = {result}"),
        };
        let text = batch.add_bytes(text.as_bytes());
        batch.push(offset, EventKind::Mark(Mark { text, ..Mark::new(MarkKind::Note) }));
    }
}

#[inline]
fn push_registers(list: &mut Vec<(u16, u64)>, role: RegRole, batch: &mut Batch) {
    for (number, value) in list.drain(..) {
        let (reg, update) = (Reg { class: RegClass::Int, number }, RegUpdate::Set);
        batch.regs.push(RegAccess { reg, role, update, value: Value::Word(value), known: None });
    }
}

/// The entry of the log for the trap after an instruction, and the outcome that it means.
#[cold]
fn log_entry(
    log: &mut Interrupts,
    cpu: u32,
    code: &Code,
    done: Done,
    next: Option<u64>,
) -> (Done, Option<Entry>) {
    if done.trap.is_none() {
        let entry = next.and_then(|next| log.after_jump(cpu, next));
        let Some(Entry { from, .. }) = entry else { return (done, None) };
        return (Done { target: from, trap: Some(Broken::Asynchronous), ..done }, entry);
    }
    if code.control == Control::TrapReturn && done.trap == Some(Broken::Return) {
        // Where it returned to nothing could be fetched, or an interrupt was waiting.
        return match next.and_then(|next| log.after_jump(cpu, next)) {
            Some(entry) => (Done { target: entry.from, ..done }, Some(entry)),
            None => (done, log.returned(cpu, next)),
        };
    }
    let entry = log.trap(cpu, code.pc, code.end(), code.target, next);
    // An instruction that could not fault by its kind, and did.
    let faulted = entry.is_some_and(|entry| !entry.asynchronous && entry.from == Some(code.pc));
    let outcome = if faulted { Outcome::Attempted } else { done.outcome };
    (Done { outcome, ..done }, entry)
}
