//! The rules of a Tarmac log. There is no specification: a log contradicts itself or its instruction set.

trackway_core::rules! { "tarmac";
    /// A line can be read.
    SYNTAX = "syntax": Error, "Tarmac";
}
