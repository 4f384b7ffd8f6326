//! STF, the Simple Trace Format.
#![forbid(unsafe_code)]
