//! Decoded instructions and runs, cached: a run is decoded once for all of its instructions.

use trackway_core::{Accesses, EventKind, Isa, MemAccess, MemKind, Outcome, Run, Step};
use trackway_image::{Memory as Code, expand};
use trackway_isa::{Class, Control, Recent, class, flow, riscv};

use crate::attempted::RunKey;

/// Properties of an instruction that statistics need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoded {
    class: Class,
    /// The recorded accesses decide about its class.
    by_access: bool,
    /// It is a branch, or conditional.
    pub(super) branches: bool,
    /// The instruction after it in memory begins a block of its own.
    pub(super) leaves: bool,
}

impl Decoded {
    fn new(isa: Isa, encoding: u32) -> Self {
        let flow = flow(isa, 0, encoding);
        let control = flow.control;
        let decodes = matches!(isa, Isa::Rv32 | Isa::Rv64) && riscv::decode(isa, encoding).is_some();
        // On Arm exclusives may fail and A32 and T32 have no table, so the accesses themselves are counted.
        let by_access = !decodes && control == Control::Sequential;
        Decoded {
            class: if by_access { Class::Other } else { class(isa, encoding) },
            by_access,
            branches: flow.conditional || control == Control::Branch,
            leaves: control.is_transfer() || !control.retires(),
        }
    }

    #[inline]
    pub(super) fn class(self, mem: &[MemAccess]) -> Class {
        if !self.by_access || mem.is_empty() {
            return self.class;
        }
        let has = |kind: MemKind| mem.iter().any(|access| access.kind == kind);
        match (has(MemKind::Read), has(MemKind::Write)) {
            (true, true) => Class::Atomic,
            _ if has(MemKind::ReadWrite) => Class::Atomic,
            (true, false) => Class::Load,
            (false, true) => Class::Store,
            (false, false) => self.class,
        }
    }
}

/// A run: what all but its last instruction add to the counts each time, and the last instruction.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) classes: Vec<(Class, u64)>,
    /// Instructions that never retire.
    pub(super) attempted: u64,
    /// Addresses of conditional instructions.
    pub(super) branches: Vec<u64>,
    pub(super) blocks: Vec<ShapeBlock>,
    /// The last instruction, if it retires.
    pub(super) last: Step,
}

/// Instructions of a run that belong to one block.
#[derive(Debug)]
pub(super) struct ShapeBlock {
    pub(super) start: u64,
    /// Address after the last instruction.
    pub(super) end: u64,
    pub(super) instructions: u64,
    /// Control leaves the block at its end.
    pub(super) leaves: bool,
}

/// The longest run that gets a shape; longer ones rarely come again.
const LONGEST: u32 = 4096;

/// Instructions and runs that were decoded recently.
#[derive(Debug, Default)]
pub(super) struct DecodeCache {
    instructions: Recent<u64, Decoded, 4096>,
    shapes: Recent<RunKey, Option<Shape>, 4096>,
}

impl DecodeCache {
    /// Decodes an instruction.
    #[inline]
    pub(super) fn decode(&mut self, isa: Isa, encoding: u32) -> Decoded {
        let key = u64::from(encoding) | (isa as u64) << 32;
        *self.instructions.get(key, || Decoded::new(isa, encoding))
    }

    /// The shape of a run; `None` where some of its code is not known, or it is too long.
    #[inline]
    pub(super) fn shape(&mut self, code: &Code, run: &Run) -> Option<&Shape> {
        let DecodeCache { instructions, shapes } = self;
        shapes.get(RunKey::new(code, run), || shape(code, run, instructions)).as_ref()
    }
}

fn shape(code: &Code, run: &Run, instructions: &mut Recent<u64, Decoded, 4096>) -> Option<Shape> {
    if run.count > LONGEST {
        return None;
    }
    let plain = Run { taken: None, attempted: false, ..*run };
    let mut steps = Vec::new();
    expand(code, &plain, Accesses::default(), |kind| steps.push(kind));
    let mut shape = Shape {
        classes: Vec::new(),
        attempted: 0,
        branches: Vec::new(),
        blocks: Vec::new(),
        last: Step::new(run.start, 0, 0),
    };
    for (n, kind) in steps.iter().enumerate() {
        let EventKind::Step(step) = kind else { return None };
        let pc = step.pc.filter(|_| step.length > 0)?;
        if n + 1 == steps.len() {
            shape.last = *step;
            break;
        }
        let key = u64::from(step.encoding) | (run.isa as u64) << 32;
        let decoded = *instructions.get(key, || Decoded::new(run.isa, step.encoding));
        let class = decoded.class(&[]);
        match shape.classes.iter_mut().find(|(known, _)| *known == class) {
            Some((_, count)) => *count += 1,
            None => shape.classes.push((class, 1)),
        }
        shape.attempted += u64::from(step.outcome == Outcome::Attempted);
        shape.branches.extend(decoded.branches.then_some(pc));
        let next = pc.wrapping_add(step.length.into());
        match shape.blocks.last_mut() {
            Some(block) if !block.leaves => {
                (block.end, block.leaves) = (next, decoded.leaves);
                block.instructions += 1;
            }
            _ => shape.blocks.push(ShapeBlock {
                start: pc,
                end: next,
                instructions: 1,
                leaves: decoded.leaves,
            }),
        }
    }
    Some(shape).filter(|_| !steps.is_empty())
}
