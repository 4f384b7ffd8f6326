//! Rules of data packets.

use trackway_core::Rule;

use crate::config::Config;
use crate::decode::{DataDecoder, Decoded, DecodedAccess};
use crate::rules::{COMPRESSED, DATA_CODES, DATA_ENABLED, DATA_FULL, SPARE_BITS, SPLIT_LOADS};
use crate::wire::Received;
use crate::wire::data::{Layout, Packet};
use crate::wire::instruction::Packet as Instruction;

/// Demands of the packets so far on the next data packet.
#[derive(Default)]
pub(crate) struct DataState {
    decoder: Option<DataDecoder>,
    /// Ids of split loads in flight.
    in_flight: Vec<u32>,
    /// Packets have no data: only split loads that fail have a response.
    no_data: bool,
    /// The last support packet switched data trace off.
    off: bool,
}

impl DataState {
    /// Follows synchronisations and modes of the instruction packets.
    pub(crate) fn follow(&mut self, packet: &Instruction, config: &Config) {
        let decoder = self.decoder.get_or_insert_with(|| DataDecoder::new(config, config.options));
        if packet.is_sync() {
            decoder.history.clear();
        }
        if let Instruction::Support(support) = packet {
            let options = config.options_after(support.ioptions, support.doptions, config.options);
            decoder.set_options(config, options);
            self.no_data = options.no_data;
            self.off = config.dialect.has_data_status() && !support.denable;
            if support.dloss {
                self.in_flight.clear();
                decoder.history.clear();
            }
        }
    }

    pub(crate) fn check(
        &mut self,
        exact: &Received<Packet>,
        layout: &Layout,
        violate: &mut dyn FnMut(&'static Rule, String),
    ) {
        let name = exact.packet.name();
        if std::mem::take(&mut self.off) {
            violate(&DATA_ENABLED, format!("{name} packet, and the last support packet says denable=0"));
        }
        if !exact.spare.is_empty() {
            violate(&SPARE_BITS, format!("{:02x?} after the last field", exact.spare));
        }
        if exact.packet.write(layout, true).is_ok_and(|shortest| exact.wastes(shortest.bytes())) {
            violate(&COMPRESSED, format!("{} bits, fewer are enough", exact.bits));
        }
        let Some(decoder) = &mut self.decoder else { return };
        match decoder.accept(&exact.packet) {
            None => violate(&DATA_CODES, format!("{name} packet with a reserved diff")),
            Some(Decoded::Access(access)) => self.access(&access, &exact.packet, layout, violate),
            Some(Decoded::Response { index, data }) => {
                if data == Some(None) {
                    violate(&DATA_FULL, format!("{name} packet refers to data that were not reported"));
                }
                match self.in_flight.iter().position(|id| *id == index) {
                    Some(n) => drop(self.in_flight.swap_remove(n)),
                    None => violate(&SPLIT_LOADS, format!("data for id {index}, which was not requested")),
                }
            }
        }
    }

    fn access(
        &mut self,
        access: &DecodedAccess,
        packet: &Packet,
        layout: &Layout,
        violate: &mut dyn FnMut(&'static Rule, String),
    ) {
        let name = packet.name();
        if layout.has_address && access.daddr.is_none() {
            violate(&DATA_FULL, format!("{name} packet refers to an address that was not reported"));
        }
        if layout.has_data && access.data.is_none() && access.pending.is_none() {
            violate(&DATA_FULL, format!("{name} packet refers to data that were not reported"));
        }
        if access.dtype.name() == "reserved" {
            violate(&DATA_CODES, format!("{name} packet with a reserved subtype"));
        }
        if let Some(index) = access.pending {
            if self.in_flight.contains(&index) && !self.no_data {
                violate(&SPLIT_LOADS, format!("id {index} is requested again before its data arrived"));
            }
            self.in_flight.retain(|id| *id != index);
            self.in_flight.push(index);
        }
    }
}
