//! A batch of events with their side arrays, reused from call to call.

use std::num::NonZeroU32;

use crate::events::event::*;

/// Events in order, and what they index. Clear it and fill it again: streaming then costs no
/// allocation per instruction.
///
/// ```
/// use trackway_core::*;
/// let mut batch = Batch::default();
/// let accesses = batch.begin_accesses();
/// batch.mem.push(MemAccess::read(0x1000, 8, Value::Word(42)));
/// let accesses = batch.end_accesses(accesses).expect("one access fits");
/// batch.push(0, EventKind::Step(Step { accesses, ..Step::new(0x8000_0000, 0x6722, 2) }));
/// let EventKind::Step(step) = batch.events[0].kind else { unreachable!() };
/// assert_eq!(batch.mem_of(step.accesses)[0].address, 0x1000);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Which core or trace id all events of this batch come from; sources are numbered from 0.
    pub source: u16,
    /// Number of the first instruction in this batch, counted per source from 0.
    pub first_instruction: u64,
    /// Events, in order.
    pub events: Vec<Event>,
    /// Memory accesses.
    pub mem: Vec<MemAccess>,
    /// Register accesses.
    pub regs: Vec<RegAccess>,
    /// Text, wide values, foreign items.
    pub bytes: Vec<u8>,
    /// Rare attributes of steps.
    pub extras: Vec<StepExtra>,
    /// Accesses of runs.
    pub run_accesses: Vec<Accesses>,
    /// Rare attributes of memory accesses.
    pub mem_extras: Vec<MemExtra>,
    /// Traps.
    pub traps: Vec<Trap>,
    /// Context changes.
    pub contexts: Vec<Context>,
    /// State set outside instructions.
    pub states: Vec<State>,
    /// Gaps.
    pub gaps: Vec<Gap>,
    /// It is wanted as soon as it has an event: somebody watches a trace that is still written.
    pub is_eager: bool,
}

impl Batch {
    /// Events after which a source should hand the batch on.
    pub const FULL: usize = 2048;
    /// Side bytes after which a source should hand the batch on.
    const FULL_BYTES: usize = 1 << 20;

    /// An empty batch with capacity for a full one: growing step by step would copy it several times.
    pub fn with_capacity() -> Self {
        Batch {
            events: Vec::with_capacity(Self::FULL + 64),
            mem: Vec::with_capacity(Self::FULL),
            ..Batch::default()
        }
    }

    /// Makes room for `n` more steps, each with an access and rare attributes at most, for [`push_within_capacity`].
    pub fn reserve_steps(&mut self, n: usize) {
        self.events.reserve(n);
        self.mem.reserve(n);
        self.extras.reserve(n);
    }

    /// Forgets all events, keeps the memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.mem.clear();
        self.regs.clear();
        self.bytes.clear();
        self.extras.clear();
        self.run_accesses.clear();
        self.mem_extras.clear();
        self.traps.clear();
        self.contexts.clear();
        self.states.clear();
        self.gaps.clear();
    }

    /// Takes the events of `other`, and keeps the memory.
    pub fn copy_from(&mut self, other: &Batch) {
        macro_rules! copy {
            ($($field:ident)*) => {{
                $(self.$field.clone_from(&other.$field);)*
                // Names every field: a new one must be listed below.
                let Batch { $($field: _,)* } = self;
            }};
        }
        copy!(source first_instruction events mem regs bytes extras run_accesses mem_extras traps contexts states gaps is_eager);
    }

    /// True once it holds enough; the limit is soft, an item's events stay together.
    #[inline]
    pub fn is_full(&self) -> bool {
        let enough = if self.is_eager { 1 } else { Self::FULL };
        self.events.len() >= enough || self.bytes.len() >= Self::FULL_BYTES
    }

    /// Appends an event.
    #[inline]
    pub fn push(&mut self, offset: u64, kind: EventKind) {
        self.events.push(Event { offset, kind });
    }

    /// Appends a trap.
    pub fn push_trap(&mut self, offset: u64, trap: Trap) {
        self.traps.push(trap);
        self.push(offset, EventKind::Trap(self.traps.len() as u32 - 1));
    }

    /// Appends a context change.
    pub fn push_context(&mut self, offset: u64, context: Context) {
        self.contexts.push(context);
        self.push(offset, EventKind::Context(self.contexts.len() as u32 - 1));
    }

    /// Appends a state change.
    pub fn push_state(&mut self, offset: u64, state: State) {
        self.states.push(state);
        self.push(offset, EventKind::State(self.states.len() as u32 - 1));
    }

    /// Appends a gap.
    pub fn push_gap(&mut self, offset: u64, gap: Gap) {
        self.gaps.push(gap);
        self.push(offset, EventKind::Gap(self.gaps.len() as u32 - 1));
    }

    /// Keeps rare attributes of a step; put the result into `Step::extra`.
    #[inline]
    pub fn add_extra(&mut self, extra: StepExtra) -> Option<ExtraRef> {
        self.extras.push(extra);
        NonZeroU32::new(self.extras.len() as u32).map(ExtraRef)
    }

    /// The reference to `extras[index]`, for those who fill the side arrays themselves.
    #[inline]
    pub fn extra_at(index: usize) -> Option<ExtraRef> {
        NonZeroU32::new(index as u32 + 1).map(ExtraRef)
    }

    /// Keeps rare attributes of an access; put the result into `MemAccess::extra`.
    #[inline]
    pub fn add_mem_extra(&mut self, extra: MemExtra) -> Option<MemExtraRef> {
        self.mem_extras.push(extra);
        NonZeroU32::new(self.mem_extras.len() as u32).map(MemExtraRef)
    }

    /// Keeps the accesses of a run; put the result into `Run::accesses`.
    pub fn add_run_accesses(&mut self, accesses: Accesses) -> Option<AccessesRef> {
        self.run_accesses.push(accesses);
        NonZeroU32::new(self.run_accesses.len() as u32).map(AccessesRef)
    }

    /// Keeps bytes.
    pub fn add_bytes(&mut self, bytes: &[u8]) -> Span {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        Span { start, len: bytes.len() as u32 }
    }

    /// Keeps 64-bit words as bytes.
    pub fn add_words(&mut self, words: impl IntoIterator<Item = u64>) -> Span {
        let start = self.bytes.len() as u32;
        for word in words {
            self.bytes.extend_from_slice(&word.to_le_bytes());
        }
        Span { start, len: self.bytes.len() as u32 - start }
    }

    /// Marks where the accesses of the next event begin.
    #[inline]
    pub fn begin_accesses(&self) -> Accesses {
        Accesses {
            mem_start: self.mem.len() as u32,
            regs_start: self.regs.len() as u32,
            mem_len: 0,
            regs_len: 0,
        }
    }

    /// Completes the range; `None` if one event has more accesses than any instruction can have.
    #[inline]
    pub fn end_accesses(&self, begun: Accesses) -> Option<Accesses> {
        Some(Accesses {
            mem_len: u16::try_from(self.mem.len() - begun.mem_start as usize).ok()?,
            regs_len: u16::try_from(self.regs.len() - begun.regs_start as usize).ok()?,
            ..begun
        })
    }

    /// The memory accesses of a step or run.
    #[inline]
    pub fn mem_of(&self, accesses: Accesses) -> &[MemAccess] {
        &self.mem[accesses.mem_start as usize..][..accesses.mem_len as usize]
    }

    /// The register accesses of a step.
    #[inline]
    pub fn regs_of(&self, accesses: Accesses) -> &[RegAccess] {
        &self.regs[accesses.regs_start as usize..][..accesses.regs_len as usize]
    }

    /// The accesses of a run.
    pub fn accesses_of(&self, run: &Run) -> Accesses {
        run.accesses.map_or(Accesses::default(), |n| self.run_accesses[n.0.get() as usize - 1])
    }

    /// The rare attributes of a step.
    #[inline]
    pub fn extra_of(&self, step: &Step) -> Option<&StepExtra> {
        step.extra.map(|n| &self.extras[n.0.get() as usize - 1])
    }

    /// The rare attributes of an access.
    #[inline]
    pub fn mem_extra_of(&self, access: &MemAccess) -> Option<&MemExtra> {
        access.extra.map(|n| &self.mem_extras[n.0.get() as usize - 1])
    }

    /// The bytes of a span.
    #[inline]
    pub fn bytes_of(&self, span: Span) -> &[u8] {
        &self.bytes[span.start as usize..][..span.len as usize]
    }

    /// The 64-bit words of a span.
    pub fn words_of(&self, span: Span) -> impl ExactSizeIterator<Item = u64> + '_ {
        let (words, _) = self.bytes_of(span).as_chunks::<8>();
        words.iter().map(|word| u64::from_le_bytes(*word))
    }

    /// The text of a span; bytes that are not UTF-8 are replaced.
    pub fn text_of(&self, span: Span) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.bytes_of(span))
    }

    /// Instructions in this batch, attempted ones included.
    pub fn instructions(&self) -> u64 {
        let is_step = |event: &Event| matches!(event.kind, EventKind::Step(_));
        // Counting what is the same is cheaper than adding, where all events are steps.
        if self.events.first().is_some_and(is_step) {
            let steps = self.events.iter().filter(|event| is_step(event)).count();
            if steps == self.events.len() {
                return steps as u64;
            }
        }
        let each = |events: &[Event]| events.iter().map(|event| event.kind.instructions()).sum::<u64>();
        // Four runs at once take fewer tests.
        let (fours, rest) = self.events.as_chunks::<4>();
        let of_four = |four: &[Event; 4]| match four.each_ref().map(|event| &event.kind) {
            [EventKind::Run(a), EventKind::Run(b), EventKind::Run(c), EventKind::Run(d)]
                if !(a.withdrawn | b.withdrawn | c.withdrawn | d.withdrawn) =>
            {
                [a, b, c, d].map(|run| u64::from(run.count)).iter().sum()
            }
            _ => each(four),
        };
        fours.iter().map(of_four).sum::<u64>() + each(rest)
    }
}

/// Appends if there is capacity, and returns whether there was. Where nothing in a loop can grow the vector, the
/// compiler keeps its length and place in registers.
#[inline(always)]
pub fn push_within_capacity<T>(items: &mut Vec<T>, item: T) -> bool {
    let room = items.len() < items.capacity();
    if room {
        items.push(item);
    }
    room
}

impl EventKind {
    /// Instructions in this event, attempted ones included.
    #[inline]
    pub fn instructions(&self) -> u64 {
        match self {
            EventKind::Step(_) => 1,
            EventKind::Run(run) if !run.withdrawn => u64::from(run.count),
            _ => 0,
        }
    }
}

impl Step {
    /// A retired instruction with nothing else known.
    #[inline]
    pub const fn new(pc: u64, encoding: u32, length: u8) -> Self {
        Step {
            pc: Some(pc),
            encoding,
            accesses: Accesses { mem_start: 0, regs_start: 0, mem_len: 0, regs_len: 0 },
            extra: None,
            length,
            outcome: Outcome::Retired,
            taken: None,
        }
    }
}

impl MemAccess {
    /// An access with nothing special.
    #[inline]
    pub const fn new(kind: MemKind, address: u64, size: u64, data: Value) -> Self {
        MemAccess {
            kind,
            address,
            size,
            data,
            attributes: 0,
            extra: None,
            tagged: false,
            range: false,
            inferred: false,
            unplaced: false,
        }
    }

    /// Does `next` continue this access? Both are then one for the ledger: formats cut accesses differently.
    #[inline]
    pub fn adjoins(&self, next: &MemAccess) -> bool {
        self.kind == next.kind && self.address.wrapping_add(self.size) == next.address && !next.unplaced
    }

    /// A load.
    pub fn read(address: u64, size: u64, data: Value) -> Self {
        Self::new(MemKind::Read, address, size, data)
    }

    /// A store.
    pub fn write(address: u64, size: u64, data: Value) -> Self {
        Self::new(MemKind::Write, address, size, data)
    }
}

impl Trap {
    /// A trap of which only the kind is known.
    pub fn new(kind: TrapKind) -> Self {
        Trap {
            kind,
            cause: None,
            class: None,
            value: None,
            from: None,
            to: None,
            return_address: None,
            is_virtual: false,
            syscall: None,
            syscall_index: None,
            words: Span::default(),
        }
    }
}

impl Privilege {
    /// An Arm exception level?
    pub const fn is_arm(self) -> bool {
        matches!(self, Self::El0 | Self::El1 | Self::El2 | Self::El3)
    }
}

impl Context {
    /// Takes over what a later change says. With an Arm exception level comes all that is known of the process: the ids of
    /// the one before do not belong to it.
    ///
    /// ```
    /// use trackway_core::{Context, Privilege};
    /// let user = Context { privilege: Some(Privilege::El0), pid: Some(7), tid: Some(8), ..Context::default() };
    /// let mut context = user;
    /// context.update(&Context { privilege: Some(Privilege::El1), ..Context::default() });
    /// assert_eq!((context.pid, context.tid), (None, None));
    /// context.update(&user);
    /// context.update(&Context { pid: Some(9), ..Context::default() });
    /// assert_eq!((context.pid, context.tid), (Some(9), Some(8)));
    /// ```
    pub fn update(&mut self, change: &Context) {
        if change.privilege.is_some_and(Privilege::is_arm) {
            (self.pid, self.tid) = (None, None);
        }
        macro_rules! take {
            ($($field:ident)*) => {{
                $(if change.$field.is_some() { self.$field = change.$field; })*
                // Names every field: a new one must be listed above.
                let Context { $($field: _,)* } = *change;
            }};
        }
        take!(privilege security own_stack context_id vmid asid pid tid hw_thread change isa vector_bits
              streaming dit ssbs mte unsupported);
    }
}

impl Gap {
    /// A gap of which only the reason is known.
    pub fn new(reason: GapReason) -> Self {
        Gap { reason, from: None, to: None, instructions: None, bytes: None }
    }
}

impl Mark {
    /// A mark of which only the kind is known.
    pub fn new(kind: MarkKind) -> Self {
        Mark { kind, value: None, text: Span::default() }
    }
}
