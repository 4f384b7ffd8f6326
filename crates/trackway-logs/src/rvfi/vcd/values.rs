//! The values of the signals of a port over time.

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
    codes: Codes,
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
        let (mut word, mut signals) = (0, Vec::new());
        for signal in &port.signals {
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
        let codes = Codes::new(port.signals.iter().map(|signal| &signal.code[..]));
        Values { signals, codes, channels: port.channels, clock: port.clock.clone(), state }
    }

    /// Continues from a state of the same port.
    pub(super) fn set_state(&mut self, state: State) {
        let size = self.state.now.len();
        if (state.before.len(), state.now.len()) == (size, size) {
            self.state = state;
        }
    }

    /// A time follows, after other changes.
    pub(super) fn enter(&mut self) {
        (self.state.in_body, self.state.in_comment) = (true, false);
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
                    let start = scan.at;
                    let bits = scan.long_word();
                    scan.blanks();
                    let code = scan.word();
                    if code.is_empty() {
                        return scan.wrong("the identifier of a signal");
                    }
                    if !self.change(bits, code) {
                        let column = start + bits.iter().position(|bit| !is_bit(*bit)).unwrap_or(0);
                        return Err(Wrong { column, expected: "a bit: 0, 1, x or z" });
                    }
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

    /// A signal has new bits, the highest first; false if they are none.
    #[inline]
    fn change(&mut self, bits: &[u8], code: &[u8]) -> bool {
        if code == self.clock {
            let now = match bits {
                [.., b'0'] => Some(false),
                [.., b'1'] => Some(true),
                _ => None,
            };
            self.state.rose |= (self.state.clock, now) == (Some(false), Some(true));
            self.state.clock = now;
        }
        let Some(slot) = self.codes.find(code).map(|n| self.signals[n]) else {
            let (eights, rest) = bits.as_chunks();
            return !bits.is_empty()
                && rest.iter().all(|bit| is_bit(*bit))
                && eights
                    .iter()
                    .all(|eight| eight_bits(*eight).is_some() || eight.iter().all(|bit| is_bit(*bit)));
        };
        let words = slot.width.div_ceil(64) as usize;
        let (values, unknown) = self.state.now[slot.word..slot.word + 2 * words].split_at_mut(words);
        values.fill(0);
        unknown.fill(0);
        let (mut rest, mut place) = (bits, 0);
        while let Some((more, eight)) = rest.split_last_chunk() {
            let (Some(bits), true) = (eight_bits(*eight), place < slot.width) else { break };
            values[place as usize / 64] |= bits << (place % 64);
            (rest, place) = (more, place + 8);
        }
        for (n, bit) in (place..).zip(rest.iter().rev()) {
            if !is_bit(*bit) {
                return false;
            }
            let Some(word) = Some(n as usize / 64).filter(|word| *word < words) else { continue };
            let set = |words: &mut [u64], bit: bool| {
                words[word] = words[word] & !(1 << (n % 64)) | u64::from(bit) << (n % 64);
            };
            set(values, *bit == b'1');
            set(unknown, !matches!(bit, b'0' | b'1'));
        }
        // A short value is extended by 0, or by x or z.
        if let Some(b'x' | b'X' | b'z' | b'Z') = bits.first() {
            let (full, part) = (bits.len() / 64, bits.len() % 64);
            let mut above = unknown.iter_mut().skip(full);
            if let Some(word) = above.next() {
                *word |= u64::MAX << part;
            }
            above.for_each(|word| *word = u64::MAX);
        }
        !bits.is_empty()
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

fn is_bit(bit: u8) -> bool {
    matches!(bit, b'0' | b'1' | b'x' | b'X' | b'z' | b'Z')
}

/// The value of eight known bits.
#[inline(always)]
fn eight_bits(digits: [u8; 8]) -> Option<u64> {
    let digits = u64::from_be_bytes(digits) ^ 0x3030_3030_3030_3030;
    // The product gathers bit 0 of each byte in its highest byte, each at its place.
    (digits & !0x0101_0101_0101_0101 == 0).then(|| digits.wrapping_mul(0x0102_0408_1020_4080) >> 56)
}

/// Places of signals by their identifiers. A simulation has thousands of others: most are turned away by one look.
#[derive(Clone, Debug)]
struct Codes {
    codes: Vec<Vec<u8>>,
    /// Place of a signal plus one, by a hash of its identifier; the next free one where it is taken. Its length is a
    /// power of two.
    table: Vec<u16>,
}

impl Codes {
    fn new<'c>(codes: impl Iterator<Item = &'c [u8]>) -> Self {
        let codes: Vec<Vec<u8>> = codes.map(<[u8]>::to_vec).collect();
        let mut all = Codes { table: vec![0; (16 * codes.len()).next_power_of_two()], codes };
        for n in 0..all.codes.len() {
            let mut at = all.start(&all.codes[n]);
            while all.table[at] != 0 {
                at = (at + 1) & (all.table.len() - 1);
            }
            all.table[at] = n as u16 + 1;
        }
        all
    }

    #[inline(always)]
    fn start(&self, code: &[u8]) -> usize {
        let key = code.iter().fold(0u32, |key, byte| key.wrapping_mul(0x61) ^ u32::from(*byte));
        (key.wrapping_mul(0x9e37_79b1) >> 8) as usize & (self.table.len() - 1)
    }

    #[inline(always)]
    fn find(&self, code: &[u8]) -> Option<usize> {
        let mut at = self.start(code);
        loop {
            let n = usize::from(self.table[at]).checked_sub(1)?;
            if self.codes[n] == code {
                return Some(n);
            }
            at = (at + 1) & (self.table.len() - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::Signal;
    use super::*;

    #[test]
    fn eight_digits_are_a_byte() {
        for byte in 0..=255u8 {
            let digits: [u8; 8] = format!("{byte:08b}").into_bytes().try_into().unwrap();
            assert_eq!(eight_bits(digits), Some(byte.into()));
            for n in 0..8 {
                for other in [b'x', b'2', b'/', 0xb0] {
                    let mut digits = digits;
                    digits[n] = other;
                    assert_eq!(eight_bits(digits), None);
                }
            }
        }
    }

    /// Widths, lengths, unknown bits and identifiers of any kind, against one bit at a time.
    #[test]
    fn bits_are_those_of_the_text() {
        let code = |n: usize| if n < 90 { vec![33 + n as u8] } else { vec![33 + (n % 90) as u8; 1 + n / 90] };
        let signals = (0..300).map(|n| Signal { code: code(n), width: 1 + n as u32, role: Role::Field(1) });
        let clock = b"clock".to_vec();
        let port = Declared {
            scope: String::new(),
            signals: signals.collect(),
            channels: 1,
            clock,
            clock_name: String::new(),
            xlen: 64,
        };
        let mut values = Values::new(&port);
        values.state.in_body = true;
        let mut seed = 1u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (seed >> 33) % below
        };
        for _ in 0..20_000 {
            let n = random(300) as usize;
            let choices: &[u8] = if random(4) == 0 { b"01xZ" } else { b"01" };
            let bits: Vec<u8> =
                (0..1 + random(340)).map(|_| choices[random(choices.len() as u64) as usize]).collect();
            let line = [b"b", &bits[..], b" ", &code(n)].concat();
            assert_eq!(values.take(&line).unwrap(), Kind::Change);
            let slot = values.signals[n];
            let words = slot.width.div_ceil(64) as usize;
            for place in 0..slot.width as usize {
                let first = if matches!(bits[0], b'0' | b'1') { b'0' } else { b'x' };
                let bit = if place < bits.len() { bits[bits.len() - 1 - place] } else { first };
                let at = |word: usize| values.state.now[slot.word + word + place / 64] >> (place % 64) & 1;
                assert_eq!(
                    (at(0), at(words)),
                    (u64::from(bit == b'1'), u64::from(!matches!(bit, b'0' | b'1')))
                );
            }
        }
        assert_eq!(values.take(b"b0102 !").unwrap_err().column, 4);
        assert_eq!(values.take(b"b01x2 other").unwrap_err().column, 4);
    }
}
