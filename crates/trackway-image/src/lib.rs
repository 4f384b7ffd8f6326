//! The program that ran: code, symbols, lines and the block table.
#![forbid(unsafe_code)]
