//! The sources of a trace under a debugger.

use super::Replay;

/// A source of a trace: a thread of the debugger.
#[derive(Debug)]
pub struct Thread {
    /// Its name; empty where the trace has one source only.
    pub name: String,
    /// Its position.
    pub replay: Replay,
}

/// The sources of a trace. One moves at a time; the others stay where they are.
#[derive(Debug)]
pub struct Session {
    pub(super) threads: Vec<Thread>,
    pub(super) current: usize,
}

/// The end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The debugger let go: it may come back.
    Detached,
    /// The debugger ended the session, or the connection was closed.
    Killed,
}

/// Why a session broke.
#[derive(Debug)]
pub enum Broken {
    /// The trace cannot be read any more.
    Trace(trackway::Error),
    /// The debugger cannot be reached any more, or does not speak its protocol.
    Connection(std::io::Error),
}

impl Session {
    /// `None` without a source.
    pub fn new(threads: Vec<Thread>) -> Option<Self> {
        (!threads.is_empty()).then_some(Session { threads, current: 0 })
    }

    /// The sources.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// The place of the source that moves.
    pub fn current(&self) -> usize {
        self.current
    }

    /// Lets another source move; the last one where there are fewer.
    pub fn choose(&mut self, place: usize) {
        self.current = place.min(self.threads.len() - 1);
    }

    /// The position of the source that moves.
    pub fn replay(&mut self) -> &mut Replay {
        &mut self.threads[self.current].replay
    }

    /// The position of a source.
    pub fn replay_of(&mut self, place: usize) -> &mut Replay {
        let last = self.threads.len() - 1;
        &mut self.threads[place.min(last)].replay
    }
}
