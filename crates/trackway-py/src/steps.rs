//! Instructions one by one, for those who want a loop.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use trackway::isa::{Disassembler, reg_name};
use trackway::{Error, Trace};
use trackway_core::{Batch, Cancel, Context, Event, EventKind, Isa, Outcome, Step, Value};

use crate::error::Failed;
use crate::opening::Opening;
use crate::thread;

/// Instructions that cross over together.
const BLOCK: usize = 4096;

/// A value of any width.
#[derive(Clone, Debug, IntoPyObject)]
pub(crate) enum Datum {
    Word(u64),
    Bytes(Vec<u8>),
}

/// A memory access.
#[pyclass(frozen, get_all, module = "trackway._trackway")]
#[derive(Clone, Debug)]
pub(crate) struct Access {
    kind: &'static str,
    address: Option<u64>,
    size: u64,
    data: Option<Datum>,
}

/// A register access.
#[pyclass(frozen, get_all, module = "trackway._trackway")]
#[derive(Clone, Debug)]
pub(crate) struct Register {
    name: String,
    role: &'static str,
    value: Option<Datum>,
}

/// An instruction.
#[pyclass(frozen, module = "trackway._trackway")]
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    #[pyo3(get)]
    source: u16,
    #[pyo3(get)]
    number: u64,
    #[pyo3(get)]
    pc: Option<u64>,
    #[pyo3(get)]
    encoding: u32,
    #[pyo3(get)]
    retired: bool,
    #[pyo3(get)]
    taken: Option<bool>,
    #[pyo3(get)]
    byte_offset: u64,
    #[pyo3(get)]
    memory: Vec<Access>,
    #[pyo3(get)]
    registers: Vec<Register>,
    isa: Isa,
}

#[pymethods]
impl Instruction {
    /// Its disassembly.
    #[getter]
    fn text(&self) -> String {
        Disassembler::default().text(self.isa, self.pc.unwrap_or(0), self.encoding).to_string()
    }

    fn __repr__(&self) -> String {
        let pc = self.pc.map_or("?".into(), |pc| format!("{pc:#x}"));
        format!("<Instruction {} at {pc}: {}>", self.number, self.text())
    }
}

impl Instruction {
    fn new(batch: &Batch, event: &Event, step: &Step, number: u64, isa: Isa) -> Self {
        let datum = |value: Value| match value {
            Value::Unknown => None,
            Value::Word(word) => Some(Datum::Word(word)),
            Value::Bytes(span) => Some(Datum::Bytes(batch.bytes_of(span).to_vec())),
        };
        let memory = batch.mem_of(step.accesses).iter().map(|access| Access {
            kind: access.kind.as_str(),
            address: (!access.unplaced).then_some(access.address),
            size: access.size,
            data: datum(access.data),
        });
        let registers = batch.regs_of(step.accesses).iter().map(|access| Register {
            name: reg_name(isa, access.reg).into_owned(),
            role: access.role.as_str(),
            value: datum(access.value),
        });
        Instruction {
            source: batch.source,
            number,
            pc: step.pc,
            encoding: step.encoding,
            retired: step.outcome == Outcome::Retired,
            taken: step.taken,
            byte_offset: event.offset,
            memory: memory.collect(),
            registers: registers.collect(),
            isa,
        }
    }
}

/// Shows every instruction to `visit`, until that returns false.
fn walk(trace: &mut Trace, mut visit: impl FnMut(Instruction) -> bool) -> Result<(), Failed> {
    let mut source = trace.expanded()?;
    let (mut batch, mut context, mut of) = (Batch::default(), Context::default(), 0);
    while source.fill(&mut batch).map_err(Error::from)? {
        if std::mem::replace(&mut of, batch.source) != batch.source {
            context = Context::default();
        }
        let mut number = batch.first_instruction;
        for event in &batch.events {
            match &event.kind {
                EventKind::Step(step) => {
                    let isa = context.isa.unwrap_or(source.meta().isa);
                    if !visit(Instruction::new(&batch, event, step, number, isa)) {
                        return Ok(());
                    }
                }
                EventKind::Run(run) if !run.withdrawn => {
                    return Err(Error::NoProgram { pc: run.start }.into());
                }
                EventKind::Context(n) => context.update(&batch.contexts[*n as usize]),
                _ => {}
            }
            number += event.kind.instructions();
        }
    }
    Ok(())
}

type Block = Result<VecDeque<Instruction>, Failed>;

/// Walks the instructions of a trace.
#[pyclass(frozen, module = "trackway._trackway")]
pub(crate) struct Steps {
    path: String,
    cancel: Cancel,
    blocks: Mutex<Receiver<Block>>,
    ready: Mutex<VecDeque<Instruction>>,
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

#[pymethods]
impl Steps {
    #[new]
    fn new(opening: Opening) -> PyResult<Self> {
        let (sender, blocks) = sync_channel::<Block>(2);
        let (cancel, path) = (Cancel::default(), opening.path.clone());
        let inner = cancel.clone();
        thread::spawn(move || {
            let mut block = VecDeque::new();
            let send = |block: VecDeque<Instruction>| sender.send(Ok(block)).is_ok();
            let walked = opening.open(&inner).and_then(|mut trace| {
                walk(&mut trace, |instruction| {
                    block.push_back(instruction);
                    block.len() < BLOCK || send(std::mem::take(&mut block))
                })
            });
            // Instructions before an error come before it.
            if !block.is_empty() {
                let _ = sender.send(Ok(block));
            }
            if let Err(error) = walked {
                let _ = sender.send(Err(error));
            }
        })?;
        Ok(Steps { path, cancel, blocks: Mutex::new(blocks), ready: Mutex::default() })
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Instruction>> {
        let ready = || self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(instruction) = ready().pop_front() {
            return Ok(Some(instruction));
        }
        match thread::next(py, &self.cancel, &self.blocks)? {
            None => Ok(None),
            Some(Ok(mut block)) => {
                let first = block.pop_front();
                *ready() = block;
                Ok(first)
            }
            Some(Err(error)) => Err(error.raise(py, &self.path)),
        }
    }
}
