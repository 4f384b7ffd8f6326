//! The tables of large answers: the one list of their fields.

use crate::wire::{Column, Hex, Long, Record, Writer};

/// Declares tables as types; `list` is the declaration that the page imports.
macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $kind:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub(crate) struct $name {
                $($(#[$about])* pub(crate) $field: $kind,)*
            }

            impl Record for $name {
                const NAME: &'static str = stringify!($name);

                fn fields() -> Vec<(&'static str, String)> {
                    vec![$((stringify!($field), <$kind as Column>::kind())),*]
                }

                fn columns(rows: &[&Self], out: &mut Writer) {
                    $(<$kind as Column>::write(rows.iter().map(|row| &row.$field), out);)*
                }
            }
        )*

        /// All tables with their fields, as a module of the page.
        pub fn list() -> String {
            let mut out = String::from(
                "// The tables of large answers. A test writes this file from tables.rs: TRACKWAY_BLESS=1 cargo test.\n\n\
                 export const TABLES = {\n",
            );
            $(
                let fields: Vec<String> =
                    $name::fields().into_iter().map(|(field, kind)| format!("{field}: \"{kind}\"")).collect();
                out += &format!("  {}: {{ {} }},\n", $name::NAME, fields.join(", "));
            )*
            out + "} as const;\n"
        }
    };
}

tables! {
    /// A window of the timeline.
    #[derive(Default)]
    Timeline {
        /// Each call is a slice; else levels of detail.
        exact: u64,
        slices: Long<Drawn>,
        /// Names of functions, by the number that slices have.
        names: Vec<Name>,
        threads: Vec<Thread>,
        instants: Vec<Instant>,
        /// Counts, where there are too many to list.
        stretches: Vec<Stretch>,
        contexts: Vec<Span>,
        clock: Vec<Point>,
        errors: Vec<Damage>,
    }
    /// A function that is drawn. Bits: 1 for open all the time, 2 for a handler.
    Drawn { thread: u64, depth: u64, start: u64, end: u64, name: u64, bits: u64, }
    /// The name of a function.
    Name { text: String, }
    /// A thread and its name.
    Thread { id: u64, name: String, }
    /// A trap, mark or gap before an instruction.
    Instant { kind: String, at: u64, name: String, }
    /// A stretch of instructions, with how many events of a kind are in it.
    Stretch { kind: String, start: u64, end: u64, count: u64, }
    /// A context, to the next one.
    Span { start: u64, name: String, }
    /// A place where a clock is known.
    Point { at: u64, time: Option<Hex>, cycles: Option<Hex>, }
    /// Damage before an instruction.
    Damage { n: u64, text: String, }
    /// A window of the instruction list.
    Rows { from: u64, rows: Vec<Row>, after: Vec<Event>, errors: Vec<Damage>, }
    /// An instruction; what is missing is unknown.
    Row {
        n: u64,
        pc: Option<Hex>,
        code: Option<String>,
        text: Option<String>,
        sym: Option<String>,
        line: Option<String>,
        /// Of a conditional branch: 0 not taken, 1 taken, 2 unknown.
        taken: Option<u64>,
        attempted: u64,
        regs: Vec<Reg>,
        mem: Vec<Access>,
        ev: Vec<Event>,
    }
    /// A register that was read or written.
    Reg { r: String, id: String, w: u64, v: Option<Hex>, }
    /// An access to memory: kind, address, size, value.
    Access { k: String, a: Option<Hex>, s: u64, v: Option<Hex>, }
    /// An event before an instruction.
    Event { kind: String, text: String, }
    /// The memory map.
    Memory {
        /// Bytes of a row.
        size: Option<u64>,
        from: u64,
        /// Instructions of a column.
        width: u64,
        accesses: u64,
        unplaced: u64,
        rows: Vec<Piece>,
    }
    /// A piece of memory, with its reads and writes.
    Piece {
        a: Hex,
        r: u64,
        w: u64,
        first: u64,
        last: u64,
        who: Vec<Who>,
        others: u64,
        cells: Long<Cell>,
    }
    /// A function that touched a piece.
    Who { name: Option<String>, r: u64, w: u64, }
    /// Reads and writes in a column.
    Cell { column: u64, r: u64, w: u64, }
    /// The call tree of a range, callers first.
    Tree { total: u64, cut: u64, nodes: Vec<Node>, functions: Vec<Function>, }
    /// A node of the tree, with the place of its caller.
    Node {
        parent: Option<u64>,
        name: String,
        total: u64,
        own: u64,
        calls: u64,
        guesses: u64,
        address: Option<Hex>,
    }
    /// A function of the range.
    Function { name: String, address: Hex, own: u64, total: u64, calls: u64, guesses: u64, }
}
