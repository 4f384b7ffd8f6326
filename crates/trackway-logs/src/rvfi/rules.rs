//! The rules of a retirement port, under the names of both formats that show one.

/// Declares the same rules for a format.
macro_rules! port_rules {
    ($format:literal, $module:ident) => {
        /// The rules of this format.
        pub(crate) mod $module {
            trackway_core::rules! { $format;
                /// The log can be read.
                SYNTAX = "syntax": Error, "RVFI";
                /// An instruction follows the one before it, or begins a trap handler (rvfi_intr).
                FLOW = "flow": Error, "RVFI pc_rdata, pc_wdata";
                /// The next address is one that the instruction can lead to.
                NEXT = "next": Error, "RVFI pc_wdata";
                /// Instructions are numbered one after the other.
                ORDER = "order": Error, "RVFI order";
                /// A register is read with the value that was written last.
                READ = "read": Error, "RVFI rs1_rdata, rs2_rdata";
                /// x0 is 0.
                ZERO = "zero": Error, "RVFI rd_addr, rd_wdata";
                /// A mask selects adjoining bytes.
                MASK = "mask": Error, "RVFI mem_rmask, mem_wmask";
                /// Registers and memory accesses are those of the instruction.
                EFFECTS = "effects": Error, "RVFI";
            }

            /// The same rules by their meaning.
            pub(crate) const PORT: super::Rules = super::Rules {
                flow: &FLOW,
                next: &NEXT,
                order: &ORDER,
                read: &READ,
                zero: &ZERO,
                mask: &MASK,
                effects: &EFFECTS,
            };
        }
    };
}

use trackway_core::Rule;

/// The rules of one of the formats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) flow: &'static Rule,
    pub(crate) next: &'static Rule,
    pub(crate) order: &'static Rule,
    pub(crate) read: &'static Rule,
    pub(crate) zero: &'static Rule,
    pub(crate) mask: &'static Rule,
    pub(crate) effects: &'static Rule,
}

port_rules!("rvfi-dii", dii);
port_rules!("rvfi-vcd", vcd);
