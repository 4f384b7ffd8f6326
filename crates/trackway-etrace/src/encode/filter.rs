//! Filters and comparators (2.3, chapter 5): which instructions and accesses are traced.
//!
//! A [`Comparator`] is a pair of comparisons with one output. A [`Filter`] needs up to three of them to match, and
//! other inputs to have given values. `ifilters` and `dfilters` select the filters that qualify instructions and data
//! accesses: one match is enough, and without filters everything is traced.
//!
//! A row has one *point* per half-word address of its block, and one per data access there; a filter matches the row
//! if it matches any of its points. This is the rule of 4.4: a block is traced as a whole if any instruction in it
//! matches, since the encoder does not know where in the block instructions begin. A data access is judged at its own
//! instruction if the core has `iaddr_lsbs`, else at every instruction of the block.
//!
//! ```
//! use trackway_etrace::Config;
//! let config = Config::from_toml(
//!     r#"
//!     ifilters = [0]
//!     [[comparator]]                # 0x8000 <= iaddr < 0x8100
//!     p_function = ">="
//!     p_match = 0x8000
//!     s_function = "<"
//!     s_match = 0x8100
//!     match_mode = "p && s"
//!     [[filter]]
//!     comp1 = 0
//!     privilege = ["u"]
//!     "#,
//! )?;
//! assert_eq!((config.filters.comparators.len(), config.filters.filters.len()), (1, 1));
//! # Ok::<(), trackway_etrace::ConfigError>(())
//! ```

use crate::config::FilterConfig;
use crate::port::{Access, Block, Cycle, Dtype, Itype};
use crate::registers::{Comparator, Filter, function, input, match_mode};

/// A block with the other signals of its cycle and its data accesses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    /// The block to be judged.
    pub(super) block: &'a Block,
    /// Signals of its cycle.
    pub(super) cycle: &'a Cycle<'a>,
    /// Data accesses in order, each with the address of its instruction.
    pub(super) accesses: &'a [(u64, Access)],
}

/// The result for a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Qualified {
    /// Its instructions are traced.
    pub(super) instructions: bool,
    /// A watchpoint requests a report of its last instruction.
    pub(super) notify: bool,
}

/// All inputs at one point.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    iaddr: Option<u64>,
    /// The instruction retires; otherwise it traps.
    retired: bool,
    context: u64,
    tval: Option<u64>,
    access: Option<Access>,
}

impl Sample {
    fn input(&self, which: u8) -> Option<u64> {
        match which {
            input::IADDR => self.iaddr,
            input::CONTEXT => Some(self.context),
            input::TVAL => self.tval,
            _ => self.access.map(|access| access.daddr),
        }
    }
}

/// One comparison; an undefined input matches only "always".
fn compare(function: u8, input: Option<u64>, value: u64, mask: u64) -> bool {
    if function >= function::MASK {
        return true;
    }
    let Some(input) = input else { return false };
    let (input, value) = (input & mask, value & mask);
    match function {
        function::EQUAL => input == value,
        function::NOT_EQUAL => input != value,
        function::LESS => input < value,
        function::LESS_EQUAL => input <= value,
        function::GREATER => input > value,
        _ => input >= value,
    }
}

impl Comparator {
    fn primary(&self, sample: &Sample) -> bool {
        let mask = if self.s_function == function::MASK { self.s_match } else { u64::MAX };
        compare(self.p_function, sample.input(self.p_input), self.p_match, mask)
    }

    fn secondary(&self, sample: &Sample) -> bool {
        compare(self.s_function, sample.input(self.s_input), self.s_match, u64::MAX)
    }

    /// Are the inputs defined that the comparisons use?
    fn is_defined(&self, sample: &Sample) -> bool {
        let looked = |function: u8, which: u8| function >= function::MASK || sample.input(which).is_some();
        looked(self.p_function, self.p_input) && looked(self.s_function, self.s_input)
    }

    fn output(&self, sample: &Sample, latched: bool) -> bool {
        let p = self.primary(sample);
        match self.match_mode {
            match_mode::PRIMARY => p,
            match_mode::BOTH => p && self.secondary(sample),
            match_mode::NOT_BOTH => self.is_defined(sample) && !(p && self.secondary(sample)),
            _ => latched || p,
        }
    }

    fn reads(&self, which: u8) -> bool {
        let secondary = self.match_mode != match_mode::PRIMARY && self.s_function < function::MASK;
        (self.p_function < function::MASK && self.p_input == which) || (secondary && self.s_input == which)
    }

    /// The output, if the instruction's address alone determines it.
    fn known_output(&self, iaddr: Option<u64>) -> Option<bool> {
        if self.match_mode == match_mode::LATCH {
            return None;
        }
        let sample = Sample { iaddr, ..Sample::default() };
        let known = |function: u8, which: u8| {
            function >= function::MASK || (which == input::IADDR && iaddr.is_some())
        };
        let p = known(self.p_function, self.p_input).then(|| self.primary(&sample));
        let s = known(self.s_function, self.s_input).then(|| self.secondary(&sample));
        let both = match (p, s) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        };
        match self.match_mode {
            match_mode::PRIMARY => p,
            match_mode::BOTH => both,
            _ => both.map(|both| !both),
        }
    }
}

/// The filters with their state.
#[derive(Clone, Debug, Default)]
pub(super) struct Filters {
    config: FilterConfig,
    /// Anything is filtered or watched at all.
    active: bool,
    /// Latching comparators that are set.
    latched: [bool; 8],
    /// By filter: depth of nested traps, from the first matching one on.
    nested: [u32; 16],
    max_nested: u32,
    /// The block's address is valid if nothing retires.
    iaddr_of_trap: bool,
    /// Data accesses are judged at their own instruction.
    precise: bool,
    /// Address of the last instruction, for traps without an address.
    last: Option<u64>,
    /// By access of the last row: does it qualify?
    accesses: Vec<bool>,
}

impl Filters {
    /// The filters of these settings, in their initial state.
    pub(super) fn new(config: &crate::Config) -> Self {
        let filters = &config.filters;
        Filters {
            config: filters.clone(),
            active: filters.ifilters != 0 || filters.dfilters != 0 || filters.has_watchpoints(),
            latched: [false; 8],
            nested: [0; 16],
            max_nested: 1 << config.params.filter_excint,
            iaddr_of_trap: config.dialect.has_thaddr(),
            precise: config.is_precise(),
            last: None,
            accesses: Vec::new(),
        }
    }

    /// Is there anything to evaluate?
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    /// Does the `n`th access of the last row qualify?
    pub(super) fn access(&self, n: usize) -> bool {
        self.accesses.get(n).copied().unwrap_or(true)
    }

    /// Judges a row.
    pub(super) fn row(&mut self, row: &Row<'_>) -> Qualified {
        let Row { block, cycle, accesses } = *row;
        let trap = matches!(block.itype, Itype::EXCEPTION | Itype::INTERRUPT);
        let base = Sample {
            retired: true,
            context: cycle.context,
            tval: trap.then_some(cycle.tval),
            ..Sample::default()
        };
        let mut out = Qualified { instructions: self.config.ifilters == 0, notify: false };
        self.accesses.clear();
        self.accesses.resize(accesses.len(), self.config.dfilters == 0);
        if block.iretire == 0 {
            let iaddr = if self.iaddr_of_trap { Some(block.iaddr) } else { self.last };
            self.place(&[], &Sample { iaddr, retired: false, ..base }, cycle, 0, &mut out);
        } else {
            let last = block.last();
            let mut at = block.iaddr;
            let mut first = 0;
            self.last = Some(last);
            loop {
                let sample = Sample { iaddr: Some(at), ..base };
                if self.precise {
                    let here = accesses[first..].iter().take_while(|(iaddr, _)| *iaddr <= at).count();
                    self.place(&accesses[first..first + here], &sample, cycle, first, &mut out);
                    first += here;
                } else {
                    self.place(accesses, &sample, cycle, 0, &mut out);
                }
                if at == last {
                    break;
                }
                at = at.wrapping_add(2);
            }
        }
        if trap {
            self.enter(&base, block.itype == Itype::INTERRUPT, cycle.cause);
        } else if block.itype == Itype::TRAP_RETURN {
            for depth in &mut self.nested {
                *depth = depth.saturating_sub(1);
            }
        }
        out
    }

    /// Judges one address with its accesses, of which the first is the row's `number`th.
    fn place(
        &mut self,
        accesses: &[(u64, Access)],
        sample: &Sample,
        cycle: &Cycle<'_>,
        number: usize,
        out: &mut Qualified,
    ) {
        let (mut set, mut clear) = (self.latched, [false; 8]);
        for n in 0..accesses.len().max(1) {
            let access = accesses.get(n).map(|(_, access)| *access);
            let sample = Sample { access, ..*sample };
            for (unit, comparator) in self.config.comparators.iter().enumerate() {
                let (p, s) = (comparator.primary(&sample), comparator.secondary(&sample));
                // An instruction that does not retire does not change latches.
                let counts = |which: u8| sample.retired || which != input::IADDR;
                set[unit] |= p && counts(comparator.p_input);
                clear[unit] |= s && counts(comparator.s_input);
                let watched = (comparator.p_notify && p && comparator.p_input == input::IADDR)
                    || (comparator.s_notify && s && comparator.s_input == input::IADDR);
                out.notify |= watched && sample.retired;
            }
            for (bit, filter) in self.config.filters.iter().enumerate() {
                let chosen = |filters: u16| filters >> bit & 1 == 1;
                let (for_i, for_d) = (chosen(self.config.ifilters), chosen(self.config.dfilters));
                if !(for_i || for_d) || !self.matches(filter, self.nested[bit], &sample, cycle) {
                    continue;
                }
                out.instructions |= for_i;
                if for_d && access.is_some() {
                    self.accesses[number + n] = true;
                }
            }
        }
        for unit in 0..8 {
            self.latched[unit] = set[unit] && !clear[unit];
        }
    }

    fn matches(&self, filter: &Filter, nested: u32, sample: &Sample, cycle: &Cycle<'_>) -> bool {
        let is_in = |choice: u32, code: u32| code < 32 && choice >> code & 1 == 1;
        let access = sample.access;
        filter.filter_enable
            && (!filter.match_privilege || is_in(filter.match_choice_privilege.into(), cycle.privilege))
            && (!filter.match_impdef
                || (cycle.impdef ^ filter.match_value_impdef) & filter.match_mask_impdef == 0)
            && (!filter.follows_traps() || nested > 0)
            && (!filter.match_dtype
                || access.is_some_and(|of| is_in(filter.match_choice_dtype.into(), of.dtype.0.into())))
            && (!filter.match_dsize
                || access.is_some_and(|of| is_in(filter.match_choice_dsize.into(), of.dsize.into())))
            && filter.comparators().all(|unit| {
                let comparator = self.comparator(unit);
                // Trap values exist only at traps; in a filter that follows traps they select the trap.
                (filter.follows_traps() && comparator.reads(input::TVAL))
                    || comparator.output(sample, self.latched[usize::from(unit)])
            })
    }

    fn comparator(&self, unit: u8) -> Comparator {
        self.config.comparators.get(usize::from(unit)).copied().unwrap_or_default()
    }

    /// Takes a trap: filters that follow traps begin to match, or nest.
    fn enter(&mut self, sample: &Sample, interrupt: bool, cause: u64) {
        for (bit, filter) in self.config.filters.iter().enumerate() {
            let begins = filter.filter_enable
                && filter.follows_traps()
                && (!filter.match_ecause || (cause < 32 && filter.match_choice_ecause >> cause & 1 == 1))
                && (!filter.match_interrupt || filter.match_value_interrupt == interrupt)
                && filter.comparators().all(|unit| {
                    let comparator = self.comparator(unit);
                    !comparator.reads(input::TVAL)
                        || comparator.output(sample, self.latched[usize::from(unit)])
                });
            let depth = &mut self.nested[bit];
            if *depth > 0 {
                *depth = (*depth + 1).min(self.max_nested);
            } else if begins {
                *depth = 1;
            }
        }
    }
}

impl FilterConfig {
    /// Do instruction and privilege alone exclude such an access? Encoder and decoder both rely on the answer.
    pub(crate) fn excludes(
        &self,
        iaddr: Option<u64>,
        privilege: Option<u32>,
        dtype: Dtype,
        dsize: u8,
    ) -> bool {
        let chosen = self.filters.iter().enumerate().filter(|(bit, _)| self.dfilters >> bit & 1 == 1);
        let missing = |wanted: bool, choice: u32, of: u32| wanted && (of >= 32 || choice >> of & 1 == 0);
        self.dfilters != 0
            && chosen.map(|(_, filter)| filter).all(|filter| {
                !filter.filter_enable
                    || privilege.is_some_and(|of| {
                        missing(filter.match_privilege, filter.match_choice_privilege.into(), of)
                    })
                    || missing(filter.match_dtype, filter.match_choice_dtype.into(), dtype.0.into())
                    || missing(filter.match_dsize, filter.match_choice_dsize.into(), dsize.into())
                    || filter.comparators().any(|unit| {
                        let comparator = self.comparators.get(usize::from(unit)).copied().unwrap_or_default();
                        comparator.known_output(iaddr) == Some(false)
                    })
            })
    }
}
