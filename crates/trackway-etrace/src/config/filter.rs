//! Settings of filters: `ifilters`, `dfilters`, `[[comparator]]`, `[[filter]]`.

use super::ConfigError;
use super::values::{
    self, CauseBits, DtypeBits, FunctionCode, InputCode, MatchModeCode, PrivilegeBits, SizeBits,
};
use crate::params::Params;
use crate::registers::{Comparator, Filter, input};

/// The filters, and what they qualify.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterConfig {
    /// Comparator units, at most 8.
    pub comparators: Vec<Comparator>,
    /// Filters, at most 16.
    pub filters: Vec<Filter>,
    /// Filters that qualify instruction trace, a bit each; 0: all instructions are traced (table 2.3).
    pub ifilters: u16,
    /// Filters that qualify data trace, a bit each; 0: all accesses are traced (table 2.3).
    pub dfilters: u16,
}

trackway_format::settings! { serde;
    /// `[[comparator]]`: a comparator unit (table 2.6).
    #[derive(Debug, serde::Serialize)]
    pub(super) struct ComparatorKeys {
        /// Input of the primary comparison: iaddr, context, tval or daddr.
        p_input: InputCode = "\"iaddr\"",
        /// Input of the secondary comparison.
        s_input: InputCode = "\"iaddr\"",
        /// Primary comparison: ==, !=, <, <=, >, >= or always.
        p_function: FunctionCode = "\">=\"",
        /// Secondary comparison; `mask` makes `s_match` a mask for the primary one.
        s_function: FunctionCode = "\"<\"",
        /// How the comparisons combine: p, p && s, !(p && s) or latch.
        match_mode: MatchModeCode = "\"p && s\"",
        /// Value of the primary comparison.
        #[serde(with = "values")]
        p_match: u64 = "0x8000_0000",
        /// Value of the secondary comparison.
        #[serde(with = "values")]
        s_match: u64 = "0x8000_1000",
        /// Report the address where the primary comparison of `iaddr` matches.
        p_notify: bool = "false",
        /// Report the address where the secondary comparison of `iaddr` matches.
        s_notify: bool = "false",
    }
}

impl Default for ComparatorKeys {
    fn default() -> Self {
        ComparatorKeys::from(&Comparator::default())
    }
}

impl From<&Comparator> for ComparatorKeys {
    fn from(unit: &Comparator) -> Self {
        ComparatorKeys {
            p_input: InputCode(unit.p_input),
            s_input: InputCode(unit.s_input),
            p_function: FunctionCode(unit.p_function),
            s_function: FunctionCode(unit.s_function),
            match_mode: MatchModeCode(unit.match_mode),
            p_match: unit.p_match,
            s_match: unit.s_match,
            p_notify: unit.p_notify,
            s_notify: unit.s_notify,
        }
    }
}

impl From<ComparatorKeys> for Comparator {
    fn from(keys: ComparatorKeys) -> Self {
        Comparator {
            p_input: keys.p_input.0,
            s_input: keys.s_input.0,
            p_function: keys.p_function.0,
            s_function: keys.s_function.0,
            match_mode: keys.match_mode.0,
            p_match: keys.p_match,
            s_match: keys.s_match,
            p_notify: keys.p_notify,
            s_notify: keys.s_notify,
        }
    }
}

trackway_format::settings! { serde;
    /// `[[filter]]`: a filter (tables 2.4, 2.5). A key that is there must match.
    #[derive(Debug, serde::Serialize)]
    pub(super) struct FilterKeys {
        /// False: the filter never matches.
        enable: bool = "true",
        /// A comparator, by number.
        #[serde(skip_serializing_if = "Option::is_none")]
        comp1: Option<u8> = "0",
        /// A comparator, by number.
        #[serde(skip_serializing_if = "Option::is_none")]
        comp2: Option<u8> = "0",
        /// A comparator, by number.
        #[serde(skip_serializing_if = "Option::is_none")]
        comp3: Option<u8> = "0",
        /// Privileges.
        #[serde(skip_serializing_if = "Option::is_none")]
        privilege: Option<PrivilegeBits> = "[\"u\"]",
        /// Causes of traps: everything from such a trap to the return from it.
        #[serde(skip_serializing_if = "Option::is_none")]
        ecause: Option<CauseBits> = "[2, 8]",
        /// Interrupts (true) or exceptions: everything from such a trap to the return from it.
        #[serde(skip_serializing_if = "Option::is_none")]
        interrupt: Option<bool> = "false",
        /// Implementation-defined inputs that count.
        #[serde(skip_serializing_if = "Option::is_none")]
        impdef_mask: Option<u32> = "0xff",
        /// Value that those inputs must have.
        #[serde(skip_serializing_if = "Option::is_none")]
        impdef_value: Option<u32> = "0",
        /// Types of data accesses.
        #[serde(skip_serializing_if = "Option::is_none")]
        dtype: Option<DtypeBits> = "[\"store\"]",
        /// Logarithms of the sizes of data accesses.
        #[serde(skip_serializing_if = "Option::is_none")]
        dsize: Option<SizeBits> = "[2, 3]",
    }
}

impl Default for FilterKeys {
    fn default() -> Self {
        FilterKeys::from(&Filter { filter_enable: true, ..Filter::default() })
    }
}

impl From<&Filter> for FilterKeys {
    fn from(filter: &Filter) -> Self {
        FilterKeys {
            enable: filter.filter_enable,
            comp1: filter.match_comp1.then_some(filter.comp1),
            comp2: filter.match_comp2.then_some(filter.comp2),
            comp3: filter.match_comp3.then_some(filter.comp3),
            privilege: filter.match_privilege.then_some(PrivilegeBits(filter.match_choice_privilege)),
            ecause: filter.match_ecause.then_some(CauseBits(filter.match_choice_ecause)),
            interrupt: filter.match_interrupt.then_some(filter.match_value_interrupt),
            impdef_mask: filter.match_impdef.then_some(filter.match_mask_impdef),
            impdef_value: filter.match_impdef.then_some(filter.match_value_impdef),
            dtype: filter.match_dtype.then_some(DtypeBits(filter.match_choice_dtype)),
            dsize: filter.match_dsize.then_some(SizeBits(filter.match_choice_dsize)),
        }
    }
}

impl From<FilterKeys> for Filter {
    fn from(keys: FilterKeys) -> Self {
        Filter {
            filter_enable: keys.enable,
            match_comp1: keys.comp1.is_some(),
            comp1: keys.comp1.unwrap_or(0),
            match_comp2: keys.comp2.is_some(),
            comp2: keys.comp2.unwrap_or(0),
            match_comp3: keys.comp3.is_some(),
            comp3: keys.comp3.unwrap_or(0),
            match_privilege: keys.privilege.is_some(),
            match_choice_privilege: keys.privilege.unwrap_or_default().0,
            match_ecause: keys.ecause.is_some(),
            match_choice_ecause: keys.ecause.unwrap_or_default().0,
            match_interrupt: keys.interrupt.is_some(),
            match_value_interrupt: keys.interrupt.unwrap_or(false),
            match_impdef: keys.impdef_mask.is_some() || keys.impdef_value.is_some(),
            match_mask_impdef: keys.impdef_mask.unwrap_or(0),
            match_value_impdef: keys.impdef_value.unwrap_or(0),
            match_dtype: keys.dtype.is_some(),
            match_choice_dtype: keys.dtype.unwrap_or_default().0,
            match_dsize: keys.dsize.is_some(),
            match_choice_dsize: keys.dsize.unwrap_or_default().0,
        }
    }
}

impl FilterConfig {
    /// Does any comparator report addresses?
    pub(crate) fn has_watchpoints(&self) -> bool {
        self.comparators.iter().any(|unit| unit.p_notify || unit.s_notify)
    }

    /// Rejects filters that the parameters do not allow.
    pub(super) fn check(&self, params: &Params) -> Result<(), ConfigError> {
        if self.comparators.len() > 8 {
            return Err(ConfigError::new("comparator", "at most 8 are allowed"));
        }
        if self.filters.len() > 16 {
            return Err(ConfigError::new("filter", "at most 16 are allowed"));
        }
        for (key, chosen) in [("ifilters", self.ifilters), ("dfilters", self.dfilters)] {
            if u32::from(chosen) >> self.filters.len() != 0 {
                return Err(ConfigError::new(key, "it names a filter that does not exist"));
            }
        }
        for filter in &self.filters {
            if filter.comparators().any(|unit| usize::from(unit) >= self.comparators.len()) {
                return Err(ConfigError::new("filter.comp1", "it names a comparator that does not exist"));
            }
            let missing = [
                (filter.match_privilege && params.filter_privilege == 0, "filter_privilege"),
                (filter.follows_traps() && params.filter_excint == 0, "filter_excint"),
                (filter.match_impdef && params.filter_impdef == 0, "filter_impdef"),
            ];
            if let Some((_, name)) = missing.iter().find(|(missing, _)| *missing) {
                return Err(ConfigError::new(*name, "a filter needs it, and it is 0"));
            }
        }
        for unit in &self.comparators {
            let watched = [(unit.p_notify, unit.p_input), (unit.s_notify, unit.s_input)];
            if watched.iter().any(|(notify, which)| *notify && *which != input::IADDR) {
                return Err(ConfigError::new("comparator.p_notify", "a watchpoint needs iaddr as its input"));
            }
            let reads = |which: u8| unit.p_input == which || unit.s_input == which;
            let missing = [
                (reads(input::CONTEXT) && params.filter_context == 0, "filter_context"),
                (reads(input::TVAL) && params.filter_tval == 0, "filter_tval"),
            ];
            if let Some((_, name)) = missing.iter().find(|(missing, _)| *missing) {
                return Err(ConfigError::new(*name, "a comparator needs it, and it is 0"));
            }
        }
        Ok(())
    }
}
