//! Rows of instructions on their way into columns: 64 at a time, so that a row costs a few stores and each column is asked
//! once for all of them whether it is wanted.

use crate::facts::Facts;
use crate::tables::Instructions;

/// Rows of a block: one bit of a word for each.
const ROWS: usize = 64;

/// Values of a column, and which of them are known.
#[derive(Debug)]
struct Column<T> {
    values: [T; ROWS],
    known: u64,
}

impl<T: Copy + Default> Column<T> {
    fn new() -> Self {
        Column { values: [T::default(); ROWS], known: 0 }
    }

    #[inline(always)]
    fn put(&mut self, row: usize, value: Option<T>) {
        self.values[row % ROWS] = value.unwrap_or_default();
        self.known |= u64::from(value.is_some()) << (row % ROWS);
    }
}

/// An instruction, but for its facts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) number: u64,
    pub(crate) pc: Option<u64>,
    pub(crate) encoding: Option<u32>,
    pub(crate) length: u8,
    pub(crate) retired: bool,
    pub(crate) taken: Option<bool>,
    pub(crate) target: Option<u64>,
    pub(crate) gap_before: bool,
    pub(crate) byte_offset: u64,
}

/// Rows that are not in their columns yet. The last one waits until the next comes, as its target may become known.
#[derive(Debug)]
pub(crate) struct Block {
    rows: usize,
    number: [u64; ROWS],
    pc: Column<u64>,
    encoding: Column<u32>,
    length: [u8; ROWS],
    retired: u64,
    class: Column<u32>,
    mnemonic: Column<u32>,
    taken: u64,
    taken_known: u64,
    target: Column<u64>,
    function: Column<u32>,
    file: Column<u32>,
    line: Column<u32>,
    gap_before: u64,
    byte_offset: [u64; ROWS],
}

impl Block {
    pub(crate) fn new() -> Self {
        Block {
            rows: 0,
            number: [0; ROWS],
            pc: Column::new(),
            encoding: Column::new(),
            length: [0; ROWS],
            retired: 0,
            class: Column::new(),
            mnemonic: Column::new(),
            taken: 0,
            taken_known: 0,
            target: Column::new(),
            function: Column::new(),
            file: Column::new(),
            line: Column::new(),
            gap_before: 0,
            byte_offset: [0; ROWS],
        }
    }

    /// Adds a row; moves those before it into the table where the block is full.
    #[inline(always)]
    pub(crate) fn put(&mut self, row: &Row, facts: &Facts, table: &mut Instructions) {
        if self.rows == ROWS {
            self.settle(table);
        }
        let at = self.rows % ROWS;
        let bit = |flag: bool| u64::from(flag) << at;
        self.number[at] = row.number;
        self.pc.put(at, row.pc);
        self.encoding.put(at, row.encoding);
        self.length[at] = if row.encoding.is_some() { row.length } else { 0 };
        self.retired |= bit(row.retired);
        self.class.put(at, facts.class);
        self.mnemonic.put(at, facts.mnemonic);
        self.taken |= bit(row.taken == Some(true));
        self.taken_known |= bit(row.taken.is_some());
        self.target.put(at, row.target);
        self.function.put(at, facts.function);
        self.file.put(at, facts.file);
        self.line.put(at, facts.line);
        self.gap_before |= bit(row.gap_before);
        self.byte_offset[at] = row.byte_offset;
        self.rows += 1;
        table.rows += 1;
    }

    /// The target of the last row becomes known.
    #[inline]
    pub(crate) fn set_target(&mut self, target: u64) {
        if let Some(last) = self.rows.checked_sub(1) {
            self.target.put(last, Some(target));
        }
    }

    /// Moves all rows into the table.
    #[inline(never)]
    pub(crate) fn settle(&mut self, table: &mut Instructions) {
        let rows = std::mem::take(&mut self.rows);
        let all = u64::MAX.checked_shr((ROWS - rows) as u32).unwrap_or(0);
        macro_rules! columns {
            ($($column:ident)*) => {$(
                table.$column.put_block(&self.$column.values[..rows], std::mem::take(&mut self.$column.known));
            )*};
        }
        table.length.put_block(&self.length[..rows], self.encoding.known);
        columns!(pc encoding class mnemonic target function file line);
        table.number.put_block(&self.number[..rows], all);
        table.byte_offset.put_block(&self.byte_offset[..rows], all);
        table.retired.put_block(std::mem::take(&mut self.retired), all, rows);
        let (taken, known) = (std::mem::take(&mut self.taken), std::mem::take(&mut self.taken_known));
        table.taken.put_block(taken, known, rows);
        table.gap_before.put_block(std::mem::take(&mut self.gap_before), all, rows);
    }
}
