//! The values of the signals of a port over time.

use std::collections::HashMap;

use crate::lines::Wrong;
use crate::rvfi::port::{Csr, Port};
use crate::scan::Scan;

use super::header::{Declared, Role};

/// Kind of line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Time,
    Change,
    Declaration,
}

/// The signals of one port, sampled at the rising edge of its clock: registers take the values from before it.
#[derive(Clone, Debug)]
pub(super) struct Values {
    signals: Vec<Slot>,
    /// Place among the signals, by identifier.
    by_code: HashMap<Vec<u8>, usize>,
    channels: u32,
    clock: Vec<u8>,
    /// Everything that changes over time.
    pub(super) state: State,
}

/// Where the bits of a signal are.
#[derive(Clone, Copy, Debug)]
struct Slot {
    role: Role,
    width: u32,
    /// First word.
    word: usize,
}

/// Everything that changes.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct State {
    /// The declarations are over.
    pub(super) in_body: bool,
    /// In a comment that continues.
    in_comment: bool,
    pub(super) time: u64,
    /// The clock rose at this time.
    pub(super) rose: bool,
    clock: Option<bool>,
    /// Bits before this time and now; then those of them that are unknown.
    before: Vec<u64>,
    now: Vec<u64>,
}

impl Values {
    pub(super) fn new(port: &Declared) -> Self {
        let (mut word, mut signals, mut by_code) = (0, Vec::new(), HashMap::new());
        for signal in &port.signals {
            by_code.insert(signal.code.clone(), signals.len());
            signals.push(Slot { role: signal.role, width: signal.width, word });
            // Bits, then those that are unknown.
            word += 2 * signal.width.div_ceil(64) as usize;
        }
        let state = State {
            in_body: false,
            in_comment: false,
            time: 0,
            rose: false,
            clock: None,
            before: vec![u64::MAX; word],
            now: vec![u64::MAX; word],
        };
        Values { signals, by_code, channels: port.channels, clock: port.clock.clone(), state }
    }

    /// Continues from a state of the same port.
    pub(super) fn set_state(&mut self, state: State) {
        let size = self.state.now.len();
        if (state.before.len(), state.now.len()) == (size, size) {
            self.state = state;
        }
    }

    /// Takes in a line that is not a time.
    #[inline]
    pub(super) fn take(&mut self, line: &[u8]) -> Result<Kind, Wrong> {
        if !self.state.in_body {
            self.state.in_body = memchr::memmem::find(line, b"$enddefinitions").is_some();
            return Ok(Kind::Declaration);
        }
        let mut scan = Scan::new(line);
        let mut kind = Kind::Declaration;
        loop {
            scan.blanks();
            if scan.is_end() {
                return Ok(kind);
            }
            if self.state.in_comment {
                self.state.in_comment = scan.word() != b"$end";
                continue;
            }
            match scan.peek() {
                bit @ (b'0' | b'1' | b'x' | b'X' | b'z' | b'Z') => {
                    scan.at += 1;
                    let code = scan.word();
                    if code.is_empty() {
                        return scan.wrong("the identifier of a signal");
                    }
                    self.change(&[bit], code);
                }
                b'b' | b'B' => {
                    scan.at += 1;
                    let start = scan;
                    let bits = scan.word();
                    scan.blanks();
                    let code = scan.word();
                    if code.is_empty() {
                        return scan.wrong("the identifier of a signal");
                    }
                    let is_bit = |bit: &u8| matches!(bit, b'0' | b'1' | b'x' | b'X' | b'z' | b'Z');
                    let wrong = bits.iter().position(|bit| !is_bit(bit));
                    if let Some(n) = wrong.or(bits.is_empty().then_some(0)) {
                        return Err(Wrong { column: start.at + n, expected: "a bit: 0, 1, x or z" });
                    }
                    self.change(bits, code);
                }
                // Numbers and texts are no part of a port.
                b'r' | b'R' | b's' | b'S' => {
                    scan.word();
                    scan.blanks();
                    scan.word();
                }
                b'$' => {
                    let word = scan.word();
                    let known: [&[u8]; 6] =
                        [b"$dumpvars", b"$dumpall", b"$dumpon", b"$dumpoff", b"$end", b"$comment"];
                    if !known.contains(&word) {
                        return scan.wrong("$dumpvars, $dumpall, $dumpon, $dumpoff, $comment or $end");
                    }
                    self.state.in_comment = word == b"$comment";
                    continue;
                }
                _ => return scan.wrong("a change of a signal, a time (#) or a command ($)"),
            }
            kind = Kind::Change;
        }
    }

    /// A signal has new bits, the highest first.
    #[inline]
    fn change(&mut self, bits: &[u8], code: &[u8]) {
        if code == self.clock {
            let now = match bits {
                [.., b'0'] => Some(false),
                [.., b'1'] => Some(true),
                _ => None,
            };
            self.state.rose |= (self.state.clock, now) == (Some(false), Some(true));
            self.state.clock = now;
        }
        let Some(slot) = self.by_code.get(code).map(|n| self.signals[*n]) else { return };
        let words = slot.width.div_ceil(64) as usize;
        let (values, unknown) = self.state.now[slot.word..slot.word + 2 * words].split_at_mut(words);
        // A short value is extended by 0, or by x or z.
        let extended = if matches!(bits.first(), Some(b'0' | b'1')) { 0 } else { u64::MAX };
        values.fill(0);
        unknown.fill(extended);
        for (n, bit) in bits.iter().rev().take(slot.width as usize).enumerate() {
            let (word, place) = (n / 64, 1 << (n % 64));
            unknown[word] &= !place;
            match bit {
                b'0' => {}
                b'1' => values[word] |= place,
                _ => unknown[word] |= place,
            }
        }
    }

    /// The next time begins.
    pub(super) fn step(&mut self, time: u64) {
        let State { before, now, .. } = &mut self.state;
        before.copy_from_slice(now);
        (self.state.rose, self.state.time) = (false, time);
    }

    /// Instructions that may retire in a cycle.
    pub(super) fn channels(&self) -> u32 {
        self.channels
    }

    /// Reads a channel as it was before the edge; false if nothing retired.
    pub(super) fn port(&self, channel: u32, port: &mut Port) -> bool {
        port.csrs.clear();
        *port = Port { csrs: std::mem::take(&mut port.csrs), ..Port::default() };
        for slot in &self.signals {
            let value = self.bits(slot, channel);
            match slot.role {
                Role::Field(field) => port.set(field, value),
                Role::Csr(number, part) => {
                    let place = port.csrs.iter().position(|csr| csr.number == number).unwrap_or_else(|| {
                        port.csrs.push(Csr { number, ..Csr::default() });
                        port.csrs.len() - 1
                    });
                    let csr = &mut port.csrs[place];
                    *[&mut csr.rmask, &mut csr.wmask, &mut csr.rdata, &mut csr.wdata][part] = value;
                }
            }
            if slot.role == Role::Field(0) && value != Some(1) {
                return false;
            }
        }
        true
    }

    /// The bits of a channel; `None` where one is unknown.
    fn bits(&self, slot: &Slot, channel: u32) -> Option<u64> {
        let width = slot.width / self.channels.max(1);
        if width == 0 || width > 64 {
            return None;
        }
        let words = slot.width.div_ceil(64) as usize;
        let (values, unknown) = self.state.before[slot.word..slot.word + 2 * words].split_at(words);
        let first = width * channel;
        let part = |words: &[u64]| {
            let (word, shift) = ((first / 64) as usize, first % 64);
            let low = words[word] >> shift;
            let high = words.get(word + 1).filter(|_| shift > 0).map_or(0, |next| next << (64 - shift));
            trackway_core::mask(low | high, width)
        };
        (part(unknown) == 0).then(|| part(values))
    }
}
