//! Random programs in A64, A32 and T32 with a kernel in A64, and random walks through them as events: branches of
//! all kinds, exceptions, context switches, changes of the instruction set, transactions, gaps. A walk knows what
//! a decoder has to find.

use std::sync::Arc;

use trackway_core::*;
use trackway_image::{Image, Space};
use trackway_testkit::random::Numbers;

use crate::slow::Out;

/// The effect of an instruction; targets are indexes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Nop,
    Branch(usize),
    Zero(usize),
    Jump(usize),
    Call(usize),
    /// A call that may be skipped (A32).
    CallIf(usize),
    /// A call to the other instruction set (A32 and T32).
    Exchange(usize),
    Indirect,
    IndirectCall,
    Return,
    /// A return that may be skipped: A32, and T32 after an IT.
    ReturnIf,
    It,
    Pop,
    Call0,
    Isb,
    Wait,
    Eret,
    Start,
    Commit,
}

/// A piece of code in one instruction set.
struct Piece {
    isa: Isa,
    kinds: Vec<Kind>,
    addresses: Vec<u64>,
    words: Vec<(u32, u8)>,
}

const USER64: usize = 0;
const USER32: usize = 1;
const THUMB: usize = 2;
const KERNEL: usize = 3;

pub(crate) struct Program {
    pieces: Vec<Piece>,
}

impl Program {
    pub(crate) fn new(numbers: &mut Numbers) -> Self {
        let base = [0x40_0000, 0x7fff_fff0_1000, 0xffff_ffff_8000_0000][numbers.below(3) as usize];
        let sizes = [20 + numbers.below(60), 20 + numbers.below(60), 20 + numbers.below(25), 12];
        let places =
            [(Isa::A64, base), (Isa::A32, 0x1_0000), (Isa::T32, 0x2_0000), (Isa::A64, 0xffff_8000_0008_0000)];
        let mut pieces: Vec<Piece> = (0..4)
            .map(|n| {
                let (isa, base) = places[n];
                let kinds = kinds(numbers, n, sizes[n] as usize, [sizes[USER32], sizes[THUMB]]);
                let mut at = base;
                let mut addresses = Vec::new();
                for kind in &kinds {
                    addresses.push(at);
                    at += if isa == Isa::T32 && !matches!(kind, Kind::Call(_) | Kind::Exchange(_) | Kind::Isb)
                    {
                        2
                    } else {
                        4
                    };
                }
                Piece { isa, kinds, addresses, words: Vec::new() }
            })
            .collect();
        for n in 0..4 {
            let words = (0..pieces[n].kinds.len()).map(|at| encode(&pieces, n, at)).collect();
            pieces[n].words = words;
        }
        Program { pieces }
    }

    pub(crate) fn image(&self) -> Arc<Image> {
        let mut image = Image::default();
        for piece in &self.pieces {
            let bytes: Vec<u8> = piece
                .words
                .iter()
                .flat_map(|&(word, size)| word.to_le_bytes().into_iter().take(size.into()))
                .collect();
            image.add_raw("code", piece.addresses[0], Arc::new(bytes), Space::default()).unwrap();
        }
        Arc::new(image)
    }
}

fn kinds(numbers: &mut Numbers, piece: usize, size: usize, others: [u64; 2]) -> Vec<Kind> {
    let mut kinds = Vec::new();
    while kinds.len() < size - 1 {
        let target = numbers.below(size as u64) as usize;
        let other = |numbers: &mut Numbers, n: usize| numbers.below(others[n] - 1) as usize;
        let ahead = (kinds.len() + 2 + numbers.below(6) as usize).min(size - 1);
        let kind = match (numbers.below(24), piece) {
            (0..=7, _) => Kind::Nop,
            (8, KERNEL) => Kind::Eret,
            (9..=11, _) => Kind::Branch(target),
            (12, KERNEL) => Kind::Isb,
            (_, KERNEL) => Kind::Nop,
            // CBZ goes forward only.
            (12, THUMB) if kinds.len() + 2 < size => Kind::Zero(ahead),
            (12, THUMB) => Kind::Nop,
            (12, USER64) => Kind::Zero(target),
            (13, _) => Kind::Jump(target),
            (14 | 15, _) => Kind::Call(target),
            (16, _) => Kind::Indirect,
            (17, _) => Kind::IndirectCall,
            (18 | 19, _) => Kind::Return,
            (20, _) => Kind::Call0,
            (21, _) => Kind::Isb,
            (22, USER64) => Kind::Start,
            (23, USER64) => Kind::Commit,
            (22, USER32) => [Kind::ReturnIf, Kind::CallIf(target), Kind::Exchange(other(numbers, 1))]
                [numbers.below(3) as usize],
            (22, _) => {
                if numbers.one_in(2) {
                    Kind::Exchange(other(numbers, 0))
                } else {
                    kinds.push(Kind::It);
                    Kind::ReturnIf
                }
            }
            (23, _) if numbers.one_in(2) => Kind::Pop,
            _ => Kind::Wait,
        };
        kinds.push(kind);
    }
    kinds.truncate(size - 1);
    kinds.push(if piece == KERNEL { Kind::Eret } else { Kind::Jump(0) });
    // An IT needs what it is for.
    if kinds[kinds.len() - 2] == Kind::It {
        let at = kinds.len() - 2;
        kinds[at] = Kind::Nop;
    }
    kinds
}

fn encode(pieces: &[Piece], n: usize, at: usize) -> (u32, u8) {
    let piece = &pieces[n];
    let pc = piece.addresses[at];
    let to = |index: usize, behind: u64| piece.addresses[index].wrapping_sub(pc + behind) as i64;
    let field = |distance: i64, shift: u32, width: u32| (distance >> shift) as u32 & ((1 << width) - 1);
    match piece.isa {
        Isa::A64 => {
            let word = match piece.kinds[at] {
                Kind::Branch(target) => 0x5400_0001 | field(to(target, 0), 2, 19) << 5,
                Kind::Zero(target) => 0xb400_0000 | field(to(target, 0), 2, 19) << 5,
                Kind::Jump(target) => 0x1400_0000 | field(to(target, 0), 2, 26),
                Kind::Call(target) => 0x9400_0000 | field(to(target, 0), 2, 26),
                Kind::Indirect => 0xd61f_0000,
                Kind::IndirectCall => 0xd63f_0020,
                Kind::Return => 0xd65f_03c0,
                Kind::Call0 => 0xd400_0001,
                Kind::Isb => 0xd503_3fdf,
                Kind::Wait => 0xd503_207f,
                Kind::Eret => 0xd69f_03e0,
                Kind::Start => 0xd523_3060,
                Kind::Commit => 0xd503_307f,
                _ => 0xd503_201f,
            };
            (word, 4)
        }
        Isa::A32 => {
            let word = match piece.kinds[at] {
                Kind::Branch(target) => 0x0a00_0000 | field(to(target, 8), 2, 24),
                Kind::Jump(target) => 0xea00_0000 | field(to(target, 8), 2, 24),
                Kind::Call(target) => 0xeb00_0000 | field(to(target, 8), 2, 24),
                Kind::CallIf(target) => 0x1b00_0000 | field(to(target, 8), 2, 24),
                Kind::Exchange(target) => {
                    let distance = pieces[THUMB].addresses[target].wrapping_sub(pc + 8) as i64;
                    0xfa00_0000 | (distance as u32 >> 1 & 1) << 24 | field(distance, 2, 24)
                }
                Kind::Indirect => 0xe12f_ff10,
                Kind::IndirectCall => 0xe12f_ff31,
                Kind::Return => 0xe12f_ff1e,
                Kind::ReturnIf => 0x012f_ff1e,
                Kind::Pop => 0xe8bd_8000,
                Kind::Call0 => 0xef00_0000,
                Kind::Isb => 0xf57f_f06f,
                Kind::Wait => 0xe320_f003,
                _ => 0xe320_f000,
            };
            (word, 4)
        }
        _ => {
            let far = |distance: i64, second: u32| {
                let bit = |at: u32| (distance >> at) as u32 & 1;
                let s = bit(24);
                let (j1, j2) = (1 ^ bit(23) ^ s, 1 ^ bit(22) ^ s);
                let first = 0xf000 | s << 10 | field(distance, 12, 10);
                first | (second | j1 << 13 | j2 << 11 | field(distance, 1, 11)) << 16
            };
            match piece.kinds[at] {
                Kind::Branch(target) => (0xd000 | field(to(target, 4), 1, 8), 2),
                Kind::Zero(target) => {
                    let distance = to(target, 4).max(0);
                    (0xb100 | field(distance, 6, 1) << 9 | field(distance, 1, 5) << 3, 2)
                }
                Kind::Jump(target) => (0xe000 | field(to(target, 4), 1, 11), 2),
                Kind::Call(target) => (far(to(target, 4), 0xd000), 4),
                Kind::Exchange(target) => {
                    let distance = pieces[USER32].addresses[target].wrapping_sub((pc & !3) + 4) as i64;
                    (far(distance, 0xc000), 4)
                }
                Kind::Indirect => (0x4700, 2),
                Kind::IndirectCall => (0x4788, 2),
                Kind::Return | Kind::ReturnIf => (0x4770, 2),
                Kind::It => (0xbf08, 2),
                Kind::Pop => (0xbd00, 2),
                Kind::Call0 => (0xdf00, 2),
                Kind::Isb => (0x8f6f_f3bf, 4),
                Kind::Wait => (0xbf30, 2),
                _ => (0xbf00, 2),
            }
        }
    }
}

/// How a walk goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    pub(crate) steps: usize,
    /// Each once in this many instructions; 0: never.
    pub(crate) interrupts: u64,
    pub(crate) faults: u64,
    pub(crate) gaps: u64,
    /// Trace events and times between the instructions.
    pub(crate) marks: u64,
}

impl Habits {
    pub(crate) const ALL: Habits = Habits { steps: 600, interrupts: 30, faults: 40, gaps: 90, marks: 50 };
}

/// A walk that was made.
pub(crate) struct Walk {
    pub(crate) meta: Meta,
    pub(crate) batches: Vec<Batch>,
    /// The expected result of a decoder.
    pub(crate) truth: Vec<Out>,
}

/// A place: piece and index.
type Place = (usize, usize);

struct Walker<'a> {
    program: &'a Program,
    numbers: Numbers,
    habits: Habits,
    batch: Batch,
    truth: Vec<Out>,
    at: Place,
    el: u8,
    context_id: u32,
    /// Where calls return to.
    calls: Vec<Place>,
    /// Where exceptions return to, and the level there.
    exceptions: Vec<(Place, u8)>,
    /// In a transaction: the length of the expected result at its start, and the place to continue after a failure.
    transaction: Option<(usize, Place)>,
}

/// A random walk.
pub(crate) fn walk(program: &Program, seed: u64, habits: Habits) -> Walk {
    let mut numbers = Numbers(seed ^ 0x5eed);
    let start = (numbers.below(3) as usize, 0);
    let mut walker = Walker {
        program,
        numbers,
        habits,
        batch: Batch::default(),
        truth: Vec::new(),
        at: start,
        el: 0,
        context_id: 0x100,
        calls: Vec::new(),
        exceptions: Vec::new(),
        transaction: None,
    };
    walker.tell_context();
    let meta = Meta::new(FormatId::new("test"), program.pieces[start.0].isa);
    let mut batches = Vec::new();
    for n in 0..habits.steps {
        walker.step();
        if n % 97 == 0 {
            batches.push(std::mem::take(&mut walker.batch));
        }
    }
    walker.fail();
    batches.push(std::mem::take(&mut walker.batch));
    Walk { meta, batches, truth: walker.truth }
}

impl Walker<'_> {
    fn piece(&self) -> &Piece {
        &self.program.pieces[self.at.0]
    }

    fn address(&self, (piece, index): Place) -> u64 {
        self.program.pieces[piece].addresses[index]
    }

    fn tell_context(&mut self) {
        let privilege = Some(if self.el == 0 { Privilege::El0 } else { Privilege::El1 });
        let context = Context {
            privilege,
            security: Some(Security::NonSecure),
            context_id: Some(self.context_id.into()),
            vmid: Some(7),
            isa: Some(self.piece().isa),
            ..Context::default()
        };
        self.batch.push_context(0, context);
    }

    /// A trap to the kernel; `back` is where it returns to.
    fn trap(&mut self, trap: Trap, number: u8, back: Place) {
        let return_address = self.address(back);
        let to = Some(self.address((KERNEL, 0)));
        self.batch.push_trap(0, Trap { to, ..trap });
        self.truth.push(Out::Exception(number, Some(return_address)));
        self.exceptions.push((back, self.el));
        (self.at, self.el) = ((KERNEL, 0), 1);
        self.tell_context();
    }

    /// An open transaction fails.
    fn fail(&mut self) {
        if let Some((length, place)) = self.transaction.take() {
            self.batch.push(0, EventKind::Mark(Mark::new(MarkKind::TransactionFail)));
            self.truth.truncate(length);
            self.truth.push(Out::Transaction(2));
            self.at = place;
            self.calls.clear();
        }
    }

    fn between(&mut self) {
        if self.numbers.one_in(self.habits.marks) {
            match self.numbers.below(3) {
                0 => {
                    let mark = Mark { value: Some(self.numbers.below(4)), ..Mark::new(MarkKind::TraceEvent) };
                    self.batch.push(0, EventKind::Mark(mark));
                }
                1 => {
                    let mark =
                        Mark { value: Some(self.numbers.draw()), ..Mark::new(MarkKind::Instrumentation) };
                    self.batch.push(0, EventKind::Mark(mark));
                }
                _ => {
                    let value = Some(self.numbers.draw() >> self.numbers.below(60));
                    self.batch.push(0, EventKind::Time(Time { kind: TimeKind::Timestamp, value, clock: 0 }));
                }
            }
        }
        let quiet = self.transaction.is_none();
        let it = self.at.1 > 0 && self.piece().kinds[self.at.1 - 1] == Kind::It;
        // The kernel is interrupted at its entry only: two exceptions with nothing between.
        let open = self.el == 0 || self.at == (KERNEL, 0) && self.exceptions.len() < 3;
        if quiet && !it && open && self.numbers.one_in(self.habits.interrupts) {
            let back = self.at;
            let trap = Trap { return_address: Some(self.address(back)), ..Trap::new(TrapKind::Interrupt) };
            self.trap(trap, 14, back);
        }
        if quiet && self.el == 0 && self.numbers.one_in(self.habits.gaps) {
            self.batch.push_gap(0, Gap::new(GapReason::Filtered));
            let piece = self.numbers.below(3) as usize;
            self.at = (piece, 0);
            self.calls.clear();
            self.tell_context();
        }
        if !quiet && self.numbers.one_in(25) {
            self.fail();
        }
    }

    fn step(&mut self) {
        self.between();
        let here = self.at;
        let (piece, index) = here;
        let kind = self.piece().kinds[index];
        let (word, size) = self.piece().words[index];
        let pc = self.address(here);
        let next = (piece, index + 1);
        if self.transaction.is_some() && matches!(kind, Kind::Call0 | Kind::Start) {
            return self.fail();
        }
        let mut step = Step::new(pc, word, size);
        if kind == Kind::Nop
            && self.transaction.is_none()
            && self.el == 0
            && self.numbers.one_in(self.habits.faults)
        {
            step.outcome = Outcome::Attempted;
            self.batch.push(0, EventKind::Step(step));
            let trap = Trap { class: Some(0x24), from: Some(pc), ..Trap::new(TrapKind::Exception) };
            return self.trap(trap, 12, here);
        }
        self.truth.push(Out::Instruction(pc, self.el, self.context_id));
        let (target, taken) = self.decide(kind, next);
        let transfers = !matches!(
            kind,
            Kind::Nop | Kind::It | Kind::Call0 | Kind::Isb | Kind::Wait | Kind::Start | Kind::Commit
        );
        if transfers {
            // A source may omit the outcome if the next address implies it.
            let implied = self.address(target) != pc.wrapping_add(size.into()) || !taken;
            let hide = implied && kind != Kind::Eret && self.numbers.one_in(3);
            step.taken = Some(taken).filter(|_| !hide);
        }
        if kind == Kind::Call0 {
            step.outcome = Outcome::Attempted;
        }
        self.batch.push(0, EventKind::Step(step));
        self.at = target;
        match kind {
            Kind::Call0 => {
                let trap = Trap {
                    class: Some(0x15),
                    syscall: Some(Syscall::Svc),
                    from: Some(pc),
                    ..Trap::new(TrapKind::Exception)
                };
                self.trap(trap, 2, next);
            }
            Kind::Eret => {
                let (back, el) = self.exceptions.pop().unwrap_or(((USER64, 0), 0));
                (self.at, self.el) = (back, el);
                self.batch.push_trap(0, Trap { from: Some(pc), ..Trap::new(TrapKind::Return) });
                self.tell_context();
            }
            Kind::Isb if self.el == 1 => {
                self.context_id = 0x100 + self.numbers.below(3) as u32;
                self.tell_context();
            }
            Kind::Start => {
                self.truth.push(Out::Transaction(0));
                self.transaction = Some((self.truth.len(), next));
            }
            Kind::Commit if self.transaction.is_some() => {
                self.transaction = None;
                self.truth.push(Out::Transaction(1));
            }
            _ if self.at.0 != piece => self.tell_context(),
            _ => {}
        }
    }

    /// Where an instruction goes, and whether it is taken.
    fn decide(&mut self, kind: Kind, next: Place) -> (Place, bool) {
        let piece = self.at.0;
        let flip = self.numbers.one_in(2);
        match kind {
            Kind::Branch(to) | Kind::Zero(to) if flip => ((piece, to), true),
            Kind::Branch(_) | Kind::Zero(_) => (next, false),
            Kind::Jump(to) => ((piece, to), true),
            Kind::CallIf(_) | Kind::ReturnIf if flip => (next, false),
            Kind::Call(to) | Kind::CallIf(to) => {
                self.calls.push(next);
                ((piece, to), true)
            }
            Kind::Exchange(to) => {
                self.calls.push(next);
                ((if piece == USER32 { THUMB } else { USER32 }, to), true)
            }
            Kind::Indirect => (self.anywhere(), true),
            Kind::IndirectCall => {
                self.calls.push(next);
                (self.anywhere(), true)
            }
            Kind::Return | Kind::ReturnIf | Kind::Pop => {
                // Mostly where the call says; not after long jumps.
                match self.calls.pop() {
                    Some(back) if !self.numbers.one_in(8) => (back, true),
                    _ => (self.anywhere(), true),
                }
            }
            Kind::Eret => (self.exceptions.last().map_or((USER64, 0), |(back, _)| *back), true),
            _ => (next, false),
        }
    }

    /// A target for an indirect branch: AArch32 may change between its two sets.
    fn anywhere(&mut self) -> Place {
        let piece = match self.at.0 {
            USER64 => USER64,
            KERNEL => KERNEL,
            _ => [USER32, THUMB][self.numbers.below(2) as usize],
        };
        let index = self.numbers.below(self.program.pieces[piece].kinds.len() as u64) as usize;
        // Not after an IT.
        let kinds = &self.program.pieces[piece].kinds;
        (piece, if index > 0 && kinds[index - 1] == Kind::It { index - 1 } else { index })
    }
}
