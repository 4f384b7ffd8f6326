//! Arm's Embedded Trace Extension, and ETMv4.
//!
//! A trace unit writes what a core did as packets of a few bytes: which way branches went, addresses where the
//! program alone does not tell, exceptions, contexts, time. It may write before it knows whether the core
//! really did it, and take it back. So decoding has three stages, as in K10.5 of the Arm ARM:
//!
//! 1. [`Reader`] reads [`Packet`]s from bytes, and they become [`Element`]s;
//! 2. elements wait until they are committed or cancelled, and until their transaction succeeds or fails;
//! 3. what is left is followed through the program, which gives runs of instructions, traps, contexts, time.
//!
//! [`Lift`] does all three, on several threads if asked. What packets mean depends on the unit's registers,
//! [`Config`]; they come from TOML or from a [`Snapshot`] folder. Bytes of several units come in CoreSight
//! [`Frames`]. [`Text`] shows packets without a program, [`check`] holds them against the rules.
//!
//! The other way, [`Lower`] runs events through a [trace unit](mod@encode), programmed by the same registers: it emits packets
//! that a real unit may emit, and [`SnapshotWriter`] makes a folder of them. [`FrameWriter`] and [`TraceBuffer`] stand
//! for what lies between units and memory.
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

mod check;
mod config;
mod decode;
pub mod encode;
mod items;
mod lift;
mod lower;
mod open;
mod profile;
mod rules;
mod settings;
mod transport;
mod wire;

pub use check::{check, check_packets};
pub use config::{Config, ConfigError, Dialect, Framing, Options, REGISTERS};
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
pub use transport::frames::read::{Deframed, Frames, ids};
pub use transport::frames::write::{FrameWriter, frame};
pub use transport::input::TraceSource;
pub use transport::output::{UnitSink, WrittenSource};
pub use transport::snapshot::read::{Dump, SNAPSHOT_INI, Snapshot, SnapshotSource};
pub use transport::snapshot::write::SnapshotWriter;
pub use wire::address::{Address, AddressForm, Entry, History, SubIsa};
pub use wire::atoms::{Atoms, SHORT_ATOMS};
pub use wire::chain::{Chain, width};
pub use wire::context::{Context, ContextState};
pub use wire::exception::{Exception, ExceptionAddress, exception};
pub use wire::header::{HEADERS, Header, Kind, Since, header};
pub use wire::packet::Packet;
pub use wire::read::Reader;
pub use wire::trace_info::TraceInfo;
