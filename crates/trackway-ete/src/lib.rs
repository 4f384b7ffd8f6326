//! Arm's Embedded Trace Extension (ETE), and ETMv4.
//!
//! A trace unit describes the execution of a core in packets of a few bytes: outcomes of branches, addresses that the
//! program does not determine, exceptions, contexts, time. It may emit them before it knows that the core really
//! executes them, and cancel them later.
//!
//! | layer | direction | |
//! |---|---|---|
//! | `wire` | both | [`Packet`]s: the header table, reading, writing, text; the search for Alignment Syncs |
//! | `transport` | in | [`Snapshot`] folders, CoreSight [`Frames`], circular buffers |
//! | | out | [`SnapshotWriter`], [`FrameWriter`], [`TraceBuffer`] |
//! | `decode` | in | the three stages of K10.5: [`Elements`] of packets, speculation, program flow |
//! | [`encode`] | out | the trace unit: ViewInst, elements, speculation, packing |
//!
//! [`lift`](fn@lift) decodes sources to events, on several threads if asked; [`Lower`] runs events through trace units. The
//! meaning of packets depends on the unit's registers, [`Config`], which come from settings or from a snapshot.
//! [`Text`] shows packets without a program, [`check`](fn@check) applies the [`RULES`]. [`FORMAT`] is all of this for the
//! front door.
//!
//! ```
//! use trackway_ete::{Config, Packet, Reader};
//! let config = Config::from_registers("core 0", Default::default(), Some(true))?;
//! let reader = Reader::new(&config.dialect);
//! let (packet, length) = reader.read(&[0x95, 0x2b], 0).unwrap();
//! let mut bytes = Vec::new();
//! packet.write(&config.dialect, &mut bytes);
//! assert_eq!((length, packet.name(), &bytes[..]), (2, "Target Address", &[0x95, 0x2b][..]));
//! # Ok::<(), trackway_ete::ConfigError>(())
//! ```
#![forbid(unsafe_code)]

mod candidates;
mod check;
mod config;
mod decode;
pub mod encode;
mod items;
mod lift;
mod lower;
mod open;
mod profile;
mod recognise;
mod rules;
mod settings;
mod transport;
mod wire;

pub use check::{check, check_packets};
pub use config::{Config, ConfigError, Dialect, Framing, Options};
pub use decode::counts::PacketCounts;
pub use decode::element::Element;
pub use decode::elements::{Action, Elements};
pub use items::{PacketItem, Packets, Placed, Text};
pub use lift::{Lift, lift, lift_input};
pub use lower::Lower;
pub use open::{Ete, FORMAT};
pub use profile::Profile;
pub use rules::RULES;
pub use settings::SourcesConfig;
pub use transport::buffer::{BufferConfig, BufferStatus, Mode, TraceBuffer, TriggerMode};
pub use transport::frames::read::{Deframed, Frames, Survey, ids};
pub use transport::frames::write::{FrameWriter, frame};
pub use transport::input::{Session, Tasks, TraceSource};
pub use transport::output::{UnitSink, WrittenSource};
pub use transport::snapshot::read::{Dump, Snapshot, SnapshotSource};
pub use transport::snapshot::write::SnapshotWriter;
pub use wire::address::{Address, AddressForm, Entry, SubIsa};
pub use wire::atoms::Atoms;
pub use wire::chain::{Chain, width};
pub use wire::context::{Context, ContextState};
pub use wire::exception::{Exception, ExceptionAddress};
pub use wire::exception_type;
pub use wire::header::Kind;
pub use wire::packet::Packet;
pub use wire::read::Reader;
pub use wire::trace_info::TraceInfo;
