//! Data trace: loads, stores, atomics and CSR accesses beside the instruction trace (4.3, 4.4, chapter 7).
//!
//! | step | here |
//! |---|---|
//! | what the core shows | [`Port`] (table 4.9), [`Access`] |
//! | bytes ⇄ packets | [`Packet`], [`Exact`]: tables 7.1 to 7.13, every field declared once |
//! | accesses → packets | [`Encoder`]: history per size, the shortest form |
//! | packets → accesses | [`Decoder`]: history per size, split loads by their id |
//! | accesses → instructions | `attach`: packets name no instruction; their order does |

mod access;
pub(crate) mod attach;
pub(crate) mod check;
mod config;
mod decode;
mod encode;
mod events;
pub(crate) mod expect;
mod history;
mod packet;
pub(crate) mod shape;

pub use access::{Access, Dtype, Lresp, Port, Transfer};
pub use config::{Compress, DataConfig, Order};
pub use decode::{Decoded, Decoder, Reply};
pub use encode::Encoder;
pub use history::History;
pub use packet::{
    Atomic, AtomicReply, AtomicRequest, Csr, Exact, Layout, LoadReply, LoadRequest, LoadStore, Packet, Sizes,
    diff,
};
