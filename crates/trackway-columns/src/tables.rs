//! The tables, each declared once: the schema, the page and the code that adds rows come from here.

use crate::schema::{Column, Kind, Table};
use crate::store::{Blobs, Chunk, Flags, Nums, Repeats, Store, Values, Words};

type Texts = Blobs<true>;
type Bytes = Blobs<false>;

/// Declares a table: `name: store = kind` for values that are always known, `kind?` where they may be null.
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        $table:ident = $name:literal {
            $($(#[doc = $doc:literal])+ $column:ident: $store:ty = $kind:ident $nullable:literal;)*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug)]
        pub(crate) struct $table {
            pub(crate) wanted: bool,
            pub(crate) rows: usize,
            $($(#[doc = $doc])+ pub(crate) $column: $store,)*
        }

        impl $table {
            pub(crate) const TABLE: Table = Table {
                name: $name,
                about: concat!($($about),+),
                columns: &[$(Column {
                    name: stringify!($column),
                    about: concat!($($doc),+),
                    kind: Kind::$kind,
                    nullable: $nullable,
                }),*],
            };

            /// With the columns for which `wants` is true, by the name of the table and theirs.
            pub(crate) fn new(wants: &dyn Fn(&str, &str) -> bool) -> Self {
                $table {
                    wanted: Self::TABLE.columns.iter().any(|column| wants($name, column.name)),
                    rows: 0,
                    $($column: <$store>::new(wants($name, stringify!($column))),)*
                }
            }

            /// The rows so far, the last of which is of this source; it forgets them.
            pub(crate) fn take(&mut self, source: u16) -> Chunk {
                let taken = [$(self.$column.take()),*];
                let values = |(values, column): (Option<(_, _)>, &'static Column)| {
                    let (data, known) = values?;
                    Some(Values { column, data, known })
                };
                let columns = taken.into_iter().zip(Self::TABLE.columns).filter_map(values).collect();
                Chunk { table: &Self::TABLE, source, rows: std::mem::take(&mut self.rows), columns }
            }
        }
    };
}

impl Table {
    /// All tables, in order.
    pub const ALL: &'static [&'static Table] = &[
        &Instructions::TABLE,
        &Memory::TABLE,
        &Registers::TABLE,
        &Traps::TABLE,
        &Contexts::TABLE,
        &Times::TABLE,
        &Marks::TABLE,
        &Gaps::TABLE,
        &Runs::TABLE,
        &Meta::TABLE,
    ];

    /// The table of that name.
    pub fn named(name: &str) -> Option<&'static Table> {
        Self::ALL.iter().copied().find(|table| table.name == name)
    }
}

table! {
    /// One row per instruction, attempted ones included. Flow formats need the program for it: a stretch whose code
    /// is not known has no rows here, only in `runs`.
    Instructions = "instructions" {
        /// Number of the source: core or trace id; `meta` has its name.
        source: Repeats<u32> = Number false;
        /// Number of the instruction in its source, from 0.
        number: Nums<u64> = Count false;
        /// Address.
        pc: Nums<u64> = Address true;
        /// Instruction word, zero-extended.
        encoding: Nums<u32> = Encoding true;
        /// Bytes.
        length: Nums<u8> = Byte true;
        /// It completed; false for system calls, breakpoints and faults, which were only attempted.
        retired: Flags = Flag false;
        /// Class: load, branch, call, …
        class: Words = Word true;
        /// Mnemonic, without operands.
        mnemonic: Words = Word true;
        /// For an instruction that can change the flow: it did.
        taken: Flags = Flag true;
        /// Where it went: as recorded, by its encoding, or the next instruction if neither gap nor trap came between.
        target: Nums<u64> = Address true;
        /// Function, demangled.
        function: Words = Word true;
        /// Source file.
        file: Words = Word true;
        /// Source line.
        line: Nums<u32> = Number true;
        /// The last timestamp at or before it.
        time: Repeats<u64> = Time true;
        /// Cycles counted so far, the sum of all counts before it.
        cycles: Repeats<u64> = Time true;
        /// The last change of the context before it: a row of `contexts`.
        context: Repeats<u64> = Count true;
        /// Something is missing between the instruction before and this one.
        gap_before: Flags = Flag false;
        /// Byte offset in the decompressed trace of the item that recorded it.
        byte_offset: Nums<u64> = Count false;
    }
}

table! {
    /// One row per memory access that the trace records.
    Memory = "memory" {
        /// Number of the source.
        source: Repeats<u32> = Number false;
        /// Number of its instruction; of the next one where `state` is true.
        number: Nums<u64> = Count false;
        /// Effect: read, write, read-write, prefetch, …
        kind: Words = Word false;
        /// Virtual address.
        address: Nums<u64> = Address true;
        /// Bytes.
        size: Nums<u64> = Count false;
        /// Data read, or written by a plain store, up to 64 bits.
        data: Nums<u64> = Address true;
        /// The same where it is wider, little-endian.
        wide: Bytes = Bytes true;
        /// Data that a read-modify-write stored, up to 64 bits.
        stored: Nums<u64> = Address true;
        /// Physical address.
        physical: Nums<u64> = Address true;
        /// Size or kind was inferred, not recorded.
        inferred: Flags = Flag false;
        /// Contents given outside any instruction: the initial memory, a dump.
        state: Flags = Flag false;
    }
}

table! {
    /// One row per register that the trace records with an instruction, or as state between instructions.
    Registers = "registers" {
        /// Number of the source.
        source: Repeats<u32> = Number false;
        /// Number of its instruction, or of the next one for state between instructions.
        number: Nums<u64> = Count false;
        /// Name: `x10`, `f0`, `v1`, `mstatus`, …
        register: Words = Word false;
        /// Why it is there: source, destination, state, ready.
        role: Words = Word false;
        /// Value, up to 64 bits.
        value: Nums<u64> = Address true;
        /// The same where it is wider, little-endian.
        wide: Bytes = Bytes true;
        /// How the value applies: set, add, or.
        update: Words = Word false;
        /// Which bits of the value are known, where not all are.
        known: Nums<u64> = Address true;
    }
}

table! {
    /// One row per trap: exceptions, interrupts, returns from them, resets.
    Traps = "traps" {
        /// Number of the source.
        source: Repeats<u32> = Number false;
        /// Number of the next instruction.
        number: Nums<u64> = Count false;
        /// Kind: exception, interrupt, return, reset.
        kind: Words = Word false;
        /// Cause number, in the architecture's terms.
        cause: Nums<u64> = Count true;
        /// Arm exception class.
        class: Nums<u8> = Byte true;
        /// The architecture's name of it.
        name: Words = Word true;
        /// Trap value: a faulting address, an instruction, …
        value: Nums<u64> = Address true;
        /// The instruction that trapped, or would have been next.
        from_pc: Nums<u64> = Address true;
        /// First instruction of the handler, or where a return went.
        to_pc: Nums<u64> = Address true;
        /// Preferred return address.
        return_address: Nums<u64> = Address true;
        /// Taken to or from a virtual mode.
        is_virtual: Flags = Flag false;
        /// The system call instruction.
        syscall: Words = Word true;
        /// Its number or immediate.
        syscall_index: Nums<u64> = Count true;
        /// The last timestamp at or before it.
        time: Repeats<u64> = Time true;
        /// The last change of the context before it: a row of `contexts`.
        context: Repeats<u64> = Count true;
        /// Byte offset of the item that recorded it.
        byte_offset: Nums<u64> = Count false;
    }
}

table! {
    /// One row per change of the context, with all that is known after it.
    Contexts = "contexts" {
        /// Number of the source.
        source: Repeats<u32> = Number false;
        /// Number of the change in its source, from 1.
        context: Nums<u64> = Count false;
        /// Number of the next instruction.
        number: Nums<u64> = Count false;
        /// Privilege or exception level.
        privilege: Words = Word true;
        /// Arm security state.
        security: Words = Word true;
        /// Arm: the level's own stack pointer is selected.
        own_stack: Flags = Flag true;
        /// Context id (Arm CONTEXTIDR, RISC-V trace context).
        context_id: Nums<u64> = Address true;
        /// Virtual machine id.
        vmid: Nums<u64> = Address true;
        /// Address space id.
        asid: Nums<u64> = Address true;
        /// Process id.
        pid: Nums<u64> = Address true;
        /// Thread id.
        tid: Nums<u64> = Address true;
        /// Name of the thread, where the trace has it.
        thread: Words = Word true;
        /// Hardware thread.
        hw_thread: Nums<u64> = Address true;
        /// Instruction set.
        isa: Words = Word true;
        /// Vector length in bits.
        vector_bits: Nums<u32> = Number true;
        /// Streaming mode.
        streaming: Flags = Flag true;
        /// A mode that the trace cannot describe.
        unsupported: Flags = Flag true;
        /// Byte offset of the item that recorded it.
        byte_offset: Nums<u64> = Count false;
    }
}

table! {
    /// One row per timestamp or cycle count.
    Times = "times" {
        /// Number of the source.
        source: Repeats<u32> = Number false;
        /// Number of the next instruction.
        number: Nums<u64> = Count false;
        /// Kind: timestamp, offset, cycles.
        kind: Words = Word false;
        /// The number; null where the unit lost count.
        value: Nums<u64> = Time true;
        /// Clock domain.
        clock: Nums<u32> = Number false;
        /// Byte offset of the item that recorded it.
        byte_offset: Nums<u64> = Count false;
    }
}

table! {
    /// One row per mark: trace events, triggers, transactions, notes.
    Marks = "marks" {
        /// Number of the source.
        source: Repeats<u32> = Number false;
        /// Number of the next instruction.
        number: Nums<u64> = Count false;
        /// Kind: trigger, trace-event, note, …
        kind: Words = Word false;
        /// Number, address or value, by kind.
        value: Nums<u64> = Address true;
        /// Text.
        text: Texts = Text true;
        /// Byte offset of the item that recorded it.
        byte_offset: Nums<u64> = Count false;
    }
}

table! {
    /// One row per place where something is missing.
    Gaps = "gaps" {
        /// Number of the source.
        source: Repeats<u32> = Number false;
        /// Number of the next instruction.
        number: Nums<u64> = Count false;
        /// Why: overflow, filtered, lost-sync, bad-input, …
        reason: Words = Word false;
        /// Last address known before it.
        from_pc: Nums<u64> = Address true;
        /// First address known after it.
        to_pc: Nums<u64> = Address true;
        /// Instructions executed in it, where known.
        instructions: Nums<u64> = Count true;
        /// Bytes of input skipped.
        bytes: Nums<u64> = Count true;
        /// Byte offset of the item that recorded it.
        byte_offset: Nums<u64> = Count false;
    }
}

table! {
    /// One row per straight run of instructions, as the flow formats record them; empty for formats that record
    /// single instructions.
    Runs = "runs" {
        /// Number of the source.
        source: Repeats<u32> = Number false;
        /// Number of its first instruction; of the next one where it was withdrawn.
        number: Nums<u64> = Count false;
        /// Address of the first instruction.
        start_pc: Nums<u64> = Address false;
        /// Address after the last instruction.
        end_pc: Nums<u64> = Address false;
        /// How many, attempted ones included.
        instructions: Nums<u32> = Number false;
        /// Instruction set.
        isa: Words = Word false;
        /// How it ends: next, branch, jump, call, return, trap, …
        exit: Words = Word false;
        /// For a branch at the end: it was taken.
        taken: Flags = Flag true;
        /// The last instruction was attempted and did not retire.
        attempted: Flags = Flag false;
        /// The program contradicts the trace here.
        doubtful: Flags = Flag false;
        /// Cancelled speculation or a failed transaction: it did not happen.
        withdrawn: Flags = Flag false;
        /// Function of the first instruction, demangled.
        function: Words = Word true;
        /// The last timestamp at or before it.
        time: Repeats<u64> = Time true;
        /// Cycles counted so far.
        cycles: Repeats<u64> = Time true;
        /// The last change of the context before it: a row of `contexts`.
        context: Repeats<u64> = Count true;
        /// Byte offset of the item that recorded it.
        byte_offset: Nums<u64> = Count false;
    }
}

table! {
    /// Facts about the trace as a whole, one row each.
    Meta = "meta" {
        /// Number of the source that it is about; null for the whole trace.
        source: Repeats<u32> = Number true;
        /// Name: `format`, `version`, `isa`, `producer`, `source`, `schema`, …
        key: Words = Word false;
        /// Value.
        value: Texts = Text false;
    }
}
