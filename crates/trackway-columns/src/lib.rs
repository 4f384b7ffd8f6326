//! Traces as tables: one schema, rows from events, and files of columns.
//!
//! The tables are declared once, in `tables.rs`; [`Table::ALL`] is the schema, `docs/data.md` is written from it.
//! [`Rows`] turns batches of events into [`Chunk`]s, plain columns that need neither Arrow nor anything else.
//! [`Csv`] and [`JsonLines`] write them as text; with the feature `arrow` there are
//! arrays of Arrow too, with `columns` files of Arrow and Parquet.

mod block;
mod facts;
mod lane;
mod page;
mod plan;
mod read;
mod rows;
mod schema;
mod selection;
mod sink;
mod store;
mod tables;
mod text;

pub mod champsim;

#[cfg(feature = "arrow")]
mod arrow;
#[cfg(feature = "columns")]
mod ipc;
#[cfg(feature = "columns")]
mod parquet;

pub use lane::{Lane, Lanes};
pub use page::schema_page;
pub use plan::{Part, plan};
pub use read::{Ended, read, read_part, rows_of};
pub use rows::{CHUNK, Emit, Rows, empty};
pub use schema::{Column, Kind, SCHEMA, Table};
pub use selection::{Selection, Unknown};
pub use sink::Sink;
pub use store::{Bits, Chunk, Data, Pieces, Values};
pub use text::{Csv, JsonLines};

#[cfg(feature = "arrow")]
pub use arrow::{ToArrow, arrow_schema};
#[cfg(feature = "columns")]
pub use {
    ipc::{IpcFile, IpcStream},
    parquet::{Parquet, parquet_properties},
};

/// How unsigned numbers are written, for engines that have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Integers {
    /// As they are.
    #[default]
    Unsigned,
    /// Signed, with the same 64 bits: an address of 2⁶³ or more is negative.
    Signed,
    /// 64-bit ones as decimal(20, 0), which keeps their order.
    Decimal,
}
