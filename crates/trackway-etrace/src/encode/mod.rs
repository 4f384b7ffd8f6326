//! Events to packets: the encoder of chapter 8 (figure 8.1 of the draft and its successor in version 2).
//!
//! | step | here |
//! |---|---|
//! | events → blocks and accesses at the [`port`](crate::port) | `blocks`, `accesses` |
//! | what is traced | `filter`, `qualify` |
//! | blocks → rows of the pipeline | `intake`, `row` |
//! | one pass per row: the decisions of the figure | `pass`, `usual` where nothing but the flow changes, and `stretch` for exact mode |
//! | packets | `report` (formats 0 to 2), `sync` (3/0, 3/1), `data` and `data_queue` (data trace), `send` |
//! | the fields that software sees | [`TraceUnit`] |
//!
//! A pass sees the instructions before and after its own. The first decision that applies wins, and a pass sends one
//! packet in almost all cases. In **exact** mode (`docs/design/etrace-encoder.md`) no address is passed twice between
//! a report or branch and the next report, so that a decoder finds every reported address at once.
//!
//! Plain instructions that follow each other are joined as they come in, so that blocks and single instructions
//! yield the same packets.

pub(crate) mod accesses;
pub(crate) mod blocks;
pub(crate) mod control;
mod data;
mod data_queue;
pub(crate) mod executed;
mod filter;
mod intake;
mod pass;
mod progress;
mod qualify;
mod report;
mod row;
mod send;
mod stretch;
mod sync;
mod tally;
mod usual;

use trackway_core::{Account, Result};

use crate::config::{Config, ConfigError};
use crate::mirrored::{JumpCache, Predictor, ReturnStack};
use crate::modes::Options;
use crate::transport::Buffer;
use crate::wire::Writer;
use crate::wire::instruction::qual_status;
pub use control::TraceUnit;
pub use data::DataEncoder;
use data_queue::DataQueue;
pub(crate) use progress::{Progress, Single};
use qualify::Qualifier;
pub(crate) use row::PortTrap;
use row::{Previous, Row, RowKind};
use stretch::Stretch;
pub(crate) use tally::Tally;

/// The trace encoder.
#[derive(Clone, Debug)]
pub struct Encoder {
    config: Config,
    /// Writes the packets.
    pub writer: Writer,
    /// The account of events that packets could not express.
    pub account: Account,
    options: Options,
    previous: Previous,
    /// The row that waits for its pass, until the next one is known.
    row: Row,
    /// Start address of a block that can be joined to the row.
    open: Option<u64>,
    /// The next block may be a usual one.
    pub(crate) usual: bool,
    /// Usual blocks are taken as such; tests compare with the way of all others.
    pub(crate) shortcuts: bool,
    /// The trap, if the row is one.
    trap: PortTrap,
    /// Nothing has been traced since tracing was switched on.
    first: bool,
    /// A plain row sends nothing in its pass, so that the next block can be joined to it.
    can_join: bool,
    /// The next instruction gets a 3/0 packet for resynchronisation.
    sync_next: bool,
    /// Tracing ends and starts again before the next instruction.
    restart: bool,
    /// The last address packet was due to an uninferable discontinuity.
    ended_by_updiscon: bool,
    /// The last flow packet fits two places: the next packet must not be of format 3.
    ambiguous: bool,
    map: u32,
    branches: u64,
    /// Correctly predicted branches since the last report.
    predicted: u64,
    last_address: u64,
    context_pending: bool,
    /// The count at which the next synchronisation is due, in packets, cycles or half-words.
    due: u64,
    interval: u64,
    /// Half-words retired so far.
    halfwords: u64,
    predictor: Predictor,
    cache: JumpCache,
    stack: ReturnStack,
    stretch: Stretch,
    /// For call depth reports: there was a return since the last call.
    returned: bool,
    /// For call depth reports: there was a branch since the last return.
    branched: bool,
    buffer: Buffer,
    /// Trace is being lost: the buffer is full.
    lost: bool,
    /// Cycles for which the core was stalled.
    pub stalled: u64,
    /// The support packet that starts the trace has been sent.
    enabled: bool,
    /// Last privilege and context at the port.
    port: Option<(u32, u64)>,
    qualifier: Qualifier,
    data: DataQueue,
    /// Facts that have entered, and those a decoder finds.
    pub(crate) tally: Tally,
    /// The context that was sent last.
    tally_context: Option<u64>,
    /// The events have stated a privilege; before that it is assumed.
    pub(crate) privilege_stated: bool,
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
            account: tally::account(config),
            options: config.options,
            previous: Previous::default(),
            row: Row::default(),
            open: None,
            usual: false,
            shortcuts: true,
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
            tally: Tally::default(),
            tally_context: None,
            privilege_stated: false,
            error: Ok(()),
        })
    }

    /// Changes the modes: the trace ends and starts again, and a support packet reports the new ones.
    pub fn set_options(&mut self, options: Options, cycle: u64) -> Result<(), ConfigError> {
        let config = Config { options, ..self.config.clone() };
        self.reconfigure(&config, cycle)
    }

    /// Changes the settings. Other modes end the trace and start it again with a support packet that reports them;
    /// filters and resynchronisation change without a packet.
    pub(crate) fn reconfigure(&mut self, config: &Config, cycle: u64) -> Result<(), ConfigError> {
        config.check()?;
        self.usual = false;
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
            self.qualifier.reconfigure(config);
        }
        if resync {
            self.interval = config.encoder.interval().unwrap_or(u64::MAX);
            self.due = self.progress(self.halfwords).saturating_add(self.interval);
        }
        if modes {
            self.options = config.options;
            self.enabled = false;
            self.data.reconfigure(config);
            if self.data.on {
                self.enable();
            }
        }
        Ok(())
    }

    /// Switches instruction and data trace on and off (table 2.1). The trace so far ends; support packets report it.
    pub(crate) fn set_enable(&mut self, ienable: bool, denable: bool, cycle: u64) {
        let denable = denable && self.config.data.enable;
        let before = (!self.qualifier.disabled, self.data.on);
        if before == (ienable, denable) {
            return;
        }
        let was_enabled = self.enabled;
        let packets = self.writer.packets;
        self.flush_rows(cycle);
        let ended = self.writer.packets > packets;
        self.qualifier.disabled = !ienable;
        self.data.on = denable;
        // Switching on is reported before the first packet, switching off now.
        let off = (before.0 && !ienable && !ended) || (before.1 && !denable);
        if was_enabled && off {
            self.send_support(ienable, qual_status::NO_CHANGE);
        }
        let on = (ienable && !before.0) || (denable && !before.1);
        self.enabled &= !on;
    }

    /// Something is missing in the events here: the trace ends, and a support packet reports a loss.
    pub(crate) fn gap(&mut self, cycle: u64) {
        self.flush_rows(cycle);
        self.enable();
        self.send_support(true, qual_status::TRACE_LOST);
        if !self.lost {
            self.tally.begin_gap();
        }
    }

    /// Has everything been emitted and taken?
    pub fn is_empty(&self) -> bool {
        self.row.kind == RowKind::Empty && self.data.is_empty() && self.writer.bytes.is_empty()
    }

    /// Ends the trace here and sends everything pending.
    pub fn flush(&mut self, cycle: u64) -> Result<()> {
        self.flush_rows(cycle);
        self.error
    }

    fn flush_rows(&mut self, cycle: u64) {
        self.stop(cycle);
        self.drain();
    }

    /// Ends the trace and sends everything pending. A loss that was not reported yet is: the buffer drains now.
    pub fn finish(&mut self, cycle: u64) -> Result<()> {
        self.flush_rows(cycle);
        if std::mem::take(&mut self.lost) {
            self.config.encoder.buffer = 0;
            self.send_support(false, qual_status::TRACE_LOST);
        }
        self.error
    }

    pub(crate) fn check_error(&self) -> Result<()> {
        self.error
    }
}
