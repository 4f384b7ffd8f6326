//! Real executions of the corpus as branch sequences.

use std::sync::Arc;

use trackway_core::Context;
use trackway_image::{Blocks, Image, Space, Waypoints};
use trackway_testkit::qemu::Run;

/// The part of an execution that a perfect flow trace records.
pub(crate) struct Sequence {
    /// Name of the execution.
    pub(crate) name: String,
    /// The program.
    pub(crate) blocks: Arc<Blocks>,
    /// Its section `.text`.
    pub(crate) text: Vec<u8>,
    /// First instruction.
    pub(crate) start: u64,
    /// Outcome of each conditional branch.
    pub(crate) taken: Vec<bool>,
    /// Target of each indirect transfer.
    pub(crate) targets: Vec<u64>,
    /// Length of the execution up to the last whole run.
    pub(crate) instructions: u64,
    /// Runs up to there.
    pub(crate) runs: u64,
}

impl Sequence {
    /// The sequence of a run of the corpus that no signal or trap disturbs.
    pub(crate) fn new(folder: &str, name: &str, waypoints: Waypoints) -> Option<Self> {
        let run = Run::corpus(folder, name)?;
        let mut image = Image::default();
        image.add_elf(name, Arc::new(run.elf.clone()), None, Space::default()).ok()?;
        let blocks = image.blocks(&Context::default(), run.isa, waypoints);
        let sections = &image.parts()[0].elf.as_ref()?.code;
        let section = sections.iter().find(|section| section.name == ".text")?;
        let mut text = vec![0; usize::try_from(section.length).ok()?];
        blocks.memory().read(section.address, &mut text);
        let mut cursor = blocks.cursor();
        let mut sequence = Sequence {
            name: run.name.clone(),
            blocks,
            text,
            start: run.pcs[0],
            taken: Vec::new(),
            targets: Vec::new(),
            instructions: 0,
            runs: 0,
        };
        let mut at = 0;
        loop {
            let block = cursor.at(run.pcs[at])?;
            at += block.count as usize;
            let Some(&next) = run.pcs.get(at) else { break };
            if block.control.is_indirect() {
                sequence.targets.push(next);
            } else if block.conditional {
                sequence.taken.push(next != block.end);
            }
            sequence.instructions = at as u64;
            sequence.runs += 1;
        }
        Some(sequence)
    }

    /// Follows the sequence; returns the instructions counted and the last pc.
    pub(crate) fn follow(&self) -> (u64, u64) {
        let mut cursor = self.blocks.cursor();
        let mut taken = self.taken.iter();
        let mut targets = self.targets.iter();
        let (mut pc, mut instructions) = (self.start, 0);
        for _ in 0..self.runs {
            let Some(block) = cursor.at(pc) else { break };
            instructions += u64::from(block.count);
            pc = match (block.target, block.conditional) {
                (Some(target), false) => target,
                (Some(target), true) => match taken.next() {
                    Some(true) => target,
                    Some(false) => block.end,
                    None => break,
                },
                (None, _) if block.control.is_indirect() => match targets.next() {
                    Some(target) => *target,
                    None => break,
                },
                (None, _) => block.end,
            };
        }
        (instructions, pc)
    }

    /// The same without a table: every instruction decoded on the way, as peers do.
    pub(crate) fn follow_by_decoding(&self) -> (u64, u64) {
        let (isa, memory, waypoints) = (self.blocks.isa(), self.blocks.memory(), self.blocks.waypoints());
        let mut taken = self.taken.iter();
        let mut targets = self.targets.iter();
        let (mut pc, mut instructions, mut runs) = (self.start, 0, 0);
        while runs < self.runs {
            let Some((encoding, length)) = memory.fetch(isa, pc) else { break };
            let flow = trackway_isa::flow(isa, pc, encoding);
            instructions += 1;
            let end = pc + u64::from(length);
            runs += u64::from(waypoints.ends(flow.control));
            pc = if flow.control.is_indirect() {
                let Some(&target) = targets.next() else { break };
                target
            } else if flow.control.is_direct() && (!flow.conditional || taken.next() == Some(&true)) {
                flow.target.unwrap_or(end)
            } else {
                end
            };
        }
        (instructions, pc)
    }
}
