//! Rules of data packets.

use trackway_core::Rule;

use super::{COMPRESSED, DATA_CODES, DATA_ENABLED, DATA_FULL, SPARE_BITS, SPLIT_LOADS};
use crate::config::Config;
use crate::decode::{DataDecoder, Decoded, DecodedAccess};
use crate::wire::Received;
use crate::wire::data::{Layout, Packet};
use crate::wire::instruction::Packet as Instruction;

/// What the packets so far demand of the next data packet.
#[derive(Default)]
pub(crate) struct DataState {
    decoder: Option<DataDecoder>,
    /// Split loads on their way, by id.
    under_way: Vec<u32>,
    /// Requests were seen without the responses that only failures have where data are left out.
    no_data: bool,
    off: bool,
}

impl DataState {
    /// An instruction packet: synchronisations and modes.
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
                self.under_way.clear();
                decoder.history.clear();
            }
        }
    }

    pub(crate) fn check(
        &mut self,
        exact: &Received<Packet>,
        layout: &Layout,
        tell: &mut dyn FnMut(&'static Rule, String),
    ) {
        let name = exact.packet.name();
        if std::mem::take(&mut self.off) {
            tell(&DATA_ENABLED, format!("{name} packet, and the last support packet says denable=0"));
        }
        if !exact.spare.is_empty() {
            tell(&SPARE_BITS, format!("{:02x?} behind the last field", exact.spare));
        }
        let shortest = exact.packet.write(layout, true).map_or(0, |payload| payload.bytes().len());
        if shortest > 0 && shortest < exact.bits.div_ceil(8) as usize {
            tell(&COMPRESSED, format!("{} bits, fewer would do", exact.bits));
        }
        let Some(decoder) = &mut self.decoder else { return };
        match decoder.accept(&exact.packet) {
            None => tell(&DATA_CODES, format!("{name} packet with a reserved diff")),
            Some(Decoded::Access(access)) => self.access(&access, &exact.packet, layout, tell),
            Some(Decoded::Response { index, data }) => {
                if data == Some(None) {
                    tell(&DATA_FULL, format!("{name} packet refers to data that were not told"));
                }
                match self.under_way.iter().position(|id| *id == index) {
                    Some(n) => drop(self.under_way.swap_remove(n)),
                    None => tell(&SPLIT_LOADS, format!("data for id {index}, which was not requested")),
                }
            }
        }
    }

    fn access(
        &mut self,
        access: &DecodedAccess,
        packet: &Packet,
        layout: &Layout,
        tell: &mut dyn FnMut(&'static Rule, String),
    ) {
        let name = packet.name();
        if layout.has_address && access.daddr.is_none() {
            tell(&DATA_FULL, format!("{name} packet refers to an address that was not told"));
        }
        if layout.has_data && access.data.is_none() && access.pending.is_none() {
            tell(&DATA_FULL, format!("{name} packet refers to data that were not told"));
        }
        if access.dtype.name() == "reserved" {
            tell(&DATA_CODES, format!("{name} packet with a reserved subtype"));
        }
        if let Some(index) = access.pending {
            if self.under_way.contains(&index) && !self.no_data {
                tell(&SPLIT_LOADS, format!("id {index} is requested again before its data came"));
            }
            self.under_way.retain(|id| *id != index);
            self.under_way.push(index);
        }
    }
}
