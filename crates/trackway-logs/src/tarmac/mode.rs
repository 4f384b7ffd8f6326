//! The mode or exception level that a line names.

use serde::{Deserialize, Serialize};
use trackway_core::{Context, Isa, Privilege, Security};

/// Banks of AArch32 registers, by mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Bank {
    /// Of the current mode, or none.
    #[default]
    Current,
    Usr,
    Fiq,
    Irq,
    Svc,
    Abt,
    Und,
    Mon,
    Hyp,
}

impl Bank {
    /// The bank of that name: `SVC`, `svc`; system mode has the registers of user mode.
    pub(super) fn of(name: &[u8]) -> Option<Bank> {
        let mut lower = [0; 3];
        lower.copy_from_slice(name.get(..3)?);
        lower.make_ascii_lowercase();
        if name.len() != 3 {
            return None;
        }
        Some(match &lower {
            b"usr" | b"sys" => Bank::Usr,
            b"fiq" => Bank::Fiq,
            b"irq" => Bank::Irq,
            b"svc" => Bank::Svc,
            b"abt" => Bank::Abt,
            b"und" => Bank::Und,
            b"mon" => Bank::Mon,
            b"hyp" => Bank::Hyp,
            _ => return None,
        })
    }

    /// The exception level of its mode, where EL1 and EL3 are apart: secure modes of an AArch32 EL3 run there.
    fn level(self) -> Option<Privilege> {
        Some(match self {
            Bank::Current => return None,
            Bank::Usr => Privilege::El0,
            Bank::Hyp => Privilege::El2,
            Bank::Mon => Privilege::El3,
            _ => Privilege::El1,
        })
    }
}

/// The mode of an instruction: `EL3h_s`, `svc_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mode {
    pub(super) level: Option<Privilege>,
    pub(super) own_stack: Option<bool>,
    pub(super) security: Option<Security>,
    pub(super) bank: Bank,
}

impl Mode {
    /// Reads the name of a mode; parts of it that are not known stay unknown.
    pub(super) fn read(name: &[u8]) -> Mode {
        let (base, suffix) = match name.iter().position(|byte| *byte == b'_') {
            Some(at) => (&name[..at], &name[at + 1..]),
            None => (name, &name[..0]),
        };
        let security = match suffix {
            b"s" | b"S" => Some(Security::Secure),
            b"n" | b"ns" | b"N" | b"NS" => Some(Security::NonSecure),
            b"r" | b"rl" | b"R" | b"RL" => Some(Security::Realm),
            b"rt" | b"root" | b"RT" => Some(Security::Root),
            _ => None,
        };
        let mut mode = Mode { security, ..Mode::default() };
        match base {
            [b'E' | b'e', b'L' | b'l', level @ b'0'..=b'3', stack @ ..] => {
                mode.level = Some(LEVELS[usize::from(level - b'0')]);
                mode.own_stack = match stack {
                    b"h" | b"H" => Some(true),
                    b"t" | b"T" => Some(false),
                    _ => None,
                };
            }
            _ => {
                // System mode is privileged.
                let is_system = base.eq_ignore_ascii_case(b"sys");
                mode.bank = Bank::of(base).unwrap_or_default();
                mode.level = if is_system { Some(Privilege::El1) } else { mode.bank.level() };
            }
        }
        mode
    }

    /// The number of the exception level whose stack pointer is SP.
    pub(super) fn stack(&self) -> Option<u8> {
        let level = LEVELS.iter().position(|level| Some(*level) == self.level)? as u8;
        self.own_stack.map(|own| if own { level } else { 0 })
    }

    /// The context of an instruction of this mode.
    pub(super) fn context(&self, isa: Isa) -> Context {
        Context {
            privilege: self.level,
            security: self.security,
            own_stack: self.own_stack,
            isa: Some(isa),
            ..Context::default()
        }
    }
}

const LEVELS: [Privilege; 4] = [Privilege::El0, Privilege::El1, Privilege::El2, Privilege::El3];
