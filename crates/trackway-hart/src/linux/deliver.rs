//! Delivering signals: the frame that a handler gets, and the return from it.

use super::process::{Kernel, Process, Status};
use super::signals::{Action, IGNORED, Pending, SA_NODEFER, SA_ONSTACK, SA_RESETHAND, SIGSEGV, bit};
use crate::csr;

/// Offsets in the frame of a handler: `siginfo`, then `ucontext`, in it the registers.
const INFO: u64 = 128;

impl Process {
    /// Bytes of a register in a frame.
    fn word(&self) -> u64 {
        if self.is_rv32() { 4 } else { 8 }
    }

    /// Offset of the registers in a frame: flags, link, stack, mask padded to 128 bytes, aligned to 16.
    fn context_offset(&self) -> u64 {
        INFO + (5 * self.word() + 128).next_multiple_of(16)
    }

    /// Delivers the next signal that is due.
    pub(super) fn deliver(&mut self) -> Option<Kernel> {
        loop {
            let pending = self.signals.next()?;
            let mut action = self.signals.actions[usize::from(pending.signal)];
            let masked = pending.forced && bit(pending.signal) & self.signals.blocked != 0;
            if pending.forced && (action.handler == 1 || masked) {
                action.handler = 0;
            }
            match action.handler {
                1 => continue,
                0 if bit(pending.signal) & IGNORED != 0 && !pending.forced => continue,
                0 => {
                    self.status = Status::Killed(pending.signal);
                    return Some(Kernel::End);
                }
                _ if !self.enter_handler(pending, action) => {
                    self.status = Status::Killed(SIGSEGV);
                    return Some(Kernel::End);
                }
                _ => return Some(Kernel::Signal { number: pending.signal }),
            }
        }
    }

    fn enter_handler(&mut self, pending: Pending, action: Action) -> bool {
        let word = self.word();
        let context = self.context_offset();
        let size = (context + 32 * word + 32 * 8 + 8).next_multiple_of(16);
        let (alternate, flags, length) = self.signals.alternate;
        let mut sp = self.hart.state.x[2];
        let on_alternate = sp.wrapping_sub(alternate) < length;
        if action.flags & SA_ONSTACK != 0 && flags & 2 == 0 && !on_alternate {
            sp = alternate.wrapping_add(length);
        }
        let frame = sp.wrapping_sub(size) & !15;

        let mut bytes = vec![0; size as usize];
        let mut put = |at: u64, value: u64, size: u64| {
            let at = at as usize;
            bytes[at..at + size as usize].copy_from_slice(&value.to_le_bytes()[..size as usize]);
        };
        put(0, pending.signal.into(), 4);
        put(8, pending.code as u32 as u64, 4);
        put(if word == 8 { 16 } else { 12 }, pending.value, if pending.code <= 0 { 4 } else { word });
        put(INFO + 2 * word, alternate, word);
        put(INFO + 3 * word, flags.into(), 4);
        put(INFO + 4 * word, length, word);
        put(INFO + 5 * word, self.signals.blocked, 8);
        let state = &self.hart.state;
        put(context, state.pc, word);
        for n in 1..32 {
            put(context + n as u64 * word, state.x[n], word);
        }
        for n in 0..32 {
            put(context + 32 * word + 8 * n as u64, state.f[n], 8);
        }
        let fcsr = u64::from(state.csr.frm) << 5 | u64::from(state.csr.fflags);
        put(context + 32 * word + 256, fcsr, 4);
        if !self.put(frame, &bytes) {
            return false;
        }
        let hart = &mut self.hart;
        hart.set_x(1, self.layout.sigreturn);
        hart.set_x(2, frame);
        hart.set_x(10, pending.signal.into());
        hart.set_x(11, frame);
        hart.set_x(12, frame + INFO);
        hart.set_pc(action.handler);
        self.signals.blocked |= action.mask;
        if action.flags & SA_NODEFER == 0 {
            self.signals.blocked |= bit(pending.signal);
        }
        if action.flags & SA_RESETHAND != 0 {
            self.signals.actions[usize::from(pending.signal)].handler = 0;
        }
        true
    }

    /// `rt_sigreturn`: restores what the frame holds.
    pub(super) fn leave_handler(&mut self) -> Kernel {
        let word = self.word();
        let context = self.context_offset();
        let frame = self.hart.state.x[2];
        let mut bytes = vec![0; (context + 32 * word + 264) as usize];
        if !self.memory.read_bytes(frame, &mut bytes) {
            self.signals.force(SIGSEGV, 1, frame);
            return Kernel::End;
        }
        let get = |at: u64, size: u64| {
            let mut value = [0; 8];
            value[..size as usize].copy_from_slice(&bytes[at as usize..(at + size) as usize]);
            u64::from_le_bytes(value)
        };
        self.signals.blocked = get(INFO + 5 * word, 8);
        let hart = &mut self.hart;
        hart.set_pc(get(context, word));
        for n in 1..32 {
            hart.set_x(n, get(context + u64::from(n) * word, word));
        }
        for n in 0..32 {
            hart.set_f(n, get(context + 32 * word + 8 * u64::from(n), 8));
        }
        hart.set_csr(csr::FCSR, get(context + 32 * word + 256, 4));
        Kernel::Return
    }
}
