//! A slow decoder of ETE, written from the pseudocode of K10.5 and from nothing of Trackway's decoder: no packet
//! types, no block tables, one element and one instruction at a time. Where the pseudocode cannot be meant as
//! it is printed, a comment says what is done.
#![allow(dead_code)] // each test uses a part of it

mod instruction;

use std::collections::VecDeque;
use std::sync::Arc;

use trackway_core::{Context as View, Isa};
use trackway_ete::Config;
use trackway_image::Image;

use instruction::instruction;

/// What must be known of the unit (table K10-1, and TRCCONFIGR.RS).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    pub(crate) max_spec: i64,
    pub(crate) commopt: bool,
    pub(crate) commtrans: bool,
    pub(crate) wfx: bool,
    pub(crate) return_stack: bool,
}

/// Decodes a whole stream of a unit, with the memory that everyone sees as the program.
pub(crate) fn decode_with(config: &Config, bytes: &[u8], image: &Arc<Image>) -> Vec<Out> {
    let unit = Unit {
        max_spec: config.max_spec.into(),
        commopt: config.dialect.commopt,
        commtrans: !config.start_is_p0,
        wfx: config.wfx_is_p0,
        return_stack: config.return_stack,
    };
    let memory = image.memory(&View::default());
    let fetch = |sixty_four, thumb, address| {
        let isa = if sixty_four { Isa::A64 } else { [Isa::A32, Isa::T32][usize::from(thumb)] };
        memory.fetch(isa, address)
    };
    decode(unit, bytes, &fetch)
}

/// The instructions of [`decode_with`] only.
pub(crate) fn pcs(config: &Config, bytes: &[u8], image: &Arc<Image>) -> Vec<u64> {
    let pc = |out| if let Out::Instruction(pc, ..) = out { Some(pc) } else { None };
    decode_with(config, bytes, image).into_iter().filter_map(pc).collect()
}

/// What comes out, in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Out {
    /// An instruction: where, at which level, with which context identifier.
    Instruction(u64, u8, u32),
    /// An exception: type, and preferred return address.
    Exception(u8, Option<u64>),
    Cycles(Option<u64>),
    Timestamp(u64),
    Event(u8),
    Instrumentation(u64),
    /// A transaction started (0), committed (1) or failed (2).
    Transaction(u8),
    TraceOn,
    Discard,
    Overflow,
    /// A Q element: instructions and what follows is not followed here.
    Q(u64),
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Entry {
    address: u64,
    thumb: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Context {
    context_id: u32,
    vmid: u32,
    el: u8,
    security: u8,
    sixty_four: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Element {
    TraceInfo { depth: i64, in_transaction: bool },
    TraceOn,
    Atom(bool),
    Exception(u8, Option<Entry>),
    Q(u64),
    Source(Entry),
    Target(Entry),
    Context(Context),
    Mispredict,
    Cycles(Option<u64>),
    Timestamp(u64),
    Event(u8),
    Instrumentation(u64),
    TransStart,
    TransCommit,
    TransFailure,
    Discard,
    Overflow,
}

/// K10.5.5.18.5: what an instruction is.
#[derive(Clone, Copy, Debug)]
struct Inst {
    size: u64,
    kind: Kind,
    link: bool,
    /// Where a direct branch goes, and whether that is T32.
    target: Entry,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Direct,
    Indirect,
    /// WFX, ISB, TSTART: P0 instructions that go on behind themselves.
    Wait,
    Other,
}

/// The program image: the instruction at an address, for A64 (`false, false`), A32 and T32, and its size.
type Fetch<'a> = &'a dyn Fn(bool, bool, u64) -> Option<(u32, u8)>;

pub(crate) struct Decoder<'a> {
    unit: Unit,
    fetch: Fetch<'a>,
    bytes: &'a [u8],
    at: usize,
    pub(crate) out: Vec<Out>,
    // Stage 1, K10.5.2.1.1.
    timestamp: u64,
    history: [Entry; 3],
    context: Context,
    depth: i64,
    t: bool,
    threshold: u64,
    // Stage 2.
    queue: VecDeque<Element>,
    unseen: i64,
    initialised: bool,
    transaction: Option<Vec<Element>>,
    // Stage 3, K10.5.5.2.
    has_context: bool,
    has_address: bool,
    /// The last P0 element was an indirect branch, so the return stack may tell the address.
    after_indirect: bool,
    address: Entry,
    current: Context,
    stack: Vec<Entry>,
    clear_pending: bool,
    last: Option<(Entry, Inst, bool)>,
}

/// Decodes a whole stream, which begins with an alignment synchronisation.
pub(crate) fn decode(unit: Unit, bytes: &[u8], fetch: Fetch<'_>) -> Vec<Out> {
    let mut decoder = Decoder {
        unit,
        fetch,
        bytes,
        at: 0,
        out: Vec::new(),
        timestamp: 0,
        history: [Entry::default(); 3],
        context: Context::default(),
        depth: 0,
        t: false,
        threshold: 0,
        queue: VecDeque::new(),
        unseen: 0,
        initialised: false,
        transaction: None,
        has_context: false,
        has_address: false,
        after_indirect: false,
        address: Entry::default(),
        current: Context::default(),
        stack: Vec::new(),
        clear_pending: false,
        last: None,
    };
    while decoder.at < bytes.len() {
        decoder.packet();
    }
    decoder.out
}

impl Decoder<'_> {
    // Stage 1.

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
    fn packet(&mut self) {
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

    // Stage 2. Transactions act when they are committed, not when they are read: else older elements fall into them.

    fn is_p0(&self, element: &Element) -> bool {
        match element {
            Element::Atom(_) | Element::Exception(..) | Element::Q(_) | Element::Source(_) => true,
            Element::TransStart => !self.unit.commtrans,
            _ => false,
        }
    }

    fn emit(&mut self, element: Element) {
        match element {
            Element::TraceInfo { depth, in_transaction } if !self.initialised => {
                self.initialised = true;
                self.unseen = depth;
                if in_transaction {
                    self.transaction = Some(Vec::new());
                }
                self.queue.push_back(element);
            }
            Element::Discard => {
                self.unseen = 0;
                let kept: Vec<Element> = self.queue.drain(..).filter(survives).collect();
                kept.into_iter().for_each(|element| self.process(element));
                if self.transaction.is_some() {
                    self.process(Element::TransFailure);
                }
                self.process(Element::Discard);
            }
            _ => self.queue.push_back(element),
        }
        self.drain();
    }

    /// The printed queue drains on commits only; what no P0 element stands before goes on.
    fn drain(&mut self) {
        while self.unseen == 0
            && let Some(element) = self.queue.front().copied()
            && !self.is_p0(&element)
        {
            self.queue.pop_front();
            self.process(element);
        }
    }

    fn commit(&mut self, count: i64) {
        for _ in 0..count {
            if self.unseen > 0 {
                self.unseen -= 1;
                continue;
            }
            self.drain();
            let element = self.queue.pop_front().expect("a P0 element to commit");
            self.process(element);
        }
        self.drain();
    }

    /// The youngest first; what is kept stays in its order.
    fn cancel(&mut self, count: i64) {
        let mut kept = Vec::new();
        let mut left = count;
        while left > 0 {
            let Some(element) = self.queue.pop_back() else {
                self.unseen -= left;
                break;
            };
            left -= i64::from(self.is_p0(&element));
            if survives(&element) {
                kept.push(element);
            }
        }
        self.queue.extend(kept.into_iter().rev());
        self.drain();
    }

    /// K10.5.4.
    fn process(&mut self, element: Element) {
        match element {
            Element::TransStart => {
                self.out.push(Out::Transaction(0));
                self.transaction.get_or_insert_with(Vec::new);
            }
            Element::TransCommit => {
                for element in self.transaction.take().unwrap_or_default() {
                    self.analyse(element);
                }
                self.out.push(Out::Transaction(1));
            }
            Element::TransFailure => {
                for element in self.transaction.take().unwrap_or_default() {
                    if survives(&element) {
                        self.analyse(element);
                    }
                }
                self.out.push(Out::Transaction(2));
                self.has_address = false;
                self.after_indirect = false;
                self.last = None;
            }
            _ => match &mut self.transaction {
                Some(queue) => queue.push(element),
                None => self.analyse(element),
            },
        }
    }

    // Stage 3.

    fn wrap(&self, address: u64) -> u64 {
        if self.current.sixty_four { address } else { address & 0xffff_ffff }
    }

    /// K10.5.5.1.
    fn analyse(&mut self, element: Element) {
        match element {
            Element::Target(entry) => {
                (self.address, self.has_address) = (entry, true);
                self.after_indirect = false;
                self.clear_pending = false;
            }
            Element::Context(context) => {
                (self.current, self.has_context) = (context, true);
            }
            Element::Mispredict => self.mispredict(),
            Element::TraceOn => {
                self.out.push(Out::TraceOn);
                self.lose();
            }
            Element::Atom(taken) => self.atom_element(taken),
            Element::Exception(number, entry) => self.exception(number, entry),
            Element::Source(entry) => self.source(entry),
            Element::Q(count) => {
                self.return_match();
                self.out.push(Out::Q(count));
                self.has_address = false;
                self.after_indirect = false;
            }
            Element::Discard => {
                self.out.push(Out::Discard);
                self.lose();
            }
            Element::Overflow => {
                self.out.push(Out::Overflow);
                self.lose();
            }
            Element::TraceInfo { .. } => {
                self.return_match();
                self.stack.clear();
                self.clear_pending = true;
            }
            Element::Timestamp(value) => self.out.push(Out::Timestamp(value)),
            Element::Cycles(count) => self.out.push(Out::Cycles(count)),
            Element::Event(number) => self.out.push(Out::Event(number)),
            Element::Instrumentation(value) => self.out.push(Out::Instrumentation(value)),
            Element::TransStart | Element::TransCommit | Element::TransFailure => unreachable!(),
        }
    }

    fn lose(&mut self) {
        (self.has_address, self.has_context, self.after_indirect) = (false, false, false);
        self.stack.clear();
        self.clear_pending = true;
        self.last = None;
    }

    /// K10.5.5.18.2; not after an exception.
    fn return_match(&mut self) {
        if self.has_context && !self.has_address && self.after_indirect {
            self.after_indirect = false;
            if let Some(top) = self.stack.pop() {
                (self.address, self.has_address) = (top, true);
            }
        }
    }

    fn next_inst(&self) -> Option<Inst> {
        let (sixty_four, thumb) = (self.current.sixty_four, self.address.thumb);
        let address = self.wrap(self.address.address);
        let (word, size) = (self.fetch)(sixty_four, thumb, address)?;
        Some(instruction(sixty_four, thumb, address, word, size, self.unit.wfx))
    }

    fn output(&mut self) {
        let address = self.wrap(self.address.address);
        self.out.push(Out::Instruction(address, self.current.el, self.current.context_id));
    }

    /// K10.5.5.18.3 and K10.5.5.18.4.
    fn branch(&mut self, inst: Inst, taken: bool) {
        self.last = Some((self.address, inst, taken));
        self.leave(inst, taken);
    }

    fn leave(&mut self, inst: Inst, taken: bool) {
        (self.has_address, self.after_indirect) = (true, false);
        match inst.kind {
            Kind::Direct if taken => self.address = inst.target,
            Kind::Indirect if taken => {
                self.has_address = false;
                self.after_indirect = self.unit.return_stack;
            }
            _ => self.address.address = self.wrap(self.address.address.wrapping_add(inst.size)),
        }
    }

    /// K10.5.5.3.1: a call that is traced as taken.
    fn update_stack(&mut self, inst: Inst, taken: bool) {
        if inst.link && taken && self.unit.return_stack && !self.clear_pending {
            let address = self.wrap(self.address.address.wrapping_add(inst.size));
            self.stack.push(Entry { address, ..self.address });
            if self.stack.len() > 15 {
                self.stack.remove(0);
            }
        }
    }

    /// K10.5.5.4.1.
    fn atom_element(&mut self, taken: bool) {
        self.return_match();
        while self.has_context && self.has_address {
            let Some(inst) = self.next_inst() else {
                self.has_address = false;
                return;
            };
            self.output();
            if inst.kind != Kind::Other {
                self.update_stack(inst, taken);
                return self.branch(inst, taken);
            }
            self.address.address = self.wrap(self.address.address.wrapping_add(inst.size));
        }
        self.last = None;
    }

    /// K10.5.5.6.1.
    fn exception(&mut self, number: u8, entry: Option<Entry>) {
        self.return_match();
        if let Some(entry) = entry {
            let end = self.wrap(entry.address);
            while self.has_context && self.has_address && self.wrap(self.address.address) < end {
                let Some(inst) = self.next_inst() else { break };
                self.output();
                self.address.address = self.wrap(self.address.address.wrapping_add(inst.size));
            }
        }
        self.out.push(Out::Exception(number, entry.map(|entry| self.wrap(entry.address))));
        // An address follows: the return stack does not tell it.
        (self.has_address, self.after_indirect) = (false, false);
        self.last = None;
    }

    /// K10.5.5.7.1: up to the instruction at the source address, and no further.
    fn source(&mut self, entry: Entry) {
        self.return_match();
        let end = self.wrap(entry.address);
        while self.has_context && self.has_address {
            let here = self.wrap(self.address.address);
            assert!(here <= end, "the source address {end:x} lies before {here:x}");
            let Some(inst) = self.next_inst() else { break };
            self.output();
            if here == end {
                self.update_stack(inst, true);
                return self.branch(inst, true);
            }
            self.address.address = self.wrap(here.wrapping_add(inst.size));
        }
    }

    /// K10.5.5.11.1.
    fn mispredict(&mut self) {
        if let Some((at, inst, taken)) = self.last {
            self.address = at;
            self.last = Some((at, inst, !taken));
            self.leave(inst, !taken);
        }
    }
}

/// Table K10-2: what a cancel leaves standing.
fn survives(element: &Element) -> bool {
    matches!(
        element,
        Element::TraceInfo { .. }
            | Element::Cycles(_)
            | Element::Timestamp(_)
            | Element::Event(_)
            | Element::Instrumentation(_)
    )
}
