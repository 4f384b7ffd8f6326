//! Packets as text, for `dump --raw`.

use std::fmt::Write;

use trackway_core::{Input, Item, Items, Result};

use crate::config::Config;
use crate::frame::Kind;
use crate::packet::{Exact, Layout, Packet, qual_status};
use crate::read::Reader;

/// Packets as lines: fields in wire order; then what compression saved.
#[derive(Debug)]
pub struct Text {
    reader: Reader,
    config: Config,
}

impl Text {
    /// The packets of `input`.
    pub fn new(input: Input, config: &Config) -> Self {
        Text { reader: Reader::new(input, config), config: config.clone() }
    }
}

impl Items for Text {
    fn next(&mut self, item: &mut Item) -> Result<bool> {
        let layout = *self.reader.layout();
        let Some(read) = self.reader.read()? else { return Ok(false) };
        item.offset = read.offset;
        item.len = u64::from(read.frame.len);
        item.text.clear();
        let out = &mut item.text;
        // Writing to a String cannot fail.
        let _ = (|| -> std::fmt::Result {
            if let Some(time) = read.frame.time {
                write!(out, "stamp={time} ")?;
            }
            if self.has_source() {
                write!(out, "src={} ", read.frame.source)?;
            }
            Ok(())
        })();
        item.name = match &read.packet {
            Some(exact) => {
                show_packet(&exact.packet, &layout, out);
                if let Packet::Support(support) = exact.packet {
                    show_support(&self.config, support.ioptions, support.qual_status, out);
                }
                show_saved(exact, out);
                exact.packet.name()
            }
            None => {
                for byte in &read.payload {
                    let _ = write!(out, "{byte:02x}");
                }
                match read.frame.kind {
                    Kind::Null if read.frame.header >> 7 == 1 => "null.align",
                    Kind::Null => "null.idle",
                    Kind::Data => "data",
                    _ => "other",
                }
            }
        };
        item.text.truncate(item.text.trim_end().len());
        Ok(true)
    }

    fn resync(&mut self) -> Result<Option<u64>> {
        self.reader.resync()
    }
}

impl Text {
    fn has_source(&self) -> bool {
        use crate::frame::Framing;
        match self.config.framing {
            Framing::Encap { srcid_width, .. } => srcid_width > 0,
            Framing::Ultrasoc { index_width } => index_width > 0,
            _ => false,
        }
    }
}

/// Fields in wire order: `name=value`, addresses, maps, times, contexts and counts in hex; `NOTIFY`, `UPDISCON`
/// and `IRREPORT` where the bit says so by differing from the one before.
pub fn show_packet(packet: &Packet, layout: &Layout, out: &mut String) {
    let reported = match packet {
        Packet::Address(reported) => Some(*reported),
        Packet::Branches(packet) if packet.branches != 0 => Some(packet.reported),
        Packet::BranchCount(packet) if packet.branch_fmt != 0 => Some(packet.reported),
        _ => None,
    };
    let irreport = match packet {
        Packet::JumpTarget(packet) => packet.irreport,
        _ => reported.is_some_and(|reported| reported.irreport),
    };
    let says = [
        ("notify", reported.is_some_and(|reported| reported.notify), "NOTIFY"),
        ("updiscon", reported.is_some_and(|reported| reported.updiscon), "UPDISCON"),
        ("irreport", irreport, "IRREPORT"),
    ];
    packet.fields(layout, &mut |name, value, width| {
        // Writing to a String cannot fail.
        let _ = match name {
            _ if width == 0 => Ok(()),
            "irdepth" if !irreport => Ok(()),
            "notify" | "updiscon" | "irreport" => match says.iter().find(|(of, ..)| *of == name) {
                Some((_, true, word)) => write!(out, "{word} "),
                _ => Ok(()),
            },
            "address" | "tval" | "tvalepc" | "branch_map" | "time" | "context" | "branch_count" => {
                write!(out, "{name}={value:x} ")
            }
            _ => write!(out, "{name}={value} "),
        };
    });
}

/// The modes and the status by name.
fn show_support(config: &Config, ioptions: u64, status: u32, out: &mut String) {
    let on: Vec<_> = config
        .support
        .ioptions
        .iter()
        .enumerate()
        .filter(|(n, _)| ioptions >> n & 1 == 1)
        .map(|(_, mode)| mode.name())
        .collect();
    let _ = write!(out, "({}", qual_status::NAMES[status as usize & 3]);
    if !on.is_empty() {
        let _ = write!(out, "; {}", on.join(", "));
    }
    out.push_str(") ");
}

/// What compression saved, where the payload is not exactly as long as its fields.
fn show_saved(exact: &Exact, out: &mut String) {
    let saved = exact.saved();
    if saved > 0 {
        let _ = write!(out, "[{} of {} bits saved]", saved, exact.field_bits);
    } else if saved <= -8 || !exact.spare.is_empty() {
        let _ = write!(out, "[{} bits behind {} of fields]", -saved, exact.field_bits);
    }
}
