//! ViewInst selects the instructions to trace (K10.5.7.3), with comparators and resources.

use super::registers::Registers;
use crate::wire::context::ContextState;

/// One address comparator: TRCACVRn and TRCACATRn.
#[derive(Clone, Copy, Debug, Default)]
struct Comparator {
    address: u64,
    /// TRCACATRn.CONTEXTTYPE and CONTEXT: the identifier comparators that must match too.
    context_type: u8,
    context: u8,
    /// Exception levels where it does not match: Secure 3:0, Non-secure 6:4; Realm 10:8, as differences to Non-secure.
    levels: u64,
}

/// True if `levels`, laid out as in TRCVICTLR and shifted to bit 0, excludes the exception level.
fn excluded(levels: u64, context: &ContextState) -> bool {
    let el = u32::from(context.el);
    let bit = |at: u32| levels >> at & 1 == 1;
    match context.security {
        _ if el == 3 => bit(3),
        1 => bit(4 + el),
        // Realm: as Non-secure, inverted by its own bit.
        3 => bit(4 + el) != bit(8 + el),
        // Secure; Root has only EL3.
        _ => bit(el),
    }
}

/// An identifier comparator.
#[derive(Clone, Copy, Debug, Default)]
struct Identifier {
    value: u64,
    /// Mask of the bits compared.
    mask: u64,
}

impl Identifier {
    fn new(registers: &Registers, value: &str, control: &str, number: usize) -> Self {
        let control = registers.get(&format!("{control}{}", number / 4)) >> (8 * (number % 4)) & 0xff;
        let mask =
            (0..8).filter(|byte| control >> byte & 1 == 0).fold(0, |mask, byte| mask | 0xff << (8 * byte));
        Identifier { value: registers.at(value, number), mask }
    }

    fn matches(&self, id: Option<u32>) -> bool {
        (u64::from(id.unwrap_or(0)) ^ self.value) & self.mask == 0
    }
}

/// A resource selector: TRCRSCTLRn.
#[derive(Clone, Copy, Debug, Default)]
struct Selector {
    group: u8,
    select: u16,
    invert: bool,
    /// In the even selector of a pair: inverts the pair's result.
    pair_invert: bool,
}

/// The inputs of the comparators.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now<'a> {
    pub(crate) address: u64,
    pub(crate) context: &'a ContextState,
    /// External inputs that are high.
    pub(crate) inputs: u8,
}

/// The comparators, resources and ViewInst of a unit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    comparators: [Comparator; 16],
    context_ids: [Identifier; 8],
    vmids: [Identifier; 8],
    selectors: Vec<Selector>,
    /// TRCVICTLR.EVENT.
    event: u8,
    /// TRCVICTLR[26:16], by exception level.
    levels: u64,
    include: u8,
    exclude: u8,
    start: u8,
    stop: u8,
    /// TRCVICTLR.SSSTATUS: the start/stop logic is in the started state.
    pub(crate) started: bool,
    /// TRCBBCTLR: ranges, and whether broadcasting is on inside or outside them.
    broadcast: (u8, bool),
    /// TRCQCTLR: the same for Q elements.
    q: (u8, bool),
    /// ViewInst depends on the context only.
    pub(crate) is_open: bool,
}

impl Filter {
    pub(crate) fn new(registers: &Registers) -> Self {
        let comparator = |number: usize| {
            let control = registers.at("TRCACATR", number);
            Comparator {
                address: registers.at("TRCACVR", number),
                context_type: (control >> 2 & 3) as u8,
                context: (control >> 4 & 7) as u8,
                levels: control >> 8 & 0x7ff,
            }
        };
        let selector = |number: usize| {
            let control = registers.at("TRCRSCTLR", number);
            Selector {
                group: (control >> 16 & 0xf) as u8,
                select: control as u16,
                invert: control >> 20 & 1 == 1,
                pair_invert: control >> 21 & 1 == 1,
            }
        };
        let byte = |name: &str, low: u32| registers.field(name, low + 7, low) as u8;
        Filter {
            comparators: std::array::from_fn(comparator),
            context_ids: std::array::from_fn(|number| {
                Identifier::new(registers, "TRCCIDCVR", "TRCCIDCCTLR", number)
            }),
            vmids: std::array::from_fn(|number| {
                Identifier::new(registers, "TRCVMIDCVR", "TRCVMIDCCTLR", number)
            }),
            selectors: (0..32).map(selector).collect(),
            event: byte("TRCVICTLR", 0),
            levels: registers.field("TRCVICTLR", 26, 16),
            include: byte("TRCVIIECTLR", 0),
            exclude: byte("TRCVIIECTLR", 16),
            start: byte("TRCVISSCTLR", 0),
            stop: byte("TRCVISSCTLR", 16),
            started: registers.field("TRCVICTLR", 9, 9) == 1,
            broadcast: (byte("TRCBBCTLR", 0), registers.field("TRCBBCTLR", 8, 8) == 1),
            q: (byte("TRCQCTLR", 0), registers.field("TRCQCTLR", 8, 8) == 1),
            // Resource selector 1 is always true.
            is_open: byte("TRCVICTLR", 0) & 0x9f == 1
                && registers.get("TRCVIIECTLR") == 0
                && registers.get("TRCVISSCTLR") == 0,
        }
    }

    /// ViewInst may be active at this exception level.
    pub(crate) fn permits(&self, context: &ContextState) -> bool {
        !excluded(self.levels, context)
    }

    /// ViewInst for an instruction; updates the start/stop logic.
    pub(crate) fn view(&mut self, now: &Now<'_>) -> bool {
        let mut started = self.started;
        if self.start | self.stop != 0 {
            // Active from the start point to the stop point, both included.
            started |= self.any(self.start, now, Self::single);
            self.started = started && !self.any(self.stop, now, Self::single);
        }
        started
            && self.permits(now.context)
            && (self.include == 0 || self.any(self.include, now, Self::range))
            && !self.any(self.exclude, now, Self::range)
            && self.resource(self.event, now)
    }

    /// Branch broadcasting is on here.
    pub(crate) fn broadcasts(&self, now: &Now<'_>) -> bool {
        let (ranges, inside) = self.broadcast;
        self.any(ranges, now, Self::range) == inside
    }

    /// Q elements are allowed here.
    pub(crate) fn allows_q(&self, now: &Now<'_>) -> bool {
        let (ranges, inside) = self.q;
        self.any(ranges, now, Self::range) == inside
    }

    /// True if any of the comparators in `set` matches.
    fn any(&self, set: u8, now: &Now<'_>, matches: fn(&Self, usize, &Now<'_>) -> bool) -> bool {
        set != 0 && (0..8).any(|number| set >> number & 1 == 1 && matches(self, number, now))
    }

    fn identifiers(&self, comparator: &Comparator, context: &ContextState) -> bool {
        let number = usize::from(comparator.context);
        let id = comparator.context_type & 1 == 0 || self.context_ids[number].matches(context.context_id);
        let vmid = comparator.context_type & 2 == 0 || self.vmids[number].matches(context.vmid);
        id && vmid && !excluded(comparator.levels, context)
    }

    /// Single address comparator `number`.
    fn single(&self, number: usize, now: &Now<'_>) -> bool {
        let comparator = &self.comparators[number];
        comparator.address == now.address && self.identifiers(comparator, now.context)
    }

    /// Address range comparator `number`: comparators 2n and 2n + 1, both ends inclusive.
    fn range(&self, number: usize, now: &Now<'_>) -> bool {
        let (first, last) = (&self.comparators[2 * number], &self.comparators[2 * number + 1]);
        (first.address..=last.address).contains(&now.address) && self.identifiers(first, now.context)
    }

    /// An event selector: a pair of resource selectors if bit 7 is set, else one.
    pub(crate) fn resource(&self, selector: u8, now: &Now<'_>) -> bool {
        let number = usize::from(selector & 0x1f);
        if selector & 0x80 == 0 {
            return self.selected(number, now);
        }
        let even = 2 * (number & 0xf);
        let both = self.selected(even, now) && self.selected(even + 1, now);
        let pair_invert = self.selectors.get(even).is_some_and(|selector| selector.pair_invert);
        both != pair_invert
    }

    /// Resource selector `number`; 0 is always false, 1 is always true.
    fn selected(&self, number: usize, now: &Now<'_>) -> bool {
        if number < 2 {
            return number == 1;
        }
        let Some(selector) = self.selectors.get(number) else { return false };
        let mut set = (0..16).filter(|bit| selector.select >> bit & 1 == 1);
        let found = match selector.group {
            0 => set.any(|input| input < 8 && now.inputs >> input & 1 == 1),
            4 => set.any(|number| self.single(number, now)),
            5 => set.any(|number| number < 8 && self.range(number, now)),
            6 => set.any(|number| number < 8 && self.context_ids[number].matches(now.context.context_id)),
            7 => set.any(|number| number < 8 && self.vmids[number].matches(now.context.vmid)),
            _ => false,
        };
        found != selector.invert
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(el: u8, security: u8) -> ContextState {
        ContextState { el, security, sixty_four_bit: true, ..ContextState::default() }
    }

    fn sees(registers: &Registers, context: ContextState, addresses: &[u64]) -> Vec<bool> {
        let mut filter = Filter::new(registers);
        let view = |&address: &u64| filter.view(&Now { address, context: &context, inputs: 0 });
        addresses.iter().map(view).collect()
    }

    #[test]
    fn k10_3_exception_levels_of_the_minimal_programming() {
        let registers = Registers::default().minimal();
        for security in 0..4 {
            for el in 0..4 {
                // Root has only EL3.
                let expected = el == 0 && (security == 1 || security == 3);
                assert_eq!(sees(&registers, context(el, security), &[0]), [expected], "{security} {el}");
            }
        }
    }

    #[test]
    fn realm_bits_are_differences() {
        let mut registers = Registers::default().minimal();
        registers.set("TRCVICTLR", 0x006f_0201 | 0x0700_0000);
        assert_eq!(sees(&registers, context(0, 3), &[0]), [false]);
        assert_eq!(sees(&registers, context(1, 3), &[0]), [true]);
        assert_eq!(sees(&registers, context(0, 1), &[0]), [true]);
    }

    #[test]
    fn k10_5_7_ranges_are_inclusive() {
        let addresses = [0x1ffc, 0x2000, 0x200c, 0x2010];
        let el0 = context(0, 1);
        let excluding = sees(&Registers::default().exclude(0x2000, 0x200f), el0, &addresses);
        assert_eq!(excluding, [true, false, false, true]);
        let including = sees(&Registers::default().include(0x2000, 0x200f), el0, &addresses);
        assert_eq!(including, [false, true, true, false]);
    }

    #[test]
    fn start_and_stop_points_are_traced() {
        let mut registers = Registers::default().minimal();
        registers.put(&[("TRCVICTLR", 0x006f_0001), ("TRCVISSCTLR", 0x0002_0001)]);
        registers.put(&[("TRCACVR0", 0x1004), ("TRCACVR1", 0x100c)]);
        let seen = sees(&registers, context(0, 1), &[0x1000, 0x1004, 0x1008, 0x100c, 0x1010, 0x1004]);
        assert_eq!(seen, [false, true, true, true, false, true]);
    }

    #[test]
    fn comparators_look_at_identifiers_and_levels() {
        let mut registers = Registers::default().include(0x1000, 0x1fff);
        registers.put(&[("TRCVICTLR", 0x201), ("TRCACATR0", 0x14), ("TRCCIDCVR1", 0x42)]);
        let with = |id| ContextState { context_id: Some(id), ..context(1, 1) };
        assert_eq!(sees(&registers, with(0x42), &[0x1000]), [true]);
        assert_eq!(sees(&registers, with(0x43), &[0x1000]), [false]);
        registers.set("TRCCIDCCTLR0", 0xff00);
        assert_eq!(sees(&registers, with(0x43), &[0x1000]), [true], "no byte is compared");
        registers.set("TRCACATR0", 1 << 13);
        assert_eq!(sees(&registers, with(0x42), &[0x1000]), [false], "not at EL1 Non-secure");
    }

    #[test]
    fn resources_and_pairs() {
        let mut registers = Registers::default();
        // 2: range comparator 0; 3: not single comparator 2; the pair is both.
        registers.put(&[("TRCRSCTLR2", 0x5_0001), ("TRCRSCTLR3", 0x14_0004)]);
        registers.put(&[("TRCACVR0", 0x1000), ("TRCACVR1", 0x10ff), ("TRCACVR2", 0x1004)]);
        let filter = Filter::new(&registers);
        let el1 = context(1, 1);
        let fires = |selector, address| filter.resource(selector, &Now { address, context: &el1, inputs: 0 });
        assert!(!fires(0, 0x1000) && fires(1, 0x1000));
        assert!(fires(2, 0x1000) && !fires(2, 0x2000));
        assert!(fires(0x81, 0x1000) && !fires(0x81, 0x1004) && !fires(0x81, 0x2000));
    }
}
