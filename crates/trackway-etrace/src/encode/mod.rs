//! The encoder: figure 8.1 of the draft and its successor in version 2, with the holes closed.
//!
//! One *pass* per retired instruction, or trap without one, sees the instruction before and the one after
//! (chapter 8). First "yes" wins, and a pass sends one packet in almost all cases. What hardware cannot
//! afford and **exact** mode adds (`docs/decisions/0181-etrace-exact-mode.md`): no address is passed twice
//! between a report or branch and the next report, so whatever is reported is found at once.
//!
//! Plain instructions that follow each other are joined to one as they come in, so blocks and single
//! instructions give the same packets by construction.

pub(crate) mod accesses;
pub(crate) mod blocks;
pub(crate) mod control;
mod data;
mod data_queue;
pub mod filter;
mod intake;
mod pass;
mod qualify;
mod report;
mod row;
mod send;
mod stretch;
mod sync;

use trackway_core::{Losses, Result};

use crate::config::{Config, ConfigError};
use crate::mirrored::{JumpCache, Predictor, ReturnStack};
use crate::modes::Options;
use crate::transport::Buffer;
use crate::wire::Writer;
use crate::wire::instruction::qual_status;
pub use control::TraceUnit;
pub use data::DataEncoder;
use data_queue::DataQueue;
use qualify::Qualifier;
pub(crate) use row::PortTrap;
use row::{Previous, Row, RowKind};
use stretch::Stretch;

/// The trace encoder.
#[derive(Clone, Debug)]
pub struct Encoder {
    config: Config,
    /// Where packets go.
    pub writer: Writer,
    /// What could not be said.
    pub losses: Losses,
    options: Options,
    previous: Previous,
    /// The row that waits for its pass, until it is known what follows.
    row: Row,
    /// Where a block would have to start to be joined to the row.
    open: Option<u64>,
    /// The trap, where that is one.
    trap: PortTrap,
    /// Nothing was traced yet since tracing went on.
    first: bool,
    /// If the row at hand is plain, its pass sends nothing: what follows can be joined to it.
    can_join: bool,
    /// The next instruction gets a 3/0 for resynchronisation.
    sync_next: bool,
    /// Tracing ends and starts again before the next instruction.
    restart: bool,
    /// The last address packet was due to an uninferable discontinuity.
    ended_by_updiscon: bool,
    /// The last flow packet has two places that fit: what follows it must not be a format 3 packet.
    ambiguous: bool,
    map: u32,
    branches: u64,
    /// Correctly predicted branches since the last report.
    predicted: u64,
    last_address: u64,
    context_pending: bool,
    /// When the next synchronisation is due, in packets, cycles or half-words.
    due: u64,
    interval: u64,
    /// Half-words that retired.
    halfwords: u64,
    predictor: Predictor,
    cache: JumpCache,
    stack: ReturnStack,
    stretch: Stretch,
    /// For call depth reports: a return came after the last call; a branch came after the last return.
    returned: bool,
    branched: bool,
    buffer: Buffer,
    lost: bool,
    /// Cycles that the core was stalled.
    pub stalled: u64,
    enabled: bool,
    /// Last privilege and context at the port.
    port: Option<(u32, u64)>,
    qualifier: Qualifier,
    data: DataQueue,
    error: Result<()>,
}

impl Encoder {
    /// An encoder; tracing is on.
    pub fn new(config: &Config) -> Result<Encoder, ConfigError> {
        config.check()?;
        let interval = config.encoder.interval().unwrap_or(u64::MAX);
        Ok(Encoder {
            config: config.clone(),
            writer: Writer::new(config),
            losses: Losses::default(),
            options: config.options,
            previous: Previous::default(),
            row: Row::default(),
            open: None,
            trap: PortTrap::default(),
            first: true,
            can_join: false,
            sync_next: false,
            restart: false,
            ended_by_updiscon: false,
            ambiguous: false,
            map: 0,
            branches: 0,
            predicted: 0,
            last_address: 0,
            context_pending: false,
            due: interval,
            interval,
            halfwords: 0,
            predictor: Predictor::new(config),
            cache: JumpCache::new(config),
            stack: ReturnStack::new(config),
            stretch: Stretch::default(),
            returned: false,
            branched: false,
            buffer: Buffer::new(config.encoder.buffer, config.encoder.drain),
            lost: false,
            stalled: 0,
            enabled: false,
            port: None,
            qualifier: Qualifier::new(config),
            data: DataQueue::new(config),
            error: Ok(()),
        })
    }

    /// The modes change: what was traced so far ends, and a support packet tells the new ones.
    pub fn set_options(&mut self, options: Options, cycle: u64) -> Result<(), ConfigError> {
        let config = Config { options, ..self.config.clone() };
        self.reconfigure(&config, cycle)
    }

    /// Settings change: modes end what was traced so far, and a support packet tells the new ones; filters and
    /// resynchronisation just go on differently.
    pub fn reconfigure(&mut self, config: &Config, cycle: u64) -> Result<(), ConfigError> {
        config.check()?;
        let before = &self.config;
        let modes = config.options != before.options || config.data != before.data;
        let filters = config.filters != before.filters;
        let counted = |config: &Config| (config.encoder.resync_mode, config.encoder.interval());
        let resync = counted(config) != counted(before);
        if modes {
            self.flush_rows(cycle);
        }
        self.config = config.clone();
        if filters {
            self.qualifier.renew(config);
        }
        if resync {
            self.interval = config.encoder.interval().unwrap_or(u64::MAX);
            self.due = self.progress(self.halfwords).saturating_add(self.interval);
        }
        if modes {
            self.options = config.options;
            self.enabled = false;
            self.data.renew(config);
            if self.data.on {
                self.enable();
            }
        }
        Ok(())
    }

    /// Switches instruction and data trace on and off (table 2.1). What was traced so far ends, and support packets
    /// tell.
    pub fn set_enable(&mut self, ienable: bool, denable: bool, cycle: u64) {
        let denable = denable && self.config.data.enable;
        let before = (!self.qualifier.disabled, self.data.on);
        if before == (ienable, denable) {
            return;
        }
        let told = self.enabled;
        let packets = self.writer.packets;
        self.flush_rows(cycle);
        let ended = self.writer.packets > packets;
        self.qualifier.disabled = !ienable;
        self.data.on = denable;
        // What is switched on is told with the first packet; what is switched off, now.
        let off = (before.0 && !ienable && !ended) || (before.1 && !denable);
        if told && off {
            self.send_support(ienable, qual_status::NO_CHANGE);
        }
        let on = (ienable && !before.0) || (denable && !before.1);
        self.enabled &= !on;
    }

    /// Was everything emitted, and taken away?
    pub fn is_empty(&self) -> bool {
        self.row.kind == RowKind::Empty && self.data.is_empty() && self.writer.bytes.is_empty()
    }

    /// What is pending ends here and is sent.
    pub fn flush(&mut self, cycle: u64) -> Result<()> {
        self.flush_rows(cycle);
        self.error
    }

    fn flush_rows(&mut self, cycle: u64) {
        self.stop(cycle);
        self.drain();
    }

    /// Ends the trace and sends what is pending.
    pub fn finish(&mut self, cycle: u64) -> Result<()> {
        self.flush(cycle)
    }

    pub(crate) fn check_error(&self) -> Result<()> {
        self.error
    }
}
