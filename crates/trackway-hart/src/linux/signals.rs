//! Signals: which are pending, blocked and handled.

/// Process id, and thread id.
pub(super) const PID: u64 = 1000;

pub(super) const SIGILL: u8 = 4;
pub(super) const SIGTRAP: u8 = 5;
pub(super) const SIGBUS: u8 = 7;
pub(super) const SIGKILL: u8 = 9;
pub(super) const SIGSEGV: u8 = 11;
const SIGSTOP: u8 = 19;

pub(super) const SA_ONSTACK: u64 = 0x0800_0000;
pub(super) const SA_NODEFER: u64 = 0x4000_0000;
pub(super) const SA_RESETHAND: u64 = 0x8000_0000;

/// The action for a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Action {
    /// 0 default, 1 ignore, else an address.
    pub(super) handler: u64,
    pub(super) flags: u64,
    pub(super) mask: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) signal: u8,
    pub(super) code: i32,
    /// Faulting address, or the sender's process id.
    pub(super) value: u64,
    pub(super) forced: bool,
}

/// The signal state of a process.
#[derive(Debug)]
pub(super) struct Signals {
    pub(super) actions: [Action; 65],
    pub(super) blocked: u64,
    pending: Vec<Pending>,
    /// Alternate stack: pointer, flags, size.
    pub(super) alternate: (u64, u32, u64),
}

impl Default for Signals {
    fn default() -> Self {
        Self { actions: [Action::default(); 65], blocked: 0, pending: Vec::new(), alternate: (0, 2, 0) }
    }
}

/// Signals whose default is to do nothing: SIGCHLD, SIGCONT, SIGURG, SIGWINCH.
pub(super) const IGNORED: u64 = 1 << 16 | 1 << 17 | 1 << 22 | 1 << 27;

pub(super) const fn bit(signal: u8) -> u64 {
    1 << (signal - 1)
}

impl Signals {
    /// A signal that an instruction raised; it cannot be blocked.
    pub(super) fn force(&mut self, signal: u8, code: i32, value: u64) {
        self.pending.push(Pending { signal, code, value, forced: true });
    }

    /// A signal that the process sent to itself.
    pub(super) fn send(&mut self, signal: u8, code: i32) {
        let queued = self.pending.iter().any(|pending| pending.signal == signal);
        if !queued || signal >= 32 {
            self.pending.push(Pending { signal, code, value: PID, forced: false });
        }
    }

    /// Pending signals as a mask.
    pub(super) fn pending(&self) -> u64 {
        self.pending.iter().fold(0, |mask, pending| mask | bit(pending.signal))
    }

    pub(super) fn next(&mut self) -> Option<Pending> {
        let unstoppable = bit(SIGKILL) | bit(SIGSTOP);
        let ready =
            |pending: &Pending| pending.forced || bit(pending.signal) & (self.blocked & !unstoppable) == 0;
        let at = self.pending.iter().position(ready)?;
        Some(self.pending.remove(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocked_signals_wait_and_forced_ones_do_not() {
        let mut signals = Signals { blocked: bit(10) | bit(SIGSEGV) | bit(SIGKILL), ..Signals::default() };
        signals.send(10, 0);
        signals.send(10, 0);
        signals.send(12, 0);
        assert_eq!(signals.pending(), bit(10) | bit(12));
        signals.force(SIGSEGV, 1, 0x1234);
        signals.send(SIGKILL, 0);
        let mut next = || signals.next().map(|pending| pending.signal);
        assert_eq!([next(), next(), next(), next()], [Some(12), Some(SIGSEGV), Some(SIGKILL), None]);
        signals.blocked = 0;
        let mut next = || signals.next().map(|pending| pending.signal);
        assert_eq!([next(), next()], [Some(10), None], "a standard signal is queued once");
    }
}
