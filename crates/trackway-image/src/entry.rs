//! What is known of the run that starts at one address, in 64 bits.

use trackway_isa::{Control, Switch};

/// The longest run that an entry can tell; longer ones come in pieces.
pub(crate) const LONGEST: u32 = (1 << COUNT.width) - 1;

/// A run, as the builder works with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Instructions.
    pub(crate) count: u32,
    /// Halfwords from the start of the first instruction to behind the last.
    pub(crate) halfwords: u32,
    /// What the last instruction does; sequential where the run ends for another reason.
    pub(crate) control: Control,
    /// May it fall through?
    pub(crate) conditional: bool,
    /// Which instruction set is at the target.
    pub(crate) exchange: Exchange,
    /// Is the last instruction 4 bytes long?
    pub(crate) last_wide: bool,
    /// Is the first instruction 4 bytes long?
    pub(crate) first_wide: bool,
    /// From the start to the target, in halfwords.
    pub(crate) distance: Distance,
}

/// How far it is to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distance {
    /// Nowhere known.
    None,
    /// So many halfwords from the start of the run.
    Near(i64),
    /// Known, but too far for an entry: the instruction has to be looked at.
    Far,
}

/// [`Switch`] without its parameter: there are two instruction sets to switch between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchange {
    Stay,
    Other,
    ByTarget,
}

impl From<Switch> for Exchange {
    fn from(switch: Switch) -> Self {
        match switch {
            Switch::Stay => Exchange::Stay,
            Switch::To(_) => Exchange::Other,
            Switch::ByTarget => Exchange::ByTarget,
        }
    }
}

/// A field of an entry.
struct Field {
    low: u32,
    width: u32,
}

const DISTANCE: Field = Field { low: 0, width: 29 };
const COUNT: Field = Field { low: 29, width: 12 };
const HALFWORDS: Field = Field { low: 41, width: 13 };
const CONTROL: Field = Field { low: 54, width: 5 };
const CONDITIONAL: Field = Field { low: 59, width: 1 };
const EXCHANGE: Field = Field { low: 60, width: 2 };
const LAST_WIDE: Field = Field { low: 62, width: 1 };
const FIRST_WIDE: Field = Field { low: 63, width: 1 };

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

/// The distance that stands for "too far".
const FAR: i64 = -(1 << (DISTANCE.width - 1));

/// A [`Summary`] in 64 bits. All zeros is "not looked at yet"; every real run has a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry(pub(crate) u64);

/// The controls, by the number that an entry has for them.
const CONTROLS: [Control; 17] = [
    Control::Sequential,
    Control::Branch,
    Control::Jump,
    Control::Call,
    Control::OtherJump,
    Control::IndirectJump,
    Control::IndirectCall,
    Control::OtherIndirectJump,
    Control::Return,
    Control::CoroutineSwap,
    Control::TrapReturn,
    Control::SystemCall,
    Control::Breakpoint,
    Control::Undefined,
    Control::Isb,
    Control::Wait,
    Control::TransactionStart,
];

const _: () = {
    // The numbers are those of the enum, so that packing is a cast.
    let mut n = 0;
    while n < CONTROLS.len() {
        assert!(CONTROLS[n] as usize == n);
        n += 1;
    }
};

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

    pub(crate) fn new(run: &Summary) -> Entry {
        let distance = match run.distance {
            Distance::Near(halfwords) if (FAR + 1..-FAR).contains(&halfwords) => halfwords,
            Distance::None => 0,
            Distance::Near(_) | Distance::Far => FAR,
        };
        Entry(
            DISTANCE.put(distance as u64)
                | COUNT.put(run.count.into())
                | HALFWORDS.put(run.halfwords.into())
                | CONTROL.put(run.control as u64)
                | CONDITIONAL.put(run.conditional.into())
                | EXCHANGE.put(run.exchange as u64)
                | LAST_WIDE.put(run.last_wide.into())
                | FIRST_WIDE.put(run.first_wide.into()),
        )
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
        // The masked index proves the bound; the table is as long as the field allows.
        const BY_NUMBER: [Control; 32] = {
            let mut table = [Control::Sequential; 32];
            let mut n = 0;
            while n < CONTROLS.len() {
                table[n] = CONTROLS[n];
                n += 1;
            }
            table
        };
        BY_NUMBER[CONTROL.get(self.0) as usize]
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
            _ => Exchange::ByTarget,
        }
    }

    #[inline]
    pub(crate) fn last_length(self) -> u64 {
        2 + 2 * LAST_WIDE.get(self.0)
    }

    #[inline]
    pub(crate) fn first_wide(self) -> bool {
        FIRST_WIDE.get(self.0) != 0
    }

    /// Bytes from the start to the target, for a direct transfer; `None` if that is too far to hold.
    #[inline]
    pub(crate) fn distance(self) -> Option<i64> {
        let distance = (self.0 << (64 - DISTANCE.width)) as i64 >> (64 - DISTANCE.width);
        (distance != FAR).then_some(distance * 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_fill_the_word_without_overlap() {
        let fields = [DISTANCE, COUNT, HALFWORDS, CONTROL, CONDITIONAL, EXCHANGE, LAST_WIDE, FIRST_WIDE];
        let mut low = 0;
        for field in fields {
            assert_eq!(field.low, low);
            low += field.width;
        }
        assert_eq!(low, 64);
        assert!(u64::from(LONGEST) * 2 < 1 << HALFWORDS.width);
    }

    #[test]
    fn packs_what_it_is_given() {
        for control in CONTROLS {
            for distance in [Distance::Near(-(1 << 27)), Distance::Near((1 << 27) + 8190), Distance::Far] {
                let run = Summary {
                    count: LONGEST,
                    halfwords: LONGEST * 2,
                    control,
                    conditional: true,
                    exchange: Exchange::ByTarget,
                    last_wide: true,
                    first_wide: false,
                    distance,
                };
                let entry = Entry::new(&run);
                assert!(!entry.is_empty());
                assert_eq!((entry.count(), entry.length()), (LONGEST, u64::from(LONGEST) * 4));
                assert_eq!((entry.control(), entry.conditional()), (control, true));
                assert_eq!((entry.last_length(), entry.first_wide()), (4, false));
                assert_eq!(entry.exchange(), Exchange::ByTarget);
                match distance {
                    Distance::Near(halfwords) => assert_eq!(entry.distance(), Some(halfwords * 2)),
                    _ => assert_eq!(entry.distance(), None),
                }
            }
        }
        let far = Summary {
            count: 1,
            halfwords: 2,
            control: Control::Jump,
            conditional: false,
            exchange: Exchange::Stay,
            last_wide: true,
            first_wide: true,
            distance: Distance::Near(1 << 40),
        };
        assert_eq!(Entry::new(&far).distance(), None);
    }
}
