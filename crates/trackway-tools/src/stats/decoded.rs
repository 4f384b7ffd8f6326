//! What statistics ask of an instruction, remembered; and of a straight run of them, once for all of its instructions.

use trackway_core::{Accesses, EventKind, Isa, MemAccess, MemKind, Outcome, Run, Step};
use trackway_image::{Memory as Code, expand};
use trackway_isa::{Control, Key, Recent, flow, riscv};

/// Declares the classes, each with its name.
macro_rules! classes {
    ($($class:ident = $name:literal,)*) => {
        /// The class of an instruction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Class { $($class,)* }

        /// Names of the classes.
        pub(super) const CLASSES: [&str; [$($name),*].len()] = [$($name),*];
    };
}

classes! {
    Integer = "integer",
    Multiply = "multiply",
    Divide = "divide",
    Branch = "branch",
    Call = "call",
    Return = "return",
    Jump = "jump",
    Load = "load",
    Store = "store",
    Atomic = "atomic",
    Csr = "csr",
    Fence = "fence",
    System = "system",
    Float = "float",
    VectorLoad = "vector load",
    VectorStore = "vector store",
    Vector = "vector",
    Other = "other",
    Unknown = "unknown",
    InRuns = "in runs",
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoded {
    class: Class,
    /// Its accesses tell its class.
    by_access: bool,
    /// It may go either way.
    pub(super) branches: bool,
    /// What follows it in memory is a block of its own.
    pub(super) leaves: bool,
}

impl Decoded {
    fn new(isa: Isa, encoding: u32) -> Self {
        let flow = flow(isa, 0, encoding);
        let control = flow.control;
        let by_table = match isa {
            Isa::Rv32 | Isa::Rv64 => {
                riscv::decode(isa, encoding).map(|inst| by_table(inst.op.class(), control))
            }
            _ => None,
        };
        Decoded {
            class: by_table.unwrap_or_else(|| by_control(control)),
            by_access: by_table.is_none() && control == Control::Sequential,
            branches: flow.conditional || control == Control::Branch,
            leaves: control.is_transfer() || !control.retires(),
        }
    }

    /// For RISC-V by its table, else by what it does to flow and memory.
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

fn by_table(class: riscv::Class, control: Control) -> Class {
    use riscv::Class as By;
    match class {
        By::Int => Class::Integer,
        By::Multiply => Class::Multiply,
        By::Divide => Class::Divide,
        By::Branch => Class::Branch,
        By::Jal | By::Jalr => match control {
            control if control.is_call() => Class::Call,
            control if control.is_return() => Class::Return,
            _ => Class::Jump,
        },
        By::Load(_) | By::LoadReserved(_) => Class::Load,
        By::Store(_) | By::StoreConditional(_) => Class::Store,
        By::Amo(_) => Class::Atomic,
        By::Csr => Class::Csr,
        By::Fence => Class::Fence,
        By::System => Class::System,
        By::Float
        | By::FloatMultiply
        | By::FloatDivide
        | By::FloatCompare
        | By::FloatConvert
        | By::FloatMove => Class::Float,
        By::VectorLoad(_) => Class::VectorLoad,
        By::VectorStore(_) => Class::VectorStore,
        By::VectorConfig | By::Vector => Class::Vector,
    }
}

fn by_control(control: Control) -> Class {
    match control {
        Control::Branch => Class::Branch,
        Control::Sequential => Class::Other,
        control if control.is_call() => Class::Call,
        control if control.is_return() => Class::Return,
        control if control.is_transfer() => Class::Jump,
        _ => Class::System,
    }
}

/// All but the last instruction of a run, of which each time is like the other; and the last.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) classes: Vec<(Class, u64)>,
    /// Those that never retire.
    pub(super) attempted: u64,
    /// Where it might have gone another way.
    pub(super) branches: Vec<u64>,
    /// Blocks: start, end, instructions, does control leave?
    pub(super) blocks: Vec<(u64, u64, u64, bool)>,
    /// As it is when it retires and nothing else is known.
    pub(super) last: Step,
}

/// Instructions of a run that is worth a shape; longer ones do not come again.
const LONGEST: u32 = 4096;

/// What was decoded lately.
#[derive(Debug, Default)]
pub(super) struct Lately {
    instructions: Recent<u64, Decoded, 4096>,
    shapes: Recent<RunKey, Option<Shape>, 4096>,
}

/// Runs with the same key have the same shape.
#[derive(Debug, PartialEq)]
struct RunKey {
    start: u64,
    count: u32,
    isa: Isa,
    /// Address of the memory that the code is read from.
    view: usize,
}

impl Key for RunKey {
    #[inline(always)]
    fn digest(&self) -> u64 {
        self.start ^ u64::from(self.count) << 48
    }
}

impl Lately {
    /// What an encoding means.
    #[inline]
    pub(super) fn decode(&mut self, isa: Isa, encoding: u32) -> Decoded {
        let key = u64::from(encoding) | (isa as u64) << 32;
        *self.instructions.get(key, || Decoded::new(isa, encoding))
    }

    /// The shape of a run; `None` where the program is not known all along, or it is too long.
    #[inline]
    pub(super) fn shape(&mut self, code: &Code, run: &Run) -> Option<&Shape> {
        let Lately { instructions, shapes } = self;
        let view = std::ptr::from_ref(code).addr();
        let key = RunKey { start: run.start, count: run.count, isa: run.isa, view };
        shapes.get(key, || shape(code, run, instructions)).as_ref()
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
            Some((_, end, count, leaves @ false)) => {
                (*end, *count, *leaves) = (next, *count + 1, decoded.leaves)
            }
            _ => shape.blocks.push((pc, next, 1, decoded.leaves)),
        }
    }
    Some(shape).filter(|_| !steps.is_empty())
}
