//! The run that starts at one address, in 64 bits.

use trackway_core::Isa;
use trackway_isa::{Control, Flow, Switch};

/// A field of an entry.
struct Field {
    low: u32,
    width: u32,
}

/// Is the first instruction 4 bytes long?
const FIRST_WIDE: Field = Field { low: 0, width: 1 };
/// Is the last one?
const LAST_WIDE: Field = Field { low: 1, width: 1 };
/// Control flow of the last instruction; sequential where the run ends for another reason.
const CONTROL: Field = Field { low: 2, width: 5 };
/// May it fall through?
const CONDITIONAL: Field = Field { low: 7, width: 1 };
/// Which instruction set is at the target, or that the target has to be looked up.
const EXCHANGE: Field = Field { low: 8, width: 2 };
/// Number of instructions.
const COUNT: Field = Field { low: 10, width: 12 };
/// Halfwords from the start of the first instruction to the end of the last.
const HALFWORDS: Field = Field { low: 22, width: 13 };
/// Halfwords from the start to the target, signed. On top, so that putting an instruction before the run is
/// one addition for all three.
const DISTANCE: Field = Field { low: 35, width: 29 };

impl Field {
    #[inline]
    const fn get(&self, word: u64) -> u64 {
        word >> self.low & ((1 << self.width) - 1)
    }

    #[inline]
    const fn put(&self, value: u64) -> u64 {
        (value & ((1 << self.width) - 1)) << self.low
    }
}

/// The longest run that fits an entry; longer ones come in pieces.
pub(crate) const LONGEST: u32 = (1 << COUNT.width) - 1;

/// [`Switch`] without its parameter, as there are two instruction sets to switch between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchange {
    /// [`Switch::Stay`].
    Stay,
    /// [`Switch::To`] the other one.
    Other,
    /// [`Switch::ByTarget`].
    ByTarget,
    /// The target is too far for an entry: the instruction has to be looked at.
    Far,
}

/// The way a run is left: its last control, whether it may fall through, and whether its target is near, in one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape(u8);

impl Shape {
    /// How many shapes there are.
    pub const COUNT: usize = 1 << (CONTROL.width + CONDITIONAL.width + EXCHANGE.width);

    /// All shapes, by their numbers.
    pub fn all() -> impl Iterator<Item = Shape> {
        (0..=u8::MAX).map(Shape)
    }

    /// The number.
    #[inline(always)]
    pub fn number(self) -> usize {
        self.0.into()
    }

    fn entry(self) -> Entry {
        Entry(u64::from(self.0) << CONTROL.low | COUNT.put(1))
    }

    /// Control flow of the last instruction; sequential also where no code is known.
    pub fn control(self) -> Control {
        self.entry().control()
    }

    /// Can it fall through?
    pub fn conditional(self) -> bool {
        self.entry().conditional()
    }

    /// Does its transfer, if it ends in one, stay in its instruction set, and is its target near?
    pub fn stays(self) -> bool {
        self.entry().stays()
    }
}

/// Declares the numbers of the controls, which are those of the enum: packing is a cast, and so, for the
/// compiler, is unpacking.
macro_rules! controls {
    ($($control:ident)*) => {
        /// The control of a number; sequential if none has it.
        pub(crate) const fn control(number: u64) -> Control {
            match number {
                $(n if n == Control::$control as u64 => Control::$control,)*
                _ => Control::Sequential,
            }
        }

        #[cfg(test)]
        const CONTROLS: &[Control] = &[$(Control::$control),*];
    };
}

controls! {
    Sequential Branch Jump Call OtherJump IndirectJump IndirectCall OtherIndirectJump Return CoroutineSwap
    TrapReturn SystemCall Breakpoint Undefined Isb Wait TransactionStart
}

/// A run in 64 bits. All zeros is "not looked at yet"; every real run has a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry(pub(crate) u64);

impl Entry {
    /// Not looked at yet.
    pub(crate) const UNKNOWN: Entry = Entry(0);
    /// There is no code here.
    pub(crate) const HOLE: Entry = Entry(1);

    /// Unknown or a hole: nothing to read from it.
    #[inline]
    pub(crate) const fn is_empty(self) -> bool {
        self.0 <= Self::HOLE.0
    }

    /// A run of one instruction, with what leaves it.
    #[inline]
    pub(crate) fn last(pc: u64, flow: &Flow) -> Entry {
        // Instructions that come before add to the distance; it must not overflow.
        const NEAR: i64 = (1 << (DISTANCE.width - 1)) - 2 * (LONGEST as i64 + 1);
        let exchange = match flow.switch {
            Switch::Stay => Exchange::Stay,
            Switch::To(_) => Exchange::Other,
            Switch::ByTarget => Exchange::ByTarget,
        };
        let (distance, exchange) = match flow.target.map(|target| target.wrapping_sub(pc) as i64) {
            None => (0, exchange),
            Some(bytes) if bytes & 1 == 0 && (-NEAR..NEAR).contains(&(bytes / 2)) => (bytes / 2, exchange),
            Some(_) => (0, Exchange::Far),
        };
        Entry(
            Self::alone(flow.length).0
                | CONTROL.put(flow.control as u64)
                | CONDITIONAL.put(flow.conditional.into())
                | EXCHANGE.put(exchange as u64)
                | DISTANCE.put(distance as u64),
        )
    }

    /// A run of one instruction of `length` bytes with nothing known after it.
    #[inline]
    pub(crate) fn alone(length: u8) -> Entry {
        let wide = u64::from(length == 4);
        Entry(FIRST_WIDE.put(wide) | LAST_WIDE.put(wide) | COUNT.put(1) | HALFWORDS.put(1 + wide))
    }

    /// The run with an instruction of `length` bytes before it; there must be room for it.
    #[inline]
    pub(crate) fn after(self, length: u8) -> Entry {
        self.after_many(1, u32::from(length) / 2, length)
    }

    /// The run with `count` instructions before it, of that many halfwords in all and the first of `length`
    /// bytes; there must be one at least, and room for them.
    #[inline]
    pub(crate) fn after_many(self, count: u32, halfwords: u32, length: u8) -> Entry {
        let (count, halfwords) = (u64::from(count), u64::from(halfwords));
        let grown = COUNT.put(count) + HALFWORDS.put(halfwords) + DISTANCE.put(halfwords);
        let first = FIRST_WIDE.put((length == 4).into());
        Entry((self.0 & !FIRST_WIDE.put(1) | first).wrapping_add(grown))
    }

    #[inline]
    pub(crate) fn count(self) -> u32 {
        COUNT.get(self.0) as u32
    }

    #[inline]
    pub(crate) fn length(self) -> u64 {
        HALFWORDS.get(self.0) * 2
    }

    #[inline]
    pub(crate) fn control(self) -> Control {
        control(CONTROL.get(self.0))
    }

    #[inline]
    pub(crate) fn conditional(self) -> bool {
        CONDITIONAL.get(self.0) != 0
    }

    #[inline]
    pub(crate) fn exchange(self) -> Exchange {
        match EXCHANGE.get(self.0) {
            0 => Exchange::Stay,
            1 => Exchange::Other,
            2 => Exchange::ByTarget,
            _ => Exchange::Far,
        }
    }

    /// [`Switch`] at the end of a run in `isa`, where the target is not far.
    #[inline]
    pub(crate) fn switch(self, isa: Isa) -> Switch {
        match self.exchange() {
            Exchange::Stay | Exchange::Far => Switch::Stay,
            Exchange::ByTarget => Switch::ByTarget,
            Exchange::Other if isa == Isa::A32 => Switch::To(Isa::T32),
            Exchange::Other => Switch::To(Isa::A32),
        }
    }

    #[inline(always)]
    pub(crate) fn shape(self) -> Shape {
        const {
            assert!(
                Shape::COUNT == 256
                    && CONDITIONAL.low == CONTROL.low + 5
                    && EXCHANGE.low == CONDITIONAL.low + 1
            )
        }
        Shape((self.0 >> CONTROL.low) as u8)
    }

    #[inline]
    pub(crate) fn last_length(self) -> u64 {
        2 + 2 * LAST_WIDE.get(self.0)
    }

    #[inline]
    pub(crate) fn first_length(self) -> u64 {
        2 + 2 * FIRST_WIDE.get(self.0)
    }

    /// Is it a run whose transfer, if it ends in one, stays in its instruction set and is not far?
    #[inline]
    pub(crate) fn stays(self) -> bool {
        !self.is_empty() && EXCHANGE.get(self.0) == Exchange::Stay as u64
    }

    /// Does the run end in a direct transfer that stays in its instruction set, to a target that is not far?
    /// All that says so is compared at once: the direct controls are numbered in a row.
    #[inline]
    pub(crate) fn is_near(self) -> bool {
        const MASK: u64 = CONTROL.put(u64::MAX) | EXCHANGE.put(u64::MAX);
        const FIRST: u64 = CONTROL.put(Control::Branch as u64);
        const BEHIND: u64 = CONTROL.put(Control::OtherJump as u64 + 1);
        const {
            assert!(Exchange::Stay as u64 == 0 && EXCHANGE.low > CONTROL.low);
            assert!(Control::Branch as u64 + 1 == Control::Jump as u64);
            assert!(Control::Jump as u64 + 1 == Control::Call as u64);
            assert!(Control::Call as u64 + 1 == Control::OtherJump as u64);
        }
        (self.0 & MASK).wrapping_sub(FIRST) < BEHIND - FIRST
    }

    /// Bytes from the start to the target, for a direct transfer that is not far.
    #[inline]
    pub(crate) fn distance(self) -> i64 {
        (self.0 as i64 >> DISTANCE.low) * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_fill_the_word_without_overlap() {
        let fields = [FIRST_WIDE, LAST_WIDE, CONTROL, CONDITIONAL, EXCHANGE, COUNT, HALFWORDS, DISTANCE];
        let mut low = 0;
        for field in fields {
            assert_eq!(field.low, low);
            low += field.width;
        }
        assert_eq!(low, 64);
        assert!(u64::from(LONGEST) * 2 < 1 << HALFWORDS.width);
    }

    #[test]
    fn grows_to_the_longest_run() {
        for (length, target) in [(2, 0), (4, 0x0800_0000), (4, 0x17ff_fffc)] {
            let flow = Flow {
                length,
                control: Control::Call,
                target: Some(target),
                conditional: true,
                switch: Switch::ByTarget,
            };
            let last = 0x1000_0000;
            let mut entry = Entry::last(last, &flow);
            let mut start = last;
            for count in 2..=LONGEST {
                entry = entry.after(length);
                start -= u64::from(length);
                assert_eq!(entry.count(), count);
                assert_eq!(start + entry.length(), last + u64::from(length));
                assert_eq!(start.wrapping_add_signed(entry.distance()), target);
                assert_eq!((entry.first_length(), entry.last_length()), (length.into(), length.into()));
                assert_eq!((entry.control(), entry.conditional()), (Control::Call, true));
                assert_eq!(entry.exchange(), Exchange::ByTarget);
                assert!(!entry.is_empty());
            }
        }
    }

    #[test]
    fn every_control_survives() {
        for &control in CONTROLS {
            let flow = Flow { control, ..Flow::sequential(4) };
            assert_eq!(Entry::last(0, &flow).control(), control);
        }
    }

    #[test]
    fn a_far_target_is_left_to_the_instruction() {
        let flow = Flow { control: Control::Jump, target: Some(1 << 40), ..Flow::sequential(4) };
        assert_eq!(Entry::last(0, &flow).exchange(), Exchange::Far);
    }
}
