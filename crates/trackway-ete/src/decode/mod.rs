//! The three stages of decoding (K10.5): packets to elements, speculation, program flow.

pub(crate) mod census;
pub(crate) mod decoder;
pub(crate) mod element;
pub(crate) mod elements;
pub(crate) mod flow;
pub(crate) mod output;
pub(crate) mod parallel;
pub(crate) mod source;
pub(crate) mod speculation;
