//! A trace as gdbstub's target: registers, memory, breakpoints and moves of its sources.

use std::ops::Range;
use std::time::{Duration, Instant};

use gdbstub::common::{Signal, Tid};
use gdbstub::conn::ConnectionExt;
use gdbstub::stub::MultiThreadStopReason;
use gdbstub::stub::run_blocking::{BlockingEventLoop, Event, WaitForStopReasonError};
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::base::multithread::{
    MultiThreadBase, MultiThreadResume, MultiThreadResumeOps, MultiThreadSchedulerLocking,
    MultiThreadSchedulerLockingOps, MultiThreadSingleStep, MultiThreadSingleStepOps,
};
use gdbstub::target::ext::base::reverse_exec::{
    ReplayLogPosition, ReverseCont, ReverseContOps, ReverseStep, ReverseStepOps,
};
use gdbstub::target::ext::base::single_register_access::{SingleRegisterAccess, SingleRegisterAccessOps};
use gdbstub::target::ext::breakpoints::{
    Breakpoints, BreakpointsOps, HwBreakpoint, HwBreakpointOps, HwWatchpoint, HwWatchpointOps, SwBreakpoint,
    SwBreakpointOps, WatchKind,
};
use gdbstub::target::ext::monitor_cmd::MonitorCmdOps;
use gdbstub::target::ext::target_description_xml_override::{
    TargetDescriptionXmlOverride, TargetDescriptionXmlOverrideOps,
};
use gdbstub::target::ext::thread_extra_info::{ThreadExtraInfo, ThreadExtraInfoOps};
use gdbstub::target::{TargetError, TargetResult};
use trackway::Error;
use trackway_tools::past::Piece;
use trackway_tools::replay::{Direction, Replay, Session, Stop, Stops, Watch};

use crate::connection::Connection;
use crate::registers::{Contents, File, Number, OfTrace};

/// A session, with the breakpoints of the debugger.
pub(crate) struct Target<'t> {
    pub(crate) session: &'t mut Session,
    file: File,
    stops: Stops,
    next: Option<(Direction, bool)>,
    /// Watched memory before and after the access that stopped a move: source and position, address, content.
    watched: Vec<((usize, u64), u64, Vec<u8>)>,
}

/// Most bytes of memory in an answer.
const MOST: usize = 1 << 12;

/// Time to search for the content of memory: gdb waits two seconds for an answer.
const PATIENCE: Duration = Duration::from_millis(1200);

/// Errno that gdb shows for what cannot be changed or is not known.
const NOT_PERMITTED: u8 = 1;
const FAULT: u8 = 14;

impl<'t> Target<'t> {
    pub(crate) fn new(session: &'t mut Session) -> Self {
        let file = File::of(session.replay().isa());
        Target { session, file, stops: Stops::default(), next: None, watched: Vec::new() }
    }

    fn replay(&mut self) -> &mut Replay {
        self.session.replay()
    }

    /// Carries out the move that was asked for.
    fn go(&mut self, connection: &mut Connection) -> Result<MultiThreadStopReason<u64>, Error> {
        // Without an action of its own a thread continues.
        let (direction, is_step) = self.next.take().unwrap_or((Direction::Forwards, false));
        if let Some(thread) =
            connection.resumed.filter(|_| (direction, is_step) == (Direction::Backwards, false))
        {
            self.session.choose(thread - 1);
        }
        let tid = tid(self.session.current());
        let stops = std::mem::take(&mut self.stops);
        let stop = if is_step {
            self.replay().step(direction)
        } else {
            let interrupted = || matches!(connection.peek(), Ok(Some(_)) | Err(_));
            self.replay().resume(direction, &stops, interrupted)
        };
        self.stops = stops;
        Ok(match stop? {
            Stop::Done => MultiThreadStopReason::SignalWithThread { tid, signal: Signal::SIGTRAP },
            Stop::Cancelled => MultiThreadStopReason::SignalWithThread { tid, signal: Signal::SIGINT },
            Stop::Code => MultiThreadStopReason::SwBreak(tid),
            Stop::Data(watch) => {
                // On these architectures gdb expects the stop before the access, and steps over it.
                let now = self.replay().now();
                let (before, after) =
                    if direction == Direction::Forwards { (now - 1, now) } else { (now, now + 1) };
                self.look(&watch, [before, after], || !matches!(connection.peek(), Ok(Some(_)) | Err(_)))?;
                self.replay().go(if direction == Direction::Forwards { before } else { after })?;
                MultiThreadStopReason::Watch { tid, kind: kind(&watch), addr: watch.range.start }
            }
            Stop::Begin => MultiThreadStopReason::ReplayLog { tid: Some(tid), pos: ReplayLogPosition::Begin },
            Stop::End => MultiThreadStopReason::ReplayLog { tid: Some(tid), pos: ReplayLogPosition::End },
        })
    }

    /// Reads watched memory at two positions while gdb waits for a stop as long as it takes: it stops only if it sees
    /// the value change, and for that it waits two seconds.
    fn look(
        &mut self,
        watch: &Watch,
        positions: [u64; 2],
        mut patience: impl FnMut() -> bool,
    ) -> Result<(), Error> {
        let Range { start, end } = watch.range;
        self.watched.clear();
        for position in positions {
            self.replay().go(position)?;
            let pieces = self.replay().memory(start, (end - start).min(MOST as u64), &mut patience)?;
            let content = known(pieces.unwrap_or_default());
            self.watched.push(((self.session.current(), position), start, content));
        }
        Ok(())
    }

    fn watch(addr: u64, len: u64, kind: WatchKind) -> Watch {
        let (reads, writes) = match kind {
            WatchKind::Write => (false, true),
            WatchKind::Read => (true, false),
            WatchKind::ReadWrite => (true, true),
        };
        Watch { range: addr..addr.saturating_add(len.max(1)), reads, writes }
    }
}

/// The content of the first pieces, up to one that is unknown.
fn known(pieces: Vec<Piece>) -> Vec<u8> {
    pieces.into_iter().map_while(|piece| piece.content).flatten().collect()
}

fn kind(watch: &Watch) -> WatchKind {
    match (watch.reads, watch.writes) {
        (true, true) => WatchKind::ReadWrite,
        (true, false) => WatchKind::Read,
        _ => WatchKind::Write,
    }
}

/// Threads are numbered from 1.
fn tid(place: usize) -> Tid {
    Tid::new(place + 1).unwrap_or(Tid::MIN)
}

fn place(tid: Tid) -> usize {
    tid.get() - 1
}

impl gdbstub::target::Target for Target<'_> {
    type Arch = OfTrace;
    type Error = Error;

    fn base_ops(&mut self) -> BaseOps<'_, OfTrace, Error> {
        BaseOps::MultiThread(self)
    }

    fn support_breakpoints(&mut self) -> Option<BreakpointsOps<'_, Self>> {
        Some(self)
    }

    fn support_monitor_cmd(&mut self) -> Option<MonitorCmdOps<'_, Self>> {
        Some(self)
    }

    fn support_target_description_xml_override(
        &mut self,
    ) -> Option<TargetDescriptionXmlOverrideOps<'_, Self>> {
        Some(self)
    }
}

impl TargetDescriptionXmlOverride for Target<'_> {
    fn target_description_xml(
        &self,
        annex: &[u8],
        offset: u64,
        length: usize,
        buf: &mut [u8],
    ) -> TargetResult<usize, Self> {
        if annex != b"target.xml" {
            return Err(TargetError::NonFatal);
        }
        let rest = self.file.xml.as_bytes().get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(length).min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

impl MultiThreadBase for Target<'_> {
    fn read_registers(&mut self, regs: &mut Contents, tid: Tid) -> TargetResult<(), Self> {
        let Target { session, file, .. } = self;
        let replay = session.replay_of(place(tid));
        let pc = replay.pc().map_err(TargetError::Fatal)?;
        let point = replay.point().map_err(TargetError::Fatal)?;
        let isa = point.next.map_or(point.machine.isa, |next| next.isa);
        file.contents(&point.machine, pc, isa, regs);
        Ok(())
    }

    fn write_registers(&mut self, _: &Contents, _: Tid) -> TargetResult<(), Self> {
        Err(TargetError::Errno(NOT_PERMITTED))
    }

    fn read_addrs(&mut self, start_addr: u64, data: &mut [u8], tid: Tid) -> TargetResult<usize, Self> {
        let length = data.len().min(MOST);
        let replay = self.session.replay_of(place(tid));
        let here = (place(tid), replay.now());
        let seen = self.watched.iter().find_map(|(position, address, content)| {
            let from = usize::try_from(start_addr.checked_sub(*address)?).ok()?;
            content.get(from..from.checked_add(length)?).filter(|_| *position == here)
        });
        let content = match seen {
            Some(content) => content.to_vec(),
            None => {
                let start = Instant::now();
                let patience = || start.elapsed() < PATIENCE;
                let pieces =
                    replay.memory(start_addr, length as u64, patience).map_err(TargetError::Fatal)?;
                known(pieces.unwrap_or_default())
            }
        };
        let count = content.len();
        data[..count].copy_from_slice(&content);
        if count == 0 && !data.is_empty() { Err(TargetError::Errno(FAULT)) } else { Ok(count) }
    }

    fn write_addrs(&mut self, _: u64, _: &[u8], _: Tid) -> TargetResult<(), Self> {
        Err(TargetError::Errno(NOT_PERMITTED))
    }

    fn list_active_threads(&mut self, thread_is_active: &mut dyn FnMut(Tid)) -> Result<(), Error> {
        (0..self.session.threads().len()).for_each(|place| thread_is_active(tid(place)));
        Ok(())
    }

    fn support_resume(&mut self) -> Option<MultiThreadResumeOps<'_, Self>> {
        Some(self)
    }

    fn support_single_register_access(&mut self) -> Option<SingleRegisterAccessOps<'_, Tid, Self>> {
        Some(self)
    }

    fn support_thread_extra_info(&mut self) -> Option<ThreadExtraInfoOps<'_, Self>> {
        Some(self)
    }
}

/// Lldb reads registers one by one; an error is its way to say that one is unavailable.
impl SingleRegisterAccess<Tid> for Target<'_> {
    fn read_register(&mut self, tid: Tid, number: Number, buf: &mut [u8]) -> TargetResult<usize, Self> {
        let Target { session, file, .. } = self;
        let replay = session.replay_of(place(tid));
        let pc = replay.pc().map_err(TargetError::Fatal)?;
        let point = replay.point().map_err(TargetError::Fatal)?;
        let isa = point.next.map_or(point.machine.isa, |next| next.isa);
        let bytes = file.one(number, &point.machine, pc, isa).ok_or(TargetError::Errno(FAULT))?;
        let place = buf.get_mut(..bytes.len()).ok_or(TargetError::NonFatal)?;
        place.copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    fn write_register(&mut self, _: Tid, _: Number, _: &[u8]) -> TargetResult<(), Self> {
        Err(TargetError::Errno(NOT_PERMITTED))
    }
}

impl ThreadExtraInfo for Target<'_> {
    fn thread_extra_info(&self, tid: Tid, buf: &mut [u8]) -> Result<usize, Error> {
        let threads = self.session.threads();
        let thread = &threads[place(tid).min(threads.len() - 1)];
        let text = format!("{} at {}", thread.name, thread.replay.now());
        let text = text.trim_start();
        let count = text.len().min(buf.len());
        buf[..count].copy_from_slice(&text.as_bytes()[..count]);
        Ok(count)
    }
}

impl MultiThreadResume for Target<'_> {
    fn resume(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn clear_resume_actions(&mut self) -> Result<(), Error> {
        self.next = None;
        Ok(())
    }

    /// One source moves at a time: a step names it, and a continuation with `set scheduler-locking on`; else the last
    /// one moves.
    fn set_resume_action_continue(&mut self, tid: Tid, _: Option<Signal>) -> Result<(), Error> {
        if self.next.is_none() {
            self.session.choose(place(tid));
            self.next = Some((Direction::Forwards, false));
        }
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<MultiThreadSingleStepOps<'_, Self>> {
        Some(self)
    }

    fn support_scheduler_locking(&mut self) -> Option<MultiThreadSchedulerLockingOps<'_, Self>> {
        Some(self)
    }

    fn support_reverse_step(&mut self) -> Option<ReverseStepOps<'_, Tid, Self>> {
        Some(self)
    }

    fn support_reverse_cont(&mut self) -> Option<ReverseContOps<'_, Tid, Self>> {
        Some(self)
    }
}

/// One source moves at a time anyway.
impl MultiThreadSchedulerLocking for Target<'_> {
    fn set_resume_action_scheduler_lock(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

impl MultiThreadSingleStep for Target<'_> {
    fn set_resume_action_step(&mut self, tid: Tid, _: Option<Signal>) -> Result<(), Error> {
        self.session.choose(place(tid));
        self.next = Some((Direction::Forwards, true));
        Ok(())
    }
}

impl ReverseStep<Tid> for Target<'_> {
    fn reverse_step(&mut self, tid: Tid) -> Result<(), Error> {
        self.session.choose(place(tid));
        self.next = Some((Direction::Backwards, true));
        Ok(())
    }
}

impl ReverseCont<Tid> for Target<'_> {
    fn reverse_cont(&mut self) -> Result<(), Error> {
        self.next = Some((Direction::Backwards, false));
        Ok(())
    }
}

impl Breakpoints for Target<'_> {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_breakpoint(&mut self) -> Option<HwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Self>> {
        Some(self)
    }
}

impl SwBreakpoint for Target<'_> {
    fn add_sw_breakpoint(&mut self, addr: u64, _: usize) -> TargetResult<bool, Self> {
        self.stops.code.insert(addr);
        Ok(true)
    }

    fn remove_sw_breakpoint(&mut self, addr: u64, _: usize) -> TargetResult<bool, Self> {
        Ok(self.stops.code.remove(&addr))
    }
}

impl HwBreakpoint for Target<'_> {
    fn add_hw_breakpoint(&mut self, addr: u64, kind: usize) -> TargetResult<bool, Self> {
        self.add_sw_breakpoint(addr, kind)
    }

    fn remove_hw_breakpoint(&mut self, addr: u64, kind: usize) -> TargetResult<bool, Self> {
        self.remove_sw_breakpoint(addr, kind)
    }
}

impl HwWatchpoint for Target<'_> {
    /// A trace without memory accesses cannot be stopped by them.
    fn add_hw_watchpoint(&mut self, addr: u64, len: u64, kind: WatchKind) -> TargetResult<bool, Self> {
        if self.replay().trace().meta().flow_only {
            return Ok(false);
        }
        self.stops.data.push(Self::watch(addr, len, kind));
        Ok(true)
    }

    fn remove_hw_watchpoint(&mut self, addr: u64, len: u64, kind: WatchKind) -> TargetResult<bool, Self> {
        let watch = Self::watch(addr, len, kind);
        let place = self.stops.data.iter().position(|one| *one == watch);
        Ok(place.map(|place| self.stops.data.remove(place)).is_some())
    }
}

/// Carries out moves while the connection is looked at for an interrupt.
pub(crate) struct Moves<'t>(std::marker::PhantomData<&'t ()>);

impl<'t> BlockingEventLoop for Moves<'t> {
    type Target = Target<'t>;
    type Connection = Connection;
    type StopReason = MultiThreadStopReason<u64>;

    fn wait_for_stop_reason(
        target: &mut Target<'t>,
        connection: &mut Connection,
    ) -> Result<Event<Self::StopReason>, WaitForStopReasonError<Error, std::io::Error>> {
        // The byte of an interrupt is read by the protocol, which asks for the stop.
        let reason = target.go(connection).map_err(WaitForStopReasonError::Target)?;
        let cancelled =
            matches!(reason, MultiThreadStopReason::SignalWithThread { signal: Signal::SIGINT, .. });
        if cancelled {
            let byte = connection.read().map_err(WaitForStopReasonError::Connection)?;
            return Ok(Event::IncomingData(byte));
        }
        Ok(Event::TargetStopped(reason))
    }

    fn on_interrupt(target: &mut Target<'t>) -> Result<Option<Self::StopReason>, Error> {
        let tid = tid(target.session.current());
        Ok(Some(MultiThreadStopReason::SignalWithThread { tid, signal: Signal::SIGINT }))
    }
}
