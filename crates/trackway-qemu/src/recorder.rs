//! A guest as a [`Source`] of events.
//!
//! - Every attempted instruction is a `Step` with its memory accesses; values where the plugin API has them.
//! - A system call is a `Trap` without a target (the kernel is not in the recording); its name, arguments and result
//!   follow as a note, the result also as the content of its register.
//! - Threads and processes are contexts: a `Context` and a `Gap` come where another one continues.
//! - A signal is a `Gap` after the trap that brought it.

use std::collections::HashMap;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use trackway_core::*;

use crate::calls;
use crate::code::Code;
use crate::error::Error;
use crate::frame::{Frame, Kind};
use crate::launch::Command;
use crate::program::Mode;
use crate::session::{Received, Session};
use crate::thread::{Access, Broken, Call, Done, Thread, decide};
use crate::window::{Fate, Options, Window};

/// Where recorded events come from.
pub const QEMU: FormatId = FormatId::new("qemu");

/// How long to wait for the guest before looking around.
const WAIT: Duration = Duration::from_millis(50);

/// System calls that return the id of a process or thread.
const IDS: [&str; 6] = ["set_tid_address", "getpid", "gettid", "getppid", "clone", "fork"];

/// System calls that take one.
const OF_IDS: [&str; 5] = ["kill", "tkill", "tgkill", "wait4", "waitid"];

/// How a guest ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was stopped by the recorder.
    Stopped,
}

/// Process, virtual CPU and thread.
type Key = (u32, u32, u32);

/// A guest that is being recorded.
#[derive(Debug)]
pub struct Recorder {
    /// None once the window is over.
    session: Option<Session>,
    child: Child,
    status: Option<ExitStatus>,
    stopped: bool,
    meta: Meta,
    base: Isa,
    /// By process id.
    processes: HashMap<u32, Vec<Code>>,
    threads: HashMap<Key, Thread>,
    /// A frame that is being lifted, and the place in it.
    frame: Option<(Frame, usize)>,
    /// The first batch: it was read for the description.
    first: Option<Batch>,
    out: Out,
    /// The lowest address of the program's code, as linked.
    linked: u64,
    /// How far the program was moved when it was loaded.
    moved: u64,
    said: HashMap<String, String>,
    damaged: Option<String>,
    /// Nothing came in time.
    idle: bool,
    first_thread: bool,
    first_key: Option<Key>,
}

/// The way of instructions into a batch.
#[derive(Debug)]
struct Out {
    window: Window,
    system: bool,
    memory: bool,
    isa: Isa,
    /// The thread and the address of the last instruction recorded.
    last: Option<(Key, u64)>,
    /// Instructions skipped since.
    skipped: u64,
    /// The last instruction of the thread was recorded.
    recording: bool,
    fate: Fate,
    /// Instructions that QEMU began twice.
    restarted: u64,
    /// Processes and threads by the order of their appearance, where ids must be the same each time.
    ids: Option<Vec<u32>>,
}

impl Recorder {
    /// Records a guest that was just started; waits for the first instruction of the window.
    pub fn new(
        session: Session,
        child: Child,
        command: &Command,
        meta: Meta,
        options: Options,
    ) -> Result<Self, Error> {
        let (mode, isa) = (command.mode, command.program.isa);
        let out = Out {
            window: Window::new(options),
            system: mode == Mode::System,
            memory: options.memory,
            isa,
            last: None,
            skipped: 0,
            recording: false,
            fate: Fate::Skipped,
            restarted: 0,
            ids: command.deterministic.then(Vec::new),
        };
        let mut recorder = Recorder {
            session: Some(session),
            child,
            status: None,
            stopped: false,
            meta,
            base: isa,
            processes: HashMap::new(),
            threads: HashMap::new(),
            frame: None,
            first: None,
            out,
            linked: command.program.code,
            moved: 0,
            said: HashMap::new(),
            damaged: None,
            idle: false,
            first_thread: options.first_thread,
            first_key: None,
        };
        let mut batch = Batch::with_capacity();
        while recorder.more(&mut batch) && batch.events.is_empty() {}
        if let Some(text) = recorder.damaged.take() {
            return Err(Error::Stream(text));
        }
        if recorder.said.is_empty() {
            return Err(Error::Silent(recorder.status));
        }
        recorder.meta.isa = recorder.out.isa;
        recorder.meta.start_pc = batch.events.iter().find_map(|event| match event.kind {
            EventKind::Step(step) => step.pc,
            _ => None,
        });
        let said = |name: &str| recorder.said.get(name).cloned().unwrap_or_default();
        let comment = format!(
            "QEMU {} mode, target {}, plugin API {} of {} to {}",
            if mode == Mode::System { "system" } else { "user" },
            said("target"),
            said("api"),
            said("lowest"),
            said("current"),
        );
        let version = env!("CARGO_PKG_VERSION").to_string();
        let name = "trackway record".to_string();
        recorder.meta.producers.push(Producer { name, version, comment });
        recorder.first = Some(batch);
        Ok(recorder)
    }

    /// Instructions attempted so far, recorded or not.
    pub fn executed(&self) -> u64 {
        self.out.window.executed
    }

    /// Instructions recorded so far.
    pub fn recorded(&self) -> u64 {
        self.out.window.recorded
    }

    /// How far the program was moved when it was loaded, in user mode.
    pub fn moved(&self) -> u64 {
        self.moved
    }

    /// Threads recorded so far.
    pub fn threads(&self) -> usize {
        self.meta.threads.len()
    }

    /// A note on how a guest ended that did not exit, or was not recorded to its end.
    pub fn last_words(&mut self) -> Option<Batch> {
        let recorded = self.recorded();
        let text = match (self.stopped, self.has_ended(), self.status.and_then(|status| status.signal())) {
            (true, ..) => format!("recording was stopped after {recorded} instructions"),
            (_, true, Some(signal)) => {
                format!("signal {signal} ended the program after {recorded} instructions")
            }
            _ => return None,
        };
        let mut batch = Batch { first_instruction: recorded, ..Batch::default() };
        let text = batch.add_bytes(text.as_bytes());
        batch.push(self.out.offset(), EventKind::Mark(Mark { text, ..Mark::new(MarkKind::Note) }));
        Some(batch)
    }

    /// Lets the guest run to its end without recording.
    pub fn run_out(&mut self, cancel: &Cancel) -> End {
        self.session = None;
        while !cancel.is_cancelled() && !self.has_ended() {
            std::thread::sleep(WAIT);
        }
        self.end()
    }

    /// How it ended; stops it where it has not.
    fn end(&mut self) -> End {
        if !self.has_ended() {
            self.stop();
        }
        let status = self.status.unwrap_or_default();
        match (self.stopped, status.code(), status.signal()) {
            (true, ..) => End::Stopped,
            (_, Some(code), _) => End::Code(code),
            (_, None, signal) => End::Signal(signal.unwrap_or(0)),
        }
    }

    fn stop(&mut self) {
        self.stopped = true;
        let _ = self.child.kill();
        self.status = self.child.wait().ok();
    }

    fn has_ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status.is_some()
    }

    /// Adds events to the batch; false at the end.
    fn more(&mut self, batch: &mut Batch) -> bool {
        self.idle = false;
        if self.session.is_none() {
            return false;
        }
        if let Some((frame, at)) = self.frame.take() {
            self.lift(frame, at, batch);
            return self.go_on();
        }
        // Looked at first: what was sent until then is waiting to be received.
        let ended = self.has_ended() && self.session.as_ref().is_none_or(|session| !session.is_busy());
        let wait = if ended { Duration::ZERO } else { WAIT };
        let received = self.session.as_ref().and_then(|session| session.receive(wait));
        self.idle = received.is_none();
        match received {
            Some(Received::Frame(frame)) => match frame.kind {
                Kind::Hello => self.hello(&frame),
                Kind::Code => self.code(&frame),
                Kind::Executed => self.lift(frame, 0, batch),
                Kind::Fork => {}
            },
            Some(Received::Ended(pid)) => self.ended(pid, batch),
            Some(Received::Damaged(text)) => {
                self.damaged = Some(text);
                return false;
            }
            None if ended => {
                self.session = None;
                return false;
            }
            None => {}
        }
        self.go_on()
    }

    /// False once the window is over.
    fn go_on(&mut self) -> bool {
        match self.out.fate {
            Fate::Recorded | Fate::Skipped => return true,
            Fate::Enough => self.stop(),
            Fate::Over => {}
        }
        self.session = None;
        false
    }

    fn hello(&mut self, frame: &Frame) {
        for (name, value) in frame.lines() {
            let number = value.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
            // A program of its own address: only the first process has it moved.
            if let (Some(start), "start") = (number, &*name)
                && start != 0
                && !self.said.contains_key("start")
            {
                self.moved = start.wrapping_sub(self.linked);
                self.out.window.shift(self.moved);
            }
            self.said.entry(name).or_insert(value);
        }
        self.processes.entry(frame.pid).or_default();
    }

    fn code(&mut self, frame: &Frame) {
        let code = self.processes.entry(frame.pid).or_default();
        for words in frame.words.as_chunks::<4>().0 {
            let before = code.last().map_or(self.base, |code| code.isa);
            code.push(Code::read(*words, self.base, before));
        }
    }

    /// The process is over: its last instructions have no next one.
    fn ended(&mut self, pid: u32, batch: &mut Batch) {
        let Some(code) = self.processes.remove(&pid) else { return };
        let mut keys: Vec<Key> = self.threads.keys().filter(|key| key.0 == pid).copied().collect();
        keys.sort_unstable();
        for key in keys {
            if let Some(mut thread) = self.threads.remove(&key) {
                self.out.finish(key, &mut thread, &code, None, batch);
            }
        }
    }

    /// Lifts a frame until the batch is full.
    fn lift(&mut self, frame: Frame, mut at: usize, batch: &mut Batch) {
        let key = (frame.pid, frame.cpu, frame.tid);
        if self.first_thread && *self.first_key.get_or_insert(key) != key {
            return;
        }
        let Some(code) = self.processes.get_mut(&frame.pid).map(std::mem::take) else { return };
        let mut thread = self.threads.remove(&key).unwrap_or_default();
        let system = self.out.system;
        self.meta.threads.entry(if system { key.1 } else { key.2 }.into()).or_default();
        while at < frame.words.len() && !batch.is_full() {
            match self.out.word(key, &mut thread, &code, &frame.words[at..], batch) {
                Some(words) => at += words,
                None => {
                    self.damaged = Some("a record that this version does not know".to_string());
                    at = frame.words.len();
                }
            }
            if matches!(self.out.fate, Fate::Over | Fate::Enough) {
                thread.pending = None;
                break;
            }
        }
        self.threads.insert(key, thread);
        self.processes.insert(frame.pid, code);
        if at < frame.words.len() {
            self.frame = Some((frame, at));
        }
    }
}

impl Out {
    /// Takes the record that begins the words; returns its length, none where it is not known.
    #[inline]
    fn word(
        &mut self,
        key: Key,
        thread: &mut Thread,
        table: &[Code],
        words: &[u32],
        batch: &mut Batch,
    ) -> Option<usize> {
        let word = words[0];
        if word >> 31 == 0 {
            let pc = table.get(word as usize)?.pc;
            self.finish(key, thread, table, Some(pc), batch);
            thread.pending = Some(word);
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
                if self.memory || thread.accesses.is_empty() {
                    thread.accesses.push(access);
                }
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
                self.finish_call(key, thread, table, batch);
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
            _ => None,
        }
    }

    /// The instruction that waits has ended, and this is the next one of its thread.
    #[inline]
    fn finish(
        &mut self,
        key: Key,
        thread: &mut Thread,
        table: &[Code],
        next: Option<u64>,
        batch: &mut Batch,
    ) {
        let Some(pending) = thread.pending.take() else {
            return self.follow_call(key, thread, next, batch);
        };
        let Some(code) = table.get(pending as usize) else { return };
        match decide(code, next, !thread.accesses.is_empty()) {
            Some(done) => self.put(key, thread, code, done, next, batch),
            None => self.restarted += 1,
        }
        thread.accesses.clear();
    }

    /// A system call was made: what it did is certain before the next instruction is known.
    #[cold]
    fn finish_call(&mut self, key: Key, thread: &mut Thread, table: &[Code], batch: &mut Batch) {
        let waiting = thread.pending.and_then(|number| table.get(number as usize));
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

    fn offset(&self) -> u64 {
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
            return;
        }
        let offset = 8 * (self.window.recorded - 1);
        if self.skipped > 0 || self.last.is_none_or(|(last, _)| last != key) || self.isa != code.isa {
            self.turn(key, code, offset, batch);
        }
        if let Some((number, result)) = thread.returned.take() {
            self.returned(thread, number, result, batch);
        }
        let begun = batch.begin_accesses();
        if self.memory {
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
        let Done { outcome, taken, target, trap } = done;
        let mut step = Step { accesses, outcome, taken, ..Step::new(code.pc, code.encoding, code.length) };
        if target.is_some() && taken == Some(true) {
            step.extra = batch.add_extra(StepExtra { target, ..StepExtra::default() });
        }
        batch.push(offset, EventKind::Step(step));
        self.last = Some((key, code.pc));
        if let Some(broken) = trap {
            self.broken(thread, code, broken, next, batch);
        }
    }

    /// Another thread continues, or the same one after a pause.
    #[cold]
    fn turn(&mut self, key: Key, code: &Code, offset: u64, batch: &mut Batch) {
        if let Some((last, from)) = self.last
            && (self.skipped > 0 || last != key)
        {
            let instructions = (self.skipped > 0).then_some(self.skipped);
            let (from, to) = (Some(from), Some(code.pc));
            batch.push_gap(offset, Gap { from, to, instructions, ..Gap::new(GapReason::Filtered) });
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
    fn broken(&mut self, thread: &Thread, code: &Code, broken: Broken, next: Option<u64>, batch: &mut Batch) {
        let offset = 8 * (self.window.recorded - 1);
        let number = thread.call.map(|call| call.number);
        let mut trap = broken.trap(code, self.system, number);
        if self.system {
            trap.to = next;
            return batch.push_trap(offset, trap);
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
        let name = calls::name(self.isa, number).map_or_else(|| format!("syscall {number}"), str::to_string);
        // Ids differ from run to run.
        let id = self.ids.is_some() && IDS.contains(&&*name) && result > 0;
        let narrow = matches!(self.isa, Isa::Rv32 | Isa::A32 | Isa::T32);
        if !inner && !id {
            let value = if narrow { result as u32 as u64 } else { result as u64 };
            let number = if matches!(self.isa, Isa::Rv32 | Isa::Rv64) { 10 } else { 0 };
            let begun = batch.begin_accesses();
            let reg = Reg { class: RegClass::Int, number };
            let (role, update) = (RegRole::State, RegUpdate::Set);
            batch.regs.push(RegAccess { reg, role, update, value: Value::Word(value), known: None });
            if let Some(accesses) = batch.end_accesses(begun) {
                batch.push_state(offset, State::Contents(accesses));
            }
        }
        let hidden = self.ids.is_some() && OF_IDS.contains(&&*name);
        let arguments = call.filter(|_| !hidden).map_or(String::new(), |call| {
            let list: Vec<String> = call.arguments.iter().map(|value| format!("{value:#x}")).collect();
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

impl Source for Recorder {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Also true with an empty batch where the guest is busy with something else.
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        if let Some(first) = self.first.take() {
            *batch = first;
            return Ok(!batch.events.is_empty() || self.session.is_some());
        }
        batch.clear();
        batch.first_instruction = self.out.window.recorded;
        while !batch.is_full() {
            if !self.more(batch) {
                return match self.damaged {
                    Some(_) => Err(ErrorKind::Reason { text: "the plugin's stream is damaged", value: 0 }
                        .at(self.out.offset(), "frame", "", "")),
                    None => Ok(!batch.events.is_empty()),
                };
            }
            if self.idle {
                break;
            }
        }
        Ok(true)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if !self.has_ended() {
            self.stop();
        }
    }
}
