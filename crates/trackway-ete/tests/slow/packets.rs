//! Stage 1: packets to elements, K10.5.2.

use super::*;

impl Decoder<'_> {
    fn byte(&mut self) -> u8 {
        self.at += 1;
        self.bytes[self.at - 1]
    }

    /// K10.5.6.4.1.
    fn pod(&mut self, bytes: u32) -> u64 {
        (0..bytes).fold(0, |value, n| value | u64::from(self.byte()) << (8 * n))
    }

    /// K10.5.6.4.3.
    fn bit_replacement(&mut self, width: u32, original: u64) -> u64 {
        let mut value = original;
        let mut i = 0;
        loop {
            let byte = u64::from(self.byte());
            let mask = 0x7f << i;
            value = value & !mask | (byte & 0x7f) << i;
            i += 7;
            if byte & 0x80 == 0 {
                return value;
            }
            if i >= width - 8 {
                break;
            }
        }
        let byte = u64::from(self.byte());
        value & !(0xff_u64.checked_shl(i).unwrap_or(0)) | byte << i
    }

    fn uleb(&mut self, width: u32) -> u64 {
        self.bit_replacement(width, 0)
    }

    fn add(&mut self, entry: Entry) -> Entry {
        self.history = [entry, self.history[0], self.history[1]];
        entry
    }

    /// K10.5.2.14.2 to K10.5.2.14.7, by the low bits that all headers with addresses share.
    fn address(&mut self, form: u8) -> Entry {
        let last = self.history[0].address;
        let entry = match form {
            0..=2 => self.history[usize::from(form)],
            5 => {
                let bits = self.bit_replacement(15, last >> 2 & 0x7fff) & 0x7fff;
                Entry { address: last & !0x1_ffff | bits << 2, thumb: false }
            }
            6 => {
                let bits = self.bit_replacement(15, last >> 1 & 0x7fff) & 0x7fff;
                Entry { address: last & !0xffff | bits << 1, thumb: true }
            }
            0xa | 0xd => {
                let low = u64::from(self.byte() & 0x7f) << 2 | u64::from(self.byte() & 0x7f) << 9;
                let long = form == 0xd;
                let high = self.pod(if long { 6 } else { 2 }) << 16;
                let kept = if long { 0 } else { last & !0xffff_ffff };
                Entry { address: kept | high | low, thumb: false }
            }
            0xb | 0xe => {
                let low = u64::from(self.byte() & 0x7f) << 1;
                let long = form == 0xe;
                let high = self.pod(if long { 7 } else { 3 }) << 8;
                let kept = if long { 0 } else { last & !0xffff_ffff };
                Entry { address: kept | high | low, thumb: true }
            }
            _ => panic!("no address form {form:#x} at {:#x}", self.at),
        };
        self.add(entry)
    }

    /// K10.5.2.14.9; bit 3 is NSE.
    fn context_bytes(&mut self) {
        let info = self.byte();
        self.context.el = info & 3;
        self.context.sixty_four = info & 0x10 != 0;
        self.context.security = info >> 5 & 1 | info >> 2 & 2;
        if info & 0x40 != 0 {
            self.context.vmid = self.pod(4) as u32;
        }
        if info & 0x80 != 0 {
            self.context.context_id = self.pod(4) as u32;
        }
    }

    /// K10.5.2.2.1.
    pub(super) fn packet(&mut self) {
        let header = self.byte();
        match header {
            0x00 => self.extension(),
            0x01 => self.trace_info(),
            0x02 | 0x03 => {
                self.timestamp = self.bit_replacement(64, self.timestamp);
                if header & 1 == 1 {
                    self.uleb(20);
                }
                self.emit(Element::Timestamp(self.timestamp));
            }
            0x04 => self.emit(Element::TraceOn),
            0x06 => self.exception_packet(),
            // The dispatcher leaves this one out.
            0x09 => {
                self.byte();
                let value = self.pod(8);
                self.emit(Element::Instrumentation(value));
            }
            0x0a => {
                self.t = true;
                self.emit(Element::TransStart);
                if !self.unit.commtrans {
                    self.spec_depth(1);
                }
            }
            0x0b => {
                self.t = false;
                self.emit(Element::TransCommit);
            }
            0x0c..=0x1f => self.cycle_count(header),
            0x2d => {
                let count = self.uleb(32);
                self.commit(count as i64);
                self.depth -= count as i64;
            }
            0x2e | 0x2f => {
                let count = self.uleb(32);
                self.cancel_packet(count as i64, header & 1 == 1);
            }
            0x30..=0x33 => {
                self.few_atoms(header & 3);
                self.emit(Element::Mispredict);
            }
            0x34..=0x37 => {
                self.few_atoms(header & 3);
                self.cancel_packet(1, true);
            }
            0x38..=0x3f => {
                self.few_atoms(header & 1);
                self.cancel_packet(i64::from(header >> 1 & 3) + 2, true);
            }
            0x70 => {}
            0x71..=0x7f => {
                for event in (0..4).filter(|event| header >> event & 1 == 1) {
                    self.emit(Element::Event(event));
                }
            }
            0x80 => self.emit(Element::Context(self.context)),
            0x81 => {
                self.context_bytes();
                self.emit(Element::Context(self.context));
            }
            0x82 | 0x83 | 0x85 | 0x86 => {
                let entry = self.address(header & 7 | 8);
                self.context_bytes();
                self.emit(Element::Context(self.context));
                self.emit(Element::Target(entry));
            }
            0x88 => {}
            0x90..=0x9f => {
                let entry = self.address(header & 0xf);
                self.emit(Element::Target(entry));
            }
            0xa0..=0xaf => {
                let form = header & 0xf;
                let entry = if form < 0xc { Some(self.address(form)) } else { None };
                let count = if form == 0xf { 0 } else { self.uleb(32) };
                self.emit(Element::Q(count));
                self.spec_depth(1);
                if let Some(entry) = entry {
                    self.emit(Element::Target(entry));
                }
            }
            0xb0..=0xb9 => {
                // B4 to B9 have the payloads of 95, 96, 9A, 9B, 9D, 9E.
                let form = [0, 1, 2, 3, 5, 6, 0xa, 0xb, 0xd, 0xe][usize::from(header & 0xf)];
                let entry = self.address(form);
                self.emit(Element::Source(entry));
                self.spec_depth(1);
            }
            0xc0..=0xff => self.atom_packet(header),
            _ => panic!("reserved: {header:#x} at {:#x}", self.at - 1),
        }
    }

    /// K10.5.2.3.1.
    fn extension(&mut self) {
        match self.byte() {
            0x00 => {
                while self.byte() == 0 {}
                assert_eq!(self.bytes[self.at - 1], 0x80);
            }
            0x03 => self.discard(false),
            0x05 => self.discard(true),
            other => panic!("reserved: 00 {other:#x}"),
        }
    }

    fn discard(&mut self, overflow: bool) {
        self.emit(Element::Discard);
        if overflow {
            self.emit(Element::Overflow);
        }
        if self.t {
            self.emit(Element::TransFailure);
        }
        self.t = false;
        self.depth = 0;
    }

    /// K10.5.2.6.
    fn trace_info(&mut self) {
        let plctl = self.byte();
        let info = if plctl & 1 != 0 { self.byte() } else { 0 };
        let spec = if plctl & 4 != 0 { self.uleb(64) } else { 0 };
        let cyct = if plctl & 8 != 0 { self.uleb(64) } else { 0 };
        self.timestamp = 0;
        self.context = Context::default();
        self.history = [Entry::default(); 3];
        self.threshold = if info & 1 == 1 { cyct } else { 0 };
        self.depth = spec as i64;
        self.emit(Element::TraceInfo { depth: self.depth, in_transaction: info & 0x40 != 0 });
    }

    /// K10.5.2.13.
    fn exception_packet(&mut self) {
        let payload = self.byte();
        let e = payload & 1 | payload >> 5 & 2;
        let number = payload >> 1 & 0x1f;
        let header = self.byte();
        let entry = match header {
            0x70 => {
                self.add(Entry::default());
                None
            }
            0x82 | 0x83 | 0x85 | 0x86 => {
                let entry = self.address(header & 7 | 8);
                self.context_bytes();
                // Also with E = 01: the context is the one before the exception.
                self.emit(Element::Context(self.context));
                Some(entry)
            }
            _ => Some(self.address(header & 0xf)),
        };
        if e == 2 {
            self.emit(Element::Target(entry.unwrap()));
        }
        if number == 24 {
            self.t = false;
            // No P0 element: the depth stays.
            return self.emit(Element::TransFailure);
        }
        if number == 0 && self.t {
            self.emit(Element::TransFailure);
            self.t = false;
        }
        self.emit(Element::Exception(number, entry.filter(|_| number != 0 && number != 25)));
        self.spec_depth(1);
    }

    /// K10.5.2.16.2.
    fn cycle_count(&mut self, header: u8) {
        let mut commit = 0;
        let count = match header {
            0x0e | 0x0f => {
                if !self.unit.commopt {
                    commit = self.uleb(32) as i64;
                }
                if header & 1 == 0 { Some(self.uleb(20)) } else { None }
            }
            0x0c | 0x0d => {
                let payload = self.byte();
                let a = i64::from(payload >> 4);
                if !self.unit.commopt {
                    commit = if header & 1 == 1 { self.unit.max_spec + a - 15 } else { a + 1 };
                }
                Some(u64::from(payload & 0xf))
            }
            _ => {
                if !self.unit.commopt {
                    commit = i64::from(header >> 2 & 3) + 1;
                }
                Some(u64::from(header & 3))
            }
        };
        self.commit(commit);
        self.depth -= commit;
        self.emit(Element::Cycles(count.map(|count| count + self.threshold)));
    }

    fn atom(&mut self, taken: bool) {
        self.emit(Element::Atom(taken));
        self.spec_depth(1);
    }

    fn few_atoms(&mut self, which: u8) {
        let atoms: &[bool] = [&[][..], &[true], &[true, true], &[false]][usize::from(which)];
        atoms.iter().for_each(|&taken| self.atom(taken));
    }

    /// K10.5.2.10.
    fn atom_packet(&mut self, header: u8) {
        let atoms: Vec<bool> = match header {
            0xf6 | 0xf7 => vec![header & 1 == 1],
            0xd8..=0xdb => (0..2).map(|n| header >> n & 1 == 1).collect(),
            0xf8..=0xff => (0..3).map(|n| header >> n & 1 == 1).collect(),
            0xdc => vec![false, true, true, true],
            0xdd => vec![false; 4],
            0xde => vec![false, true, false, true],
            0xdf => vec![true, false, true, false],
            0xf5 => vec![false, true, true, true, true],
            0xd5 => vec![false; 5],
            0xd6 => vec![false, true, false, true, false],
            0xd7 => vec![true, false, true, false, true],
            _ => {
                let mut atoms = vec![true; usize::from(header & 0x1f) + 3];
                atoms.push(header & 0x20 == 0);
                atoms
            }
        };
        atoms.into_iter().for_each(|taken| self.atom(taken));
    }

    /// K10.5.2.18.3.
    fn spec_depth(&mut self, count: i64) {
        self.depth += count;
        if self.depth > self.unit.max_spec {
            let over = self.depth - self.unit.max_spec;
            self.commit(over);
            self.depth = self.unit.max_spec;
        }
    }

    fn cancel_packet(&mut self, count: i64, mispredict: bool) {
        self.cancel(count);
        self.depth -= count;
        if mispredict {
            self.emit(Element::Mispredict);
        }
    }
}
