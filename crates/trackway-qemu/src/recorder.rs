//! A guest as a [`Source`] of events.
//!
//! - Every attempted instruction is a `Step` with its memory accesses; values where the plugin API has them.
//! - A system call is a `Trap` without a target (the kernel is not in the recording); its name, arguments and result
//!   follow as a note, the result also as the content of its register.
//! - Threads and processes are contexts: a `Context` and a `Gap` come where another one continues.
//! - A signal is a `Gap` after the trap that brought it.

use std::collections::HashMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use trackway_core::*;

use crate::code::{Code, Table};
use crate::error::Error;
use crate::frame::{Frame, Kind, take};
use crate::interrupts::Interrupts;
use crate::launch::Command;
use crate::lift::{Key, Out};
use crate::program::Mode;
use crate::session::{Received, Session};
use crate::shapes::Shapes;
use crate::thread::Thread;
use crate::window::{Fate, Options, Window};

/// Where recorded events come from.
pub const QEMU: FormatId = FormatId::new("qemu");

/// How long to wait for the guest before looking around.
const WAIT: Duration = Duration::from_millis(50);

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

/// The code of a process, and the runs of it that were executed before.
#[derive(Debug, Default)]
struct Process {
    table: Table,
    shapes: Shapes,
}

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
    processes: HashMap<u32, Process>,
    threads: HashMap<Key, Thread>,
    /// A frame that is being lifted, and the place in it.
    frame: Option<(Frame, usize)>,
    /// Memory of frames, for reuse.
    bytes: Vec<u8>,
    words: Vec<u32>,
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
            interrupts: command.log(session.folder()).map(Interrupts::new),
            shortcuts: true,
            folds: false,
            stretches: Arc::default(),
            facts: Counts::default(),
            contexts: Contexts::new(&meta),
            clock: command.clock(session.folder()),
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
            bytes: Vec::new(),
            words: Vec::new(),
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
        let mut folded = Folded { batch: Batch::with_capacity(), ..Folded::default() };
        while recorder.more(&mut folded) && folded.batch.events.is_empty() {}
        let batch = folded.batch;
        if let Some(text) = recorder.damaged.take() {
            return Err(Error::Stream(text));
        }
        let failed = recorder.status.is_some_and(|status| !status.success());
        if recorder.said.is_empty() || recorder.executed() == 0 && failed {
            return Err(Error::Silent(recorder.status));
        }
        recorder.meta.isa = recorder.out.isa;
        recorder.meta.timestamps = command.clock(Path::new("")).is_some();
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

    /// Like [`fill`](Source::fill), but with repeats folded.
    pub fn fill_folded(&mut self, folded: &mut Folded) -> Result<bool> {
        self.fill_with(folded, true)
    }

    fn fill_with(&mut self, folded: &mut Folded, folds: bool) -> Result<bool> {
        self.out.folds = folds;
        self.out.begin(folded);
        if let Some(first) = self.first.take() {
            folded.batch = first;
            return Ok(!folded.is_empty() || self.session.is_some());
        }
        while !folded.is_full() {
            if !self.more(folded) {
                return match self.damaged {
                    Some(_) => Err(ErrorKind::Reason { text: "the plugin's stream is damaged", value: 0 }
                        .at(self.out.offset(), "frame", "", "")),
                    None => Ok(!folded.is_empty()),
                };
            }
            if self.idle {
                break;
            }
        }
        Ok(true)
    }

    /// The facts of the events since the last time, as a ledger counts them.
    pub fn take_facts(&mut self) -> Counts {
        std::mem::take(&mut self.out.facts)
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
    fn more(&mut self, folded: &mut Folded) -> bool {
        self.idle = false;
        if self.session.is_none() {
            return false;
        }
        if let Some((frame, at)) = self.frame.take() {
            self.lift(frame, at, folded);
            return self.go_on();
        }
        // Looked at first: what was sent until then is waiting to be received.
        let ended = self.has_ended() && self.session.as_ref().is_none_or(Session::is_over);
        let wait = if ended { Duration::ZERO } else { WAIT };
        let received = self.session.as_ref().and_then(|session| session.receive(wait));
        self.idle = received.is_none();
        match received {
            Some(Received::Frame(frame)) => match frame.kind {
                Kind::Hello => self.hello(&frame),
                Kind::Code => self.code(&frame),
                Kind::Executed => self.lift(frame, 0, folded),
                Kind::Filled => self.take(frame, folded),
                Kind::Fork => {}
            },
            Some(Received::Ended(pid)) => self.ended(pid, &mut folded.batch),
            Some(Received::Damaged(text)) => {
                self.damaged = Some(text);
            }
            None if ended => {
                self.session = None;
                return false;
            }
            None => {}
        }
        self.go_on()
    }

    /// False once the window is over, or the stream is damaged.
    fn go_on(&mut self) -> bool {
        if self.damaged.is_some() {
            return false;
        }
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
        let code = &mut self.processes.entry(frame.pid).or_default().table;
        for words in frame.words.as_chunks::<4>().0 {
            let before = code.last().map_or(self.base, |code| code.isa);
            code.push(Code::read(*words, self.base, before));
        }
    }

    /// The process is over: its last instructions have no next one.
    fn ended(&mut self, pid: u32, batch: &mut Batch) {
        if let Some(session) = &self.session {
            session.forget(pid);
        }
        let Some(code) = self.processes.remove(&pid) else { return };
        let mut keys: Vec<Key> = self.threads.keys().filter(|key| key.0 == pid).copied().collect();
        keys.sort_unstable();
        let before = batch.events.len();
        for key in keys {
            if let Some(mut thread) = self.threads.remove(&key) {
                self.out.end(key, &mut thread, &code.table, batch);
            }
        }
        self.out.count(batch, before);
    }

    /// Lifts a frame that is in its file.
    fn take(&mut self, mut frame: Frame, folded: &mut Folded) {
        let Some(session) = &self.session else { return };
        frame.words = std::mem::take(&mut self.words);
        match take(&session.file(frame.pid, frame.file), &mut self.bytes, &mut frame.words) {
            Ok(()) => self.lift(frame, 0, folded),
            Err(error) => self.damaged = Some(format!("a buffer of the plugin cannot be read: {error}")),
        }
    }

    /// Lifts a frame until the batch is full.
    fn lift(&mut self, frame: Frame, mut at: usize, folded: &mut Folded) {
        let key = (frame.pid, frame.cpu, frame.tid);
        if self.first_thread && *self.first_key.get_or_insert(key) != key {
            return;
        }
        let Some(Process { table, mut shapes }) = self.processes.get_mut(&frame.pid).map(std::mem::take)
        else {
            return;
        };
        if let Some(log) = &mut self.out.interrupts {
            log.read(key.1);
        }
        let mut thread = self.threads.remove(&key).unwrap_or_default();
        let system = self.out.system;
        self.meta.threads.entry(if system { key.1 } else { key.2 }.into()).or_default();
        shapes.enter(&folded.stretches);
        while at < frame.words.len() && !folded.is_full() {
            let usual =
                self.out.usual_or_folded(key, &mut thread, (&table, &mut shapes), &frame.words[at..], folded);
            if usual > 0 {
                at += usual;
                continue;
            }
            let batch = &mut folded.batch;
            let before = batch.events.len();
            let taken = self.out.word(key, &mut thread, &table, &frame.words[at..], batch);
            self.out.count(batch, before);
            match taken {
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
        self.processes.insert(frame.pid, Process { table, shapes });
        if at < frame.words.len() {
            self.frame = Some((frame, at));
        } else {
            self.words = frame.words;
        }
    }
}

impl Source for Recorder {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Also true with an empty batch where the guest is busy with something else.
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        let mut folded = Folded { batch: std::mem::take(batch), ..Folded::default() };
        let more = self.fill_with(&mut folded, false);
        *batch = folded.batch;
        more
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if !self.has_ended() {
            self.stop();
        }
    }
}
