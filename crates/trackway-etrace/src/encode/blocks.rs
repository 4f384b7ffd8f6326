//! From events to the port: forms retirement blocks and cycles from any RISC-V execution.
//!
//! | step | here |
//! |---|---|
//! | steps and runs → one pending run | `instructions`, `pending`; `whole` without one |
//! | pending run → blocks, blocks → cycles | `cycles` |
//! | traps | `traps` |
//! | context, time and other signals | `signals` |

mod cycles;
mod instructions;
mod pending;
mod signals;
mod traps;
mod whole;

use std::sync::Arc;

use trackway_core::*;
use trackway_image::{Cursor, Image, Waypoints};

use self::pending::{LARGEST_BLOCK, Pending};
use self::signals::Incoming;
use self::whole::Transfers;
use super::accesses::AccessBuilder;
use super::data_queue::DataItem;
use super::executed::Executed;
use super::tally::OwnMark;
use super::{Encoder, Progress, Single};
use crate::config::Config;
use crate::port::{Block, Cycle, privilege_code};

/// Most instructions in a block: no limit, unless filters look at blocks.
fn max_block(config: &Config) -> u32 {
    match config.encoder.block {
        0 if config.filters.ifilters | config.filters.dfilters != 0 => config.params.retires,
        0 => LARGEST_BLOCK,
        block => block,
    }
}

/// Forms blocks and cycles and passes them to the encoder.
#[derive(Debug)]
pub(crate) struct BlockBuilder {
    isa: Isa,
    itype_width: u32,
    x1_only: bool,
    sijump: bool,
    default_ctype: u8,
    has_context: bool,
    max_block: u32,
    max_blocks: usize,
    image: Option<Cursor>,
    pending: Option<Pending>,
    /// Blocks have no limit and no data: straight runs can be joined.
    joins: bool,
    /// The block that is being formed, and the number of instructions in it.
    block: Block,
    count: u32,
    instructions: Progress,
    last_of_block: Single,
    /// The block begins at the target of a jump that is in the events.
    at_target: bool,
    /// The target of the last instruction, where it is in the events.
    recorded_target: Option<u64>,
    /// Blocks that wait for their cycle, with their instructions, the last alone, and their data accesses.
    blocks: Vec<(Block, Progress, Single, bool, Vec<DataItem>)>,
    privilege: Privilege,
    /// Signals of the port besides blocks; `ctype` is for the next one.
    port: Cycle<'static>,
    /// An instruction that was attempted and whose trap has not come yet: address, encoding, and whether the events
    /// mark it so.
    attempted: Option<(u64, u32, bool)>,
    attempted_at_target: bool,
    /// Address and encoding of the instruction that retired last, for pairs.
    last: Option<(u64, u32)>,
    after_trap: bool,
    /// Instructions in the events, and those without an encoding.
    taken: (u64, u64),
    contexts: Contexts,
    /// Code that the program does not have, where it is asked for.
    pub(crate) executed: Option<Executed>,
    /// Transfers that were executed before.
    transfers: Transfers,
    /// Data trace, if it is on.
    data: Option<AccessBuilder>,
    /// Items of the pending instruction.
    pending_items: Vec<DataItem>,
    /// Items of the block.
    items: Vec<DataItem>,
    /// The last instruction that joined the block.
    joined: Option<u64>,
    /// Signals of the port from the next instruction on.
    incoming: Option<Incoming>,
}

impl BlockBuilder {
    pub(crate) fn new(config: &Config, isa: Isa, image: Option<&Image>) -> Self {
        BlockBuilder {
            isa,
            itype_width: config.params.itype_width,
            x1_only: config.calls_x1_only,
            sijump: config.params.sijump == 1,
            default_ctype: if config.params.ctype_width >= 2 { 2 } else { 1 },
            has_context: config.params.nocontext == 0,
            max_block: max_block(config),
            max_blocks: config.params.taken_branches.max(1) as usize,
            image: image.map(|image| image.blocks(&Context::default(), isa, Waypoints::ETRACE).cursor()),
            pending: None,
            joins: max_block(config) == LARGEST_BLOCK && !config.data.enable,
            block: Block::default(),
            count: 0,
            instructions: Progress::default(),
            last_of_block: Single::default(),
            at_target: false,
            recorded_target: None,
            blocks: Vec::new(),
            privilege: config.encoder.privilege,
            port: Cycle {
                privilege: privilege_code(config.encoder.privilege).unwrap_or(0),
                ..Cycle::default()
            },
            attempted: None,
            attempted_at_target: false,
            last: None,
            after_trap: false,
            taken: (0, 0),
            contexts: Contexts::default(),
            executed: None,
            transfers: Transfers::default(),
            data: config.data.enable.then(|| AccessBuilder::new(config, isa)),
            pending_items: Vec::new(),
            items: Vec::new(),
            joined: None,
            incoming: None,
        }
    }

    pub(crate) fn put(&mut self, batch: &Batch, encoder: &mut Encoder) {
        let mut rest = &batch.events[..];
        loop {
            rest = &rest[self.extend(rest)..];
            rest = &rest[self.whole_runs(rest, batch, encoder)..];
            let Some((event, others)) = rest.split_first() else { return };
            self.event(event, batch, encoder);
            rest = others;
        }
    }

    fn event(&mut self, event: &Event, batch: &Batch, encoder: &mut Encoder) {
        // With a data trace, steps are counted in full; otherwise only facts that E-Trace can hold.
        if self.data.is_some() || !matches!(event.kind, EventKind::Step(_)) {
            encoder.tally.taken.add_event(batch, &event.kind, &mut self.contexts);
        }
        match &event.kind {
            EventKind::Step(step) => self.step(step, batch, encoder),
            EventKind::Run(run) if !run.withdrawn => self.run(run, batch, encoder),
            EventKind::Run(_) => {}
            EventKind::Trap(n) => self.trap(&batch.traps[*n as usize], encoder),
            EventKind::Context(n) => {
                let context = &batch.contexts[*n as usize];
                if context.privilege.is_some() && !encoder.privilege_stated {
                    // Blocks so far have the one that was assumed.
                    self.close(encoder);
                    self.flush(encoder);
                    encoder.privilege_stated = true;
                }
                encoder.tally.take_change(context);
                if let Some(executed) = &mut self.executed {
                    executed.change(context);
                }
                self.context(context);
            }
            EventKind::Time(time) => self.time(time),
            EventKind::Mark(mark) => self.mark(mark, encoder),
            EventKind::Gap(n) => self.gap(&batch.gaps[*n as usize], encoder),
            EventKind::Foreign(item) => self.foreign(item, batch),
            EventKind::State(_) => {}
        }
    }

    fn mark(&mut self, mark: &Mark, encoder: &mut Encoder) {
        let own = match mark.kind {
            MarkKind::Notify => match &mut self.pending {
                Some(pending) => {
                    (pending.notify, pending.open) = (true, false);
                    OwnMark::Notify
                }
                None => return,
            },
            MarkKind::TraceOff => {
                self.interrupt_flow(encoder);
                OwnMark::Off
            }
            MarkKind::TraceOn => OwnMark::On,
            MarkKind::Halt | MarkKind::Suspended => return self.interrupt_flow(encoder),
            _ => return,
        };
        encoder.tally.take_mark(own);
    }

    fn gap(&mut self, gap: &Gap, encoder: &mut Encoder) {
        // After a trap the handler may be anywhere: this is not a gap.
        if self.after_trap && matches!(gap.reason, GapReason::Unexplained | GapReason::Filtered) {
            return;
        }
        self.invent_trap(encoder);
        self.interrupt_flow(encoder);
        encoder.gap(self.port.cycle);
    }

    /// Collects the instructions that the program does not have.
    pub(crate) fn keep_code(&mut self, image: Arc<Image>) {
        self.executed = Some(Executed::new(self.isa, image));
    }

    pub(crate) fn finish(&mut self, encoder: &mut Encoder) -> Result<()> {
        self.settle(None, encoder);
        self.invent_trap(encoder);
        self.close(encoder);
        self.flush(encoder);
        if let Some(data) = &mut self.data {
            encoder.respond(data.drain());
        }
        encoder.finish(self.port.cycle)?;
        let tally = &mut encoder.tally;
        tally.taken[Fact::Instructions] += self.taken.0;
        tally.taken[Fact::Encodings] += self.taken.0 - self.taken.1;
        tally.settle(&mut encoder.account);
        Ok(())
    }
}
