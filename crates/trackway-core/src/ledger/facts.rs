//! The facts of a trace: one for each field of the model, under one name for every format.

use crate::events::*;

/// Declares the facts, in the order in which ledgers list them.
macro_rules! facts {
    ($($(#[$meta:meta])* $variant:ident = $name:literal, $meaning:literal;)*) => {
        /// A kind of information that a trace may hold: a field of the model, or of the trace as a whole.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)] // `meaning` says it
        pub enum Fact { $($(#[$meta])* $variant,)* }

        impl Fact {
            /// All of them, in order.
            pub const ALL: &[Fact] = &[$(Fact::$variant),*];

            /// The name in ledgers, in the plural.
            pub const fn as_str(self) -> &'static str {
                match self { $(Fact::$variant => $name,)* }
            }

            /// Meaning of the name, for those who see it for the first time.
            pub const fn meaning(self) -> &'static str {
                match self { $(Fact::$variant => $meaning,)* }
            }
        }
    };
}

facts! {
    Items = "items", "native items, copied byte for byte";
    Producers = "producers", "tools that the trace names as its makers";
    ProducerVersions = "versions of producers", "versions of those tools";
    ProducerComments = "comments of producers", "comments of those tools";
    Comments = "comments", "comments on the trace as a whole";
    Features = "declared features", "features that the trace's header declares";
    IsaStrings = "ISA strings", "the extended name of the instruction set";
    HeaderVectorLengths = "vector lengths of the trace", "the vector length in the header";

    Instructions = "instructions", "instructions by their address, attempted ones included";
    Encodings = "encodings", "the bits of instructions";
    Attempted = "attempted instructions", "instructions marked as attempted but not completed";
    Outcomes = "branch outcomes", "whether a branch was taken";
    Targets = "branch targets", "where a taken branch went";
    Placeholders = "placeholders", "fetch faults that are recorded as a no-op";
    PhysicalPcs = "physical instruction addresses", "physical addresses of instructions";
    SmeIndices = "SME slice indices", "slice indices of SME instructions";
    MicroOps = "micro-operations", "instructions that come with their micro-operations";

    RegisterReads = "register reads", "source registers with their values";
    RegisterWrites = "register writes", "destination registers with their values";
    RegisterStates = "register contents", "contents of registers at an instruction or between instructions";
    ReadyRegisters = "ready registers", "registers marked ready: a dependency was cut";

    MemoryAccesses = "memory accesses", "kind, address and size of accesses; adjoining ones of an instruction count once";
    MemoryData = "memory data", "the data of accesses";
    StoredData = "data stored by read-modify-writes", "what a read-modify-write stored";
    PhysicalAddresses = "physical data addresses", "physical addresses of accesses";
    AccessAttributes = "access attributes", "attributes of accesses in the format's own terms";
    AtomicOperations = "atomic operations", "the operation of an atomic access";
    MemoryTags = "checked tags", "accesses whose address carries an allocation tag";
    AddressRanges = "address ranges", "accesses given as a range of addresses, not one by one";
    InferredAccesses = "inferred accesses", "accesses marked as inferred: their size or kind is not recorded";
    MemoryContents = "memory contents", "contents of memory given outside any instruction";
    PageWalks = "page table walks", "entries read while translating an address";
    PageWalkUses = "first uses of page table walks", "the instruction that first uses a page";
    BusTransfers = "bus transfers", "accesses by others than the core traced";
    BusInitiators = "initiators of bus transfers", "who made a bus transfer";
    BusAttributes = "attributes of bus transfers", "attributes of bus transfers in the format's own terms";
    BusData = "data of bus transfers", "data sent to memory, or read";
    BusReturned = "data returned to bus transfers", "data that came back from memory";
    BusResults = "results of bus transfers", "result codes of bus transfers";

    Traps = "traps", "exceptions, interrupts and resets";
    TrapReturns = "trap returns", "returns from exceptions and interrupts";
    TrapCauses = "trap causes", "cause numbers of traps";
    TrapClasses = "exception classes", "Arm exception classes";
    TrapValues = "trap values", "faulting addresses and other trap values";
    TrapPlaces = "trap places", "the instruction that trapped or would have been next";
    TrapHandlers = "trap targets", "first instruction of a handler, or where a return went";
    ReturnAddresses = "return addresses", "preferred return addresses of traps";
    VirtualTraps = "virtual traps", "traps taken to or from a virtual mode";
    SystemCalls = "system calls", "which instruction made a system call";
    SystemCallNumbers = "system call numbers", "number or immediate of a system call";
    TrapWords = "trap details", "further words of a trap in the format's own terms";

    Privileges = "privilege changes", "changes of privilege or exception level";
    Securities = "security states", "changes of the Arm security state";
    Stacks = "stack pointer selections", "changes of the Arm stack pointer selection";
    ContextIds = "context ids", "changes of the context id";
    Vmids = "virtual machine ids", "changes of the virtual machine id";
    Asids = "address space ids", "changes of the address space id";
    Pids = "process ids", "changes of the process id";
    Tids = "thread ids", "changes of the thread id";
    HwThreads = "hardware threads", "changes of the hardware thread";
    ChangeKinds = "kinds of context change", "how a context changed, in E-Trace's terms";
    Isas = "instruction set changes", "changes of the instruction set";
    VectorLengths = "vector lengths", "changes of the vector length";
    Streamings = "streaming modes", "changes of the streaming mode";
    Dits = "DIT states", "changes of data-independent timing";
    Ssbss = "SSBS states", "changes of speculative store bypass safety";
    Mtes = "MTE modes", "changes of how tag faults are reported";
    Unsupporteds = "unsupported modes", "begin or end of a mode that the trace cannot describe";

    Timestamps = "timestamps", "absolute times";
    TimeOffsets = "timestamp offsets", "cycles between the last count and a timestamp";
    CycleCounts = "cycle counts", "cycles since the last count";
    Clocks = "clocks", "times of another clock than the first one";
    Marks = "marks", "trace events, triggers, transactions and the like";
    Notes = "notes", "texts within the trace";
    Gaps = "gaps", "places where something is missing";
    GapReasons = "reasons of gaps", "why something is missing";
    GapStarts = "starts of gaps", "last address known before a gap";
    GapEnds = "ends of gaps", "first address known after a gap";
    GapInstructions = "instructions in gaps", "how many instructions are missing";
    GapBytes = "bytes in gaps", "how much input was skipped";
    ForeignItems = "items of the format's own", "items that no other format has";
    WithdrawnRuns = "withdrawn runs", "cancelled speculation and failed transactions";
    UncodedRuns = "runs without code", "stretches of instructions whose program is not known";
}

impl Fact {
    /// True for gaps and what is known of them: a gap that a target shows anyway may be like one of the input.
    pub const fn is_of_gap(self) -> bool {
        use Fact::*;
        matches!(self, Gaps | GapReasons | GapStarts | GapEnds | GapInstructions | GapBytes)
    }
}

/// A fact with a digest of its value.
pub type Found = (Fact, u64);

/// A count for each fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts([u64; Fact::ALL.len()]);

impl Default for Counts {
    fn default() -> Self {
        Counts([0; Fact::ALL.len()])
    }
}

impl std::ops::Index<Fact> for Counts {
    type Output = u64;
    fn index(&self, fact: Fact) -> &u64 {
        &self.0[fact as usize]
    }
}

impl std::ops::IndexMut<Fact> for Counts {
    fn index_mut(&mut self, fact: Fact) -> &mut u64 {
        &mut self.0[fact as usize]
    }
}

impl Counts {
    /// Adds another count.
    pub fn merge(&mut self, other: &Counts) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, n)| *sum += n);
    }

    /// Facts of the trace as a whole.
    pub fn of_meta(meta: &Meta) -> Self {
        let mut counts = Counts::default();
        each_of_meta(meta, |fact, _| counts[fact] += 1);
        counts
    }

    /// Adds the facts of an event.
    pub fn add_event(&mut self, batch: &Batch, event: &EventKind, contexts: &mut Contexts) {
        if let EventKind::Run(run) = event
            && !run.withdrawn
        {
            self[Fact::Instructions] += u64::from(run.count).saturating_sub(1);
        }
        each_of_event(batch, event, contexts, &mut |fact, _| self[fact] += 1);
    }
}

/// The context of each source so far: a context fact is a change of a value, not a repetition.
#[derive(Clone, Debug, Default)]
pub struct Contexts {
    start: Context,
    of_sources: Vec<Context>,
}

impl Contexts {
    /// At the start of a trace: its instruction set is known.
    pub fn new(meta: &Meta) -> Self {
        let isa = Some(meta.isa).filter(|&isa| isa != Isa::Other);
        Contexts { start: Context { isa, ..Context::default() }, of_sources: Vec::new() }
    }

    /// The context of a source.
    pub fn of(&mut self, source: u16) -> &mut Context {
        let source = usize::from(source);
        if self.of_sources.len() <= source {
            self.of_sources.resize(source + 1, self.start);
        }
        &mut self.of_sources[source]
    }
}

/// A digest of words; the values of facts are compared by it.
#[inline(always)]
fn digest(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0x243f_6a88_85a3_08d3, |digest: u64, word| {
        let mixed = (digest ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    })
}

/// A digest of bytes, the same however they are cut into values.
fn digest_bytes(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before, |digest, &byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn text(text: &str) -> u64 {
    digest_bytes(0, text.as_bytes())
}

/// Calls `each` for every fact of the trace as a whole, with a digest of its value.
pub fn each_of_meta(meta: &Meta, mut each: impl FnMut(Fact, u64)) {
    for Producer { name, version, comment } in &meta.producers {
        each(Fact::Producers, text(name));
        for (fact, word) in [(Fact::ProducerVersions, version), (Fact::ProducerComments, comment)] {
            if !word.is_empty() {
                each(fact, text(word));
            }
        }
    }
    meta.comments.iter().for_each(|comment| each(Fact::Comments, text(comment)));
    meta.features.iter().for_each(|feature| each(Fact::Features, text(feature)));
    meta.isa_string.iter().for_each(|isa| each(Fact::IsaStrings, text(isa)));
    meta.vector_bits.iter().for_each(|&bits| each(Fact::HeaderVectorLengths, bits.into()));
}

/// Calls `each` for every fact of an event, with a digest of its value. A run has one [`Fact::Instructions`], whatever
/// its length; `contexts` is brought up to date.
pub fn each_of_event(
    batch: &Batch,
    event: &EventKind,
    contexts: &mut Contexts,
    each: &mut impl FnMut(Fact, u64),
) {
    match event {
        EventKind::Step(step) => each_of_step(batch, step, each),
        EventKind::Run(run) if run.withdrawn => each(Fact::WithdrawnRuns, digest([run.start, run.end])),
        EventKind::Run(run) => {
            each(Fact::Instructions, run.start);
            each(Fact::UncodedRuns, digest([run.start, run.end]));
            each_access(batch, batch.accesses_of(run), each);
        }
        EventKind::Trap(n) => each_of_trap(batch, &batch.traps[*n as usize], each),
        EventKind::Context(n) => {
            each_of_context(contexts.of(batch.source), &batch.contexts[*n as usize], each);
        }
        EventKind::Time(time) => {
            let fact = match time.kind {
                TimeKind::Timestamp => Fact::Timestamps,
                TimeKind::Offset => Fact::TimeOffsets,
                TimeKind::Cycles => Fact::CycleCounts,
            };
            if let Some(value) = time.value {
                each(fact, value);
                if time.clock != 0 {
                    each(Fact::Clocks, time.clock.into());
                }
            }
        }
        EventKind::Mark(mark) if mark.kind == MarkKind::Note => {
            each(Fact::Notes, digest_bytes(0, batch.bytes_of(mark.text)));
        }
        EventKind::Mark(mark) => each(
            Fact::Marks,
            digest([mark.kind as u64, mark.value.is_some().into(), mark.value.unwrap_or(0)]),
        ),
        EventKind::State(n) => match &batch.states[*n as usize] {
            State::Contents(accesses) => {
                for access in batch.mem_of(*accesses) {
                    let whole = digest([access.address, access.size]);
                    each(Fact::MemoryContents, digest_value(batch, whole, access.data, access.size));
                }
                batch.regs_of(*accesses).iter().for_each(|access| each_register(batch, access, each));
            }
            State::PageWalk(PageWalk { virtual_address, first_use, page_size, entries }) => {
                let place = digest([*virtual_address, *page_size]);
                each(Fact::PageWalks, digest_bytes(place, batch.bytes_of(*entries)));
                each(Fact::PageWalkUses, *first_use);
            }
            State::Bus(bus) => each_of_bus(batch, bus, each),
        },
        EventKind::Gap(n) => {
            let Gap { reason, from, to, instructions, bytes } = batch.gaps[*n as usize];
            each(Fact::Gaps, 0);
            each(Fact::GapReasons, reason as u64);
            from.iter().for_each(|&pc| each(Fact::GapStarts, pc));
            to.iter().for_each(|&pc| each(Fact::GapEnds, pc));
            instructions.iter().for_each(|&n| each(Fact::GapInstructions, n));
            bytes.iter().for_each(|&n| each(Fact::GapBytes, n));
        }
        EventKind::Foreign(item) => {
            each(
                Fact::ForeignItems,
                digest_bytes(text(item.format.as_str()) ^ u64::from(item.code), batch.bytes_of(item.data)),
            );
        }
    }
}

fn each_of_bus(batch: &Batch, bus: &Bus, each: &mut impl FnMut(Fact, u64)) {
    let Bus { kind, address, size, initiator, index, attributes, data, returned, result } = *bus;
    each(Fact::BusTransfers, digest([kind as u64, address, size]));
    if (initiator, index) != (0, 0) {
        each(Fact::BusInitiators, digest([initiator.into(), index.into()]));
    }
    if attributes != 0 {
        each(Fact::BusAttributes, attributes.into());
    }
    for (fact, value) in [(Fact::BusData, data), (Fact::BusReturned, returned)] {
        if value != Value::Unknown {
            each(fact, digest_value(batch, 0, value, size));
        }
    }
    result.iter().for_each(|&code| each(Fact::BusResults, code.into()));
}

fn each_of_step(batch: &Batch, step: &Step, each: &mut impl FnMut(Fact, u64)) {
    let extra = batch.extra_of(step);
    if extra.is_some_and(|extra| extra.placeholder) {
        each(Fact::Placeholders, step.pc.unwrap_or(0));
        return;
    }
    if step.pc.is_none() && step.length == 0 {
        // Accesses of an instruction that is not known.
        return each_access(batch, step.accesses, each);
    }
    each(Fact::Instructions, step.pc.unwrap_or(0));
    if step.length > 0 {
        each(Fact::Encodings, step.encoding.into());
    }
    if step.outcome == Outcome::Attempted {
        each(Fact::Attempted, 0);
    }
    if let Some(taken) = step.taken {
        each(Fact::Outcomes, taken.into());
    }
    if let Some(extra) = extra {
        let StepExtra { target, physical_pc, sme_index, micro_ops, placeholder: _ } = *extra;
        target.iter().for_each(|&target| each(Fact::Targets, target));
        physical_pc.iter().for_each(|&pc| each(Fact::PhysicalPcs, pc));
        sme_index.iter().for_each(|&index| each(Fact::SmeIndices, index.into()));
        if micro_ops.len > 0 {
            each(Fact::MicroOps, digest_bytes(0, batch.bytes_of(micro_ops)));
        }
    }
    each_access(batch, step.accesses, each);
}

/// Registers and memory of an instruction. Adjoining accesses of one kind are one: formats cut them differently.
fn each_access(batch: &Batch, accesses: Accesses, each: &mut impl FnMut(Fact, u64)) {
    batch.regs_of(accesses).iter().for_each(|access| each_register(batch, access, each));
    let mut rest = batch.mem_of(accesses);
    while let [first, more @ ..] = rest {
        let joined = rest.iter().zip(more).take_while(|(one, next)| one.adjoins(next)).count() + 1;
        let (group, others) = rest.split_at(joined);
        rest = others;
        // A range may claim any size.
        let size = group.iter().fold(0u64, |size, access| size.saturating_add(access.size));
        let address = if first.unplaced { u64::MAX } else { first.address };
        each(Fact::MemoryAccesses, digest([first.kind as u64, address, size]));
        if group.iter().all(|access| access.data != Value::Unknown) {
            let data = |digest, access: &MemAccess| digest_value(batch, digest, access.data, access.size);
            each(Fact::MemoryData, group.iter().fold(0, data));
        }
        if group.iter().any(|access| access.range) {
            each(Fact::AddressRanges, 0);
        }
        if group.iter().any(|access| access.inferred) {
            each(Fact::InferredAccesses, 0);
        }
        for access in group {
            if access.attributes != 0 {
                each(Fact::AccessAttributes, access.attributes.into());
            }
            if access.tagged {
                each(Fact::MemoryTags, 0);
            }
            if let Some(extra) = batch.mem_extra_of(access) {
                let MemExtra { physical, stored, operation } = *extra;
                physical.iter().for_each(|&address| each(Fact::PhysicalAddresses, address));
                if stored != Value::Unknown {
                    each(Fact::StoredData, digest_value(batch, 0, stored, access.size));
                }
                operation.iter().for_each(|&operation| each(Fact::AtomicOperations, operation.into()));
            }
        }
    }
}

fn digest_value(batch: &Batch, before: u64, value: Value, size: u64) -> u64 {
    match value {
        Value::Unknown => before,
        Value::Word(word) => digest_bytes(before, &word.to_le_bytes()[..size.clamp(1, 8) as usize]),
        // Formats round up to their words.
        Value::Bytes(span) => {
            let bytes = batch.bytes_of(span);
            let used = usize::try_from(size).unwrap_or(bytes.len()).clamp(1, bytes.len().max(1));
            digest_bytes(before, &bytes[..used.min(bytes.len())])
        }
    }
}

fn each_register(batch: &Batch, access: &RegAccess, each: &mut impl FnMut(Fact, u64)) {
    let Reg { class, number } = access.reg;
    let known = access.known.unwrap_or(u64::MAX);
    let value = match access.value {
        Value::Unknown => 1,
        Value::Word(word) => digest([2, word & known, known, access.update as u64]),
        // Wide registers are written with their leading zeros or without them.
        Value::Bytes(span) => {
            let bytes = batch.bytes_of(span);
            let used = bytes.len() - bytes.iter().rev().take_while(|&&byte| byte == 0).count();
            match bytes[..used].len() {
                0..=8 => {
                    let mut word = [0; 8];
                    word[..used].copy_from_slice(&bytes[..used]);
                    digest([2, u64::from_le_bytes(word) & known, known, access.update as u64])
                }
                _ => digest_bytes(3, &bytes[..used]),
            }
        }
    };
    each(of_role(access.role), digest([class as u64, number.into(), value]));
}

pub(super) const fn of_role(role: RegRole) -> Fact {
    match role {
        RegRole::Source => Fact::RegisterReads,
        RegRole::Destination => Fact::RegisterWrites,
        RegRole::State => Fact::RegisterStates,
        RegRole::Ready => Fact::ReadyRegisters,
    }
}

fn each_of_trap(batch: &Batch, trap: &Trap, each: &mut impl FnMut(Fact, u64)) {
    let Trap {
        kind,
        cause,
        class,
        value,
        from,
        to,
        return_address,
        is_virtual,
        syscall,
        syscall_index,
        words,
    } = *trap;
    let fact = if kind == TrapKind::Return { Fact::TrapReturns } else { Fact::Traps };
    each(fact, kind as u64);
    for (fact, value) in [
        // The same number is another cause for an interrupt.
        (Fact::TrapCauses, cause.map(|cause| digest([kind as u64, cause]))),
        (Fact::TrapClasses, class.map(u64::from)),
        (Fact::TrapValues, value),
        (Fact::TrapPlaces, from),
        (Fact::TrapHandlers, to),
        (Fact::ReturnAddresses, return_address),
        (Fact::VirtualTraps, is_virtual.then_some(1)),
        (Fact::SystemCalls, syscall.map(|syscall| syscall as u64)),
        (Fact::SystemCallNumbers, syscall_index),
    ] {
        value.iter().for_each(|&value| each(fact, value));
    }
    if words.len > 0 {
        each(Fact::TrapWords, digest_bytes(0, batch.bytes_of(words)));
    }
}

/// The values that a context change sets anew.
pub(super) fn each_of_context(before: &mut Context, change: &Context, each: &mut impl FnMut(Fact, u64)) {
    let old = *before;
    before.update(change);
    macro_rules! changed {
        ($($field:ident $fact:ident;)*) => {
            // All of them: a new field cannot be forgotten here.
            let Context { $($field,)* } = *before;
            $(if let Some(value) = $field && old.$field != $field {
                each(Fact::$fact, value as u64);
            })*
        };
    }
    changed! {
        privilege Privileges; security Securities; own_stack Stacks; context_id ContextIds; vmid Vmids; asid Asids;
        pid Pids; tid Tids; hw_thread HwThreads; change ChangeKinds; isa Isas; vector_bits VectorLengths;
        streaming Streamings; dit Dits; ssbs Ssbss; mte Mtes; unsupported Unsupporteds;
    }
}
