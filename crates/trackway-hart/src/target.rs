//! A running program: a Linux process or a bare-metal machine.

use crate::hart::Hart;
use crate::linux::{self, Process};
use crate::machine::{self, Machine};

/// A running program.
#[derive(Debug)]
pub enum Target {
    /// A Linux program.
    Process(Box<Process>),
    /// A bare-metal program.
    Machine(Box<Machine>),
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It did not: a limit was reached.
    Unfinished,
    /// It ended well.
    Passed,
    /// It reported failure with this code.
    Failed(u64),
    /// A signal ended it.
    Killed(u8),
    /// It did not, and never will: it repeats the same state.
    Repeats,
}

impl Target {
    /// The core.
    pub fn hart(&self) -> &Hart {
        match self {
            Self::Process(process) => &process.hart,
            Self::Machine(machine) => &machine.hart,
        }
    }

    /// Running, or how it ended.
    pub fn end(&self) -> End {
        match self {
            Self::Process(process) => match process.status() {
                linux::Status::Running => End::Unfinished,
                linux::Status::Exited(0) => End::Passed,
                linux::Status::Exited(code) => End::Failed(code.into()),
                linux::Status::Killed(signal) => End::Killed(signal),
            },
            Self::Machine(machine) => match machine.status() {
                machine::Status::Running => End::Unfinished,
                machine::Status::Passed => End::Passed,
                machine::Status::Failed(code) => End::Failed(code),
            },
        }
    }

    /// Output since the last call: standard output (or console), standard error.
    pub fn take_output(&mut self) -> (Vec<u8>, Vec<u8>) {
        match self {
            Self::Process(process) => process.take_output(),
            Self::Machine(machine) => (machine.take_output(), Vec::new()),
        }
    }

    /// One step without effects; true where an instruction was attempted.
    pub(crate) fn step(&mut self) -> bool {
        match self {
            Self::Process(process) => {
                process.step_observed(&mut ());
                true
            }
            Self::Machine(machine) => !machine.step_observed(&mut ()).is_some_and(|taken| taken.interrupt),
        }
    }
}
