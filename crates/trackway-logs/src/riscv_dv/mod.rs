//! The CSV trace of riscv-dv: a row for each instruction, with the registers that it wrote.

mod row;
mod rules;

use std::sync::Arc;

use trackway_core::*;
use trackway_format::{Error, Key, Omits, Recognised};

use self::row::Columns;
use crate::lines::{Line, Wrong, of_head};
use crate::log::{Check, Lift, Log, Report, Start};
use crate::riscv::check::{Checker, Rules};
use crate::riscv::handlers::Handlers;
use crate::riscv::isa_of;
use crate::riscv::pair::{Pair, lift_by_pair};
use crate::riscv::record::Retired;

trackway_format::settings! {
    /// `[riscv-dv]` in the settings.
    #[derive(Clone, Copy, Debug, Default)]
    struct Section {
        /// Width of integer registers in bits, 32 or 64; the digits of addresses and values show it.
        xlen: Option<u32> = "64",
    }
}

/// An opened trace.
#[derive(Debug)]
pub(crate) struct RiscvDv {
    isa: Isa,
    columns: Arc<Columns>,
    handlers: Handlers,
    survey: Option<Vec<u8>>,
}

const KINDS: &[&str] = &["row", "header", "blank"];

impl Log for RiscvDv {
    const ID: FormatId = FormatId::new("riscv-dv");
    const TITLE: &'static str = "riscv-dv trace (CSV)";
    const NAME: &'static str = "riscv-dv";
    const EXTENSIONS: &'static [&'static str] = &["csv"];
    const KEYS: &'static [Key] = Section::KEYS;
    const RULES: &'static [&'static Rule] = rules::RULES;
    const SYNTAX: &'static Rule = &rules::ROW;
    const KINDS: &'static [&'static str] = KINDS;
    const SURVEYS: bool = true;
    const OMITS: Omits = Omits { memory: true, implied: true, ..Omits::NOTHING };

    type Lift = Lifting;
    type Check = Checking;

    fn recognise(head: &[u8]) -> Recognised {
        of_head(head).next().is_some_and(|line| Columns::read(line).is_some()).into()
    }

    fn open(start: &Start<'_>) -> trackway_format::Result<Self> {
        let section: Section = start.settings.of_format(start.format)?;
        let columns = of_head(start.head).next().and_then(Columns::read).ok_or_else(|| {
            Error::Config(
                "the first line is not the header of riscv-dv: pc,instr,gpr,csr,binary,mode,…".into(),
            )
        })?;
        let mut record = Retired::default();
        let digits = of_head(start.head).skip(1).take(256).filter_map(|line| {
            record.clear(0);
            row::read(&columns, line, &mut record).ok().map(|row| row.digits)
        });
        // A tool may leave out leading zeros.
        let shown = match digits.max() {
            Some(1..=8) => Isa::Rv32,
            _ => Isa::Rv64,
        };
        let isa = isa_of(section.xlen, "riscv-dv")?.unwrap_or(shown);
        let (handlers, survey) =
            start.survey(Handlers::default(), |found, offset, bytes| found.of_text(offset, bytes, b"tvec:"));
        Ok(RiscvDv { isa, columns: Arc::new(columns), handlers, survey })
    }

    fn meta(&self) -> Meta {
        Meta::new(Self::ID, self.isa)
    }

    fn survey(&self) -> Option<Vec<u8>> {
        self.survey.clone()
    }

    fn lift(&self, _: usize) -> Lifting {
        Lifting { pair: Pair::new(self.isa, self.handlers.clone()), columns: Arc::clone(&self.columns) }
    }

    fn check(&self) -> Checking {
        let rules = Rules { flow: &rules::FLOW, text: &rules::TEXT, effects: &rules::EFFECTS };
        let checker = Checker::new(self.isa, rules);
        Checking { checker, columns: Arc::clone(&self.columns), record: Retired::default() }
    }

    fn describe(&self, line: &Line<'_>, item: &mut Item) -> Result<(), Wrong> {
        item.name = if line.offset == 0 {
            KINDS[1]
        } else {
            let row = row::read(&self.columns, line.text, &mut Retired::default())?;
            KINDS[if row.is_blank { 2 } else { 0 }]
        };
        item.text.push_str(&String::from_utf8_lossy(line.text));
        Ok(())
    }
}

/// Rows to events.
#[derive(Clone, Debug)]
pub(crate) struct Lifting {
    pair: Pair,
    columns: Arc<Columns>,
}

impl Lift for Lifting {
    lift_by_pair!();

    #[inline(always)]
    fn line(&mut self, line: &Line<'_>, full: bool, batch: &mut Batch) -> Result<Option<usize>, Wrong> {
        if line.offset == 0 {
            return Ok(Some(1));
        }
        self.pair.incoming.clear(line.offset);
        if row::read(&self.columns, line.text, &mut self.pair.incoming)?.is_blank {
            return Ok(Some(2));
        }
        Ok(self.pair.begin(full, batch).then_some(0))
    }

    fn begins(&self, line: &Line<'_>) -> bool {
        let row = row::read(&self.columns, line.text, &mut Retired::default());
        line.offset > 0 && row.is_ok_and(|row| !row.is_blank)
    }
}

/// Rows to findings.
#[derive(Debug)]
pub(crate) struct Checking {
    checker: Checker,
    columns: Arc<Columns>,
    record: Retired,
}

impl Check for Checking {
    fn line(&mut self, line: &Line<'_>, report: &mut Report<'_>) -> Result<(), Wrong> {
        if line.offset == 0 {
            return Ok(());
        }
        self.record.clear(line.offset);
        let row = row::read(&self.columns, line.text, &mut self.record)?;
        let text = if row.text.is_empty() { row.name } else { row.text };
        if !row.is_blank {
            self.checker.record(&self.record, text, (line.offset, line.number), report);
        }
        Ok(())
    }
}
