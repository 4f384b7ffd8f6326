//! Contexts: the payload of packets (K10.5.2.14.9) and the state that it changes (K10.5.2.1).

use std::fmt::Write;

use trackway_core::{Bytes, Context as EventContext, ErrorKind, Isa, Privilege, Security};

use super::header::Field;
use crate::config::Dialect;

/// The payload of a context (K10.5.2.14.9; bit 3 is NSE).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The information byte: EL in bits 1:0, NSE 3, SF 4, NS 5, V 6, C 7; bit 2 should be zero.
    pub info: u8,
    /// Virtual context identifier, if V.
    pub vmid: u32,
    /// Context identifier, if C.
    pub context_id: u32,
}

impl Context {
    /// Exception level.
    pub const fn el(&self) -> u8 {
        self.info & 3
    }
    /// NSE and NS as a number: 0 Secure, 1 Non-secure, 2 Root, 3 Realm.
    pub const fn security(&self) -> u8 {
        self.info >> 2 & 2 | self.info >> 5 & 1
    }
    /// SF: AArch64, else AArch32.
    pub const fn sixty_four_bit(&self) -> bool {
        self.info & 0x10 != 0
    }
    /// V: a virtual context identifier follows.
    pub(crate) const fn has_vmid(&self) -> bool {
        self.info & 0x40 != 0
    }
    /// C: a context identifier follows.
    pub(crate) const fn has_context_id(&self) -> bool {
        self.info & 0x80 != 0
    }

    pub(super) fn read(bytes: &mut Bytes<'_>, dialect: &Dialect) -> Field<Self> {
        let info = bytes.u8().map_err(|kind| (kind, "info"))?;
        let mut context = Context { info, vmid: 0, context_id: 0 };
        if context.has_vmid() {
            context.vmid = identifier(bytes, dialect.vmid_bytes, info, "VMID")?;
        }
        if context.has_context_id() {
            context.context_id = identifier(bytes, dialect.context_id_bytes, info, "CONTEXTID")?;
        }
        Ok(context)
    }

    pub(super) fn write(&self, dialect: &Dialect, out: &mut Vec<u8>) {
        out.push(self.info);
        if self.has_vmid() {
            out.extend(&self.vmid.to_le_bytes()[..usize::from(dialect.vmid_bytes)]);
        }
        if self.has_context_id() {
            out.extend(&self.context_id.to_le_bytes()[..usize::from(dialect.context_id_bytes)]);
        }
    }

    pub(super) fn show(&self, out: &mut String) {
        let security = ["Secure", "Non-secure", "Root", "Realm"][usize::from(self.security() & 3)];
        let state = if self.sixty_four_bit() { "AArch64" } else { "AArch32" };
        let _ = write!(out, " {state} EL{} {security}", self.el());
        if self.has_vmid() {
            let _ = write!(out, " VMID={:#x}", self.vmid);
        }
        if self.has_context_id() {
            let _ = write!(out, " CONTEXTID={:#x}", self.context_id);
        }
    }
}

/// An identifier of `size` bytes; by the ID registers, one of 0 bytes is never sent.
fn identifier(bytes: &mut Bytes<'_>, size: u8, info: u8, field: &'static str) -> Field<u32> {
    match size {
        0 => Err(ErrorKind::Illegal { found: info.into() }),
        1 => bytes.u8().map(u32::from),
        2 => bytes.u16().map(u32::from),
        _ => bytes.u32(),
    }
    .map_err(|kind| (kind, field))
}

/// The context after all packets so far (K10.5.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct ContextState {
    /// Context identifier; `None` if none was sent since the last Trace Info.
    pub context_id: Option<u32>,
    /// Virtual context identifier; `None` if none was sent since the last Trace Info.
    pub vmid: Option<u32>,
    /// Exception level, 0 to 3.
    pub el: u8,
    /// 0 Secure, 1 Non-secure, 2 Root, 3 Realm.
    pub security: u8,
    /// AArch64, else AArch32.
    pub sixty_four_bit: bool,
}

impl ContextState {
    /// Updates the state from a packet.
    pub fn apply(&mut self, payload: &Context) {
        if payload.has_vmid() {
            self.vmid = Some(payload.vmid);
        }
        if payload.has_context_id() {
            self.context_id = Some(payload.context_id);
        }
        self.el = payload.el();
        self.security = payload.security();
        self.sixty_four_bit = payload.sixty_four_bit();
    }

    /// The same in the event model.
    pub(crate) fn to_event(self) -> EventContext {
        EventContext {
            privilege: Some(match self.el {
                0 => Privilege::El0,
                1 => Privilege::El1,
                2 => Privilege::El2,
                _ => Privilege::El3,
            }),
            security: Some(match self.security {
                0 => Security::Secure,
                1 => Security::NonSecure,
                2 => Security::Root,
                _ => Security::Realm,
            }),
            context_id: self.context_id.map(u64::from),
            vmid: self.vmid.map(u64::from),
            isa: Some(if self.sixty_four_bit { Isa::A64 } else { Isa::A32 }),
            ..EventContext::default()
        }
    }
}
