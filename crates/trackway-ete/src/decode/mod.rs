//! The three stages of decoding, as in K10.5 of the Arm ARM: [`elements`] (K10.5.2), [`speculation`] (K10.5.3,
//! K10.5.4) and [`flow`] (K10.5.5). [`decoder`] joins them, [`source`] runs it over one source, [`parallel`] over
//! several parts of one.

pub(crate) mod counts;
pub(crate) mod decoder;
pub(crate) mod element;
pub(crate) mod elements;
pub(crate) mod flow;
pub(crate) mod output;
pub(crate) mod parallel;
pub(crate) mod source;
pub(crate) mod speculation;
