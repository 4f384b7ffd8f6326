//! Filters and comparators (2.3, chapter 5): what qualifies for being traced.
//!
//! A [`Comparator`] is a pair of comparisons with one output. A [`Filter`] wants up to three of them, and values
//! of other inputs. `ifilters` and `dfilters` choose the filters that qualify instructions and data accesses: one
//! that matches is enough, and without any all is traced.
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

mod config;
mod evaluate;

pub use config::FilterConfig;
pub use evaluate::{Filters, Qualified, Row};

use crate::register::registers;

/// Inputs of comparators (table 2.6, `pInput`).
pub mod input {
    /// Instruction address.
    pub const IADDR: u8 = 0;
    /// Context.
    pub const CONTEXT: u8 = 1;
    /// Trap value; defined where a trap is.
    pub const TVAL: u8 = 2;
    /// Data address; defined where an access is.
    pub const DADDR: u8 = 3;
    /// Their names.
    pub const NAMES: [&str; 4] = ["iaddr", "context", "tval", "daddr"];
}

/// Functions of comparators (table 2.6, `pFunction`, `sFunction`).
pub mod function {
    /// Equal.
    pub const EQUAL: u8 = 0;
    /// Not equal.
    pub const NOT_EQUAL: u8 = 1;
    /// Less.
    pub const LESS: u8 = 2;
    /// Less or equal.
    pub const LESS_EQUAL: u8 = 3;
    /// Greater.
    pub const GREATER: u8 = 4;
    /// Greater or equal.
    pub const GREATER_EQUAL: u8 = 5;
    /// Secondary: `sMatch` is a mask for the primary comparison. Primary: reserved, always matches.
    pub const MASK: u8 = 6;
    /// Always matches.
    pub const ALWAYS: u8 = 7;
    /// Their names.
    pub const NAMES: [&str; 8] = ["==", "!=", "<", "<=", ">", ">=", "mask", "always"];
}

/// Ways to combine both comparisons (table 2.6, `matchMode`).
pub mod match_mode {
    /// The primary one.
    pub const PRIMARY: u8 = 0;
    /// Both.
    pub const BOTH: u8 = 1;
    /// Not both.
    pub const NOT_BOTH: u8 = 2;
    /// From where the primary one matches through where the secondary one does.
    pub const LATCH: u8 = 3;
    /// Their names.
    pub const NAMES: [&str; 4] = ["p", "p && s", "!(p && s)", "latch"];
}

registers! {
    /// A comparator unit (table 2.6).
    pub struct Comparator, COMPARATOR_FIELDS {
        /// Input of the primary comparison.
        p_input "pInput": u8, 2, O RW, 0;
        /// Input of the secondary comparison.
        s_input "sInput": u8, 2, O RW, 0;
        /// Primary comparison.
        p_function "pFunction": u8, 3, O RW, 0;
        /// Secondary comparison.
        s_function "sFunction": u8, 3, O RW, function::ALWAYS;
        /// How they combine.
        match_mode "matchMode": u8, 2, O RW, 0;
        /// Value of the primary comparison.
        p_match "pMatch": u64, 64, O RW, 0;
        /// Value of the secondary comparison.
        s_match "sMatch": u64, 64, O RW, 0;
        /// Watchpoint where the primary comparison of `iaddr` matches.
        p_notify "pNotify": bool, 1, O RW, false;
        /// Watchpoint where the secondary comparison of `iaddr` matches.
        s_notify "sNotify": bool, 1, O RW, false;
    }
}

registers! {
    /// A filter (tables 2.4 and 2.5). All that is asked for must match.
    pub struct Filter, FILTER_FIELDS {
        /// Without it the filter never matches.
        filter_enable "filterEnable": bool, 1, O RW, false;
        /// The comparator in `comp1` must match.
        match_comp1 "matchComp1": bool, 1, O RW, false;
        /// A comparator.
        comp1 "comp1": u8, 3, O RW, 0;
        /// The comparator in `comp2` must match.
        match_comp2 "matchComp2": bool, 1, O RW, false;
        /// A comparator.
        comp2 "comp2": u8, 3, O RW, 0;
        /// The comparator in `comp3` must match. (The tables print it as a second `matchComp2`.)
        match_comp3 "matchComp3": bool, 1, O RW, false;
        /// A comparator.
        comp3 "comp3": u8, 3, O RW, 0;
        /// The privilege must be among `match_choice_privilege`.
        match_privilege "matchPrivilege": bool, 1, O RW, false;
        /// From a trap whose cause is among `match_choice_ecause` to the return from it.
        match_ecause "matchEcause": bool, 1, O RW, false;
        /// From a trap of the kind in `match_value_interrupt` to the return from it.
        match_interrupt "matchInterrupt": bool, 1, O RW, false;
        /// The implementation-defined inputs must match.
        match_impdef "matchImpdef": bool, 1, O RW, false;
        /// The type of the data access must be among `match_choice_dtype`.
        match_dtype "matchDtype": bool, 1, OD RW, false;
        /// The size of the data access must be among `match_choice_dsize`.
        match_dsize "matchDsize": bool, 1, OD RW, false;
        /// Privilege codes, a bit each.
        match_choice_privilege "matchChoicePrivilege": u8, 8, O RW, 0;
        /// Interrupts, not exceptions.
        match_value_interrupt "matchValueInterrupt": bool, 1, O RW, false;
        /// Causes, a bit each.
        match_choice_ecause "matchChoiceEcause": u32, 32, O RW, 0;
        /// Which implementation-defined inputs count.
        match_mask_impdef "matchMaskImpdef": u32, 32, O RW, 0;
        /// What they must be.
        match_value_impdef "matchValueImpdef": u32, 32, O RW, 0;
        /// Access types, a bit each.
        match_choice_dtype "matchChoiceDtype": u16, 16, O RW, 0;
        /// Logarithms of access sizes, a bit each.
        match_choice_dsize "matchChoiceDsize": u8, 8, O RW, 0;
    }
}

impl Filter {
    /// The comparators that must match.
    pub fn comparators(&self) -> impl Iterator<Item = u8> + use<> {
        let units =
            [(self.match_comp1, self.comp1), (self.match_comp2, self.comp2), (self.match_comp3, self.comp3)];
        units.into_iter().filter_map(|(wanted, unit)| wanted.then_some(unit))
    }

    /// Does it follow traps to their return?
    pub fn follows_traps(&self) -> bool {
        self.match_ecause || self.match_interrupt
    }
}
