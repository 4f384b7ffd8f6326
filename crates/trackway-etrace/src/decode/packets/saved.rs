//! The state of a decoder, to be continued later or in the next part.

use serde::{Deserialize, Serialize};

use super::{Decoder, Flow, Stage};
use crate::decode::walk::SavedWalk;
use crate::modes::Options;
use crate::wire::instruction::Packet;

/// State before a synchronisation packet that the packet does not replace: it is carried into the next part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CarriedState {
    pub(crate) options: Options,
    pub(crate) privilege: Option<u32>,
    pub(crate) context: Option<u64>,
}

/// All of a [`Decoder`] that its settings and the program do not determine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedDecoder {
    walk: SavedWalk,
    flow: Flow,
    /// The packet, unless it is done.
    packet: Option<Packet>,
}

impl SavedDecoder {
    /// The state that is carried into the next part, before the packet that is not done.
    pub(crate) fn carried(&self) -> (CarriedState, Option<Packet>) {
        let (privilege, context) = (self.flow.privilege, self.flow.context);
        (CarriedState { options: self.walk.options, privilege, context }, self.packet)
    }
}

impl Decoder {
    /// Sets the state at the start of a part.
    pub(crate) fn resume(&mut self, carried: CarriedState) {
        self.walker.options = carried.options;
        self.flow.privilege = carried.privilege;
        self.flow.context = carried.context;
    }

    /// The state between two batches, if it can be continued from later.
    pub(crate) fn save(&self) -> Option<SavedDecoder> {
        if self.held.is_some() || !matches!(self.flow.stage, Stage::Idle | Stage::Walk(_) | Stage::Again) {
            return None;
        }
        let packet = (self.flow.stage != Stage::Idle).then_some(self.packet);
        Some(SavedDecoder { walk: self.walker.save()?, flow: self.flow, packet })
    }

    /// Continues from a state; false if it is not one of these settings.
    pub(crate) fn restore(&mut self, saved: &SavedDecoder) -> bool {
        let SavedDecoder { walk, flow, packet } = saved;
        let is_stage = matches!(flow.stage, Stage::Idle | Stage::Walk(_) | Stage::Again);
        if !is_stage
            || packet.is_none() != (flow.stage == Stage::Idle)
            || flow.skipped > u64::MAX / 2
            || flow.blind.is_some() != self.flow.blind.is_some()
            || !self.walker.restore(walk, self.branch_bound())
        {
            return false;
        }
        (self.flow, self.packet) = (*flow, packet.unwrap_or(self.packet));
        true
    }
}
