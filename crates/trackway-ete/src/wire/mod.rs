//! Packets on the wire (K10.5.2). A packet's bytes are described once: the header table in [`header`], then one file
//! per payload with its reading, writing and text side by side, and [`packet`] that puts them together.

pub(crate) mod address;
pub(crate) mod atoms;
pub(crate) mod chain;
pub(crate) mod context;
pub(crate) mod exception;
pub mod exception_type;
pub(crate) mod header;
pub(crate) mod packet;
pub(crate) mod read;
pub(crate) mod scan;
pub(crate) mod trace_info;
