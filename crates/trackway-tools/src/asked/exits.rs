//! How control leaves blocks.

use trackway_core::Exit as RunExit;
use trackway_isa::{Control, flow};

use crate::executed::{Code, End, Pass};

/// How control leaves a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exit {
    /// Address of the last instruction, where it is known.
    pub(super) pc: Option<u64>,
    pub(super) control: Control,
    /// Its target, if the encoding has it.
    pub(super) target: Option<u64>,
    /// It may also fall through.
    pub(super) conditional: bool,
}

/// The exits of blocks, by number.
#[derive(Debug, Default)]
pub(super) struct Exits(Vec<Option<Exit>>);

impl Exits {
    #[inline]
    pub(super) fn of(&mut self, pass: &Pass<'_>) -> Exit {
        let place = pass.id as usize;
        if place >= self.0.len() {
            self.0.resize(place + 1, None);
        }
        *self.0[place].get_or_insert_with(|| Exit::new(&pass.block.code))
    }
}

impl Exit {
    fn new(code: &Code) -> Self {
        let none = Exit { pc: None, control: Control::Sequential, target: None, conditional: false };
        if code.ending != End::Closed {
            return none;
        }
        if let Some((_, exit)) = code.opaque {
            let control = match exit {
                RunExit::Branch => Control::Branch,
                RunExit::Jump => Control::Jump,
                RunExit::Call => Control::Call,
                RunExit::IndirectJump => Control::IndirectJump,
                RunExit::IndirectCall => Control::IndirectCall,
                RunExit::Return => Control::Return,
                RunExit::TrapReturn => Control::TrapReturn,
                RunExit::Trap | RunExit::Next | RunExit::End => Control::Sequential,
            };
            return Exit { control, conditional: control == Control::Branch, ..none };
        }
        match code.last() {
            Some((pc, inst)) if inst.length > 0 => {
                let flow = flow(code.isa, pc, inst.encoding);
                let conditional = flow.conditional || flow.control == Control::Branch;
                Exit { pc: Some(pc), control: flow.control, target: flow.target, conditional }
            }
            _ => none,
        }
    }
}
