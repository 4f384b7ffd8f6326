//! A slow decoder of ETE, written from the pseudocode of K10.5 and from nothing of Trackway's decoder: no packet
//! types, no block tables, one element and one instruction at a time. Where the pseudocode cannot be meant as
//! it is printed, a comment says what is done.
#![allow(dead_code)] // each test uses a part of it

mod analysis;
mod instruction;
mod packets;
mod speculation;

use std::collections::VecDeque;
use std::sync::Arc;

use trackway_core::{Context as View, Isa};
use trackway_ete::Config;
use trackway_image::Image;

/// The unit's configuration (table K10-1, and TRCCONFIGR.RS).
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

/// The output, in order.
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
    /// WFX, ISB, TSTART: P0 instructions that continue at the next instruction.
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
    /// The last P0 element was an indirect branch, so the return stack may have the address.
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
