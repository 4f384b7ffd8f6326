//! The encoder's control fields (chapter 2, tables 2.1 to 2.6): declared once, read and written by name.

/// Column G of chapter 2: which encoders must have the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Mandatory.
    M,
    /// Optional.
    O,
    /// Mandatory if data trace is supported.
    MD,
    /// Optional for data trace.
    OD,
}

/// A field of a register.
#[derive(Clone, Copy, Debug)]
pub struct Register<T: 'static> {
    /// Name in chapter 2.
    pub name: &'static str,
    /// A sentence that describes it.
    pub about: &'static str,
    /// Width in bits.
    pub width: u32,
    /// Which encoders must have it.
    pub group: Group,
    /// Can it be written?
    pub writable: bool,
    pub(crate) get: fn(&T) -> u64,
    pub(crate) set: fn(&mut T, u64),
}

impl<T> Register<T> {
    /// Its value.
    pub fn get(&self, of: &T) -> u64 {
        (self.get)(of)
    }

    /// Sets it; bits beyond its width are dropped.
    pub fn set(&self, of: &mut T, value: u64) {
        (self.set)(of, trackway_core::mask(value, self.width));
    }
}

/// A value that fits a field.
pub(crate) trait Field: Copy {
    fn bits(self) -> u64;
    fn from_bits(bits: u64) -> Self;
}

impl Field for bool {
    fn bits(self) -> u64 {
        u64::from(self)
    }

    fn from_bits(bits: u64) -> Self {
        bits & 1 == 1
    }
}

macro_rules! fields {
    ($($type:ty)*) => {$(
        impl Field for $type {
            fn bits(self) -> u64 {
                u64::from(self)
            }

            fn from_bits(bits: u64) -> Self {
                bits as $type
            }
        }
    )*};
}

fields!(u8 u16 u32 u64);

/// Declares a struct of fields: `field "name": type, width, group, RW or R, reset value`, and the list of them.
macro_rules! registers {
    ($(#[$about:meta])* pub struct $name:ident, $list:ident {
        $($(#[doc = $doc:literal])* $field:ident $spec:literal : $type:ty, $width:literal, $group:ident $rw:ident, $reset:expr;)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[doc = $doc])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $reset,)* }
            }
        }

        /// Its fields, in the order of the tables.
        pub const $list: &[$crate::registers::Register<$name>] = &[$($crate::registers::Register {
            name: $spec,
            about: concat!($($doc),*),
            width: $width,
            group: $crate::registers::Group::$group,
            writable: registers!(@writable $rw),
            get: |of| $crate::registers::Field::bits(of.$field),
            set: |of, value| of.$field = $crate::registers::Field::from_bits(value),
        }),*];
    };
    (@writable RW) => { true };
    (@writable R) => { false };
}

registers! {
    /// Basic control (table 2.1).
    pub struct Basic, BASIC_FIELDS {
        /// Master enable. Without it nothing else can be read or written.
        active "Active": bool, 1, M RW, false;
        /// Instruction trace is on. Clearing it flushes the queue.
        i_enable "iEnable": bool, 1, M RW, false;
        /// Data trace is on. Clearing it flushes the queue.
        d_enable "dEnable": bool, 1, MD RW, false;
        /// Triggers of the debug module set and clear `iEnable`.
        i_trig_enable "iTrigEnable": bool, 1, O RW, false;
        /// Triggers of the debug module set and clear `dEnable`.
        d_trig_enable "dTrigEnable": bool, 1, OD RW, false;
        /// Stall the core where trace would be lost.
        stall_enable "stallEnable": bool, 1, O RW, false;
        /// All trace was emitted.
        empty "Empty": bool, 1, O R, true;
        /// Counted towards the next synchronisation: nothing, packets, cycles or half-words.
        resync_mode "ResyncMode": u8, 2, M RW, 0;
        /// The interval is `2^(ResyncMax + 4)`.
        resync_max "ResyncMax": u8, 4, O RW, 0;
    }
}

registers! {
    /// Optional modes (table 2.2).
    pub struct Modes, MODE_FIELDS {
        /// Addresses in full.
        full_address "FullAddress": bool, 1, O RW, false;
        /// Trap packets without the handler's address.
        implicit_except "ImplicitExcept": bool, 1, O RW, false;
        /// Sequentially inferable jumps are inferred.
        si_jump "siJump": bool, 1, O RW, false;
        /// Returns are inferred.
        implicit_return "ImplicitReturn": bool, 1, O RW, false;
        /// Branches are predicted.
        branch_prediction "BranchPrediction": bool, 1, O RW, false;
        /// Jump targets are cached.
        jump_target_cache "JumpTargetCache": bool, 1, O RW, false;
        /// Data packets without data.
        no_data "noData": bool, 1, OD RW, false;
        /// Data packets without addresses.
        no_address "noAddress": bool, 1, OD RW, false;
        /// Compression of data packets: none, exclusive or, differences, the shorter of both.
        data_compress "DataCompress": u8, 2, OD RW, 0;
    }
}

registers! {
    /// Filters that qualify instruction and data trace (table 2.3).
    pub struct Selection, SELECTION_FIELDS {
        /// Filters for instruction trace, a bit each.
        i_filters "iFilters": u16, 16, O RW, 0;
        /// Filters for data trace, a bit each.
        d_filters "dFilters": u16, 16, OD RW, 0;
    }
}

/// Inputs of comparators (table 2.6, `pInput`).
pub mod input {
    /// Instruction address.
    pub const IADDR: u8 = 0;
    /// Context.
    pub const CONTEXT: u8 = 1;
    /// Trap value; defined only at a trap.
    pub const TVAL: u8 = 2;
    /// Data address; defined only at an access.
    pub const DADDR: u8 = 3;
    /// Names of the inputs, by code.
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
    /// Names of the functions, by code.
    pub const NAMES: [&str; 8] = ["==", "!=", "<", "<=", ">", ">=", "mask", "always"];
}

/// How the two comparisons combine (table 2.6, `matchMode`).
pub mod match_mode {
    /// The primary comparison alone.
    pub const PRIMARY: u8 = 0;
    /// Both must match.
    pub const BOTH: u8 = 1;
    /// At least one must fail.
    pub const NOT_BOTH: u8 = 2;
    /// From a match of the primary comparison through a match of the secondary one.
    pub const LATCH: u8 = 3;
    /// Names of the modes, by code.
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
        /// How the comparisons combine.
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
    /// A filter (tables 2.4 and 2.5): everything that is enabled must match.
    pub struct Filter, FILTER_FIELDS {
        /// Without it the filter never matches.
        filter_enable "filterEnable": bool, 1, O RW, false;
        /// The comparator in `comp1` must match.
        match_comp1 "matchComp1": bool, 1, O RW, false;
        /// Number of a comparator.
        comp1 "comp1": u8, 3, O RW, 0;
        /// The comparator in `comp2` must match.
        match_comp2 "matchComp2": bool, 1, O RW, false;
        /// Number of a comparator.
        comp2 "comp2": u8, 3, O RW, 0;
        /// The comparator in `comp3` must match. (The tables print it as a second `matchComp2`.)
        match_comp3 "matchComp3": bool, 1, O RW, false;
        /// Number of a comparator.
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
        /// Implementation-defined inputs that count.
        match_mask_impdef "matchMaskImpdef": u32, 32, O RW, 0;
        /// Value that they must have.
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

    /// Does it match from a trap to the return from it?
    pub(crate) fn follows_traps(&self) -> bool {
        self.match_ecause || self.match_interrupt
    }
}
